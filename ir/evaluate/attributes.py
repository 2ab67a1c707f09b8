"""Attribute texts of MIGraphX operators as numbers and lists."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from ..types import ShapeType

_INTEGER: Final = re.compile(r"-?\d+")

DTYPES: Final[dict[str, str]] = {
    "f64": "float64", "f32": "float32", "f16": "float16", "i1": "bool", "i8": "int8", "i16": "int16",
    "i32": "int32", "i64": "int64", "ui8": "uint8", "ui16": "uint16", "ui32": "uint32", "ui64": "uint64",
}  # fmt: skip
NAMES: Final[dict[str, str]] = {
    "f64": "double_type", "f32": "float_type", "f16": "half_type", "bf16": "bf16_type", "i1": "bool_type",
    "i8": "int8_type", "i16": "int16_type", "i32": "int32_type", "i64": "int64_type", "ui8": "uint8_type",
    "ui16": "uint16_type", "ui32": "uint32_type", "ui64": "uint64_type",
}  # fmt: skip


def integers(attributes: Mapping[str, str], name: str, otherwise: Sequence[int] = ()) -> list[int]:
    """A list such as `{1, 1}`; one number is a list of one."""
    text = attributes.get(name)
    return list(otherwise) if text is None else [int(found) for found in _INTEGER.findall(text)]


def integer(attributes: Mapping[str, str], name: str, otherwise: int = 0) -> int:
    """One whole number."""
    found = integers(attributes, name)
    return found[0] if found else otherwise


def number(attributes: Mapping[str, str], name: str, otherwise: float = 0.0) -> float:
    """One number."""
    return float(attributes[name]) if name in attributes else otherwise


def listed(values: Sequence[int]) -> str:
    """The text of a list: `{1, 1}`."""
    return "{" + ", ".join(str(int(value)) for value in values) + "}"


def dtype_of(element: str) -> np.dtype[np.generic]:
    """NumPy's type for an element type (bf16 by ml_dtypes, which ONNX brings along)."""
    if element == "bf16":
        import ml_dtypes

        short: np.dtype[np.generic] = np.dtype(ml_dtypes.bfloat16)
        return short
    return np.dtype(DTYPES[element])


def element_of(dtype: np.dtype[np.generic]) -> str:
    """The element type of a NumPy array's dtype.

    Raises:
        KeyError: there is none (a string, an object).
    """
    if dtype.name == "bfloat16":
        return "bf16"
    return {np.dtype(name).name: element for element, name in DTYPES.items()}[dtype.name]


def standard(element: str, lens: Sequence[int], strides: Sequence[int] | None = None) -> ShapeType:
    """A shape of rows one behind the other, unless strides are given; a scalar is one element of stride 0."""
    lens = tuple(int(each) for each in lens)
    if strides is None:
        steps: list[int] = []
        step = 1
        for each in reversed(lens):
            steps.insert(0, step)
            step *= max(each, 1)
        strides = steps
    if not lens:
        lens, strides = (1,), (0,)
    text = f"{NAMES[element]}, {listed(lens)}, {listed(strides)}"
    return ShapeType(text, element, lens, tuple(int(each) for each in strides))
