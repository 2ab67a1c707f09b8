"""Layouts of buffers in shared memory: from an offset (in elements) to a coordinate."""

from __future__ import annotations

from dataclasses import replace

from . import encodings as enc
from .linear import (
    LinearLayout,
    dim_names,
    grown,
    identity,
    make,
    product,
    reorder_outputs,
    reshape_outputs,
)
from .tile import cga_layout, cover

INPUTS = ("offset", "block")
CORE_ROWS = 8
"""Rows of the tile in which NVIDIA's swizzles repeat."""


def shared_to_linear(
    encoding: enc.Shared, shape: tuple[int, ...], element_bits: int | None = None
) -> LinearLayout:
    """The layout of a shared memory buffer; `ValueError` where it does not fit the shape."""
    if isinstance(encoding, enc.SwizzledShared):
        if encoding.has_leading_offset:
            return nvmma_shared(_as_nvmma(encoding, element_bits), shape)
        return swizzled_shared(encoding, shape)
    if isinstance(encoding, enc.AmdRotatingShared):
        return swizzled_shared(encoding, shape)
    if isinstance(encoding, enc.NvmmaShared):
        return nvmma_shared(encoding, shape)
    if isinstance(encoding, enc.PaddedShared):
        return padded_shared(encoding, shape)
    if isinstance(encoding, enc.SharedLinear):
        return shared_linear(encoding, shape)
    return partitioned_shared(encoding, shape)


