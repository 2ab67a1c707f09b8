"""Filling in a listing that markdown has mangled from an intact listing of the same program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..program import Op, Program, symbol

if TYPE_CHECKING:
    from .migraphx import MigraphxSource


def recover(program: Program, source: MigraphxSource, intact: Program) -> int:
    """Give mangled instructions the arguments of their twins; returns how many.

    A twin has the same name in the same module, the same shape, and prints the same op and attributes once
    the brackets are gone. Nothing is filled in for an instruction without one.
    """
    twins = {
        (symbol(module), op.results[0].name): op
        for module in intact.ops
        for region in module.regions
        for op in region.blocks[0].ops
        if op.results
    }
    originals = intact.source.lines  # type: ignore[attr-defined]  # a MIGraphX program's source has them
    filled = 0
    for module in program.ops:
        for region in module.regions:
            for op in region.blocks[0].ops:
                line = source.lines.get(op.start)
                twin = twins.get((symbol(module), op.results[0].name)) if op.results else None
                if line is None or not line.mangled or twin is None or not _same(op, twin, source):
                    continue
                original = originals[twin.start]
                line.op, line.attributes, line.arguments = (
                    original.op,
                    original.attributes,
                    original.arguments,
                )
                op.name = original.op
                filled += 1
    return filled


def _same(op: Op, twin: Op, source: MigraphxSource) -> bool:
    line = source.lines[op.start]
    original = twin.source.lines[twin.start]  # type: ignore[union-attr]  # as above
    return bool(
        line.shape == original.shape and line.op + line.attributes == original.op + original.attributes
    )
