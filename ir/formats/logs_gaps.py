"""What stands between the dumps of a pass log: crashes, time reports, programs that no banner announces."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ..snapshot import PassRun, Snapshot
from . import logs_migraphx, logs_prose, logs_timing
from .logs_end import dump_end
from .logs_facts import failed_pass, has_crash
from .logs_prefix import strip_prefix
from .logs_streams import Stream
from .logs_text import Data, Sweep, decode, plain

_ALL: Final = 64 << 20
"""In a log of at most so many bytes, text is looked for behind every dump; beyond, where it is likely."""
_SAMPLES: Final = 2
"""Of each pass so many dumps are looked behind in a larger log; where one talks, all its dumps are."""
_SMALL: Final = 1 << 20
"""Larger dumps are no samples: to find the end of one takes long."""
_LARGEST_GAP: Final = 16 << 20


@dataclass(slots=True)
class Gaps:
    """The ends of a stream's dumps, as far as they were looked for, and what was found behind them."""

    data: Data
    stream: Stream
    ends: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Snapshot → (end of its IR, where the next banner begins)."""

    def behind(self, snapshot: Snapshot) -> tuple[int, int]:
        """The stretch between a dump's IR and its writer's next banner."""
        known = self.ends.get(snapshot.index)
        if known is None:
            limit = snapshot.end
            snapshot.end = dump_end(self.data, snapshot.start, limit, snapshot.prefix)
            snapshot.exact = True
            known = self.ends[snapshot.index] = (snapshot.end, limit)
        return known

    def talks(self, snapshot: Snapshot) -> bool:
        """Whether anything stands behind a dump's IR."""
        start, end = self.behind(snapshot)
        return bool(self.text(start, min(end, start + 4096)).strip())

    def text(self, start: int, end: int) -> str:
        """The writer's own text in a stretch."""
        text = plain(decode(bytes(self.data[start : min(end, start + _LARGEST_GAP)])))
        return strip_prefix(text, self.stream.key) if self.stream.key else text

    def open(self) -> list[int]:
        """The places of the dumps behind which something stands, in order."""
        snapshots = self.stream.snapshots
        if len(self.data) <= _ALL or self.stream.key:
            chosen = range(len(snapshots))
            return [place for place in chosen if self.talks(snapshots[place])]
        by_pass: dict[str, list[int]] = {}
        for snapshot in snapshots:
            by_pass.setdefault(snapshot.argument or snapshot.pass_name, []).append(snapshot.index)
        wanted = {*self.stream.loose, len(snapshots) - 1}
        for places in by_pass.values():
            samples = (snapshots[place] for place in places[:_SAMPLES])
            if any(self.talks(snapshot) for snapshot in samples if snapshot.end - snapshot.start < _SMALL):
                wanted.update(places)
        sweep = Sweep(self.data)
        found = []
        for place in sorted(wanted):
            sweep.at(snapshots[place].start)
            if self.talks(snapshots[place]):
                found.append(place)
        return found


def read_gaps(gaps: Gaps, runs: list[PassRun]) -> dict[int, list[Snapshot]]:
    """Look behind the dumps: mark failed passes, join time reports; the programs found, by dump in front."""
    extra: dict[int, list[Snapshot]] = {}
    running = _running(gaps.stream, runs)
    timed = 0
    sweep = Sweep(gaps.data)
    for place in gaps.open():
        sweep.at(gaps.stream.snapshots[place].start)
        start, end = gaps.behind(gaps.stream.snapshots[place])
        text = gaps.text(start, end)
        begun = running[place] + 1
        own = runs[running[place]] if running[place] >= 0 else None
        crashed = _mark_failure(text, runs[:begun], own if _is_before(gaps.stream, place) else None)
        if logs_timing.REPORT.decode() in text:
            outer = [run for run in runs[timed:begun] if not _is_inner(gaps.stream, run)]
            logs_timing.join(logs_timing.read_report(text), outer)
            timed = begun
        found = _programs(gaps, start, end)
        for snapshot in found:
            snapshot.kernel = snapshot.kernel or gaps.stream.snapshots[place].kernel
            if own is not None and not snapshot.title:
                snapshot.title = f"{'crash in' if crashed else 'behind'} {own.name}"
            if own is not None and not crashed and place < len(gaps.stream.snapshots) - 1:
                snapshot.parent = own.index
        if found:
            extra[place] = found
    return extra


def _running(stream: Stream, runs: list[PassRun]) -> list[int]:
    """For each dump the index of the last run that had begun when it was printed; -1 for none."""
    begun = [-1] * len(stream.snapshots)
    for run in runs:
        for side in (run.before, run.after):
            if side is not None and begun[side] < 0 and _begins(stream, run, side):
                begun[side] = run.index
    latest = -1
    for place, index in enumerate(begun):
        latest = max(latest, index)
        begun[place] = latest
    return begun


def _begins(stream: Stream, run: PassRun, side: int) -> bool:
    """Whether a dump is a run's own and not its neighbour's."""
    snapshot = stream.snapshots[side]
    return (snapshot.pass_name, snapshot.argument) == (run.name, run.argument)


def _is_before(stream: Stream, place: int) -> bool:
    banner = stream.banners[place]
    return banner.when == "before" or banner.internal


def _is_inner(stream: Stream, run: PassRun) -> bool:
    side = run.before if run.before is not None else run.after
    if side is None:
        return False
    banner, snapshot = stream.banners[side], stream.snapshots[side]
    if banner.op_name:
        return banner.op_name != "builtin.module"
    return bool(snapshot.symbol)


def _mark_failure(text: str, begun: list[PassRun], own: PassRun | None) -> bool:
    """Mark the run that a crash or an error behind a dump was in; True if there was one."""
    name = failed_pass(text)
    if not name and not has_crash(text):
        return False
    named = [run for run in begun[-8:] if name and name in (run.name, run.argument)]
    run = named[-1] if named else own
    if run is not None:
        run.failed = True
        run.after = None if own is run else run.after
    return True


def _programs(gaps: Gaps, start: int, end: int) -> list[Snapshot]:
    if gaps.data.find(logs_migraphx.MODULE, start, end) >= 0:
        found, _ = logs_migraphx.cut(gaps.data, start, end)
        return found
    return logs_prose.cut_prose(gaps.data, start, end, gaps.stream.key)
