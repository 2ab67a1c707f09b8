"""Where MIGraphX's memory colouring puts each allocation.

Everything is counted in units of the largest alignment that any allocation wants. The allocation with most
neighbours is placed first (then the larger, then the later), beside those of its neighbours that have a
place: at 0 if more than its size is free there, else in the first gap between two of them that is large
enough, else behind the one that ends last. Then three times each is placed anew, and moves where that does
not make the arena larger.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from .migraphx_interference import Allocation, alignment_of

ROUNDS: Final = 3

Segment = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Placed:
    """One decision: allocation `number` is given `segment` (units) for a reason."""

    number: int
    segment: Segment
    reason: str
    """`empty`, `front`, `gap` or `end`."""
    beside: Segment | None
    """The segment that it is put behind, if it is."""
    round: int
    """0 for the first placement."""


class Placement:
    """The places of all allocations of a module, as they come about."""

    def __init__(self, found: list[Allocation]) -> None:
        self.found = found
        self.alignment = max((alignment_of(each.op) for each in found), default=1)
        """Bytes of one unit."""
        self.segments: dict[int, Segment] = {}
        self.queue = sorted(
            range(len(found)),
            key=lambda n: (len(found[n].neighbours), found[n].bytes, n),
            reverse=True,
        )

    @property
    def bytes(self) -> int:
        """Bytes of the arena so far."""
        return self.alignment * max((end for _, end in self.segments.values()), default=0)

    def units(self, number: int) -> int:
        """The size of an allocation, rounded up."""
        return -(-self.found[number].bytes // self.alignment)

    def place_all(self) -> Iterator[Placed]:
        """Place every allocation once."""
        for number in self.queue:
            segment, reason, beside = self._next(number)
            self.segments[number] = segment
            yield Placed(number, segment, reason, beside, 0)

    def improve(self) -> Iterator[Placed]:
        """Place each anew where that leads elsewhere and makes the arena no larger."""
        ends = Counter(end for _, end in self.segments.values())
        largest = max(ends, default=0)
        for round in range(1, ROUNDS + 1):
            for number in self.queue:
                segment, reason, beside = self._next(number)
                before = self.segments[number]
                if segment == before or segment[1] > largest:
                    continue
                self.segments[number] = segment
                ends[segment[1]] += 1
                ends[before[1]] -= 1
                if not ends[before[1]]:
                    del ends[before[1]]
                    largest = max(ends) if before[1] == largest else largest
                yield Placed(number, segment, reason, beside, round)

    def taken(self, number: int) -> list[Segment]:
        """The places of an allocation's neighbours, in order."""
        places = self.segments
        return sorted({places[n] for n in self.found[number].neighbours if n in places})

    def clashes(self) -> list[tuple[int, int]]:
        """Neighbours that share bytes; there must be none."""
        return [
            (number, other)
            for number, (start, end) in self.segments.items()
            for other in self.found[number].neighbours
            if other > number and max(start, self.segments[other][0]) < min(end, self.segments[other][1])
        ]

    def _next(self, number: int) -> tuple[Segment, str, Segment | None]:
        size = self.units(number)
        taken = self.taken(number)
        if not taken:
            return (0, size), "empty", None
        if taken[0][0] > size:
            return (0, size), "front", None
        gap = _first_gap(taken, size)
        beside = gap or max(taken, key=lambda segment: segment[1])
        return (beside[1], beside[1] + size), "gap" if gap else "end", beside


def _first_gap(taken: list[Segment], size: int) -> Segment | None:
    """The first segment that is followed by at least `size` free units and then by another."""
    reached = 0
    for segment, following in pairwise(taken):
        if segment[1] < reached:
            continue
        reached = segment[1]
        if following[0] >= segment[1] and following[0] - segment[1] >= size:
            return segment
    return None
