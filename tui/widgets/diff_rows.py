"""Two programs as one list of matched ops: what stands where, what is folded, and which rows are drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ...ir.diff.result import Change, Diff
from ...ir.program import Op
from ..report.diff_lines import DiffLine, diff_lines

Mark = Literal["same", "changed", "added", "removed", "moved", "source", "gap"]
"""`source`: where a moved op stood before; `moved` is where it stands now."""
Part = Literal["both", "old", "new"]


@dataclass(slots=True)
class Entry:
    """One op of either program beside its counterpart, if it has one; `hunk` is -1 for an unchanged op."""

    mark: Mark
    depth: int
    old: Op | None
    new: Op | None
    hunk: int = -1
    change: Change | None = None
    summary: str = ""
    notes: tuple[str, ...] = ()


class Shown(NamedTuple):
    """One row: an entry, one side of it, or `folded` unchanged entries from `entry` on."""

    entry: int
    folded: int = 0
    part: Part = "both"


@dataclass(slots=True)
class Comparison:
    """The entries of a diff with what moving between them needs."""

    diff: Diff
    entries: list[Entry]
    hunks: list[int]
    """The first entry of each run of changes."""
    parents: list[int]
    """The entry of the op around each entry's, or -1."""
    ends: dict[int, int]
    """Each end of a moved op → its other end."""


def comparison(diff: Diff) -> Comparison:
    """All ops of both programs in reading order; a moved op stands in both of its places."""
    entries = list(_entries(diff))
    hunks: list[int] = []
    before = -1
    for i, entry in enumerate(entries):
        if entry.mark == "same":
            continue
        if not hunks or before != i - 1:
            hunks.append(i)
        before, entry.hunk = i, len(hunks) - 1
    return Comparison(diff, entries, hunks, _parents(entries), _ends(entries))


def _entries(diff: Diff) -> Iterator[Entry]:
    sources = _sources(diff)
    for change in sources.get(-1, ()):
        yield _source(change)
    for line in diff_lines(diff, len(diff.b.ops)):
        yield _entry(diff, line)
        if line.op is not None and line.mark != "removed":
            for change in sources.get(diff.b.number[line.op], ()):
                yield _source(change)


def _sources(diff: Diff) -> dict[int, list[Change]]:
    """The moved ops by the op of b behind which they stood: the one before them that stayed."""
    moved = {change.index_a: change for change in diff.changes if change.moved or change.status == "moved"}
    found: dict[int, list[Change]] = {}
    last = -1
    for i, j in enumerate(diff.ops_a):
        if i in moved:
            found.setdefault(last, []).append(moved[i])
        elif j >= 0 and not diff.b.ops[j].implicit:
            last = j
    return found


def _source(change: Change) -> Entry:
    assert change.a is not None
    depth = 0
    around = change.a.parent
    while around is not None:
        depth, around = depth + 1, around.parent
    return Entry("source", depth, change.a, change.b, change=change)


def _entry(diff: Diff, line: DiffLine) -> Entry:
    change, op = line.change, line.op
    assert op is not None, "with all ops as context nothing is left out"
    mark: Mark = line.mark
    if change is not None and change.moved and mark == "changed":
        mark = "moved"
    old = None if mark == "added" else op if mark == "removed" else diff.counterpart(op)
    new = None if mark == "removed" else op
    return Entry(mark, line.depth, old, new, -1, change, line.summary, tuple(line.notes))


def _parents(entries: list[Entry]) -> list[int]:
    parents: list[int] = []
    around: list[int] = []
    for i, entry in enumerate(entries):
        while around and entries[around[-1]].depth >= entry.depth:
            around.pop()
        parents.append(around[-1] if around else -1)
        around.append(i)
    return parents


def _ends(entries: list[Entry]) -> dict[int, int]:
    first: dict[int, int] = {}
    found: dict[int, int] = {}
    for i, entry in enumerate(entries):
        if entry.mark not in ("moved", "source"):
            continue
        other = first.setdefault(id(entry.change), i)
        if other != i:
            found[i], found[other] = other, i
    return found


def unchanged_runs(known: Comparison, context: int) -> list[tuple[int, int]]:
    """The `start:end` of entries to fold: farther than `context` from a change, and around none."""
    entries = known.entries
    kept = bytearray(len(entries))
    for i, entry in enumerate(entries):
        if entry.hunk < 0:
            continue
        low, high = max(i - context, 0), min(i + context + 1, len(entries))
        kept[low:high] = b"\x01" * (high - low)
    around = bytearray(len(entries))
    for i, entry in enumerate(entries):
        up = known.parents[i] if entry.hunk >= 0 else -1
        while up >= 0 and not around[up]:
            kept[up] = around[up] = 1
            up = known.parents[up]
    runs: list[tuple[int, int]] = []
    pos = kept.find(0)
    while pos >= 0:
        end = kept.find(1, pos)
        end = end if end >= 0 else len(kept)
        if end - pos > 1 or len(kept) == 1:
            runs.append((pos, end))
        pos = kept.find(0, end)
    return runs


def shown_rows(
    known: Comparison, runs: list[tuple[int, int]], opened: set[int], stacked: bool
) -> list[Shown]:
    """The rows to draw; `opened` holds the first entries of runs that are not folded.

    Stacked, both sides share one column and a changed op takes two rows, as it was above as it is.
    """
    rows: list[Shown] = []
    pos = 0
    for start, end in (*runs, (len(known.entries), len(known.entries))):
        for i in range(pos, start):
            rows += _parts_of(known.entries[i], i, stacked)
        if start in opened:
            rows += [Shown(i) for i in range(start, end)]
        elif end > start:
            rows.append(Shown(start, end - start))
        pos = end
    return rows


def _parts_of(entry: Entry, index: int, stacked: bool) -> list[Shown]:
    two = stacked and entry.change is not None and entry.change.parts and entry.mark in ("changed", "moved")
    return [Shown(index, 0, "old"), Shown(index, 0, "new")] if two else [Shown(index)]


def row_at(rows: list[Shown], entry: int) -> int:
    """The first row of an entry, or of the fold that holds it."""
    low, high = 0, len(rows)
    while low < high:
        middle = (low + high) // 2
        if rows[middle].entry + max(rows[middle].folded, 1) <= entry:
            low = middle + 1
        else:
            high = middle
    return min(low, max(len(rows) - 1, 0))
