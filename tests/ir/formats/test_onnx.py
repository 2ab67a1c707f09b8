"""ONNX models as programs: real graphs, every kind of scope, external data, damage, and back to models."""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from passlens.ir import edit
from passlens.ir.analysis.onnx_summary import summarize, to_json
from passlens.ir.errors import InputError
from passlens.ir.formats import print_program
from passlens.ir.formats.mlir import parse_mlir
from passlens.ir.formats.onnx import absent, literal_array, program_of, read_onnx
from passlens.ir.formats.onnx_attributes import attribute_of, attribute_text
from passlens.ir.formats.onnx_build import Steps, run
from passlens.ir.formats.onnx_types import type_of
from passlens.ir.formats.onnx_write import write_onnx
from passlens.ir.program import Block, Op, Program, Region, walk
from passlens.ir.trace import open_trace
from passlens.ir.types import DynamicShapeType, ShapeType, byte_size
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


def entry(program: Program) -> Block:
    return program.ops[0].regions[0].blocks[0]


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
def test_real_graphs_are_read_whole_and_written_back_the_same(path: Path) -> None:
    model = onnx.load(path)
    program = read_onnx(str(path))
    assert codes(program) == []
    assert verify(program) == []
    said = to_json(summarize(program))
    assert said["nodes"] == len(model.graph.node)
    assert said["literals"]["count"] == len(model.graph.initializer)
    assert write_onnx(touched(program)).SerializeToString() == model.SerializeToString()
    inferred = onnx.shape_inference.infer_shapes(model)
    assert len(list(walk(program))) == len(model.graph.node) + len(model.graph.initializer) + 2
    held = {t.name for t in model.graph.initializer}
    assert [a.name[1:] for a in entry(program).args] == [
        i.name for i in model.graph.input if i.name not in held
    ]
    dims = {i.name: [d.dim_value for d in i.type.tensor_type.shape.dim] for i in inferred.graph.value_info}
    assert len(dims) > 10
    lines = program.text.splitlines()
    assert len(lines) == len(list(walk(program))) + 1
    for op in walk(program):
        if op.name != "module":
            assert "\n" not in op.text
            assert f"{op.name}" in op.text.partition("(")[0]
            assert program.text[op.lead : op.start].isspace()
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
    clip = named(program, "onnx.Clip")
    assert [v.name for v in clip.operands] == ["%x", "%", "%hi"]
    assert clip.operands[1] is absent(program)
    assert clip.text == "%y = onnx.Clip(%x, %, %hi) : f32[2]"
    assert verify(program) == []
    assert summarize(program).nodes == 1
    assert program.ops[0].regions[0].blocks[0].ops[0].implicit  # onnx.none has a place and no text
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


@pytest.mark.parametrize(
    "location", ["../weights.bin", "/etc/passwd", "", "a/../w", "a\\..\\w", "C:\\w", "a\0b", "w" * 5000]
)
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


