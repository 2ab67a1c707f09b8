"""Making the ops that the pass makes, under the names of the program's era."""

from __future__ import annotations

from collections.abc import Sequence

from ... import edit
from ...program import Block, Op, Region, Value
from ...types import Type
from .state import Run
from .tensors import Layout


def convert_before(run: Run, anchor: Op, value: Value, layout: Layout) -> Value:
    """A new convert of `value` to `layout` in front of an op."""
    op = _convert(run, value, layout)
    edit.insert_before(anchor, op)
    return op.results[0]


def convert_after(run: Run, value: Value, layout: Layout) -> Value:
    """A new convert of `value` to `layout` right behind its definition (an argument: first in its block)."""
    op = _convert(run, value, layout)
    owner = value.owner
    if isinstance(owner, Op):
        edit.insert_after(owner, op)
    else:
        assert isinstance(owner, Block), f"{value.name} is never defined"
        edit.insert_at(owner, 0, op)
    return op.results[0]


def _convert(run: Run, value: Value, layout: Layout) -> Op:
    type = run.tensors.with_encoding(value.type, layout)
    name = f"{run.tensors.dialect}.convert_layout"
    return edit.create(name, [value], [type], names=[run.new_name()])


def clone_before(run: Run, anchor: Op, op: Op, mapping: dict[Value, Value] | None = None) -> Op:
    """A copy of `op` in front of `anchor`, its results under new names."""
    copy = edit.clone(op, mapping)
    for result in copy.results:
        result.name = run.new_name()
    edit.insert_before(anchor, copy)
    return copy


def replacement(run: Run, op: Op, operands: Sequence[Value], types: Sequence[Type]) -> Op:
    """An op like `op` in front of it, with other operands and results, and still without regions.

    Only a loop keeps its attributes, as in the compiler.
    """
    names = [run.new_name()] * len(types)
    if len(types) > 1:
        names = [f"{names[0]}#{index}" for index in range(len(types))]
    made = edit.create(
        op.name, operands, types, dict(op.attributes) if op.name == "scf.for" else {}, names=names
    )
    made.source = op.source
    made.detail.location = op.location
    edit.insert_before(op, made)
    return made


def region_with(op: Op, arguments: Sequence[tuple[str, Type]]) -> Block:
    """A new last region of `op` with one block of these arguments."""
    region = Region(op)
    block = Block(region)
    region.blocks.append(block)
    for index, (name, type) in enumerate(arguments):
        block.args.append(Value(name, block, index, type))
    op.regions.append(region)
    return block
