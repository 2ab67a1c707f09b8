"""A comparison laid out for people: which ops to show, in reading order, and what to say of each.

Text, HTML and the screen draw from the same lines. Context is counted in ops of the same block, never in
lines, and the ops around a change are shown by their headers.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from ...ir.diff.history import header
from ...ir.diff.result import Change, Diff, Part
from ...ir.formats.mlir_text import balanced_end
from ...ir.program import Op, Value

Mark = Literal["same", "changed", "added", "removed", "moved", "gap"]

_LOCATION: Final = re.compile(r" ?\bloc\(")
_LOOPS: Final = ("scf.for", "scf.while", "affine.for")


@dataclass(slots=True)
class DiffLine:
    """One op to show, or a gap; `depth` is how many ops are around it."""

    mark: Mark
    depth: int
    text: str
    """The op's header as it is now (as it was, for a removed op)."""
    old: str = ""
    """The header as it was, where a changed op's reads differently."""
    summary: str = ""
    """What changed in a few words: `scf.for: +1 iter_arg, +1 result`."""
    notes: list[str] = field(default_factory=list)
    """What changed, part by part."""
    count: int = 0
    """How many unchanged ops a gap stands for."""
    change: Change | None = None
    op: Op | None = None
    """The op as it is now (as it was, for a removed op); None for a gap."""


def diff_lines(diff: Diff, context: int = 1) -> list[DiffLine]:
    """The lines of a comparison; `context` unchanged ops are shown on both sides of each change.

    As many as the program has ops show all of it.
    """
    layout = _Layout(diff, context)
    return list(layout.lines())


class _Layout:
    def __init__(self, diff: Diff, context: int) -> None:
        self.diff = diff
        self.context = context
        self.by_b = {change.index_b: change for change in diff.changes if change.index_b >= 0}
        self.removed: dict[int, list[Change]] = defaultdict(list)
        self.anchors = self._anchors()
        for change in diff.changes:
            if change.status == "removed":
                self.removed[self.anchors[change.index_a]].append(change)
        self.status = {id(change.op): change.status for change in diff.changes}
        self.depths_a, self.depths_b = _depths(diff.a.parent), _depths(diff.b.parent)

    def _anchors(self) -> list[int]:
        """For each op of a the counterpart of the nearest op before it that has one, or -1."""
        anchors: list[int] = []
        last = -1
        for j in self.diff.ops_a:
            anchors.append(last)
            last = j if j >= 0 else last
        return anchors

    def lines(self) -> Iterator[DiffLine]:
        shown = self._context_ops()
        skipped = 0
        yield from self._gone(-1)
        for j, op in enumerate(self.diff.b.ops):
            change = self.by_b.get(j)
            if change is not None or j in shown:
                if skipped:
                    yield DiffLine("gap", self.depths_b[j], "", count=skipped)
                    skipped = 0
                yield self._line(change, op, self.depths_b[j])
            elif not op.implicit:
                skipped += 1
            if j in self.removed:
                if skipped:
                    yield DiffLine("gap", self.depths_b[j], "", count=skipped)
                    skipped = 0
                yield from self._gone(j)
        if skipped and self.diff.changes:
            yield DiffLine("gap", 0, "", count=skipped)

    def _context_ops(self) -> set[int]:
        """The unchanged ops of b to show: near a change in its block, and those around it."""
        side = self.diff.b
        if self.context >= len(side.ops):
            return {j for j, op in enumerate(side.ops) if not op.implicit}
        shown: set[int] = set()
        for change in self.diff.changes:
            at, before, after = change.index_b, self.context, self.context
            if at < 0:
                at = self.anchors[change.index_a]
                before -= 1
            if at < 0:
                continue
            members, place = side.members[side.block_of[at]], side.place[at]
            shown.update(members[max(place - before, 0) : place + after + 1])
            around = side.parent[at]
            while around >= 0 and around not in shown:
                shown.add(around)
                around = side.parent[around]
        return {j for j in shown if not side.ops[j].implicit}

    def _gone(self, anchor: int) -> Iterator[DiffLine]:
        for change in self.removed.get(anchor, ()):
            yield DiffLine(
                "removed", self.depths_a[change.index_a], shown(change.op), change=change, op=change.op
            )

    def _line(self, change: Change | None, op: Op, depth: int) -> DiffLine:
        text = shown(op)
        if change is None:
            return DiffLine("same", depth, text, op=op)
        if change.status in ("added", "removed"):
            return DiffLine(change.status, depth, text, change=change, op=op)
        assert change.a is not None
        notes = [self._note(change, part) for part in change.parts]
        if change.moved:
            notes.append(self._moved_note(change))
        summary = summary_of(change)
        return DiffLine(change.status, depth, text, shown(change.a), summary, notes, change=change, op=op)

    def _moved_note(self, change: Change) -> str:
        depth = self.depths_b[change.index_b] - self.depths_a[change.index_a]
        if depth < 0:
            return "hoisted out of a region"
        if depth > 0:
            return "sunk into a region"
        side = self.diff.a
        blocks = self.diff.blocks_a[side.block_of[change.index_a]]
        if blocks != self.diff.b.block_of[change.index_b]:
            return "moved to another block"
        before, after = side.place[change.index_a], self.diff.b.place[change.index_b]
        return f"moved within its block: was op {before}, is op {after}"

    def _note(self, change: Change, part: Part) -> str:
        """One part as a sentence; values say what defines them where that is news."""
        if part.kind == "operand":
            role = _role(change, part)
            label = f"operand {part.which}{f' ({role})' if role else ''}"
            old, new = self._value(part.old_value), self._value(part.new_value)
        else:
            label, old, new = _label(part), part.old, part.new
        if part.gained:
            return f"{label} added: {new}"
        if part.lost:
            return f"{label} removed: {old}"
        return f"{label}: {old} → {new}"

    def _value(self, value: Value | None) -> str:
        if value is None:
            return "(none)"
        name = value.name or "?"
        op = value.op
        if op is None:
            return name if value.owner is not None else f"{name} (undefined)"
        status = self.status.get(id(op))
        news = f", {status}" if status in ("added", "removed") else ""
        return f"{name} ({op.name}{news})"


