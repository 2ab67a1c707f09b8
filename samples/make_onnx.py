#!/usr/bin/env python3
"""Write a small convolutional classifier with seeded weights, and an `If` whose branches differ.

    python samples/make_onnx.py [FOLDER]          needs onnx and numpy

`classifier.onnx` takes a batch of any size of 3×32×32 images.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, checker, helper, numpy_helper

SEED = 20261201


def build() -> onnx.ModelProto:
    """The model; the same bytes each time."""
    random = np.random.default_rng(SEED)
    weights: list[onnx.TensorProto] = []
    nodes: list[onnx.NodeProto] = []

    def weight(name: str, *lens: int) -> str:
        spread = np.float32(np.sqrt(2.0 / max(1, int(np.prod(lens[1:])))))
        values = random.standard_normal(lens).astype(np.float32) * spread
        weights.append(numpy_helper.from_array(values, name))
        return name

    def node(kind: str, inputs: list[str], output: str, **attributes: object) -> str:
        nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def convolution(x: str, name: str, inputs: int, outputs: int, stride: int) -> str:
        operands = [x, weight(f"{name}.weight", outputs, inputs, 3, 3), weight(f"{name}.bias", outputs)]
        return node("Conv", operands, name, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[stride, stride])

    x = node("Relu", [convolution("image", "stem", 3, 16, 1)], "stem.relu")
    x = node("Relu", [convolution(x, "down1", 16, 32, 2)], "down1.relu")
    y = node("Relu", [convolution(x, "block1", 32, 32, 1)], "block1.relu")
    y = convolution(y, "block2", 32, 32, 1)
    x = node("Relu", [node("Add", [x, y], "block.add")], "block.relu")
    x = node("Relu", [convolution(x, "down2", 32, 64, 2)], "down2.relu")
    x = node("Flatten", [node("GlobalAveragePool", [x], "pool")], "flat", axis=1)
    x = node("Gemm", [x, weight("head.weight", 10, 64), weight("head.bias", 10)], "logits", transB=1)
    scores = helper.make_tensor_value_info("then_scores", TensorProto.FLOAT, ["batch", 10])
    soft = helper.make_node("Softmax", [x], ["then_scores"], axis=1)
    then_branch = helper.make_graph([soft], "probabilities", [], [scores])
    raw = helper.make_tensor_value_info("else_scores", TensorProto.FLOAT, ["batch", 10])
    plain = helper.make_node("Identity", [x], ["else_scores"])
    else_branch = helper.make_graph([plain], "raw", [], [raw])
    node("If", ["normalise"], "scores", then_branch=then_branch, else_branch=else_branch)
    graph = helper.make_graph(
        nodes,
        "classifier",
        [
            helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 3, 32, 32]),
            helper.make_tensor_value_info("normalise", TensorProto.BOOL, []),
        ],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", 10])],
        weights,
    )
    model = helper.make_model(
        graph, producer_name="passlens", ir_version=8, opset_imports=[helper.make_opsetid("", 17)]
    )
    checker.check_model(model, full_check=True)
    return model


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    (folder / "classifier.onnx").write_bytes(build().SerializeToString(deterministic=True))


if __name__ == "__main__":
    main()
