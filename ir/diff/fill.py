"""What exact matching leaves over: pairs of ops that share enough of their neighbourhood, best first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from .prior import Both
from .relate import Matching

_SCAN: Final = 32
_ROUNDS: Final = 3
_ENOUGH: Final = 8


def fill(matching: Matching) -> int:
    """Pair left-over ops; returns how many pairs were made."""
    made = 0
    for _ in range(_ROUNDS):
        scored = _scored_pairs(matching)
        count = 0
        for _, i, j in scored:
            if matching.ops_a[i] < 0 and matching.ops_b[j] < 0:
                matching.match(i, j)
                count += 1
        made += count
        if not count:
            break
    return made


def _scored_pairs(matching: Matching) -> list[tuple[int, int, int]]:
    """(-score, i, j) of the candidates that are alike enough, best first."""
    held = _held(matching)
    scored = []
    for j, i in enumerate(matching.ops_b):
        if i >= 0:
            continue
        for candidate in sorted(set(_candidates(matching, j, held))):
            score = _score(matching, candidate, j, held)
            if score >= _ENOUGH:
                scored.append((-score, candidate, j))
    scored.sort()
    return scored


Held = dict[int, Counter[int]]


def _held(matching: Matching) -> Held:
    """For each op of b with regions and no counterpart: how many of its ops came from which op of a."""
    a, b = matching.both.a, matching.both.b
    held: Held = {}
    for i, j in enumerate(matching.ops_a):
        if j < 0:
            continue
        above, there = a.parent[i], b.parent[j]
        if above >= 0 and there >= 0 and matching.ops_a[above] < 0 and matching.ops_b[there] < 0:
            held.setdefault(there, Counter())[above] += 1
    return held


def _candidates(matching: Matching, j: int, held: Held) -> Iterator[int]:
    """Unmatched ops of a near the place that op `j` has among the matched ones."""
    a, b = matching.both.a, matching.both.b
    near: list[int] = [matching.guess.b[j], *held.get(j, ())]
    for value in b.operands[j]:
        image = matching.values_b[value]
        if image >= 0:
            near.extend(a.users[image][:_SCAN])
    for value in b.results[j]:
        for user in b.users[value][:_SCAN]:
            other = matching.ops_b[user]
            if other >= 0:
                near.extend(a.definer[v] for v in a.operands[other][:_SCAN])
    near.extend(_between(matching, j))
    for i in near:
        if i >= 0 and matching.ops_a[i] < 0:
            yield i


def _between(matching: Matching, j: int) -> list[int]:
    """The ops of a that follow the counterpart of the op before `j`, as far as they are unmatched."""
    a, b = matching.both.a, matching.both.b
    members = b.members[b.block_of[j]]
    place = b.place[j]
    before = place - 1
    while before >= 0 and place - before < _SCAN and matching.ops_b[members[before]] < 0:
        before -= 1
    if before >= 0:
        i = matching.ops_b[members[before]]
        if i < 0:
            return []
        there, start = a.members[a.block_of[i]], a.place[i] + 1
    else:
        block = matching.blocks_b[b.block_of[j]]
        if block < 0:
            return []
        there, start = a.members[block], 0
    found = []
    for i in there[start : start + _SCAN]:
        if matching.ops_a[i] >= 0:
            break
        found.append(i)
    return found


def _score(matching: Matching, i: int, j: int, held: Held) -> int:
    """How alike two ops are; below `_ENOUGH` they are two ops and not one that changed."""
    both: Both = matching.both
    a, b = both.a, both.b
    if bool(a.inner[i]) != bool(b.inner[j]) or not _same_scope(matching, i, j):
        return 0
    same_name = both.names[0][i] == both.names[1][j]
    if not same_name and len(a.results[i]) != len(b.results[j]):
        return 0
    score = 4 if same_name else 0
    score += 2 if both.shapes[0][i] == both.shapes[1][j] else 0
    score += 2 if i in _between(matching, j) else 0
    score += min(held[j][i], 8) if j in held else 0
    shared = sum(matching.values_a[x] == y for x, y in zip(a.operands[i], b.operands[j], strict=False))
    total = max(len(a.operands[i]), len(b.operands[j]))
    used, uses = _shared_users(matching, i, j)
    if total + uses:
        score += (6 * (shared + used)) // (total + uses)
    return score if same_name or 2 * (shared + used) > total + uses else 0


def _shared_users(matching: Matching, i: int, j: int) -> tuple[int, int]:
    """How many of the users of the two ops' results are counterparts, and how many there are at most."""
    a, b = matching.both.a, matching.both.b
    users_a = {user for value in a.results[i] for user in a.users[value][:_SCAN]}
    users_b = {user for value in b.results[j] for user in b.users[value][:_SCAN]}
    shared = sum(matching.ops_a[user] in users_b for user in users_a)
    return shared, max(len(users_a), len(users_b))


def _same_scope(matching: Matching, i: int, j: int) -> bool:
    above, there = matching.both.a.scope[i], matching.both.b.scope[j]
    return (matching.ops_a[above] if above >= 0 else -1) == there
