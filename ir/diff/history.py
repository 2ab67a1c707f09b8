"""One op or value through all passes of a compile: born, moved, rewritten, erased."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from ..program import Block, Op, Program, Value, ancestors, walk
from ..trace import Trace
from .compare import compare
from .options import DEFAULT, Options
from .result import Change, Diff, Part

What = Literal["present", "born", "unchanged", "rewritten", "moved", "hoisted", "sunk", "erased"]
"""`hoisted`: out of a region into one around it; `sunk`: into a region; `present`: in the first snapshot."""


@dataclass(slots=True)
class Event:
    """What became of an op or value between the previous snapshot of its kernel and `snapshot`.

    `op` and `value` are numbers in a walk over that snapshot's program (of the one before where it was
    erased); `op` is -1 for a block argument. `replacement` names the value that took an erased value's
    place in the ops that stayed, if there is one such value.
    """

    snapshot: int
    run: int | None
    """Index of the pass that did it; None where no pass stands between the two snapshots."""
    what: What
    op: int
    text: str
    """The op's header as printed, or the argument's name."""
    parts: list[Part] = field(default_factory=list)
    replacement: str = ""


def history(trace: Trace, snapshot: int, op: int, options: Options = DEFAULT) -> list[Event]:
    """Follow op number `op` (in a walk over the program of `snapshot`) back to its birth and on to its end.

    Raises IndexError for an op that the program has not.
    """
    program = trace.program(snapshot)
    ops = list(walk(program))
    return _follow(trace, snapshot, _OpTrack(ops[op]), options)


def value_history(trace: Trace, snapshot: int, value: Value, options: Options = DEFAULT) -> list[Event]:
    """Follow a value of the program of `snapshot`, a result or a block argument.

    Raises ValueError for a value that nothing defines.
    """
    return _follow(trace, snapshot, _ValueTrack(value), options)


class _OpTrack:
    """An op that is followed from program to program."""

    def __init__(self, op: Op) -> None:
        self.op = op

    def across(self, diff: Diff) -> _OpTrack | None:
        other = diff.counterpart(self.op)
        return None if other is None else _OpTrack(other)

    def number(self, program: Program) -> int:
        return next((i for i, op in enumerate(walk(program)) if op is self.op), -1)

    def rebound(self, program: Program, number: int) -> _OpTrack:
        return _OpTrack(list(walk(program))[number])

    @property
    def text(self) -> str:
        return header(self.op)

    def change(self, diff: Diff) -> Change | None:
        return next((c for c in diff.changes if c.a is self.op or c.b is self.op), None)

    def replacement(self, diff: Diff) -> str:
        return next((name for v in self.op.results if (name := _replacement(diff, v))), "")


class _ValueTrack(_OpTrack):
    """A value that is followed; where an op defines it, that op's changes are its own."""

    def __init__(self, value: Value) -> None:
        self.value = value
        owner = value.owner
        around = owner.parent.parent if isinstance(owner, Block) and owner.parent else None
        op = value.op or around
        if op is None:
            raise ValueError(f"{value.name} is defined by no op: it has no history")
        super().__init__(op)

    def across(self, diff: Diff) -> _ValueTrack | None:
        other = diff.counterpart_of_value(self.value)
        return None if other is None or other.owner is None else _ValueTrack(other)

    @property
    def text(self) -> str:
        return header(self.op) if self.value.op else f"{self.value.name} of {header(self.op)}"

    def replacement(self, diff: Diff) -> str:
        return _replacement(diff, self.value)


def header(op: Op) -> str:
    """The op's text up to its first region, on one line."""
    if op.source is None or op.start < 0:
        names = ", ".join(value.name for value in op.results)
        return f"{names} = {op.name}" if names else op.name
    end = op.regions[0].start if op.regions and op.regions[0].start > op.start else op.end
    return " ".join(op.source.text[op.start : end].split())


def _follow(trace: Trace, snapshot: int, track: _OpTrack, options: Options) -> list[Event]:
    line = _line_of(trace, snapshot)
    here = next(i for i, (index, _) in enumerate(line) if index == snapshot)
    past = list(_backwards(trace, line[: here + 1], track, options))
    past.reverse()
    return [*past, *_forwards(trace, line[here:], track, options)]


def _line_of(trace: Trace, snapshot: int) -> list[tuple[int, int | None]]:
    """(snapshot, run that made it) of the kernel's compile in order; snapshots of one moment once."""
    kernel = trace.snapshots[snapshot].kernel
    line: list[tuple[int, int | None]] = []
    for run in trace.runs:
        if run.kernel != kernel:
            continue
        if run.before is not None and (not line or line[-1][0] != run.before):
            line.append((run.before, None))
        if run.after is not None and (not line or line[-1][0] != run.after):
            line.append((run.after, run.index))
    if all(index != snapshot for index, _ in line):
        line = [(s.index, None) for s in trace.snapshots if s.kernel == kernel]
    return line


def _backwards(
    trace: Trace, line: list[tuple[int, int | None]], track: _OpTrack, options: Options
) -> Iterable[Event]:
    """Events from the last entry of `line` back; the first entry's own event is `present`."""
    for place in range(len(line) - 1, 0, -1):
        (before, _), (index, run) = line[place - 1], line[place]
        old, new = trace.program(before), trace.program(index)
        number = track.number(new)
        if old is new:
            yield Event(index, run, "unchanged", number, track.text)
            continue
        diff = compare(old, new, options)
        earlier = track.across(diff)
        if earlier is None:
            yield Event(index, run, "born", number, track.text)
            return
        yield _event(index, run, number, track, track.change(diff))
        track = earlier
    first = trace.program(line[0][0])
    yield Event(line[0][0], line[0][1], "present", track.number(first), track.text)


def _forwards(
    trace: Trace, line: list[tuple[int, int | None]], track: _OpTrack, options: Options
) -> Iterable[Event]:
    for place in range(1, len(line)):
        (before, _), (index, run) = line[place - 1], line[place]
        old, new = trace.program(before), trace.program(index)
        if old is new:
            yield Event(index, run, "unchanged", track.number(new), track.text)
            continue
        diff = compare(old, new, options)
        later = track.across(diff)
        if later is None:
            replacement = track.replacement(diff)
            yield Event(index, run, "erased", track.number(old), track.text, [], replacement)
            return
        yield _event(index, run, later.number(new), later, later.change(diff))
        track = later


def _event(index: int, run: int | None, number: int, track: _OpTrack, change: Change | None) -> Event:
    if change is None:
        return Event(index, run, "unchanged", number, track.text)
    what: What = "rewritten" if change.parts else "moved"
    if change.moved and change.a is not None and change.b is not None:
        depth = _depth(change.b) - _depth(change.a)
        if depth:
            what = "hoisted" if depth < 0 else "sunk"
    return Event(index, run, what, number, track.text, change.parts)


def _depth(op: Op) -> int:
    return sum(1 for _ in ancestors(op))


def _replacement(diff: Diff, value: Value) -> str:
    """The one value that the ops which used `value` use in its place in the other program."""
    found: set[str] = set()
    for user, index in value.uses:
        other = diff.counterpart(user)
        if other is not None and len(other.operands) == len(user.operands):
            found.add(other.operands[index].name)
    return found.pop() if len(found) == 1 else ""
