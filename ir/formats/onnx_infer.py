"""Shapes of a model's values, by ONNX's own inference on a copy of the model without its weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import onnx
import onnx.helper
import onnx.shape_inference

from ..types import UNKNOWN, DynamicShapeType, ShapeType, Type, byte_size
from .onnx_attributes import graphs_of
from .onnx_names import decoded
from .onnx_types import element_name, element_total, shape_type, type_of

_SMALL: Final = 4096
"""Literals of at most so many bytes keep their data: inference reads shapes, axes and the like from them."""
_MOST_CALLS: Final = 20_000
"""Inference goes through a function anew for each call: beyond so many nodes, functions are left out."""
_LONGEST_VECTOR: Final = 1 << 16
_CLOSED: Final = ShapeType("", "", (), ())
_MOST_BYTES: Final = 1 << 30
"""A protobuf message of more than 2 GiB cannot be handed over."""


def infer_shapes(model: onnx.ModelProto) -> tuple[onnx.GraphProto | None, str]:
    """The main graph with the types that inference found, without its large constants (`large_constant`).

    Returns (None, why) where there is no inference; it never raises.
    """
    try:
        lean = _lean(model)
        if lean.ByteSize() > _MOST_BYTES:
            return None, "what is left of the model without its weights is over 1 GiB"
        found = onnx.shape_inference.infer_shapes(lean)
        if _wants_values(found.graph):
            found = onnx.shape_inference.infer_shapes(found, data_prop=True)
    except Exception as error:  # inference raises whatever its C++ throws, and is only a help
        return None, str(error).strip().partition("\n")[0][:300] or type(error).__name__
    return found.graph, ""


def types_of(graphs: Sequence[onnx.GraphProto | onnx.FunctionProto | None]) -> dict[str, Type]:
    """Value name → type, from a graph as the model has it and as inference left it: the more exact one."""
    types: dict[str, Type] = {}
    for graph in graphs:
        if graph is None:
            continue
        ends = () if isinstance(graph, onnx.FunctionProto) else (*graph.input, *graph.output)
        for info in (*ends, *graph.value_info):
            name, found = decoded(info.name), type_of(info.type)
            if found is not UNKNOWN and _exactness(found) >= _exactness(types.get(name, UNKNOWN)):
                types[name] = found
    return types


def large_constant(node: onnx.NodeProto) -> onnx.TensorProto | None:
    """The tensor of a Constant node that is too large to copy."""
    if node.op_type != "Constant" or len(node.output) != 1:
        return None
    held = [a.t for a in node.attribute if a.name == "value" and a.HasField("t")]
    return held[0] if held and not _is_small(held[0]) else None


def _wants_values(graph: onnx.GraphProto) -> bool:
    """Whether shapes are still open, and following the values of shape computations is safe.

    ONNX then keeps an entry for every element of every vector, whatever it holds: a vector of 2^40 elements
    would take all memory.
    """
    types = types_of((graph,))
    for node in graph.node:
        if any(_exactness(types.get(decoded(name), UNKNOWN)) < _exactness(_CLOSED) for name in node.output):
            break
    else:
        return False
    lens = [type.lens for type in types.values() if isinstance(type, ShapeType)]
    lens += [tuple(tensor.dims) for tensor in graph.initializer]
    return all(len(dims) != 1 or dims[0] <= _LONGEST_VECTOR for dims in lens)


def _exactness(type: Type) -> int:
    if isinstance(type, ShapeType):
        return 3
    if isinstance(type, DynamicShapeType):
        return 2
    return 0 if type is UNKNOWN else 1


def _is_small(tensor: onnx.TensorProto) -> bool:
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        return False
    size = byte_size(shape_type(element_name(tensor.data_type), list(tensor.dims)))
    return element_total(tensor) * 8 <= _SMALL if size is None else size <= _SMALL


def _lean(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with large literals of the main graph as inputs, so that no weight is copied."""
    lean = onnx.ModelProto(ir_version=model.ir_version)
    lean.opset_import.extend(model.opset_import)
    if _calls(model) <= _MOST_CALLS + len(model.graph.node):
        lean.functions.extend(model.functions)
    graph = lean.graph
    graph.name = "graph"
    graph.node.extend(node for node in model.graph.node if large_constant(node) is None)
    graph.input.extend(model.graph.input)
    graph.output.extend(model.graph.output)
    graph.value_info.extend(model.graph.value_info)
    known = {info.name for info in model.graph.input}
    large = [(n.output[0], t) for n in model.graph.node if (t := large_constant(n)) is not None]
    for tensor in model.graph.initializer:
        if _is_small(tensor):
            graph.initializer.append(tensor)
        elif tensor.name not in known:
            large.append((tensor.name, tensor))
    for sparse in model.graph.sparse_initializer:
        dense = onnx.TensorProto(data_type=sparse.values.data_type, dims=list(sparse.dims))
        large.append((sparse.values.name, dense))
    for name, tensor in large:
        graph.input.append(onnx.helper.make_tensor_value_info(name, tensor.data_type, list(tensor.dims)))
    return lean


def _calls(model: onnx.ModelProto) -> int:
    """Nodes that inference goes through as it follows every call; over the limit where calls are circular."""
    bodies = {(f.domain, f.name): _nodes_of(f.node) for f in model.functions}
    called = {key: [k for k in map(_key, body) if k in bodies] for key, body in bodies.items()}
    cost: dict[tuple[str, str], int] = {}
    waiting = {key: len(calls) for key, calls in called.items()}
    callers: dict[tuple[str, str], list[tuple[str, str]]] = {key: [] for key in bodies}
    for key, calls in called.items():
        for callee in calls:
            callers[callee].append(key)
    ready = [key for key, count in waiting.items() if not count]
    while ready:
        key = ready.pop()
        cost[key] = min(len(bodies[key]) + sum(cost[c] for c in called[key]), _MOST_CALLS + 1)
        for caller in callers[key]:
            waiting[caller] -= 1
            if not waiting[caller]:
                ready.append(caller)
    main = _nodes_of(model.graph.node)
    return len(main) + sum(cost.get(k, _MOST_CALLS + 1) for k in map(_key, main) if k in bodies)


def _key(node: onnx.NodeProto) -> tuple[str, str]:
    return node.domain, node.op_type


def _nodes_of(nodes: Sequence[onnx.NodeProto]) -> list[onnx.NodeProto]:
    """The nodes and those of their subgraphs."""
    found: list[onnx.NodeProto] = []
    work = list(nodes)
    while work:
        node = work.pop()
        found.append(node)
        for attribute in node.attribute:
            for graph in graphs_of(attribute):
                work.extend(graph.node)
    return found
