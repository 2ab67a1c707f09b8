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
    """A convolution of any number of spatial axes, in groups; sums in single precision at least."""
    short = x.dtype if x.dtype.itemsize < 4 else None
    if short is not None:
        x, weight = x.astype(np.float32), weight.astype(np.float32)
    kernel = weight.shape[2:]
    groups = integer(attributes, "group", 1)
    out = window_lens(x.shape[2:], kernel, attributes)
    view = _windows(x, kernel, out, attributes, 0.0)
    rank, batch, features = len(kernel), x.shape[0], weight.shape[0]
    inside = weight.shape[1]
    # batch, places…, channel, window… → one matrix a group
    order = (0, *range(2, 2 + rank), 1, *range(2 + rank, 2 + 2 * rank))
    view = view.transpose(order)
    result = np.empty((batch, features, *out), dtype=x.dtype)
    each = features // groups
    for group in range(groups):
        part = view[(slice(None),) * (rank + 1) + (slice(group * inside, (group + 1) * inside),)]
        columns = part.reshape(batch * int(np.prod(out)), -1)
        kernels = weight[group * each : (group + 1) * each].reshape(each, -1)
        made = (columns @ kernels.T).reshape(batch, *out, each)
        result[:, group * each : (group + 1) * each] = np.moveaxis(made, -1, 1)
    return result if short is None else result.astype(short)


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
