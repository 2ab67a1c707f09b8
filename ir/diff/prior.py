"""A first guess at which op is which: anchors by label, then alignment block by block between them.

The guess knows position and bounded neighbourhoods, and nothing of whether two operands are the same
value; `relate.py` checks it against the def-use graph.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Literal

from .fingerprint import Labels
from .index import Side
from .sequence import align, align_backward, longest_increasing

Manner = Literal["forward", "backward", "use"]
"""`use`: ops that compute, and are used for, the same come first, which is right where ops were reordered.
The others align blocks in order before anything else, which is right where one of many like ops was
edited; where several alignments are equally short they take the one that begins, or ends, more alike."""


@dataclass(slots=True)
class Guess:
    """For each op of one program its likely counterpart in the other, or -1."""

    a: list[int]
    b: list[int]
    manner: Manner

    @property
    def by_place(self) -> bool:
        """Whether the order of ops was looked at first."""
        return self.manner != "use"

    def pair(self, i: int, j: int) -> None:
        """Note that op `i` of a is likely op `j` of b."""
        self.a[i] = j
        self.b[j] = i


@dataclass(slots=True)
class Both:
    """Two indexed programs with their shape numbers, name numbers and labels; `[0]` is a."""

    a: Side
    b: Side
    shapes: tuple[list[int], list[int]]
    names: tuple[list[int], list[int]]
    labels: tuple[Labels, Labels]
    whole: tuple[list[int], list[int]]
    """What an op computes and what it is used for, as one label."""


def guess(both: Both, manner: Manner) -> Guess:
    """Guess the counterparts of two programs' ops."""
    found = Guess([-1] * len(both.a.ops), [-1] * len(both.b.ops), manner)
    left, right = both.labels
    if manner == "use":
        _anchor(found, both.whole[0], both.whole[1])
        _vote(both, found)
    _align_blocks(both, found, ((left.spaced, right.spaced),), left.reach)
    if found.by_place:
        _align_blocks(both, found, ((left.local, right.local), both.shapes))
    for of_a, of_b in (
        both.whole,
        (left.upward, right.upward),
        (left.downward, right.downward),
        (left.near, right.near),
    ):
        if not _anchor(found, of_a, of_b):
            break
    _vote(both, found)
    _align_blocks(both, found, ((left.local, right.local), both.shapes, both.names))
    return found


def _anchor(found: Guess, of_a: list[int], of_b: list[int]) -> bool:
    """Pair the ops whose label is unique among those not yet paired of each program; any left?"""
    left, right = _unique(found.a, of_a), _unique(found.b, of_b)
    for text, i in left.items():
        j = right.get(text, -1)
        if i >= 0 and j >= 0:
            found.pair(i, j)
    return bool(left) and bool(right)


def _unique(paired: list[int], labels: list[int]) -> dict[int, int]:
    """Label → the one op that has it, or -1 where several do."""
    places: dict[int, int] = {}
    for i, text in enumerate(labels):
        if paired[i] < 0:
            places[text] = -1 if text in places else i
    return places


def _vote(both: Both, found: Guess) -> None:
    """Pair ops with regions by most of what they hold, inner ones first."""
    a, b = both.a, both.b
    votes: dict[int, Counter[int]] = defaultdict(Counter)
    for i in range(len(a.ops) - 1, -1, -1):
        if found.a[i] < 0 and i in votes:
            j = max(votes[i], key=lambda k: (votes[i][k], -k))
            if found.b[j] < 0:
                found.pair(i, j)
        j = found.a[i]
        if j < 0:
            continue
        above, there = a.parent[i], b.parent[j]
        if above >= 0 and there >= 0 and both.names[0][above] == both.names[1][there]:
            votes[above][there] += 1


Tiers = tuple[tuple[list[int], list[int]], ...]
"""Labels of a's ops and of b's, the more telling first."""


