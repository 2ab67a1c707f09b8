"""Memory that is used wrongly by a MIGraphX program: races between streams, buffers in each other's way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from ..program import Op, Value
from ..types import byte_size
from .memory import Buffer, arena_bytes, arena_use
from .order import Order, order_of
from .views import Roots, buffer_of, captured, is_view, outer_load, written_operand

HazardKind = Literal["RAW", "WAR", "WAW"]


@dataclass(frozen=True, slots=True)
class Hazard:
    """Two accesses to overlapping bytes on different streams, one a write, neither surely before the other.

    `start:end` are the bytes in question, offsets in the memory that `memory` names.
    """

    kind: HazardKind
    first: Op
    second: Op
    memory: str
    start: int
    end: int
    streams: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two buffers of an arena that are live together and share bytes."""

    first: Buffer
    second: Buffer
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Outside:
    """A `load` that ends behind its arena's end, or begins behind its own."""

    load: Op
    start: int
    end: int
    arena: int


@dataclass(slots=True)
class MemoryFaults:
    """Everything found in one module."""

    hazards: list[Hazard]
    unrecorded: list[Op]
    """Waits for events that nothing in the program records."""
    overlaps: list[Overlap]
    outside: list[Outside]

    @property
    def any(self) -> bool:
        """Whether there is a fault at all."""
        return bool(self.hazards or self.unrecorded or self.overlaps or self.outside)


def memory_faults(instructions: list[Op]) -> MemoryFaults:
    """Check a module's streams and arena; see the members of the result."""
    order = order_of(instructions)
    return MemoryFaults(
        list(hazards(instructions, order)),
        [instructions[index] for index in order.unrecorded],
        list(overlaps(instructions)),
        list(outside(instructions)),
    )


@dataclass(frozen=True, slots=True)
class _Access:
    at: int
    writes: bool
    memory: Value
    start: int
    end: int


def hazards(instructions: list[Op], order: Order) -> Iterator[Hazard]:
    """The races of a module, each pair of instructions once for each kind, in program order.

    Bytes are cut where any access begins or ends, and each piece remembers its last write and the reads
    since then on each stream, so that the cost grows with the accesses and not with their pairs.
    """
    accesses = _accesses(instructions)
    pieces = _Pieces(accesses)
    told: set[tuple[HazardKind, int, int]] = set()
    for access in accesses:
        for piece in pieces.of(access):
            for kind, earlier in piece.conflicts(access):
                mark = (kind, earlier, access.at)
                if mark in told or order.streams[earlier] == order.streams[access.at]:
                    continue
                if not order.before(earlier, access.at):
                    told.add(mark)
                    first, second = instructions[earlier], instructions[access.at]
                    streams = order.streams[earlier], order.streams[access.at]
                    start, end = _shared(accesses, earlier, access)
                    yield Hazard(kind, first, second, access.memory.name, start, end, streams)
            piece.note(access, order.streams[access.at])


def _shared(accesses: list[_Access], earlier: int, later: _Access) -> tuple[int, int]:
    """The bytes that two instructions both touch."""
    spans = [a for a in accesses if a.at == earlier and a.memory is later.memory]
    both = [(max(a.start, later.start), min(a.end, later.end)) for a in spans]
    return max((span for span in both if span[0] < span[1]), default=(later.start, later.end))


class _Piece:
    """A stretch of bytes that every access takes whole or not at all."""

    __slots__ = ("reads", "write")

    def __init__(self) -> None:
        self.write: int | None = None
        self.reads: dict[int, int] = {}

    def conflicts(self, access: _Access) -> Iterator[tuple[HazardKind, int]]:
        if self.write is not None:
            yield "WAW" if access.writes else "RAW", self.write
        if access.writes:
            yield from (("WAR", read) for read in self.reads.values())

    def note(self, access: _Access, stream: int) -> None:
        if access.writes:
            self.write = access.at
            self.reads.clear()
        else:
            self.reads[stream] = access.at


