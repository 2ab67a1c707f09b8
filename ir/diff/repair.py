"""Second thoughts: where pairing two ops otherwise leaves fewer ops to report, pair them so.

Two kinds of pairs are tried. Where an op uses a value that is not the counterpart of the old one: the
definitions of the two values. Where an op is left alone: one that says what it says and is paired with an
op that does not. A pair is kept if the number of added, removed and changed ops around it falls, or that
of operands that differ among as many. Each trade lowers the cost, so there is an end.
"""

from __future__ import annotations

from typing import Final

from .relate import Matching

_MOST_USERS: Final = 200
_REPORT: Final = 1 << 12
_CHAIN: Final = 16
"""How many ops one trade may set free in turn."""


def repair(matching: Matching) -> int:
    """Trade counterparts while that lowers the cost of the report; returns how many trades."""
    trades = 0
    work = [i for i, j in enumerate(matching.ops_a) if j < 0 or _differs(matching, i, j)]
    lone_b = [j for j, i in enumerate(matching.ops_b) if i < 0]
    budget = 20 * (len(work) + len(lone_b)) + 100
    for j in lone_b:
        if matching.ops_b[j] < 0:
            trades += any(_trade(matching, i, j, work) for i in _twins_of_b(matching, j))
    while work and budget > 0:
        budget -= 1
        i = work.pop()
        for k, j in _better(matching, i):
            if matching.ops_a[k] != j and _trade(matching, k, j, work):
                trades += 1
                work.append(i)
                break
    return trades


def _better(matching: Matching, i: int) -> list[tuple[int, int]]:
    """Pairs that may do better: definitions of operands that differ, or ops that say what a lone op says."""
    a, b = matching.both.a, matching.both.b
    j = matching.ops_a[i]
    if j < 0:
        return [(i, twin) for twin in _twins_of_a(matching, i)]
    pairs = []
    for x, y in zip(a.operands[i], b.operands[j], strict=False):
        left, right = a.definer[x], b.definer[y]
        if matching.values_a[x] != y and left >= 0 and right >= 0 and a.result_index[x] == b.result_index[y]:
            pairs.append((left, right))
    return pairs


def _twins_of_a(matching: Matching, i: int) -> list[int]:
    """Ops of b of the name and with the operands of op `i` of a that are not exactly another op."""
    a, b = matching.both.a, matching.both.b
    images = tuple(matching.values_a[x] for x in a.operands[i])
    if not images or -1 in images:
        return []
    fewest = min(images, key=lambda y: len(b.users[y]))
    found = []
    for j in dict.fromkeys(b.users[fewest][:_MOST_USERS]):
        other = matching.ops_b[j]
        if b.operands[j] == images and (other < 0 or _differs(matching, other, j)):
            found.append(j)
    return found


def _twins_of_b(matching: Matching, j: int) -> list[int]:
    """Ops of a of the name and with the operands of op `j` of b that are not exactly another op."""
    a, b = matching.both.a, matching.both.b
    images = tuple(matching.values_b[y] for y in b.operands[j])
    if not images or -1 in images:
        return []
    fewest = min(images, key=lambda x: len(a.users[x]))
    found = []
    for i in dict.fromkeys(a.users[fewest][:_MOST_USERS]):
        other = matching.ops_a[i]
        if a.operands[i] == images and (other < 0 or _differs(matching, i, other)):
            found.append(i)
    return found


def _differs(matching: Matching, i: int, j: int) -> bool:
    """Whether a pair of ops is to be reported: another shape, another parent or another operand."""
    both = matching.both
    if both.shapes[0][i] != both.shapes[1][j]:
        return True
    left, right = both.a.operands[i], both.b.operands[j]
    if len(left) != len(right):
        return True
    values = matching.values_a
    for x, y in zip(left, right, strict=True):
        if values[x] != y:
            return True
    above, there = both.a.block_of[i], both.b.block_of[j]
    return matching.blocks_a[above] != there


def count_differences(matching: Matching) -> int:
    """How many ops would be reported, moves within a block not counted."""
    lone = matching.ops_a.count(-1) + matching.ops_b.count(-1)
    return lone + sum(j >= 0 and _differs(matching, i, j) for i, j in enumerate(matching.ops_a))


