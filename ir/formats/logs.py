"""Cuts any input's bytes into snapshots and passes, without parsing a program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..snapshot import PassRun, Snapshot
from . import logs_migraphx, logs_mlir, logs_prose
from .logs_facts import has_crash
from .logs_text import Data, decode, line_prefix

_FEW: Final = 24
"""Up to so many dumps an input may be a page about them; a log of a compile has more."""


@dataclass(slots=True)
class Cut:
    """What an input was cut into; both lists are in the order of the text."""

    snapshots: list[Snapshot]
    runs: list[PassRun]


def cut(data: Data) -> Cut:
    """Find the programs and passes of an input; an input without any gives two empty lists."""
    snapshots, runs = logs_mlir.read_log(data, lambda dump: _prose_behind(data, dump))
    if snapshots:
        return _pass_log(data, snapshots, runs)
    if logs_migraphx.looks_like(data):
        migraphx, runs = logs_migraphx.cut(data)
        if migraphx:
            return Cut(migraphx, runs)
    return Cut(logs_prose.cut(data, 0, len(data), whole_file=True), [])


def _pass_log(data: Data, snapshots: list[Snapshot], runs: list[PassRun]) -> Cut:
    """A log with banners; programs in front of the first and behind the last dump count as well."""
    if len(snapshots) <= _FEW:
        _take_titles(data, snapshots)
    first_line = data.rfind(b"\n", 0, max(snapshots[0].start - 1, 0)) + 1
    extra = logs_prose.cut(data, 0, first_line, whole_file=False) if first_line else []
    last = snapshots[-1]
    last.end = logs_prose.dump_end(data, last.start, last.end)
    extra += logs_prose.cut(data, last.end, len(data), whole_file=False)
    if runs and runs[-1].after is None and has_crash(data, last.end):
        runs[-1].failed = True  # the process died inside this pass
    return _insert(snapshots, runs, extra)


def _prose_behind(data: Data, dump: Snapshot) -> bool:
    """Whether text that is no IR stands between the end of a dump and the next banner."""
    end = logs_prose.dump_end(data, dump.start, dump.end)
    between = bytes(data[end : dump.end]).strip()
    return any(_is_prose(line) for line in between.split(b"\n")[:50])


def _take_titles(data: Data, snapshots: list[Snapshot]) -> None:
    """On a page of few dumps, give each the heading in front of it, if there is one."""
    end = 0
    for snapshot in snapshots:
        banner = data.rfind(b"\n", 0, snapshot.start - 1) + 1
        title = logs_prose.title_in_front(data, banner, end)
        snapshot.title = f"{title}: {snapshot.pass_name}" if title else snapshot.pass_name
        end = logs_prose.dump_end(data, snapshot.start, snapshot.end)


def _is_prose(line: bytes) -> bool:
    text = line.strip()
    return bool(text) and not text.startswith((b"//", b"#", b"!", b"{-#", b"#-}"))


def _insert(snapshots: list[Snapshot], runs: list[PassRun], extra: list[Snapshot]) -> Cut:
    """Put further snapshots into the list, and renumber what refers to it."""
    if not extra:
        return Cut(snapshots, runs)
    kernel = snapshots[-1].kernel
    ordered = sorted([*snapshots, *extra], key=lambda snapshot: snapshot.start)
    moved = {snapshot.index: place for place, snapshot in enumerate(ordered) if snapshot in snapshots}
    for run in runs:
        run.before = None if run.before is None else moved[run.before]
        run.after = None if run.after is None else moved[run.after]
        run.nested = [moved[index] for index in run.nested]
    for place, snapshot in enumerate(ordered):
        snapshot.index = place
        snapshot.kernel = snapshot.kernel or kernel
    return Cut(ordered, runs)


def prefix_at(data: Data, snapshot: Snapshot) -> str:
    """The worker's mark in front of a snapshot's lines (a dump has its banner's), or ''."""
    start = snapshot.start
    if snapshot.when != "whole" and start > 0:
        start = data.rfind(b"\n", 0, start - 1) + 1
    end = data.find(b"\n", start, start + 400)
    return line_prefix(decode(bytes(data[start : end if end >= 0 else start + 400])))


__all__ = ["Cut", "cut", "prefix_at"]
