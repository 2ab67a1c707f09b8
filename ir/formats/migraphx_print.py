"""Writer of MIGraphX program text: the same bytes, or instructions put together anew where they changed.

Once anything has changed, instructions that were filled in from another listing are written in full.
"""

from __future__ import annotations

import re
from typing import Final

from ..program import Op, Program, symbol, walk, walk_blocks
from .migraphx_instruction import RUN, format_instruction, line_of, returned_name
from .migraphx_names import Names
from .migraphx_source import HEADER, MigraphxSource

_COMMA: Final = re.compile(r"\s*,\s*")


def print_migraphx(program: Program) -> str:
    """The program as MIGraphX text; an unchanged program gives the bytes that were read."""
    text = program.text
    if program.format == "migraphx" and not _is_edited(program):
        return text
    names = Names(program)
    parts: list[str] = []
    for op in program.ops:
        parts.append(_lead(op, program, bool(parts), "\n\n" if op.name == "module" else "\n"))
        if op.name == "module":
            _module(op, program, names, parts)
        else:
            parts.append(op.text)
    end = program.source.end if isinstance(program.source, MigraphxSource) else 0
    return "".join(parts) + (text[end:] or "" if end else "\n")


def _is_edited(program: Program) -> bool:
    return any(op.edited or op.start < 0 for op in walk(program)) or any(
        block.edited for block in walk_blocks(program)
    )


def _lead(op: Op, program: Program, behind: bool, default: str) -> str:
    """What stands in front of an op: its own text, on a line of its own if anything is printed before it."""
    own = op.start >= 0 and op.source is program.source
    lead = program.text[op.lead : op.start] if own else default if behind else ""
    return f"\n{lead}" if behind and "\n" not in lead else lead


def _module(module: Op, program: Program, names: Names, parts: list[str]) -> None:
    block = module.regions[0].blocks[0]
    header = _header(module)
    parts.append(header)
    behind = bool(header) or any(parts)
    for op in block.ops:
        run = RUN if op.start < 0 and "eval.ms" in op.attributes else ""
        parts.append(_lead(op, program, behind, "\n") + run)
        parts.append(_instruction(op, names))
        behind = True


def _header(module: Op) -> str:
    """A module's header, as it was read unless it has another name now; '' for a listing without one.

    A listing without one has its module from its first instruction, so that an empty one needs a header.
    """
    source = module.source
    if module.start < 0 or not isinstance(source, MigraphxSource):
        return f'module: "{symbol(module)}"'
    inside = module.regions[0].blocks[0].start
    text = source.text[module.start : inside]
    is_empty = not text and not any(op.name for op in module.regions[0].blocks[0].ops)
    if not is_empty and (not module.edited or symbol(module) == source.header(module)):
        return text
    found = HEADER.match(text)
    if found is None:
        return f'module: "{symbol(module)}"\n'
    return text[: found.start("name")] + symbol(module) + text[found.end("name") :]


def _instruction(op: Op, names: Names) -> str:
    arguments = [names.argument(op, value) for value in op.operands]
    renamed = any(names.names[value] != value.name for value in op.results)
    if op.start >= 0 and not op.edited and not renamed and _says(op, arguments):
        return op.text
    name = names.names[op.results[0]] if op.results else returned_name(op)
    return format_instruction(op, name, arguments)


def _says(op: Op, arguments: list[str]) -> bool:
    """Whether an instruction's text has these arguments, each by its full name."""
    line = line_of(op)
    if line is None:
        return True
    if line.recovered:
        return False
    text, wanted = line.arguments or "", ",".join(arguments)
    return text == wanted or _COMMA.sub(",", text).strip() == _COMMA.sub(",", wanted)
