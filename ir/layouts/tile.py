"""Building blocks shared by the kinds of encodings: orders, broadcasts, and fitting a tile to a shape."""

from __future__ import annotations

from collections.abc import Sequence

from .linear import (
    LinearLayout,
    dim_names,
    grown,
    identity,
    make,
    product,
    reorder_outputs,
    shrunk,
    with_inputs,
    zeros,
)

REGISTER_INPUTS = ("register", "lane", "warp", "block")


def in_order(tile: LinearLayout, order: Sequence[int]) -> LinearLayout:
    """The tile with its dimensions in this order, the one in which it will be repeated."""
    return reorder_outputs(tile, [f"dim{d}" for d in order])


def row_major(rank: int) -> tuple[int, ...]:
    """The last dimension first; batches come last."""
    return tuple(reversed(range(rank)))


def column_major(rank: int) -> tuple[int, ...]:
    """The last but one dimension first, then the last; batches come last."""
    order = list(row_major(rank))
    order[0], order[1] = order[1], order[0]
    return tuple(order)


def k_dimension(op_idx: int, rank: int) -> int:
    """Which dimension of a dot's operand (0: A, 1: B) is summed over."""
    return rank - 1 if op_idx == 0 else rank - 2


def operand_order(op_idx: int, rank: int) -> tuple[int, ...]:
    """K first, then the other dimension, then batches."""
    return row_major(rank) if op_idx == 0 else column_major(rank)


def broadcast_along(dim: int, shape: Sequence[int], order: Sequence[int], source: str) -> LinearLayout:
    """`source` walks a box in `order`, but its bits along `dim` do not move (they hold the same elements)."""
    names = dim_names(len(shape))
    return product(*((zeros if d == dim else identity)(shape[d], source, names[d]) for d in order))


def cga_layout(cga: Sequence[Sequence[int]], rank: int) -> LinearLayout:
    """The layout of the blocks over the tensor, in units of what one block holds."""
    names = dim_names(rank)
    reach = [max((basis[d] for basis in cga), default=0) for d in range(rank)]
    return make({"block": cga}, {n: 1 << r.bit_length() for n, r in zip(names, reach, strict=True)})


def cover(
    tile: LinearLayout,
    cga: Sequence[Sequence[int]] | None,
    shape: Sequence[int],
    inputs: Sequence[str] = REGISTER_INPUTS,
    dropped: str | None = None,
) -> LinearLayout:
    """Fit a block's tile to a shape that the blocks of `cga` share (None: the tile has its own block bits).

    The tile is repeated (in the order of its output dimensions) or cut, then the blocks are put beside each
    other. What a cut leaves without effect stays and replicates, except the bits of the input `dropped`.
    """
    names = dim_names(len(shape))
    sizes = dict(zip(names, shape, strict=True))
    if cga is None:
        fitted = shrunk(grown(tile, sizes, inputs[0]), sizes, dropped)
        return with_inputs(reorder_outputs(fitted, names), inputs)
    blocks = reorder_outputs(shrunk(cga_layout(cga, len(shape)), sizes), tile.output_names)
    share = {n: max(1, size // blocks.output_size(n)) for n, size in sizes.items()}
    fitted = shrunk(grown(tile, share, inputs[0]), share, dropped)
    return with_inputs(reorder_outputs(product(fitted, blocks), names), inputs)
