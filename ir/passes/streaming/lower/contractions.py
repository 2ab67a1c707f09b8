"""ONNX operators that sum: convolutions, matrix products, pooling, reductions, softmax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ....evaluate.attributes import listed
from .elementwise import per_channel, scalar
from .graph import Tensor, shape_of
from .nodes import Handler, Node


def _padding(node: Node, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> list[int]:
    """Beginnings, then ends, of the padding of each spatial axis."""
    rank = len(kernel)
    auto = node.text("auto_pad", "NOTSET")
    if auto in ("NOTSET", "", "VALID"):
        return node.integers("pads", [0] * (2 * rank)) if auto != "VALID" else [0] * (2 * rank)
    lens = node.lens(0)[2:]
    front, back = [], []
    for axis in range(rank):
        wanted = -(-lens[axis] // stride[axis])
        reach = (wanted - 1) * stride[axis] + dilation[axis] * (kernel[axis] - 1) + 1
        total = max(reach - lens[axis], 0)
        small, large = total // 2, total - total // 2
        front.append(small if auto == "SAME_UPPER" else large)
        back.append(large if auto == "SAME_UPPER" else small)
    return front + back


def _window(node: Node, kernel: Sequence[int]) -> dict[str, str]:
    rank = len(kernel)
    stride = node.integers("strides", [1] * rank)
    dilation = node.integers("dilations", [1] * rank)
    padding = _padding(node, kernel, stride, dilation)
    if padding[:rank] == padding[rank:]:
        padding = padding[:rank]
    return {"padding": listed(padding), "stride": listed(stride), "dilation": listed(dilation)}


def _conv(node: Node) -> list[Tensor]:
    x, weight = node.input(0), node.input(1)
    kernel = node.lens(1)[2:]
    said = {**_window(node, kernel), "group": str(node.integer("group", 1)), "padding_mode": "0"}
    if node.lens(0)[1] != node.lens(1)[1] * node.integer("group", 1):
        raise node.error(
            f"{node.lens(0)[1]} channels for a weight of {node.lens(1)[1]} "
            f"in {node.integer('group', 1)} groups"
        )
    made = node.graph.op("convolution", [x, weight], said)
    bias = node.constant(2)
    if bias is not None:
        made = node.graph.pointwise("add", [made, per_channel(bias, len(kernel) + 2)])
    return [made]


def _pool(mode: str) -> Handler:
    def lower(node: Node) -> list[Tensor]:
        if len(node.op.results) > 1:
            raise node.error("it is asked for indices; expected one result")
        kernel = node.integers("kernel_shape")
        window = _window(node, kernel)
        said = {
            "mode": mode,
            "padding": window["padding"],
            "padding_mode": "0",
            "stride": window["stride"],
            "lengths": listed(kernel),
            "dilations": window["dilation"],
            "ceil_mode": str(node.integer("ceil_mode")),
            "count_include_pad": str(node.integer("count_include_pad")),
            "lp_order": str(node.integer("p", 2)),
            "dyn_global": "0",
        }
        return [node.graph.op("pooling", [node.input(0)], said)]

    return lower


def _global_pool(name: str) -> Handler:
    def lower(node: Node) -> list[Tensor]:
        axes = range(2, len(node.lens(0)))
        return [node.graph.op(name, [node.input(0)], {"axes": listed(axes)})]

    return lower


def _lrn(node: Node) -> list[Tensor]:
    said = {
        "alpha": repr(node.number("alpha", 1e-4)),
        "beta": repr(node.number("beta", 0.75)),
        "bias": repr(node.number("bias", 1.0)),
        "size": str(node.integer("size", 1)),
    }
    return [node.graph.op("lrn", [node.input(0)], said)]


def _turned(node: Node, tensor: Tensor, turn: bool) -> Tensor:
    if not turn:
        return tensor
    return (
        np.ascontiguousarray(tensor.T)
        if isinstance(tensor, np.ndarray)
        else node.graph.transpose(tensor, [1, 0])
    )


def _gemm(node: Node) -> list[Tensor]:
    g = node.graph
    a = _turned(node, node.input(0), bool(node.integer("transA")))
    b = _turned(node, node.input(1), bool(node.integer("transB")))
    alpha, beta = node.number("alpha", 1.0), node.number("beta", 1.0)
    if alpha != 1.0 and isinstance(b, np.ndarray):
        b, alpha = (b * alpha).astype(b.dtype), 1.0
    made = g.op("dot", [a, b])
    if alpha != 1.0:
        made = g.pointwise("mul", [made, scalar(alpha, made)])
    c = node.optional(2)
    if c is None or beta == 0.0:
        return [made]
    if beta != 1.0:
        c = g.pointwise("mul", [c, scalar(beta, c)])
    return [g.pointwise("add", [made, c])]


def _matmul(node: Node) -> list[Tensor]:
    """NumPy's matmul: leading axes are broadcast, a vector is a matrix of one row or column."""
    g = node.graph
    a, b = node.input(0), node.input(1)
    lens_a, lens_b = node.lens(0), node.lens(1)
    row, column = len(lens_a) == 1, len(lens_b) == 1
    if row:
        a, lens_a = g.reshape(a, (1, *lens_a)), (1, *lens_a)
    if column:
        b, lens_b = g.reshape(b, (*lens_b, 1)), (*lens_b, 1)
    front = np.broadcast_shapes(lens_a[:-2], lens_b[:-2])
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        made: Tensor = g.op("dot", [np.broadcast_to(a, (*front, *lens_a[-2:])), b])
    else:
        made = g.op("dot", [_led(node, a, lens_a, front), _led(node, b, lens_b, front)])
    lens = shape_of(made).lens
    if row:
        made, lens = g.reshape(made, (*lens[:-2], lens[-1])), (*lens[:-2], lens[-1])
    return [g.reshape(made, lens[:-1]) if column else made]


