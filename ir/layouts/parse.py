"""Reads a layout attribute, in any spelling since Triton 2.1, into an `Encoding`.

The dialect prefix (`#triton_gpu.`, `#ttg.`, `#ttng.`) carries no meaning and is ignored. Names and fields by
release were established by running the wheels 3.0 to 3.9; those of 2.1 to 2.3 are from their tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..errors import InputError
from . import encodings as enc
from .attribute_text import Attribute, Pair, Tree, Word, read_attribute
from .linear import Basis, identity, product, reorder_outputs, zeros

MAX_RANK = 32
"""No tensor of Triton's comes near it; a longer list is not a layout."""


def parse_encoding(text: str, aliases: Mapping[str, str] | None = None) -> enc.Encoding:
    """The encoding that a text stands for; `aliases` maps `#blocked1` to its text.

    Raises:
        InputError: the text is not a layout attribute that Triton has had, or contradicts itself.
    """
    return _encoding(read_attribute(text, aliases))


def _encoding(attribute: Attribute) -> enc.Encoding:
    maker = _KINDS.get(attribute.kind)
    if maker is None:
        raise InputError(
            f"#{attribute.dialect}.{attribute.kind} is not a layout that passlens knows; "
            f"it knows {', '.join(sorted(_KINDS))}"
        )
    fields = _Fields(attribute)
    made = maker(fields)
    fields.done()
    return made


