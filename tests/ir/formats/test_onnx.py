"""ONNX models as programs: real graphs, every kind of scope, external data, damage, and back to models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from passlens.ir import edit
from passlens.ir.analysis.onnx_summary import summarize, to_json
from passlens.ir.errors import InputError
from passlens.ir.formats.onnx import read_onnx
from passlens.ir.formats.onnx_write import write_onnx
from passlens.ir.program import Op, Program, walk
from passlens.ir.trace import open_trace
from passlens.ir.types import DynamicShapeType, byte_size
from passlens.ir.verify import verify

LIGHT = sorted((Path(onnx.__file__).parent / "backend/test/data/light").glob("*.onnx"))
F32 = TensorProto.FLOAT


def info(name: str, *dims: int | str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, F32, list(dims))


def save(tmp_path: Path, graph: onnx.GraphProto, **more: object) -> str:
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8, **more)
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    return str(path)


def small(tmp_path: Path) -> str:
    weight = numpy_helper.from_array(np.arange(12, dtype=np.float32).reshape(3, 4), "w")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["y"], name="first"),
        helper.make_node("Relu", ["y"], ["z"]),
    ]
    return save(tmp_path, helper.make_graph(nodes, "g", [info("x", 2, 3)], [info("z", 2, 4)], [weight]))


def named(program: Program, name: str) -> Op:
    return next(op for op in walk(program) if op.name == name)


def codes(program: Program) -> list[str]:
    return [d.code for d in program.diagnostics]


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
def test_real_graphs_are_read_whole_and_written_back_the_same(path: Path) -> None:
    model = onnx.load(path)
    program = read_onnx(str(path))
    assert codes(program) == []
    said = to_json(summarize(program))
    assert said["nodes"] == len(model.graph.node)
    assert said["literals"]["count"] == len(model.graph.initializer)
    assert write_onnx(program).SerializeToString() == model.SerializeToString()
    inferred = onnx.shape_inference.infer_shapes(model)
    dims = {i.name: [d.dim_value for d in i.type.tensor_type.shape.dim] for i in inferred.graph.value_info}
    for op in walk(program):
        assert program.text[op.start : op.end] == op.text
        for value in op.results:
            if all(dims.get(value.name[1:], [0])):
                assert list(value.type.lens) == dims[value.name[1:]]  # type: ignore[attr-defined]  # static shapes


def test_a_small_model(tmp_path: Path) -> None:
    program = read_onnx(small(tmp_path))
    product = named(program, "onnx.MatMul")
    assert [v.name for v in product.operands] == ["%x", "%w"]
    assert product.results[0].type.text == "f32[2x4]"
    assert product.text == '%y = onnx.MatMul(%x, %w) : f32[2x4] loc("first")'
    assert byte_size(named(program, "onnx.initializer").results[0].type) == 48
    assert named(program, "onnx.return").operands == named(program, "onnx.Relu").results
    assert verify(program) == []


def test_it_opens_as_a_trace(tmp_path: Path) -> None:
    trace = open_trace(small(tmp_path))
    assert [s.format for s in trace.snapshots] == ["onnx"]
    assert trace.text(0).startswith('module @"g" {ir_version = 8')


def test_subgraphs_see_the_values_around_them(tmp_path: Path) -> None:
    then = helper.make_graph([helper.make_node("Add", ["x", "x"], ["t"])], "then", [], [info("t", 2)])
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["e"])], "else", [], [info("e", 2)])
    node = helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)
    cond = helper.make_tensor_value_info("c", TensorProto.BOOL, [])
    path = save(tmp_path, helper.make_graph([node], "g", [cond, info("x", 2)], [info("y", 2)]))
    program = read_onnx(path)
    branch = named(program, "onnx.If")
    assert len(branch.regions) == 2
    add = named(program, "onnx.Add")
    assert add.parent is branch
    assert add.operands[0].name == "%x"
    assert add.operands[0].owner is program.ops[0].regions[0].blocks[0]
    assert codes(program) == []
    assert summarize(program).subgraphs == 2
    onnx.checker.check_model(write_onnx(program))


def test_left_out_inputs_keep_their_place(tmp_path: Path) -> None:
    node = helper.make_node("Clip", ["x", "", "hi"], ["y"])
    high = numpy_helper.from_array(np.float32(1), "hi")
    program = read_onnx(
        save(tmp_path, helper.make_graph([node], "g", [info("x", 2)], [info("y", 2)], [high]))
    )
    assert [v.name for v in named(program, "onnx.Clip").operands] == ["%x", "%", "%hi"]
    assert list(write_onnx(program).graph.node[0].input) == ["x", "", "hi"]


def test_open_dimensions(tmp_path: Path) -> None:
    node = helper.make_node("Relu", ["x"], ["y"])
    program = read_onnx(
        save(tmp_path, helper.make_graph([node], "g", [info("x", "batch", 3)], [info("y", "batch", 3)]))
    )
    type = named(program, "onnx.Relu").results[0].type
    assert isinstance(type, DynamicShapeType)
    assert type.dims == ("batch", (3, 3))
    assert summarize(program).dynamic == ["batch"]


def test_functions_are_listed(tmp_path: Path) -> None:
    function = helper.make_function("my", "twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])],
                                    [helper.make_opsetid("", 18)])  # fmt: skip
    node = helper.make_node("twice", ["x"], ["y"], domain="my")
    path = save(
        tmp_path, helper.make_graph([node], "g", [info("x", 2)], [info("y", 2)]), functions=[function]
    )
    program = read_onnx(path)
    assert [op.attributes["sym_name"] for op in program.ops] == ['"g"', '"my.twice"']
    assert named(program, "my.twice").operands[0].name == "%x"


def external(tmp_path: Path, location: str) -> Program:
    tensor = TensorProto(name="w", data_type=F32, dims=[4], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    node = helper.make_node("Add", ["x", "w"], ["y"])
    return read_onnx(save(tmp_path, helper.make_graph([node], "g", [info("x", 4)], [info("y", 4)], [tensor])))


def test_external_data(tmp_path: Path) -> None:
    assert codes(external(tmp_path, "weights.bin")) == ["external-data-missing"]
    (tmp_path / "weights.bin").write_bytes(b"\0" * 16)
    program = external(tmp_path, "weights.bin")
    assert codes(program) == []
    assert summarize(program).external == 1
    assert byte_size(named(program, "onnx.initializer").results[0].type) == 16


@pytest.mark.parametrize("location", ["../weights.bin", "/etc/passwd", ""])
def test_external_data_outside_the_folder_is_not_followed(tmp_path: Path, location: str) -> None:
    assert codes(external(tmp_path, location)) == ["external-data-outside"]


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    inside = tmp_path / "model"
    inside.mkdir()
    (tmp_path / "secret").write_bytes(b"x")
    (inside / "w.bin").symlink_to(tmp_path / "secret")
    assert codes(external(inside, "w.bin")) == ["external-data-outside"]


@pytest.mark.parametrize("content", [b"\x08\x08\xff\xff\xff", b"\x08\x08", b"hello", b"\x00" * 64])
def test_what_is_no_model_is_said(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "m.onnx").write_bytes(content)
    with pytest.raises(InputError, match=r"m\.onnx"):
        read_onnx(str(tmp_path / "m.onnx"))


def test_truncated_models_never_raise_anything_else(tmp_path: Path) -> None:
    raw = Path(small(tmp_path)).read_bytes()
    for cut in range(0, len(raw), 3):
        (tmp_path / "t.onnx").write_bytes(raw[:cut])
        try:
            read_onnx(str(tmp_path / "t.onnx"))
        except InputError as error:
            assert "t.onnx" in str(error)


def test_faults_of_a_graph_are_told(tmp_path: Path) -> None:
    nodes = [helper.make_node("Add", ["b", "nowhere"], ["a"]), helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("Relu", ["a"], ["a"])]  # fmt: skip
    program = read_onnx(save(tmp_path, helper.make_graph(nodes, "g", [], [info("b", 2)])))
    assert {"cyclic-graph", "undefined-value", "duplicate-name"} <= set(codes(program))


def test_edits_are_written_back_as_a_valid_model(tmp_path: Path) -> None:
    program = read_onnx(small(tmp_path))
    relu, back = named(program, "onnx.Relu"), named(program, "onnx.return")
    product = named(program, "onnx.MatMul")
    edit.set_operand(back, 0, product.results[0])
    edit.erase(relu)
    new = edit.create(
        "onnx.LeakyRelu", product.results, [product.results[0].type], {"alpha": "0.5"}, before=back
    )
    edit.set_operand(back, 0, new.results[0])
    edit.rename(product.results[0], "%hidden")
    model = write_onnx(program)
    onnx.checker.check_model(model)
    assert [n.op_type for n in model.graph.node] == ["MatMul", "LeakyRelu"]
    assert model.graph.node[1].input[0] == "hidden"
    assert model.graph.node[1].attribute[0].f == 0.5