def whole() -> onnx.ModelProto:
    """A model with everything: an If in a Loop, a function, sparse and string weights, left-out inputs."""
    i64, bool_ = TensorProto.INT64, TensorProto.BOOL
    then = helper.make_graph([helper.make_node("Add", ["v_in", "w"], ["t"])], "then", [], [info("t", 2)],
                             [numpy_helper.from_array(np.ones(2, np.float32), "inner")])  # fmt: skip
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["e"])], "else", [], [info("e", 2)])
    body = helper.make_graph(
        [
            helper.make_node("If", ["c_in"], ["v_out"], then_branch=then, else_branch=other, name="branch"),
            helper.make_node("Identity", ["c_in"], ["c_out"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", i64, []),
            helper.make_tensor_value_info("c_in", bool_, []),
            info("v_in", 2),
        ],
        [helper.make_tensor_value_info("c_out", bool_, []), info("v_out", 2)],
    )
    nodes = [
        helper.make_node("Loop", ["trip", "", "x"], ["y"], body=body, name="loop"),
        helper.make_node("Clip", ["y", "", "high"], ["z"]),
        helper.make_node("twice", ["z"], ["q"], domain="my"),
        helper.make_node("Constant", [], ["k"], value=helper.make_tensor("k", i64, [1], [2])),
        helper.make_node("Reshape", ["q", "k"], ["r"], allowzero=0),
        helper.make_node("Dropout", ["r"], ["out", ""]),
    ]
    function = helper.make_function("my", "twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])],
                                    [helper.make_opsetid("", 18)])  # fmt: skip
    weights = [
        numpy_helper.from_array(np.array(3, np.int64), "trip"),
        numpy_helper.from_array(np.array([1, 2], np.float32), "w"),
        numpy_helper.from_array(np.float32(6), "high"),
        helper.make_tensor("words", TensorProto.STRING, [2], ["a", "bcd"]),
    ]
    sparse = helper.make_sparse_tensor(
        helper.make_tensor("sparse", F32, [1], [1.0]), helper.make_tensor("at", i64, [1], [3]), [10]
    )
    default = info("w", 2)
    graph = helper.make_graph(nodes, "whole", [info("x", 2), default], [info("out", 2)], weights,
                              sparse_initializer=[sparse], value_info=[info("z", 2)])  # fmt: skip
    graph.metadata_props.add(key="note", value="kept")
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("my", 1)]
    model = helper.make_model(
        graph, functions=[function], opset_imports=imports, ir_version=10, producer_name="us"
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def same(a: onnx.ModelProto, b: onnx.ModelProto) -> bool:
    return a.SerializeToString(deterministic=True) == b.SerializeToString(deterministic=True)


def touched(program: Program) -> Program:
    """The program, all of it marked as edited: the writer has to go through everything."""
    for op in walk(program):
        op.edited = True
    return program


def test_a_model_with_everything() -> None:
    model = whole()
    program = program_of(model)
    assert codes(program) == []
    assert verify(program) == []
    assert print_program(program) == program.text
    assert same(write_onnx(touched(program)), model)
    assert print_program(program) == program.text
    assert program_of(model).text == program.text
    loop, branch = named(program, "onnx.Loop"), named(program, "onnx.If")
    assert loop.attributes == {"body": "region 0"}
    assert branch.attributes == {"else_branch": "region 0", "then_branch": "region 1"}
    assert branch.parent is loop
    add = named(program, "onnx.Add")
    assert [v.name for v in add.operands] == ["%v_in", "%w"]
    assert add.operands[0].owner is loop.regions[0].blocks[0]
    assert add.operands[1].op is not None
    assert add.operands[1].op.parent is program.ops[0]
    assert add.results[0].type.text == "f32[2]"  # the types of inner values are told too
    assert [a.name for a in entry(program).args] == ["%x"]  # %w has a default
    assert named(program, "onnx.sparse_initializer").results[0].type.text == "f32[10]"
    assert program.text.splitlines()[:8] == [
        'module @"whole" {ir_version = 10, opset = "ai.onnx 18, my 1", producer = "us"}(%x: f32[2]) {',
        "  %trip = onnx.initializer {value = dense<[3]>} : i64[]",
        "  %w = onnx.initializer {value = dense<[1.0, 2.0]>} : f32[2]",
        "  %high = onnx.initializer {value = dense<[6.0]>} : f32[]",
        '  %words = onnx.initializer {value = dense<["a", "bcd"]>, bytes = 4} : string[2]',
        "  %sparse = onnx.sparse_initializer {value = sparse<dense<[1.0]> : f32[1], dense<[3]> : i64[1]>, bytes = 12} : f32[10]",
        "  %y = onnx.Loop(%trip, %, %x) body(%i: i64[], %c_in: i1[], %v_in: f32[2]) {",
        "    %v_out = onnx.If(%c_in) else_branch() {",
    ]  # fmt: skip


def test_a_graph_without_a_name_stays_so_until_it_gets_one() -> None:
    model = whole()
    model.graph.ClearField("name")
    program = program_of(model)
    assert program.ops[0].attributes["sym_name"] == '"graph"'
    assert same(write_onnx(touched(program)), model)
    edit.set_attribute(program.ops[0], "sym_name", '"other"')
    assert write_onnx(program).graph.name == "other"
    assert print_program(program).startswith('module @"other"')


def test_every_value_renamed_is_the_same_model_under_other_names() -> None:
    program = program_of(whole())
    before = [(op.name, len(op.operands), len(op.results)) for op in walk(program)]
    edit.rename_all(program)
    model = write_onnx(program)
    onnx.checker.check_model(model, full_check=True)
    assert model.graph.input[0].name.startswith("v")
    assert {i.name for i in model.graph.input} & {t.name for t in model.graph.initializer}
    again = program_of(model)
    assert [(op.name, len(op.operands), len(op.results)) for op in walk(again)] == before
    assert list(model.graph.node[0].input)[1] == ""
    assert "%x" not in again.text
    assert print_program(program) == again.text


def test_names_that_an_edit_makes_are_unique() -> None:
    program = program_of(whole())
    clip = named(program, "onnx.Clip")
    copy = edit.clone(clip)
    edit.insert_after(clip, copy)
    edit.replace_all_uses(clip.results[0], copy.results[0])
    edit.set_operand(copy, 0, clip.results[0])
    edit.rename(named(program, "onnx.Reshape").results[0], "%x")  # another value's name
    model = write_onnx(program)
    onnx.checker.check_model(model, full_check=True)
    kinds = [n.op_type for n in model.graph.node]
    assert kinds.count("Clip") == 2
    first, second = (n for n in model.graph.node if n.op_type == "Clip")
    assert second.input[0] == first.output[0] != second.output[0]


def test_edits_inside_subgraphs_functions_and_literals() -> None:
    program = program_of(whole())
    inner = named(program, "onnx.Add")
    new = edit.create("onnx.Mul", inner.operands, [inner.results[0].type], before=inner)
    edit.replace_all_uses(inner.results[0], new.results[0])
    edit.erase(inner)
    in_function = next(op for op in walk(program.ops[1]) if op.name == "onnx.Add")
    double = edit.create("onnx.Relu", in_function.results, [in_function.results[0].type], names=["%c"],
                         before=program.ops[1].regions[0].blocks[0].ops[-1])  # fmt: skip
    edit.set_operand(program.ops[1].regions[0].blocks[0].ops[-1], 0, double.results[0])
    weights = [op for op in walk(program) if op.name == "onnx.initializer"]
    unused = next(op for op in weights if op.results[0].name == "%words")
    edit.erase(unused)
    edit.erase(named(program, "onnx.sparse_initializer"))
    edit.set_attribute(weights[1], "value", "dense<[5, 6.5]>")
    edit.set_attribute(named(program, "onnx.Reshape"), "allowzero", "1")
    fresh = edit.create("onnx.initializer", [], [ShapeType("f32[]", "f32", (), ())], {"value": "dense<[0.5]>"},
                        before=named(program, "onnx.Loop"))  # fmt: skip
    edit.set_operand(named(program, "onnx.Clip"), 1, fresh.results[0])
    model = write_onnx(program)
    onnx.checker.check_model(model, full_check=True)
    assert [t.name for t in model.graph.initializer] == ["trip", "w", "high", "v"]
    assert numpy_helper.to_array(model.graph.initializer[1]).tolist() == [5, 6.5]
    assert not model.graph.sparse_initializer
    assert [n.op_type for n in model.functions[0].node] == ["Add", "Relu"]
    assert list(model.functions[0].output) == ["c"]
    reshape = next(n for n in model.graph.node if n.op_type == "Reshape")
    assert reshape.attribute[0].i == 1
    text = print_program(program)
    assert "onnx.Mul(%v_in, %w)" in text
    assert "%words" not in text
    assert "%words" in program.text


def test_inputs_and_outputs_can_be_added_and_taken() -> None:
    program = program_of(whole())
    block = entry(program)
    extra = edit.insert_argument(block, 0, DynamicShapeType("f16[n]", "f16", ("n",)), "%extra")
    edit.append_operand(block.ops[-1], extra)
    edit.append_operand(block.ops[-1], named(program, "onnx.Clip").results[0])
    model = write_onnx(program)
    onnx.checker.check_model(model, full_check=True)
    assert [i.name for i in model.graph.input] == ["extra", "w", "x"] or [
        i.name for i in model.graph.input
    ] == ["extra", "x", "w"]
    assert [o.name for o in model.graph.output] == ["out", "extra", "z"]
    assert model.graph.output[1].type.tensor_type.shape.dim[0].dim_param == "n"
    edit.erase_operand(block.ops[-1], 1)
    edit.erase_argument(block, 0)
    edit.erase_operand(block.ops[-1], 1)
    assert same(write_onnx(program), whole())


def test_a_node_with_regions_can_be_made() -> None:
    program = program_of(whole())
    loop = named(program, "onnx.Loop")
    cond = edit.create(
        "onnx.Constant", [], [ShapeType("i1[]", "i1", (), ())], {"value": "dense<[true]> : i1[]"}, before=loop
    )
    regions = []
    for kind in ("onnx.Relu", "onnx.Neg"):
        region = Region()
        block = Block(region)
        region.blocks.append(block)
        made = edit.create(kind, [entry(program).args[0]], [entry(program).args[0].type], block=block)
        edit.create("onnx.return", made.results, block=block)
        regions.append(region)
    branch = edit.create("onnx.If", cond.results, [entry(program).args[0].type],
                         {"then_branch": "region 0", "else_branch": "region 1"}, regions=regions, before=loop)  # fmt: skip
    edit.set_operand(loop, 2, branch.results[0])
    model = write_onnx(program)
    onnx.checker.check_model(model, full_check=True)
    made = next(n for n in model.graph.node if n.op_type == "If")
    assert {a.name: a.g.node[0].op_type for a in made.attribute} == {
        "then_branch": "Relu",
        "else_branch": "Neg",
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [("alpha", '"a'), ("alpha", "[1, x]"), ("value", "dense<… #12345678> : f32[99]"), ("alpha", "")],
)
def test_an_attribute_that_is_no_value_is_refused(tmp_path: Path, name: str, text: str) -> None:
    program = read_onnx(small(tmp_path))
    edit.set_attribute(named(program, "onnx.Relu"), name, text)
    with pytest.raises(InputError, match=name):
        write_onnx(program)


def test_a_model_without_its_graph_is_refused_and_without_a_function_is_not() -> None:
    program = program_of(whole())
    edit.erase(program.ops[1])
    assert not write_onnx(program).functions
    edit.erase(program.ops[0])
    with pytest.raises(InputError, match="module"):
        write_onnx(program)


def test_a_use_of_a_value_that_is_gone_is_refused(tmp_path: Path) -> None:
    program = read_onnx(small(tmp_path))
    stray = edit.create("onnx.Relu", [], [named(program, "onnx.Relu").results[0].type], names=["%stray"])
    edit.set_operand(named(program, "onnx.Relu"), 0, stray.results[0])
    with pytest.raises(InputError, match="stray"):
        write_onnx(program)


@pytest.mark.parametrize(
    "name",
    ["a b", 'q"\\', "x\ny", "\x1b[31m", "é/ü:0", "%", "[red]", "\u202e", "名前", "a" * 3000, "a:"],
    ids=range(11),
)
def test_names_of_any_kind_stay_on_their_line(name: str) -> None:
    node = helper.make_node(name, [name], [name + "!"], name=name, domain=name)
    graph = helper.make_graph([node], name, [info(name, 2)], [info(name + "!", 2)])
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid(name, 1)]
    )
    program = program_of(model)
    assert len(program.text.splitlines()) == 4
    assert all(c.isprintable() or c == "\n" for c in program.text)
    assert codes(program) == []
    assert same(write_onnx(touched(program)), model)
    edit.rename_all(program)
    back = write_onnx(program).graph
    assert [back.node[0].op_type, back.node[0].domain, back.name] == [name, name, name]
    assert back.node[0].output[0] == back.output[0].name != name + "!"


