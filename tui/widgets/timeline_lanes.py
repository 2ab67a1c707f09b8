"""The lanes of one program as lines of characters, and what is under a cell."""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

from ...ir.analysis.intervals import Interval
from ..planning import Sight
from ..report.timeline_text import UNICODE, Scale, drawn

STALL: Final = "▲"
_HEIGHTS: Final = "▁▂▃▄▅▆▇█"
"""Kernels that take a part of a cell's time are as high as that part, so that kernels and copies that take
turns within one cell do not look as if they ran together."""
_NOTICEABLE: Final = 0.05
STYLES: Final = {
    **dict.fromkeys(_HEIGHTS, "type"), UNICODE.hidden: "value", UNICODE.exposed: "bad", UNICODE.issue: "dim",
    UNICODE.wait: "warn", UNICODE.idle: "gutter",
}  # fmt: skip


def lane_line(sight: Sight, intervals: list[Interval], scale: Scale) -> str:
    """One lane between the edges of the run that is shown."""
    begin, end = max(scale.begin, sight.begin_us), min(scale.end, sight.end_us)
    if end <= begin:
        return " " * scale.cells
    seen = [each for each in intervals if each.end_us > begin and each.start_us < end]
    if all(each.kind == "kernel" for each in seen):
        line = _heights(seen, scale)
    else:
        busy = [
            each
            for each in sight.timeline.intervals
            if each.kind == "kernel" and each.us > 0 and each.end_us > begin and each.start_us < end
        ]
        line = drawn(seen, scale, busy, UNICODE)
    left, right = round(scale.cell(sight.begin_us)), round(scale.cell(sight.end_us))
    left, right = max(left, 0), min(max(right, 0), scale.cells)
    return " " * left + line[left:right] + " " * (scale.cells - right)


def _heights(kernels: list[Interval], scale: Scale) -> str:
    """The share of each cell's time in which kernels run, as a bar."""
    shares = [0.0] * scale.cells
    for each in kernels:
        at, last = max(0.0, scale.cell(each.start_us)), min(float(scale.cells), scale.cell(each.end_us))
        while at < last:
            until = min(last, int(at) + 1.0)
            shares[int(at)] += until - at
            at = until
    return "".join(
        UNICODE.idle
        if share < _NOTICEABLE
        else _HEIGHTS[min(int(share * 8 + 0.01), 8) - 1 if share > 0.125 else 0]
        for share in shares
    )


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
