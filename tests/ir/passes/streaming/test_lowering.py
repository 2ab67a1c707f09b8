"""Models lowered to GPU programs compute what ONNX Runtime computes, and read back as they were written."""

import re
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import (
    LIGHT,
    LIGHT_NAMES,
    Builder,
    bert,
    efficientnet,
    gpt,
    inputs_of,
    light,
    mobilenet_v2,
    resnet50_v2,
    vision_transformer,
)
from passlens.backends.reference import run_reference
from passlens.ir.analysis.migraphx_summary import main_body
from passlens.ir.analysis.verify_plan import verify_plan
from passlens.ir.errors import InputError
from passlens.ir.formats.migraphx import parse_migraphx
from passlens.ir.formats.migraphx_print import print_migraphx
from passlens.ir.formats.onnx import program_of
from passlens.ir.passes.step import Debugger
from passlens.ir.passes.streaming.lower.importer import HANDLERS
from passlens.ir.passes.streaming.lower.lower import PHASES, Lowered, LoweringPass, empty_program, lower

onnxruntime = pytest.importorskip("onnxruntime")

TINY_BERT = {"layers": 2, "width": 64, "heads": 4, "words": 128, "longest": 64}
MODELS = {
    "mobilenet_v2": lambda: mobilenet_v2(size=96),
    "resnet50_v2": lambda: resnet50_v2(size=64, width=32),
    "bert": lambda: bert(**TINY_BERT),
    "efficientnet": efficientnet,
    "vision_transformer": vision_transformer,
    "gpt": lambda: gpt(layers=2, width=64, heads=4, words=256, length=16),
    **{f"light_{name}": lambda name=name: light(name) for name in LIGHT_NAMES},
}
LARGE = {
    "light_vgg19",
    "light_bvlc_alexnet",
    "light_zfnet512",
    "light_densenet121",
    "light_inception_v2",
    "light_inception_v1",
}
DIMS = {
    "bert": {"batch": 2, "sequence": 17},
    "mobilenet_v2": {"batch": 2},
    "vision_transformer": {"batch": 3},
}


@cache
def model(name: str) -> onnx.ModelProto:
    return MODELS[name]()


def expected(model: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, inputs)


def assert_same(made: list[np.ndarray], wanted: list[np.ndarray], tolerance: float = 1e-4) -> None:
    assert len(made) == len(wanted)
    for mine, theirs in zip(made, wanted, strict=True):
        assert mine.size == theirs.size and mine.dtype == theirs.dtype
        largest = np.abs(theirs.astype(np.float64)).max(initial=1e-30)
        assert (
            np.abs(mine.reshape(theirs.shape).astype(np.float64) - theirs).max(initial=0.0)
            <= tolerance * largest
        )


def run(lowered: Lowered, inputs: dict[str, np.ndarray], **options: object) -> list[np.ndarray]:
    given = {lowered.inputs[name]: array for name, array in inputs.items()}
    return run_reference(lowered.program, lowered.literals, given, **options)


def kernels(lowered: Lowered) -> Counter[str]:
    return Counter(
        op.attributes.get("symbol_name", op.name)
        for op in main_body(lowered.program)
        if op.name.startswith("gpu::")
    )


def check(name: str) -> None:
    dims = DIMS.get(name, {})
    inputs = inputs_of(model(name), dims)
    lowered = lower(model(name), dims)
    text = print_migraphx(lowered.program)
    again = parse_migraphx(text)
    assert not again.diagnostics
    assert print_migraphx(again) == text
    lowered.program = again
    made = run(lowered, inputs)
    assert_same(made, expected(model(name), inputs))
    assert all(np.ptp(each.astype(np.float64)) > 0 for each in made)
    assert not verify_plan(again, again)


@pytest.mark.parametrize("name", sorted(set(MODELS) - LARGE))
def test_models_compute_what_they_should(name: str) -> None:
    check(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(LARGE))
def test_large_models_compute_what_they_should(name: str) -> None:
    check(name)


@pytest.mark.slow
def test_bert_base_computes_what_it_should() -> None:
    whole, dims = bert(), {"batch": 1, "sequence": 128}
    inputs = inputs_of(whole, dims)
    lowered = lower(whole, dims, streamed=True)
    assert sum(array.nbytes for array in lowered.literals.values()) > 435_000_000
    assert_same(run(lowered, inputs), expected(whole, inputs))


