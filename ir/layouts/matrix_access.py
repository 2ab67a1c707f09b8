"""Scratch buffers for converts that can use NVIDIA's matrix moves (`stmatrix`, `ldmatrix`).

A matrix move lets lanes exchange data while it goes to or comes from shared memory: several lanes make up the
contiguous piece of one row. Triton 3.9 tries each pair of instructions whose pieces the two layouts can fill
and takes the pair with the fewest bank conflicts, then the one that goes through the buffer in more rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import gf2
from .scratch import WIDEST_ACCESS_BITS, Scratch, Side, place

PIECE_LANES = 3
"""The exponent of how many rows an 8x8 matrix (or a line of banks in 128-bit pieces) has."""


@dataclass(frozen=True, slots=True)
class Access:
    """One way to store or load: which lane bits lie in a piece, and which lane bits choose the piece."""

    contiguous: tuple[int, ...]
    address: tuple[int, ...]


PLAIN = Access((), (0, 1, 2))
MATRIX = Access((0, 1), (2, 3, 4))
TRANSPOSED = Access((2, 3, 4), (0, 1))


def accesses(bits: int) -> tuple[Access, ...]:
    """What can move elements of so many bits; transposing moves handle 16 bits."""
    if bits > 32:
        return (PLAIN,)
    return (PLAIN, MATRIX, TRANSPOSED) if bits == 16 else (PLAIN, MATRIX)


def best_scratch(a: Side, b: Side, bits: int, space: int) -> Scratch | None:
    """The buffer for the best pair of wide accesses; None where no pair fits."""
    best: tuple[tuple[int, int], Scratch] | None = None
    width = (WIDEST_ACCESS_BITS // bits).bit_length() - 1
    for store in accesses(bits):
        for load in accesses(bits):
            piece = _piece(a, b, width, store, load)
            if piece is None:
                continue
            tiles = _rows(store, a, piece), _rows(load, b, piece)
            if tiles[0] is None or tiles[1] is None:
                continue
            together = min(len(x.contiguous) + len(x.address) - PIECE_LANES for x in (store, load))
            made = place(a, b, piece, tiles[0], tiles[1], bits, space, together)
            score = (_conflicts(made, tiles[0], tiles[1], space), -len(made.rounds))
            if best is None or score < best[0]:
                best = (score, made)
    return None if best is None else best[1]


def _conflicts(scratch: Scratch, store: Sequence[int], load: Sequence[int], space: int) -> int:
    return sum((1 << len(gf2.intersection(scratch.segment, tile, space))) - 1 for tile in (store, load))


def _rows(access: Access, side: Side, piece: Sequence[int]) -> list[int] | None:
    """What the rows of one access are spread over: lane bits, and registers where those are too few."""
    missing = PIECE_LANES - len(access.address)
    spare = [r for r in side.register if r not in piece][:missing]
    if len(spare) < missing or any(i >= len(side.lane) for i in access.address):
        return None
    return spare + [side.lane[i] for i in access.address]


def _piece(a: Side, b: Side, width: int, store: Access, load: Access) -> list[int] | None:
    """The coordinates of one piece of both accesses, or None where the layouts do not fill such a piece."""
    of_a, of_b = width - len(store.contiguous), width - len(load.contiguous)
    if of_a < 0 or of_b < 0:
        return None
    if of_a < of_b:
        a, b, store, load, of_a, of_b = b, a, load, store, of_b, of_a
    shared = [r for r in a.register if r in b.register][:of_b]
    if len(shared) < of_b or any(i >= len(b.lane) for i in load.contiguous):
        return None
    lanes_a = [a.lane[i] for i in store.contiguous if i < len(a.lane)]
    lanes_b = [b.lane[i] for i in load.contiguous]
    if 0 in lanes_a or 0 in lanes_b:
        return None
    extra = of_a - of_b
    if any(vector not in a.register for vector in lanes_b[:extra]):
        return None
    if lanes_a and lanes_b[len(lanes_b) - len(lanes_a) :] != lanes_a:
        return None
    return shared + lanes_b
