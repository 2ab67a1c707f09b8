"""The pass against what real Triton wheels made of the same inputs (tests/oracle/make_layout_golden.py)."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from passlens.ir.diff.compare import compare
from passlens.ir.formats.mlir import parse_mlir, print_mlir
from passlens.ir.passes.layout.debuglog import PREFIX, DebugLog
from passlens.ir.passes.layout.explain import FATAL
from passlens.ir.passes.layout.remove_conversions import RemoveLayoutConversions
from passlens.ir.passes.layout.rules import rules_named
from passlens.ir.passes.layout.state import Run
from passlens.ir.passes.step import Step
from passlens.ir.program import Program, Value
from passlens.tui.commands.show import without_locations

TESTS = Path(__file__).parents[2]
GOLDEN = Path(__file__).parents[2] / "golden" / "layout_pass"
VERSIONS = ("3.0.0", "3.9.0")


@cache
def records(version: str) -> list[dict[str, Any]]:
    with gzip.open(GOLDEN / f"triton-{version}.jsonl.gz", "rt") as file:
        return [json.loads(line) for line in file]


def cases() -> Iterator[Any]:
    for version in VERSIONS:
        for entry in records(version):
            yield pytest.param(version, entry, id=f"{version}-{entry['name']}")


@cache
def ran(version: str, name: str) -> tuple[Program, RemoveLayoutConversions, list[Step], list[str], list[str]]:
    """The program after the pass, its steps, and its visits and decisions in the compiler's words."""
    text = next(entry["input"] for entry in records(version) if entry["name"] == name)
    program = parse_mlir(text)
    pass_ = RemoveLayoutConversions(rules_named(version))
    steps: list[Step] = []
    visits: list[str] = []
    walked: list[Step] = []
    decisions: list[str] = []
    log: DebugLog | None = None
    for step in pass_.steps(program):
        assert pass_.run is not None
        if log is None:
            log = DebugLog(program, pass_.run.tensors)
        steps.append(step)
        if step.kind in ("visit", "candidate"):
            walked.append(step)
        elif step.kind == "pick-single":
            lines = log.propagation(walked, counts=pass_.rules.rewrite == "in-place")
            visits.extend(line.removeprefix(PREFIX) for line in lines)
            walked.clear()
        decisions.extend(decision(step, pass_.run))
    return program, pass_, steps, visits, decisions


def decision(step: Step, run: Run) -> Iterator[str]:
    if step.kind == "check":
        yield f"check {named(step.value)} {run.tensors.full(step.encodings[0])}"
    elif step.kind == "slice-failed":
        yield "failed"
    elif step.kind in ("remat", "found"):
        yield step.kind
        for fact in step.facts:
            if fact.table == "slice":
                yield from (f"slice {named(value)}" for value, _ in fact.new)
    elif step.kind == "cost":
        verdict = step.encodings[0]
        yield from ["veto"] if verdict.veto else [f"cost {verdict.convert}", f"again {verdict.again}"]


def named(value: Value | None) -> str:
    return value.op.name if value is not None and value.op is not None else "arg"


def test_there_is_enough_to_compare() -> None:
    assert len(records("3.0.0")) >= 40
    assert len(records("3.9.0")) >= 60
    assert sum(entry["outcome"] == "abort" for entry in records("3.0.0")) >= 3


@pytest.mark.parametrize(("version", "entry"), cases())
def test_outcome(version: str, entry: dict[str, Any]) -> None:
    _, _, steps, _, _ = ran(version, entry["name"])
    fatal = [step.why for step in steps if step.kind in FATAL]
    assert bool(fatal) == (entry["outcome"] == "abort"), (fatal, entry["message"])


@pytest.mark.parametrize(("version", "entry"), cases())
def test_the_same_program(version: str, entry: dict[str, Any]) -> None:
    if entry["outcome"] == "abort":
        pytest.skip("the compiler made no program")
    program, *_ = ran(version, entry["name"])
    difference = compare(parse_mlir(print_mlir(program)), parse_mlir(entry["after"]))
    assert not difference.changes, difference.counts()


@pytest.mark.parametrize(("version", "entry"), cases())
def test_the_same_visits_in_the_same_order(version: str, entry: dict[str, Any]) -> None:
    *_, visits, _ = ran(version, entry["name"])
    assert visits == entry["visits"]


@pytest.mark.parametrize(("version", "entry"), cases())
def test_the_same_slices_costs_and_outcomes(version: str, entry: dict[str, Any]) -> None:
    if entry["outcome"] == "abort":
        pytest.skip("the compiler made no decision")
    *_, decisions = ran(version, entry["name"])
    real = [each for each in entry["decisions"] if not each.startswith("slice")]
    assert [each for each in decisions if not each.startswith("slice")] == real


@pytest.mark.oracle
@pytest.mark.parametrize("version", VERSIONS)
def test_libtriton_prints_our_program_as_it_prints_its_own(version: str, tmp_path: Path) -> None:
    """The strictest comparison: the same text, order of ops and constants included, locations off."""
    folder = Path(os.environ.get("PASSLENS_ORACLE", TESTS.parent / ".venv-oracle"))
    python = folder / ("t30" if version == "3.0.0" else "t39") / "bin" / "python"
    if not python.exists():
        pytest.skip(f"{python} is missing: run tests/oracle/setup.sh")
    wanted: dict[str, str] = {}
    for number, entry in enumerate(records(version)):
        if entry["outcome"] == "ok":
            file = tmp_path / f"{number}.mlir"
            file.write_text(print_mlir(ran(version, entry["name"])[0]))
            wanted[str(file)] = entry["after"]
    command = [str(python), str(TESTS / "oracle" / "reprint.py"), *wanted]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["error"] for answer in answers if answer["text"] is None] == []
    assert len(answers) == len(wanted)
    for answer in answers:
        assert without_locations(answer["text"]).strip() == wanted[answer["file"]].strip()
