"""A layout pass being walked: the debugger on a program of its own, and what the screen asks of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Final

from ..ir.errors import InputError
from ..ir.formats.mlir import parse_mlir
from ..ir.formats.mlir_print import print_mlir
from ..ir.passes.layout.remove_conversions import RemoveLayoutConversions
from ..ir.passes.layout.rules import RULE_SETS, rules_named
from ..ir.passes.layout.state import describe
from ..ir.passes.step import PHASE, Breakpoint, Debugger, Step
from ..ir.program import Op, Program, Value

MISSING: Final = "missing-mapping"
_EXPECTED: Final = "missing, kind=…, value=%…, op=… or phase=…"
_TERM: Final = re.compile(r"(kind|value|op|phase)=(.+)")


@dataclass(slots=True)
class Cell:
    """One value in the table: what it could be, what it was given, what it became."""

    value: Value
    candidates: tuple[str, ...]
    pick: str
    """The chosen encoding as the program spells it, or ''."""
    order_dependent: bool
    image: str
    """The rewritten value's name, or ''."""
    missing: str
    """The encoding that was asked for and never made, or ''."""


class Stepping:
    """The pass under one rule set, on a fresh program of `text`."""

    format: Final = "mlir"
    first_stop: Final = "missing"

    def __init__(self, text: str, rules: str) -> None:
        self.text = text
        self.rules = rules
        self.program: Program = parse_mlir(text)
        self.pass_ = RemoveLayoutConversions(rules_named(rules))
        self.debugger = Debugger(self.pass_, self.program)
        self._printed: tuple[int, str] = (0, text)

    @property
    def step(self) -> Step | None:
        """The step that was made last."""
        return self.debugger.step

    @property
    def values(self) -> list[Value]:
        """The values that have candidates, in the order in which they got the first."""
        return [value for value in self.debugger.facts.get("candidates", {}) if isinstance(value, Value)]

    def cell(self, value: Value) -> Cell:
        """What the facts say of a value at this step."""
        facts = self.debugger.facts
        pick = facts.get("pick", {}).get(value)
        image = facts.get("mapping", {}).get((value, pick))
        wanted = next((key for key in facts.get("missing", {}) if _first(key) is value), None)
        return Cell(
            value,
            tuple(self.spell(layout) for layout in facts.get("candidates", {}).get(value, ())),
            self.spell(pick) if pick is not None else "",
            bool(facts.get("order_dependent", {}).get(value)),
            image.name if isinstance(image, Value) else "",
            self.spell(wanted[1]) if isinstance(wanted, tuple) else "",
        )

    def spell(self, layout: Any) -> str:
        """An encoding as the program spells it."""
        run = self.pass_.run
        return run.show(layout) if run is not None else str(layout)

    def shown_text(self) -> str:
        """The program at this step as text; printed anew only where the position is another one."""
        if self._printed[0] != self.debugger.position:
            self._printed = self.debugger.position, print_mlir(self.program)
        return self._printed[1]

    def place(self, text: str) -> int | None:
        """Where in `text` the step's op or value stands; None where it has no place there."""
        step = self.step
        op = self.subject()
        if step is None or op is None:
            return None
        if text == self.text and 0 <= op.start < op.end:
            return op.start
        names = [result.name.partition("#")[0] for result in op.results]
        if names:
            found = re.search(rf"^[ \t]*({re.escape(names[0])}(?::\d+)? = )", text, re.M)
            return found.start(1) if found else None
        return None

    def subject(self) -> Op | None:
        """The op that the step is about: its own, its value's, or the one whose argument the value is."""
        step = self.step
        if step is None:
            return None
        if step.op is not None:
            return step.op
        if step.value is None:
            return None
        if step.value.op is not None:
            return step.value.op
        owner = step.value.owner
        region = getattr(owner, "parent", None)
        return region.parent if region is not None else None

    def missing(self) -> list[int]:
        """The positions of the missing mappings among the steps seen so far."""
        return [n for n, step in enumerate(self.debugger.known, 1) if step.kind == MISSING]


def _first(key: Hashable) -> object:
    return key[0] if isinstance(key, tuple) else key


def breakpoint_of(text: str) -> Breakpoint:
    """`missing`, `kind=…`, `value=%81`, `op=convert_layout`, `phase=…`; of several, all must hold.

    Raises InputError with what can be said.
    """
    tests: list[Callable[[Step], bool]] = []
    for word in text.split():
        if word == "missing":
            tests.append(lambda step: step.kind == MISSING)
            continue
        term = _TERM.fullmatch(word)
        if term is None:
            raise InputError(
                f"{word!r} is no breakpoint: expected missing, kind=…, value=%…, op=… or phase=…"
            )
        tests.append(_test(term.group(1), term.group(2)))
    if not tests:
        raise InputError(
            "a breakpoint wants something to stop at: missing, kind=…, value=%…, op=… or phase=…"
        )
    return lambda step: all(test(step) for test in tests)


def _test(what: str, wanted: str) -> Callable[[Step], bool]:
    if what == "value":
        if "@" in wanted:  # MIGraphX's values, and events by their numbers
            return lambda step: _about(step, wanted)
        name = wanted if wanted.startswith("%") else f"%{wanted}"
        return lambda step: step.value is not None and step.value.name in (name, f"{name}#0")
    if what == "op":
        return lambda step: step.op is not None and wanted in step.op.name
    if what == "phase":
        return lambda step: step.phase == wanted and step.depth <= PHASE
    return lambda step: step.kind == wanted


def _about(step: Step, name: str) -> bool:
    """Whether a step is about a value: its own, its op's, or one whose facts it changed."""
    values = [step.value] if step.value is not None else []
    values += step.op.results if step.op is not None else []
    return any(value.name == name for value in values) or any(fact.key == name for fact in step.facts)


@dataclass(frozen=True, slots=True)
class Parting:
    """The first step at which two rule sets do something else; positions count from 1."""

    position: int
    left: str
    right: str


def parting(text: str, left: str, right: str) -> Parting | None:
    """Run both rule sets on `text` and find where they part; None if they take the same steps."""
    runs = []
    for rules in (left, right):
        walked = Stepping(text, rules)
        walked.debugger.finish()
        runs.append([(_signature(walked, step), step.why) for step in walked.debugger.known[1:]])
    for number in range(max(map(len, runs))):
        one, other = (run[number] if number < len(run) else None for run in runs)
        if one is None or other is None or one[0] != other[0]:
            said = ["the pass has ended" if step is None else step[1] for step in (one, other)]
            return Parting(number + 2, said[0], said[1])
    return None


def _signature(walked: Stepping, step: Step) -> tuple[str, ...]:
    value = step.value.name if step.value is not None else ""
    if step.kind in ("pass-begin", "pass-end"):
        return (step.kind,)
    return (step.kind, value, *(walked.spell(layout) for layout in step.encodings))


def next_rules(rules: str, by: int = 1) -> str:
    """The rule set behind this one, around the corner."""
    names = list(RULE_SETS)
    return names[(names.index(rules) + by) % len(names)]


__all__ = ["MISSING", "Cell", "Parting", "Stepping", "breakpoint_of", "describe", "next_rules", "parting"]