class _Pieces:
    """The pieces of every memory, by where they begin."""

    def __init__(self, accesses: list[_Access]) -> None:
        cuts: dict[Value, set[int]] = {}
        for access in accesses:
            cuts.setdefault(access.memory, set()).update((access.start, access.end))
        self.starts = {memory: sorted(marks) for memory, marks in cuts.items()}
        self.place = {memory: {at: n for n, at in enumerate(marks)} for memory, marks in self.starts.items()}
        self.pieces = {memory: [_Piece() for _ in marks] for memory, marks in self.starts.items()}

    def of(self, access: _Access) -> list[_Piece]:
        place = self.place[access.memory]
        return self.pieces[access.memory][place[access.start] : place[access.end]]


def _accesses(instructions: list[Op]) -> list[_Access]:
    """What each instruction reads and writes on the device, reads in front of writes."""
    found: list[_Access] = []
    roots: Roots = {}
    for at, op in enumerate(instructions):
        if op.name in ("load", "@return") or is_view(op):
            continue
        written = written_operand(op)
        for index, value in [*enumerate(op.operands), *((-1, value) for value in captured(op))]:
            span = _span(buffer_of(value, roots), roots)
            if span is not None and index != written:
                found.append(_Access(at, False, *span))
        if written is not None:
            span = _span(buffer_of(op.operands[written], roots), roots)
            if span is not None:
                found.append(_Access(at, True, *span))
    return found


def _span(buffer: Value, roots: Roots) -> tuple[Value, int, int] | None:
    """(memory, start, end) of a buffer; None for literals on the host and things without bytes."""
    op = buffer.op
    if op is None or op.name == "@literal":
        return None
    if op.name == "load" and op.operands:
        size = _number(op.attributes.get("end", "")) - _number(op.attributes.get("offset", ""))
        outer, inside = outer_load(op, roots)
        start = _number(outer.attributes.get("offset", "")) + inside
        return (buffer_of(outer.operands[0], roots), start, start + size) if size > 0 else None
    size = byte_size(buffer.type) or 0
    return (buffer, 0, size) if size else None


def overlaps(instructions: list[Op]) -> Iterator[Overlap]:
    """Buffers that share bytes while both are live in program order, by where the later begins to live."""
    lived = [b for b in arena_use(instructions).buffers if b.first is not None and b.bytes]
    lived.sort(key=lambda buffer: buffer.first or 0)
    alive: list[Buffer] = []
    for buffer in lived:
        begin = buffer.first or 0
        alive = [other for other in alive if (other.last or 0) >= begin]
        for other in alive:
            start, end = max(other.start, buffer.start), min(other.end, buffer.end)
            if start < end and _arena(other) is _arena(buffer):
                yield Overlap(other, buffer, start, end)
        alive.append(buffer)


def _arena(buffer: Buffer) -> Value | None:
    return buffer_of(buffer.load.operands[0]) if buffer.load.operands else None


def outside(instructions: list[Op]) -> Iterator[Outside]:
    """Loads that reach beyond the arena, or beyond the buffer that they are cut out of."""
    arena = arena_bytes(instructions)
    roots: Roots = {}
    for op in instructions:
        if op.name == "load":
            start, end = (_number(op.attributes.get(key, "")) for key in ("offset", "end"))
            base = buffer_of(op.operands[0], roots).op if op.operands else None
            size = arena
            if base is not None and base.name == "load":
                size = _number(base.attributes.get("end", "")) - _number(base.attributes.get("offset", ""))
            if size and (end > size or start > end):
                yield Outside(op, start, end, size)


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 20 else 0


def to_json(faults: MemoryFaults) -> dict[str, Any]:
    """The faults as `passlens info --json` gives them; instructions by their result's name."""
    return {
        "hazards": [
            {"kind": h.kind, "first": shown(h.first), "second": shown(h.second), "memory": h.memory,
             "start": h.start, "end": h.end, "streams": list(h.streams)}
            for h in faults.hazards
        ],
        "waits_without_record": [shown(op) for op in faults.unrecorded],
        "live_overlaps": [
            {"first": shown(o.first.load), "second": shown(o.second.load), "start": o.start, "end": o.end}
            for o in faults.overlaps
        ],
        "outside_arena": [
            {"load": shown(o.load), "start": o.start, "end": o.end, "arena": o.arena} for o in faults.outside
        ],
    }  # fmt: skip


def shown(op: Op) -> str:
    """An instruction by its result's name, or by its op."""
    return op.results[0].name if op.results else op.name
