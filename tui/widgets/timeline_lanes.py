"""The lanes of one program as lines of characters, and what is under a cell."""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

from ...ir.analysis.intervals import Interval
from ..planning import Sight
from ..report.timeline_text import UNICODE, Scale, drawn

STYLES: Final = {
    UNICODE.kernel: "type", UNICODE.hidden: "value", UNICODE.exposed: "bad", UNICODE.issue: "dim",
    UNICODE.wait: "warn", UNICODE.idle: "gutter",
}  # fmt: skip
STALL: Final = "▲"


def lane_line(sight: Sight, intervals: list[Interval], scale: Scale) -> str:
    """One lane between the edges of the run that is shown."""
    begin, end = max(scale.begin, sight.begin_us), min(scale.end, sight.end_us)
    if end <= begin:
        return " " * scale.cells
    seen = [each for each in intervals if each.end_us > begin and each.start_us < end]
    busy = [
        each
        for each in sight.timeline.intervals
        if each.kind == "kernel" and each.us > 0 and each.end_us > begin and each.start_us < end
    ]
    line = drawn(seen, scale, busy, UNICODE)
    left, right = round(scale.cell(sight.begin_us)), round(scale.cell(sight.end_us))
    left, right = max(left, 0), min(max(right, 0), scale.cells)
    return " " * left + line[left:right] + " " * (scale.cells - right)


def stall_line(sight: Sight, scale: Scale) -> str:
    """A mark where each stall of a kernel ends."""
    line = [" "] * scale.cells
    for stall in sight.stalls:
        at = int(scale.cell(stall.interval.start_us))
        if 0 <= at < scale.cells:
            line[at] = STALL
    return "".join(line)


def under(intervals: list[Interval], us: float) -> Interval | None:
    """The interval of a lane at a moment, or the one next behind it; None behind the last."""
    at = bisect_left([each.end_us for each in intervals], us + 1e-9)
    return intervals[at] if at < len(intervals) else None


def lane_name(name: str, intervals: list[Interval]) -> str:
    """A lane as it is labelled: a copy engine with the stream whose copies it does."""
    if name.startswith("copy") and intervals:
        streams = sorted({each.stream for each in intervals})
        return f"{name} (s{','.join(map(str, streams))})"
    return name
