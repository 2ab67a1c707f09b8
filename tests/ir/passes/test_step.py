"""The debugger of passes: forwards, backwards, breakpoints, facts at every position."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from passlens.ir import edit
from passlens.ir.errors import InputError
from passlens.ir.formats.mlir import parse_mlir, print_mlir
from passlens.ir.passes.layout.remove_conversions import RemoveLayoutConversions
from passlens.ir.passes.layout.rules import RULE_SETS
from passlens.ir.passes.step import DETAIL, OP, PASS, PHASE, Debugger, Recorder, Step, breakpoint_of
from passlens.ir.program import Program
from passlens.ir.verify import verify

GOLDEN = Path(__file__).parents[2] / "golden"
SEED = (GOLDEN / "seeds" / "triton_reproducible.mlir").read_text()
CASES = sorted((GOLDEN / "cases" / "layout").glob("*.mlir"))
VALID = [path for path in CASES if not path.name.startswith("14_")]


def debugger(text: str = SEED, rules: str = "triton-3.0") -> Debugger:
    return Debugger(RemoveLayoutConversions(RULE_SETS[rules]), parse_mlir(text))


def frozen(walk: Debugger) -> dict[str, dict[object, object]]:
    return {table: dict(entries) for table, entries in walk.facts.items()}


@pytest.mark.parametrize("rules", RULE_SETS)
@pytest.mark.parametrize("path", VALID, ids=lambda path: path.stem)
def test_back_and_forth_over_the_whole_run(path: Path, rules: str) -> None:
    text = path.read_text()
    walk = debugger(text, rules)
    walk.finish()
    end, facts = print_mlir(walk.program), frozen(walk)
    assert walk.position == len(walk.known) > 5
    walk.rewind()
    assert walk.position == 0
    assert print_mlir(walk.program) == text
    assert walk.facts == {}
    assert verify(walk.program) == []
    walk.finish()
    assert print_mlir(walk.program) == end
    assert frozen(walk) == facts


def test_uses_are_right_after_every_step_back() -> None:
    walk = debugger()
    walk.finish()
    while walk.back() is not None:
        if walk.position % 25 == 0:
            assert [d for d in verify(walk.program) if d.code == "broken-chain"] == []


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 400), min_size=1, max_size=8), st.sampled_from(sorted(RULE_SETS)))
def test_a_position_is_the_same_however_it_is_come_to(places: list[int], rules: str) -> None:
    walk = debugger(rules=rules)
    for place in places:
        walk.go_to(place)
    straight = debugger(rules=rules)
    straight.go_to(walk.position)
    assert print_mlir(walk.program) == print_mlir(straight.program)
    assert sorted(walk.facts) == sorted(straight.facts)
    for table, entries in walk.facts.items():
        assert len(entries) == len(straight.facts[table])


def test_breakpoints() -> None:
    walk = debugger()
    step = walk.until(breakpoint_of("missing"))
    assert step is not None
    assert step.kind == "missing-mapping"
    assert step.value is not None
    assert step.value.name == "%arg12"
    assert walk.facts["pick"][step.value] == step.encodings[0]
    assert (step.value, step.encodings[0]) not in walk.facts.get("mapping", {})
    before = walk.position
    assert walk.back_until(breakpoint_of("kind=pick")) is not None
    assert walk.position < before
    assert walk.until(breakpoint_of("missing")) is step
    assert walk.position == before


@pytest.mark.parametrize(
    ("text", "kind"),
    [("value=%81", "visit"), ("op=tt.dot", "anchor"), ("phase=remat", "phase"), ("kind=fold", "fold")],
)
def test_kinds_of_breakpoints(text: str, kind: str) -> None:
    step = debugger().until(breakpoint_of(text))
    assert step is not None
    assert kind in (step.kind, "visit")


@pytest.mark.parametrize("text", ["", "nonsense", "value", "colour=red"])
def test_a_bad_breakpoint_says_what_there_is(text: str) -> None:
    with pytest.raises(InputError, match="expected missing"):
        breakpoint_of(text)


def test_over_and_out() -> None:
    walk = debugger()
    walk.until(lambda step: step.depth == OP)
    step = walk.over()
    assert step is not None
    assert step.depth <= OP
    out = walk.out()
    assert out is not None
    assert out.depth <= PHASE
    assert walk.out() is walk.step
    assert walk.step is not None
    assert walk.step.depth == PASS


class _Renames:
    """A pass that edits after its last step, as a careless one might."""

    name = "renames"

    def steps(self, program: Program) -> Iterator[Step]:
        recorder = Recorder()
        function = program.ops[0].regions[0].blocks[0].ops[0]
        recorder.set("seen", function, True)
        yield recorder.step("first", "one", op=function, depth=DETAIL)
        edit.set_attribute(function, "noinline", None)
        recorder.set("seen", function, None)


def test_edits_behind_the_last_step_belong_to_it() -> None:
    walk = Debugger(_Renames(), parse_mlir(SEED))
    walk.finish()
    assert print_mlir(walk.program) != SEED
    walk.rewind()
    assert print_mlir(walk.program) == SEED


def test_a_step_back_costs_what_the_step_changed() -> None:
    walk = debugger()
    walk.finish()
    changes = [len(past.changes) for past in walk._past]
    assert max(changes[10:-20]) < 400
    assert sum(size == 0 for size in changes) > 100