def test_names_that_are_not_utf_8_are_shown(tmp_path: Path) -> None:
    raw = Path(small(tmp_path)).read_bytes().replace(b"first", b"fi\xff\xfet").replace(b"\x01y", b"\x01\xf9")
    program = program_of(onnx.ModelProto.FromString(raw))
    assert '%"\\xf9" = onnx.MatMul' in program.text
    assert 'loc("fi\\xff\\xfet")' in program.text
    program.text.encode()
    assert write_onnx(program).SerializeToString() == raw
    edit.rename(named(program, "onnx.Relu").results[0], "%last")
    nodes = write_onnx(program).graph.node  # bytes that are no text cannot be written: escaped, everywhere
    assert nodes[0].output[0] == nodes[1].input[0] == "\\xf9"


ATTRIBUTES: list[tuple[object, str]] = [
    (3, "3"), (0.1, "0.1"), ("a\nb", '"a\\nb"'), ([1, 2], "[1, 2]"), ([0.5, 2.0], "[0.5, 2.0]"), (["a,", '"'], '["a,", "\\""]'),
    (helper.make_tensor("t", TensorProto.INT64, [2], [1, 2]), "dense<[1, 2]> : i64[2]"),
    (helper.make_tensor("t", TensorProto.BOOL, [1], [1]), "dense<[true]> : i1[1]"),
    (helper.make_tensor("t", TensorProto.STRING, [1], ["a b"]), 'dense<["a b"]> : string[1]'),
    (helper.make_tensor_type_proto(F32, [2, "n"]), "type<f32[2xn]>"),
    (float("inf"), "inf"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "text"), ATTRIBUTES, ids=[text for _, text in ATTRIBUTES])
