"""Bank conflicts of a shared memory buffer that is read or written through a distributed layout.

Shared memory serves one 4-byte word of each bank at a time. The lanes that are served together (32 for words
of 32 bits, 16 for 64, 8 for 128) need as many turns as the fullest bank has different words of theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .encodings import PaddedShared
from .inverse import where_from
from .linear import LinearLayout, apply, without_zero_bases
from .shared import padded_offset

WORD_BITS = 32
WIDEST_BITS = 128
SAMPLED_ACCESSES = 64
"""Accesses looked at where padding makes them differ; the worst one is reported."""


@dataclass(frozen=True, slots=True)
class BankCost:
    """What one access instruction of a warp costs."""

    vector_elements: int
    """Elements that a lane moves with one instruction."""
    vector_bits: int
    wavefronts: int
    """Turns that the instruction takes without any conflict."""
    turns: int
    """Turns that it takes."""
    instructions: int
    """Instructions a thread needs for its elements."""

    @property
    def conflicts(self) -> int:
        """Turns too many, per turn that is needed anyway."""
        return -(-self.turns // self.wavefronts) - 1


def bank_cost(
    shared: LinearLayout,
    distributed: LinearLayout,
    element_bits: int,
    banks: int = 32,
    padding: PaddedShared | None = None,
) -> BankCost:
    """Bank conflicts of plain loads or stores; `padding` moves the offsets of a padded layout.

    Raises:
        ValueError: the layouts are of different shapes.
    """
    if dict(shared.outputs) != dict(distributed.outputs):
        raise ValueError(f"the layouts are for shapes {shared.shape} and {distributed.shape}")
    bits = max(8, element_bits)
    offsets = where_from(without_zero_bases(distributed, "register"), shared)
    at = offsets.output_names.index("offset")
    limit = min((interval for interval, _ in padding.intervals), default=1) if padding else WIDEST_BITS
    vector, rest = _vectorised(offsets, at, min(WIDEST_BITS // bits, limit))
    moved = _mover(padding)
    lanes = 1 << len(offsets.bases("lane"))
    together = min(lanes, max(1, banks * WORD_BITS // max(WORD_BITS, vector * bits)))
    starts = _starts(rest, offsets, at) if padding else [0]
    turns = max(_turns(offsets, at, start, vector, bits, banks, together, moved) for start in starts)
    return BankCost(vector, vector * bits, lanes // together, turns, 1 << len(rest))


def _vectorised(offsets: LinearLayout, at: int, most: int) -> tuple[int, list[int]]:
    """How many consecutive elements a thread holds, and the offsets of its other register bits."""
    registers = [basis[at] for basis in offsets.bases("register")]
    others = [
        basis[at] for name in offsets.input_names if name != "register" for basis in offsets.bases(name)
    ]
    vector = 1
    while vector < most and vector in registers:
        left = [r for r in registers if r >= 2 * vector or not r & (2 * vector - 1)]
        used = [r for r in registers if r and r & (r - 1) == 0 and r < 2 * vector]
        if len(left) + len(used) < len(registers) or any(o & (2 * vector - 1) for o in others + left):
            break
        vector *= 2
    return vector, [r for r in registers if r >= vector or not r]


def _mover(padding: PaddedShared | None) -> Callable[[int], int]:
    if padding is None:
        return lambda offset: offset
    known = padding
    return lambda offset: padded_offset(known, offset)


def _starts(rest: list[int], offsets: LinearLayout, at: int) -> list[int]:
    bits = rest + [basis[at] for basis in offsets.bases("warp")]
    starts = [0]
    for bit in bits:
        if len(starts) >= SAMPLED_ACCESSES:
            break
        starts += [start ^ bit for start in starts]
    return starts


def _turns(
    offsets: LinearLayout,
    at: int,
    start: int,
    vector: int,
    bits: int,
    banks: int,
    together: int,
    moved: Callable[[int], int],
) -> int:
    lanes = 1 << len(offsets.bases("lane"))
    total = 0
    for first in range(0, lanes, together):
        words: dict[int, set[int]] = {}
        for lane in range(first, first + together):
            offset = moved(start ^ apply(offsets, {"lane": lane})[at])
            low, high = offset * bits // WORD_BITS, ((offset + vector) * bits - 1) // WORD_BITS
            for word in range(low, high + 1):
                words.setdefault(word % banks, set()).add(word)
        total += max(len(each) for each in words.values())
    return total