def _led(node: Node, tensor: Tensor, lens: tuple[int, ...], front: tuple[int, ...]) -> Tensor:
    """The tensor with the leading axes `front`; a constant keeps its own as a literal."""
    if lens[:-2] == front:
        return tensor
    return node.graph.broadcast(tensor, (*front, *lens[-2:]))


def _reduce(name: str) -> Handler:
    def lower(node: Node) -> list[Tensor]:
        rank = len(node.lens(0))
        given = node.constant(1, "axes")
        if given is None or given.size == 0:
            if node.integer("noop_with_empty_axes"):
                return [node.input(0)]
            axes = list(range(rank))
        else:
            axes = sorted(node.axis(int(each), rank) for each in given.reshape(-1))
        if name in ("reduce_max", "reduce_min", "exp") and any(node.lens(0)[axis] == 0 for axis in axes):
            raise node.error("an axis without elements has no largest or smallest one")
        g = node.graph
        made = _reduced(node, name, listed(axes))
        if node.integer("keepdims", 1):
            return [made]
        left = [length for axis, length in enumerate(node.lens(0)) if axis not in axes]
        if isinstance(made, np.ndarray):
            return [made.reshape(left)]
        return [g.reshape(made, left or [1])]

    return lower


def _reduced(node: Node, name: str, axes: str) -> Tensor:
    """A reduction, or one of what is computed from a sum: `l1`, `l2`, `squares`, `log`, `exp`."""
    g, x, said = node.graph, node.input(0), {"axes": axes}
    if name == "exp":
        # Less the largest, so that no power is too large; what is infinite stays so.
        top = g.op("reduce_max", [x], said)
        powers = g.pointwise("exp", [g.pointwise("sub", [x, top])])
        return g.pointwise("add", [g.pointwise("log", [g.op("reduce_sum", [powers], said)]), top])
    if name in ("l2", "squares"):
        x = g.pointwise("mul", [x, x])
    if name == "l1":
        x = g.pointwise("abs", [x])
    made = g.op(name if name.startswith("reduce_") else "reduce_sum", [x], said)
    behind = {"l2": "sqrt", "log": "log"}.get(name)
    return made if behind is None else g.pointwise(behind, [made])


def _softmax(name: str) -> Handler:
    def lower(node: Node) -> list[Tensor]:
        x, lens, g = node.input(0), node.lens(0), node.graph
        if node.opset >= 13:
            axis = node.axis(node.integer("axis", -1), len(lens))
            return [g.op(name, [x], {"axis": str(axis)})]
        # Before version 13 all axes from `axis` on were one.
        axis = node.axis(node.integer("axis", 1), len(lens))
        if all(length == 1 for length in lens[axis + 1 :]):
            return [g.op(name, [x], {"axis": str(axis)})]
        flat = (int(np.prod(lens[:axis])), int(np.prod(lens[axis:])))
        return [g.reshape(g.op(name, [g.reshape(x, flat)], {"axis": "1"}), lens)]

    return lower


def _argument(name: str) -> Handler:
    def lower(node: Node) -> list[Tensor]:
        lens = node.lens(0)
        axis = node.axis(node.integer("axis", 0), len(lens))
        said = {"axis": str(axis), "select_last_index": str(node.integer("select_last_index"))}
        made = node.graph.op(name, [node.input(0)], said)
        if node.integer("keepdims", 1):
            return [made]
        return [node.graph.reshape(made, [*lens[:axis], *lens[axis + 1 :]] or [1])]

    return lower


CONTRACTIONS: Final[dict[str, Handler]] = {
    "Conv": _conv, "Gemm": _gemm, "MatMul": _matmul, "MaxPool": _pool("max"), "AveragePool": _pool("average"),
    "LpPool": _pool("lpnorm"), "GlobalAveragePool": _global_pool("reduce_mean"),
    "GlobalMaxPool": _global_pool("reduce_max"), "LRN": _lrn, "Softmax": _softmax("softmax"),
    "LogSoftmax": _softmax("logsoftmax"), "ReduceMean": _reduce("reduce_mean"),
    "ReduceSum": _reduce("reduce_sum"),
    "ReduceMax": _reduce("reduce_max"), "ReduceMin": _reduce("reduce_min"),
    "ReduceProd": _reduce("reduce_prod"), "ReduceL2": _reduce("l2"), "ReduceL1": _reduce("l1"),
    "ReduceSumSquare": _reduce("squares"), "ReduceLogSum": _reduce("log"), "ReduceLogSumExp": _reduce("exp"),
    "ArgMax": _argument("argmax"),
    "ArgMin": _argument("argmin"),
}  # fmt: skip