def test_attributes_as_text_and_back(value: object, text: str) -> None:
    attribute = helper.make_attribute("a", value)
    assert attribute_text(attribute) == text
    if not text.startswith("type<"):
        again = attribute_of("a", text)
        assert again.type == attribute.type
        assert attribute_text(again) == text
        assert helper.get_attribute_value(again) == helper.get_attribute_value(attribute) or "dense" in text


def test_long_values_are_cut_and_told_apart() -> None:
    first = attribute_text(helper.make_attribute("a", list(range(1000))))
    other = attribute_text(helper.make_attribute("a", [*range(999), 5]))
    assert len(first) < 100
    assert first != other
    data = np.zeros(100_000, np.float32)
    weight = attribute_text(helper.make_attribute("a", numpy_helper.from_array(data)))
    data[-1] = 1
    assert len(weight) < 100
    assert weight != attribute_text(helper.make_attribute("a", numpy_helper.from_array(data)))


def test_types_of_all_kinds() -> None:
    sequence = helper.make_sequence_type_proto(helper.make_tensor_type_proto(F32, ["n"]))
    assert type_of(helper.make_optional_type_proto(sequence)).text == "optional(seq(f32[n]))"
    assert type_of(helper.make_tensor_type_proto(F32, None)).text == "f32[*]"
    assert type_of(helper.make_map_type_proto(TensorProto.INT64, sequence)).text == "map<i64>(seq(f32[n]))"
    assert type_of(helper.make_sparse_tensor_type_proto(F32, [2])).text == "sparse(f32[2])"
    assert type_of(onnx.TypeProto()).text == "?"
    numbers = [n for n in TensorProto.DataType.values() if n]
    sizes = {n: byte_size(type_of(helper.make_tensor_type_proto(n, [16]))) for n in numbers}
    assert sizes.pop(TensorProto.STRING) is None
    for number, size in sizes.items():
        name = TensorProto.DataType.Name(number)
        packed = helper.make_tensor("t", number, [16], [0] * 16)
        raw = numpy_helper.from_array(numpy_helper.to_array(packed)).raw_data
        # The package keeps six bits in a byte of their own; the format packs four of them into three bytes.
        assert size == (12 if name.startswith("FLOAT6") else len(raw)), name


