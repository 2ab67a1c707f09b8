"""Kernels that compute each element of their result from the same element of their operands, and no more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..program import Op

POINTWISE: Final = frozenset(
    {
        "abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atanh", "ceil", "clip", "convert", "cos",
        "cosh", "div", "elu", "equal", "erf", "exp", "floor", "fmod", "greater", "identity", "isinf", "isnan",
        "leaky_relu", "less", "log", "log2", "logical_and", "logical_or", "logical_xor", "max", "min", "mod",
        "mul", "nearbyint", "neg", "not", "pow", "prelu", "recip", "relu", "rsqrt", "sigmoid", "sign", "sin",
        "sinh", "sqdiff", "sqrt", "sub", "tan", "tanh", "where",
    }
)  # fmt: skip
"""MIGraphX's pointwise operators."""
_WORDS: Final = frozenset(POINTWISE - {"identity"})


def is_pointwise(kernel: Op, modules: Mapping[str, Op]) -> bool:
    """Whether a kernel is pointwise: by its body among the program's modules, otherwise by its name."""
    names = [name.strip() for name in kernel.attributes.get("modules", "").split(",")]
    bodies = [modules[name] for name in names if name in modules]
    if bodies:
        ops = [op for body in bodies for region in body.regions for b in region.blocks for op in b.ops]
        return all(op.name in POINTWISE or op.name in ("@param", "@return", "@literal") for op in ops)
    name = kernel.attributes.get("symbol_name", "")
    return name.endswith("_kernel") and _is_made_of(name.removesuffix("_kernel").split("_"))


def _is_made_of(words: list[str]) -> bool:
    """Whether words joined by `_` are names of pointwise operators (`leaky_relu` is one)."""
    reached = {0}
    for at in range(len(words)):
        if at in reached:
            reached |= {at + n for n in (1, 2) if "_".join(words[at : at + n]) in _WORDS}
    return bool(words) and len(words) in reached