@pytest.mark.parametrize("name", ["light_squeezenet", "gpt"])
def test_streamed_and_resident_weights_give_the_same(name: str) -> None:
    inputs = inputs_of(model(name))
    resident, streamed = lower(model(name)), lower(model(name), streamed=True)
    assert {op.name for op in main_body(resident.program)}.isdisjoint({"hip::copy_to_gpu", "@literal"})
    copies = [op for op in main_body(streamed.program) if op.name == "hip::copy_to_gpu"]
    assert len(copies) == len(streamed.literals) == len(resident.literals)
    assert not verify_plan(streamed.program, streamed.program, steady=False)
    for mine, theirs in zip(run(resident, inputs), run(streamed, inputs, runs=2), strict=True):
        assert np.array_equal(mine, theirs)


def test_kernels_of_the_seed_are_made_again() -> None:
    """The seed dump's ResNet-50 normalizes before it convolves: 70 kernels and one pooling."""
    found = kernels(lower(model("resnet50_v2")))
    assert sum(found.values()) == 70
    assert found["mlir_convolution_add_relu"] == 33
    assert found["mul_add_relu_kernel"] == 13
    assert found["mlir_convolution_add"] == 12
    assert found["mlir_reshape_dot_add"] == 1
    assert found["gpu::pooling"] == 1
    assert found["add_mul_add_relu_reduce_mean_kernel"] == 1


def test_norms_go_into_convolutions() -> None:
    found = kernels(lower(model("light_resnet50")))
    assert found["mlir_convolution_add_relu"] == 33
    # The offsets of the two convolutions that meet at the head of each stage are one.
    assert found["mlir_convolution_add_add_relu"] == 16
    assert found["mlir_convolution"] == 4
    assert sum(found.values()) == 57


def test_layer_norms_and_embeddings_are_few_kernels() -> None:
    found = kernels(lower(model("bert"), DIMS["bert"]))
    assert found["add_add_reduce_mean_sub_mul_reduce_mean_add_sqrt_div_mul_add_kernel"] == 5
    assert sum(found.values()) == 27


def test_squeezed_channels_stay_in_the_kernels_of_their_convolutions() -> None:
    found = kernels(lower(model("efficientnet")))
    assert found["mlir_convolution_add_sigmoid"] == 5
    assert found["mlir_convolution_add_sigmoid_mul"] == 15
    assert found["mul_kernel"] == 5
    assert found["reduce_mean_kernel"] == 5


def joined(behind: bool) -> onnx.ModelProto:
    b = Builder(0)
    front = b.node("Relu", "a")
    made = b.node("Concat", front, "b", axis=1)
    b.nodes.append(helper.make_node("Sigmoid" if behind else "Identity", [made], ["y"]))
    each = (TensorProto.FLOAT, [1, 2, 3, 3])
    return b.model({"a": each, "b": each}, {"y": [1, 4, 3, 3]})


@pytest.mark.parametrize(
    ("behind", "name"), [(False, "relu_noop_concat_noop_kernel"), (True, "relu_noop_concat_sigmoid_kernel")]
)
def test_concatenations_are_named_as_migraphx_names_them(behind: bool, name: str) -> None:
    whole = joined(behind)
    lowered = lower(whole)
    assert kernels(lowered) == {name: 1}
    inputs = inputs_of(whole)
    assert_same(run(lowered, inputs), expected(whole, inputs))


def diamond(kind: str) -> onnx.ModelProto:
    """A value that a convolution reads and that is added behind it must stay outside its kernel."""
    b = Builder(1)
    front = b.node("Relu", "x")
    made = b.conv(front, 4, 4, 3) if kind == "Conv" else b.node("MatMul", front, b.normal(5, 5))
    b.nodes.append(helper.make_node("Add", [made, front], ["y"]))
    return b.model({"x": (TensorProto.FLOAT, [1, 4, 5, 5])}, {"y": [1, 4, 5, 5]})