def _align_blocks(both: Both, found: Guess, tiers: Tiers, reach: list[int] | None = None) -> None:
    a, b = both.a, both.b
    work = list(zip(_top(a), _top(b), strict=False))
    done: set[int] = set()
    while work:
        block_a, block_b = work.pop()
        _align_members(both, found, (block_a, block_b), tiers, reach)
        for i in a.members[block_a]:
            if a.inner[i] and found.a[i] >= 0 and i not in done:
                done.add(i)
                work.extend(pair_blocks(both, i, found.a[i]))


def _top(side: Side) -> list[int]:
    return [side.block_number[block] for block in side.program.body.blocks]


def pair_blocks(both: Both, i: int, j: int) -> list[tuple[int, int]]:
    """The blocks of two ops' regions that correspond: by place, or by content where the counts differ."""
    a, b = both.a, both.b
    if a.regions[i] == b.regions[j]:
        return list(zip(a.inner[i], b.inner[j], strict=True))
    pairs: list[tuple[int, int]] = []
    at_a = at_b = 0
    for count_a, count_b in zip(a.regions[i], b.regions[j], strict=False):
        left, right = a.inner[i][at_a : at_a + count_a], b.inner[j][at_b : at_b + count_b]
        at_a, at_b = at_a + count_a, at_b + count_b
        if count_a == count_b:
            pairs.extend(zip(left, right, strict=True))
        else:
            pairs.extend(_pair_by_content(both, left, right))
    return pairs


def _pair_by_content(both: Both, left: tuple[int, ...], right: tuple[int, ...]) -> list[tuple[int, int]]:
    of_a = [hash(tuple(both.shapes[0][i] for i in both.a.members[block])) for block in left]
    of_b = [hash(tuple(both.shapes[1][j] for j in both.b.members[block])) for block in right]
    pairs: list[tuple[int, int]] = []
    low_a = low_b = 0
    for i, j in [*align(of_a, of_b), (len(left), len(right))]:
        pairs.extend(zip(left[low_a:i], right[low_b:j], strict=False))
        if i < len(left):
            pairs.append((left[i], right[j]))
        low_a, low_b = i + 1, j + 1
    return pairs


def _align_members(
    both: Both, found: Guess, blocks: tuple[int, int], tiers: Tiers, reach: list[int] | None
) -> None:
    """Keep the longest run of anchors that is in order, and align what lies between them."""
    b = both.b
    ops_a, ops_b = both.a.members[blocks[0]], b.members[blocks[1]]
    inside = [i for i in ops_a if found.a[i] >= 0 and b.block_of[found.a[i]] == blocks[1]]
    ordered = longest_increasing([b.place[found.a[i]] for i in inside])
    low_a = low_b = 0
    for at in [*ordered, -1]:
        high_a = both.a.place[inside[at]] if at >= 0 else len(ops_a)
        high_b = b.place[found.a[inside[at]]] if at >= 0 else len(ops_b)
        if high_a > low_a and high_b > low_b:
            _align_gap(found, ops_a[low_a:high_a], ops_b[low_b:high_b], tiers, reach)
        low_a, low_b = high_a + 1, high_b + 1


def _align_gap(
    found: Guess, ops_a: list[int], ops_b: list[int], tiers: Tiers, reach: list[int] | None
) -> None:
    """Align by the first labels, then what is left between by the next."""
    left = [i for i in ops_a if found.a[i] < 0]
    right = [j for j in ops_b if found.b[j] < 0]
    gaps = [(left, right)]
    for of_a, of_b in tiers:
        further: list[tuple[list[int], list[int]]] = []
        for part_a, part_b in gaps:
            low_a = low_b = 0
            labels = [of_a[i] for i in part_a], [of_b[j] for j in part_b]
            if found.manner == "backward":
                pairs = align_backward(*labels)
            else:
                pairs = align(*labels, reach=[reach[i] for i in part_a] if reach else None)
            for x, y in [*pairs, (len(part_a), len(part_b))]:
                if x > low_a and y > low_b:
                    further.append((part_a[low_a:x], part_b[low_b:y]))
                if x < len(part_a):
                    found.pair(part_a[x], part_b[y])
                low_a, low_b = x + 1, y + 1
        gaps = further
