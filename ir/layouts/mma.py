"""Layouts of matrix instructions: accumulators and dot operands of NVIDIA's mma, AMD's mfma and wmma.

The register and lane maps of one instruction are fixed by the hardware (PTX ISA, "Matrix multiply-accumulate
operation"; AMD's matrix instruction calculator); how tiles repeat over warps and registers is Triton 3.9's.
"""

from __future__ import annotations

from . import encodings as enc
from .linear import LinearLayout, dim_names, identity, identity_nd, make, product, reorder_outputs, zeros
from .tile import (
    broadcast_along,
    column_major,
    cover,
    in_order,
    k_dimension,
    operand_order,
    row_major,
)

WMMA_WAVE = 32
"""Lanes of a wave that runs WMMA instructions."""
WMMA_SIDE = 16
"""Rows or columns that the lanes of a WMMA instruction hold; a longer side is in registers."""
AMD_WAVE = 64
"""Lanes of a wavefront that runs MFMA instructions."""


def nvidia_mma(encoding: enc.NvidiaMma, shape: tuple[int, ...]) -> LinearLayout:
    """The accumulator of `mma.sync` (version 2) and `wgmma` (version 3)."""
    rank = len(shape)
    sides = list(encoding.instr_shape)
    if encoding.version_major == 3:
        sides = sides[:2]
    elif encoding.version_major != 2:
        raise ValueError(f"mma version {encoding.version_major} has no layout in registers")
    if not sides:
        sides = [16, 8]
    if len(sides) < rank:
        sides = [1] * (rank - len(sides)) + sides
    tile = _nvidia_tile(sides, 2, row_major(rank), row_major(rank))
    warps = identity_nd("warp", encoding.warps_per_cta, _nvidia_warp_order(encoding, rank))
    return cover(product(tile, warps), encoding.cga, shape)


def _nvidia_warp_order(encoding: enc.NvidiaMma, rank: int) -> tuple[int, ...]:
    return column_major(rank) if encoding.version_major == 3 else row_major(rank)


