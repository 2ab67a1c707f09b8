"""Cuts any input's bytes into snapshots and passes, without parsing a program."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ..snapshot import PassRun, Snapshot
from . import logs_migraphx, logs_passes, logs_prose
from .logs_gaps import Gaps, read_gaps
from .logs_kernels import kernel_of
from .logs_streams import Stream, streams
from .logs_text import Data, Sweep, release

_LONGEST_SECTION: Final = 65536
_FEW: Final = 24
"""Up to so many dumps an input may be a page about them; a log of a compile has more."""


@dataclass(slots=True)
class Cut:
    """What an input was cut into; both lists are in the order of the text, one writer behind the other."""

    snapshots: list[Snapshot]
    runs: list[PassRun]
    gaps: list[tuple[int, int]] = field(default_factory=list)
    """The stretches between the programs that were looked at, in bytes; not in order, they may overlap."""


def cut(data: Data) -> Cut:
    """Find the programs and passes of an input; an input without any gives two empty lists."""
    found = _cut(data)
    release(data, 0, len(data))
    return found


def _cut(data: Data) -> Cut:
    writers = streams(data)
    if not writers:
        return _without_banners(data)
    found = Cut([], [])
    first = min(stream.snapshots[0].start for stream in writers)
    head = max(data.rfind(b"\n", 0, max(first - 1, 0)) + 1, 0)
    if head:
        _append(found, _stretch(data, 0, head))
    for stream in writers:
        _append(found, _pass_log(data, stream))
    found.gaps.extend(_reproducers(data, found.snapshots))
    return found


def _without_banners(data: Data) -> Cut:
    whole = logs_prose.cut_file(data)
    return Cut(_named(data, whole), []) if whole else _stretch(data, 0, len(data))


def _stretch(data: Data, begin: int, limit: int) -> Cut:
    """The programs in a stretch of text in which there is no banner."""
    snapshots: list[Snapshot] = []
    runs: list[PassRun] = []
    if logs_migraphx.looks_like(data, begin, limit):
        snapshots, runs = logs_migraphx.cut(data, begin, limit)
    gaps = _between(snapshots, begin, limit)
    extra = [found for low, high in gaps for found in logs_prose.cut_prose(data, low, high)]
    if extra:
        gaps = _between([*snapshots, *extra], begin, limit)
        snapshots, runs = _merge(snapshots, runs, extra)
    return Cut(_named(data, snapshots), runs, [*gaps, *_reproducers(data, snapshots)])


def _reproducers(data: Data, snapshots: list[Snapshot]) -> list[tuple[int, int]]:
    """The resource sections at the ends of programs: a reproducer states the passes that were to run."""
    found = []
    sweep = Sweep(data)
    for snapshot in snapshots:
        sweep.at(snapshot.start)
        if snapshot.exact and data[snapshot.end - 3 : snapshot.end] == b"#-}":
            opens = data.rfind(b"{-#", max(snapshot.start, snapshot.end - _LONGEST_SECTION), snapshot.end)
            if opens >= 0 and data.find(b"mlir_reproducer", opens, snapshot.end) >= 0:
                found.append((opens, snapshot.end))
    return found


def _between(snapshots: list[Snapshot], begin: int, limit: int) -> list[tuple[int, int]]:
    gaps = []
    for snapshot in sorted(snapshots, key=lambda found: found.start):
        if snapshot.start > begin:
            gaps.append((begin, snapshot.start))
        begin = max(begin, snapshot.end)
    return [*gaps, (begin, limit)] if begin < limit else gaps


def _merge(
    snapshots: list[Snapshot], runs: list[PassRun], extra: list[Snapshot]
) -> tuple[list[Snapshot], list[PassRun]]:
    """One list of both in the order of the text; what refers to the first list is renumbered."""
    ordered = sorted([*snapshots, *extra], key=lambda snapshot: snapshot.start)
    own = {id(snapshot) for snapshot in snapshots}
    moved = {s.index: place for place, s in enumerate(ordered) if id(s) in own}
    return _renumber(ordered, runs, moved)


def _renumber(
    ordered: list[Snapshot], runs: list[PassRun], moved: dict[int, int]
) -> tuple[list[Snapshot], list[PassRun]]:
    for run in runs:
        run.before = None if run.before is None else moved[run.before]
        run.after = None if run.after is None else moved[run.after]
        run.nested = [moved[index] for index in run.nested]
    for place, snapshot in enumerate(ordered):
        snapshot.index = place
    return ordered, runs


def _named(data: Data, snapshots: list[Snapshot]) -> list[Snapshot]:
    for snapshot in snapshots:
        if snapshot.format == "mlir" and not snapshot.kernel:
            snapshot.kernel = kernel_of(data, snapshot.start, snapshot.end)
    return snapshots


def _append(whole: Cut, part: Cut) -> None:
    """Add a part's snapshots and passes behind those found before."""
    first, first_run, first_manager = len(whole.snapshots), len(whole.runs), 0
    if whole.runs:
        first_manager = whole.runs[-1].manager + 1
    if first or first_run or first_manager:
        for snapshot in part.snapshots:
            snapshot.index += first
            snapshot.parent = None if snapshot.parent is None else snapshot.parent + first_run
        for run in part.runs:
            run.index += first_run
            run.manager += first_manager
            run.before = None if run.before is None else run.before + first
            run.after = None if run.after is None else run.after + first
            run.nested = [index + first for index in run.nested]
    whole.snapshots.extend(part.snapshots)
    whole.runs.extend(part.runs)
    whole.gaps.extend(part.gaps)


def _pass_log(data: Data, stream: Stream) -> Cut:
    """The dumps of one writer with the passes, and the programs between them."""
    gaps = Gaps(data, stream)
    snapshots = stream.snapshots
    runs = logs_passes.read_passes(data, stream, gaps.talks)
    extra = read_gaps(gaps, runs)
    if len(snapshots) <= _FEW and all(run.before is None or run.after is None for run in runs):
        _take_titles(gaps)  # a page about dumps, and no log of a compile
    if extra:
        snapshots, runs = _insert(data, snapshots, runs, extra)
    return Cut(snapshots, runs, [stretch for stretch in gaps.ends.values() if stretch[0] < stretch[1]])


def _take_titles(gaps: Gaps) -> None:
    """On a page of few dumps, give each the heading in front of it, if there is one."""
    end = 0
    for snapshot in gaps.stream.snapshots:
        banner = gaps.data.rfind(b"\n", 0, max(snapshot.start - 1, 0)) + 1
        title = "" if gaps.stream.key else logs_prose.title_in_front(gaps.data, banner, end)
        snapshot.title = f"{title}: {snapshot.pass_name}" if title else snapshot.pass_name
        end, _ = gaps.behind(snapshot)


def _insert(
    data: Data, snapshots: list[Snapshot], runs: list[PassRun], extra: dict[int, list[Snapshot]]
) -> tuple[list[Snapshot], list[PassRun]]:
    """Put the programs found behind dumps into the list; those printed by a pass are nested in it."""
    ordered: list[Snapshot] = []
    moved: dict[int, int] = {}
    nested: list[tuple[int, int]] = []
    for snapshot in snapshots:
        moved[snapshot.index] = len(ordered)
        ordered.append(snapshot)
        for found in _named(data, extra.get(snapshot.index, [])):
            if found.parent is not None:
                nested.append((found.parent, len(ordered)))
            ordered.append(found)
    _renumber(ordered, runs, moved)
    for parent, place in nested:
        runs[parent].nested.append(place)
        runs[parent].nested.sort()
    return ordered, runs


__all__ = ["Cut", "cut"]