def fault(nodes: list[onnx.NodeProto], **more: object) -> list[str]:
    return sorted(
        set(
            codes(
                program_of(
                    helper.make_model(helper.make_graph(nodes, "g", [info("x", 2)], [info("y", 2)], **more))
                )
            )
        )
    )


def test_an_unsorted_graph_is_no_cycle() -> None:
    nodes = [helper.make_node("Relu", ["h"], ["y"]), helper.make_node("Relu", ["x"], ["h"])]
    assert fault(nodes) == ["use-before-definition"]
    inner = helper.make_graph([helper.make_node("Relu", ["y"], ["t"])], "t", [], [info("t", 2)])
    assert fault([helper.make_node("If", ["x"], ["y"], then_branch=inner, else_branch=inner)]) == [
        "cyclic-graph"
    ]


def test_faults_of_nodes_and_tensors() -> None:
    assert fault([helper.make_node("Add", ["x"], ["y"])]) == ["missing-input"]
    assert fault([helper.make_node("Add", ["x", ""], ["y"])]) == ["missing-input"]
    assert fault([helper.make_node("Cast", ["x"], ["y"])]) == ["missing-attribute"]
    assert fault([helper.make_node("LeakyRelu", ["x"], ["y"], alpha=1)]) == ["attribute-type"]
    odd = helper.make_node("LeakyRelu", ["x"], ["y"], alpha=1.0)
    odd.attribute[0].ClearField("f")
    odd.attribute[0].ints.append(1)
    assert fault([odd]) == ["attribute-type"]
    relu = [helper.make_node("Relu", ["x"], ["y"])]
    assert fault(relu, initializer=[TensorProto(name="w", data_type=77, dims=[2], raw_data=b"ab")]) == [
        "unknown-element-type"
    ]
    assert fault(relu, initializer=[TensorProto(name="w", data_type=1, dims=[2], raw_data=b"ab")]) == [
        "tensor-size"
    ]
    assert fault(relu, initializer=[TensorProto(name="w", data_type=1, dims=[-2], raw_data=b"ab")]) == [
        "tensor-size"
    ]
    assert fault(relu, initializer=[TensorProto(name="w", data_type=1, dims=[1 << 40] * 10_000)]) == []


