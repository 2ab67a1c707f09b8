"""Alignment is a shortest edit path, and stays cheap in repetitive and in unlike sequences."""

from __future__ import annotations

import random
import time
from bisect import bisect_left
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from passlens.ir.diff.sequence import Pairs, align, align_backward, longest_increasing

WORDS = st.lists(st.integers(0, 3), max_size=14)


def edit_distance(a: list[int], b: list[int]) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        before, row = row, [i + 1]
        for j, y in enumerate(b):
            row.append(min(before[j] + (x != y), before[j + 1] + 1, row[j] + 1))
    return row[-1]


def cost(a: list[int], b: list[int], pairs: Pairs) -> int:
    total = i = j = 0
    for x, y in [*pairs, (len(a), len(b))]:
        total += max(x - i, y - j)
        i, j = x + 1, y + 1
    return total


def is_alignment(a: list[int], b: list[int], pairs: Pairs) -> bool:
    ascending = all(p[0] < q[0] and p[1] < q[1] for p, q in pairwise(pairs))
    return ascending and all(a[i] == b[j] for i, j in pairs)


@given(WORDS, WORDS)
def test_align_is_a_shortest_edit_path(a: list[int], b: list[int]) -> None:
    for pairs in (align(a, b), align_backward(a, b)):
        assert is_alignment(a, b, pairs)
        assert cost(a, b, pairs) == edit_distance(a, b)


@given(WORDS, WORDS)
def test_little_effort_still_gives_an_alignment(a: list[int], b: list[int]) -> None:
    assert is_alignment(a, b, align(a, b, effort=2))


@given(st.lists(st.integers(0, 40)))
def test_longest_increasing(numbers: list[int]) -> None:
    places = longest_increasing(numbers)
    chosen = [numbers[place] for place in places]
    assert places == sorted(set(places))
    assert chosen == sorted(set(chosen))
    tails: list[int] = []
    for number in numbers:
        at = bisect_left(tails, number)
        tails[at : at + 1] = [number]
    assert len(places) == len(tails)


def test_repetition_costs_nothing() -> None:
    r = random.Random(4)
    for period in (1, 2, 3):
        a = [i % period for i in range(50_000)]
        b = list(a)
        for _ in range(40):
            del b[r.randrange(len(b))]
        start = time.perf_counter()
        pairs = align(a, b)
        assert time.perf_counter() - start < 2
        assert is_alignment(a, b, pairs)
        assert len(pairs) >= len(b) - 40


def test_unlike_sequences_end_soon() -> None:
    r = random.Random(5)
    a, b = ([r.randrange(50) for _ in range(20_000)] for _ in range(2))
    start = time.perf_counter()
    assert is_alignment(a, b, align(a, b))
    assert time.perf_counter() - start < 5
