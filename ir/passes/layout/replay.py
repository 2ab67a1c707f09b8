"""The layout pass as the compiler itself told it: its debug output read as steps.

Triton's wheels print the pass's decisions with
`TRITON_LLVM_DEBUG_ONLY=tritongpu-remove-layout-conversions` (3.0 and later; `passlens capture
--layout-debug` sets it). Values are printed with plain names, block arguments without their owner.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from ...program import Program, Value, walk
from ..step import OP, PASS, PHASE, Recorder, Step
from .debuglog import DebugLog
from .remove_conversions import RemoveLayoutConversions
from .rules import RuleSet, pick_rules
from .tensors import Tensors

_MARK: Final = re.compile(r"(?:\([^)\n]*\bpid=\d+[^)\n]*\) ?)?\[tritongpu-remove-layout-conversions\]: ?")
_COUNT: Final = re.compile(
    r", which has (\d+) candidate encoding\(s\):$|^.*which has (\d+) candidate encoding\(s\):$"
)
_FATAL: Final = re.compile(r"Assertion `[^\n]*|UNREACHABLE executed[^\n]*|LLVM ERROR: [^\n]*")
_ENCODING: Final = re.compile(r" encoding (?=#)")
# phrase → kind of step; the rest of the line is the step's subject
_PHRASES: Final = (
    ("check backward remat with source ", "remat-check"),
    ("getRematerializableSlice failed", "remat-refused"),
    ("convert layout cost: ", "convert-cost"),
    ("rematerialisation cost: ", "remat-cost"),
    ("skipped rematerialization ", "remat-skipped"),
    ("remat convert op ", "remat"),
    ("addRematValue ", "remat-value"),
    ("mapping forOp ", "map-loop"),
    ("found remat'ed value", "remat-reused"),
    ("Hoisting", "hoist"),
)


@dataclass(slots=True)
class Event:
    """One thing that the compiler printed; `line` is its 1-based line in the log."""

    kind: str
    """`visit`, one of `remat-check`, `remat-refused`, `convert-cost`, `remat-cost`, `remat-skipped`, `remat`,
    `remat-value`, `map-loop`, `remat-reused`, `hoist`; `module` after a phase; `note`; `abort`."""
    line: int
    subject: str
    """The value or op as printed, or the rest of the sentence; a phase's name for `module`."""
    encodings: tuple[str, ...] = ()
    changed: int | None = None
    """How many values a visit changed (3.8 and later)."""
    detail: list[str] = field(default_factory=list)
    """Further lines: the ops of a slice, the text of a module."""


@dataclass(slots=True)
class Replay:
    """One run of the pass: its events in order, and how it ended."""

    events: list[Event] = field(default_factory=list)

    @property
    def aborted(self) -> str:
        """The message that ended the process inside this run, or ''."""
        return self.events[-1].subject if self.events and self.events[-1].kind == "abort" else ""

    def visits(self) -> list[Event]:
        """The steps of forward propagation."""
        return [event for event in self.events if event.kind == "visit"]


def read_replays(text: str) -> list[Replay]:
    """The runs of the pass that a log tells of; [] for a log without its debug output."""
    return _Reader(text).read()


