"""Offsets in the arena, so that no two buffers that may be live at once share bytes.

Time is the circle of slots: in a steady stream a literal may be copied while the run before still ends, so
that its buffer is live at the end of a run and at the beginning of the next. Buffers are placed one after
the other into the first gap (or the tightest) between those that are live with them. Several orders are
tried; then buffers that reach the top are moved forward in the order, again and again, as long as that does
no harm. The largest sum of live bytes is the least that any placement needs: there trying ends.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

_WORK: Final = 400_000
"""Neighbours looked at in improving tries together; bounds the time that placing may take."""
_MOST: Final = 4_000_000
"""The same for the first tries, of which there are at least two."""
_LEAST: Final = 2
_SEED: Final = 7


@dataclass(frozen=True, slots=True)
class Lifetime:
    """`bytes` are occupied from slot `first` to slot `last` (`first` < 0: since the run before)."""

    bytes: int
    first: int
    last: int


@dataclass(slots=True)
class Coloring:
    """Offsets in bytes by buffer, in the order given, and the bytes of the arena."""

    offsets: list[int]
    bytes: int
    bound: int
    """The largest sum of live bytes, each rounded up to the alignment: no placement needs less."""
    tries: int


def color(lifetimes: list[Lifetime], slots: int, alignment: int, *, enough: int | None = None) -> Coloring:
    """Place all buffers; deterministic. Trying ends early once `enough` bytes will do."""
    sizes = [-(-life.bytes // alignment) * alignment for life in lifetimes]
    stretches = [_stretches(life, slots) for life in lifetimes]
    live = _live(stretches, sizes, slots)
    bound = max(live, default=0)
    search = _Search(sizes, _neighbours(stretches, slots), max(bound, enough or 0))
    for order in _orders(lifetimes, stretches, sizes, live, search.neighbours):
        for tight in (False, True):
            if not search.done and (search.tries < _LEAST or search.tries * search.cost < _MOST):
                search.attempt(order, tight)
    search.improve()
    return Coloring(search.offsets, search.bytes, bound, search.tries)


class _Search:
    """The best placement so far."""

    def __init__(self, sizes: list[int], neighbours: list[list[int]], target: int) -> None:
        self.sizes = sizes
        self.neighbours = neighbours
        self.target = target
        self.offsets = [0] * len(sizes)
        self.order = list(range(len(sizes)))
        self.tight = False
        self.bytes = 0 if not sizes else -1
        self.tries = 0
        self.cost = sum(map(len, neighbours)) + len(sizes) + 1

    @property
    def done(self) -> bool:
        """Whether nothing better is looked for."""
        return 0 <= self.bytes <= self.target

    def attempt(self, order: list[int], tight: bool) -> int:
        """Place in an order; keeps the result if it is no worse than the best. Returns its bytes."""
        offsets, total = _place(order, self.sizes, self.neighbours, tight)
        self.tries += 1
        if self.bytes < 0 or total <= self.bytes:
            self.offsets, self.bytes, self.order, self.tight = offsets, total, order, tight
        return total

    def improve(self) -> None:
        """Move what reaches the top, or what it stands on, forward in the order."""
        chance = random.Random(_SEED)
        count = len(self.sizes)
        while not self.done and self.tries * self.cost < _WORK and count > 1:
            top = [i for i in self.order if self.offsets[i] + self.sizes[i] == self.bytes]
            chosen = chance.choice(top)
            if chance.random() < 0.5 and self.neighbours[chosen]:
                chosen = chance.choice(self.neighbours[chosen])
            order = [i for i in self.order if i != chosen]
            order.insert(chance.randrange(self.order.index(chosen) + 1), chosen)
            self.attempt(order, self.tight if chance.random() < 0.8 else not self.tight)


_Stretches = list[tuple[int, int]]


def _stretches(life: Lifetime, slots: int) -> _Stretches:
    """The slots of a lifetime as one or two stretches of the circle, both ends included."""
    if life.first >= 0:
        return [(life.first, life.last)]
    return [(0, life.last), (life.first + slots, slots - 1)]


def _live(stretches: list[_Stretches], sizes: list[int], slots: int) -> list[int]:
    steps = [0] * (slots + 1)
    for parts, size in zip(stretches, sizes, strict=True):
        for first, last in parts:
            steps[first] += size
            steps[last + 1] -= size
    total = 0
    live = []
    for step in steps[:-1]:
        total += step
        live.append(total)
    return live


def _neighbours(stretches: list[_Stretches], slots: int) -> list[list[int]]:
    """For each buffer those that are live at a slot at which it is."""
    begin: list[list[int]] = [[] for _ in range(slots)]
    for index, parts in enumerate(stretches):
        for first, _ in parts:
            begin[first].append(index)
    found: list[set[int]] = [set() for _ in stretches]
    alive: dict[int, int] = {}
    for slot in range(slots):
        alive = {index: last for index, last in alive.items() if last >= slot}
        for index in begin[slot]:
            for other in alive:
                if other != index:
                    found[index].add(other)
                    found[other].add(index)
            last = max(end for first, end in stretches[index] if first == slot)
            alive[index] = max(last, alive.get(index, -1))
    return [sorted(each) for each in found]


def _orders(
    lifetimes: list[Lifetime],
    stretches: list[_Stretches],
    sizes: list[int],
    live: list[int],
    neighbours: list[list[int]],
) -> list[list[int]]:
    indices = range(len(sizes))
    lengths = [life.last - life.first + 1 for life in lifetimes]
    crowd = [max((max(live[a : b + 1]) for a, b in parts if b >= a), default=0) for parts in stretches]
    return [
        sorted(indices, key=lambda i: (-sizes[i], -lengths[i], i)),
        sorted(indices, key=lambda i: (-crowd[i], -lengths[i], -sizes[i], i)),
        sorted(indices, key=lambda i: (-sizes[i] * lengths[i], i)),
        sorted(indices, key=lambda i: (-len(neighbours[i]), -sizes[i], -i)),
        sorted(indices, key=lambda i: (-lengths[i], -sizes[i], i)),
        sorted(indices, key=lambda i: (lifetimes[i].first, -sizes[i], i)),
    ]


def _place(
    order: list[int], sizes: list[int], neighbours: list[list[int]], tight: bool
) -> tuple[list[int], int]:
    """Offsets when buffers are placed in `order`: into the first gap, or into the tightest one."""
    offsets = [-1] * len(sizes)
    total = 0
    for index in order:
        size = sizes[index]
        taken = [(offsets[j], offsets[j] + sizes[j]) for j in neighbours[index] if offsets[j] >= 0]
        taken.sort()
        at, best = 0, -1
        slack = 1 << 62
        for start, end in taken:
            gap = start - at
            if gap >= size and gap < slack:
                best, slack = at, gap
                if not tight:
                    break
            if end > at:
                at = end
        offsets[index] = at = best if best >= 0 else at
        if at + size > total:
            total = at + size
    return offsets, total
