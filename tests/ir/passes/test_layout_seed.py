"""The seed, whose abort nobody understood: what is missing, who asked, who should have made it, and why."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from passlens.ir.errors import InputError
from passlens.ir.formats.mlir import parse_mlir
from passlens.ir.passes.layout.debuglog import DebugLog, plain_names
from passlens.ir.passes.layout.explain import FATAL, explain, render
from passlens.ir.passes.layout.missing import Missing
from passlens.ir.passes.layout.remove_conversions import RemoveLayoutConversions
from passlens.ir.passes.layout.rules import RULE_SETS, pick_rules, rules_named
from passlens.ir.passes.step import Step
from passlens.ir.program import walk

GOLDEN = Path(__file__).parents[2] / "golden"
SEEDS = GOLDEN / "seeds"
SEED = (SEEDS / "triton_reproducible.mlir").read_text()
FIXED = (SEEDS / "triton_fix1.mlir").read_text()
CASES = GOLDEN / "cases" / "layout"

LATER = [name for name in RULE_SETS if name != "triton-3.0"]


def run(text: str, rules: str) -> tuple[RemoveLayoutConversions, list[Step], int]:
    program = parse_mlir(text)
    pass_ = RemoveLayoutConversions(RULE_SETS[rules])
    steps = list(pass_.steps(program))
    return pass_, steps, sum(op.name.endswith(".convert_layout") for op in walk(program))


def test_the_missing_mapping_of_triton_3_0() -> None:
    pass_, steps, _ = run(SEED, "triton-3.0")
    missing = [step for step in steps if step.kind in FATAL]
    assert [step.kind for step in missing] == ["missing-mapping"]
    (step,) = missing
    assert pass_.run is not None
    assert step.value is not None
    found = pass_.run.recorder.get("missing", (step.value, step.encodings[0]))
    assert isinstance(found, Missing)
    show = pass_.run.show
    assert found.value.name == "%arg12"
    assert show(found.wanted) == "#blocked7"
    assert found.asked_by.name == "triton_gpu.convert_layout"
    assert found.asked_by.results[0].name == "%80"
    assert found.owner is not None
    assert found.owner.name == "scf.for"
    assert found.owner.results[0].name == "%67#0"
    assert found.reason == "owner-kept"
    assert [show(layout) for layout in found.candidates] == ["#blocked7"]
    ((result, held, pick),) = found.tied
    assert result.name == "%67#0"
    assert [show(layout) for layout in held] == ["#blocked1", "#blocked7"]
    assert pick is not None
    assert show(pick) == "#blocked1"


def test_how_each_candidate_came_there() -> None:
    report = explain(SEED, RULE_SETS["triton-3.0"])
    (fault,) = report.faults
    ways = {(way.value, way.encoding): way.hops for way in fault.ways}
    assert set(ways) == {("%arg12", "#blocked7"), ("%67#0", "#blocked1"), ("%67#0", "#blocked7")}
    assert "tt.dot %81" in ways["%arg12", "#blocked7"][0]
    assert "scf.yield" in ways["%arg12", "#blocked7"][-1]
    assert "tt.load %81" in ways["%67#0", "#blocked1"][0]
    assert "backward" in ways["%67#0", "#blocked1"][-1]
    assert "tt.dot" in ways["%67#0", "#blocked7"][0]
    assert "kept" in fault.why
    assert any("scf.while" in visit and "kept" in visit for visit in fault.visits)
    text = render(report)
    assert fault.owner.startswith("scf.for %67")
    assert "triton-3.2  runs, nothing is missing" in text
    assert len(render(report, full=False)) < len(text)


@pytest.mark.parametrize("rules", LATER)
def test_later_rules_miss_nothing(rules: str) -> None:
    _, steps, _ = run(SEED, rules)
    assert [step.why for step in steps if step.kind in FATAL] == []


def test_the_pass_goes_on_behind_a_missing_mapping() -> None:
    pass_, steps, converts = run(SEED, "triton-3.0")
    assert steps[-1].kind == "pass-end"
    assert converts == 3
    assert pass_.run is not None
    assert [value.name for value in pass_.run.recorder.table("poisoned")] == ["%arg12"]  # type: ignore[attr-defined]


def test_the_fixed_program() -> None:
    _, steps, converts = run(FIXED, "triton-3.0")
    assert converts == 4
    assert not [step for step in steps if step.kind in FATAL]


def _sections(text: str) -> list[tuple[str, list[str]]]:
    """The dump of the reporter's debug print: a value's line and its encodings."""
    out = []
    for part in text.split("--\n"):
        lines = part.strip().split("\n")
        if len(lines) > 2 and lines[0].startswith("Value: "):
            out.append((lines[0].removeprefix("Value: ").strip(), [line.strip() for line in lines[2:]]))
    return out


def test_the_propagated_values_of_the_fixed_program_in_their_order() -> None:
    """The candidates at the end of propagation are those that the reporter's compiler printed."""
    wanted = _sections((SEEDS / "triton_propagation_fix1.txt").read_text())
    program = parse_mlir(FIXED)
    pass_ = RemoveLayoutConversions(RULE_SETS["triton-3.0"])
    for step in pass_.steps(program):
        if step.kind == "pick-single":
            break
    assert pass_.run is not None
    log = DebugLog(program, pass_.run.tensors)
    held = list(pass_.run.recorder.table("candidates").items())
    ours = [[log.layout(layout) for layout in layouts] for _, layouts in held]
    assert ours == [encodings for _, encodings in wanted]
    kinds = [value.op.name if value.op is not None else "argument" for value, _ in held]  # type: ignore[attr-defined]
    assert kinds == ["argument" if "<block argument>" in line else _op_of(line) for line, _ in wanted]