class _Reader:
    """A run ends with its last module, or where propagation begins again."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.at = 0
        self.replays: list[Replay] = []
        self.finished = True

    def read(self) -> list[Replay]:
        while self.at < len(self.lines):
            line = self.lines[self.at]
            mark = _MARK.match(line)
            if mark:
                self._marked(line[mark.end() :].rstrip("\r"))
            else:
                fatal = _FATAL.search(line)
                if fatal and not self.finished:
                    self._add(Event("abort", self.at + 1, fatal.group().strip()))
                    self.finished = True
                self.at += 1
        return self.replays

    def _add(self, event: Event) -> Event:
        starts = event.kind == "visit" and self.replays and self._left_propagation()
        if self.finished or starts:
            self.replays.append(Replay())
            self.finished = False
        self.replays[-1].events.append(event)
        return event

    def _left_propagation(self) -> bool:
        return bool(self.replays[-1].events) and self.replays[-1].events[-1].kind != "visit"

    def _marked(self, content: str) -> None:
        words = content.strip()
        number = self.at + 1
        self.at += 1
        if words.startswith("propagateLayout considering "):
            self._visit(number, words[28:])
        elif words.startswith("Module after "):
            event = self._add(Event("module", number, words[13:].rstrip(":")))
            event.detail = self._unmarked()
            if event.subject == "final cleanups":
                self.finished = True
        elif words.startswith("changed: ") and self.replays and not self.finished:
            last = self.replays[-1].events[-1]
            last.changed = int(words[9:]) if words[9:].isdecimal() and len(words) < 20 else None
        elif not self.finished or words.startswith("check backward"):
            self._other(number, content, words)

    def _visit(self, number: int, subject: str) -> None:
        """The printed value may go on for lines (a loop with its body); then its candidates, one a line."""
        first = subject
        last = subject
        while "candidate encoding(s):" not in last and self.at < len(self.lines):
            if _MARK.match(self.lines[self.at]):
                break
            last = self.lines[self.at]
            self.at += 1
        first = first.partition(", which has ")[0].strip()
        counted = _COUNT.search(last.rstrip("\r"))
        digits = (counted.group(1) or counted.group(2) or "0") if counted else "0"
        encodings = [self._next_encoding() for _ in range(min(int(digits[:6]), len(self.lines) - self.at))]
        self._add(Event("visit", number, first, tuple(e for e in encodings if e)))

    def _next_encoding(self) -> str:
        mark = _MARK.match(self.lines[self.at]) if self.at < len(self.lines) else None
        text = self.lines[self.at][mark.end() :].strip() if mark else ""
        if not text.startswith("#"):
            return ""
        self.at += 1
        return text

    def _other(self, number: int, content: str, words: str) -> None:
        if content.startswith("    ") and self.replays and self.replays[-1].events:
            last = self.replays[-1].events[-1]
            if last.kind in ("remat", "remat-check", "hoist"):
                last.detail.append(words)
                return
        for phrase, kind in _PHRASES:
            if words.startswith(phrase):
                rest = words[len(phrase) :]
                subject, *encodings = _ENCODING.split(rest, maxsplit=1)
                event = self._add(
                    Event(kind, number, subject.strip(), tuple(_first_attribute(e) for e in encodings))
                )
                event.detail = self._unmarked()
                return
        self._add(Event("note", number, words))

    def _unmarked(self) -> list[str]:
        """The lines up to the next one of the pass's own."""
        taken = []
        while self.at < len(self.lines) and not _MARK.match(self.lines[self.at]):
            line = self.lines[self.at]
            if _FATAL.search(line) or line.startswith("// -----// "):
                break
            taken.append(line)
            self.at += 1
        return taken


def _first_attribute(text: str) -> str:
    """`#ttg.blocked<{…}> %5 = …` → `#ttg.blocked<{…}>`."""
    depth = 0
    for place, character in enumerate(text):
        if character == "<":
            depth += 1
        elif character == ">" and text[place - 1 : place] != "-":
            depth -= 1
            if depth == 0:
                return text[: place + 1]
    return text.strip()


class ReplayPass:
    """A replay as a pass for the stepper: the compiler's own decisions on the program it was given.

    Facts: `candidates` (value → encodings as printed). A value that is printed like no value of the program,
    or like several, is kept as its text.
    """

    name = "tritongpu-remove-layout-conversions@replay"

    def __init__(self, replay: Replay, rules: RuleSet | None = None) -> None:
        self.replay = replay
        self.rules = rules

    def steps(self, program: Program) -> Iterator[Step]:
        """The recorded events in order; the program is not edited."""
        recorder = Recorder()
        recorder.phase = "propagate"
        values = self._values(program)
        yield recorder.step("pass-begin", "what the compiler printed", depth=PASS)
        for number, event in enumerate(self.replay.events):
            value = values.get(number)
            if event.kind == "visit":
                recorder.set("candidates", value or event.subject, event.encodings)
            elif event.kind == "module":
                recorder.phase = event.subject
            depth = PHASE if event.kind == "module" else OP
            yield recorder.step(
                event.kind, sentence(event), value=value, encodings=event.encodings, depth=depth
            )
        yield recorder.step("pass-end", self.replay.aborted or "the run ends", depth=PASS)

    def _values(self, program: Program) -> dict[int, Value]:
        """The value of each visit: by its text, or where values share one, by the order of our own visits."""
        known = printed_values(program)
        ours = own_visits(program, self.rules or pick_rules(program.text))
        found: dict[int, Value] = {}
        place = 0
        for number, event in enumerate(self.replay.events):
            if event.kind != "visit":
                continue
            own = ours[place] if place < len(ours) else None
            value = own.value if own is not None and own.text == event.subject else known.get(event.subject)
            if value is not None:
                found[number] = value
            place += 1
        return found


