"""Whether every read of a plan gets the bytes that it must get, whatever order the streams really take.

The runs are issued back to back. A memory is a row of stretches, each with its last write and the reads since
then; a write makes one stretch of those that it covers, so that the cost grows with the accesses and not with
the stretches of a memory. A read is right if the last write to its bytes in issue order is the one that made
its value and surely precedes it; a write is right if the write and the reads before it surely precede it.
Since "surely precedes" is transitive, nothing older has to be looked at.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from ..program import Op, Value
from .hazards import shown
from .order import Order
from .plan_places import Access, Places
from .views import is_copy_to_gpu
from .violation import Violation, ViolationKind


@dataclass(slots=True)
class _Stretch:
    start: int
    end: int
    write: int = -1
    """The access that wrote it last, as an index of the order; -1 before the first."""
    reads: dict[int, int] = field(default_factory=dict)
    """Stream → the last read since then."""


class _Memory:
    """The stretches of one memory, side by side."""

    __slots__ = ("starts", "stretches")

    def __init__(self, end: int) -> None:
        self.starts = [0]
        self.stretches = [_Stretch(0, end)]

    def over(self, start: int, end: int) -> slice:
        """The stretches that make up `start:end`, cut to fit."""
        first = self._cut(start)
        return slice(first, self._cut(end))

    def merge(self, part: slice, write: int) -> None:
        """Make one freshly written stretch of several."""
        start, end = self.stretches[part.start].start, self.stretches[part.stop - 1].end
        self.stretches[part] = [_Stretch(start, end, write)]
        self.starts[part] = [start]

    def _cut(self, at: int) -> int:
        index = bisect_right(self.starts, at) - 1
        stretch = self.stretches[index]
        if stretch.start == at:
            return index
        if stretch.end > at:
            self.stretches.insert(index + 1, _Stretch(at, stretch.end, stretch.write, dict(stretch.reads)))
            self.starts.insert(index + 1, at)
            stretch.end = at
        return index + 1


def races(places: Places, order: Order, runs: int) -> Iterator[Violation]:
    """Everything wrong with the accesses of `runs` runs, once for each kind and pair of instructions."""
    yield from _Replay(places, order, runs).violations()


class _Replay:
    def __init__(self, places: Places, order: Order, runs: int) -> None:
        self.instructions = places.instructions
        self.order = order
        self.runs = runs
        self.returned = _returns(places)
        accesses = list(places.accesses())
        ends: dict[Value, int] = {}
        for access in [*accesses, *self.returned]:
            ends[access.place.memory] = max(ends.get(access.place.memory, 0), access.place.end)
        written = {access.place.memory for access in accesses if access.writes}
        self.memories = {memory: _Memory(ends[memory]) for memory in written}
        self.accesses = [access for access in accesses if access.place.memory in written]
        self.told: set[tuple[ViolationKind, int, int]] = set()

    def violations(self) -> Iterator[Violation]:
        count = len(self.instructions)
        for run in range(self.runs):
            base = run * count
            for access in self.accesses:
                yield from self._write(base, access) if access.writes else self._read(base, access)
            for access in self.returned:
                yield from self._result(base, access, self._end_of_first_stream(base, access.at))

    def _read(self, base: int, access: Access) -> Iterator[Violation]:
        now = base + access.at
        memory = self.memories[access.place.memory]
        for stretch in memory.stretches[memory.over(access.place.start, access.place.end)]:
            wrong = self._content(base, access, stretch)
            if wrong is not None:
                yield from wrong
            elif stretch.write >= 0 and not self.order.before(stretch.write, now):
                yield from self._say("RAW", stretch.write, now, stretch)
            stretch.reads[self.order.streams[now]] = now

    def _content(self, base: int, access: Access, stretch: _Stretch) -> Iterator[Violation] | None:
        """What is wrong with the bytes that a read finds; None if they are what it must get."""
        place, write = access.place, stretch.write
        if place.holds == "initial":
            kept = write < 0 or (write < base and self._updates(place.memory, write))
            return None if kept else self._say("overlap", write, base + access.at, stretch)
        if write >= base and write - base in place.writers:
            return None
        early = write < base or all(writer >= access.at for writer in place.writers)
        kind: ViolationKind = "uncopied" if early else "overlap"
        return self._say(kind, write, base + access.at, stretch)

    def _updates(self, memory: Value, write: int) -> bool:
        """Whether a write is the program's own to a parameter that one run hands on to the next."""
        writer = self.instructions[write % len(self.instructions)]
        return memory.op is not None and memory.op.name == "@param" and not is_copy_to_gpu(writer)

    def _write(self, base: int, access: Access) -> Iterator[Violation]:
        now = base + access.at
        memory = self.memories[access.place.memory]
        part = memory.over(access.place.start, access.place.end)
        for stretch in memory.stretches[part]:
            if 0 <= stretch.write != now and not self.order.before(stretch.write, now):
                yield from self._say("WAW", stretch.write, now, stretch)
            for read in stretch.reads.values():
                if read != now and not self.order.before(read, now):
                    yield from self._say("WAR", read, now, stretch)
        memory.merge(part, now)

    def _end_of_first_stream(self, base: int, at: int) -> int:
        """The last access of the run on stream 0, up to position `at`."""
        return next((t for t in range(base + at, base - 1, -1) if self.order.streams[t] == 0), base + at)

    def _result(self, base: int, access: Access, last: int) -> Iterator[Violation]:
        """A result must be in place when all that was issued on the first stream is done."""
        memory = self.memories.get(access.place.memory)
        if memory is None:
            return
        now = base + access.at
        for stretch in memory.stretches[memory.over(access.place.start, access.place.end)]:
            wrong = self._content(base, access, stretch)
            if wrong is not None:
                yield from wrong
            elif stretch.write >= 0 and stretch.write != last and not self.order.before(stretch.write, last):
                yield from self._say("return", stretch.write, now, stretch)

    def _say(self, kind: ViolationKind, first: int, second: int, where: _Stretch) -> Iterator[Violation]:
        count = len(self.instructions)
        mark = (kind, first % count if first >= 0 else -1, second % count)
        if mark in self.told:
            return
        self.told.add(mark)
        later = self.instructions[second % count]
        earlier = self.instructions[first % count] if first >= 0 else None
        crossing = first >= 0 and first // count != second // count
        run = " of the next run" if crossing else ""
        ops: tuple[Op, ...] = (later,) if earlier is None else (earlier, later)
        span = f"bytes {where.start:,}:{where.end:,}"
        words = {"earlier": _name(earlier), "later": _name(later), "run": run, "span": span}
        yield Violation(kind, _SENTENCES[kind].format(**words), ops)


def _name(op: Op | None) -> str:
    return "nothing" if op is None else f"{shown(op)} ({op.name})" if op.results else op.name


_SENTENCES: Final[dict[str, str]] = {
    "RAW": "{later}{run} may read {span} before {earlier} has written them",
    "WAR": "{later}{run} may write {span} while {earlier} still reads them",
    "WAW": "{later}{run} may write {span} before {earlier} does",
    "overlap": "{later} reads {span}, which {earlier} has written over",
    "uncopied": "{later} reads {span} that nothing has written for it in this run (last: {earlier})",
    "return": "the run may end before {earlier} has written {span} of a result",
}


def _returns(places: Places) -> list[Access]:
    found = []
    for at, op in enumerate(places.instructions):
        if op.name == "@return":
            for index, value in enumerate(op.operands):
                place = places.get(value)
                if place.holds in ("initial", "written") and place.start < place.end:
                    found.append(Access(at, False, place, index))
    return found