def _label(part: Part) -> str:
    if part.kind in ("encoding", "type", "value name"):
        return f"{part.kind} of {part.which}"
    if part.kind == "argument":
        return part.which
    return f"{part.kind} {part.which}".rstrip()


def summary_of(change: Change) -> str:
    """What changed in a few words, counted by kind: `+1 iter_arg, +1 result, operand 3`."""
    op = change.op
    gained: dict[str, int] = defaultdict(int)
    rest: list[str] = []
    loop = op.name in _LOOPS
    for part in change.parts:
        sign = 1 if part.gained else -1 if part.lost else 0
        if sign and part.kind in ("argument", "result"):
            word = "iter_arg" if loop and part.kind == "argument" else part.kind
            gained[f"{'+' if sign > 0 else '-'} {word}"] += 1
        elif part.kind == "operand" and sign:
            if not (loop and any(p.kind == "argument" for p in change.parts)):
                gained[f"{'+' if sign > 0 else '-'} operand"] += 1
        else:
            rest.append(_brief(part))
    counted = [
        f"{key[0]}{n} {key[2:]}{'s' if n > 1 else ''}"
        for key, n in sorted(gained.items(), key=lambda e: e[0])
    ]
    words = [*counted, *dict.fromkeys(rest)]
    if change.moved:
        words.append("moved")
    return f"{op.name}: {', '.join(words)}"


def _brief(part: Part) -> str:
    if part.kind == "name":
        return f"was {part.old}"
    if part.kind in ("encoding", "type"):
        return part.kind
    return f"{part.kind} {part.which}".strip()


def _role(change: Change, part: Part) -> str:
    """What an operand of a loop is for: a bound, or the initial value of an argument."""
    op = change.b if part.new else change.a
    if op is None or not op.regions or not op.regions[0].blocks or not part.which.isdecimal():
        return ""
    index = int(part.which)
    args = op.regions[0].blocks[0].args
    if op.name == "scf.for":
        if index < 3:
            return ("lower bound", "upper bound", "step")[index]
        index -= 2
    elif op.name != "scf.while":
        return ""
    return f"init of {args[index].name}" if 0 <= index < len(args) else ""


def shown(op: Op) -> str:
    """The op's header on one line, without locations."""
    text = header(op)
    if op.source is None or op.start < 0:
        operands = ", ".join(value.name or "?" for value in op.operands)
        return f"{text}({operands})"
    if " loc(" not in text:
        return text
    pieces: list[str] = []
    pos = 0
    for found in _LOCATION.finditer(text):
        if found.start() >= pos:
            pieces.append(text[pos : found.start()])
            pos = balanced_end(text, found.end() - 1)
    pieces.append(text[pos:])
    return "".join(pieces)


def _depths(parents: list[int]) -> list[int]:
    depths: list[int] = []
    for parent in parents:
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
    return depths
