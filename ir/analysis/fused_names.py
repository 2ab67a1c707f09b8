"""The operators that a fused kernel's name lists: `mlir_convolution_add_relu` → convolution, add, relu.

A name joins operator names with underscores and some of them hold underscores themselves, so the longest
known operator wins at each place.
"""

from __future__ import annotations

from typing import Final

MATRIX: Final = {
    "convolution": "convolution", "quant_convolution": "convolution", "convolution_backwards": "convolution",
    "conv": "convolution", "deconvolution": "convolution", "conv_bias": "convolution",
    "dot": "dot", "quant_dot": "dot", "gemm": "dot", "quant_gemm": "dot", "hipblaslt_op": "dot",
    "attention": "attention", "group_query_attention": "attention", "gqa": "attention",
}  # fmt: skip
"""Operators that the matrix units do → the kind of their kernel."""
NORMALIZATIONS: Final = frozenset(
    {"layernorm", "add_layernorm", "layer_norm", "add_layer_norm", "groupnorm", "group_norm", "rms_norm",
     "lrn", "batch_norm", "l2_norm"}
)  # fmt: skip
REDUCTIONS: Final = frozenset(
    {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod", "reduce_any", "reduce_all",
     "argmax", "argmin", "prefix_scan_sum", "topk", "reduce"}
)  # fmt: skip
MOVES: Final = frozenset(
    {"noop", "concat", "reshape", "transpose", "slice", "squeeze", "unsqueeze", "broadcast", "multibroadcast",
     "contiguous", "copy", "pad", "gather", "gathernd", "scatter", "step", "flatten", "reshape_lazy",
     "identity",
     "convert", "layout", "unpack", "pack", "as_shape", "scalar", "concat_past_present", "get_tuple_elem",
     "reverse", "resize", "where_op", "fill", "nonzero", "rotary_embedding"}
)  # fmt: skip
"""Operators that move or pick elements and compute nothing."""
_COSTLY: Final = frozenset(
    {"exp", "log", "log2", "tanh", "erf", "sigmoid", "pow", "sin", "cos", "tan", "sqrt", "rsqrt", "div",
     "gelu", "silu", "softplus", "elu", "sinh", "cosh", "asin", "acos", "atan", "recip", "fmod", "mod"}
)  # fmt: skip
_SOFTMAXES: Final = frozenset({"softmax", "logsoftmax"})
_LONGER: Final = (
    frozenset(MATRIX) | NORMALIZATIONS | REDUCTIONS | MOVES
    | {"leaky_relu", "bit_cast", "logical_and", "logical_or", "logical_xor", "clip", "prelu"}
)  # fmt: skip
_MOST_WORDS: Final = 4
_COSTLY_FLOPS: Final = 8
_AROUND: Final = frozenset({"mlir", "ck", "kernel", "op", "gpu", "hip", "main", "fused", "split"})

KINDS: Final = (
    "attention", "convolution", "dot", "softmax", "normalization", "reduce", "pooling", "pointwise", "copy",
    "other",
)  # fmt: skip
"""Kinds of kernels, the one that says most about the cost first."""


def operators(name: str) -> list[str]:
    """The operators that a kernel's or instruction's name lists, in order."""
    words = name.rpartition("::")[2].lower().split("_")
    found = []
    at = 0
    while at < len(words):
        for length in range(min(_MOST_WORDS, len(words) - at), 1, -1):
            joined = "_".join(words[at : at + length])
            if joined in _LONGER:
                found.append(joined)
                at += length
                break
        else:
            word = words[at]
            if word and word not in _AROUND and not word.isdecimal():
                found.append(word)
            at += 1
    return found


def kind_of(operator: str) -> str:
    """The kind of kernel that an operator makes by itself."""
    if operator in MATRIX:
        return MATRIX[operator]
    if operator in _SOFTMAXES:
        return "softmax"
    if operator in NORMALIZATIONS:
        return "normalization"
    if operator in REDUCTIONS:
        return "reduce"
    if operator == "pooling":
        return "pooling"
    return "copy" if operator in MOVES else "pointwise"


def kind_of_all(listed: list[str]) -> str:
    """The kind of a kernel that does several operators: the one that weighs most; `other` for none."""
    kinds = {kind_of(operator) for operator in listed}
    if sum(kind_of(operator) == "dot" for operator in listed) > 1 and "softmax" in kinds:
        return "attention"
    return next((kind for kind in KINDS if kind in kinds), "other")


def element_flops(operator: str) -> int:
    """Operations for each element that a pointwise, reducing or normalizing operator computes or reads."""
    if operator in MOVES:
        return 0
    if operator in _SOFTMAXES or operator in NORMALIZATIONS:
        return _COSTLY_FLOPS
    return _COSTLY_FLOPS if operator in _COSTLY else 1
