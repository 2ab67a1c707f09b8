"""What an encoding means for a tensor of a given shape: its linear layout.

Inputs are `register`, `lane`, `warp`, `block` for tensors in registers, `offset`, `block` for shared memory
(and `partition` for the partitioned kind), `row`, `col` for tensor memory; outputs are `dim0`, `dim1`, ….
The bases and their order are those of Triton 3.9, which the golden files hold.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import InputError
from . import encodings as enc
from .linear import LinearLayout, dim_names, identity_nd, log2_exact, make, product, without_zero_bases
from .mma import dot_operand_of_mma, mfma, nvidia_mma, wmma
from .shared import shared_to_linear
from .tensor_memory import tensor_memory, tensor_memory_scales
from .tile import broadcast_along, cover, in_order, k_dimension

MAX_BITS = 62
"""More elements than 2^62 are no tensor; the arithmetic here would still hold, its users' would not."""


def to_linear(encoding: enc.Encoding, shape: Sequence[int], element_bits: int | None = None) -> LinearLayout:
    """The linear layout of an encoding for a tensor (or buffer) of this shape.

    `element_bits` is asked for only by the shared memory form of Triton 3.2 and before with
    `hasLeadingOffset`.

    Raises:
        InputError: the shape is not made of powers of two, has another rank than the encoding, is too small
            for it, or Triton has no such layout.
    """
    sizes = tuple(shape)
    _check_shape(encoding, sizes)
    try:
        if isinstance(encoding, enc.Shared):
            return shared_to_linear(encoding, sizes, element_bits)
        if isinstance(encoding, enc.TensorMemory):
            return tensor_memory(encoding, sizes)
        if isinstance(encoding, enc.TensorMemoryScales):
            return tensor_memory_scales(encoding, sizes)
        return distributed(encoding, sizes)
    except ValueError as error:
        raise InputError(f"the layout does not fit the shape {_times(sizes)}: {error}") from error


def _check_shape(encoding: enc.Encoding, shape: tuple[int, ...]) -> None:
    rank = enc.rank_of(encoding)
    if not shape:
        raise InputError("a layout needs a shape of at least one dimension")
    if rank is not None and rank != len(shape):
        raise InputError(f"the layout is for tensors of rank {rank}, but the shape {_times(shape)} is not")
    for size in shape:
        if size < 1 or size & (size - 1):
            raise InputError(
                f"every dimension must be a power of two, as Triton asks; {_times(shape)} is not"
            )
    if sum(log2_exact(size) for size in shape) > MAX_BITS:
        raise InputError(f"the shape {_times(shape)} holds more than 2^{MAX_BITS} elements")


def _times(shape: Sequence[int]) -> str:
    return "x".join(str(size) for size in shape)


def distributed(encoding: enc.Distributed, shape: tuple[int, ...]) -> LinearLayout:
    """The layout of a tensor in registers; `ValueError` where it does not fit the shape."""
    slices: list[enc.Slice] = []
    while isinstance(encoding, enc.Slice):
        slices.append(encoding)
        shape = (*shape[: encoding.dim], 1, *shape[encoding.dim :])
        encoding = encoding.parent
    layout = _unsliced(encoding, shape)
    for each in reversed(slices):
        layout = _without_dimension(layout, each.dim)
    return layout


def _unsliced(encoding: enc.Distributed, shape: tuple[int, ...]) -> LinearLayout:
    if isinstance(encoding, enc.Blocked):
        return blocked(encoding, shape)
    if isinstance(encoding, enc.NvidiaMma):
        return nvidia_mma(encoding, shape)
    if isinstance(encoding, enc.AmdMfma):
        return mfma(encoding, shape)
    if isinstance(encoding, enc.AmdWmma):
        return wmma(encoding, shape)
    if isinstance(encoding, enc.DotOperand):
        if isinstance(encoding.parent, enc.Blocked):
            return dot_operand_of_blocked(encoding.op_idx, encoding.parent, shape)
        return dot_operand_of_mma(encoding, shape)
    if isinstance(encoding, enc.Linear):
        return linear(encoding, shape)
    raise ValueError("a slice cannot be the parent here")


def blocked(encoding: enc.Blocked, shape: tuple[int, ...]) -> LinearLayout:
    """Elements of a thread, then lanes, then warps, each filling the dimensions in `order`.

    Elements of a thread that lie beyond the shape disappear (in all other kinds they repeat others).
    """
    tile = product(
        identity_nd("register", encoding.size_per_thread, encoding.order),
        identity_nd("lane", encoding.threads_per_warp, encoding.order),
        identity_nd("warp", encoding.warps_per_cta, encoding.order),
    )
    return cover(tile, encoding.cga, shape, dropped="register")


def dot_operand_of_blocked(op_idx: int, parent: enc.Blocked, shape: tuple[int, ...]) -> LinearLayout:
    """All of K in every thread; the lanes and warps that the parent has along K hold the same elements."""
    k = k_dimension(op_idx, len(shape))
    elements = list(parent.size_per_thread)
    elements[k] = shape[k]
    order = parent.order
    tile = product(
        identity_nd("register", elements, order),
        broadcast_along(k, parent.threads_per_warp, order, "lane"),
        broadcast_along(k, parent.warps_per_cta, order, "warp"),
    )
    return cover(in_order(tile, order), _without_k(parent.cga, k), shape)


def _without_k(cga: enc.Bases, k: int) -> enc.Bases:
    return tuple(tuple(0 if d == k else x for d, x in enumerate(basis)) for basis in cga)


def linear(encoding: enc.Linear, shape: tuple[int, ...]) -> LinearLayout:
    """The bases as given, grown or cut to the shape; registers beyond it disappear."""
    bases = {
        "register": encoding.register,
        "lane": encoding.lane,
        "warp": encoding.warp,
        "block": encoding.block,
    }
    names = dim_names(encoding.rank)
    reach = [max((b[d] for rows in bases.values() for b in rows), default=0) for d in range(encoding.rank)]
    own = {n: 1 << r.bit_length() for n, r in zip(names, reach, strict=True)}
    for d, (name, size) in enumerate(own.items()):
        mixed = any(b[d].bit_count() > 1 for rows in bases.values() for b in rows)
        if mixed and shape[d] not in (1, size):
            raise ValueError(f"its bases mix the bits of {name}, so that can have {size} elements only")
    return cover(make(bases, own), None, shape, dropped="register")


def _without_dimension(layout: LinearLayout, dim: int) -> LinearLayout:
    """A slice: one coordinate goes; registers that no longer move go with it, lanes and warps stay."""
    inputs = tuple(
        (name, tuple(basis[:dim] + basis[dim + 1 :] for basis in bases)) for name, bases in layout.inputs
    )
    kept = layout.outputs[:dim] + layout.outputs[dim + 1 :]
    outputs = tuple((f"dim{i}", size) for i, (_, size) in enumerate(kept))
    return without_zero_bases(LinearLayout(inputs, outputs), "register")
