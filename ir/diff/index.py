"""A program laid out in lists: ops and values by number, in walk order, with their def-use edges.

Matching asks the same few questions of every op many times; numbers in lists answer them without
touching the objects again. Op `i` comes before the ops of its regions, as in `program.walk`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..formats.mlir_syntax import is_isolated
from ..program import Block, Op, Program, Value

ARGUMENT = -1
UNDEFINED = -2


@dataclass(slots=True)
class Side:
    """One of the two programs of a comparison. All lists are indexed by op, value or block number."""

    program: Program
    ops: list[Op] = field(default_factory=list)
    number: dict[Op, int] = field(default_factory=dict)
    parent: list[int] = field(default_factory=list)
    """The op around each op, or -1."""
    block_of: list[int] = field(default_factory=list)
    place: list[int] = field(default_factory=list)
    """The op's place in its block."""
    scope: list[int] = field(default_factory=list)
    """The nearest op around each op through which no value passes (a function, a module), or -1."""
    operands: list[tuple[int, ...]] = field(default_factory=list)
    results: list[tuple[int, ...]] = field(default_factory=list)
    inner: list[tuple[int, ...]] = field(default_factory=list)
    """The blocks of each op's regions, region by region."""
    regions: list[tuple[int, ...]] = field(default_factory=list)
    """How many blocks each of the op's regions has."""
    blocks: list[Block] = field(default_factory=list)
    block_number: dict[Block, int] = field(default_factory=dict)
    block_owner: list[int] = field(default_factory=list)
    """The op whose region holds each block, or -1."""
    arguments: list[tuple[int, ...]] = field(default_factory=list)
    members: list[list[int]] = field(default_factory=list)
    """The ops of each block."""
    values: list[Value] = field(default_factory=list)
    value_number: dict[Value, int] = field(default_factory=dict)
    definer: list[int] = field(default_factory=list)
    """The op that defines each value, `ARGUMENT` or `UNDEFINED`."""
    result_index: list[int] = field(default_factory=list)
    value_block: list[int] = field(default_factory=list)
    """The block of an argument, -1 for other values."""
    users: list[list[int]] = field(default_factory=list)
    """The ops that use each value, in walk order; an op that uses it twice stands there twice."""
    undefined: list[int] = field(default_factory=list)


def index(program: Program) -> Side:
    """Number everything in a program; linear in its size, and no recursion."""
    side = Side(program)
    _number_ops(side)
    _link_operands(side)
    return side


def _number_ops(side: Side) -> None:
    everything_isolated = side.program.format != "mlir"
    stack: list[tuple[Op, int, int, int]] = []
    for block in reversed(side.program.body.blocks):
        stack.extend((op, -1, -1, place) for place, op in reversed(list(enumerate(block.ops))))
    for block in side.program.body.blocks:
        _add_block(side, block, -1)
    while stack:
        op, parent, scope, place = stack.pop()
        here = len(side.ops)
        block_number = side.block_number[op.block] if op.block else 0
        side.number[op] = here
        side.ops.append(op)
        side.parent.append(parent)
        side.scope.append(scope)
        side.place.append(place)
        side.block_of.append(block_number)
        side.members[block_number].append(here)
        side.results.append(tuple(_add_value(side, value, here, -1) for value in op.results))
        if op.regions:
            isolated = (everything_isolated and parent < 0) or is_isolated(op.name)
            _add_regions(side, op, here, here if isolated else scope, stack)
        else:
            side.inner.append(())
            side.regions.append(())


def _add_regions(side: Side, op: Op, here: int, scope: int, stack: list[tuple[Op, int, int, int]]) -> None:
    numbers: list[int] = []
    for region in op.regions:
        numbers.extend(_add_block(side, block, here) for block in region.blocks)
    side.inner.append(tuple(numbers))
    side.regions.append(tuple(len(region.blocks) for region in op.regions))
    for number in reversed(numbers):
        ops = side.blocks[number].ops
        stack.extend((ops[place], here, scope, place) for place in range(len(ops) - 1, -1, -1))


def _add_block(side: Side, block: Block, owner: int) -> int:
    number = len(side.blocks)
    side.block_number[block] = number
    side.blocks.append(block)
    side.block_owner.append(owner)
    side.members.append([])
    side.arguments.append(tuple(_add_value(side, value, ARGUMENT, number) for value in block.args))
    return number


def _add_value(side: Side, value: Value, definer: int, block: int) -> int:
    number = len(side.values)
    side.value_number[value] = number
    side.values.append(value)
    side.definer.append(definer)
    side.result_index.append(value.index)
    side.value_block.append(block)
    side.users.append([])
    return number


def _link_operands(side: Side) -> None:
    number, users, operands = side.value_number, side.users, side.operands
    for here, op in enumerate(side.ops):
        if not op.operands:
            operands.append(())
            continue
        listed = []
        for value in op.operands:
            known = number.get(value)
            if known is None:
                known = _add_value(side, value, UNDEFINED, -1)
                side.undefined.append(known)
            users[known].append(here)
            listed.append(known)
        operands.append(tuple(listed))
