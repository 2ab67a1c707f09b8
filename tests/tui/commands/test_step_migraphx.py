"""MIGraphX's own passes under `passlens step`, on the report and on a log of a compile."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from passlens.ir.formats.migraphx import parse_migraphx
from passlens.tui.cli import main

GOLDEN = Path(__file__).parents[2] / "golden"
SEED = str(GOLDEN / "seeds" / "migraphx_streaming_resnet50.txt")
SHAPE = "float_type, {64}, {1}"
BEFORE = f"""module: "main"
x = @param:x -> {SHAPE}
@1 = hip::allocate[shape={SHAPE}] -> {SHAPE}
@2 = gpu::gemm(x,@1) -> {SHAPE}
@3 = hip::allocate[shape={SHAPE}] -> {SHAPE}
@4 = gpu::gemm(@2,@3) -> {SHAPE}
@5 = @return(@4)
"""
AFTER = f"""module: "main"
scratch = @param:scratch -> int8_type, {{512}}, {{1}}
x = @param:x -> {SHAPE}
@2 = load[offset=256,end=512](scratch) -> {SHAPE}
@3 = gpu::gemm(x,@2) -> {SHAPE}
@4 = load[offset=0,end=256](scratch) -> {SHAPE}
@5 = gpu::gemm(@3,@4) -> {SHAPE}
@6 = @return(@5)
"""


def log_of(tmp_path: Path, after: str = AFTER) -> str:
    path = tmp_path / "compile.log"
    path.write_text(f"Pass: schedule\n{BEFORE}\n\nPass: memory_coloring\n{after}\n\n")
    return str(path)


def test_the_report_s_arena(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["step", SEED, "--pass", "migraphx-memory-coloring"]) == 0
    out = capsys.readouterr().out
    assert "main needs 31,232,000 bytes" in out
    assert "189 of 189 buffers are where the listing has them" in out


@pytest.mark.parametrize(("streams", "waits"), [("1", ""), ("2", "8 wait"), ("4", "8 wait")])
def test_the_report_on_more_streams(streams: str, waits: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["step", SEED, "--pass", "migraphx-schedule", "--streams", streams]) == 0
    out = capsys.readouterr().out
    assert (waits in out) if waits else ("one stream is enough for all" in out)


def test_every_step_and_the_program_behind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "after.txt"
    args = ["step", SEED, "--pass", "migraphx-schedule", "--streams", "2", "--steps", "json", "-o", str(out)]
    assert main(args) == 0
    steps = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [step["step"] for step in steps] == list(range(1, len(steps) + 1))
    assert {"weigh", "partition", "assign", "move", "set-stream", "record", "wait", "conflict"} <= {
        step["kind"] for step in steps
    }
    (first,) = [step for step in steps if step["kind"] == "weigh" and step["op"]["line"] == 29]
    assert first["why"] == "@16 gpu::code_object weighs 2, and 10 with all that it needs"
    program = parse_migraphx(out.read_text())
    assert not [d for d in program.diagnostics if d.code != "unparsed-text"]
    assert "gpu::wait_event[event=0]" in out.read_text()


def test_stopping_at_a_value(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["step", SEED, "--pass", "migraphx-memory-coloring", "--until", "kind=move"]) == 0
    assert "stopped at step" in capsys.readouterr().out
    assert main(["step", SEED, "--pass", "migraphx-schedule", "--until", "kind=wait"]) == 0
    assert "kind=wait was never come to" in capsys.readouterr().out


def test_a_log_says_what_the_pass_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ["step", log_of(tmp_path), "--pass", "migraphx-memory-coloring", "--check"]
    assert main(args) == 0
    assert "agrees with the log" in capsys.readouterr().out
    log_of(tmp_path, AFTER.replace("offset=0,end=256", "offset=512,end=768"))
    assert main(args) == 1
    out = capsys.readouterr().out
    assert "disagrees with the log" in out
    assert "512" in out
    assert main([*args[:-1], "--run", "2"]) == 2
    assert "1 run(s) of memory_coloring" in capsys.readouterr().err


def test_rules_of_the_tests_and_other_alignments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "case.txt"
    path.write_text(
        f'module: "main"\n@0 = @literal{{1}} -> {SHAPE}\n@1 = unary(@0) -> {SHAPE}\n@2 = unary(@0) -> {SHAPE}\n'
        f"@3 = nary(@1,@2) -> {SHAPE}\n"
    )
    assert main(["step", str(path), "--pass", "migraphx-schedule@tests", "-o", "-"]) == 0
    out = capsys.readouterr().out
    assert "wait_event[wait_for=1]" in out or "wait_event[wait_for={1}]" in out
    assert "= identity(@2,@1)" in out or "= identity(@1,@2)" in out
    path.write_text(BEFORE.replace("{64}", "{9}"))
    for rules, size in (("", 128), ("@1", 72), ("@4", 72), ("@16", 96)):
        assert main(["step", str(path), "--pass", f"migraphx-eliminate-allocation{rules}", "-o", "-"]) == 0
        assert f"memory = @param:memory -> int8_type, {{{size}}}, {{1}}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([SEED, "--pass", "migraphx-loop"], "cannot be stepped: expected one of"),
        ([SEED, "--pass", "migraphx-schedule", "--streams", "0"], "expected a number from 1 to 64"),
        (
            [SEED, "--pass", "migraphx-memory-coloring", "--streams", "2"],
            "--streams is for migraphx-schedule",
        ),
        ([SEED, "--streams", "2"], "--streams is for migraphx-schedule"),
        ([SEED, "--pass", "migraphx-schedule@fast"], "expected @gpu (the default) or @tests"),
        ([SEED, "--pass", "migraphx-memory-coloring@2"], "one set of rules"),
        ([SEED, "--pass", "migraphx-eliminate-allocation@0"], "a number of bytes to align to"),
        ([SEED, "--pass", "migraphx-eliminate-allocation@1e9"], "a number of bytes to align to"),
        ([SEED, "--pass", "migraphx-schedule", "--check"], "does not say what MIGraphX made"),
        (
            [str(GOLDEN / "seeds/triton_fix1.mlir"), "--pass", "migraphx-schedule"],
            "expected a MIGraphX program",
        ),
    ],
)
def test_what_cannot_be_stepped(args: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["step", *args]) == 2
    assert said in capsys.readouterr().err


def test_a_listing_of_which_a_part_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "part.txt"
    path.write_text(BEFORE.replace(f"@1 = hip::allocate[shape={SHAPE}] -> {SHAPE}\n", ""))
    assert main(["step", str(path), "--pass", "migraphx-memory-coloring"]) == 2
    assert "@1 is used by gpu::gemm and never defined" in capsys.readouterr().err


def test_modules_that_are_not_in_the_listing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A fused kernel's body may be missing; a branch may not, since it may use anything."""
    path = tmp_path / "parts.txt"
    path.write_text(BEFORE.replace("gpu::gemm(x,@1)", "gpu::code_object[code_object=8](x,@1), [main:k]"))
    assert main(["step", str(path), "--pass", "migraphx-memory-coloring"]) == 0
    path.write_text(BEFORE.replace("gpu::gemm(x,@1)", "if(x,@1), [then, else]"))
    assert main(["step", str(path), "--pass", "migraphx-memory-coloring"]) == 2
    assert "if has the module then" in capsys.readouterr().err


def test_no_allocations_to_eliminate(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["step", SEED, "--pass", "migraphx-eliminate-allocation"]) == 0
    assert "no allocations: it stays as it is" in capsys.readouterr().out


def test_an_onnx_model_is_lowered_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "scheduled.txt"
    model = Path(onnx.__file__).parent / "backend/test/data/light/light_squeezenet.onnx"
    args = ["step", str(model), "--pass", "migraphx-schedule", "--streams", "2", "-o", str(out)]
    assert main(args) == 0
    assert "16 wait" in capsys.readouterr().out  # both sides of eight fire modules meet
    assert main(["step", str(out), "--pass", "migraphx-memory-coloring"]) == 0
    assert "buffers are where the listing has them" in capsys.readouterr().out


def test_neither_textual_nor_rich_is_imported() -> None:
    code = (
        "import sys; from passlens.tui.cli import main; "
        f"main(['step', {SEED!r}, '--pass', 'migraphx-schedule']); "
        "print([name for name in sys.modules if name.split('.')[0] in ('textual', 'rich')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "[]"
