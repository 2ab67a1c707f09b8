"""Where two compiles part, and what became of one op or value in a compile."""

from __future__ import annotations

from pathlib import Path

import pytest
from passlens.ir.diff.apply import apply
from passlens.ir.diff.compare import compare
from passlens.ir.diff.history import history, value_history
from passlens.ir.diff.json import trace_diff_data
from passlens.ir.diff.script import script
from passlens.ir.diff.traces import TraceDiff, compare_traces
from passlens.ir.formats.mlir import parse_mlir
from passlens.ir.program import Program, walk
from passlens.ir.trace import Trace, open_trace, trace_of_text

LOGS = Path(__file__).parents[2] / "golden/diff"


def log(name: str) -> Trace:
    return open_trace(str(LOGS / f"matmul_bias-{name}.log.gz"))


def dump(pass_name: str, body: str, function: str = "k") -> str:
    argument = pass_name.lower()
    return (
        f"// -----// IR Dump Before {pass_name} ({argument}) ('builtin.module' operation) //----- //\n"
        f"module {{\n  tt.func public @{function}(%a: i32) {{\n{body}    tt.return\n  }}\n}}\n\n\n"
    )


def compiled(*steps: tuple[str, str], function: str = "k") -> Trace:
    return trace_of_text("".join(dump(name, body, function) for name, body in steps))


def parting(diff: TraceDiff) -> tuple[str, str]:
    [found] = diff.divergences
    assert found.pair is not None
    return found.pair.title, found.reason


ONE = "    %0 = x.a %a : i32\n"
TWO = "    %0 = x.a %a {k = 2 : i32} : i32\n"
OTHER = "    %0 = x.other %a : i32\n    x.use %0 : i32\n"


# -- two real compiles ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "option", "title"),
    [
        ("3.0.0", "num_stages-1", "tritongpu-pipeline#1"),
        ("3.0.0", "num_warps-8", "convert-triton-to-tritongpu#1"),
        ("3.9.0", "num_stages-1", "tritongpu-assign-latencies#1"),
    ],
)
def test_the_first_diverging_pass(version: str, option: str, title: str) -> None:
    a, b = log(version), log(f"{version}.{option}")
    assert parting(compare_traces(a, b)) == (title, "pass")
    assert parting(compare_traces(b, a)) == (title, "pass")
    # The dumps as text say so too: the same up to the pass, another behind it.
    first = next(k for k in range(len(a.snapshots)) if a.text(k) != b.text(k))
    run = next(run for run in a.runs if run.after == first)
    assert f"{run.argument}#{run.ordinal}" == title


def test_a_compile_is_the_same_as_itself() -> None:
    a = log("3.0.0")
    diff = compare_traces(a, log("3.0.0"))
    assert diff.same and len(diff.pairs) == len(a.runs)
    assert {pair.verdict for pair in diff.pairs} == {"same", "unknown"}


def test_every_pass_has_a_mirror_and_a_script() -> None:
    """All passes of a real compile, from Python's own shapes to what is left of it before `cf`."""
    trace = log("3.0.0")
    changed = [run for run in trace.runs if trace.changed(run)]
    assert len(changed) > 15
    for run in changed:
        assert run.before is not None and run.after is not None
        a, b = trace.program(run.before), trace.program(run.after)
        there, back = compare(a, b), compare(b, a)
        assert (there.ops_a, there.values_a) == (back.ops_b, back.values_b), run.argument
        assert len(there.changes) == len(back.changes)
        fresh = parse_mlir(trace.text(run.before))
        apply(fresh, script(there))
        assert compare(fresh, b).same, run.argument


# -- made ones -----------------------------------------------------------------------------------------


def test_renumbered_dumps_are_the_same() -> None:
    a = compiled(("P", ONE), ("Q", ONE), ("R", TWO))
    b = compiled(("P", ONE), ("Q", ONE.replace("%0", "%7")), ("R", TWO.replace("%0", "%9")))
    assert compare_traces(a, b).same


def test_programs_that_differ_before_the_first_pass() -> None:
    a = compiled(("P", ONE), ("Q", ONE))
    b = compiled(("P", OTHER), ("Q", OTHER))
    assert parting(compare_traces(a, b)) == ("p#1", "input")


def test_a_pass_that_only_one_compile_ran() -> None:
    a = compiled(("P", ONE), ("Q", ONE), ("R", ONE))
    b = compiled(("P", ONE), ("Extra", ONE), ("Q", TWO), ("R", TWO))
    diff = compare_traces(a, b)
    assert [(pair.title, pair.verdict) for pair in diff.pairs] == [
        ("p#1", "same"),
        ("extra#1", "only-b"),
        ("q#1", "changed"),
        ("r#1", "unknown"),
    ]
    assert parting(diff) == ("extra#1", "extra")


