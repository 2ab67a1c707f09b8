"""A pass as a generator of steps, and a debugger that walks the steps forwards and backwards.

A pass keeps no state of interest in locals: what it learns are *facts* in tables (`facts[table][key]`), and
every step carries the facts that it changed. The edits that a pass makes between two steps are journalled
and belong to the later one. So a step can be taken back, and made again, at the cost of what it changed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias

from ..errors import InputError
from ..journal import Change, recording, redo, undo
from ..program import Op, Program, Value

PASS: Final = 0
"""Depth of the steps that begin and end a pass."""
PHASE: Final = 1
"""Depth of the steps that begin and end a phase of a pass."""
OP: Final = 2
"""Depth of a step about one op or value."""
DETAIL: Final = 3
"""Depth of what happens inside the visit of one op or value."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One change of a fact; `old` or `new` is None where the table has no such key before or after."""

    table: str
    key: Hashable
    old: Any
    new: Any


@dataclass(frozen=True, slots=True)
class Step:
    """One event of a pass: what it decided, about which op or value, why, and what that changed."""

    kind: str
    """A stable kebab-case name (`visit`, `pick`, `map`, `missing-mapping`, …); each pass lists its own."""
    phase: str
    why: str
    """One sentence for people."""
    op: Op | None = None
    value: Value | None = None
    encodings: tuple[Any, ...] = ()
    """The encodings (or other data) that the sentence is about, in the order of the sentence."""
    facts: tuple[Fact, ...] = ()
    depth: int = OP


Facts: TypeAlias = Mapping[str, Mapping[Hashable, Any]]


class Pass(Protocol):
    """Something that changes a program and says how."""

    @property
    def name(self) -> str:
        """As users type it (`tritongpu-remove-layout-conversions@triton-3.0`)."""

    def steps(self, program: Program) -> Iterator[Step]:
        """Run on `program`, which is edited in place, yielding each step once it is done."""


class Recorder:
    """The facts of a running pass, and the ones that changed since its last step."""

    def __init__(self) -> None:
        self.facts: dict[str, dict[Hashable, Any]] = {}
        self.phase = ""
        self._changed: list[Fact] = []

    def get(self, table: str, key: Hashable) -> Any:
        """The fact, or None."""
        return self.facts.get(table, {}).get(key)

    def table(self, name: str) -> dict[Hashable, Any]:
        """A table as it is now; change it through `set` only."""
        return self.facts.setdefault(name, {})

    def set(self, table: str, key: Hashable, new: Any) -> None:
        """Set a fact, or with None take it away."""
        entries = self.facts.setdefault(table, {})
        old = entries.get(key)
        if old is new:
            return
        if new is None:
            entries.pop(key, None)
        else:
            entries[key] = new
        self._changed.append(Fact(table, key, old, new))

    def clear(self, table: str) -> None:
        """Take all facts of a table away."""
        for key in list(self.facts.get(table, {})):
            self.set(table, key, None)

    def step(
        self,
        kind: str,
        why: str,
        *,
        op: Op | None = None,
        value: Value | None = None,
        encodings: tuple[Any, ...] = (),
        depth: int = OP,
    ) -> Step:
        """A step with the facts that changed since the last one."""
        facts = tuple(self._changed)
        self._changed.clear()
        return Step(kind, self.phase, why, op, value, encodings, facts, depth)


@dataclass(slots=True)
class _Past:
    step: Step
    changes: list[Change] = field(default_factory=list)


Breakpoint: TypeAlias = Callable[[Step], bool]


