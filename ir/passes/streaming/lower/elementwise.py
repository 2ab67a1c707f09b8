"""ONNX operators that become pointwise ones, and normalisations made of them."""

from __future__ import annotations

from typing import Final

import numpy as np

from ....evaluate.attributes import dtype_of, element_of, listed
from .graph import Array, Tensor, shape_of
from .nodes import Handler, Node

_SAME: Final = {
    "Relu": "relu", "Sigmoid": "sigmoid", "Tanh": "tanh", "Erf": "erf", "Sqrt": "sqrt", "Exp": "exp",
    "Log": "log", "Neg": "neg", "Abs": "abs", "Reciprocal": "recip", "Sin": "sin", "Cos": "cos", "Tan": "tan",
    "Floor": "floor", "Ceil": "ceil", "Round": "nearbyint", "Sign": "sign", "Not": "not", "IsNaN": "isnan",
    "Asin": "asin", "Acos": "acos", "Atan": "atan", "Sinh": "sinh", "Cosh": "cosh",
    "Asinh": "asinh", "Acosh": "acosh", "Atanh": "atanh", "Softplus": "softplus",
    "Softsign": "softsign", "Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div",
    "Equal": "equal", "Greater": "greater", "Less": "less", "And": "logical_and", "Or": "logical_or",
    "Xor": "logical_xor", "PRelu": "prelu", "Where": "where",
}  # fmt: skip


def _same(name: str) -> Handler:
    return lambda node: [node.graph.pointwise(name, [node.input(i) for i in range(len(node.inputs))])]


def scalar(value: float, like: Tensor) -> Array:
    """A constant of one element, of the element type of another tensor."""
    dtype = like.dtype if isinstance(like, np.ndarray) else _dtype(like)
    return np.asarray(value, dtype=dtype)


def _dtype(like: Tensor) -> np.dtype[np.generic]:
    return dtype_of(shape_of(like).element)


def _pow(node: Node) -> list[Tensor]:
    base, exponent = node.input(0), node.input(1)
    if isinstance(exponent, np.ndarray) and exponent.size == 1:
        power = float(exponent.reshape(()))
        if power == 2.0:
            return [node.graph.pointwise("mul", [base, base])]
        if power == 0.5:
            return [node.graph.pointwise("sqrt", [base])]
        exponent = scalar(power, base)
    return [node.graph.pointwise("pow", [base, exponent])]


def _clip(node: Node) -> list[Tensor]:
    x = node.input(0)
    low, high = node.constant(1, "min"), node.constant(2, "max")
    if low is not None and high is not None:
        bounds = [scalar(float(each.reshape(())), x) for each in (low, high)]
        return [node.graph.pointwise("clip", [x, *bounds])]
    for name, bound in (("max", low), ("min", high)):
        if bound is not None:
            x = node.graph.pointwise(name, [x, scalar(float(bound.reshape(())), x)])
    return [x]


def _with_alpha(name: str, otherwise: float) -> Handler:
    return lambda node: [
        node.graph.pointwise(name, [node.input(0)], {"alpha": repr(node.number("alpha", otherwise))})
    ]


def _selu(node: Node) -> list[Tensor]:
    x = node.input(0)
    alpha, gamma = node.number("alpha", 1.6732632), node.number("gamma", 1.0507010)
    made = node.graph.pointwise("elu", [x], {"alpha": repr(alpha)})
    return [node.graph.pointwise("mul", [made, scalar(gamma, x)])]


def _variadic(name: str, *, mean: bool = False) -> Handler:
    def lower(node: Node) -> list[Tensor]:
        total = node.input(0)
        for index in range(1, len(node.inputs)):
            total = node.graph.pointwise(name, [total, node.input(index)])
        if mean:
            total = node.graph.pointwise("mul", [total, scalar(1.0 / len(node.inputs), total)])
        return [total]

    return lower


def _cast(node: Node) -> list[Tensor]:
    import onnx

    x = node.input(0)
    number = node.integer("to")
    try:
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(number))
        element = element_of(dtype)
    except (KeyError, TypeError) as error:
        raise node.error(f"to element type {number}; expected a number or bool") from error
    return [_converted(node, x, element)]


def _not_of(name: str) -> Handler:
    return lambda node: [
        node.graph.pointwise("not", [node.graph.pointwise(name, [node.input(0), node.input(1)])])
    ]


def _hard_sigmoid(node: Node) -> list[Tensor]:
    alpha, beta = node.number("alpha", 0.2), node.number("beta", 0.5)
    return [_hard(node, node.input(0), alpha, beta)]


