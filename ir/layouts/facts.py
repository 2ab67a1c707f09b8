"""A distributed layout in numbers: registers, replicas, neighbours, how wide a thread can load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .linear import Basis, LinearLayout, free_bits

WIDEST_ACCESS_BITS: Final = 128
"""The widest load or store of one thread, on NVIDIA and AMD alike."""


@dataclass(frozen=True, slots=True)
class LayoutFacts:
    """Counts for one tensor; replicas are indices that hold what another one holds too."""

    registers: int
    """Elements in the registers of a thread, replicas counted."""
    unique_registers: int
    lanes: int
    warps: int
    blocks: int
    register_replicas: int
    """How many registers of a thread hold the same element."""
    lane_replicas: int
    warp_replicas: int
    block_replicas: int
    neighbours: int
    """Elements in a row, along `dimension`, that a thread holds in consecutive registers."""
    dimension: int
    """The dimension of the neighbours; the last one where a thread has none."""
    vector_elements: int
    """How many of the neighbours one access can take (`WIDEST_ACCESS_BITS`), for the element size given."""

    @property
    def threads(self) -> int:
        """Threads that hold one element."""
        return self.lane_replicas * self.warp_replicas * self.block_replicas


def layout_facts(layout: LinearLayout, element_bits: int) -> LayoutFacts:
    """The numbers of a distributed layout; `element_bits` is the size of an element."""
    names = ("register", "lane", "warp", "block")
    registers, lanes, warps, blocks = (layout.input_size(name) for name in names)
    alike, of_lanes, of_warps, of_blocks = (1 << free_bits(layout, name).bit_count() for name in names)
    run, dimension = neighbours(layout.bases("register"), len(layout.outputs))
    widest = max(WIDEST_ACCESS_BITS // max(element_bits, 1), 1)
    return LayoutFacts(
        registers, registers // alike, lanes, warps, blocks,
        alike, of_lanes, of_warps, of_blocks, run, dimension, min(run, widest),
    )  # fmt: skip


def neighbours(registers: tuple[Basis, ...], rank: int) -> tuple[int, int]:
    """(how many elements in a row the first registers hold, along which dimension)."""
    run, dimension = 1, rank - 1
    for basis in registers:
        steps = [(place, step) for place, step in enumerate(basis) if step]
        if len(steps) != 1 or steps[0][1] != run or (run > 1 and steps[0][0] != dimension):
            break
        dimension = steps[0][0]
        run *= 2
    return run, dimension
