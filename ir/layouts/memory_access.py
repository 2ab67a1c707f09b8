"""How well a warp's loads and stores use memory, for pointers whose strides are known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from .facts import WIDEST_ACCESS_BITS
from .linear import LinearLayout

SECTOR_BYTES: Final = 32
"""What memory moves at least, on NVIDIA; AMD's 64-byte requests are two of these."""


@dataclass(frozen=True, slots=True)
class WarpAccess:
    """One request of a warp: every lane takes `vector_bytes` at its own address."""

    vector_bytes: int
    requests: int
    """Requests that a thread needs for all its elements."""
    bytes: int
    """Bytes that the lanes ask for, each counted once."""
    sectors: int
    """Sectors that these bytes lie in."""

    @property
    def efficiency(self) -> float:
        """Bytes asked for / bytes moved, between 0 and 1."""
        return self.bytes / (self.sectors * SECTOR_BYTES) if self.sectors else 0.0


def warp_access(layout: LinearLayout, strides: Sequence[int], element_bits: int) -> WarpAccess:
    """The first request of the first warp for a tensor of pointers with these strides, in elements.

    Elements of less than a byte count as a byte. The base address is taken to be aligned to a sector.
    """
    size = max(element_bits // 8, 1)
    registers = [_step(basis, strides) for basis in layout.bases("register")]
    lanes = [_step(basis, strides) for basis in layout.bases("lane")]
    vector = 1
    for step in registers:
        if step != vector or (vector * 2) * size * 8 > WIDEST_ACCESS_BITS:
            break
        vector *= 2
    starts = _sums(lanes)
    wanted = {(start + k) * size + byte for start in starts for k in range(vector) for byte in range(size)}
    sectors = {byte // SECTOR_BYTES for byte in wanted}
    return WarpAccess(vector * size, (1 << len(registers)) // vector, len(wanted), len(sectors))


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides in elements of a tensor whose last dimension is contiguous."""
    return tuple(math.prod(shape[place + 1 :]) for place in range(len(shape)))


def _step(basis: Sequence[int], strides: Sequence[int]) -> int:
    return sum(coordinate * stride for coordinate, stride in zip(basis, strides, strict=True))


def _sums(steps: list[int]) -> list[int]:
    """Every sum of a choice of steps; coordinates of one layout never carry into each other."""
    sums = [0]
    for step in steps:
        sums += [total + step for total in sums]
    return sums
