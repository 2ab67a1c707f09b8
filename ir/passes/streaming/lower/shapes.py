"""Shapes of what operators make, with the strides that views have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ....evaluate.attributes import dtype_of, integer, integers, standard
from ....evaluate.pointwise import COMPARISONS, POINTWISE
from ....evaluate.structure import REDUCTIONS, VIEWS, view
from ....evaluate.windows import window_lens
from ....types import ShapeType


def is_standard(shape: ShapeType) -> bool:
    """Whether the elements lie one behind the other in the order of their indices."""
    step = 1
    for length, stride in zip(reversed(shape.lens), reversed(shape.strides), strict=True):
        if length != 1:
            if stride != step:
                return False
            step *= length
    return True


def result_shape(name: str, attributes: Mapping[str, str], inputs: Sequence[ShapeType]) -> ShapeType:
    """The shape of an operator's result, for shapes that fit together."""
    first = inputs[0]
    if name in VIEWS:
        return _view_shape(name, attributes, first)
    if name in POINTWISE:
        return standard(_element(name, attributes, inputs), first.lens)
    if name in REDUCTIONS or name in ("argmax", "argmin"):
        axes = integers(attributes, "axes", integers(attributes, "axis"))
        lens = [1 if axis in axes else length for axis, length in enumerate(first.lens)]
        return standard("i64" if name.startswith("arg") else first.element, lens)
    return standard(first.element, _other_lens(name, attributes, inputs))


def _element(name: str, attributes: Mapping[str, str], inputs: Sequence[ShapeType]) -> str:
    if name in COMPARISONS:
        return "i1"
    if name == "convert":
        return attributes["target_type"]
    return inputs[1].element if name == "where" else inputs[0].element


def _other_lens(name: str, attributes: Mapping[str, str], inputs: Sequence[ShapeType]) -> Sequence[int]:
    lens = inputs[0].lens
    match name:
        case "convolution":
            kernel = inputs[1].lens[2:]
            made = window_lens(lens[2:], kernel, attributes)
            if min(made, default=1) < 1:
                raise ValueError(f"a window of {list(kernel)} does not fit into {list(lens[2:])}")
            return (lens[0], inputs[1].lens[0], *made)
        case "pooling":
            kernel = tuple(integers(attributes, "lengths"))
            ceil = bool(integer(attributes, "ceil_mode"))
            return (*lens[:2], *window_lens(lens[2:], kernel, attributes, ceil=ceil))
        case "dot":
            if lens[-1] != inputs[1].lens[-2]:
                raise ValueError(
                    f"rows of {lens[-1]} times columns of {inputs[1].lens[-2]}, which must be equal "
                    "(an open dimension is 1 unless --dim gives it)"
                )
            return (*lens[:-1], inputs[1].lens[-1])
        case "gather":
            axis = integer(attributes, "axis")
            return (*lens[:axis], *inputs[1].lens, *lens[axis + 1 :])
        case "concat":
            axis = integer(attributes, "axis")
            total = sum(each.lens[axis] for each in inputs)
            return (*lens[:axis], total, *lens[axis + 1 :])
        case "pad":
            pads = integers(attributes, "pads")
            rank = len(lens)
            return [lens[axis] + pads[axis] + pads[axis + rank] for axis in range(rank)]
        case "resize":
            return integers(attributes, "sizes")
    return lens


def _view_shape(name: str, attributes: Mapping[str, str], shape: ShapeType) -> ShapeType:
    """By NumPy: a view of an array that has the same shape and strides, and whose elements nobody reads."""
    width = 8
    base = np.lib.stride_tricks.as_strided(
        np.zeros(1, dtype=np.int64), shape.lens, [stride * width for stride in shape.strides]
    )
    if name in ("reshape", "reshape_lazy", "flatten"):
        # Reading would be needed only for other than standard shapes, which are made standard first.
        lens = integers(attributes, "dims") if name != "flatten" else _flat(attributes, shape)
        return standard(shape.element, lens)
    made = view(name, base, attributes)
    return standard(shape.element, made.shape, [stride // width for stride in made.strides])


def _flat(attributes: Mapping[str, str], shape: ShapeType) -> list[int]:
    axis = integer(attributes, "axis", 1)
    front = int(np.prod(shape.lens[:axis], dtype=np.int64))
    return [front, int(np.prod(shape.lens[axis:], dtype=np.int64))]


def shape_of_array(array: np.ndarray, element: str) -> ShapeType:
    """The shape of a constant; a scalar has one element of stride 0."""
    assert array.dtype == dtype_of(element)
    return standard(element, array.shape)