def share_of_block(cga: enc.Bases, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The part of the shape that one block of the cluster holds."""
    blocks = cga_layout(cga, len(shape))
    return tuple(max(1, size // part) for size, part in zip(shape, blocks.shape, strict=True))


def swizzled_shared(
    encoding: enc.SwizzledShared | enc.AmdRotatingShared, shape: tuple[int, ...]
) -> LinearLayout:
    """Row r, column c lies at group `(c / vec) xor phase(r)` of its row, `order` giving rows and columns."""
    rotating = isinstance(encoding, enc.AmdRotatingShared)
    share = share_of_block(encoding.cga, shape)
    names = dim_names(len(shape))
    if len(shape) == 1:
        return cover(identity(share[0], "offset", "dim0"), encoding.cga, shape, INPUTS)
    column, row = encoding.order[:2]
    bases = [(0, 1 << i) for i in range(share[column].bit_length() - 1)]
    for i in range(share[row].bit_length() - 1):
        turn = (1 << i) // encoding.per_phase
        phase = turn % encoding.max_phase
        if rotating:
            phase ^= turn // encoding.max_phase % encoding.max_phase
        bases.append((1 << i, encoding.vec * phase % share[column]))
    tile = make({"offset": bases}, {names[row]: share[row], names[column]: share[column]})
    for d in encoding.order[2:]:
        tile = product(tile, identity(share[d], "offset", names[d]))
    return cover(tile, encoding.cga, shape, INPUTS)


def _as_nvmma(encoding: enc.SwizzledShared, element_bits: int | None) -> enc.NvmmaShared:
    widths = {(4, 2): 32, (2, 4): 64, (1, 8): 128}
    width = widths.get((encoding.per_phase, encoding.max_phase))
    if width is None:
        raise ValueError("with hasLeadingOffset, (perPhase, maxPhase) must be (4, 2), (2, 4) or (1, 8)")
    if element_bits is None:
        raise ValueError("with hasLeadingOffset, the element type must be known")
    rank = len(encoding.order)
    transposed = encoding.order[0] == 0 and rank > 1
    return enc.NvmmaShared(width, transposed, element_bits, False, encoding.cga, rank)


def nvmma_shared(encoding: enc.NvmmaShared, shape: tuple[int, ...]) -> LinearLayout:
    """Tiles of 8 rows by the swizzle's width, inside the largest box that one TMA copy may have."""
    rank = len(shape)
    names = dim_names(rank)
    share = share_of_block(encoding.cga, shape)
    box = tma_box(encoding, share)
    if encoding.swizzling_byte_width == 0:
        return cover(_plain_boxes(encoding, box, share), encoding.cga, shape, INPUTS)
    if rank < 2:
        raise ValueError("swizzling needs at least two dimensions")
    outer = 1
    for size in box[:-1]:
        outer *= size
    rows, columns = (box[-1], outer) if encoding.transposed else (outer, box[-1])
    tile = core_matrix(encoding)
    if columns < tile.shape[1] or rows < tile.shape[0]:
        raise ValueError(
            f"swizzling {encoding.swizzling_byte_width} bytes needs at least "
            f"{tile.shape[0]}x{tile.shape[1]} elements a copy, not {rows}x{columns}"
        )
    tile = grown(tile, {"dim0": rows, "dim1": columns}, "offset")
    # Rows times columns are cut into the box's dimensions, the contiguous one last (and fastest).
    order = [*range(1, rank), 0] if encoding.transposed else list(range(rank))
    cut = [(names[d], box[d]) for d in reversed(order)]
    tile = reshape_outputs(reorder_outputs(tile, ["dim1", "dim0"]), cut)
    tile = grown(reorder_outputs(tile, names), _named(share), "offset")
    return cover(tile, encoding.cga, shape, INPUTS)


def _plain_boxes(encoding: enc.NvmmaShared, box: tuple[int, ...], share: tuple[int, ...]) -> LinearLayout:
    """Without a swizzle: box after box in row-major order.

    For a transposed buffer of more than two dimensions, Triton 3.9 turns the dimensions the wrong way round
    when it names them; the layout then repeats and skips elements, and so does this one.
    """
    rank = len(box)
    names = dim_names(rank)
    sizes, walked = list(box), list(names)
    if encoding.transposed:
        sizes = [*box[1:], box[0]]
        walked = [names[(i - 1) % rank] for i in range(rank)]
    pairs = list(zip(sizes, walked, strict=True))
    tile = product(*(identity(size, "offset", name) for size, name in reversed(pairs)))
    limits = _named(share)
    return grown(reorder_outputs(tile, tuple(reversed(names))), limits, "offset")


def _named(shape: tuple[int, ...]) -> dict[str, int]:
    return dict(zip(dim_names(len(shape)), shape, strict=True))


def tma_box(encoding: enc.NvmmaShared, share: tuple[int, ...]) -> tuple[int, ...]:
    """The box of one TMA copy: at most 256 a side, and the swizzle's width along the contiguous one."""
    box = [min(size, 256) for size in share]
    contiguous = 0 if encoding.transposed else len(share) - 1
    if encoding.swizzling_byte_width:
        wide = 8 * encoding.swizzling_byte_width // encoding.element_bit_width
        if encoding.fp4_padded:
            wide //= 2
        if box[contiguous] < wide:
            raise ValueError(
                f"the contiguous dimension holds {box[contiguous]} elements a block, "
                f"but swizzling {encoding.swizzling_byte_width} bytes needs {wide}"
            )
        box[contiguous] = wide
    return tuple(box)


def core_matrix(encoding: enc.NvmmaShared) -> LinearLayout:
    """8 rows of the swizzle's width, as rows `dim0` and columns `dim1`."""
    width, bits = encoding.swizzling_byte_width, encoding.element_bit_width
    vec = 128 // bits
    per_phase, max_phase = 128 // width, width // 16

    def packed(column: int) -> int:
        # Padded fp4 leaves every second group of 8 bytes empty: it repeats the group before.
        return column // 16 * 8 + column % 8 if encoding.fp4_padded else column

    columns = 8 * width // bits
    bases = [(0, packed(1 << i)) for i in range(columns.bit_length() - 1)]
    bases.extend((row, packed(vec * (row // per_phase % max_phase))) for row in (1, 2, 4))
    return make({"offset": bases}, {"dim0": CORE_ROWS, "dim1": columns // (2 if encoding.fp4_padded else 1)})


def padded_shared(encoding: enc.PaddedShared, shape: tuple[int, ...]) -> LinearLayout:
    """The linear part of a padded layout: offsets before the padding is put in (see `padded_offset`)."""
    names = dim_names(len(shape))
    if encoding.offset:
        return shared_linear(enc.SharedLinear(encoding.offset, encoding.block, 16, len(shape)), shape)
    sizes = share_of_block(encoding.block, encoding.shape or shape)
    tile = product(*(identity(sizes[d], "offset", names[d]) for d in encoding.order))
    return cover(tile, encoding.block, shape, INPUTS)


def padded_offset(encoding: enc.PaddedShared, offset: int) -> int:
    """Where an element really lies, in elements, given its offset before padding."""
    return offset + sum(offset // interval * padding for interval, padding in encoding.intervals)


def shared_linear(encoding: enc.SharedLinear, shape: tuple[int, ...]) -> LinearLayout:
    """The bases as given; a shape that they do not cover exactly is refused."""
    names = dim_names(encoding.rank)
    rows = encoding.offset + encoding.block
    reach = [max((b[d] for b in rows), default=0) for d in range(encoding.rank)]
    own = tuple(1 << r.bit_length() for r in reach)
    if own != shape:
        raise ValueError(f"its bases cover {'x'.join(map(str, own))} elements")
    return make({"offset": encoding.offset, "block": encoding.block}, dict(zip(names, own, strict=True)))


def partitioned_shared(encoding: enc.PartitionedShared, shape: tuple[int, ...]) -> LinearLayout:
    """Pieces along `partition_dim` go round the partitions; each partition holds its groups one by one."""
    pieces = encoding.num_partitions * encoding.num_groups
    d = encoding.partition_dim
    if not 0 <= d < len(shape) or shape[d] < pieces:
        raise ValueError(f"dimension {d} cannot be cut into {pieces} pieces")
    piece = (*shape[:d], shape[d] // pieces, *shape[d + 1 :])
    inner = shared_to_linear(_resized(encoding.partition_layout, piece), piece)
    name = f"dim{d}"
    whole = product(
        inner,
        identity(encoding.num_partitions, "partition", name),
        identity(encoding.num_groups, "offset", name),
    )
    return LinearLayout(tuple((n, whole.bases(n)) for n in ("offset", "partition", "block")), whole.outputs)


def _resized(encoding: enc.Shared, piece: tuple[int, ...]) -> enc.Shared:
    """A padded layout in its short form names the shape of the whole; a piece of it has its own."""
    if isinstance(encoding, enc.PaddedShared) and encoding.shape:
        return replace(encoding, shape=piece)
    return encoding
