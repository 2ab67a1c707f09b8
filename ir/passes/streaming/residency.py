"""Which literals stay on the GPU: the sets worth considering, by bytes and by the copy time that they save.

A literal that stays costs its bytes all the time and saves its transfer in every run. The sets on the
frontier are those for which no other set of as few bytes saves as much. The frontier does not depend on the
budget, so that a larger budget always has every set to choose from that a smaller one had.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from .work import Weight

MOST_POINTS: Final = 512
_EARLY: Final = 0.02
"""How much more a literal saves that is needed first than one that is needed last: in a cold run nothing
runs yet under which its copy could hide."""


@dataclass(frozen=True, slots=True)
class ResidentSet:
    """Literals to keep (a bit for each place in the list of weights), their bytes, and what they save."""

    bits: int
    bytes: int
    saved_us: float

    def has(self, index: int) -> bool:
        """Whether weight number `index` stays."""
        return bool(self.bits >> index & 1)


def saving_us(weight: Weight, slots: int, latency_us: float, bytes_per_us: float) -> float:
    """Microseconds of copying that keeping the literal saves in each run, with the bonus for early ones.

    A small copy's latency counts by as much as batching could not share it with others.
    """
    bandwidth = weight.bytes / bytes_per_us
    share = latency_us * min(1.0, 0.25 + bandwidth / (4.0 * latency_us)) if latency_us > 0 else 0.0
    return (bandwidth + share) * (1.0 + _EARLY * (1.0 - weight.first / max(slots, 1)))


def frontier(sizes: list[int], savings: list[float], most: int = MOST_POINTS) -> list[ResidentSet]:
    """The sets that no other beats, by ascending bytes, from none to all; at most about `most` of them.

    Built weight by weight, the densest first; where there are too many sets, of those with nearly the same
    bytes the one that saves most is kept.
    """
    order = sorted(range(len(sizes)), key=lambda i: (-(savings[i] / max(sizes[i], 1)), i))
    step = max(sum(sizes) // most, 1)
    sets = [ResidentSet(0, 0, 0.0)]
    for index in order:
        grown = [
            ResidentSet(s.bits | 1 << index, s.bytes + sizes[index], s.saved_us + savings[index])
            for s in sets
        ]
        sets = _thin(_undominated(sets, grown), step, most)
    return sets


def _undominated(old: list[ResidentSet], new: list[ResidentSet]) -> list[ResidentSet]:
    kept: list[ResidentSet] = []
    most = -1.0
    for each in sorted((*old, *new), key=lambda s: (s.bytes, -s.saved_us, s.bits)):
        if each.saved_us > most:
            kept.append(each)
            most = each.saved_us
    return kept


def _thin(sets: list[ResidentSet], step: int, most: int) -> list[ResidentSet]:
    """One set for each `step` bytes, if there are more than `most`; the empty one and the largest stay."""
    if len(sets) <= most:
        return sets
    kept = [sets[0]]
    for each in sets[1:]:
        if len(kept) > 1 and each.bytes // step == kept[-1].bytes // step:
            kept[-1] = each
        else:
            kept.append(each)
    return kept


def search(
    guess_us: Callable[[int], float], sizes: list[int], budget: int, starts: list[int], tries: int
) -> list[int]:
    """Sets near `starts` by ascending guess: literals are added, dropped and exchanged while that helps.

    Sets are bits over `sizes`; all that are returned keep the budget. At most `tries` guesses are made.
    """
    seen: dict[int, float] = {}

    def guess(bits: int) -> float:
        if bits not in seen:
            seen[bits] = guess_us(bits)
        return seen[bits]

    for start in dict.fromkeys(starts):
        current, moved = start, True
        while moved and len(seen) < tries:
            moved = False
            for bits in _moves(current, sizes, budget):
                if guess(bits) < guess(current) * (1 - 1e-9):
                    current, moved = bits, True
                    break
                if len(seen) >= tries:
                    break
    return sorted(seen, key=lambda bits: (seen[bits], bits))


def _moves(bits: int, sizes: list[int], budget: int) -> Iterator[int]:
    """Sets that differ by one literal, or by one for another or for two others, and keep the budget."""
    used = sum(size for index, size in enumerate(sizes) if bits >> index & 1)
    inside = [index for index in range(len(sizes)) if bits >> index & 1]
    outside = [index for index in range(len(sizes)) if not bits >> index & 1]
    for new in outside:
        if used + sizes[new] <= budget:
            yield bits | 1 << new
    for old in inside:
        yield bits & ~(1 << old)
    for new in outside:
        for old in inside:
            left = used + sizes[new] - sizes[old]
            changed = (bits | 1 << new) & ~(1 << old)
            if left <= budget:
                yield changed
            else:
                yield from (
                    changed & ~(1 << more) for more in inside if more < old and left - sizes[more] <= budget
                )
