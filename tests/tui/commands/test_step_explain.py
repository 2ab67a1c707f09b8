"""`passlens step` and `passlens explain` on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from passlens.ir.diff.compare import compare
from passlens.ir.formats.mlir import parse_mlir
from passlens.tui.cli import main

GOLDEN = Path(__file__).parents[2] / "golden"
SEED = str(GOLDEN / "seeds" / "triton_reproducible.mlir")
FIXED = str(GOLDEN / "seeds" / "triton_fix1.mlir")
CASES = GOLDEN / "cases" / "layout"
PASS = "tritongpu-remove-layout-conversions"
ABORT_LOG = str(GOLDEN / "logs" / "triton-3.0.0-cuda-90-abort.log.gz")


def test_a_missing_mapping_is_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["step", SEED, "--pass", f"{PASS}@triton-3.0"]) == 1
    out = capsys.readouterr().out
    assert "%arg12, iter arg #0 of scf.for %67 (line 93), has no rewritten value in #blocked7" in out
    assert "convert_layout 32 → 3" in out


@pytest.mark.parametrize("rules", ["triton-3.2", "triton-3.7", "3.8.0", "triton-3.9"])
def test_later_rules_are_exit_code_0(rules: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["step", SEED, "--pass", f"{PASS}@{rules}"]) == 0
    assert "missing" not in capsys.readouterr().out


def test_stop_where_it_goes_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["step", SEED, "--until", "missing"]) == 1
    out = capsys.readouterr().out
    assert "missing-mapping" in out
    assert "candidates of %arg12: #blocked7" in out
    assert "picked: #blocked7" in out


def test_a_place_that_is_never_come_to(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["step", FIXED, "--until", "missing"]) == 0
    assert "never come to" in capsys.readouterr().out


def test_every_step_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["step", FIXED, "--steps", "text"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 300
    assert any("visit" in line and "#blocked7" in line for line in lines)


def test_every_step_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["step", SEED, "--steps", "json"]) == 1
    steps = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [step["step"] for step in steps] == list(range(1, len(steps) + 1))
    (missing,) = [step for step in steps if step["fatal"]]
    assert missing["kind"] == "missing-mapping"
    assert missing["value"] == "%arg12"
    assert missing["encodings"][0] == "#blocked7"
    assert missing["op"] == {"name": "triton_gpu.convert_layout", "line": 101}
    picks = {fact["key"]: fact["new"] for step in steps for fact in step["facts"] if fact["table"] == "pick"}
    assert picks["%67#0"] == "#blocked1"
    assert picks["%arg12"] == "#blocked7"


def test_the_program_after_the_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    after = tmp_path / "after.mlir"
    assert main(["step", FIXED, "-o", str(after)]) == 0
    capsys.readouterr()
    program = parse_mlir(after.read_text())
    assert program.diagnostics == [] or {d.code for d in program.diagnostics} == {"undefined-alias"}
    assert after.read_text().count("convert_layout") == 4
    assert main(["step", str(after), "-o", str(tmp_path / "again.mlir")]) == 0
    assert compare(program, parse_mlir((tmp_path / "again.mlir").read_text())).same  # nothing is left to do


def test_a_run_of_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["step", ABORT_LOG, "--run", "1"]) in (0, 1)
    assert f"{PASS}@triton-3.0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([SEED, "--pass", "canonicalize"], "cannot be stepped"),
        ([SEED, "--pass", f"{PASS}@triton-1.0"], "there is no rule set 'triton-1.0'"),
        ([SEED, "--until", "colour=red"], "is no place to stop"),
        ([SEED, "--run", "2"], "there is no #2"),
        ([str(CASES / "14_if_yield_type_mismatch_invalid.mlir")], "result and yielded value #0 disagree"),
        (["no/such/file"], "does not exist"),
        ([SEED, "-o", "/no/such/folder/x.mlir"], "cannot be written"),
        ([str(GOLDEN / "seeds" / "migraphx_streaming_resnet50.txt"), "--pass", PASS], "no MLIR"),
        ([SEED, "--check", "--until", "missing"], "leave --until out"),
    ],
)
def test_bad_input_is_exit_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["step", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", SEED]) == 1
    full = capsys.readouterr().out
    assert "missing-mapping: %arg12, iter arg #0 of scf.for %67 (line 93)" in full
    assert "scf.for was kept" in full
    assert "how #blocked1 came to %67#0" in full
    assert main(["explain", SEED, "--short"]) == 1
    assert len(capsys.readouterr().out) < len(full)


def test_explain_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", SEED, "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["rules"] == "triton-3.0"
    (fault,) = data["faults"]
    assert fault["kind"] == "missing-mapping"
    assert fault["value"] == "%arg12"
    assert [each["encodings"] for each in fault["candidates"]] == [["#blocked7"], ["#blocked1", "#blocked7"]]
    assert data["other_rules"]["triton-3.9"].startswith("runs")


def test_explain_a_program_without_faults(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", FIXED]) == 0
    assert "nothing is missing and nothing fails" in capsys.readouterr().out


def test_no_screen_library_is_imported() -> None:
    code = (
        "import sys; from passlens.tui.cli import main; main(sys.argv[1:]); "
        "print([m for m in sys.modules if m.partition('.')[0] in ('textual', 'rich')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "step", FIXED], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
