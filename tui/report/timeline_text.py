"""A timeline drawn in a terminal: a line of characters a lane, the verdict above, the stalls below.

Every kind of work has a character of its own, so that nothing depends on colour.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from ...ir.analysis.intervals import Interval
from ...ir.analysis.stalls import sentence, stalled_us, time_in_words, verdict
from ...ir.analysis.timeline import Stall, Timeline
from ..safe import visible

_NARROWEST: Final = 40
_MOST_LANES: Final = 64
_LABEL: Final = 13


@dataclass(frozen=True, slots=True)
class Marks:
    """The characters that lanes are drawn with."""

    kernel: str
    hidden: str
    exposed: str
    issue: str
    wait: str
    idle: str
    edge: str
    run: str


UNICODE: Final = Marks("█", "▓", "░", "▪", "◊", "·", "│", "┆")
ASCII: Final = Marks("#", "=", "c", "h", "w", ".", "|", ":")


def marks_for(encoding: str | None) -> Marks:
    """Unicode marks where the encoding (`utf-8`, `utf-8:replace`) can write them, else ASCII."""
    encoding = (encoding or "ascii").partition(":")[0] or "ascii"
    try:
        f"{UNICODE.kernel}{UNICODE.hidden}{UNICODE.wait}{UNICODE.edge}{UNICODE.run}µ…".encode(
            encoding or "ascii"
        )
    except (LookupError, UnicodeEncodeError):
        return ASCII
    return UNICODE


def terminal_width() -> int:
    """Columns of the terminal, 80 where there is none."""
    return shutil.get_terminal_size((80, 24)).columns


def timeline_text(
    timeline: Timeline,
    *,
    width: int | None = None,
    marks: Marks | None = None,
    from_us: float = 0.0,
    to_us: float | None = None,
    most_stalls: int = 10,
) -> str:
    """The whole report; `from_us` and `to_us` cut out a stretch, `most_stalls` lists the longest stalls."""
    width = max(_NARROWEST, terminal_width() if width is None else width)
    marks = marks_for(os.environ.get("PYTHONIOENCODING") or sys.stdout.encoding) if marks is None else marks
    lines = [
        _head(timeline),
        *verdict(timeline),
        "",
        *lane_lines(timeline, width, marks, from_us, to_us),
        "",
        *stall_lines(timeline, most_stalls),
    ]
    lines = [visible(line) if marks is UNICODE else _ascii(visible(line)) for line in lines]
    return "\n".join(piece for line in lines for piece in _wrapped(line, width)) + "\n"


def _ascii(line: str) -> str:
    """A line without characters that an old terminal lacks; those of names become escapes."""
    plain = line.replace("µs", "us").replace("…", "...")
    return plain.encode("ascii", "backslashreplace").decode("ascii")


def _head(timeline: Timeline) -> str:
    runs = "one run" if timeline.runs == 1 else f"{timeline.runs} runs back to back"
    memory = "pinned" if timeline.pinned else "pageable"
    return (
        f"{timeline.device.name}, {memory} host memory, {runs}: {time_in_words(timeline.makespan_us)}; "
        f"a run's kernels {time_in_words(timeline.compute_us)}, copies {time_in_words(timeline.copy_us)}, "
        f"issuing {time_in_words(timeline.host_us)}"
    )


def lane_lines(
    timeline: Timeline, width: int, marks: Marks, from_us: float = 0.0, to_us: float | None = None
) -> list[str]:
    """The axis, a line for each lane, and the legend."""
    end = timeline.makespan_us if to_us is None else to_us
    begin = max(0.0, from_us)
    cells = width - _LABEL - 2
    if end <= begin or cells < 1:
        return ["(nothing to draw)"]
    scale = Scale(begin, end, cells)
    rows = _rows(timeline)
    busy = [i for i in timeline.intervals if i.kind == "kernel" and i.us > 0]
    shown = rows[:_MOST_LANES]
    lines = [_axis(scale)]
    for name, intervals in shown:
        line = drawn(intervals, scale, busy, marks)
        lines.append(f"{_label(name)}{marks.edge}{line}{marks.edge}")
    if len(rows) > len(shown):
        lines.append(f"({len(rows) - len(shown)} more lanes)")
    if timeline.runs > 1:
        lines.append(f"{_label('run ends')}{marks.edge}{_ends(timeline, scale, marks)}{marks.edge}")
    return [*lines, _legend(timeline, marks)]


def _label(name: str) -> str:
    return f"{visible(name)[: _LABEL - 1]:<{_LABEL}}"


def _rows(timeline: Timeline) -> list[tuple[str, list[Interval]]]:
    """Lanes with what is drawn on them: a stream shows its copies beside its kernels."""
    lanes: dict[str, list[Interval]] = {lane: [] for lane in timeline.lanes}
    for interval in timeline.intervals:
        lanes[interval.lane].append(interval)
        if interval.kind == "copy":
            lanes.setdefault(f"stream {interval.stream}", []).append(interval)
    order = {lane: at for at, lane in enumerate(timeline.lanes)}
    streams = sorted((lane for lane in lanes if lane.startswith("stream ")), key=lambda lane: int(lane[7:]))
    others = sorted((lane for lane in lanes if not lane.startswith("stream ")), key=order.__getitem__)
    return [(lane, lanes[lane]) for lane in (*others, *streams)]


@dataclass(frozen=True, slots=True)
class Scale:
    """Cells of a line for a stretch of time, in microseconds."""

    begin: float
    end: float
    cells: int

    def cell(self, us: float) -> float:
        """Where a time is, in cells from the left."""
        return (us - self.begin) / (self.end - self.begin) * self.cells

    def us(self, cell: float) -> float:
        """The time at a place, in cells from the left."""
        return self.begin + cell / self.cells * (self.end - self.begin)


def _axis(scale: Scale) -> str:
    """Times above their places: as many as fit with room between them."""
    return " " * (_LABEL + 1) + times(scale)


def times(scale: Scale) -> str:
    """The texts of an axis, each above its place."""
    line = [" "] * scale.cells
    taken = -2
    for at in range(0, scale.cells, 15):
        text = time_in_words(scale.us(at))
        if at > taken + 1 and at + len(text) <= scale.cells:
            line[at : at + len(text)] = text
            taken = at + len(text)
    return "".join(line).rstrip()


def drawn(intervals: Iterable[Interval], scale: Scale, busy: list[Interval], marks: Marks) -> str:
    """One lane: in each cell the mark of what takes most of it, if anything takes a noticeable part."""
    shares: list[dict[str, float]] = [{} for _ in range(scale.cells)]
    at = 0
    for interval in intervals:
        if interval.kind != "copy":
            mark = {"kernel": marks.kernel, "issue": marks.issue, "wait": marks.wait}[interval.kind]
            _fill(shares, scale, interval.start_us, interval.end_us, mark)
            continue
        _fill(shares, scale, interval.start_us, interval.end_us, marks.exposed)
        while at < len(busy) and busy[at].end_us <= interval.start_us:
            at += 1
        under = at
        while under < len(busy) and busy[under].start_us < interval.end_us:
            start, end = (
                max(interval.start_us, busy[under].start_us),
                min(interval.end_us, busy[under].end_us),
            )
            _fill(shares, scale, start, end, marks.hidden)
            _fill(shares, scale, start, end, marks.exposed, -1)
            under += 1
    return "".join(_mark(share, marks) for share in shares)


def _fill(
    shares: list[dict[str, float]], scale: Scale, start: float, end: float, mark: str, sign: int = 1
) -> None:
    """Add a stretch of time to the cells that it crosses."""
    first, last = max(0.0, scale.cell(start)), min(float(scale.cells), scale.cell(end))
    at = int(first)
    while at < last:
        part = min(last, at + 1) - max(first, at)
        shares[at][mark] = shares[at].get(mark, 0.0) + sign * part
        at += 1


_NOTICEABLE: Final = 0.05


def _mark(share: dict[str, float], marks: Marks) -> str:
    best = max(share.items(), key=lambda item: item[1], default=(marks.idle, 0.0))
    return best[0] if best[1] > _NOTICEABLE else marks.idle


def _ends(timeline: Timeline, scale: Scale, marks: Marks) -> str:
    """Where each run ends."""
    line = [" "] * scale.cells
    for end in timeline.ends_us:
        at = int(scale.cell(end))
        if 0 <= at <= scale.cells:
            line[min(at, scale.cells - 1)] = marks.run
    return "".join(line)


def _legend(timeline: Timeline, marks: Marks) -> str:
    kinds = {interval.kind for interval in timeline.intervals}
    parts = [f"{marks.kernel} kernel"]
    if "copy" in kinds:
        parts += [f"{marks.hidden} copy under a kernel", f"{marks.exposed} copy under none"]
    parts.append(f"{marks.issue} host issues")
    if "wait" in kinds:
        parts.append(f"{marks.wait} host held")
    return "  ".join([*parts, f"{marks.idle} idle"])


def stall_lines(timeline: Timeline, most: int) -> list[str]:
    """Sums of the kernels' stalls by cause, and the longest stalls in the order of time."""
    stalls = [stall for stall in timeline.stalls if stall.interval.kind == "kernel"]
    if not stalls:
        return ["No kernel stands still."]
    sums = ", ".join(f"{cause} {time_in_words(us)}" for cause, us in stalled_us(stalls).items())
    lines = [f"{len(stalls)} stalls of kernels by cause: {sums}"]
    longest = sorted(stalls, key=lambda stall: -stall.us)[: max(0, most)]
    lines += [f"  {_when(stall)} {sentence(stall)}" for stall in sorted(longest, key=_stall_start)]
    if len(stalls) > len(longest):
        lines.append(f"  … and {len(stalls) - len(longest)} shorter ones")
    return lines


def _stall_start(stall: Stall) -> float:
    return stall.interval.start_us


def _when(stall: Stall) -> str:
    return f"at {time_in_words(stall.interval.start_us - stall.us)}:"


def _wrapped(line: str, width: int) -> list[str]:
    """A line cut at blanks, its rest indented; a word that is too long is cut where the line ends."""
    if len(line) <= width:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    pieces = []
    while len(line) > width:
        cut = line.rfind(" ", len(indent) + 1, width + 1)
        cut = cut if cut > len(indent) else width
        pieces.append(line[:cut].rstrip())
        line = indent + line[cut:].lstrip()
    return [*pieces, line]
