"""Operators that look at a window around each place: convolution, pooling, local response normalisation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .attributes import integer, integers, number

Array = npt.NDArray[Any]


def window_lens(
    lens: Sequence[int], kernel: Sequence[int], attributes: Mapping[str, str], *, ceil: bool = False
) -> list[int]:
    """The spatial extent of what a window operator makes from `lens` (spatial axes only)."""
    rank = len(lens)
    padding, stride, dilation = _places(attributes, rank)
    found = []
    for axis in range(rank):
        span = lens[axis] + padding[axis] + padding[axis + rank] - (dilation[axis] * (kernel[axis] - 1) + 1)
        count = -(-span // stride[axis]) + 1 if ceil else span // stride[axis] + 1
        # A window that begins in the padding behind the end is left out.
        if ceil and (count - 1) * stride[axis] >= lens[axis] + padding[axis]:
            count -= 1
        found.append(count)
    return found


def _places(attributes: Mapping[str, str], rank: int) -> tuple[list[int], list[int], list[int]]:
    padding = integers(attributes, "padding", [0] * rank)
    if len(padding) == rank:
        padding = padding * 2
    stride = integers(attributes, "stride", [1] * rank)
    dilation = integers(attributes, "dilation", integers(attributes, "dilations", [1] * rank))
    return padding, stride, dilation


def _windows(
    x: Array, kernel: Sequence[int], out: Sequence[int], attributes: Mapping[str, str], fill: float
) -> Array:
    """A view of the padded input: batch, channel, an axis for each spatial one, then axes in the window."""
    rank = len(kernel)
    padding, stride, dilation = _places(attributes, rank)
    widths = [(0, 0), (0, 0)]
    for axis in range(rank):
        reach = (out[axis] - 1) * stride[axis] + dilation[axis] * (kernel[axis] - 1) + 1
        behind = max(padding[axis + rank], reach - x.shape[axis + 2] - padding[axis])
        widths.append((padding[axis], behind))
    padded = np.pad(x, widths, constant_values=fill) if any(w != (0, 0) for w in widths) else x
    steps = padded.strides
    return np.lib.stride_tricks.as_strided(
        padded,
        (*padded.shape[:2], *out, *kernel),
        (
            *steps[:2],
            *(steps[a + 2] * stride[a] for a in range(rank)),
            *(steps[a + 2] * dilation[a] for a in range(rank)),
        ),
        writeable=False,
    )


def convolution(x: Array, weight: Array, attributes: Mapping[str, str]) -> Array:
    """A convolution of any number of spatial axes, in groups.

    Sums are in double precision (of half precision in single), so that equal filters give equal results
    wherever their rows stand in a matrix.
    """
    kernel, groups = weight.shape[2:], integer(attributes, "group", 1)
    out = window_lens(x.shape[2:], kernel, attributes)
    rank, features = len(kernel), weight.shape[0]
    wide = summed_in(x.dtype)
    filters = weight.reshape(groups, features // groups, -1).astype(wide)
    # channel, places…, window… → group, channel of it, window…, places…
    order = (0, *range(1 + rank, 1 + 2 * rank), *range(1, 1 + rank))
    result = np.empty((x.shape[0], features, *out), dtype=x.dtype)
    for image in range(x.shape[0]):  # one at a time: the windows laid out take many times the input
        view = _windows(x[image : image + 1], kernel, out, attributes, 0.0)[0]
        columns = view.transpose(order).reshape(groups, filters.shape[2], -1)
        result[image] = (filters @ columns.astype(wide, copy=False)).reshape(features, *out)
    return result


def summed_in(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type that products of elements are summed in."""
    if not np.issubdtype(dtype, np.floating) and dtype.name != "bfloat16":
        return dtype
    return np.dtype(np.float32 if dtype.itemsize < 4 else np.float64)


def pooling(x: Array, attributes: Mapping[str, str]) -> Array:
    """Maximum, average or Lp pooling."""
    mode = attributes.get("mode", "max")
    kernel = integers(attributes, "lengths")
    rank = len(kernel)
    out = window_lens(x.shape[2:], kernel, attributes, ceil=bool(integer(attributes, "ceil_mode")))
    axes = tuple(range(2 + rank, 2 + 2 * rank))
    if mode == "max":
        low = -np.inf if np.issubdtype(x.dtype, np.floating) else np.iinfo(x.dtype).min
        return np.asarray(_windows(x, kernel, out, attributes, low).max(axis=axes))
    if mode == "lpnorm":
        order = integer(attributes, "lp_order", 2)
        view = _windows(np.abs(x) ** order, kernel, out, attributes, 0.0)
        return np.asarray(view.sum(axis=axes) ** (1.0 / order))
    total = _windows(x.astype(np.float32), kernel, out, attributes, 0.0).sum(axis=axes)
    if integer(attributes, "count_include_pad"):
        inside = _inside_padding(x, kernel, out, attributes)
    else:
        ones = np.ones((1, 1, *x.shape[2:]), dtype=np.float32)
        inside = _windows(ones, kernel, out, attributes, 0.0).sum(axis=axes)
    return np.asarray(total / inside).astype(x.dtype)


def _inside_padding(x: Array, kernel: list[int], out: list[int], attributes: Mapping[str, str]) -> Array:
    """How many places of each window lie in the input or its padding, not behind that."""
    rank = len(kernel)
    padding, stride, dilation = _places(attributes, rank)
    widths = [(0, 0), (0, 0), *((padding[a], padding[a + rank]) for a in range(rank))]
    ones = np.pad(np.ones((1, 1, *x.shape[2:]), dtype=np.float32), widths, constant_values=1.0)
    bare = {
        "stride": "{" + ",".join(map(str, stride)) + "}",
        "dilation": "{" + ",".join(map(str, dilation)) + "}",
    }
    return np.asarray(_windows(ones, kernel, out, bare, 0.0).sum(axis=tuple(range(2 + rank, 2 + 2 * rank))))


def lrn(x: Array, attributes: Mapping[str, str]) -> Array:
    """Local response normalisation over channels."""
    size = integer(attributes, "size", 1)
    alpha, beta = number(attributes, "alpha", 1e-4), number(attributes, "beta", 0.75)
    bias = number(attributes, "bias", 1.0)
    squares = x.astype(np.float32) ** 2
    total = np.zeros_like(squares)
    channels = x.shape[1]
    for channel in range(channels):
        low, high = max(0, channel - (size - 1) // 2), min(channels, channel + size // 2 + 1)
        total[:, channel] = squares[:, low:high].sum(axis=1)
    return np.asarray(x / (bias + alpha / size * total) ** beta).astype(x.dtype)
