"""Apply an edit script to a program, through `ir.edit`."""

from __future__ import annotations

from collections.abc import Sequence

from .. import edit
from ..program import Block, Op, Program, Region, Value
from .index import index
from .script import (
    AddBlocks,
    AddValues,
    Edit,
    Erase,
    Insert,
    Move,
    NewBlock,
    Ref,
    SetOperands,
    SetOwn,
    SetSuccessors,
    SetTypes,
    Trim,
)


def apply(program: Program, edits: Sequence[Edit]) -> None:
    """Do the edits to `program`, which must be the one they were made for, or another reading of it.

    Raises ValueError for a script that does not fit: one that erases an op or a value still in use.
    """
    patch = _Patch(program)
    for step in edits:
        patch.do(step)


class _Patch:
    """What the references of a script stand for while it is applied."""

    def __init__(self, program: Program) -> None:
        side = index(program)
        self.ops: dict[Ref, Op] = {("a", i): op for i, op in enumerate(side.ops)}
        self.values: dict[Ref, Value] = {("a", x): value for x, value in enumerate(side.values)}
        self.blocks: dict[Ref, Block] = {("a", n): block for n, block in enumerate(side.blocks)}

    def do(self, step: Edit) -> None:
        """Do one edit."""
        if isinstance(step, Insert):
            self._insert(step)
        elif isinstance(step, Move):
            before = self.ops[step.before] if step.before else None
            edit.move(self.ops["a", step.op], before=before, block=self.blocks[step.block])
        elif isinstance(step, SetOperands):
            self._set_operands(self.ops[step.op], [self._value(ref) for ref in step.operands])
        elif isinstance(step, SetOwn):
            self._set_own(step)
        elif isinstance(step, Erase):
            self._erase(step)
        else:
            self._do_rarely(step)

    def _do_rarely(self, step: SetTypes | SetSuccessors | AddValues | AddBlocks | Trim) -> None:
        if isinstance(step, SetTypes):
            for number, type in step.types:
                edit.set_type(self.values["a", number], type)
        elif isinstance(step, SetSuccessors):
            op = self.ops[step.op]
            op.successors = [self.blocks[ref] for ref in step.blocks]
            op.edited = True
        elif isinstance(step, AddValues):
            self._add_values(step)
        elif isinstance(step, AddBlocks):
            self._add_blocks(step)
        else:
            self._trim(step)

    def _value(self, ref: Ref) -> Value:
        found = self.values.get(ref)
        if found is None:
            found = self.values[ref] = Value("")  # b uses it and nothing defines it
        return found

    def _insert(self, step: Insert) -> None:
        regions = []
        for blocks in step.regions:
            region = Region()
            for new in blocks:
                region.blocks.append(self._make_block(region, new))
            regions.append(region)
        before = self.ops[step.before] if step.before else None
        op = edit.create(
            step.name,
            (),
            [type for _, type in step.results],
            dict(step.attributes),
            block=self.blocks[step.block],
            before=before,
            regions=regions,
        )
        op.detail.trailing = step.words
        self.ops["b", step.op] = op
        for (number, _), value in zip(step.results, op.results, strict=True):
            self.values["b", number] = value

    def _make_block(self, region: Region, new: NewBlock) -> Block:
        block = Block(region)
        block.edited = True
        self.blocks["b", new.block] = block
        for place, (number, type) in enumerate(new.arguments):
            self.values["b", number] = edit.insert_argument(block, place, type)
        return block

    def _set_operands(self, op: Op, operands: list[Value]) -> None:
        while len(op.operands) > len(operands):
            edit.erase_operand(op, len(op.operands) - 1)
        for place, value in enumerate(operands):
            if place < len(op.operands):
                edit.set_operand(op, place, value)
            else:
                edit.append_operand(op, value)

    def _set_own(self, step: SetOwn) -> None:
        op = self.ops["a", step.op]
        wanted = dict(step.attributes)
        for name in [name for name in op.attributes if name not in wanted]:
            edit.set_attribute(op, name, None)
        for name, text in wanted.items():
            edit.set_attribute(op, name, text)
        op.detail.location = step.location
        op.detail.trailing = step.words
        op.name = step.name
        op.edited = True

    def _erase(self, step: Erase) -> None:
        for number in step.ops:
            self._set_operands(self.ops["a", number], [])
        for number in step.ops:
            if self.ops["a", number].block is not None:
                edit.erase(self.ops["a", number])

    def _add_values(self, step: AddValues) -> None:
        for place, number, type in step.values:
            if step.owner == "op":
                op = self.ops["a", step.number]
                value = edit.insert_result(op, min(place, len(op.results)), type)
            else:
                block = self.blocks["a", step.number]
                value = edit.insert_argument(block, min(place, len(block.args)), type)
            self.values["b", number] = value

    def _add_blocks(self, step: AddBlocks) -> None:
        op = self.ops["a", step.op]
        self._read(op)
        for region_number, place, new in step.blocks:
            while len(op.regions) <= region_number:
                op.regions.append(Region(op))
            region = op.regions[region_number]
            region.blocks.insert(min(place, len(region.blocks)), self._make_block(region, new))
        op.edited = True

    def _trim(self, step: Trim) -> None:
        if step.owner == "region":
            self._trim_regions(step)
            return
        wanted = [self.values[ref] for ref in step.order]
        if step.owner == "op":
            op = self.ops["a", step.number]
            for place in range(len(op.results) - 1, -1, -1):
                if op.results[place] not in wanted:
                    edit.erase_result(op, place)
            edit.reorder_results(op, wanted)
        else:
            block = self.blocks["a", step.number]
            for place in range(len(block.args) - 1, -1, -1):
                if block.args[place] not in wanted:
                    edit.erase_argument(block, place)
            edit.reorder_arguments(block, wanted)

    @staticmethod
    def _read(op: Op) -> None:
        """Read what is read from text on demand, before the regions that delimit that text change."""
        assert op.detail is not None
        for region in op.regions:
            for block in region.blocks:
                for value in block.args:
                    assert value.type is not None

    def _trim_regions(self, step: Trim) -> None:
        op = self.ops["a", step.number]
        self._read(op)
        at = 0
        regions = []
        for number, count in enumerate(step.regions):
            region = op.regions[number] if number < len(op.regions) else Region(op)
            region.blocks = [self.blocks[ref] for ref in step.order[at : at + count]]
            for block in region.blocks:
                block.parent = region
            regions.append(region)
            at += count
        op.regions = regions
        op.edited = True