class _Trial:
    """A trade being tried: what it parted and paired, so that it can be taken back."""

    def __init__(self, matching: Matching) -> None:
        self.matching = matching
        self.log: list[tuple[bool, int, int]] = []
        self.free_a: list[int] = []
        self.free_b: list[int] = []

    def pair(self, i: int, j: int) -> None:
        """Part what `i` and `j` were paired with, and pair them."""
        was_j, was_i = self.matching.ops_a[i], self.matching.ops_b[j]
        if was_j >= 0:
            self._do(False, i, was_j)
            self.free_b.append(was_j)
        if was_i >= 0:
            self._do(False, was_i, j)
            self.free_a.append(was_i)
        self._do(True, i, j)

    def exchange(self) -> None:
        """Pair the two ops that lost their counterparts with each other."""
        if self.free_a and self.free_b and _alike(self.matching, self.free_a[0], self.free_b[0]):
            self.pair(self.free_a[0], self.free_b[0])

    def settle(self) -> None:
        """Give ops that lost their counterparts exact ones, which may set others free in turn."""
        for _ in range(_CHAIN):
            if self.free_b:
                j = self.free_b.pop()
                twins = [(i, j) for i in _twins_of_b(self.matching, j)] if self.matching.ops_b[j] < 0 else []
            elif self.free_a:
                i = self.free_a.pop()
                twins = [(i, j) for j in _twins_of_a(self.matching, i)] if self.matching.ops_a[i] < 0 else []
            else:
                return
            exact = next((pair for pair in twins if self._is_exact(*pair)), None)
            if exact is not None:
                self.pair(*exact)

    def _is_exact(self, i: int, j: int) -> bool:
        both = self.matching.both
        return both.shapes[0][i] == both.shapes[1][j] and _alike(self.matching, i, j)

    def _do(self, paired: bool, i: int, j: int) -> None:
        self.log.append((paired, i, j))
        if paired:
            self.matching.match(i, j)
        else:
            self.matching.unmatch(i, j)

    def repeat(self) -> None:
        """Do everything again after it was taken back."""
        for paired, i, j in self.log:
            if paired:
                self.matching.match(i, j)
            else:
                self.matching.unmatch(i, j)

    def take_back(self) -> None:
        """Undo everything."""
        for paired, i, j in reversed(self.log):
            if paired:
                self.matching.unmatch(i, j)
            else:
                self.matching.match(i, j)


def _trade(matching: Matching, i: int, j: int, work: list[int]) -> bool:
    """Make op `i` of a and op `j` of b counterparts if that is better."""
    if not _alike(matching, i, j):
        return False
    for settle in (False, True):
        trial = _Trial(matching)
        trial.pair(i, j)
        if settle and not (trial.free_a or trial.free_b):
            trial.take_back()
            return False
        if settle:
            trial.settle()
        else:
            trial.exchange()
        around = _around(matching, [x for _, x, _ in trial.log], [y for _, _, y in trial.log])
        after = _cost(matching, *around) if around else 0
        trial.take_back()
        if around is None:
            return False
        if after < _cost(matching, *around):
            trial.repeat()
            work.extend(sorted(around[0]))
            return True
    return False


def _alike(matching: Matching, i: int, j: int) -> bool:
    both = matching.both
    return (
        both.names[0][i] == both.names[1][j]
        and not both.a.inner[i]
        and not both.b.inner[j]
        and len(both.a.results[i]) == len(both.b.results[j])
    )


def _around(matching: Matching, ops_a: list[int], ops_b: list[int]) -> tuple[set[int], set[int]] | None:
    """The ops whose report may change: those given and all users of their results; None if too many."""
    a, b = matching.both.a, matching.both.b
    left = {i for i in ops_a if i >= 0}
    right = {j for j in ops_b if j >= 0}
    for i in list(left):
        for value in a.results[i]:
            if len(a.users[value]) > _MOST_USERS:
                return None
            left.update(a.users[value])
    for j in list(right):
        for value in b.results[j]:
            if len(b.users[value]) > _MOST_USERS:
                return None
            right.update(b.users[value])
    return left, right


def _cost(matching: Matching, left: set[int], right: set[int]) -> int:
    """The reports that the given ops make, and, counting much less, how many operands differ in them."""
    cost = 0
    counted: set[int] = set()
    for i in left:
        j = matching.ops_a[i]
        if j < 0:
            cost += _REPORT
        else:
            counted.add(j)
            cost += _pair_cost(matching, i, j)
    for j in right - counted:
        i = matching.ops_b[j]
        cost += _REPORT if i < 0 else _pair_cost(matching, i, j)
    return cost


def _pair_cost(matching: Matching, i: int, j: int) -> int:
    if not _differs(matching, i, j):
        return 0
    left, right = matching.both.a.operands[i], matching.both.b.operands[j]
    unlike = sum(matching.values_a[x] != y for x, y in zip(left, right, strict=False))
    return _REPORT + min(unlike, _REPORT // 4)
