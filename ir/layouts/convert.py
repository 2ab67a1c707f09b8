"""What a `convert_layout` costs: whether data moves at all, between registers, lanes, warps or blocks.

The decisions are those of Triton 3.9's lowering; `tests/oracle/layout_converts.py` records what it emits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from . import gf2
from .inverse import flat_bases, is_identity_over, where_from
from .linear import LinearLayout, free_bits, reorder_outputs, sublayout, without_zero_bases
from .matrix_access import best_scratch
from .scratch import plain_scratch, sides

Kind = Literal["nothing", "registers", "shuffle", "shared", "cluster"]
"""`cluster`: between blocks, which Triton does through distributed shared memory."""

SPEED: tuple[str, ...] = ("register", "lane", "warp", "block")
NVIDIA_LANES = 5
"""The exponent of a warp's lanes on NVIDIA; a wave of 64 is taken to be AMD's CDNA."""
MAX_TRANSPOSITIONS = 1
"""Exchanges of a register bit with a lane bit that shuffles do; from two on, shared memory is taken."""


@dataclass(frozen=True, slots=True)
class Convert:
    """The cost of one convert."""

    kind: Kind
    shared_bytes: int = 0
    """Size of the scratch buffer, per block."""
    rounds: int = 0
    """How often the buffer is filled."""
    barriers: int = 0
    """Waits of the whole block (or of one warp, see `warp_only`) between fills and reads."""
    warp_only: bool = False
    """Each warp reads only what it wrote, so that no barrier of the block is needed."""
    transpositions: int = 0
    """Register bits exchanged with lane bits."""
    moved: int = 0
    """Elements (replicas counted) that their thread did not hold before."""
    total: int = 0
    """Elements that all threads hold after the convert, replicas counted."""


def minimal(source: LinearLayout, target: LinearLayout) -> LinearLayout:
    """The map target index → source index, without the slow inputs that stay what they are."""
    found = where_from(target, source)
    names = list(found.input_names)
    for name in reversed(names):
        if not is_identity_over(found, name):
            break
        keep = [n for n in found.input_names if n != name]
        found = sublayout(found, keep, [n for n in found.output_names if n != name])
    return found


def nearest(source: LinearLayout, target: LinearLayout) -> str:
    """How far elements travel: to another `register`, `lane`, `warp` or `block`; '' if nothing changes."""
    left = minimal(source, target).input_names
    if "block" in left or ("warp" in left and not _lanes_can_serve(source, target)):
        return "block" if "block" in left else "warp"
    if "warp" in left or "lane" in left:
        return "lane"
    return "register" if "register" in left else ""


def _lanes_can_serve(source: LinearLayout, target: LinearLayout) -> bool:
    """Whether each warp of the target finds its elements in its own lanes, which lane depending on the warp.

    That is so where the source repeats over warps. Which register is read may not depend on the warp.
    """
    source = reorder_outputs(source, target.output_names)
    lanes, warps = flat_bases(source, "lane"), flat_bases(source, "warp")
    inside = flat_bases(target, "register") + flat_bases(target, "lane")
    across = [a ^ b for a, b in zip(flat_bases(target, "warp"), warps, strict=True)]
    if gf2.solve(lanes, across) is None:
        return False
    return gf2.solve(flat_bases(source, "register") + lanes, inside) is not None


def convert(source: LinearLayout, target: LinearLayout, element_bits: int) -> Convert:
    """The class and cost of converting a tensor between two distributed layouts of one shape.

    Raises:
        ValueError: the layouts are of different shapes.
    """
    if dict(source.outputs) != dict(target.outputs):
        raise ValueError(f"the layouts are for shapes {source.shape} and {target.shape}")
    moved, total = _movement(source, target)
    reach = nearest(source, target)
    if reach == "block":
        return Convert("cluster", moved=moved, total=total)
    if reach in ("", "register"):
        return Convert("registers" if reach else "nothing", moved=moved, total=total)
    if reach == "lane":
        exchanges = mixed_transpositions(source, target)
        if exchanges <= MAX_TRANSPOSITIONS:
            return Convert("shuffle", transpositions=exchanges, moved=moved, total=total)
    return _through_shared(source, target, element_bits, moved, total)


def _through_shared(
    source: LinearLayout, target: LinearLayout, element_bits: int, moved: int, total: int
) -> Convert:
    bits = max(8, element_bits)
    amd = len(source.bases("lane")) > NVIDIA_LANES
    a, b, space = sides(source, target)
    scratch = None if amd else best_scratch(a, b, bits, space)
    if scratch is None:
        scratch = plain_scratch(a, b, bits, space, amd)
    rounds = 1 << len(scratch.rounds)
    warp_only = (
        is_identity_over(where_from(target, source), "warp")
        and not free_bits(source, "warp")
        and not free_bits(target, "warp")
    )
    size = scratch.elements * bits // 8
    return Convert("shared", size, rounds, 2 * rounds - 1, warp_only, 0, moved, total)


def _movement(source: LinearLayout, target: LinearLayout) -> tuple[int, int]:
    """How many of the target's elements their thread did not hold before, and of how many."""
    source = reorder_outputs(source, target.output_names)
    held = flat_bases(source, "register")
    away = flat_bases(target, "register")
    for name in SPEED[1:]:
        mine = flat_bases(source, name)
        for i, vector in enumerate(flat_bases(target, name)):
            away.append(vector ^ (mine[i] if i < len(mine) else 0))
    apart = gf2.rank([*held, *away]) - gf2.rank(held)
    return (1 << len(away)) - (1 << (len(away) - apart)), 1 << len(away)


def mixed_transpositions(source: LinearLayout, target: LinearLayout) -> int:
    """Exchanges of register bits with lane bits in the permutation of a convert inside warps.

    Follows the cycles of the permutation of (register, lane) index bits, zero bases filled in so that as
    much as possible stays where it is.
    """
    source, target = without_zero_bases(source, "register"), without_zero_bases(target, "register")
    bits = {name: max(len(source.bases(name)), len(target.bases(name))) for name in ("register", "lane")}
    places = [(name, i) for name in ("register", "lane") for i in range(bits[name])]
    held = {
        "source": dict(zip(places, _padded(source, bits), strict=True)),
        "target": dict(zip(places, _padded(target, bits), strict=True)),
    }
    to = _permutation(held["source"], held["target"], places)
    return sum(1 for place, goal in to.items() if place[0] == "register" and goal[0] == "lane")


Place = tuple[str, int]


def _padded(layout: LinearLayout, bits: dict[str, int]) -> list[int]:
    out = []
    for name in ("register", "lane"):
        vectors = flat_bases(layout, name)
        out += vectors + [0] * (bits[name] - len(vectors))
    return out


def _permutation(
    source: dict[Place, int], target: dict[Place, int], places: list[Place]
) -> dict[Place, Place]:
    """Where each index bit of the source goes: to the bit of the target with the same basis."""
    where = {}
    for place in reversed(places):
        if target[place]:
            where[target[place]] = place
    to: dict[Place, Place] = {}
    free_source, free_target = [], []
    for place in places:
        if not source[place] and not target[place]:
            to[place] = place
        elif not source[place]:
            free_source.append(place)
        elif not target[place]:
            free_target.append(place)
    for place in places:
        if source[place]:
            to[place] = where.get(source[place], place)
    to.update(zip(free_source, free_target, strict=False))
    return to
