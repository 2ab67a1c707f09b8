"""The scratch buffer through which a convert goes when data must cross warps.

Triton places the tensor in shared memory with a swizzle of its own making, so that both the stores of the
source layout and the loads of the target layout are as wide and as free of bank conflicts as can be. What
registers have in common in both layouts need not be there at once: the buffer is used again for each such
*round*. The algorithm is that of "Linear Layouts" (arXiv 2505.23819, section 5.4) as Triton 3.9 chooses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import gf2
from .inverse import flat_bases, output_bits
from .linear import LinearLayout, without_zero_bases

BANK_LINE_BITS = 32 * 32
"""Bits that the 32 banks of shared memory hold side by side."""

WIDEST_ACCESS_BITS = 128

LANES_PER_LINE = 5
"""The exponent of how many lanes with 32 bits each fill the banks."""


@dataclass(frozen=True, slots=True)
class Scratch:
    """How the elements lie in the buffer: vectors over the tensor's (flattened) coordinates."""

    vector: tuple[int, ...]
    """Coordinates that one access covers."""
    bank: tuple[int, ...]
    """Coordinates that lie side by side in one line of banks."""
    segment: tuple[int, ...]
    """Coordinates in different lines."""
    rounds: tuple[int, ...]
    """Coordinates that go through the buffer one after the other."""

    @property
    def elements(self) -> int:
        """How many elements the buffer holds."""
        return 1 << (len(self.vector) + len(self.bank) + len(self.segment))


@dataclass(frozen=True, slots=True)
class Side:
    """One end of a convert inside a block: basis vectors as numbers, registers without those that repeat."""

    register: list[int]
    lane: list[int]
    warp: list[int]


def sides(source: LinearLayout, target: LinearLayout) -> tuple[Side, Side, int]:
    """Both ends of a convert, and the bits of what one block holds of the tensor.

    Bits that tell blocks apart are alike on both ends of such a convert and are left out.
    """
    drop = {v for v in flat_bases(source, "block") if v.bit_count() == 1}
    space = output_bits(source)
    kept = [i for i in range(space) if 1 << i not in drop]

    def squeezed(layout: LinearLayout, name: str) -> list[int]:
        return [sum((v >> old & 1) << new for new, old in enumerate(kept)) for v in flat_bases(layout, name)]

    def side(layout: LinearLayout) -> Side:
        layout = without_zero_bases(layout, "register")
        return Side(*(squeezed(layout, name) for name in ("register", "lane", "warp")))

    return side(source), side(target), len(kept)


def plain_scratch(a: Side, b: Side, bits: int, space: int, amd: bool) -> Scratch:
    """The buffer for a convert by plain stores and loads of elements of 8 bits or more."""
    vector = gf2.intersection(a.register, b.register, space)[: (WIDEST_ACCESS_BITS // bits).bit_length() - 1]
    if (bits << len(vector)) < 32:
        _fill_bank(vector, a, b, bits, space)
    words = max(1, (bits << len(vector)) // 32).bit_length() - 1
    # So many lanes fill a line of banks; they access it in one go.
    together = LANES_PER_LINE - words
    loading = b.lane[:together]
    if amd and together == 3 and len(b.lane) > 4:
        # A wave reads 128 bits a lane in groups that are not runs of 8 lanes (0-3 go with 20-23): where bit
        # 2 of the lane does not move the address, bit 4 does.
        loading[2] = loading[2] or b.lane[4]
    return place(a, b, vector, a.lane[:together], loading, bits, space)


def _fill_bank(vector: list[int], a: Side, b: Side, bits: int, space: int) -> None:
    """Widen a vector of less than 32 bits with what one side holds in registers, then with warps."""
    wanted = (32 // bits).bit_length() - 1
    source_warps, target_warps = [w for w in a.warp if w], [w for w in b.warp if w]
    of_source = gf2.intersection([r for r in a.register if r not in vector], target_warps, space)
    of_target = gf2.intersection([r for r in b.register if r not in vector], source_warps, space)
    if of_source and len(of_source) == len(of_target):
        vector += of_source if min(of_source) < min(of_target) else of_target
    else:
        vector += of_source if len(of_source) > len(of_target) else of_target
    if len(vector) < wanted:
        vector += gf2.intersection(source_warps, target_warps, space)
    for i in range(max(len(source_warps), len(target_warps))):
        for warps in (source_warps, target_warps):
            if i < len(warps) and len(vector) < wanted and warps[i] not in vector:
                vector.append(warps[i])
    del vector[wanted:]


def place(
    a: Side,
    b: Side,
    vector: Sequence[int],
    source_tile: Sequence[int],
    target_tile: Sequence[int],
    bits: int,
    space: int,
    kept_together: int = 0,
) -> Scratch:
    """Choose banks and lines, given what one access covers and which lanes access at the same time.

    `kept_together` bits that could be rounds stay in the buffer, for instructions that move several at once.
    """
    line = (BANK_LINE_BITS // (bits << len(vector))).bit_length() - 1
    banks = min(line, space - len(vector))
    count = space - banks - len(vector)
    segment = _segment([*vector, *source_tile], [*vector, *target_tile], space, count)
    if gf2.rank([*vector, *segment]) < len(vector) + len(segment):
        # Layouts that mix bits: keep to directions that are independent.
        segment = gf2.complement([*vector, *source_tile, *target_tile], space)
        segment = (segment + gf2.complement([*vector, *segment], space))[:count]
    bank = gf2.complement([*vector, *segment], space)
    both = set(a.register) & set(b.register)
    kept, rounds = [], []
    for each in segment:
        if each in both and kept_together > 0:
            kept_together -= 1
            kept.append(each)
        elif each in both:
            rounds.append(each)
        else:
            kept.append(each)
    return Scratch(tuple(vector), tuple(bank), tuple(kept), tuple(rounds))


def _segment(source: Sequence[int], target: Sequence[int], space: int, count: int) -> list[int]:
    """What may lie in different lines of banks with the fewest conflicts for both sides."""
    in_source, in_target = set(source) - {0}, set(target) - {0}
    segment = [1 << i for i in range(space) if 1 << i not in in_source and 1 << i not in in_target]
    if len(segment) >= count:
        return segment[:count]
    few, many = sorted(in_source - in_target), sorted(in_target - in_source)
    if len(few) > len(many):
        few, many = many, few
    conflicts = min(max(0, count - len(few) - len(segment)), len(few))
    segment += [few[i] ^ many[i] for i in range(conflicts, len(few))]
    segment += few[:conflicts]
    segment += many[:conflicts]
    return segment[:count]