class Debugger:
    """Walks a pass over a program. `facts`, `program` and `step` are as of the current position.

    Position 0 is before the first step; after `forward()` the position is 1 and `step` is the first one.
    """

    def __init__(self, pass_: Pass, program: Program) -> None:
        self.pass_ = pass_
        self.program = program
        self.facts: dict[str, dict[Hashable, Any]] = {}
        self.position = 0
        self.finished = False
        """Whether the pass has been seen to end; the position may be before the end all the same."""
        self._past: list[_Past] = []
        self._run = iter(pass_.steps(program))

    @property
    def step(self) -> Step | None:
        """The last step that was made and not taken back."""
        return self._past[self.position - 1].step if self.position else None

    @property
    def known(self) -> list[Step]:
        """All steps seen so far, also those taken back."""
        return [past.step for past in self._past]

    @property
    def seen(self) -> int:
        """How many steps have been seen so far, also those taken back."""
        return len(self._past)

    def known_at(self, index: int) -> Step:
        """Step number `index` of those seen so far, from 0."""
        return self._past[index].step

    def forward(self) -> Step | None:
        """Make the next step; None at the end of the pass."""
        if self.position < len(self._past):
            past = self._past[self.position]
            redo(past.changes)
        else:
            made = self._next()
            if made is None:
                return None
            past = made
        self.position += 1
        for fact in past.step.facts:
            _set(self.facts, fact.table, fact.key, fact.new)
        return past.step

    def back(self) -> Step | None:
        """Take the current step back and return it; None at the beginning."""
        if self.position == 0:
            return None
        self.position -= 1
        past = self._past[self.position]
        undo(past.changes)
        for fact in reversed(past.step.facts):
            _set(self.facts, fact.table, fact.key, fact.old)
        return past.step

    def over(self) -> Step | None:
        """Go on to the next step that is no deeper than the current one."""
        limit = self.step.depth if self.step else PASS
        return self.until(lambda step: step.depth <= limit)

    def out(self) -> Step | None:
        """Go on to the next step that is less deep than the current one (the next op, phase, the end)."""
        limit = self.step.depth if self.step else PASS
        return self.until(lambda step: step.depth < limit)

    def until(self, stop: Breakpoint) -> Step | None:
        """Go on to the next step that `stop` accepts; at the end of the pass, None."""
        while (step := self.forward()) is not None:
            if stop(step):
                return step
        return None

    def back_until(self, stop: Breakpoint) -> Step | None:
        """Go back until the current step is one that `stop` accepts; at the beginning, None."""
        while self.back() is not None:
            if self.step is not None and stop(self.step):
                return self.step
        return None

    def finish(self) -> None:
        """Go on to the end of the pass."""
        while self.forward() is not None:
            pass

    def rewind(self) -> None:
        """Go back to the beginning."""
        while self.back() is not None:
            pass

    def go_to(self, position: int) -> None:
        """Go to a position, forwards or backwards; stops at the end of the pass."""
        while self.position > position:
            self.back()
        while self.position < position and self.forward() is not None:
            pass

    def _next(self) -> _Past | None:
        if self.finished:
            return None
        changes: list[Change] = []
        with recording(changes):
            step = next(self._run, None)
        if step is None:
            self.finished = True
            if changes and self._past:
                self._past[-1].changes.extend(changes)
            return None
        past = _Past(step, changes)
        self._past.append(past)
        return past


def _set(facts: dict[str, dict[Hashable, Any]], table: str, key: Hashable, value: Any) -> None:
    if value is not None:
        facts.setdefault(table, {})[key] = value
        return
    entries = facts.get(table)
    if entries is not None:
        entries.pop(key, None)
        if not entries:
            del facts[table]


def breakpoint_of(text: str) -> Breakpoint:
    """A breakpoint from what users type: `missing`, `kind=pick`, `phase=…`, `op=tt.load`, `value=%81`.

    Raises:
        InputError: the text is none of these.
    """
    if text == "missing":
        return lambda step: step.kind == "missing-mapping"
    name, equals, wanted = text.partition("=")
    tests: dict[str, Breakpoint] = {
        "kind": lambda step: step.kind == wanted,
        "phase": lambda step: step.phase == wanted,
        "op": lambda step: step.op is not None and step.op.name == wanted,
        "value": lambda step: _names(step, wanted),
    }
    if not equals or name not in tests:
        raise InputError(
            f"{text!r} is no place to stop: expected missing, or one of {', '.join(f'{n}=…' for n in tests)}"
        )
    return tests[name]


def _names(step: Step, name: str) -> bool:
    if step.value is not None and name in (step.value.name, step.value.name.partition("#")[0]):
        return True
    return step.op is not None and any(
        name in (result.name, result.name.partition("#")[0]) for result in step.op.results
    )