def test_an_extra_pass_without_effect_is_no_divergence() -> None:
    a = compiled(("P", ONE), ("Q", ONE), ("R", TWO))
    b = compiled(("P", ONE), ("Extra", ONE), ("Q", ONE), ("R", TWO))
    diff = compare_traces(a, b)
    assert diff.divergences == []
    assert not diff.same  # one of them ran a pass that the other did not


def test_a_pass_repeated_on_one_side_keeps_the_others_aligned() -> None:
    a = compiled(("P", ONE), ("Q", ONE), ("P", ONE), ("R", TWO))
    b = compiled(("P", ONE), ("P", ONE), ("Q", ONE), ("P", ONE), ("R", TWO))
    pairs = compare_traces(a, b).pairs
    assert [pair.title for pair in pairs if pair.a and pair.b] == ["p#1", "q#1", "p#2 / p#3", "r#1"]


def test_kernels_are_paired_by_name_and_a_renamed_one_by_being_left() -> None:
    a = compiled(("P", ONE), ("Q", ONE), function="f")
    b = compiled(("P", ONE), ("Q", TWO), function="g")
    diff = compare_traces(a, b)
    assert diff.only_a == diff.only_b == []
    assert [pair.kernel for pair in diff.pairs] == ["g", "g"]


def test_the_comparison_as_data() -> None:
    a, b = compiled(("P", ONE), ("Q", ONE)), compiled(("P", ONE), ("Q", TWO))
    data = trace_diff_data(compare_traces(a, b), "a.log", "b.log")
    assert (data["kind"], data["same"]) == ("traces", False)
    assert data["passes"][0]["verdict"] == "changed" and data["passes"][0]["counts"]["changed"] == 1
    assert data["divergences"][0]["pass"] == "p#1"


# -- history -------------------------------------------------------------------------------------------

LOOP = (
    "    %c = x.start %a : i32\n    scf.for %i = %a to %a step %a  : i32 {\n"
    "      %v = x.inv %c : i32\n      x.use %v : i32\n    }\n"
)
HOISTED = (
    "    %c = x.start %a : i32\n    %v = x.inv %c : i32\n    scf.for %i = %a to %a step %a  : i32 {\n"
    "      x.use %v : i32\n    }\n"
)
REWRITTEN = HOISTED.replace("x.inv %c", "x.inv %c {fast}")
REPLACED = (
    "    %c = x.start %a : i32\n    scf.for %i = %a to %a step %a  : i32 {\n      x.use %c : i32\n    }\n"
)
STEPS = compiled(
    ("P", "    %c = x.start %a : i32\n"),
    ("Q", LOOP),
    ("R", LOOP.replace("%v", "%44")),
    ("S", HOISTED),
    ("T", REWRITTEN),
    ("U", REPLACED),
    ("V", REPLACED),
)


def number(program: Program, name: str) -> int:
    return next(i for i, op in enumerate(walk(program)) if op.name == name)


@pytest.mark.parametrize("snapshot", [1, 2, 3, 4])
def test_one_op_through_a_compile(snapshot: int) -> None:
    events = history(STEPS, snapshot, number(STEPS.program(snapshot), "x.inv"))
    assert [(event.snapshot, event.what) for event in events] == [
        (1, "born"),
        (2, "unchanged"),
        (3, "hoisted"),
        (4, "rewritten"),
        (5, "erased"),
    ]
    assert events[-1].replacement == "%c"
    assert [part.which for part in events[3].parts] == ["fast"]
    assert STEPS.runs[events[2].run or 0].name == "R"


def test_one_value_through_a_compile() -> None:
    program = STEPS.program(0)
    start = next(op for op in walk(program) if op.name == "x.start")
    events = value_history(STEPS, 0, start.results[0])
    assert [event.what for event in events] == ["present", *["unchanged"] * 6]
    argument = next(op for op in walk(program) if op.name == "tt.func").regions[0].blocks[0].args[0]
    assert [event.what for event in value_history(STEPS, 0, argument)] == ["present", *["unchanged"] * 6]


def test_a_value_that_nothing_defines_has_no_history() -> None:
    trace = compiled(("P", "    x.use %nowhere : i32\n"), ("Q", ONE))
    use = next(op for op in walk(trace.program(0)) if op.name == "x.use")
    with pytest.raises(ValueError, match="%nowhere"):
        value_history(trace, 0, use.operands[0])


def test_history_in_a_real_compile() -> None:
    trace = log("3.0.0")
    last = len(trace.snapshots) - 1
    events = history(trace, last, number(trace.program(last), "tt.store"))
    assert events[0].what == "present" and events[-1].snapshot == last
    assert {"rewritten", "unchanged"} <= {event.what for event in events}
