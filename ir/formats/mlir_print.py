"""Writer of MLIR text: byte for byte what was read where nothing changed, and what the real parser
accepts where something did.

An op that was edited is printed from its own text as a template: names, types and the attribute
dictionary are put into their places, so that its custom syntax survives. Where the template no longer
fits (operands or results were added or taken away, an attribute of the custom syntax changed) and for ops
that were made, the generic form is printed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypeAlias

from ..program import Block, Op, Program, Region, Value, walk, walk_blocks, walk_post
from .mlir_detail import MlirSource, is_synthetic, textual_regions
from .mlir_generic import generic_attributes
from .mlir_names import print_names
from .mlir_template import Template, template_of

_Item: TypeAlias = "str | Op | tuple[Region, bool, int]"


def print_mlir(program: Program) -> str:
    """The program as MLIR text."""
    source = program.source if isinstance(program.source, MlirSource) else MlirSource("")
    if source is program.source and not _is_edited(program):
        return source.text
    return _Writer(program, source, print_names(program)).write()


def _is_edited(program: Program) -> bool:
    return any(op.edited or op.start < 0 for op in walk(program)) or any(
        block.edited for block in walk_blocks(program)
    )


@dataclass(slots=True)
class _Writer:
    """One run of the writer; `changed` holds the ids of ops that cannot be copied from the source."""

    program: Program
    source: MlirSource
    names: dict[Value, str]
    changed: set[int] = field(default_factory=set)
    generic: set[int] = field(default_factory=set)
    """Ids of ops printed in generic form, whose regions must show every terminator."""
    out: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        renamed = {id(value) for value, name in self.names.items() if value.name != name}
        for op in walk_post(self.program):
            if (
                op.edited
                or op.start < 0
                or (renamed and any(id(v) in renamed for v in (*op.operands, *op.results)))
                or any(self._region_changed(region, renamed) for region in op.regions)
            ):
                self.changed.add(id(op))

    def _region_changed(self, region: Region, renamed: set[int]) -> bool:
        return any(
            block.edited
            or any(id(op) in self.changed for op in block.ops)
            or any(id(arg) in renamed for arg in block.args)
            for block in region.blocks
        )

    def write(self) -> str:
        stack: list[_Item] = [self._tail()]
        for block in reversed(self.program.body.blocks):
            stack.extend(reversed(block.ops))
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                self.out.append(item)
            elif isinstance(item, Op):
                stack.extend(reversed(self._op(item)))
            else:
                stack.extend(reversed(self._region(*item)))
        return "".join(self.out)

    def _tail(self) -> str:
        """What stands behind the last op of the source: comments and white space."""
        end = max((op.end for block in self.program.body.blocks for op in block.ops), default=0)
        return self.source.text[end:] if end > 0 else "\n"

    # -- ops -----------------------------------------------------------------------------------------

    def _op(self, op: Op) -> list[_Item]:
        if op.implicit and id(op) not in self.changed and id(op.parent) not in self.generic:
            return []
        lead = self.source.text[op.lead : op.start] if op.start >= 0 and op.source is self.source else ""
        if "\n" not in lead and (op.start < 0 or op.lead != 0):
            lead = "\n" + "  " * _depth(op)
        if id(op) not in self.changed:
            return [lead + (op.text if not op.implicit else f'"{op.name}"() : () -> ()')]
        if is_synthetic(op):
            return []
        template = (
            template_of(op, self.source) if op.source is self.source and 0 <= op.start < op.end else None
        )
        if template is not None:
            return [lead, *self._from_template(op, template)]
        return [lead, *self._generic(op)]

    def _from_template(self, op: Op, template: Template) -> list[_Item]:
        items: list[_Item] = [self._results(op)]
        for piece in template.pieces:
            if isinstance(piece, str):
                items.append(piece)
            elif isinstance(piece, Value):
                items.append(self.name(piece))
            else:
                items.append((piece, False, _depth(op)))
        return items

    def name(self, value: Value) -> str:
        return self.names.get(value, value.name)

    def _results(self, op: Op) -> str:
        if not op.results:
            return ""
        names = [self.name(result) for result in op.results]
        base = names[0].partition("#")[0]
        if "#" in names[0]:
            if all(name == f"{base}#{k}" for k, name in enumerate(names)):
                return f"{base}:{len(names)} = "
            return self._packs(names) + " = "
        return ", ".join(names) + " = "

    @staticmethod
    def _packs(names: list[str]) -> str:
        """`%a#0, %a#1, %b` → `%a:2, %b`."""
        listed: list[tuple[str, int]] = []
        for name in names:
            base, mark, _ = name.partition("#")
            if mark and listed and listed[-1][0] == base:
                listed[-1] = (base, listed[-1][1] + 1)
            else:
                listed.append((base, 1 if mark else 0))
        return ", ".join(f"{base}:{count}" if count else base for base, count in listed)

    def _generic(self, op: Op) -> list[_Item]:
        self.generic.add(id(op))
        operands = ", ".join(self.name(value) for value in op.operands)
        items: list[_Item] = [f'{self._results(op)}"{op.name}"({operands})']
        if op.successors:
            items.append("[" + ", ".join(block.label for block in op.successors) + "]")
        attributes = generic_attributes(op)
        # An op's own attributes have no dot in their names; those that a dialect hangs on it do.
        properties = {name: text for name, text in attributes.items() if "." not in name}
        if properties:
            items.append(f" <{{{_entries(properties)}}}>")
        regions = textual_regions(op)
        for index, region in enumerate(regions):
            items.append(" ({" if index == 0 else ", {")
            items.append((region, True, _depth(op)))
            items.append("}")
        if regions:
            items.append(")")
        if len(properties) < len(attributes):
            hung = {name: text for name, text in attributes.items() if "." in name}
            items.append(f" {{{_entries(hung)}}}")
        inputs = ", ".join(value.type.text for value in op.operands)
        results = [value.type.text for value in op.results]
        output = (
            results[0] if len(results) == 1 and not results[0].startswith("(") else f"({', '.join(results)})"
        )
        items.append(f" : ({inputs}) -> {output}")
        if op.location:
            items.append(f" loc({op.location})")
        return items

    # -- regions -------------------------------------------------------------------------------------

    def _region(self, region: Region, labelled: bool, depth: int) -> list[_Item]:
        """The inside of a region; `labelled` asks for the entry block's arguments on a label."""
        items: list[_Item] = []
        for index, block in enumerate(region.blocks):
            if self._needs_label(block, index, labelled, len(region.blocks)):
                items.append(self._label(block, index, depth))
            items.extend(block.ops)
        emptied = not region.blocks or not 0 <= region.start <= region.end
        if emptied or any(block.ops for block in region.blocks):
            items.append("\n" + "  " * depth)
        else:
            items.append(self.source.text[region.start : region.end])
        return items

    @staticmethod
    def _needs_label(block: Block, index: int, labelled: bool, count: int) -> bool:
        return index > 0 or bool(block.label) or (labelled and (bool(block.args) or count > 1))

    def _label(self, block: Block, index: int, depth: int) -> str:
        blank = "\n" + "  " * depth
        text = self.source.text[block.start : block.end] if 0 <= block.start < block.end else ""
        if text and not block.edited and all(self.name(arg) == arg.name for arg in block.args):
            return blank + text
        label = block.label or f"^bb{index}"
        args = ", ".join(f"{self.name(arg)}: {arg.type.text}" for arg in block.args)
        return f"{blank}{label}({args}):" if args else f"{blank}{label}:"


def _entries(attributes: dict[str, str]) -> str:
    return ", ".join(
        _key(name) if text == "unit" else f"{_key(name)} = {text}" for name, text in attributes.items()
    )


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_][\w$.]*", name) else f'"{name}"'


def _depth(op: Op) -> int:
    depth = 0
    parent = op.parent
    while parent is not None:
        depth += not is_synthetic(parent)
        parent = parent.parent
    return depth
