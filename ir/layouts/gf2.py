"""Linear algebra over GF(2) on vectors kept as integers: bit i is coordinate i."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def rank(vectors: Iterable[int]) -> int:
    """How many of the vectors are independent."""
    pivots: dict[int, int] = {}
    for vector in vectors:
        reduced = _reduce(vector, pivots)
        if reduced:
            pivots[reduced.bit_length()] = reduced
    return len(pivots)


def _reduce(vector: int, pivots: dict[int, int]) -> int:
    while vector:
        pivot = pivots.get(vector.bit_length())
        if pivot is None:
            return vector
        vector ^= pivot
    return 0


def solve(columns: Sequence[int], targets: Sequence[int]) -> list[int] | None:
    """For each target, the columns (as a bit mask) that add up to it; None if one cannot be reached.

    Columns that depend on earlier ones are never used, so the answer prefers low columns, as Triton's does.
    """
    pivots: dict[int, tuple[int, int]] = {}

    def reach(vector: int) -> tuple[int, int]:
        mask = 0
        while vector:
            pivot = pivots.get(vector.bit_length())
            if pivot is None:
                break
            vector ^= pivot[0]
            mask ^= pivot[1]
        return vector, mask

    for i, column in enumerate(columns):
        left, mask = reach(column)
        if left:
            pivots[left.bit_length()] = (left, mask | 1 << i)
    answers = []
    for target in targets:
        left, mask = reach(target)
        if left:
            return None
        answers.append(mask)
    return answers


def lowest_bit_form(vectors: Iterable[int]) -> dict[int, int]:
    """The reduced echelon form with pivots at the lowest bits: pivot bit → its vector."""
    rows: dict[int, int] = {}
    for vector in vectors:
        for bit, row in rows.items():
            if vector >> bit & 1:
                vector ^= row
        if not vector:
            continue
        pivot = (vector & -vector).bit_length() - 1
        for bit, row in rows.items():
            if row >> pivot & 1:
                rows[bit] = row ^ vector
        rows[pivot] = vector
    return rows


def nullspace(vectors: Sequence[int], bits: int) -> list[int]:
    """A basis of the vectors of `bits` coordinates that have an even overlap with every given one."""
    rows = lowest_bit_form(vectors)
    return [
        1 << free | sum(1 << pivot for pivot, row in rows.items() if row >> free & 1)
        for free in range(bits)
        if free not in rows
    ]


def complement(vectors: Iterable[int], bits: int) -> list[int]:
    """Unit vectors that extend the given ones to a basis of the whole space, low ones first."""
    rows = lowest_bit_form(vectors)
    return [1 << i for i in range(bits) if i not in rows]


def intersection(first: Sequence[int], second: Sequence[int], bits: int) -> list[int]:
    """A basis of what the spans of two lists share; in the first one's order where all are unit vectors."""
    if all(v.bit_count() <= 1 for v in (*first, *second)):
        return [v for v in first if v and v in second]
    return nullspace([*nullspace(first, bits), *nullspace(second, bits)], bits)