def _hard(node: Node, x: Tensor, alpha: float, beta: float) -> Tensor:
    g = node.graph
    line = g.pointwise("add", [g.pointwise("mul", [x, scalar(alpha, x)]), scalar(beta, x)])
    return g.pointwise("clip", [line, scalar(0.0, x), scalar(1.0, x)])


def _hard_swish(node: Node) -> list[Tensor]:
    x = node.input(0)
    return [node.graph.pointwise("mul", [x, _hard(node, x, 1.0 / 6.0, 0.5)])]


def _gelu(node: Node) -> list[Tensor]:
    x, g = node.input(0), node.graph
    half = g.pointwise("mul", [x, scalar(0.5, x)])
    if node.text("approximate", "none") == "tanh":
        cube = g.pointwise("mul", [g.pointwise("mul", [x, x]), x])
        inner = g.pointwise("add", [x, g.pointwise("mul", [cube, scalar(0.044715, x)])])
        grown = g.pointwise("tanh", [g.pointwise("mul", [inner, scalar(float(np.sqrt(2 / np.pi)), x)])])
    else:
        grown = g.pointwise("erf", [g.pointwise("mul", [x, scalar(float(np.sqrt(0.5)), x)])])
    return [g.pointwise("mul", [half, g.pointwise("add", [grown, scalar(1.0, x)])])]


def _silu(node: Node) -> list[Tensor]:
    x, alpha = node.input(0), node.number("alpha", 1.0)
    inner = x if alpha == 1.0 else node.graph.pointwise("mul", [x, scalar(alpha, x)])
    return [node.graph.pointwise("mul", [x, node.graph.pointwise("sigmoid", [inner])])]


def _is_infinite(node: Node) -> list[Tensor]:
    g, x = node.graph, node.input(0)
    made = g.pointwise("isinf", [x])
    wanted = node.integer("detect_positive", 1), node.integer("detect_negative", 1)
    if wanted == (0, 0):
        return [g.pointwise("logical_and", [made, np.asarray(False)])]
    if wanted == (1, 1):
        return [made]
    side = g.pointwise("greater" if wanted[0] else "less", [x, scalar(0.0, x)])
    return [g.pointwise("logical_and", [made, side])]


def _modulus(node: Node) -> list[Tensor]:
    name = "fmod" if node.integer("fmod") else "mod"
    return [node.graph.pointwise(name, [node.input(0), node.input(1)])]


def _cast_like(node: Node) -> list[Tensor]:
    like = node.input(1)
    element = element_of(like.dtype) if isinstance(like, np.ndarray) else shape_of(like).element
    return [_converted(node, node.input(0), element)]


def _converted(node: Node, x: Tensor, element: str) -> Tensor:
    if isinstance(x, np.ndarray):
        return x.astype(dtype_of(element))
    if shape_of(x).element == element:
        return x
    return node.graph.op("convert", [x], {"target_type": element})


def _celu(node: Node) -> list[Tensor]:
    """max(0, x) + min(0, α·(exp(x/α) − 1)), which is elu with α of x/α, times α."""
    x, alpha, g = node.input(0), node.number("alpha", 1.0), node.graph
    inner = g.pointwise("elu", [g.pointwise("mul", [x, scalar(1.0 / alpha, x)])], {"alpha": "1.0"})
    return [g.pointwise("mul", [inner, scalar(alpha, x)])]


def _thresholded(node: Node) -> list[Tensor]:
    x, g = node.input(0), node.graph
    above = g.pointwise("greater", [x, scalar(node.number("alpha", 1.0), x)])
    return [g.pointwise("where", [above, x, scalar(0.0, x)])]


def _mish(node: Node) -> list[Tensor]:
    x = node.input(0)
    soft = node.graph.pointwise("softplus", [x])
    return [node.graph.pointwise("mul", [x, node.graph.pointwise("tanh", [soft])])]


def per_channel(array: Array, rank: int) -> Array:
    """A constant a channel, shaped to broadcast over batch and space."""
    return array.reshape(-1, *([1] * (rank - 2)))


def _batch_norm(node: Node) -> list[Tensor]:
    """Make y = x·a + b with a = scale/√(variance + ε) and b = bias − mean·a, both constants."""
    x, rank = node.input(0), len(node.lens(0))
    if node.integer("training_mode"):
        raise node.error("it is in training mode; export the model for inference")
    parts = [node.constant(index) for index in range(1, 5)]
    if any(part is None for part in parts):
        raise node.error("scale, bias, mean or variance is left out; expected four constants")
    scale, bias, mean, variance = (np.asarray(part, dtype=np.float64) for part in parts)
    a = scale / np.sqrt(variance + node.number("epsilon", 1e-5))
    b = bias - mean * a
    dtype = scalar(0.0, x).dtype
    g = node.graph
    made = g.pointwise("mul", [x, per_channel(a.astype(dtype), rank)])
    return [g.pointwise("add", [made, per_channel(b.astype(dtype), rank)])]


