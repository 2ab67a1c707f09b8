"""Which allocations of a MIGraphX module are live together, in program order.

An allocation is live from where it stands to the last instruction that uses it or anything that shares its
bytes: a kernel's result shares those of its output, a view those of what it looks at. Two allocations are
neighbours if one of them is made while the other is live. Allocations of no bytes, and those that nothing
uses, have no neighbours and need no place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ...analysis.views import aliased_operand, captured
from ...errors import InputError
from ...program import Op, Value
from ...types import ShapeType, TupleType, Type, byte_size, element_bits

ALLOCATIONS: Final = frozenset({"hip::allocate", "allocate"})
_PASSES: Final = frozenset({"pass", "pass_op", "load"})
"""Ops that hand on the bytes of their first operand: those of MIGraphX's tests, and a cut out of a buffer."""


@dataclass(slots=True)
class Allocation:
    """One buffer to place; positions are indices into the module's instructions."""

    op: Op
    bytes: int
    first: int
    last: int
    neighbours: list[int] = field(default_factory=list)
    """The numbers of the allocations that are live together with it."""


def allocations(instructions: list[Op]) -> list[Allocation]:
    """The allocations that want a place, numbered in program order, with their neighbours."""
    last = _last_uses(instructions)
    found = [
        Allocation(op, size, at, last[op])
        for at, op in enumerate(instructions)
        if op.name in ALLOCATIONS and op in last and (size := size_of(op))
    ]
    alive: list[int] = []
    for number, mine in enumerate(found):
        alive = [other for other in alive if found[other].last > mine.first]
        for other in alive:
            mine.neighbours.append(other)
            found[other].neighbours.append(number)
        alive.append(number)
    return found


def _last_uses(instructions: list[Op]) -> dict[Op, int]:
    """Allocation → the last instruction that uses it or what shares its bytes."""
    owner: dict[Value, Op] = {}
    last: dict[Op, int] = {}
    for at, op in enumerate(instructions):
        for value in (*op.operands, *captured(op)):
            if value in owner:
                last[owner[value]] = at
        shared = 0 if op.name in _PASSES and op.operands else aliased_operand(op)
        for value in op.results:
            if op.name in ALLOCATIONS:
                owner[value] = op
            elif shared is not None and op.operands[shared] in owner:
                owner[value] = owner[op.operands[shared]]
    return last


def size_of(op: Op) -> int:
    """Bytes that an allocation makes; raises InputError where its shape does not say."""
    total = 0
    for value in op.results:
        size = byte_size(value.type)
        if size is None:
            raise InputError(
                f"{value.name} ({op.name}) has the shape {value.type.text}: expected one whose size is "
                "known, such as float_type, {64}, {1}"
            )
        total += size
    return total


def alignment_of(op: Op) -> int:
    """Bytes that the allocation would like to begin at a multiple of.

    The size of its largest element; four times that where it has more than four of them in fours, twice where
    in twos.
    """
    element = max((_largest_element(value.type) for value in op.results), default=1)
    count = size_of(op) // element
    if count > 4 and count % 4 == 0:
        return 4 * element
    return 2 * element if count > 4 and count % 4 == 2 else element


def _largest_element(type: Type) -> int:
    largest, rest = 1, [type]
    while rest:
        each = rest.pop()
        if isinstance(each, TupleType):
            rest.extend(each.members)
        elif isinstance(each, ShapeType):
            largest = max(largest, (element_bits(each) or 8) // 8)
    return largest


def most_live_bytes(found: list[Allocation]) -> int:
    """The most bytes of allocations that are live at one instruction: no arena can be smaller."""
    changes = sorted(
        [(each.first, each.bytes) for each in found] + [(each.last + 1, -each.bytes) for each in found]
    )
    most = live = 0
    for _, change in changes:
        live += change
        most = max(most, live)
    return most
