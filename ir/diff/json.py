"""Comparisons as data, for `passlens diff --json`.

A comparison of two programs::

    {"schema": 1, "kind": "programs", "a": NAME, "b": NAME, "same": bool,
     "counts": {"changed": n, "added": n, "removed": n, "moved": n},
     "changes": [{"status": "changed" | "added" | "removed" | "moved", "moved": bool, "op": NAME,
                  "a": PLACE | null, "b": PLACE | null,
                  "parts": [{"kind": …, "which": …, "old": TEXT, "new": TEXT}]}]}

PLACE is `{"index": op's number in a walk, "line": 1-based line of the file, "text": its first line}`; the
line is null for an op that was made and not read. `kind` and `which` are those of `result.Part`; `old` or
`new` is empty where a part came or went.

A comparison of two traces::

    {"schema": 1, "kind": "traces", "a": NAME, "b": NAME, "same": bool,
     "passes": [{"kernel": NAME, "a": RUN | null, "b": RUN | null, "verdict": …,
                 "same_input": bool | null, "counts": {…}}],
     "divergences": [{"kernel": NAME, "reason": "pass" | "input" | "extra", "pass": NAME,
                      "a": RUN | null, "b": RUN | null}],
     "kernels_only_in_a": [NAME], "kernels_only_in_b": [NAME]}

RUN is `{"name", "argument", "ordinal", "before": snapshot | null, "after": snapshot | null}`.

A comparison of two folders is::

    {"schema": 1, "kind": "folders", "a": NAME, "b": NAME, "same": bool,
     "files": [{"name": NAME, "diff": comparison of two programs or traces}],
     "only_in_a": [NAME], "only_in_b": [NAME], "errors": [TEXT]}
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import Any

from ..program import Op, Program
from ..trace import PassRun
from .result import Change, Diff
from .traces import TraceDiff

SCHEMA_VERSION = 1


def diff_data(diff: Diff, a: str, b: str, first_lines: tuple[int, int] = (1, 1)) -> dict[str, Any]:
    """A comparison of two programs called `a` and `b`, as JSON-ready data.

    `first_lines` are the lines of the files on which the two programs begin.
    """
    lines_a, lines_b = _Lines(diff.a.program, first_lines[0]), _Lines(diff.b.program, first_lines[1])
    return {
        "schema": SCHEMA_VERSION,
        "kind": "programs",
        "a": a,
        "b": b,
        "same": diff.same,
        "counts": diff.counts(),
        "changes": [_change(change, lines_a, lines_b) for change in diff.changes],
    }


class _Lines:
    """Finds the line of an offset in a program's text."""

    def __init__(self, program: Program, first: int) -> None:
        self.first = first
        self.ends = [found.start() for found in re.finditer("\n", program.text)]

    def place(self, op: Op | None, index: int) -> dict[str, Any] | None:
        if op is None:
            return None
        line = self.first + bisect_left(self.ends, op.start) if op.start >= 0 else None
        return {"index": index, "line": line, "text": op.text.partition("\n")[0]}


def _change(change: Change, lines_a: _Lines, lines_b: _Lines) -> dict[str, Any]:
    return {
        "status": change.status,
        "moved": change.moved,
        "op": change.op.name,
        "a": lines_a.place(change.a, change.index_a),
        "b": lines_b.place(change.b, change.index_b),
        "parts": [
            {"kind": part.kind, "which": part.which, "old": part.old, "new": part.new}
            for part in change.parts
        ],
    }


def trace_diff_data(diff: TraceDiff, a: str, b: str) -> dict[str, Any]:
    """A comparison of two traces called `a` and `b`, as JSON-ready data."""
    return {
        "schema": SCHEMA_VERSION,
        "kind": "traces",
        "a": a,
        "b": b,
        "same": diff.same,
        "passes": [
            {
                "kernel": pair.kernel,
                "a": _run(pair.a),
                "b": _run(pair.b),
                "verdict": pair.verdict,
                "same_input": pair.same_input,
                "counts": pair.counts,
            }
            for pair in diff.pairs
        ],
        "divergences": [
            {
                "kernel": found.kernel,
                "reason": found.reason,
                "pass": found.pair.title if found.pair else "",
                "a": _run(found.pair.a) if found.pair else None,
                "b": _run(found.pair.b) if found.pair else None,
            }
            for found in diff.divergences
        ],
        "kernels_only_in_a": diff.only_a,
        "kernels_only_in_b": diff.only_b,
    }


def _run(run: PassRun | None) -> dict[str, Any] | None:
    if run is None:
        return None
    return {
        "name": run.name,
        "argument": run.argument,
        "ordinal": run.ordinal,
        "before": run.before,
        "after": run.after,
    }
