"""Filling in a listing that markdown has mangled from an intact listing of the same program."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from ..program import Op, Program, symbol
from .migraphx_line import Line
from .migraphx_mangled import glued_heads
from .migraphx_source import MigraphxSource


def recover(mangled: list[Op], source: MigraphxSource, intact: Program | None) -> int:
    """Give mangled instructions the arguments of their twins; returns how many.

    A twin has the same name in the same module, the same shape, and prints the same op and attributes once
    the brackets are gone. An instruction without one keeps its attributes only; where its op ends is taken
    from any instruction, of either listing, that still has its brackets.
    """
    found = _twins(intact) if intact is not None else {}
    known = intact.source.lines if intact is not None and isinstance(intact.source, MigraphxSource) else {}
    heads = glued_heads(_with_brackets(chain(known.values(), source.lines.values())))
    filled = 0
    for op in mangled:
        line = source.lines[op.start]
        module = op.parent
        twin = found.get((symbol(module), line.name)) if module is not None else None
        if twin is not None and not twin.mangled and _same(line, twin):
            line.op, line.attributes, line.has_attributes = twin.op, twin.attributes, twin.has_attributes
            line.arguments, line.literal, line.modules = twin.arguments, twin.literal, twin.modules
            line.closed = line.recovered = True
            filled += 1
        else:
            own = heads.get(line.mangled.partition("=")[0], line.op)
            line.op, line.attributes = own, line.mangled[len(own) :].removeprefix("=")
        op.name = line.op
    return filled


def _twins(intact: Program) -> dict[tuple[str, str], Line]:
    if not isinstance(intact.source, MigraphxSource):
        return {}
    return {
        (symbol(module), op.results[0].name): intact.source.lines[op.start]
        for module in intact.ops
        for region in module.regions
        for op in region.blocks[0].ops
        if op.results and op.start in intact.source.lines
    }


def _with_brackets(lines: Iterable[Line]) -> Iterable[tuple[str, str]]:
    return ((line.op, line.attributes) for line in lines if line.has_attributes and not line.mangled)


def _same(line: Line, twin: Line) -> bool:
    return line.shape == twin.shape and line.mangled == twin.op + twin.attributes