@pytest.mark.parametrize("kind", ["Conv", "MatMul"])
def test_what_a_product_reads_is_not_computed_inside(kind: str) -> None:
    whole = diamond(kind)
    lowered = lower(whole)
    assert sorted(kernels(lowered)) == [
        "mlir_convolution_add" if kind == "Conv" else "mlir_dot_add",
        "relu_kernel",
    ]
    inputs = inputs_of(whole)
    assert_same(run(lowered, inputs), expected(whole, inputs))


def test_outputs_that_no_kernel_makes_are_copied() -> None:
    """An input, a constant, a view, one value twice: each output has a buffer of its own."""
    b = Builder(2)
    made = b.node("Relu", "x")
    turned = b.node("Transpose", made, perm=[1, 0])
    for name, value in (("a", "x"), ("b", made), ("c", made), ("d", turned), ("e", b.normal(2, 2))):
        b.nodes.append(helper.make_node("Identity", [value], [name]))
    lens = {"a": [2, 3], "b": [2, 3], "c": [2, 3], "d": [3, 2], "e": [2, 2]}
    whole = b.model({"x": (TensorProto.FLOAT, [2, 3])}, lens)
    lowered = lower(whole)
    inputs = inputs_of(whole)
    assert_same(run(lowered, inputs), expected(whole, inputs), 0.0)
    back = main_body(lowered.program)[-1]
    assert [op.op.operands[-1].name for op in back.operands] == [
        f"main:#output_{index}" for index in range(5)
    ]
    assert lowered.outputs and len(lowered.outputs) == 5


def unknown() -> onnx.ModelProto:
    graph = helper.make_graph(
        [helper.make_node("TopK", ["x", "k"], ["y", "i"], name="best")],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
        [helper.make_tensor("k", TensorProto.INT64, [1], [2])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def test_an_unknown_operator_is_named_with_its_file(tmp_path) -> None:
    path = tmp_path / "top.onnx"
    onnx.save(unknown(), path)
    with pytest.raises(InputError, match=r"top\.onnx.*TopK .which makes %y. cannot be lowered"):
        lower(str(path))


def test_open_dimensions_are_one_unless_given() -> None:
    whole = bert(**TINY_BERT)
    lowered = lower(whole, {"sequence": 8})
    (said,) = [each for each in lowered.program.diagnostics if each.code == "open-dimension"]
    assert "batch" in said.message
    assert "main:#output_0 = @param:main:#output_0 -> float_type, {1, 8, 64}" in print_migraphx(
        lowered.program
    )
    with pytest.raises(InputError, match="no open dimension length: batch, sequence"):
        lower(whole, {"length": 3})


def test_half_precision() -> None:
    b = Builder(3)
    weight = b.weight(b.rng.standard_normal((4, 4, 3, 3)).astype(np.float16))
    made = b.node("Conv", "x", weight, pads=[1] * 4)
    b.nodes.append(helper.make_node("Relu", [made], ["y"]))
    graph = helper.make_graph(
        b.nodes, "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT16, [1, 4, 6, 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT16, [1, 4, 6, 6])], b.weights,
    )  # fmt: skip
    whole = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    lowered = lower(whole)
    assert "half_type" in print_migraphx(lowered.program)
    inputs = inputs_of(whole)
    assert_same(run(lowered, inputs), expected(whole, inputs), 2e-3)


@pytest.mark.parametrize("through", PHASES)
def test_lowering_can_stop_after_any_phase(through: str) -> None:
    lowered = lower(model("gpt"), through=through)
    text = print_migraphx(lowered.program)
    assert print_migraphx(parse_migraphx(text)) == text


def test_every_step_is_undone_and_done_again() -> None:
    pass_ = LoweringPass(program_of(gpt(layers=1, width=16, heads=2, words=8, length=4)), streamed=True)
    program = empty_program()
    walk = Debugger(pass_, program)
    texts = [print_migraphx(program)]
    while walk.forward() is not None:
        texts.append(print_migraphx(program))
    assert len(set(texts)) > 100
    for text in reversed(texts[:-1]):
        walk.back()
        assert print_migraphx(program) == text
    for text in texts[1:]:
        walk.forward()
        assert print_migraphx(program) == text
    assert {step.phase for step in walk.known} == set(PHASES)


def test_the_operators_are_those_that_the_documentation_lists() -> None:
    text = (Path(__file__).parents[4] / "docs/lowering.md").read_text(encoding="utf-8")
    listed = text[text.index("Others must be one of:") : text.index("Not every attribute")]
    assert set(re.findall(r"`(\w+)`", listed)) == {*HANDLERS, "If"}


def branching(condition: bool | None) -> onnx.ModelProto:
    b = Builder(4)
    branches = {}
    for name, kind in (("then_branch", "Relu"), ("else_branch", "Neg")):
        inner = helper.make_node(kind, ["x"], [name])
        result = helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3])
        branches[name] = helper.make_graph([inner], name, [], [result])
    asked = "c" if condition is None else b.weight(np.asarray(condition))
    b.nodes.append(helper.make_node("If", [asked], ["y"], **branches))
    inputs = {"x": (TensorProto.FLOAT, [2, 3]), "c": (TensorProto.BOOL, [])}
    return b.model(inputs if condition is None else {"x": inputs["x"]}, {"y": [2, 3]})


