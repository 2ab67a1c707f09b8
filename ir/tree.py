"""Folders of dumps: the passes of a `--mlir-print-ir-tree-dir` tree, put together from its files."""

from __future__ import annotations

import os
from collections.abc import Sequence

from .inputs import pass_of_file
from .snapshot import PassRun, Snapshot


def file_pass(snapshot: Snapshot, path: str) -> None:
    """Name a snapshot after the pass in its file's name, if it has none of its own."""
    name = "" if snapshot.pass_name else pass_of_file(path)
    if name:
        snapshot.pass_name = snapshot.argument = snapshot.title = name
        snapshot.when = "after"


def link_files(folder: str, paths: Sequence[str], snapshots: list[Snapshot], runs: list[PassRun]) -> None:
    """Make the passes of a folder whose files are named after them, and link those of one op of the tree.

    A file holds the op that its folder is named after, as a pass left it. What a pass got is what the pass
    before it on the same op left, unless a pass ran on an op around it or inside it meanwhile.
    """
    if not all(pass_of_file(path) for path in paths):
        return
    if not runs:
        runs.extend(_run_of(snapshot) for snapshot in snapshots)
    runs[:] = [run for run in runs if run.after is not None]
    left: dict[str, int] = {}
    counts: dict[tuple[str, str], int] = {}
    for index, run in enumerate(runs):
        assert run.after is not None, "the others were taken out"
        snapshot = snapshots[run.after]
        op = os.path.relpath(os.path.dirname(paths[snapshot.file]), folder)
        key = (run.kernel, run.argument or run.name)
        run.index = index
        run.ordinal = counts[key] = counts.get(key, 0) + 1
        if run.before is None:
            run.before = left.get(op)
        run.changed = None
        for other in [other for other in left if _holds(other, op) or _holds(op, other)]:
            del left[other]
        left[op] = run.after


def _run_of(snapshot: Snapshot) -> PassRun:
    return PassRun(
        snapshot.index,
        snapshot.pass_name,
        snapshot.argument,
        1,
        snapshot.kernel,
        0,
        None,
        snapshot.index,
        None,
    )


def _holds(outer: str, inner: str) -> bool:
    """Whether one folder of the tree is around another."""
    return outer == "." or inner.startswith(outer + os.sep)
