"""Writes encodings and linear layouts as attributes, in the spelling of a chosen release of Triton."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal

from . import encodings as enc
from .linear import LinearLayout, dim_names, with_inputs

Era = Literal["2.1", "3.0", "3.3", "3.6"]
"""The first release that spells so: 2.1 always prints CTA fields, 3.0 renames `mma`, 3.3 renames the dialect
and splits `shared`, 3.6 prints `CGALayout` and three-dimensional instruction shapes."""

ERAS: tuple[Era, ...] = ("2.1", "3.0", "3.3", "3.6")


def to_text(encoding: enc.Encoding, era: Era = "3.6") -> str:
    """The encoding's text.

    Raises:
        ValueError: that release had no such layout.
    """
    if isinstance(encoding, enc.TensorMemory | enc.TensorMemoryScales):
        return _tensor_memory(encoding, era)
    prefix = "#ttg" if era >= "3.3" else "#triton_gpu"
    kind, body = _body(encoding, era)
    return f"{prefix}.{kind}<{body}>"


def linear_text(layout: LinearLayout) -> str:
    """A layout as `#ttg.linear<…>` (or `generic_linear`, if it mixes bits) or `#ttg.shared_linear<…>`.

    Raises:
        ValueError: the layout has inputs that neither attribute can hold.
    """
    if "offset" in layout.input_names:
        shared = with_inputs(layout, ("offset", "block"))
        return to_text(
            enc.SharedLinear(shared.bases("offset"), shared.bases("block"), 16, len(layout.outputs))
        )
    if layout.output_names != dim_names(len(layout.outputs)):
        raise ValueError(f"a linear attribute has outputs dim0, dim1 and so on, not {layout.output_names}")
    plain = with_inputs(layout, ("register", "lane", "warp", "block"))
    register, lane, warp, block = (bases for _, bases in plain.inputs)
    moving = [basis for bases in (register, lane, warp, block) for basis in bases if any(basis)]
    mixed = any(sum(x.bit_count() for x in basis) > 1 for basis in moving) or len(set(moving)) < len(moving)
    return to_text(enc.Linear(register, lane, warp, block, len(layout.outputs), mixed))


def _body(encoding: enc.Encoding, era: Era) -> tuple[str, str]:
    if isinstance(encoding, enc.Slice):
        return _nested(encoding, era)
    if isinstance(encoding, enc.DotOperand):
        return _nested(encoding, era)
    if isinstance(encoding, enc.Blocked | enc.NvidiaMma | enc.AmdMfma | enc.AmdWmma):
        return _tile(encoding, era)
    if isinstance(encoding, enc.SwizzledShared | enc.AmdRotatingShared | enc.NvmmaShared):
        return _swizzle(encoding, era)
    if era < "3.3":
        raise ValueError(f"Triton {era} had no such layout as {type(encoding).__name__}")
    if isinstance(encoding, enc.Linear):
        names = ("register", "lane", "warp", "block")
        bases = (encoding.register, encoding.lane, encoding.warp, encoding.block)
        text = ", ".join(f"{n} = {_bases(b)}" for n, b in zip(names, bases, strict=True))
        return ("generic_linear" if encoding.generic else "linear"), f"{{{text}}}"
    if isinstance(encoding, enc.PaddedShared):
        return "padded_shared", _padded(encoding)
    if isinstance(encoding, enc.SharedLinear):
        block = f", block = {_bases(encoding.block)}" if encoding.block else ""
        text = f"{{offset = {_bases(encoding.offset)}{block}}}, alignment = {encoding.alignment}"
        return "shared_linear", text
    if isinstance(encoding, enc.PartitionedShared):
        inner = to_text(encoding.partition_layout, era)
        return "partitioned_shared", (
            f"{{numPartitions = {encoding.num_partitions}, numGroups = {encoding.num_groups}, "
            f"partitionDim = {encoding.partition_dim}, partitionLayout = {inner}}}"
        )
    raise ValueError(f"no text for {type(encoding).__name__}")


def _nested(encoding: enc.Slice | enc.DotOperand, era: Era) -> tuple[str, str]:
    parent = to_text(encoding.parent, era)
    if isinstance(encoding, enc.Slice):
        return "slice", f"{{dim = {encoding.dim}, parent = {parent}}}"
    width = f", kWidth = {encoding.k_width}" if encoding.k_width else ""
    return "dot_op", f"{{opIdx = {encoding.op_idx}, parent = {parent}{width}}}"


def _tile(encoding: enc.Blocked | enc.NvidiaMma | enc.AmdMfma | enc.AmdWmma, era: Era) -> tuple[str, str]:
    if isinstance(encoding, enc.Blocked):
        cga = _cga(encoding.cga, len(encoding.order), era)
        return "blocked", (
            f"{{sizePerThread = {_list(encoding.size_per_thread)}, "
            f"threadsPerWarp = {_list(encoding.threads_per_warp)}, "
            f"warpsPerCTA = {_list(encoding.warps_per_cta)}, order = {_list(encoding.order)}{cga}}}"
        )
    if isinstance(encoding, enc.NvidiaMma):
        cga = _cga(encoding.cga, len(encoding.warps_per_cta), era)
        shape = f", instrShape = {_list(encoding.instr_shape)}" if encoding.instr_shape else ""
        return ("nvidia_mma" if era >= "3.0" else "mma"), (
            f"{{versionMajor = {encoding.version_major}, versionMinor = {encoding.version_minor}, "
            f"warpsPerCTA = {_list(encoding.warps_per_cta)}{cga}{shape}}}"
        )
    if isinstance(encoding, enc.AmdMfma):
        return "amd_mfma", _mfma(encoding, era)
    return "amd_wmma", _wmma(encoding, era)


def _mfma(encoding: enc.AmdMfma, era: Era) -> str:
    shape = list(encoding.instr_shape)
    if era >= "3.6" and len(shape) == 2:
        # Before 3.6 K was not printed; it does not change where a result lies. These are the 16-bit shapes.
        shape.append({32: 8, 16: 16}.get(shape[0], 4))
    if era < "3.6":
        shape = shape[:2]
    version = f"version = {encoding.version}"
    if era < "3.6":
        version = f"versionMajor = {encoding.version}, versionMinor = 0"
    tiles = f", tilesPerWarp = {_list(encoding.tiles_per_warp)}" if encoding.tiles_per_warp else ""
    bits = encoding.element_bit_width
    wide = f", elementBitWidth = {bits}" if bits != 32 else ""
    if era < "3.6" and (tiles or wide):
        raise ValueError(f"Triton {era} had no tilesPerWarp or elementBitWidth in amd_mfma")
    return (
        f"{{{version}, warpsPerCTA = {_list(encoding.warps_per_cta)}"
        f"{_cga(encoding.cga, len(encoding.warps_per_cta), era)}, instrShape = {_list(shape)}, "
        f"isTransposed = {_word(encoding.is_transposed)}{tiles}{wide}}}"
    )


def _wmma(encoding: enc.AmdWmma, era: Era) -> str:
    rank = enc.rank_of(encoding) or 2
    cga = _cga(encoding.cga, rank, era)
    if era >= "3.6":
        register = f"register = {_bases(encoding.register_bases)}, " if encoding.register_bases else ""
        shape = encoding.instr_shape
        instr = "" if shape == (16, 16, 16) else f", instrShape = {_list(shape)}"
        return (
            f"{{version = {encoding.version}, isTranspose = {_word(encoding.is_transposed)}{cga}, "
            f"ctaLayout = {{{register}warp = {_bases(encoding.warp_bases)}}}{instr}}}"
        )
    if encoding.instr_shape != (16, 16, 16):
        raise ValueError(f"Triton {era} could not say the shape of an amd_wmma's instruction")
    warps = _row_major_warps(encoding, rank)
    if era < "3.3":
        if encoding.version != 1 or encoding.is_transposed:
            raise ValueError(f"Triton {era} had only the first, untransposed form of amd_wmma")
        return f"{{warpsPerCTA = {_list(warps)}{cga}}}"
    return (
        f"{{version = {encoding.version}, isTranspose = {_word(encoding.is_transposed)}, "
        f"warpsPerCTA = {_list(warps)}{cga}}}"
    )


def _row_major_warps(encoding: enc.AmdWmma, rank: int) -> list[int]:
    sizes = [1] * rank
    expected = []
    for basis in encoding.warp_bases:
        d = next((i for i, x in enumerate(basis) if x), rank - 1)
        expected.append((d, sizes[d]))
        sizes[d] *= 2
    own = [(d, basis[d]) for (d, _), basis in zip(expected, encoding.warp_bases, strict=True)]
    row_major = all(a[0] >= b[0] for a, b in pairwise(own))
    if encoding.register_bases or own != expected or not row_major:
        raise ValueError("before 3.6 amd_wmma could not say where its warps are, only how many in a row")
    return sizes


def _swizzle(
    encoding: enc.SwizzledShared | enc.AmdRotatingShared | enc.NvmmaShared, era: Era
) -> tuple[str, str]:
    if isinstance(encoding, enc.NvmmaShared):
        return _nvmma(encoding, era)
    cga = _cga(encoding.cga, len(encoding.order), era)
    numbers = (
        f"vec = {encoding.vec}, perPhase = {encoding.per_phase}, maxPhase = {encoding.max_phase}, "
        f"order = {_list(encoding.order)}{cga}"
    )
    if isinstance(encoding, enc.AmdRotatingShared):
        if era < "3.3":
            raise ValueError(f"Triton {era} had no amd_rotating_shared")
        return "amd_rotating_shared", f"{{{numbers}}}"
    if era < "3.3":
        return "shared", f"{{{numbers}, hasLeadingOffset = {_word(encoding.has_leading_offset)}}}"
    if encoding.has_leading_offset:
        # vec is 16 bytes of elements in the old form, so it says how wide they are.
        rank = len(encoding.order)
        width = 16 * encoding.max_phase
        transposed = rank > 1 and encoding.order[0] == 0
        return _nvmma(enc.NvmmaShared(width, transposed, 128 // encoding.vec, False, encoding.cga, rank), era)
    return "swizzled_shared", f"{{{numbers}}}"


def _nvmma(encoding: enc.NvmmaShared, era: Era) -> tuple[str, str]:
    if era < "3.3":
        if encoding.fp4_padded or not encoding.swizzling_byte_width:
            raise ValueError(f"Triton {era} could not say fp4Padded or an unswizzled nvmma_shared")
        order = tuple(range(encoding.rank)) if encoding.transposed else tuple(reversed(range(encoding.rank)))
        width = encoding.swizzling_byte_width
        old = enc.SwizzledShared(
            128 // encoding.element_bit_width, 128 // width, width // 16, order, encoding.cga, True
        )
        return _swizzle(old, era)
    padded = ", fp4Padded = true" if encoding.fp4_padded else ""
    cga = _cga(encoding.cga, encoding.rank, era)
    rank = "" if encoding.rank == 2 or cga else f", rank = {encoding.rank}"
    return "nvmma_shared", (
        f"{{swizzlingByteWidth = {encoding.swizzling_byte_width}, transposed = {_word(encoding.transposed)}, "
        f"elementBitWidth = {encoding.element_bit_width}{padded}{cga}{rank}}}"
    )


def _padded(encoding: enc.PaddedShared) -> str:
    pairs = ", ".join(f"{interval}:+{padding}" for interval, padding in encoding.intervals)
    if encoding.offset:
        return f"[{pairs}] {{offset = {_bases(encoding.offset)}, block = {_bases(encoding.block)}}}"
    shape = f", shape = {_list(encoding.shape)}" if encoding.shape else ""
    return f"[{pairs}] {{order = {_list(encoding.order)}{shape}}}"


def _tensor_memory(encoding: enc.TensorMemory | enc.TensorMemoryScales, era: Era) -> str:
    if era < "3.6":
        raise ValueError(f"the tensor memory of Triton {era} is not written here; use 3.6")
    cga = f"CGALayout = {_bases(encoding.cga)}" if encoding.cga else ""
    if isinstance(encoding, enc.TensorMemoryScales):
        order = f'blockRepOrder = "{encoding.block_rep_order}"' if encoding.block_rep_order else ""
        return f"#ttng.tensor_memory_scales_encoding<{', '.join(x for x in (cga, order) if x)}>"
    parts = [
        f"blockM = {encoding.block_m}",
        f"blockN = {encoding.block_n}",
        f"colStride = {encoding.col_stride}",
        cga,
        "twoCTAs = true" if encoding.two_ctas else "",
        "fp4Padded = true" if encoding.fp4_padded else "",
    ]
    return f"#ttng.tensor_memory_encoding<{', '.join(part for part in parts if part)}>"


def _cga(cga: enc.Bases, rank: int, era: Era) -> str:
    """The fields that say how blocks share the tensor, with the comma in front; '' where none is printed."""
    if era >= "3.6":
        return f", CGALayout = {_bases(cga)}" if cga else ""
    if not cga and era >= "3.0":
        return ""
    per_cga, split, order = _old_cga(cga, rank)
    return f", CTAsPerCGA = {_list(per_cga)}, CTASplitNum = {_list(split)}, CTAOrder = {_list(order)}"


def _old_cga(cga: enc.Bases, rank: int) -> tuple[list[int], list[int], list[int]]:
    split, per_cga = [1] * rank, [1] * rank
    order: list[int] = []
    for basis in cga:
        d = next((i for i, x in enumerate(basis) if x), None)
        if d is None:
            # A replicating bit belongs to the dimension before it, or to the one that will come first.
            at = order[-1] if order else rank - 1
            if not order:
                order.append(at)
            per_cga[at] *= 2
            continue
        if basis != tuple(split[d] if i == d else 0 for i in range(rank)) or (d in order and d != order[-1]):
            raise ValueError("CTAsPerCGA and its kin cannot say a CGALayout whose dimensions are interleaved")
        if split[d] != per_cga[d]:
            raise ValueError("CTAsPerCGA and its kin cannot say a CGALayout that replicates in between")
        if d not in order:
            order.append(d)
        split[d] *= 2
        per_cga[d] *= 2
    order += [d for d in reversed(range(rank)) if d not in order]
    return per_cga, split, order


def _list(values: Iterable[int]) -> str:
    return f"[{', '.join(str(v) for v in values)}]"


def _bases(bases: Iterable[Sequence[int]]) -> str:
    return f"[{', '.join(_list(basis) for basis in bases)}]"


def _word(value: bool) -> str:
    return "true" if value else "false"