@pytest.mark.parametrize("condition", [True, False, None])
def test_branches(condition: bool | None) -> None:
    whole = branching(condition)
    lowered = lower(whole)
    name = {True: "relu_kernel", False: "neg_kernel", None: "relu_neg_where_kernel"}[condition]
    assert kernels(lowered) == {name: 1}
    inputs = inputs_of(whole)
    for value in (True, False) if condition is None else (condition,):
        if condition is None:
            inputs["c"] = np.asarray(value)
        assert_same(run(lowered, inputs), expected(whole, inputs), 0.0)


def test_functions_of_the_model_are_put_in_place() -> None:
    twice = helper.make_function(
        "own",
        "Twice",
        ["a"],
        ["b"],
        [helper.make_node("Add", ["a", "a"], ["b"])],
        [helper.make_opsetid("", 17)],
    )
    graph = helper.make_graph(
        [helper.make_node("Twice", ["x"], ["t"], domain="own"), helper.make_node("Relu", ["t"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    whole = helper.make_model(graph, functions=[twice], opset_imports=opsets, ir_version=8)
    lowered = lower(whole)
    assert kernels(lowered) == {"add_relu_kernel": 1}
    inputs = inputs_of(whole)
    assert_same(run(lowered, inputs), expected(whole, inputs), 0.0)


@pytest.mark.parametrize("name", ["squeezenet", "shufflenet"])
def test_models_as_they_are_shipped(name: str) -> None:
    """All filters are equal: a softmax over large sums shows the smallest difference between their results."""
    whole = onnx.load(LIGHT / f"light_{name}.onnx")
    inputs = inputs_of(whole)
    assert_same(run(lower(whole), inputs), expected(whole, inputs))


def test_weights_in_a_file_beside_the_model(tmp_path: Path) -> None:
    whole = gpt(layers=1, width=16, heads=2, words=128, length=8)
    inputs = inputs_of(whole)
    wanted = expected(whole, inputs)
    path = tmp_path / "gpt.onnx"
    onnx.save(whole, path, save_as_external_data=True, location="weights.bin", size_threshold=16)
    assert_same(run(lower(path), inputs), wanted)
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(InputError, match=r"weights\.bin.*is not there"):
        lower(path)


@pytest.mark.parametrize(
    "name", ["scratch", "main:#output_0", "@3", "a b,c)", "x -> float_type, {}, {}", "é", "context"]
)
def test_any_name_of_an_input(name: str) -> None:
    nodes = [helper.make_node("Relu", [name], ["t"]), helper.make_node("Add", ["t", name + "2"], ["y"])]
    each = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 2]) for n in (name, name + "2", "y")]
    graph = helper.make_graph(nodes, "g", each[:2], each[2:])
    whole = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    lowered = lower(whole)
    text = print_migraphx(lowered.program)
    again = parse_migraphx(text)
    assert not again.diagnostics and print_migraphx(again) == text
    lowered.program = again
    inputs = {name: np.array([[-1, 2], [3, -4]], np.float32), name + "2": np.ones((2, 2), np.float32)}
    assert run(lowered, inputs)[0].tolist() == [[1, 3], [4, 1]]