def test_faults_of_a_kind_are_counted() -> None:
    nodes = [helper.make_node("Relu", [f"u{i}"], [f"y{i}"]) for i in range(200)]
    program = program_of(helper.make_model(helper.make_graph(nodes, "g", [], [info("y0", 2)])))
    assert sum(d.count for d in program.diagnostics if d.code == "undefined-value") == 200
    assert len(program.diagnostics) == 51


def nested(depth: int) -> bytes:
    """A model of `depth` graphs in one another, written by hand: protobuf itself would not."""

    def field(number: int, content: bytes) -> bytes:
        head, size = bytes([number << 3 | 2]), len(content)
        while size > 127:
            head += bytes([size & 127 | 128])
            size >>= 7
        return head + bytes([size]) + content

    graph = b""
    for _ in range(depth):
        attribute = field(1, b"then_branch") + field(6, graph) + bytes([0xA0, 1, 5])
        node = field(1, b"c") + field(2, b"y") + field(4, b"If") + field(5, attribute)
        graph = field(1, node) + field(12, field(1, b"y"))
    return b"\x08\x08" + field(7, graph)


def test_nesting(tmp_path: Path) -> None:
    program = read_onnx("deep.onnx", nested(32))
    assert sum(op.name == "onnx.If" for op in walk(program)) == 32
    assert len(write_onnx(program).SerializeToString()) == len(
        onnx.ModelProto.FromString(nested(32)).SerializeToString()
    )
    path = tmp_path / "deep.onnx"
    path.write_bytes(nested(2000))
    with pytest.raises(InputError, match="nested deeper"):
        read_onnx(str(path))


def test_the_builder_does_not_recurse() -> None:
    def deep(depth: int) -> Steps:
        if depth:
            yield deep(depth - 1)

    run(deep(100_000))


