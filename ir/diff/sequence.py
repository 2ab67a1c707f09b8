"""Aligning two sequences in order: longest increasing subsequences, and edit distance by diagonals.

An element may be inserted, deleted or *replaced*, each at the cost of one: an op that changed in place is
one difference, not two, which keeps a repetitive sequence from sliding by one to save a replacement.
The diagonal method (Ukkonen, Myers) takes time in proportion to the length plus the square of the number
of differences, whatever the elements are; runs of equal elements are measured by comparing bytes, so that
a repetitive sequence costs no more than another. Beyond a budget it commits to the furthest path and goes
on from there, which keeps unlike sequences cheap at the price of a longer script.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence

Pairs = list[tuple[int, int]]

_WIDTH = array("I").itemsize
_DENSE = 8
"""Fewer elements than this an edit: the sequences are unlike."""


def longest_increasing(numbers: Sequence[int]) -> list[int]:
    """The places of a longest strictly increasing subsequence of `numbers`, ascending."""
    tails: list[int] = []
    places: list[int] = []
    before: list[int] = []
    for place, number in enumerate(numbers):
        at = bisect_left(tails, number)
        before.append(places[at - 1] if at else -1)
        if at == len(tails):
            tails.append(number)
            places.append(place)
        else:
            tails[at] = number
            places[at] = place
    found: list[int] = []
    place = places[-1] if places else -1
    while place >= 0:
        found.append(place)
        place = before[place]
    found.reverse()
    return found


def align(a: Sequence[int], b: Sequence[int], effort: int = 200, reach: Sequence[int] | None = None) -> Pairs:
    """Pairs (i, j) with `a[i] == b[j]`, both ascending, along a path of fewest edits.

    The path is a shortest one while it has fewer than `effort` edits. `reach[i]` is how many elements
    back `a[i]` refers to: behind an insertion or deletion, an element that refers to what lies in front of
    it is no longer the same by being equal, and counts as replaced.
    """
    head, high_a, high_b = _trim(a, b)
    most = max(reach, default=0) if reach else 0
    if len(a) != len(b):  # the tail is behind an insertion or deletion
        back = min(most, len(a) - high_a)
        high_a, high_b = high_a + back, high_b + back
    pairs = [(i, i) for i in range(head)]
    if head < high_a and head < high_b:
        inner = reach[head:high_a] if reach else ()
        found = _middle(a[head:high_a], b[head:high_b], effort, inner)
        pairs.extend((i + head, j + head) for i, j in found)
    pairs.extend((high_a + k, high_b + k) for k in range(len(a) - high_a))
    return pairs


def align_backward(a: Sequence[int], b: Sequence[int], effort: int = 200) -> Pairs:
    """`align` from the ends: of several shortest paths often another one."""
    last_a, last_b = len(a) - 1, len(b) - 1
    return [(last_a - i, last_b - j) for i, j in reversed(align(a[::-1], b[::-1], effort))]


def _trim(a: Sequence[int], b: Sequence[int]) -> tuple[int, int, int]:
    """The length of the common head, and where the common tail begins in each."""
    shorter = min(len(a), len(b))
    head = 0
    while head < shorter and a[head] == b[head]:
        head += 1
    high_a, high_b = len(a), len(b)
    while high_a > head and high_b > head and a[high_a - 1] == b[high_b - 1]:
        high_a -= 1
        high_b -= 1
    return head, high_a, high_b


def _middle(a: Sequence[int], b: Sequence[int], effort: int, reach: Sequence[int]) -> Pairs:
    """Number the elements densely and align them."""
    if len(a) == 1 or len(b) == 1:
        return _single(a, b)
    if not set(a) & set(b):
        return []
    numbers: dict[int, int] = {}
    codes_a = array("I", [numbers.setdefault(x, len(numbers)) for x in a])
    codes_b = array("I", [numbers.setdefault(y, len(numbers)) for y in b])
    return _rounds(codes_a, codes_b, min(effort, 40 + max(len(a), len(b)) // 8), reach)


def _single(a: Sequence[int], b: Sequence[int]) -> Pairs:
    if len(a) == 1:
        return [(0, b.index(a[0]))] if a[0] in b else []
    return [(a.index(b[0]), 0)] if b[0] in a else []


def _rounds(a: array[int], b: array[int], effort: int, reach: Sequence[int]) -> Pairs:
    """Rounds of the diagonal method, each from where the one before it committed itself.

    A round that ran out of edits keeps the first part of its furthest path only, since the rest may still
    be one of several; where edits are dense the later rounds are given fewer of them.
    """
    pairs: Pairs = []
    low_a = low_b = 0
    while low_a < len(a) and low_b < len(b):
        search = _Search(a, b, (low_a, low_b), reach)
        runs, end_a, end_b = search.go(effort)
        progress = end_a - low_a
        if end_a < len(a) or end_b < len(b):
            sure = [run for run in runs if run[0] + run[2] <= low_a + progress * 3 // 4]
            if sure:
                runs = sure
                end_a, end_b = sure[-1][0] + sure[-1][2], sure[-1][1] + sure[-1][2]
        for i, j, length in runs:
            pairs.extend((i + k, j + k) for k in range(length))
        low_a, low_b = end_a, end_b
        if progress < _DENSE * effort:
            effort = max(16, effort // 2)
    return pairs


class _Search:
    """One greedy search from `low` towards `high`.

    Diagonal k holds the places i and j = i - k + shift.
    """

    def __init__(self, a: array[int], b: array[int], low: tuple[int, int], reach: Sequence[int]) -> None:
        self.a = a
        self.b = b
        self.bytes_a = a.tobytes()
        self.bytes_b = b.tobytes()
        self.low = low
        self.high = (len(a), len(b))
        self.shift = low[1] - low[0]
        self.reach = reach
        self.most = max(reach, default=0)

    def go(self, effort: int) -> tuple[list[tuple[int, int, int]], int, int]:
        """Search with at most `effort` edits: equal runs (i, j, length), and where the search ends."""
        high, shift = self.high, self.shift
        start = self.low[0] + _run(self.bytes_a, self.bytes_b, self.low[0], self.low[1], high)
        history = [{0: start}]  # how far each diagonal gets with so many edits
        entered = {0: start - self.most}  # where the diagonal was entered
        while len(history) <= effort and (start, start + shift) != high:
            last = history[-1]
            reached: dict[int, int] = {}
            entries: dict[int, int] = {}
            for k in range(-len(history), len(history) + 1):
                step = _step(last, k, high, shift, self.most)
                if step is None:
                    continue
                entries[k] = entered[k] if step[1] == k else step[0]
                i = reached[k] = self._advance(step[0], k, entries[k])
                if i == high[0] and i - k + shift == high[1]:
                    history.append(reached)
                    return self._trace_back(history, k)
            history.append(reached)
            entered = entries
        last = history[-1]
        best = max(last, key=lambda k: (2 * last[k] - k, k))
        return self._trace_back(history, best)

    def _advance(self, i: int, k: int, entered: int) -> int:
        """Past equal elements on diagonal k, as far as they do not refer to what lies in front of it."""
        a, b = self.a, self.b
        j = i - k + self.shift
        clear = min(entered + self.most, self.high[0])
        while i < clear:
            if j >= self.high[1] or self.reach[i] > i - entered or a[i] != b[j]:
                return i
            i += 1
            j += 1
        if i >= self.high[0] or j >= self.high[1] or a[i] != b[j]:
            return i
        return i + _run(self.bytes_a, self.bytes_b, i, j, self.high)

    def _trace_back(
        self, history: list[dict[int, int]], k: int
    ) -> tuple[list[tuple[int, int, int]], int, int]:
        """The equal runs on the way to the furthest place of diagonal k, and that place."""
        runs: list[tuple[int, int, int]] = []
        start, shift = self.low[0], self.shift
        i = history[-1][k]
        stop = (i, i - k + shift)
        for distance in range(len(history) - 1, 0, -1):
            step = _step(history[distance - 1], k, self.high, shift, self.most)
            if step is None:
                break
            begin, k_before = step
            if i > begin:
                runs.append((begin, begin - k + shift, i - begin))
            k = k_before
            i = history[distance - 1][k]
        if i > start:
            runs.append((start, start + shift, i - start))
        runs.reverse()
        return runs, stop[0], stop[1]


def _step(
    last: dict[int, int], k: int, high: tuple[int, int], shift: int, most: int
) -> tuple[int, int] | None:
    """Where diagonal k is entered, and from which: past an element of each, of b (k + 1) or of a (k - 1).

    Staying on the diagonal is preferred to coming back to it `most` elements further: what comes back has
    to clear that many first.
    """
    best, source = last.get(k, -2) + 1, k
    if best > high[0] or best - k + shift > high[1]:
        best = -1
    least = best + most if best >= 0 else best
    down, right = last.get(k + 1, -1), last.get(k - 1, -2) + 1
    if down > least and 0 <= down - k + shift <= high[1]:
        best, source, least = down, k + 1, down
    if least < right <= high[0] and right - k + shift <= high[1]:
        best, source = right, k - 1
    return (best, source) if best >= 0 else None


def _run(a: bytes, b: bytes, i: int, j: int, high: tuple[int, int]) -> int:
    """How many elements from `a[i]` and `b[j]` on are equal, by blocks that double and then halve."""
    most = min(high[0] - i, high[1] - j)
    done = 0
    size = 8
    while done < most:
        size = min(size, most - done)
        at, to = (i + done) * _WIDTH, (j + done) * _WIDTH
        if a[at : at + size * _WIDTH] == b[to : to + size * _WIDTH]:
            done += size
            size *= 2
        elif size == 1:
            break
        else:
            size = size // 2
            most = min(most, done + 2 * size + 1)
    return done
