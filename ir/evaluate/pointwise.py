"""Operators that make each element from the elements at the same place."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .attributes import number

Array = npt.NDArray[Any]

_ERF: Final = np.vectorize(math.erf, otypes=[np.float64])


def erf(x: Array) -> Array:
    """Give the error function, computed in double precision."""
    return np.asarray(_ERF(x.astype(np.float64)))


def _divide(a: Array, b: Array) -> Array:
    if np.issubdtype(a.dtype, np.integer):
        # Whole numbers are divided towards zero.
        return np.trunc(a / np.where(b == 0, 1, b)).astype(a.dtype)
    return a / b


def _sigmoid(x: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-x))


UNARY: Final[dict[str, Callable[[Array], Array]]] = {
    "relu": lambda x: np.maximum(x, 0), "neg": np.negative, "abs": np.abs, "sqrt": np.sqrt, "exp": np.exp,
    "log": np.log, "tanh": np.tanh, "sigmoid": _sigmoid, "erf": erf, "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "recip": lambda x: 1.0 / x, "sin": np.sin, "cos": np.cos, "tan": np.tan, "floor": np.floor,
    "ceil": np.ceil, "nearbyint": np.rint, "sign": np.sign, "not": np.logical_not, "isnan": np.isnan,
    "isinf": np.isinf, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh,
    "cosh": np.cosh, "log2": np.log2,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "contiguous": lambda x: x, "softplus": lambda x: np.logaddexp(0, x),
    "softsign": lambda x: x / (1 + np.abs(x)),
}  # fmt: skip
BINARY: Final[dict[str, Callable[[Array, Array], Array]]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": _divide, "pow": np.power, "min": np.minimum,
    "max": np.maximum, "equal": np.equal, "greater": np.greater, "less": np.less,
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor,
    "mod": np.mod, "fmod": np.fmod, "prelu": lambda x, s: np.where(x < 0, x * s, x),
}  # fmt: skip
COMPARISONS: Final = frozenset({"equal", "greater", "less", "logical_and", "logical_or", "logical_xor", "not",
                                "isnan", "isinf"})  # fmt: skip
WITH_ALPHA: Final[dict[str, Callable[[Array, float], Array]]] = {
    "leaky_relu": lambda x, alpha: np.where(x < 0, x * alpha, x),
    "elu": lambda x, alpha: np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x),
}
TERNARY: Final[dict[str, Callable[[Array, Array, Array], Array]]] = {
    "where": lambda c, a, b: np.where(c.astype(bool), a, b),
    "clip": lambda x, low, high: np.minimum(np.maximum(x, low), high),
}
POINTWISE: Final = frozenset({*UNARY, *BINARY, *WITH_ALPHA, *TERNARY, "convert"})
"""All names; `convert` changes the element type only."""


def pointwise(name: str, attributes: Mapping[str, str], inputs: list[Array]) -> Array:
    """One operator of `POINTWISE`; half precision is computed in single."""
    wide = [each.astype(np.float32) if _is_short(each) else each for each in inputs]
    with np.errstate(all="ignore"):
        if name in UNARY:
            return np.asarray(UNARY[name](wide[0]))
        if name in BINARY:
            return np.asarray(BINARY[name](wide[0], wide[1]))
        if name in WITH_ALPHA:
            return np.asarray(WITH_ALPHA[name](wide[0], number(attributes, "alpha", 1.0)))
        if name in TERNARY:
            return np.asarray(TERNARY[name](wide[0], wide[1], wide[2]))
    return wide[0]


def _is_short(array: Array) -> bool:
    return array.dtype == np.float16 or array.dtype.name == "bfloat16"