def test_functions_that_call_each_other_without_end_or_measure() -> None:
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("my", 1)]
    functions = []
    for i in range(60):
        callee = f"f{i + 1}" if i < 59 else "f59"  # the last one calls itself
        nodes = [
            helper.make_node(callee, ["a"], ["t"], domain="my"),
            helper.make_node(callee, ["t"], ["b"], domain="my"),
        ]
        functions.append(helper.make_function("my", f"f{i}", ["a"], ["b"], nodes, imports))
    node = helper.make_node("f0", ["x"], ["h"], domain="my")
    nodes = [node, helper.make_node("Relu", ["x"], ["y"])]
    model = helper.make_model(
        helper.make_graph(nodes, "g", [info("x", 2)], [info("y", 2)]),
        functions=functions,
        opset_imports=imports,
    )
    for last in (None, 59):
        if last is not None:
            functions[last].node[0].domain = functions[last].node[1].domain = ""
        program = program_of(model)
        assert len(program.ops) == 61
        assert named(program, "onnx.Relu").results[0].type.text == "f32[2]"


def test_long_vectors_do_not_take_all_memory() -> None:
    nodes = [helper.make_node("Add", ["x", "x"], ["s"]), helper.make_node("Reshape", ["s", "n"], ["y"])]
    vector = helper.make_tensor_value_info("x", TensorProto.INT64, [1 << 40])
    n = helper.make_tensor_value_info("n", TensorProto.INT64, ["k"])
    program = program_of(helper.make_model(helper.make_graph(nodes, "g", [vector, n], [info("y", 2)])))
    assert named(program, "onnx.Add").results[0].type.text == f"i64[{1 << 40}]"


def test_shapes_are_followed_through_shape_computations() -> None:
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Concat", ["s", "one"], ["t"], axis=0),
             helper.make_node("Reshape", ["x", "t"], ["y"])]  # fmt: skip
    one = numpy_helper.from_array(np.array([1], np.int64), "one")
    output = helper.make_tensor_value_info("y", F32, None)
    program = program_of(helper.make_model(helper.make_graph(nodes, "g", [info("x", 2, 3)], [output], [one])))
    assert named(program, "onnx.Reshape").results[0].type.text == "f32[2x3x1]"


def test_weights_are_read_when_asked_for(tmp_path: Path) -> None:
    program = read_onnx(small(tmp_path))
    assert literal_array(named(program, "onnx.initializer")).tolist() == np.arange(12).reshape(3, 4).tolist()
    with pytest.raises(InputError, match="holds no tensor"):
        literal_array(named(program, "onnx.Relu"))
    model = onnx.load(str(tmp_path / "m.onnx"))
    model.graph.initializer[0].raw_data = b"abc"
    with pytest.raises(InputError, match="%w"):
        literal_array(named(program_of(model), "onnx.initializer"))


