"""Where the bytes of every value of a plan are, who wrote them, and which bytes each instruction touches.

A *place* is a stretch of one memory: an arena that `load` cuts buffers from (a buffer may be cut from a
buffer), or whatever else makes bytes of its own. Beside it stands what the bytes must hold when the value is
read: what certain instructions wrote, what was there before the run, or nothing yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal

from ..program import Op, Value
from ..types import ShapeType, byte_size
from .views import captured, is_copy_to_gpu, is_view, written_operand

BATCH_COPY: Final = "hip::copy_batch_to_gpu"
VIEW_BYTES: Final = "hip::view_bytes"
RESIDENT: Final = "hip::hip_copy_literal"
BATCH_ALIGNMENT: Final = 256
"""Bytes that each literal of a batched copy begins at a multiple of."""
_ALLOCATIONS: Final = frozenset(
    {"hip::hip_allocate_memory", "hip::hip_load_memory", "hip::allocate", "allocate"}
)
_STREAMS_AND_EVENTS: Final = frozenset(
    f"{dialect}::{name}"
    for dialect in ("gpu", "hip")
    for name in ("set_stream", "record_event", "wait_event", "sync_device", "sync_stream")
)
_QUIET: Final = _STREAMS_AND_EVENTS | {"check_context", "undefined"}

Holds = Literal["host", "initial", "nothing", "written"]


@dataclass(frozen=True, slots=True)
class Place:
    """Bytes `start:end` of `memory`, and what they must hold when the value is read.

    `host`: a literal in host memory; `initial`: what was there before the run; `nothing`: a buffer before its
    first write; `written`: what the instructions `writers` (positions) wrote last.
    """

    memory: Value
    start: int
    end: int
    holds: Holds
    writers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Access:
    """One instruction (position `at`) reads or writes a place, through operand `operand` (-1: a module's)."""

    at: int
    writes: bool
    place: Place
    operand: int


def is_allocation(op: Op) -> bool:
    """Whether the op makes device memory, and no more; a parameter named scratch is an arena as well."""
    if op.name == "@param":
        type = op.results[0].type if op.results else None
        scratch = op.results and op.results[0].name.rpartition(":")[2] == "scratch"
        return bool(scratch) and isinstance(type, ShapeType) and type.element == "i8"
    return op.name in _ALLOCATIONS


def number_of(op: Op, attribute: str) -> int | None:
    """An attribute that is a number of bytes; None where it is missing or no such number."""
    text = op.attributes.get(attribute, "")
    return int(text) if text.isdecimal() and len(text) < 20 else None


class Places:
    """The place of every value of a module, found in issue order."""

    def __init__(self, instructions: list[Op]) -> None:
        self.instructions = instructions
        self.of: dict[Value, Place] = {}
        for at, op in enumerate(instructions):
            for value in op.results:
                self.of[value] = self._place(at, op, value)

    def get(self, value: Value) -> Place:
        """The place of an operand; for a value that is not defined yet, one of its own."""
        return self.of.get(value) or _own(value, "initial")

    def is_literal_copy(self, op: Op) -> bool:
        """Whether the op copies literals of the host to the GPU (not a parameter, say)."""
        return is_copy_to_gpu(op) and bool(op.operands) and self.get(op.operands[0]).holds == "host"

    def is_work(self, op: Op) -> bool:
        """Whether a plan must keep the op: anything but literals, buffers, views, streams and events."""
        if op.name in ("@literal", "@param", "load", RESIDENT) or op.name in _QUIET or is_allocation(op):
            return False
        return not is_view(op) and not self.is_literal_copy(op)

    def _place(self, at: int, op: Op, value: Value) -> Place:
        if op.name == "@literal":
            return _own(value, "host")
        if op.name == "load" and op.operands:
            return self._cut(op)
        if is_view(op) and op.operands:
            return self._viewed(op)
        if op.name == "load" or is_allocation(op):
            return _own(value, "nothing")
        written = written_operand(op)
        if written is not None:
            return replace(self.get(op.operands[written]), holds="written", writers=(at,))
        if self.is_work(op) or is_copy_to_gpu(op):
            return replace(_own(value, "written"), writers=(at,))
        return _own(value, "initial")

    def _cut(self, load: Op) -> Place:
        base = self.get(load.operands[0])
        start = number_of(load, "offset") or 0
        end = max(number_of(load, "end") or 0, start)
        return Place(base.memory, base.start + start, base.start + end, "nothing")

    def _viewed(self, view: Op) -> Place:
        base = self.get(view.operands[0])
        if view.name == VIEW_BYTES:
            start = base.start + (number_of(view, "offset") or 0)
            return replace(base, start=start, end=start + (byte_size(view.results[0].type) or 0))
        if base.holds != "nothing":
            return base
        # A buffer that several instructions wrote pieces of (a concatenation), handed on once they are done.
        parts = [self.get(value) for value in view.operands[1:]]
        writers = dict.fromkeys(at for part in parts if part.memory is base.memory for at in part.writers)
        return replace(base, holds="written", writers=tuple(writers)) if writers else base

    def accesses(self) -> Iterator[Access]:
        """What each instruction touches on the device, in issue order, an instruction's reads first."""
        for at, op in enumerate(self.instructions):
            if op.name == "@return" or not (self.is_work(op) or is_copy_to_gpu(op)):
                continue
            written = written_operand(op)
            inputs = [*enumerate(op.operands), *((-1, value) for value in captured(op))]
            touched = [(index, self.get(value)) for index, value in inputs if index != written]
            # A buffer that nothing has written yet is given as room to work in.
            rooms = [(index, place) for index, place in touched if place.holds == "nothing"]
            for index, place in touched:
                if place.holds in ("initial", "written") and place.start < place.end:
                    yield Access(at, False, place, index)
            if written is not None:
                rooms.append((written, self.get(op.operands[written])))
            for index, place in rooms:
                if place.start < place.end and place.holds != "host":
                    yield Access(at, True, place, index)


def _own(value: Value, holds: Holds) -> Place:
    return Place(value, 0, byte_size(value.type) or 0, holds)
