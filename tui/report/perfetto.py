"""A timeline as Chrome trace events, which Perfetto (ui.perfetto.dev) and chrome://tracing open.

Each lane is a thread; a kernel, copy or issue is a complete event (`X`) with its op and its critical edge as
arguments; an event that held a kernel or copy is an arrow (`s` and `f`) from what it was recorded behind.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import IO, Any

from ...ir.analysis.intervals import Interval
from ...ir.analysis.stalls import described, kernel_name, why
from ...ir.analysis.timeline import Timeline

_PROCESS = 1
_COLOURS = {"kernel": "thread_state_running", "copy": "thread_state_iowait", "wait": "terrible"}


def trace_events(timeline: Timeline, *, process: str = "predicted") -> Iterator[dict[str, Any]]:
    """The events one by one: names of process and lanes first, then intervals by their start."""
    yield _named("process_name", 0, f"{process}: {timeline.device.name}")
    lanes = {lane: number for number, lane in enumerate(timeline.lanes, 1)}
    for lane, number in lanes.items():
        yield _named("thread_name", number, lane)
        place = {"sort_index": number}
        yield {"ph": "M", "name": "thread_sort_index", "pid": _PROCESS, "tid": number, "args": place}
    arrow = 0
    for interval in timeline.intervals:
        yield _complete(interval, lanes[interval.lane])
        other = interval.waits_for
        if interval.cause == "event" and other is not None:
            arrow += 1
            edge = {"ph": "s", "id": arrow, "name": "event", "cat": "wait", "pid": _PROCESS}
            yield {**edge, "tid": lanes[other.lane], "ts": _ts(other.end_us)}
            yield {**edge, "ph": "f", "bp": "e", "tid": lanes[interval.lane], "ts": _ts(interval.start_us)}


def write_trace(timeline: Timeline, file: IO[str], *, process: str = "predicted") -> None:
    """Write the JSON object of a trace, an event a line."""
    file.write('{"displayTimeUnit": "ns", "traceEvents": [\n')
    for number, event in enumerate(trace_events(timeline, process=process)):
        file.write((",\n" if number else "") + json.dumps(event, allow_nan=False))
    file.write("\n]}\n")


def _named(kind: str, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": _PROCESS, "tid": thread, "args": {"name": name}}


def _complete(interval: Interval, thread: int) -> dict[str, Any]:
    op = interval.op
    event: dict[str, Any] = {
        "ph": "X",
        "name": _title(interval),
        "cat": interval.kind,
        "pid": _PROCESS,
        "tid": thread,
        "ts": _ts(interval.start_us),
        "dur": _ts(interval.us),
        "args": {
            "op": op.results[0].name if op.results else op.name,
            "instruction": interval.index,
            "run": interval.run + 1,
            "stream": interval.stream,
        },
    }
    if interval.kind == "copy":
        event["args"]["bytes"] = interval.bytes
    if interval.lane != "host":
        event["args"]["why it begins then"] = why(interval)
    if interval.kind in _COLOURS:
        event["cname"] = _COLOURS[interval.kind]
    return event


def _title(interval: Interval) -> str:
    if interval.kind == "kernel":
        return kernel_name(interval.op)
    if interval.kind == "copy":
        return described(interval)
    return f"{interval.kind} {kernel_name(interval.op)}"


def _ts(us: float) -> float:
    """Microseconds with the resolution of a nanosecond."""
    return round(us, 3)