def test_external_weights_are_mapped_when_asked_for(tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(np.arange(4, dtype=np.float32).tobytes())
    assert literal_array(named(external(tmp_path, "weights.bin"), "onnx.initializer")).tolist() == [
        0,
        1,
        2,
        3,
    ]
    (tmp_path / "weights.bin").write_bytes(b"short")
    program = external(tmp_path, "weights.bin")
    assert codes(program) == ["external-data-range"]
    with pytest.raises(InputError, match="of a file of 5 bytes"):
        literal_array(named(program, "onnx.initializer"))
    for location in ("../m.onnx", "gone"):
        with pytest.raises(InputError, match=r"folder|not there"):
            literal_array(named(external(tmp_path, location), "onnx.initializer"))


def test_external_data_of_constants_and_subgraphs_is_looked_at(tmp_path: Path) -> None:
    tensor = TensorProto(name="k", data_type=F32, dims=[4], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="../out")
    node = helper.make_node("Constant", [], ["y"], value=tensor)
    inner = helper.make_graph([], "t", [], [info("k", 4)], [tensor])
    branch = helper.make_node("If", ["x"], ["z"], then_branch=inner, else_branch=inner)
    assert fault([node]) == ["external-data-outside"]
    assert fault([node, branch]) == ["external-data-outside"]
    program = program_of(helper.make_model(helper.make_graph([node], "g", [], [info("y", 4)])))
    assert "dense<external>" in named(program, "onnx.Constant").text


def test_a_compressed_model_opens_as_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx.gz"
    path.write_bytes(gzip.compress(Path(small(tmp_path)).read_bytes()))
    assert open_trace(str(path)).text(0) == open_trace(str(tmp_path / "m.onnx")).text(0)


def test_what_is_no_file_is_said(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.onnx"):
        with pytest.raises(InputError, match=tmp_path.name):
            read_onnx(str(path))
    large = tmp_path / "large.onnx"
    with large.open("wb") as file:
        file.truncate(1 << 32)  # a sparse file: takes no space
    with pytest.raises(InputError, match="2 GiB"):
        read_onnx(str(large))


def test_a_program_that_came_from_no_model_is_not_written() -> None:
    with pytest.raises(TypeError, match="ONNX"):
        write_onnx(parse_mlir("module {}", "x.mlir"))


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_damaged_models_are_read_or_refused(data: st.DataObject) -> None:
    raw = bytearray(whole().SerializeToString())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at] = data.draw(st.integers(0, 255))
    try:
        program = read_onnx("damaged.onnx", bytes(raw))
    except InputError as error:
        assert "damaged.onnx" in str(error)
        return
    program.text.encode()
    to_json(summarize(program))
    assert not [d for d in verify(program) if d.code == "broken-chain"]
    if "\\x" not in program.text:
        assert same(write_onnx(touched(program)), onnx.ModelProto.FromString(bytes(raw)))


def _drop(model: onnx.ModelProto, at: int) -> None:
    nodes = model.graph.node
    del nodes[at % len(nodes)]


def _double(model: onnx.ModelProto, at: int) -> None:
    model.graph.node.append(model.graph.node[at % len(model.graph.node)])


def _swap(model: onnx.ModelProto, at: int) -> None:
    nodes = list(model.graph.node)
    nodes.append(nodes.pop(at % len(nodes)))
    copies = [onnx.NodeProto.FromString(n.SerializeToString()) for n in nodes]
    del model.graph.node[:]
    model.graph.node.extend(copies)


def _rewire(model: onnx.ModelProto, at: int) -> None:
    node = model.graph.node[at % len(model.graph.node)]
    if node.input:
        node.input[at % len(node.input)] = ["x", "y", "z", "out", "nowhere", "t", ""][at % 7]


def _twin(model: onnx.ModelProto, at: int) -> None:
    node = model.graph.node[at % len(model.graph.node)]
    if node.attribute:
        node.attribute.append(node.attribute[at % len(node.attribute)])


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([_drop, _double, _swap, _rewire, _twin]), st.integers(0, 30)),
        min_size=1,
        max_size=6,
    )
)
def test_graphs_wired_wrongly_are_told_and_written_back(
    changes: list[tuple[Callable[[onnx.ModelProto, int], None], int]],
) -> None:
    model = whole()
    for change, at in changes:
        if model.graph.node:
            change(model, at)
    program = program_of(model)
    told = {d.code for d in program.diagnostics}
    for problem in verify(program):
        assert problem.code in ("undefined-value", "use-before-definition")
        assert told & {"undefined-value", "use-before-definition", "cyclic-graph"}
    assert same(write_onnx(touched(program)), model)


def test_a_value_used_very_often_is_verified_in_time() -> None:
    node = helper.make_node("Sum", ["x"] * 30_000, ["y"])
    program = program_of(helper.make_model(helper.make_graph([node], "g", [info("x", 2)], [info("y", 2)])))
    started = time.perf_counter()
    assert verify(program) == []
    assert time.perf_counter() - started < 2  # 6 s and more when each use is looked for in a list
    entry(program).args[0].uses.pop()
    assert [d.code for d in verify(program)] == ["broken-chain"]
