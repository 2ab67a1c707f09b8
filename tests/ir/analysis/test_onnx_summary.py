"""The numbers of ONNX models against counts made from the model itself."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from passlens.ir.analysis.onnx_summary import summarize, to_json
from passlens.ir.formats.onnx import program_of, read_onnx

LIGHT = sorted((Path(onnx.__file__).parent / "backend/test/data/light").glob("*.onnx"))
F32 = TensorProto.FLOAT
WIDTHS = {TensorProto.FLOAT: 4, TensorProto.INT64: 8, TensorProto.INT32: 4}


def info(name: str, *dims: int | str, element: int = F32) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, element, list(dims))


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
def test_real_models(path: Path) -> None:
    model = onnx.load(path)
    graph = model.graph
    said = to_json(summarize(read_onnx(str(path))))
    assert json.loads(json.dumps(said)) == said
    kinds = [f"onnx.{node.op_type}" for node in graph.node]
    assert said["by_op"] == {kind: kinds.count(kind) for kind in said["by_op"]}
    assert sum(said["by_op"].values()) == said["nodes"] == len(kinds)
    held = [*graph.initializer, *(a.t for n in graph.node if n.op_type == "Constant" for a in n.attribute)]
    assert said["literals"]["count"] == len(held)
    assert said["literals"]["bytes"] == sum(math.prod(t.dims) * WIDTHS[t.data_type] for t in held)
    names = {t.name for t in graph.initializer}
    inputs = [i for i in graph.input if i.name not in names]
    dims = [[d.dim_value for d in i.type.tensor_type.shape.dim] for i in inputs]
    assert said["parameters"]["bytes"] == sum(4 * math.prod(d) for d in dims)
    assert said["parameters"]["count"] == len(inputs)
    assert list(said["outputs"]["list"]) == [f"%{o.name}" for o in graph.output]
    assert said["ir_version"] == str(model.ir_version)
    assert said["opset"] == f"ai.onnx {model.opset_import[0].version}"
    assert (said["subgraphs"], said["functions"], said["dynamic_dimensions"]) == (0, 0, [])


def test_what_is_counted_where() -> None:
    weight = numpy_helper.from_array(np.ones(3, np.float32), "inner")
    branch = helper.make_graph(
        [helper.make_node("Add", ["x", "inner"], ["t"])], "t", [], [info("t", "n", 3)], [weight]
    )
    function = helper.make_function(
        "my", "f", ["a"], ["b"],
        [helper.make_node("Constant", [], ["c"], value_float=1.0), helper.make_node("Add", ["a", "c"], ["b"])],
        [helper.make_opsetid("", 18)],
    )  # fmt: skip
    far = TensorProto(name="far", data_type=F32, dims=[4], data_location=TensorProto.EXTERNAL)
    far.external_data.add(key="location", value="far.bin")
    nodes = [
        helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch),
        helper.make_node("f", ["y"], ["z"], domain="my"),
        helper.make_node("Clip", ["z", "", "top"], ["w"]),
        helper.make_node(
            "Constant", [], ["k"], value=helper.make_tensor("k", TensorProto.INT4, [3], [1, 2, 3])
        ),
    ]
    held = [
        numpy_helper.from_array(np.float32(1), "top"),
        helper.make_tensor("words", TensorProto.STRING, [2], ["é", "bcd"]),
        far,
        TensorProto(name="odd", data_type=77, dims=[2]),
    ]
    sparse = helper.make_sparse_tensor(
        helper.make_tensor("s", F32, [2], [1.0, 2.0]),
        helper.make_tensor("i", TensorProto.INT64, [2], [0, 9]),
        [1000],
    )
    inputs = [info("c", element=TensorProto.BOOL), info("x", "n", 3), info("u", 2, None), info("top")]
    graph = helper.make_graph(nodes, "g", inputs, [info("w", "n", 3)], held, sparse_initializer=[sparse])
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("my", 1)]
    model = helper.make_model(
        graph, functions=[function], opset_imports=imports, producer_name='a "b"', producer_version="2"
    )
    summary = summarize(program_of(model))
    assert summary.nodes == 6
    assert summary.by_op == {"onnx.If": 1, "onnx.Add": 2, "my.f": 1, "onnx.Clip": 1, "onnx.Constant": 1}
    assert (summary.functions, summary.function_nodes, summary.subgraphs) == (1, 2, 2)
    # top, words, far, odd, s, k, two of the branches and the function's constant
    assert summary.literals == 9
    assert summary.literal_bytes == 4 + 5 + 16 + (2 * 4 + 2 * 8) + 2 + 2 * 12 + 4
    assert (summary.unsized, summary.external) == (1, 1)
    assert summary.parameters == {"%c": 1, "%x": None, "%u": None}
    assert to_json(summary)["parameters"]["bytes"] == 1
    assert summary.outputs == {"%w": None}
    assert summary.dynamic == ["?", "n"]
    assert summary.header["opset"] == "ai.onnx 18, my 1"
    assert summary.header["producer"] == 'a "b" 2'