def _nvidia_tile(
    sides: list[int], k_width: int, order: tuple[int, ...], repeat: tuple[int, ...]
) -> LinearLayout:
    """One instruction: 4 lanes along the inner dimension, 8 along the outer one, the rest registers."""
    names = dim_names(len(sides))
    inner, outer = names[order[0]], names[order[1]]
    rows, columns = sides[order[1]], sides[order[0]]
    if rows % 8 or columns % (4 * k_width):
        raise ValueError(f"an instruction of {rows}x{columns} does not hold {k_width} elements a thread")
    return product(
        identity_nd("register", [1] * len(sides), repeat),
        identity(k_width, "register", inner),
        identity(4, "lane", inner),
        identity(8, "lane", outer),
        identity(rows // 8, "register", outer),
        identity(columns // (4 * k_width), "register", inner),
    )


def dot_operand_of_mma(encoding: enc.DotOperand, shape: tuple[int, ...]) -> LinearLayout:
    """The operand of a matrix instruction whose result has the parent's layout."""
    parent = encoding.parent
    if isinstance(parent, enc.NvidiaMma):
        return _nvidia_operand(encoding, parent, shape)
    if isinstance(parent, enc.AmdMfma):
        return _mfma_operand(encoding, parent, shape)
    if isinstance(parent, enc.AmdWmma):
        return _wmma_operand(encoding, parent, shape)
    raise ValueError("a dot operand's parent must be blocked, nvidia_mma, amd_mfma or amd_wmma")


def _cga_of_operand(cga: enc.Bases, k: int) -> enc.Bases:
    return tuple(tuple(0 if d == k else x for d, x in enumerate(basis)) for basis in cga)


def _nvidia_operand(encoding: enc.DotOperand, mma: enc.NvidiaMma, shape: tuple[int, ...]) -> LinearLayout:
    rank, k_width = len(shape), encoding.k_width
    if k_width < 1:
        raise ValueError("a dot operand of nvidia_mma needs kWidth")
    if mma.version_major == 3 and encoding.op_idx == 1:
        raise ValueError("Hopper reads operand B from shared memory: it has no layout in registers")
    sides = [1] * rank
    k = k_dimension(encoding.op_idx, rank)
    sides[k] = 8 * k_width
    sides[2 * rank - 3 - k] = 16 if encoding.op_idx == 0 else 8
    order = operand_order(encoding.op_idx, rank)
    tile = _nvidia_tile(sides, k_width, order, order)
    warps = broadcast_along(k, mma.warps_per_cta, _nvidia_warp_order(mma, rank), "warp")
    return cover(product(tile, warps), _cga_of_operand(mma.cga, k), shape)


def mfma(encoding: enc.AmdMfma, shape: tuple[int, ...]) -> LinearLayout:
    """The accumulator of an MFMA instruction; repeats go along N first, over the whole tensor."""
    rank = len(shape)
    rows, columns = encoding.instr_shape[:2]
    m, n = f"dim{rank - 2}", f"dim{rank - 1}"
    height = 1 if encoding.element_bit_width == 64 else 4
    along, across, lanes = (n, m, rows) if encoding.is_transposed else (m, n, columns)
    tile = product(
        identity(height, "register", along),
        identity(lanes, "lane", across),
        identity(AMD_WAVE // lanes, "lane", along),
        identity(rows * columns // (AMD_WAVE * height), "register", along),
    )
    tiles = encoding.tiles_per_warp or (1,) * rank
    warps = encoding.warps_per_cta
    tile = product(
        reorder_outputs(tile, [n, m]),
        identity(tiles[-1], "register", n),
        identity(warps[-1], "warp", n),
        identity(shape[-1] // (columns * warps[-1] * tiles[-1]), "register", n),
        identity(tiles[-2], "register", m),
        identity(warps[-2], "warp", m),
    )
    if rank == 3:
        tile = product(tile, identity(warps[0], "warp", "dim0"))
    return cover(tile, encoding.cga, shape)


def _mfma_operand(encoding: enc.DotOperand, parent: enc.AmdMfma, shape: tuple[int, ...]) -> LinearLayout:
    rank, k_width = len(shape), encoding.k_width
    if k_width < 1:
        raise ValueError("a dot operand of amd_mfma needs kWidth")
    order = operand_order(encoding.op_idx, rank)
    k, other = f"dim{order[0]}", f"dim{order[1]}"
    side = parent.instr_shape[encoding.op_idx]
    tile = product(
        identity(k_width, "register", k),
        identity(side, "lane", other),
        identity(AMD_WAVE // side, "lane", k),
    )
    reach = k_width * (AMD_WAVE // side)
    if tuple(parent.instr_shape[:2]) == ((64, 4), (4, 64))[encoding.op_idx]:
        # The long side of a 64x4 instruction takes 16 of its K steps from registers.
        tile = product(tile, identity(16, "register", k))
        reach *= 16
    if shape[order[0]] > reach:
        tile = product(tile, identity(shape[order[0]] // reach, "register", k))
    tiles = parent.tiles_per_warp or (1,) * rank
    tile = product(tile, identity(tiles[order[1]], "register", other))
    tile = reorder_outputs(tile, [k, other])
    if rank == 3:
        tile = product(tile, identity(1, "register", "dim0"))
    warps = identity_nd("warp", parent.warps_per_cta, row_major(rank))
    return cover(product(tile, warps), parent.cga, shape)


def wmma(encoding: enc.AmdWmma, shape: tuple[int, ...]) -> LinearLayout:
    """The accumulator of a WMMA instruction."""
    rank = len(shape)
    order = column_major(rank) if encoding.is_transposed else row_major(rank)
    lanes, registers = f"dim{order[0]}", f"dim{order[1]}"
    if encoding.version == 1:
        bases = {"register": ((0, 2), (0, 4), (0, 8)), "lane": ((1, 0), (2, 0), (4, 0), (8, 0), (0, 1))}
    else:
        bases = {"register": ((0, 1), (0, 2), (0, 4)), "lane": ((1, 0), (2, 0), (4, 0), (8, 0), (0, 8))}
    tile = make(bases, {lanes: WMMA_SIDE, registers: WMMA_SIDE})
    if encoding.instr_shape[0] > WMMA_SIDE:
        tile = product(tile, identity(encoding.instr_shape[0] // WMMA_SIDE, "register", registers))
    tile = _with_tiles(tile, encoding.register_bases, encoding.warp_bases, row_major(rank))
    return cover(tile, encoding.cga, shape)


def _with_tiles(
    tile: LinearLayout, registers: enc.Bases, warps: enc.Bases, order: tuple[int, ...]
) -> LinearLayout:
    """Put the tiles of one instruction where the encoding's `ctaLayout` says; they repeat in `order`."""
    rank = len(order)
    names = dim_names(rank)
    reach = [max((basis[d] for basis in registers + warps), default=0) for d in range(rank)]
    sizes = {n: 1 << r.bit_length() for n, r in zip(names, reach, strict=True)}
    tiles = make({"register": registers, "warp": warps}, sizes)
    if rank == 3:
        tile = product(tile, identity(1, "register", "dim0"))
    return product(in_order(tile, order), in_order(tiles, order))


def _wmma_operand(encoding: enc.DotOperand, parent: enc.AmdWmma, shape: tuple[int, ...]) -> LinearLayout:
    rank, k_width = len(shape), encoding.k_width
    if k_width < 1:
        raise ValueError("a dot operand of amd_wmma needs kWidth")
    order = operand_order(encoding.op_idx, rank)
    k, other = f"dim{order[0]}", f"dim{order[1]}"
    # A transposed result is the product of the exchanged operands.
    side = parent.instr_shape[encoding.op_idx ^ parent.is_transposed]
    depth = WMMA_WAVE // WMMA_SIDE
    tile = product(
        identity(k_width, "register", k),
        identity(WMMA_SIDE, "lane", other),
        # Version 1 gives both halves of the wave the same elements.
        (zeros if parent.version == 1 else identity)(depth, "lane", k),
        identity(parent.instr_shape[2] // (depth * k_width), "register", k),
        identity(side // WMMA_SIDE, "register", other),
    )
    registers = tuple(b for b in _cga_of_operand(parent.register_bases, order[0]) if any(b))
    warps = _cga_of_operand(parent.warp_bases, order[0])
    tile = _with_tiles(tile, registers, warps, order)
    return cover(tile, _cga_of_operand(parent.cga, order[0]), shape)
