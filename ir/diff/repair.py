"""Second thoughts: where pairing two ops otherwise leaves fewer ops to report, pair them so.

Only ops that use a value which is not the counterpart of the old one are looked at; the value's
definition and the old one's are tried as counterparts, and kept if the number of added, removed and
changed ops around them falls. Each trade lowers that number, so there is an end.
"""

from __future__ import annotations

from typing import Final

from .relate import Matching

_MOST_USERS: Final = 200


def repair(matching: Matching) -> int:
    """Trade counterparts while that lowers the number of ops to report; returns how many trades."""
    trades = 0
    work = [i for i, j in enumerate(matching.ops_a) if j >= 0 and _differs(matching, i, j)]
    budget = 20 * len(work) + 100
    while work and budget > 0:
        budget -= 1
        i = work.pop()
        j = matching.ops_a[i]
        if j < 0:
            continue
        for x, y in zip(matching.both.a.operands[i], matching.both.b.operands[j], strict=False):
            if matching.values_a[x] != y and _try(matching, x, y, work):
                trades += 1
                work.append(i)
                break
    return trades


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


def _try(matching: Matching, x: int, y: int, work: list[int]) -> bool:
    """Make the definitions of value `x` of a and `y` of b counterparts if that is better."""
    both = matching.both
    i, j = both.a.definer[x], both.b.definer[y]
    if i < 0 or j < 0 or both.a.result_index[x] != both.b.result_index[y]:
        return False
    if not _alike(matching, i, j):
        return False
    was_j, was_i = matching.ops_a[i], matching.ops_b[j]
    around = _around(matching, [i, was_i], [j, was_j])
    if around is None:
        return False
    before = _cost(matching, *around)
    if was_j >= 0:
        matching.unmatch(i, was_j)
    if was_i >= 0:
        matching.unmatch(was_i, j)
    matching.match(i, j)
    other = was_i >= 0 and was_j >= 0 and _alike(matching, was_i, was_j)
    if other:
        matching.match(was_i, was_j)
    if _cost(matching, *around) < before:
        work.extend(k for k in sorted(around[0]) if matching.ops_a[k] >= 0)
        return True
    if other:
        matching.unmatch(was_i, was_j)
    matching.unmatch(i, j)
    if was_j >= 0:
        matching.match(i, was_j)
    if was_i >= 0:
        matching.match(was_i, j)
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
    """How many reports the given ops make: one for each left alone, one for each pair that differs."""
    cost = 0
    counted: set[int] = set()
    for i in left:
        j = matching.ops_a[i]
        if j < 0:
            cost += 1
        else:
            counted.add(j)
            cost += _differs(matching, i, j)
    for j in right - counted:
        i = matching.ops_b[j]
        cost += 1 if i < 0 else _differs(matching, i, j)
    return cost
