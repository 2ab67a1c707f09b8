"""Inference of encodings through trans, reshape, join and split by linear layouts (Triton 3.3 and later)."""

from __future__ import annotations

from functools import lru_cache

from ...errors import InputError
from ...layouts import encodings as enc
from ...layouts.inverse import flat_bases
from ...layouts.linear import LinearLayout, dim_names, same, with_inputs
from ...layouts.to_linear import to_linear
from .tensors import Layout

_INPUTS = ("register", "lane", "warp", "block")


@lru_cache(maxsize=4096)
def linear_of(lens: tuple[int, ...], layout: Layout) -> LinearLayout | None:
    """The linear layout of a tensor's encoding; None where there is none, or the shape does not fit."""
    if not isinstance(layout, enc.Distributed):
        return None
    try:
        return to_linear(layout, lens)
    except InputError:
        return None


def _attribute(layout: LinearLayout) -> enc.Linear:
    full = with_inputs(layout, _INPUTS)
    register, lane, warp, block = (full.bases(name) for name in _INPUTS)
    rows = [basis for bases in (register, lane, warp, block) for basis in bases if any(basis)]
    mixed = any(sum(x.bit_count() for x in basis) > 1 for basis in rows) or len(set(rows)) < len(rows)
    return enc.Linear(register, lane, warp, block, len(layout.outputs), mixed)


def equal_by_meaning(lens: tuple[int, ...], a: Layout, b: Layout) -> bool:
    """Whether two encodings put the elements of a tensor of this shape in the same places."""
    if a == b:
        return True
    left, right = linear_of(lens, a), linear_of(lens, b)
    return left is not None and right is not None and same(left, right)


def transposed_linear(lens: tuple[int, ...], layout: Layout, order: tuple[int, ...]) -> Layout | None:
    """The linear encoding of a transposed tensor."""
    source = linear_of(lens, layout)
    if source is None or sorted(order) != list(range(len(lens))):
        return None
    inputs = tuple(
        (name, tuple(tuple(basis[d] for d in order) for basis in bases)) for name, bases in source.inputs
    )
    names = dim_names(len(order))
    outputs = tuple((names[i], source.outputs[d][1]) for i, d in enumerate(order))
    return _attribute(LinearLayout(inputs, outputs))


def reshaped_linear(source: tuple[int, ...], layout: Layout, target: tuple[int, ...]) -> Layout | None:
    """The linear encoding of a reshaped tensor, elements staying in row-major order."""
    held = linear_of(source, layout)
    if held is None:
        return None
    if source == target:
        return layout
    return _attribute(_row_major_reshape(held, target))


def keeps_elements(source: tuple[int, ...], layout: Layout, target: tuple[int, ...], result: Layout) -> bool:
    """Whether every thread holds the same elements in the same registers before and after a reshape."""
    held, wanted = linear_of(source, layout), linear_of(target, result)
    return held is not None and wanted is not None and same(wanted, _row_major_reshape(held, target))


def _row_major_reshape(layout: LinearLayout, target: tuple[int, ...]) -> LinearLayout:
    """The same map with its outputs flattened, the last dimension fastest, and cut up again."""
    flipped = LinearLayout(
        tuple((name, tuple(basis[::-1] for basis in bases)) for name, bases in layout.inputs),
        layout.outputs[::-1],
    )
    widths = [size.bit_length() - 1 for size in reversed(target)]
    inputs = []
    for name in flipped.input_names:
        rows = []
        for flat in flat_bases(flipped, name):
            parts, rest = [], flat
            for width in widths:
                parts.append(rest & ((1 << width) - 1))
                rest >>= width
            rows.append(tuple(reversed(parts)))
        inputs.append((name, tuple(rows)))
    return LinearLayout(tuple(inputs), tuple(zip(dim_names(len(target)), target, strict=True)))


def joined_linear(lens: tuple[int, ...], layout: Layout) -> Layout | None:
    """The encoding of two tensors joined along a new last dimension, the pair in the lowest register bit."""
    source = linear_of(lens, layout)
    if source is None:
        return None
    rank = len(lens)
    pair = (*(0 for _ in range(rank)), 1)
    inputs = []
    for name, bases in source.inputs:
        rows = tuple((*basis, 0) for basis in bases)
        inputs.append((name, (pair, *rows) if name == "register" else rows))
    return _attribute(LinearLayout(tuple(inputs), (*source.outputs, (f"dim{rank}", 2))))


def split_linear(lens: tuple[int, ...], layout: Layout) -> Layout | None:
    """The encoding of the halves of a tensor split along its last dimension, if one thread has both."""
    source = linear_of(lens, layout)
    if source is None or not lens or lens[-1] != 2:
        return None
    pair = (*(0 for _ in lens[:-1]), 1)
    register = source.bases("register")
    if pair not in register:
        return None
    inputs = []
    for name, bases in source.inputs:
        kept = list(bases)
        if name == "register":
            kept.remove(pair)
        if any(basis[-1] for basis in kept):
            return None
        inputs.append((name, tuple(basis[:-1] for basis in kept)))
    return _attribute(LinearLayout(tuple(inputs), source.outputs[:-1]))
