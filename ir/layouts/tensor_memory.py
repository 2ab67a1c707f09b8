"""Layouts of Blackwell's tensor memory: from (row, column) to a coordinate, in elements."""

from __future__ import annotations

from . import encodings as enc
from .linear import LinearLayout, identity, make, product, reorder_outputs, with_inputs, zeros
from .tile import cga_layout

ROWS = 128


def tensor_memory(encoding: enc.TensorMemory, shape: tuple[int, ...]) -> LinearLayout:
    """Blocks of `block_m` by `block_n`; two blocks of 64 rows share the 128 rows, 16 by 16."""
    if len(shape) != 2:
        raise ValueError("tensor memory holds matrices")
    rows, columns = encoding.block_m, encoding.block_n
    if rows not in (64, 128):
        raise ValueError(f"blockM must be 64 or 128, not {rows}")
    blocks = cga_layout(encoding.cga, 2)
    share = tuple(size // part for size, part in zip(shape, blocks.shape, strict=True))
    if share[0] < rows or share[1] < columns:
        raise ValueError(f"a block holds {share[0]}x{share[1]} elements, less than {rows}x{columns}")
    if rows == 128:
        tile = product(identity(rows, "row", "dim0"), identity(columns, "col", "dim1"))
    else:
        tile = _half_height(columns, share)
    repeat = (
        identity(share[0] // tile.shape[0], "col", "dim0"),
        identity(share[1] // tile.shape[1], "col", "dim1"),
    )
    gap = zeros(encoding.col_stride, "col", "dim1")
    whole = product(gap, tile, *repeat, blocks)
    return with_inputs(reorder_outputs(whole, ("dim0", "dim1")), ("row", "col", "block"))


def _half_height(columns: int, share: tuple[int, ...]) -> LinearLayout:
    if share[0] > 64:
        filler, size = (64, 0), (128, columns)
    elif share[1] > columns:
        filler, size = (0, columns), (64, 2 * columns)
    else:
        filler, size = (0, 0), (64, columns)
    row = [(1, 0), (2, 0), (4, 0), (8, 0), filler, (16, 0), (32, 0)]
    column = [(0, 1 << i) for i in range(columns.bit_length() - 1)]
    return make({"row": row, "col": column}, {"dim0": size[0], "dim1": size[1]})


def tensor_memory_scales(encoding: enc.TensorMemoryScales, shape: tuple[int, ...]) -> LinearLayout:
    """32 rows by 4 columns at a time; the other 96 rows hold copies."""
    if len(shape) != 2:
        raise ValueError("tensor memory holds matrices")
    blocks = cga_layout(encoding.cga, 2)
    down, across = (size // part for size, part in zip(shape, blocks.shape, strict=True))
    tile = product(
        identity(min(32, down), "row", "dim0"),
        identity(min(4, across), "col", "dim1"),
        zeros(max(1, 4 // across), "col", "dim1"),
        # Scales come in blocks of 64 rows; a shorter one is stored twice.
        zeros(2, "col", "dim0") if down < 64 else identity(down // 32, "col", "dim0"),
        identity(max(1, across // 4), "col", "dim1"),
    )
    copies = zeros(ROWS // tile.input_size("row"), "row", "dim0")
    return with_inputs(product(tile, copies, blocks), ("row", "col", "block"))
