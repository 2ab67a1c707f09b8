"""What the pass list lists: passes and programs of a trace, in order, under their kernels."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ...ir.snapshot import PassRun
from ...ir.trace import Trace
from ..session import Badge
from ..titles import run_title, short_title
from .rows import Row

Kind = Literal["kernel", "run", "dump", "program", "log"]


class Entry(NamedTuple):
    """One line of the list; `number` is of the run, the snapshot, or the group of a kernel.

    A tuple, since a large log has a hundred thousand of them.
    """

    kind: Kind
    number: int
    group: int
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Listing:
    """The entries of a trace with what filters and headings need, worked out once."""

    trace: Trace
    entries: list[Entry]
    names: list[str]
    """What a filter looks at, for each entry, in lower case."""
    sizes: Counter[int]
    """Entries of each group."""
    failed: int | None
    """The first pass that failed."""


def listing(trace: Trace, without_last: int = 0) -> Listing:
    """List a trace; `without_last` entries at the end are left out."""
    found = entries(trace)
    found = found[: len(found) - without_last]
    names = [sys.intern(name_of(trace, entry).lower()) for entry in found]
    sizes = Counter(entry.group for entry in found if entry.kind != "kernel")
    return Listing(trace, found, names, sizes, next((r.index for r in trace.runs if r.failed), None))


def entries(trace: Trace) -> list[Entry]:
    """Every pass, internal dump and lone program; a heading where the kernel changes."""
    if not trace.snapshots:
        return [Entry("log", -1, 0)]
    owned: set[int | None] = set()
    for each in trace.runs:
        owned.add(each.before)
        owned.add(each.after)
        owned.update(each.nested)
    placed = [(_position(trace, run), run.index) for run in trace.runs]
    placed += [(s.index, -1) for s in trace.snapshots if s.index not in owned]
    placed.sort()
    found: list[Entry] = []
    group, kernel = -1, None
    for position, index in placed:
        run = trace.runs[index] if index >= 0 else None
        name = run.kernel if run is not None else trace.snapshots[position].kernel
        if name != kernel:
            kernel, group = name, group + 1
            found.append(Entry("kernel", position, group))
        if run is None:
            found.append(Entry("program", position, group))
            continue
        found.append(Entry("run", index, group, run.depth))
        if run.nested:
            found.extend(Entry("dump", inner, group, run.depth + 1) for inner in run.nested)
    return found


def shown_entries(
    known: Listing,
    *,
    words: str = "",
    changed_only: bool = False,
    collapsed: Collection[int] = (),
    badges: Mapping[int, Badge] | None = None,
) -> list[Entry]:
    """The entries that a filter lets through, with the headings of the kernels that have any left."""
    needles = words.lower().split()
    if not (needles or changed_only or collapsed):
        return known.entries
    found: list[Entry] = []
    heading: Entry | None = None
    kernel = ""
    for entry, name in zip(known.entries, known.names, strict=True):
        if entry.kind == "kernel":
            heading, kernel = entry, name
            if not needles and not changed_only:
                found.append(entry)
                heading = None
            continue
        if needles and not all(word in name or word in kernel for word in needles):
            continue
        if changed_only and not _changed(known.trace, entry, badges or {}):
            continue
        if heading is not None:
            found.append(heading)
            heading = None
        if entry.group not in collapsed:
            found.append(entry)
    return found


def name_of(trace: Trace, entry: Entry) -> str:
    """What a filter looks at: the pass's names or the program's title; of a heading the kernel."""
    if entry.kind == "run":
        run = trace.runs[entry.number]
        return f"{run_title(run)} {run.name}"
    if entry.kind == "log":
        return trace.name
    snapshot = trace.snapshots[entry.number]
    return snapshot.kernel if entry.kind == "kernel" else f"{snapshot.title} {snapshot.pass_name}"


def sides(trace: Trace, entry: Entry) -> tuple[int, int]:
    """The snapshots (before, after) that an entry shows; -1 both for the log itself."""
    if entry.kind == "log":
        return -1, -1
    if entry.kind != "run":
        return entry.number, entry.number
    run = trace.runs[entry.number]
    before = run.before if run.before is not None else run.after
    after = run.after if run.after is not None else run.before
    assert before is not None and after is not None, "a pass was seen in at least one dump"
    return before, after


def entry_row(trace: Trace, entry: Entry, badge: Badge | None, collapsed: bool, count: int) -> Row:
    """How an entry is drawn."""
    indent = " " + "  " * entry.depth
    if entry.kind == "kernel":
        name = trace.snapshots[entry.number].kernel or "(no kernel)"
        return Row((("▸ " if collapsed else "▾ ", "fold"), (name, "heading")), ((f"{count} ", "dim"),))
    if entry.kind == "log":
        return Row(((" ≡ ", "accent"), (trace.name.rpartition("/")[2], "")))
    number = ((f"#{entry.number} ", "dim"),)
    if entry.kind == "program":
        return Row(((indent, ""), ("■ ", "accent"), (trace.snapshots[entry.number].title, "")), number)
    if entry.kind == "dump":
        return Row(((indent, ""), ("┄ ", "dim"), (trace.snapshots[entry.number].title, "dim")), number)
    return _run_row(trace.runs[entry.number], badge, indent)


def _run_row(run: PassRun, badge: Badge | None, indent: str) -> Row:
    changed = badge.changed if badge is not None else run.changed
    if run.failed:
        glyph, mark, style = "✗ ", "bad", "bad"
    elif changed:
        glyph, mark, style = "● ", "good", ""
    elif changed is None:
        glyph, mark, style = "○ ", "dim", ""
    else:
        glyph, mark, style = "· ", "dim", "dim"
    right: list[tuple[str, str]] = []
    if badge is not None and badge.delta:
        right.append((f"{badge.delta:+,}".replace("-", "−") + " ", "good" if badge.delta < 0 else "warn"))
    if badge is not None and badge.converts:
        right.append((f"⇄{badge.converts} ", "encoding"))
    return Row(((indent, ""), (glyph, mark), (short_title(run), style)), tuple(right))


def _changed(trace: Trace, entry: Entry, badges: Mapping[int, Badge]) -> bool:
    if entry.kind != "run":
        return True
    run = trace.runs[entry.number]
    badge = badges.get(run.index)
    changed = badge.changed if badge is not None else run.changed
    return changed is not False or run.failed


def _position(trace: Trace, run: PassRun) -> int:
    """The snapshot that was printed for the pass itself, by which it is put in order."""
    before, after = run.before, run.after
    if before is not None and trace.snapshots[before].when == "before":
        return before
    if after is not None:
        return after
    return before if before is not None else 0
