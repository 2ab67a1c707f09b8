"""A timeline as JSON: its numbers, every interval with its critical edge, every stall with its sentence."""

from __future__ import annotations

from typing import Any

from ..program import Op
from .intervals import Interval
from .stalls import kernel_name, sentence, stalled_us, verdict
from .timeline import Timeline

_DIGITS = 4


def to_json(timeline: Timeline, *, intervals: bool = True) -> dict[str, Any]:
    """The timeline; times in microseconds; intervals refer to each other by their place in the list."""
    place = {id(interval): at for at, interval in enumerate(timeline.intervals)}
    said: dict[str, Any] = {
        "device": timeline.device.name,
        "host_memory": "pinned" if timeline.pinned else "pageable",
        "runs": timeline.runs,
        "makespan_us": _round(timeline.makespan_us),
        "period_us": _round(timeline.period_us),
        "compute_us": _round(timeline.compute_us),
        "copy_us": _round(timeline.copy_us),
        "host_us": _round(timeline.host_us),
        "bound_us": _round(timeline.bound_us),
        "overlap": _round(timeline.overlap),
        "verdict": verdict(timeline),
        "stalled_us": {cause: _round(us) for cause, us in stalled_us(timeline.stalls).items()},
        "stalls": [
            {
                "interval": place[id(stall.interval)],
                "lane": stall.interval.lane,
                "us": _round(stall.us),
                "cause": stall.interval.cause,
                "why": sentence(stall),
            }
            for stall in timeline.stalls
        ],
        "waits_without_record": [_name(op) for op in timeline.unrecorded],
        "uncounted": [_name(op) for op in timeline.uncounted],
    }
    if intervals:
        said["intervals"] = [_interval(interval, place) for interval in timeline.intervals]
    return said


def _interval(interval: Interval, place: dict[int, int]) -> dict[str, Any]:
    op = interval.op
    return {
        "op": _name(op),
        "name": kernel_name(op),
        "index": interval.index,
        "run": interval.run,
        "kind": interval.kind,
        "lane": interval.lane,
        "stream": interval.stream,
        "start_us": _round(interval.start_us),
        "end_us": _round(interval.end_us),
        "bytes": interval.bytes,
        "cause": interval.cause,
        "waits_for": place.get(id(interval.waits_for)) if interval.waits_for is not None else None,
        "event": interval.event,
    }


def _name(op: Op) -> str:
    return op.results[0].name if op.results else op.name


def _round(number: float) -> float:
    return round(number, _DIGITS)
