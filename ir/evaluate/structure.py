"""Operators that move elements, and those that make one element of many: views, gathers, reductions, dot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .attributes import integer, integers, number
from .windows import summed_in

Array = npt.NDArray[Any]

Attributes = Mapping[str, str]

_REDUCE: Final[dict[str, Callable[..., Any]]] = {
    "reduce_sum": np.sum, "reduce_mean": np.mean, "reduce_max": np.max, "reduce_min": np.min,
    "reduce_prod": np.prod,
}  # fmt: skip
REDUCTIONS: Final = frozenset(_REDUCE)
VIEWS: Final = frozenset(
    {"multibroadcast", "reshape", "reshape_lazy", "transpose", "slice", "squeeze", "unsqueeze", "step",
     "flatten", "identity"}
)  # fmt: skip


def reduce(name: str, x: Array, attributes: Attributes) -> Array:
    """A reduction that keeps its axes with one element each; half precision is summed in single."""
    axes = tuple(integers(attributes, "axes"))
    wide = x.astype(np.float32) if x.dtype.itemsize < 4 and np.issubdtype(x.dtype, np.floating) else x
    return np.asarray(_REDUCE[name](wide, axis=axes, keepdims=True)).astype(x.dtype)


def softmax(x: Array, attributes: Attributes, *, log: bool = False) -> Array:
    """Softmax along an axis, or its logarithm."""
    axis = integer(attributes, "axis", -1)
    shifted = x.astype(np.float32) - x.max(axis=axis, keepdims=True).astype(np.float32)
    if log:
        return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))).astype(x.dtype)
    powers = np.exp(shifted)
    return np.asarray(powers / powers.sum(axis=axis, keepdims=True)).astype(x.dtype)


def dot(a: Array, b: Array) -> Array:
    """A matrix product of the last two axes, over equal leading ones; sums are as a convolution's."""
    wide = summed_in(a.dtype)
    return np.asarray(np.matmul(a.astype(wide, copy=False), b.astype(wide, copy=False))).astype(a.dtype)


def view(name: str, x: Array, attributes: Attributes) -> Array:
    """Another look at the elements; a NumPy view wherever NumPy can give one."""
    match name:
        case "multibroadcast":
            return np.broadcast_to(x, integers(attributes, "out_lens"))
        case "reshape" | "reshape_lazy":
            return x.reshape(integers(attributes, "dims"))
        case "transpose":
            return x.transpose(integers(attributes, "permutation"))
        case "slice":
            return x[_cut(x, attributes)]
        case "step":
            return x[_stepped(x, attributes)]
        case "squeeze":
            return np.squeeze(x, axis=tuple(integers(attributes, "axes")))
        case "unsqueeze":
            return np.expand_dims(x, axis=tuple(integers(attributes, "axes")))
        case "flatten":
            axis = integer(attributes, "axis", 1)
            return x.reshape(int(np.prod(x.shape[:axis])), -1)
    return x


def _cut(x: Array, attributes: Attributes) -> tuple[slice, ...]:
    cut = [slice(None)] * x.ndim
    axes, starts, ends = (integers(attributes, key) for key in ("axes", "starts", "ends"))
    for axis, start, end in zip(axes, starts, ends, strict=True):
        cut[axis] = slice(start, end)
    return tuple(cut)


def _stepped(x: Array, attributes: Attributes) -> tuple[slice, ...]:
    cut = [slice(None)] * x.ndim
    for axis, by in zip(integers(attributes, "axes"), integers(attributes, "steps"), strict=True):
        cut[axis] = slice(None, None, by)
    return tuple(cut)


def gather(x: Array, indices: Array, attributes: Attributes) -> Array:
    """Slices of an axis by index; negative ones count from the end."""
    axis = integer(attributes, "axis")
    return np.take(x, np.where(indices < 0, indices + x.shape[axis], indices), axis=axis)


def pad(x: Array, attributes: Attributes) -> Array:
    """A border around all axes, of one value, or repeated or mirrored from inside."""
    pads = integers(attributes, "pads")
    widths = list(zip(pads[: x.ndim], pads[x.ndim :], strict=True))
    mode = attributes.get("mode", "constant")
    if mode == "constant":
        return np.pad(x, widths, constant_values=number(attributes, "value", 0.0))
    return np.pad(x, widths, mode="reflect" if mode == "reflect" else "wrap" if mode == "wrap" else "edge")


def argument(x: Array, attributes: Attributes, *, largest: bool) -> Array:
    """Where along an axis the largest or smallest element is, keeping the axis; the first of equal ones."""
    axis = integer(attributes, "axis")
    last = integer(attributes, "select_last_index")
    turned = np.flip(x, axis) if last else x
    found = (np.argmax if largest else np.argmin)(turned, axis=axis)
    found = x.shape[axis] - 1 - found if last else found
    return np.expand_dims(np.asarray(found, dtype=np.int64), axis)


def prefix_sum(x: Array, attributes: Attributes) -> Array:
    """Sums along an axis up to each place: with or without the place itself, from the front or the end."""
    axis = integer(attributes, "axis")
    turned = np.flip(x, axis) if integer(attributes, "reverse") else x
    total = np.cumsum(turned, axis=axis, dtype=x.dtype)
    total = total - turned if integer(attributes, "exclusive") else total
    return np.asarray(np.flip(total, axis) if integer(attributes, "reverse") else total)


def resize(x: Array, lens: tuple[int, ...]) -> Array:
    """Nearest neighbour, each element as often as the axis grew (whole factors)."""
    for axis, target in enumerate(lens):
        if target != x.shape[axis]:
            x = np.repeat(x, target // x.shape[axis], axis=axis)
    return x
