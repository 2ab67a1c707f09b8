"""Backward rematerialization: converts that vanish because what is behind them is made in their encoding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from ... import edit
from ...layouts import encodings as enc
from ...program import Block, Op, Use, Value, walk_post
from ..step import DETAIL, OP, Step
from .build import clone_before, convert_before
from .names import CONVERT, kind
from .remat_cost import Verdict, weigh
from .slices import Slice, rematerializable
from .state import Run, describe
from .tensors import Layout
from .topology import block_order, topological_order

LARGE: Final = 3000
"""Ops beyond which the older compilers' own order, which costs a walk of the function, is not kept."""


class Rematerializer:
    """The values of one function that exist in a second encoding, and how they are made."""

    def __init__(self, run: Run, function: Op) -> None:
        self.run = run
        self.function = function
        self.recorder = run.recorder
        self.last: dict[Value, Layout] = {}
        """The encoding under which a value was registered last: all that outlives its loop's new form."""
        self.removed: list[Op] = []
        self.recorder.clear("remat")

    def converts(self) -> list[Op]:
        """The converts of the function, the ones inside regions first."""
        return [op for op in walk_post(self.function) if kind(op) == CONVERT]

    def known(self, value: Value, layout: Layout) -> Value | None:
        """A value that holds the same in that encoding."""
        found: Value | None = self.recorder.get("remat", (value, layout))
        return found

    def register(self, value: Value, layout: Layout, new: Value) -> Step:
        """Remember that `new` holds what `value` holds, in `layout`."""
        self.recorder.set("remat", (value, layout), new)
        self.last[value] = layout
        return self.recorder.step(
            "remat-value",
            f"{value.name} is there in {self.run.show(layout)} as {new.name}",
            op=new.op,
            value=value,
            encodings=(layout,),
            depth=DETAIL,
        )

    def existing_in(self, use: Use, layout: Layout, slice_: Slice) -> Value | None:
        """What is there of an operand in that encoding, if it is there before the use.

        `slice_` remembers it, unless it is not there for another use of the same value.
        """
        if not self.run.rules.reuse_converts:
            return None
        op, index = use
        value = op.operands[index]
        found = self.known(value, layout)
        if found is None:
            return None
        if comes_before(found, op):
            slice_.existing.setdefault((value, layout), found)
            return found
        slice_.existing[(value, layout)] = None
        return None

    def backward(self) -> Iterator[Step]:
        """Try every convert; yields what was tried and what came of it."""
        yield from self.each(self.one)

    def each(self, attempt: Callable[[Op], Iterator[Step]]) -> Iterator[Step]:
        """Make an attempt at every convert; one that stays is offered to the slices after it."""
        for convert in self.converts():
            yield from attempt(convert)
            if self.run.rules.reuse_converts and convert not in self.removed:
                layout = self.run.tensors.of(convert.results[0])
                assert layout is not None
                yield self.register(convert.operands[0], layout, convert.results[0])
        yield from self.finish()

    def finish(self) -> Iterator[Step]:
        """Erase the converts that are no longer used."""
        for op in reversed(self.removed):
            if op.block is not None:
                edit.erase(op)
        yield self.recorder.step("erase", f"{len(self.removed)} convert(s) are erased")

    def one(self, convert: Op) -> Iterator[Step]:
        """Try to do without one convert."""
        source, result = convert.operands[0], convert.results[0]
        layout = self.run.tensors.of(result)
        if layout is None or isinstance(layout, enc.DotOperand):
            return
        yield self.recorder.step(
            "check",
            f"can {describe(source)} be made in {self.run.show(layout)}?",
            op=convert,
            value=source,
            encodings=(layout,),
        )
        found = self.known(source, layout) if self.run.rules.found_first else None
        if found is not None and (not self.run.rules.reuse_converts or comes_before(found, convert)):
            edit.replace_all_uses(result, found)
            self._remove(convert)
            yield self.recorder.step(
                "found", f"it is there already: {found.name}", op=convert, value=found, encodings=(layout,)
            )
            return
        slice_ = rematerializable(self.run, (convert, 0), layout, Slice(), None, self.existing_in)
        if slice_.failed:
            yield self.recorder.step(
                "slice-failed",
                f"no: {slice_.failed}" + (f" ({describe(slice_.at)})" if slice_.at is not None else ""),
                op=convert,
                value=slice_.at,
                encodings=(layout,),
            )
            return
        if self.run.rules.cost_model:
            verdict = weigh(self.run, convert, slice_, 0)
            yield self.weighed(convert, verdict)
            if not verdict.worth_it:
                return
        made = tuple((value, slice_.layouts[value]) for value in slice_.values if not slice_.is_there(value))
        self.recorder.set("slice", result, made)
        yield self.recorder.step(
            "remat",
            f"yes: {len(made)} value(s) are made again for {result.name}",
            op=convert,
            value=result,
            encodings=(layout,),
            depth=OP,
        )
        yield from self.rewrite(slice_, convert, {})

    def weighed(self, convert: Op, verdict: Verdict) -> Step:
        """The step that says what a convert and its slice cost."""
        outcome = "is worth it" if verdict.worth_it else "is not worth it"
        return self.recorder.step(
            "cost",
            f"making it again costs {verdict.again}, the convert {verdict.convert}: it {outcome}"
            + (f" ({verdict.veto})" if verdict.veto else ""),
            op=convert,
            value=convert.results[0],
            encodings=(verdict,),
        )

    def _remove(self, convert: Op) -> None:
        self.removed.append(convert)
        if self.run.rules.rewrite == "in-place":
            edit.erase(convert)

    # -- making a slice again ------------------------------------------------------------------------

    def rewrite(self, slice_: Slice, convert: Op, mapping: dict[Value, Value]) -> Iterator[Step]:
        """Make the values of a slice in their encodings, and use them in place of the convert."""
        ops, yields = self._collect(slice_, mapping)
        for op in self._in_order(ops):
            if op.name == "scf.for":
                yield from self._for(op, slice_, mapping)
            elif op.name == "scf.if":
                yield from self._if(op, slice_, mapping)
            elif op.name == "scf.yield":
                for index in sorted(yields[op]):
                    edit.append_operand(op, self._lookup(mapping, op.operands[index]))
            elif op.name == "arith.constant":
                yield from self._constant(op, slice_, mapping)
            else:
                yield from self._clone(op, slice_, mapping)
        edit.replace_all_uses(convert.results[0], self._lookup(mapping, convert.operands[0]))
        self._remove(convert)
        yield self.recorder.step(
            "replace",
            f"{convert.results[0].name} is not needed any more",
            op=convert,
            value=convert.results[0],
        )

    def _in_order(self, ops: dict[Op, None]) -> list[Op]:
        """What is needed first; the rest of the order shows in steps only, and not in the program."""
        if self.run.rules.remat_by_blocks or len(self.run.post_index) > LARGE:
            return block_order(ops, self.function)
        return topological_order(ops)

    def _lookup(self, mapping: dict[Value, Value], value: Value) -> Value:
        return mapping.get(value, value)

    def _collect(
        self, slice_: Slice, mapping: dict[Value, Value]
    ) -> tuple[dict[Op, None], dict[Op, list[int]]]:
        """The ops to be made again, with the yields of their regions; known values leave the slice."""
        ops: dict[Op, None] = {}
        yields: dict[Op, list[int]] = {}
        for value in list(slice_.values):
            layout = slice_.layouts[value]
            there = self._already(value, layout, slice_)
            if there is not None:
                mapping[value] = there
                del slice_.values[value]
            elif value.op is not None:
                ops[value.op] = None
                if value.op.name == "scf.if":
                    for region in value.op.regions:
                        last = region.blocks[-1].ops[-1]
                        ops[last] = None
                        yields.setdefault(last, []).append(value.index)
            else:
                block = value.owner
                assert isinstance(block, Block) and block.parent is not None
                assert block.parent.parent is not None
                ops[block.parent.parent] = None
                yields.setdefault(block.ops[-1], []).append(value.index - 1)
                ops[block.ops[-1]] = None
        return ops, yields

    def _already(self, value: Value, layout: Layout, slice_: Slice) -> Value | None:
        if self.run.rules.reuse_converts:
            return slice_.existing.get((value, layout))
        return self.known(value, layout)

    def _for(self, op: Op, slice_: Slice, mapping: dict[Value, Value]) -> Iterator[Step]:
        """A loop carries each value of the slice a second time."""
        body = op.regions[0].blocks[0]
        for arg in list(body.args[1:]):
            if arg not in slice_.values:
                continue
            index = arg.index - 1
            result = op.results[index]
            init = self._lookup(mapping, op.operands[index + 3])
            edit.append_operand(op, init)
            twin = edit.insert_argument(body, len(body.args), init.type, self.run.new_name())
            name = self.run.new_name()
            new = edit.insert_result(op, len(op.results), init.type, name)
            mapping[result], mapping[arg] = new, twin
            yield self.register(result, slice_.layouts[arg], new)
            yield self.register(arg, slice_.layouts[arg], twin)
        self._outlive(op)

    def _if(self, op: Op, slice_: Slice, mapping: dict[Value, Value]) -> Iterator[Step]:
        """A branch gives each value of the slice a second time."""
        for result in list(op.results):
            if result not in slice_.values:
                continue
            layout = slice_.layouts[result]
            type = self.run.tensors.with_encoding(result.type, layout)
            new = edit.insert_result(op, len(op.results), type, self.run.new_name())
            mapping[result] = new
            yield self.register(result, layout, new)
        self._outlive(op)

    def _outlive(self, op: Op) -> None:
        """The compiler makes the op anew, and of each result it keeps the last registration only."""
        for key in list(self.recorder.table("remat")):
            assert isinstance(key, tuple)
            value, layout = key
            if value.op is op and self.last.get(value) != layout:
                self.recorder.set("remat", key, None)

    def _constant(self, op: Op, slice_: Slice, mapping: dict[Value, Value]) -> Iterator[Step]:
        copy = clone_before(self.run, op, op)
        layout = slice_.layouts[op.results[0]]
        new = convert_before(self.run, op, copy.results[0], layout)
        mapping[op.results[0]] = new
        yield self.register(op.results[0], layout, new)

    def _clone(self, op: Op, slice_: Slice, mapping: dict[Value, Value]) -> Iterator[Step]:
        copy = clone_before(self.run, op, op, mapping)
        for old, new in zip(op.results, copy.results, strict=True):
            layout = slice_.layouts.get(old)
            if layout is not None:
                edit.set_type(new, self.run.tensors.with_encoding(old.type, layout))
                yield self.register(old, layout, new)


def comes_before(value: Value, op: Op) -> bool:
    """Whether a value is there when `op` begins (in structured code: MLIR's proper dominance)."""
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.block if owner is not None else None
    current: Op | None = op
    while current is not None and current.block is not block:
        current = current.parent
    if current is None or block is None:
        return False
    if isinstance(owner, Block):
        return True
    assert owner is not None
    if current is owner:
        return False
    return block.ops.index(owner) < block.ops.index(current)