def _op_of(line: str) -> str:
    return line.partition(" = ")[2].split()[0].strip('"')


def test_the_whole_pass_on_the_seed_is_fast() -> None:
    run(SEED, "triton-3.0")
    begun = time.perf_counter()
    run(SEED, "triton-3.0")
    assert time.perf_counter() - begun < 0.3


# (case, rules) → converts after the pass, or the kind of fault: the INDEX of the cases
OUTCOMES = {
    "01": {"triton-3.0": "missing-mapping", "triton-3.7": 1, "triton-3.8": 1, "triton-3.9": 1},
    "02": {"triton-3.0": 1, "triton-3.2": "out-of-range", "triton-3.7": "out-of-range",
           "triton-3.8": "out-of-range", "triton-3.9": 1},
    "04": dict.fromkeys(RULE_SETS, 0),
    "05": {"triton-3.0": 1, "triton-3.7": 2, "triton-3.8": 2, "triton-3.9": 2},
    "07": dict.fromkeys(RULE_SETS, 1),
    "09": dict.fromkeys(RULE_SETS, 1),
    "10": dict.fromkeys(RULE_SETS, 0),
    "12": dict.fromkeys(RULE_SETS, 1),
    "15": dict.fromkeys(RULE_SETS, 0),
}  # fmt: skip


@pytest.mark.parametrize(
    ("case", "rules", "outcome"),
    [(case, rules, outcome) for case, by_rules in OUTCOMES.items() for rules, outcome in by_rules.items()],
)
def test_cases(case: str, rules: str, outcome: int | str) -> None:
    (path,) = CASES.glob(f"{case}_*.mlir")
    _, steps, converts = run(path.read_text(), rules)
    fatal = [step.kind for step in steps if step.kind in FATAL]
    assert fatal == ([outcome] if isinstance(outcome, str) else [])
    if isinstance(outcome, int):
        assert converts == outcome


def test_a_disagreement_is_latent_where_ops_are_rewritten_in_place() -> None:
    text = (CASES / "01_for_feeds_while_missing_mapping.mlir").read_text()
    clone = run(text, "triton-3.0")[1]
    in_place = run(text, "triton-3.9")[1]
    assert any(step.kind == "missing-mapping" for step in clone)
    assert not any(step.kind == "missing-mapping" for step in in_place)


@pytest.mark.parametrize(
    ("header", "text", "name"),
    [
        ("", "#b = #triton_gpu.blocked<{}>", "triton-3.0"),
        (
            "// -----// IR Dump Before X (tritongpu-x) ('m' operation) //----- //",
            "#b = #ttg.blocked<{}>",
            "triton-3.7",
        ),
        (
            "// -----// IR Dump Before X: tritongpu-x ('m' operation) //----- //",
            "#b = #ttg.blocked<{}>",
            "triton-3.9",
        ),
        ("", "#b = #ttg.blocked<{}>", "triton-3.9"),
    ],
)
def test_the_rule_set_that_fits_a_dump(header: str, text: str, name: str) -> None:
    assert pick_rules(text, header).name == name


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("3.1", "triton-3.0"),
        ("3.2.0", "triton-3.2"),
        ("triton-3.4", "triton-3.7"),
        ("3.10", "triton-3.9"),
        ("v3.8.1", "triton-3.8"),
    ],
)
def test_releases_name_rule_sets(given: str, name: str) -> None:
    assert rules_named(given).name == name


def test_an_unknown_rule_set_says_which_there_are() -> None:
    with pytest.raises(InputError, match=r"triton-3\.9"):
        rules_named("triton-2.0")


def test_plain_names_are_those_of_the_printer() -> None:
    program = parse_mlir(SEED)
    names = plain_names(program)
    for op in walk(program):
        for result in op.results:
            assert names[result] == result.name  # Triton 3.0 prints plain names
