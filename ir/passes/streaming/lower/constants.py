"""Nodes of any operator whose inputs are all constants: ONNX's own evaluator says what they make."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.reference

from ....formats.onnx_source import OnnxSource
from .graph import Tensor
from .nodes import Node

_MOST_BYTES = 1 << 31


def computed(node: Node) -> list[Tensor]:
    """The results of a node without subgraphs, by the operator's reference implementation.

    Raises:
        InputError: the evaluator does not know the operator, or cannot do it.
    """
    source = node.op.source
    message = source.nodes.get(node.op.start) if isinstance(source, OnnxSource) else None
    if message is None or node.op.regions or not isinstance(source, OnnxSource):
        raise node.error("it holds subgraphs; expected a plain operator")
    given = [each for each in node.inputs if isinstance(each, np.ndarray)]
    if sum(each.nbytes for each in given) > _MOST_BYTES:
        raise node.error(f"its constants have more than {_MOST_BYTES:,} bytes")
    copy = onnx.NodeProto()
    copy.CopyFrom(message)
    del copy.input[:], copy.output[:]
    copy.input.extend(f"i{index}" for index in range(len(given)))
    copy.output.extend(f"o{index}" for index in range(len(node.op.results)))
    graph = onnx.helper.make_graph(
        [copy],
        "constant",
        [onnx.helper.make_empty_tensor_value_info(name) for name in copy.input],
        [onnx.helper.make_empty_tensor_value_info(name) for name in copy.output],
    )
    model = onnx.helper.make_model(graph, opset_imports=list(source.model.opset_import))
    try:
        made = onnx.reference.ReferenceEvaluator(model).run(None, dict(zip(copy.input, given, strict=True)))
    except Exception as error:
        # The evaluator runs NumPy code for hundreds of operators; any of its faults means the same here.
        raise node.error(f"its inputs are constants, and evaluating it fails: {error}") from error
    return [np.asarray(each) for each in made]
