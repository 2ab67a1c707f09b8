"""The compiler's own account of the layout pass: read as steps, and held against our rules line for line."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from passlens.ir.formats.mlir import parse_mlir
from passlens.ir.passes.layout.replay import ReplayPass, compare_with, read_replays
from passlens.ir.passes.layout.rules import rules_named
from passlens.ir.passes.step import Debugger
from passlens.ir.program import Program
from passlens.tui.cli import main

GOLDEN = Path(__file__).parents[3] / "golden"


def log(name: str) -> str:
    return gzip.decompress((GOLDEN / f"layout_debug/{name}.log.gz").read_bytes()).decode()


def program(seed: str, modern: bool = False) -> Program:
    text = (GOLDEN / f"seeds/{seed}.mlir").read_text()
    return parse_mlir(text.replace("triton_gpu.", "ttg.") if modern else text)


def test_every_line_is_an_event() -> None:
    (replay,) = read_replays(log("triton_fix1-3.9.0"))
    kinds = Counter(event.kind for event in replay.events)
    assert kinds == {
        "visit": 32, "remat-check": 29, "convert-cost": 23, "remat-cost": 23, "remat": 13, "remat-skipped": 10,
        "remat-refused": 6, "map-loop": 1, "remat-value": 114, "module": 10,
    }  # fmt: skip
    text = log("triton_fix1-3.9.0")
    assert sum(kinds.values()) - kinds["visit"] == (
        text.count("\n[tritongpu-remove-layout-conversions]: ")
        - text.count("propagateLayout considering")
        - text.count("]: changed: ")
        - text.count("]:   #")
        - text.count("]:     ")
    )


def test_modules_and_slices_are_kept() -> None:
    (replay,) = read_replays(log("triton_fix1-3.0.0"))
    modules = [event for event in replay.events if event.kind == "module"]
    assert [event.subject for event in modules][:2] == ["propagating layouts forward", "canonicalizing"]
    last = parse_mlir("\n".join(modules[-1].detail))
    assert modules[-1].subject == "final cleanups"
    assert last.text.count("convert_layout") == 4
    assert all(event.detail for event in replay.events if event.kind == "remat")


@pytest.mark.parametrize(
    ("name", "seed", "rules", "modern"),
    [
        ("triton_fix1-3.0.0", "triton_fix1", "triton-3.0", False),
        ("triton_reproducible-3.0.0", "triton_reproducible", "triton-3.0", False),
        ("triton_fix1-3.9.0", "triton_fix1", "triton-3.9", True),
    ],
)
def test_our_propagation_is_the_compiler_s(name: str, seed: str, rules: str, modern: bool) -> None:
    (replay,) = read_replays(log(name))
    assert compare_with(replay, program(seed, modern), rules_named(rules)) is None


def test_another_rule_set_parts_where_the_while_yields() -> None:
    (replay,) = read_replays(log("triton_reproducible-3.0.0"))
    parting = compare_with(replay, program("triton_reproducible"), rules_named("triton-3.2"))
    assert parting is not None
    assert parting.number == 2
    assert parting.theirs is not None
    assert (
        "scf.for" in parting.theirs.subject
    )  # the old rule goes backwards, to the loop in front of the while


def test_the_abort_is_the_last_step() -> None:
    (replay,) = read_replays(log("triton_reproducible-3.0.0"))
    assert replay.aborted == "Assertion `rewrittenValue' failed."
    assert replay.events[-1].kind == "abort"


def test_it_is_walked_in_the_debugger_both_ways() -> None:
    (replay,) = read_replays(log("triton_fix1-3.0.0"))
    target = program("triton_fix1")
    debugger = Debugger(ReplayPass(replay), target)
    debugger.finish()
    steps = debugger.known
    visits = [step for step in steps if step.kind == "visit"]
    assert len(visits) == 32
    assert all(step.value is not None for step in visits)
    debugger.rewind()
    assert debugger.forward() is steps[0]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = "// -----// IR Dump Before TritonGPURemoveLayoutConversions (tritongpu-remove-layout-conversions) ('builtin.module' operation) //----- //\n"
    path = tmp_path / "debug.log"
    path.write_text(
        header
        + (GOLDEN / "seeds/triton_reproducible.mlir").read_text().partition("\n")[2]
        + log("triton_reproducible-3.0.0")
    )
    assert main(["replay", str(path), "--against", "auto"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("run 1: 25 events, and there the process died\n")
    assert out.endswith("triton-3.0 visits the same values with the same encodings, in the same order\n")
    assert main(["replay", str(path), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["runs"][0]["aborted"] == "Assertion `rewrittenValue' failed."
    assert main(["replay", str(path), "--run", "2"]) == 2
    assert "the pass ran 1 time(s)" in capsys.readouterr().err
    assert main(["replay", str(GOLDEN / "seeds/triton_fix1.mlir")]) == 2
    assert "holds no debug output" in capsys.readouterr().err


TEXT = log("triton_fix1-3.9.0")


@settings(max_examples=40, deadline=None)
@given(st.integers(0, len(TEXT)), st.integers(0, len(TEXT)))
def test_any_stretch_of_a_log_can_be_read(low: int, high: int) -> None:
    for replay in read_replays(TEXT[min(low, high) : max(low, high)]):
        assert replay.events
