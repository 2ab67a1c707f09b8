"""Writer of MIGraphX program text: the same bytes, or instructions put together anew where they changed."""

from __future__ import annotations

import re
from typing import Final

from ..program import Block, Op, Program, Value, symbol, walk, walk_blocks
from .migraphx_line import format_line

_SUFFIX_KEYS: Final = (
    "perf.ms",
    "perf.percent",
    "schedule.weight",
    "schedule.inputs",
    "schedule.stream",
    "origin",
)


def print_migraphx(program: Program) -> str:
    """The program as MIGraphX text; an unchanged program gives the bytes that were read."""
    text = program.text
    if program.format == "migraphx" and not _is_edited(program):
        return text
    names = _names(program)
    parts: list[str] = []
    end = 0
    for op in program.ops:
        parts.append(_lead(op, text, bool(parts)))
        if op.name != "module":
            parts.append(op.text)
        else:
            parts.append(_module(op, program, names))
        end = max(end, op.end)
    tail = text[end:] if end else "\n"
    return "".join(parts) + tail


def _is_edited(program: Program) -> bool:
    return any(op.edited or op.start < 0 for op in walk(program)) or any(
        block.edited for block in walk_blocks(program)
    )


def _lead(op: Op, text: str, behind: bool) -> str:
    lead = text[op.lead : op.start] if op.start >= 0 else ""
    return lead if lead or not behind else "\n"


def _module(module: Op, program: Program, names: dict[Value, str]) -> str:
    text = program.text
    block = module.regions[0].blocks[0]
    own = module.start >= 0 and module.source is program.source
    header = text[module.start : block.start] if own else f'module: "{symbol(module)}"'
    parts = [header]
    for op in block.ops:
        if op.start >= 0 and op.source is program.source:
            lead = text[op.lead : op.start]
            parts.append(lead if "\n" in lead or not header else f"\n{lead}")
        else:
            parts.append("\n" if header or len(parts) > 1 else "")
        parts.append(_instruction(op, names))
    return "".join(parts)


def _instruction(op: Op, names: dict[Value, str]) -> str:
    renamed = any(names.get(value, value.name) != value.name for value in (*op.operands, *op.results))
    if not op.edited and not renamed and op.start >= 0:
        return op.text
    name = names[op.results[0]] if op.results else _returned(op)
    arguments = [names.get(value, value.name) for value in op.operands]
    shape = op.results[0].type.text if op.results else ""
    attributes = dict(op.attributes)
    if op.name == "@param" and op.results and attributes.get("parameter") != name:
        own = name.rpartition(":")[2] if op.text.startswith(f"{name}") else name
        attributes["parameter"] = own if attributes.get("parameter") == own else name
    return format_line(name, op.name, attributes, arguments, shape, _suffix(op))


def _returned(op: Op) -> str:
    """The name in front of `@return`, which is no value."""
    head = op.text.partition(" = ")
    return head[0] if head[1] else ""


def _suffix(op: Op) -> str:
    """What stood behind the shape, unless an edit took it away."""
    if op.start < 0 or not any(key in op.attributes for key in _SUFFIX_KEYS):
        return ""
    return op.detail.trailing


def _names(program: Program) -> dict[Value, str]:
    """A name for every result; a value without one, or whose name is taken, gets an unused `@N`."""
    numbers = [
        int(found.group(1))
        for op in walk(program)
        for value in op.results
        if (found := re.search(r"@(\d{1,9})$", value.name))
    ]
    fresh = max(numbers, default=-1) + 1
    names: dict[Value, str] = {}
    for block in _bodies(program):
        taken: set[str] = set()
        for op in block.ops:
            for value in op.results:
                name = value.name
                if not name or name in taken:
                    name = f"@{fresh}"
                    fresh += 1
                taken.add(name)
                names[value] = name
    return names


def _bodies(program: Program) -> list[Block]:
    return [region.blocks[0] for op in program.ops for region in op.regions if region.blocks]