@dataclass(frozen=True, slots=True)
class Visit:
    """One visit of our own propagation: the value, and it and its candidates as the compiler prints them."""

    value: Value
    text: str
    encodings: tuple[str, ...]


def own_visits(program: Program, rules: RuleSet) -> list[Visit]:
    """The visits that forward propagation makes under a rule set, in order; the program is not edited."""
    log = DebugLog(program, Tensors(program, rules))
    visits = []
    for step in RemoveLayoutConversions(rules).steps(program):
        if step.phase == "resolve":
            break  # from here on the pass would edit
        if step.kind == "visit" and step.value is not None:
            encodings = tuple(log.layout(layout) for layout in step.encodings)
            visits.append(Visit(step.value, log.value(step.value), encodings))
    return visits


@dataclass(frozen=True, slots=True)
class Parting:
    """The first visit at which the compiler and a rule set do not say the same; None where one has ended."""

    number: int
    theirs: Event | None
    ours: Visit | None


def compare_with(replay: Replay, program: Program, rules: RuleSet) -> Parting | None:
    """Where the compiler's propagation and ours part; None if they agree to the end."""
    theirs, ours = replay.visits(), own_visits(program, rules)
    for number in range(max(len(theirs), len(ours))):
        event = theirs[number] if number < len(theirs) else None
        visit = ours[number] if number < len(ours) else None
        if (
            event is None
            or visit is None
            or (event.subject, event.encodings) != (visit.text, visit.encodings)
        ):
            return Parting(number, event, visit)
    return None


def printed_values(program: Program) -> dict[str, Value | None]:
    """How the compiler prints each value → the value; None for a text that several values share."""
    log = DebugLog(program, Tensors(program, pick_rules(program.text)))
    known: dict[str, Value | None] = {}
    for op in walk(program):
        values = op.results[:1] + [arg for r in op.regions for b in r.blocks for arg in b.args]
        for value in values:
            text = log.value(value)
            known[text] = None if text in known else value
    return known


def sentence(event: Event) -> str:
    """An event in one sentence."""
    subject = event.subject
    said = {
        "visit": f"considers {subject}" + (f"; changed {event.changed}" if event.changed is not None else ""),
        "remat-check": f"can {subject} be made again in another layout?",
        "remat-refused": "no: a value of the slice cannot be made again",
        "convert-cost": f"the convert costs {subject}",
        "remat-cost": f"making the slice again costs {subject}",
        "remat-skipped": f"skipped {subject}",
        "remat": f"makes the slice of {subject} again ({len(event.detail)} ops)",
        "remat-value": f"made again: {subject}",
        "map-loop": f"a loop with further arguments: {subject}",
        "module": f"the module after {subject}",
        "abort": f"the process died: {subject}",
    }
    return said.get(event.kind, subject)


def to_json(replay: Replay) -> dict[str, Any]:
    """A run as `passlens replay --json` gives it."""
    return {
        "aborted": replay.aborted or None,
        "events": [
            {"kind": e.kind, "line": e.line, "subject": e.subject, "encodings": list(e.encodings),
             "changed": e.changed, "detail": e.detail if e.kind != "module" else []}
            for e in replay.events
        ],
    }  # fmt: skip
