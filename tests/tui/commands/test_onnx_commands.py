"""`passlens plan` and `passlens step` on ONNX models."""

import json
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper
from passlens.ir.formats.migraphx import parse_migraphx
from passlens.tui.cli import main

LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"
SQUEEZENET = str(LIGHT / "light_squeezenet.onnx")


def saved(tmp_path: Path, kind: str, lens: list[int | str]) -> str:
    graph = helper.make_graph(
        [helper.make_node(kind, ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, lens)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [helper.make_tensor("w", TensorProto.FLOAT, [64, 64], [0.5] * 4096)],
    )
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return str(path)


def test_a_model_is_planned(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "plan.txt"
    assert main(["plan", SQUEEZENET, "--budget", "25%", "--json", "-o", str(out)]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["violations"] == []
    assert said["before"]["literals"] == 4_941_984
    assert said["times_us"]["planned"] < said["times_us"]["before"]
    text = out.read_text()
    assert not parse_migraphx(text).diagnostics
    assert "symbol_name=mlir_convolution_add_relu" in text


@pytest.mark.slow
@pytest.mark.parametrize("model", sorted(LIGHT.glob("*.onnx")), ids=lambda path: path.stem)
def test_every_model_of_the_onnx_package_is_planned(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(model)]) == 0
    assert "verified" in capsys.readouterr().out


def test_open_dimensions_are_set_by_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model = saved(tmp_path, "MatMul", ["batch", 64])
    parameters = []
    for options in ([], ["--dim", "batch=8"]):
        assert main(["plan", model, "--json", *options]) == 0
        parameters.append(json.loads(capsys.readouterr().out)["before"]["parameters"])
    assert parameters == [2 * 64 * 4, 8 * 2 * 64 * 4]


@pytest.mark.parametrize(
    ("dim", "message"),
    [
        ("batch", "--dim batch: expected NAME=SIZE"),
        ("batch=0", "--dim batch=0: expected NAME=SIZE"),
        ("length=3", "has no open dimension length: batch"),
    ],
)
def test_wrong_dimensions_are_refused(
    dim: str, message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["plan", saved(tmp_path, "MatMul", ["batch", 64]), "--dim", dim]) == 2
    assert message in capsys.readouterr().err


def test_a_dump_has_no_open_dimensions(capsys: pytest.CaptureFixture[str]) -> None:
    seed = Path(__file__).parents[3] / "tests/golden/seeds/migraphx_streaming_resnet50.txt"
    assert main(["plan", str(seed), "--dim", "batch=2"]) == 2
    assert "is no ONNX model: --dim batch has nothing to set" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["plan", "step"])
def test_an_operator_that_cannot_be_lowered_is_named(
    command: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main([command, saved(tmp_path, "Einsum", [64, 64])]) == 2
    said = capsys.readouterr().err
    assert "model.onnx: the operator Einsum (which makes %y) cannot be lowered: expected one of" in said
    assert said.count("\n") == 1


def test_lowering_is_stepped(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "lowered.txt"
    assert main(["step", SQUEEZENET, "-o", str(out)]) == 0
    assert "lower: " in capsys.readouterr().out
    assert out.read_text().startswith('module: "main"\n')
    assert main(["step", SQUEEZENET, "--until", "kind=fuse"]) == 0
    assert "become" in capsys.readouterr().out
    assert main(["step", SQUEEZENET, "--steps", "json"]) == 0
    steps = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {step["phase"] for step in steps} >= {"import", "fuse", "buffers", "weights", "arena"}
    assert main(["step", str(out), "--pass", "lower"]) == 2
    assert "makes a MIGraphX program of an ONNX model" in capsys.readouterr().err