class _Fields:
    """The fields of one attribute, taken one by one and checked."""

    def __init__(self, attribute: Attribute) -> None:
        self.kind = attribute.kind
        self.left = dict(attribute.fields)
        self.parts = list(attribute.parts)

    def wrong(self, what: str) -> InputError:
        return InputError(f"in #{self.kind}: {what}")

    def done(self) -> None:
        """Refuse what nobody asked for: an unknown field may change what the layout means."""
        if self.left:
            raise self.wrong(f"the field {next(iter(self.left))!r} is not one that this layout has had")
        if self.parts:
            raise self.wrong(f"found {str(self.parts[0])[:40]!r}, which this layout does not have")

    def has(self, name: str) -> bool:
        return name in self.left

    def take(self, name: str) -> Tree:
        if name not in self.left:
            raise self.wrong(f"expected the field {name!r}, which is missing")
        return self.left.pop(name)

    def integer(self, name: str, default: int | None = None) -> int:
        if default is not None and name not in self.left:
            return default
        value = self.take(name)
        if not isinstance(value, int):
            raise self.wrong(f"expected an integer for {name!r}, found {_shown(value)}")
        return value

    def boolean(self, name: str, default: bool | None = None) -> bool:
        if default is not None and name not in self.left:
            return default
        value = self.take(name)
        if isinstance(value, int):
            return value != 0
        if isinstance(value, Word) and value.text in ("true", "false", "unit"):
            return value.text != "false"
        raise self.wrong(f"expected true or false for {name!r}, found {_shown(value)}")

    def integers(self, name: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        if default is not None and name not in self.left:
            return default
        return self._integers(self.take(name), name)

    def _integers(self, value: Tree, name: str) -> tuple[int, ...]:
        if not isinstance(value, list) or not all(isinstance(each, int) for each in value):
            raise self.wrong(f"expected a list of integers for {name!r}, found {_shown(value)}")
        if len(value) > MAX_RANK:
            raise self.wrong(f"{name!r} has {len(value)} entries, more than the {MAX_RANK} of any tensor")
        return tuple(each for each in value if isinstance(each, int))

    def bases(self, name: str, default: enc.Bases | None = None) -> enc.Bases:
        if default is not None and name not in self.left:
            return default
        value = self.take(name)
        if not isinstance(value, list) or len(value) > 64:
            raise self.wrong(f"expected a list of at most 64 bases for {name!r}, found {_shown(value)}")
        return tuple(self._integers(basis, name) for basis in value)

    def encoding(self, name: str) -> enc.Encoding:
        value = self.take(name)
        if not isinstance(value, Attribute):
            raise self.wrong(f"expected a layout for {name!r}, found {_shown(value)}")
        return _encoding(value)

    def distributed(self, name: str) -> enc.Distributed:
        value = self.encoding(name)
        if not isinstance(value, enc.Distributed):
            raise self.wrong(f"{name!r} must be the layout of a tensor in registers")
        return value

    def same_rank(self, **lists: Sequence[int]) -> int:
        ranks = {name: len(value) for name, value in lists.items()}
        if len(set(ranks.values())) != 1:
            raise self.wrong(f"the lists must have one rank, but {ranks}")
        rank = next(iter(ranks.values()))
        if rank == 0:
            raise self.wrong("the lists are empty")
        order = lists.get("order")
        if order is not None and sorted(order) != list(range(rank)):
            raise self.wrong(f"order must be a permutation of 0 to {rank - 1}, not {list(order)}")
        for name, value in lists.items():
            if name != "order" and any(n < 1 or n & (n - 1) for n in value):
                raise self.wrong(f"{name} must hold powers of two, not {list(value)}")
        return rank


def _shown(value: Tree) -> str:
    if isinstance(value, Attribute):
        return f"#{value.dialect}.{value.kind}"
    return repr(value.text if isinstance(value, Word) else value)[:60]


def _cga(f: _Fields, rank: int) -> enc.Bases:
    """The block bases, from whichever of the two spellings is there; none for one block."""
    if f.has("CGALayout"):
        bases = f.bases("CGALayout")
        if any(len(basis) != rank for basis in bases):
            raise f.wrong(f"the bases of CGALayout must have {rank} coordinates")
        return _checked(f, "CGALayout", bases, rank)
    if not (f.has("CTAsPerCGA") or f.has("CTASplitNum") or f.has("CTAOrder")):
        return ()
    per_cga, split = f.integers("CTAsPerCGA"), f.integers("CTASplitNum")
    order = f.integers("CTAOrder", tuple(reversed(range(rank))))
    f.same_rank(CTAsPerCGA=per_cga, CTASplitNum=split, order=order, of_the_layout=(1,) * rank)
    if any(n % s for n, s in zip(per_cga, split, strict=True)):
        raise f.wrong(f"CTASplitNum {list(split)} does not divide CTAsPerCGA {list(per_cga)}")
    names = [f"dim{d}" for d in range(rank)]
    parts = []
    for d in order:
        parts += [identity(split[d], "block", names[d]), zeros(per_cga[d] // split[d], "block", names[d])]
    return reorder_outputs(product(*parts), names).bases("block")


def _checked(f: _Fields, name: str, bases: enc.Bases, rank: int) -> enc.Bases:
    for basis in bases:
        if len(basis) != rank:
            raise f.wrong(f"a basis of {name} has {len(basis)} coordinates, expected {rank}")
        if any(x < 0 for x in basis):
            raise f.wrong(f"a basis of {name} has a negative coordinate: {list(basis)}")
    return bases


def _blocked(f: _Fields) -> enc.Encoding:
    size, threads, warps = (
        f.integers("sizePerThread"),
        f.integers("threadsPerWarp"),
        f.integers("warpsPerCTA"),
    )
    order = f.integers("order")
    rank = f.same_rank(sizePerThread=size, threadsPerWarp=threads, warpsPerCTA=warps, order=order)
    return enc.Blocked(size, threads, warps, order, _cga(f, rank))


def _slice(f: _Fields) -> enc.Encoding:
    dim, parent = f.integer("dim"), f.distributed("parent")
    rank = enc.rank_of(parent)
    if dim < 0 or (rank is not None and dim >= rank):
        raise f.wrong(f"dim = {dim} is not a dimension of a parent of rank {rank}")
    if rank == 1:
        raise f.wrong("the parent has rank 1, so nothing is left of it")
    return enc.Slice(dim, parent)


def _dot_operand(f: _Fields) -> enc.Encoding:
    index, parent, width = f.integer("opIdx"), f.distributed("parent"), f.integer("kWidth", 0)
    if index not in (0, 1):
        raise f.wrong(f"opIdx must be 0 or 1, not {index}")
    if width < 0 or width & (width - 1) or width > 1 << 16:
        raise f.wrong(f"kWidth must be a power of two, not {width}")
    # Triton 2.1 and 2.2 printed isMMAv1Row for Volta, which says nothing about the layouts read here.
    if f.has("isMMAv1Row"):
        f.boolean("isMMAv1Row")
    return enc.DotOperand(index, parent, width)


def _nvidia_mma(f: _Fields) -> enc.Encoding:
    if f.has("version"):
        major, minor = f.integer("version"), 0
    else:
        major, minor = f.integer("versionMajor"), f.integer("versionMinor")
    warps = f.integers("warpsPerCTA")
    rank = f.same_rank(warpsPerCTA=warps)
    shape = f.integers("instrShape", ())
    return enc.NvidiaMma(major, minor, warps, shape, _cga(f, rank))


def _amd_mfma(f: _Fields) -> enc.Encoding:
    if f.has("versionMajor"):
        version = f.integer("versionMajor")
        f.integer("versionMinor", 0)
    else:
        version = f.integer("version", 1)
    warps = f.integers("warpsPerCTA")
    rank = f.same_rank(warpsPerCTA=warps)
    if f.has("nonKDim"):
        side = f.integer("nonKDim")
        shape: tuple[int, ...] = (side, side)
    else:
        shape = f.integers("instrShape")
    if not 2 <= len(shape) <= 3:
        raise f.wrong(f"instrShape must be [M, N] or [M, N, K], not {list(shape)}")
    f.same_rank(instrShape=shape)
    transposed = f.boolean("isTransposed")
    tiles = f.integers("tilesPerWarp", ())
    if tiles:
        f.same_rank(tilesPerWarp=tiles, warpsPerCTA=warps)
    bits = f.integer("elementBitWidth", 32)
    if f.has("elementType"):
        bits = 64 if _shown(f.take("elementType")) == "'f64'" else 32
    return enc.AmdMfma(
        version, warps, shape, transposed, () if all(t == 1 for t in tiles) else tiles, bits, _cga(f, rank)
    )


def _amd_wmma(f: _Fields) -> enc.Encoding:
    version = f.integer("version", 1)
    transposed = f.boolean("isTranspose", False) if f.has("isTranspose") else f.boolean("isTransposed", False)
    if f.has("ctaLayout"):
        register, warp = _wmma_cta_layout(f)
    else:
        warps = f.integers("warpsPerCTA")
        tiles = f.integers("tilesPerWarp", (1,) * len(warps))
        f.same_rank(warpsPerCTA=warps, tilesPerWarp=tiles)
        register, warp = _row_major_bases(tiles, warps)
    shape = f.integers("instrShape", (16, 16, 16))
    if len(shape) != 3:
        raise f.wrong(f"instrShape must be [M, N, K], not {list(shape)}")
    f.same_rank(instrShape=shape)
    known = warp or register
    if not known and f.has("CGALayout"):
        known = f.bases("CGALayout")
        f.left["CGALayout"] = [list(basis) for basis in known]
    rank = len(known[0]) if known else 2
    _checked(f, "ctaLayout", register + warp, rank)
    return enc.AmdWmma(version, transposed, register, warp, shape, _cga(f, rank))


def _wmma_cta_layout(f: _Fields) -> tuple[enc.Bases, enc.Bases]:
    tree = f.take("ctaLayout")
    if not isinstance(tree, dict):
        raise f.wrong(f"expected {{register = […], warp = […]}} for 'ctaLayout', found {_shown(tree)}")
    inner = _Fields(Attribute("amd_wmma's ctaLayout", "", tree))
    register, warp = inner.bases("register", ()), inner.bases("warp", ())
    inner.done()
    return register, warp


def _row_major_bases(tiles: Sequence[int], warps: Sequence[int]) -> tuple[enc.Bases, enc.Bases]:
    names = [f"dim{d}" for d in range(len(warps))]
    parts = [identity(tiles[d], "register", names[d]) for d in reversed(range(len(warps)))]
    parts += [identity(warps[d], "warp", names[d]) for d in reversed(range(len(warps)))]
    layout = reorder_outputs(product(*parts), names)
    return layout.bases("register"), layout.bases("warp")


def _linear(f: _Fields) -> enc.Encoding:
    names = ("register", "lane", "warp", "block")
    register, lane, warp, block = (f.bases(name, ()) for name in names)
    everything = register + lane + warp + block
    if not everything:
        raise f.wrong("a linear layout without a basis has no rank")
    rank = len(everything[0])
    for name, bases in zip(names, (register, lane, warp, block), strict=True):
        _checked(f, name, bases, rank)
    return enc.Linear(register, lane, warp, block, rank, f.kind == "generic_linear")


def _swizzled(f: _Fields) -> tuple[int, int, int, tuple[int, ...], enc.Bases]:
    vec, per_phase, max_phase = f.integer("vec"), f.integer("perPhase"), f.integer("maxPhase")
    order = f.integers("order")
    rank = f.same_rank(order=order)
    for name, value in (("vec", vec), ("perPhase", per_phase), ("maxPhase", max_phase)):
        if value < 1 or value & (value - 1):
            raise f.wrong(f"{name} must be a power of two, not {value}")
    return vec, per_phase, max_phase, order, _cga(f, rank)


def _swizzled_shared(f: _Fields) -> enc.Encoding:
    leading = f.boolean("hasLeadingOffset", False)
    return enc.SwizzledShared(*_swizzled(f), has_leading_offset=leading)


def _rotating_shared(f: _Fields) -> enc.Encoding:
    return enc.AmdRotatingShared(*_swizzled(f))


def _nvmma_shared(f: _Fields) -> enc.Encoding:
    width, transposed = f.integer("swizzlingByteWidth"), f.boolean("transposed")
    bits, padded = f.integer("elementBitWidth"), f.boolean("fp4Padded", False)
    if width not in (0, 32, 64, 128):
        raise f.wrong(f"swizzlingByteWidth must be 0, 32, 64 or 128, not {width}")
    if bits not in (4, 8, 16, 32, 64):
        raise f.wrong(f"elementBitWidth must be 4, 8, 16, 32 or 64, not {bits}")
    rank = f.integer("rank", 2)
    if not 1 <= rank <= MAX_RANK:
        raise f.wrong(f"rank must be from 1 to {MAX_RANK}, not {rank}")
    for name in ("CTAsPerCGA", "CGALayout"):
        given = f.left.get(name)
        if isinstance(given, list) and given:
            rank = len(given[0]) if isinstance(given[0], list) else len(given)
    return enc.NvmmaShared(width, transposed, bits, padded, _cga(f, rank), rank)


def _padded_shared(f: _Fields) -> enc.Encoding:
    pairs = f.parts.pop(0) if f.parts else None
    if not isinstance(pairs, list) or not pairs or not all(isinstance(p, Pair) for p in pairs):
        raise f.wrong("expected a list of interval:+padding pairs first, such as [512:+16]")
    intervals = tuple((p.first, p.second) for p in pairs if isinstance(p, Pair))
    for interval, padding in intervals:
        if interval < 1 or interval & (interval - 1) or padding < 1:
            raise f.wrong(f"{interval}:+{padding} must be a power of two and a positive padding")
    if f.has("offset"):
        offset, block = f.bases("offset"), f.bases("block", ())
        if not offset:
            raise f.wrong("'offset' has no bases, so the rank is not known")
        _checked(f, "offset", offset + block, len(offset[0]))
        return enc.PaddedShared(intervals, offset=offset, block=block)
    order = f.integers("order")
    if f.has("shape"):
        shape = f.integers("shape")
        f.same_rank(order=order, shape=shape)
        return enc.PaddedShared(intervals, order=order, shape=shape)
    rank = f.same_rank(order=order)
    return enc.PaddedShared(intervals, order=order, block=_cga(f, rank))


def _shared_linear(f: _Fields) -> enc.Encoding:
    offset, block, alignment = f.bases("offset"), f.bases("block", ()), f.integer("alignment", 16)
    if not offset + block:
        raise f.wrong("a linear layout without a basis has no rank")
    rank = len((offset + block)[0])
    _checked(f, "offset", offset, rank)
    _checked(f, "block", block, rank)
    return enc.SharedLinear(offset, block, alignment, rank)


def _partitioned_shared(f: _Fields) -> enc.Encoding:
    parts, groups, dim = f.integer("numPartitions"), f.integer("numGroups"), f.integer("partitionDim")
    inner = f.encoding("partitionLayout")
    if not isinstance(inner, enc.Shared):
        raise f.wrong("'partitionLayout' must be the layout of a buffer in shared memory")
    if parts < 1 or groups < 1 or parts & (parts - 1) or groups & (groups - 1):
        raise f.wrong(f"numPartitions and numGroups must be powers of two, not {parts} and {groups}")
    return enc.PartitionedShared(parts, groups, dim, inner)


def _tensor_memory(f: _Fields) -> enc.Encoding:
    rows, columns = f.integer("blockM"), f.integer("blockN")
    # Until 3.5, unpacked = true stored an element of 16 bits in a column of 32.
    unpacked = f.boolean("unpacked", False)
    stride = f.integer("colStride", 2 if unpacked else 1)
    if f.has("CTASplitM") or f.has("CTASplitN"):
        down, across = f.integer("CTASplitM", 1), f.integer("CTASplitN", 1)
        f.same_rank(CTASplitM=(down,), CTASplitN=(across,))
        parts = (identity(down, "block", "dim0"), identity(across, "block", "dim1"))
        cga: tuple[Basis, ...] = product(*parts).bases("block")
    else:
        cga = _cga(f, 2)
    two = f.boolean("twoCTAs", False)
    padded = f.boolean("fp4Padded", False)
    return enc.TensorMemory(rows, columns, stride, cga, two, padded)


def _tensor_memory_scales(f: _Fields) -> enc.Encoding:
    if f.has("CTASplitM") or f.has("CTASplitN"):
        down, across = f.integer("CTASplitM", 1), f.integer("CTASplitN", 1)
        f.same_rank(CTASplitM=(down,), CTASplitN=(across,))
        parts = (identity(down, "block", "dim0"), identity(across, "block", "dim1"))
        return enc.TensorMemoryScales(product(*parts).bases("block"))
    cga = _cga(f, 2)
    order = f.take("blockRepOrder") if f.has("blockRepOrder") else Word("")
    return enc.TensorMemoryScales(cga, order.text.strip('"') if isinstance(order, Word) else "")


_KINDS: dict[str, Callable[[_Fields], enc.Encoding]] = {
    "blocked": _blocked,
    "slice": _slice,
    "dot_op": _dot_operand,
    "mma": _nvidia_mma,
    "nvidia_mma": _nvidia_mma,
    "mfma": _amd_mfma,
    "amd_mfma": _amd_mfma,
    "amd_wmma": _amd_wmma,
    "linear": _linear,
    "generic_linear": _linear,
    "shared": _swizzled_shared,
    "swizzled_shared": _swizzled_shared,
    "amd_rotating_shared": _rotating_shared,
    "nvmma_shared": _nvmma_shared,
    "padded_shared": _padded_shared,
    "shared_linear": _shared_linear,
    "partitioned_shared": _partitioned_shared,
    "tensor_memory_encoding": _tensor_memory,
    "tensor_memory_scales_encoding": _tensor_memory_scales,
}