def normalized(node: Node, x: Tensor, axes: list[int], epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    """(x − mean) / √(variance + ε) over the axes."""
    g, said = node.graph, {"axes": listed(axes)}
    mean = g.op("reduce_mean", [x], said)
    centred = g.pointwise("sub", [x, mean])
    variance = g.op("reduce_mean", [g.pointwise("mul", [centred, centred])], said)
    spread = g.pointwise("rsqrt", [g.pointwise("add", [variance, scalar(epsilon, x)])])
    return g.pointwise("mul", [centred, spread]), mean, spread


def _layer_norm(node: Node) -> list[Tensor]:
    x, rank = node.input(0), len(node.lens(0))
    first = node.axis(node.integer("axis", -1), rank)
    element = shape_of(x).element
    wide = _converted(node, x, "f32") if element in ("f16", "bf16") else x
    made, mean, spread = normalized(node, wide, list(range(first, rank)), node.number("epsilon", 1e-5))
    made = _converted(node, made, element)
    made = node.graph.pointwise("mul", [made, node.input(1)])
    bias = node.optional(2)
    return [made if bias is None else node.graph.pointwise("add", [made, bias]), mean, spread]


def _rms_norm(node: Node) -> list[Tensor]:
    x, rank, g = node.input(0), len(node.lens(0)), node.graph
    first = node.axis(node.integer("axis", -1), rank)
    squares = g.op("reduce_mean", [g.pointwise("mul", [x, x])], {"axes": listed(range(first, rank))})
    spread = g.pointwise("rsqrt", [g.pointwise("add", [squares, scalar(node.number("epsilon", 1e-5), x)])])
    return [g.pointwise("mul", [g.pointwise("mul", [x, spread]), node.input(1)])]


def _group_norm(node: Node) -> list[Tensor]:
    """Scale and bias are for each channel, and before version 21 for each group."""
    x, lens, g = node.input(0), node.lens(0), node.graph
    groups, inside = node.integer("num_groups", 1), lens[1] // node.integer("num_groups", 1)
    split = g.reshape(x, (lens[0], groups, inside, *lens[2:]))
    made = normalized(node, split, list(range(2, len(lens) + 1)), node.number("epsilon", 1e-5))[0]
    parts = [node.constant(index) for index in (1, 2)]
    if parts[0] is None or parts[1] is None:
        raise node.error("scale or bias is left out; expected two constants")
    if parts[0].size == groups != lens[1]:
        made = g.pointwise("mul", [made, per_channel(parts[0], len(lens) + 1)])
        return [g.reshape(g.pointwise("add", [made, per_channel(parts[1], len(lens) + 1)]), lens)]
    made = g.pointwise("mul", [g.reshape(made, lens), per_channel(parts[0], len(lens))])
    return [g.pointwise("add", [made, per_channel(parts[1], len(lens))])]


def _instance_norm(node: Node) -> list[Tensor]:
    x, rank = node.input(0), len(node.lens(0))
    scale, bias = node.constant(1), node.constant(2)
    if scale is None or bias is None:
        raise node.error("scale or bias is left out; expected two constants")
    made = normalized(node, x, list(range(2, rank)), node.number("epsilon", 1e-5))[0]
    made = node.graph.pointwise("mul", [made, per_channel(scale, rank)])
    return [node.graph.pointwise("add", [made, per_channel(bias, rank)])]


ELEMENTWISE: Final[dict[str, Handler]] = {
    **{kind: _same(name) for kind, name in _SAME.items()},
    "Pow": _pow, "Clip": _clip, "Cast": _cast, "LeakyRelu": _with_alpha("leaky_relu", 0.01),
    "Elu": _with_alpha("elu", 1.0), "Selu": _selu, "Sum": _variadic("add"), "Max": _variadic("max"),
    "Min": _variadic("min"), "Mean": _variadic("add", mean=True), "GreaterOrEqual": _not_of("less"),
    "LessOrEqual": _not_of("greater"), "HardSigmoid": _hard_sigmoid, "HardSwish": _hard_swish, "Gelu": _gelu,
    "Swish": _silu, "Mish": _mish, "BatchNormalization": _batch_norm, "LayerNormalization": _layer_norm,
    "InstanceNormalization": _instance_norm, "GroupNormalization": _group_norm, "IsInf": _is_infinite,
    "RMSNormalization": _rms_norm, "Mod": _modulus, "CastLike": _cast_like, "Celu": _celu,
    "ThresholdedRelu": _thresholded,
}  # fmt: skip
