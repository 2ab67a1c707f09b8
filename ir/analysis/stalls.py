"""Why something of a timeline began no earlier, in sentences; and what the timeline says as a whole."""

from __future__ import annotations

from collections.abc import Iterable

from ..program import Op
from .intervals import EPSILON, Interval
from .timeline import Stall, Timeline
from .views import is_view

_MOST_STEPS = 1000
_SMALLEST_SHARE = 0.0005
_MEMORY = frozenset({"load", "allocate", "check_context", "undefined"})


def described(interval: Interval) -> str:
    """A kernel or copy in words: `the copy of @12 (37.6 KB)`, `the kernel mlir_dot of @40`."""
    op = interval.op
    if interval.kind == "copy":
        return f"the copy of {_copied(op)} ({bytes_in_words(interval.bytes)})"
    return f"the kernel {kernel_name(op)}{_result(op)}"


def kernel_name(op: Op) -> str:
    """A kernel's symbol, or the instruction's name."""
    return op.attributes.get("symbol_name", "").strip('"') or op.name


def _result(op: Op) -> str:
    return f" of {op.results[0].name}" if op.results and op.results[0].name else ""


def _copied(op: Op) -> str:
    sources = op.operands[:-1] or op.operands
    if len(sources) > 1:
        return f"{len(sources)} literals in one"
    return sources[0].name if sources else "nothing"


def bytes_in_words(size: int) -> str:
    """Bytes as `512 B`, `37.6 KB`, `102.4 MB` (powers of a thousand)."""
    if size < 1000:
        return f"{size} B"
    number = float(size)
    for unit in ("KB", "MB", "GB"):
        number /= 1000
        if number < 999.95:
            return f"{number:.1f} {unit}"
    return f"{number / 1000:.1f} TB"


def time_in_words(us: float) -> str:
    """Microseconds as `7.0 µs`, `4.96 ms`, `1.20 s`."""
    if us < 999.95:
        return f"{us:.1f} µs"
    return f"{us / 1e3:.2f} ms" if us < 999_995 else f"{us / 1e6:.2f} s"


def percent(share: float) -> str:
    """A share (0 to 1) as `0 %`, `81.3 %`, `100 %`."""
    return f"{share * 100:.0f} %" if share <= 0 or share >= 1 else f"{share * 100:.1f} %"


def why(interval: Interval) -> str:
    """What held an interval's start, as the end of a sentence that begins with it."""
    other = interval.waits_for
    what = _other(interval, other) if other is not None else ""
    match interval.cause:
        case "stream":
            return f"it comes behind {what or 'something'} on the same stream {interval.stream}"
        case "event":
            tail = f" on stream {other.stream}" if other is not None else ""
            return f"it waits for event {interval.event}, recorded behind {what or 'something'}{tail}"
        case "copy engine":
            return f"the copy engine is busy with {what}"
        case "compute":
            return f"the compute units are busy with {what} on stream {other.stream if other else '?'}"
        case "host":
            if other is None:
                return "the host issues it only then: issuing what is in front of it takes that long"
            return f"the host issues it only then: it was held until {what} was done"
    return "it is the first"


def _other(interval: Interval, other: Interval) -> str:
    run = f" of run {other.run + 1}" if other.run != interval.run else ""
    return f"{described(other)}{run}"


def sentence(stall: Stall) -> str:
    """A stall as a sentence: who stands still for how long, and why."""
    interval = stall.interval
    who = described(interval)
    name = "the copy engine" if interval.kind == "copy" else interval.lane
    return f"{name} stands still for {time_in_words(stall.us)} before {who}: {why(interval)}{_row(stall)}"


def _row(stall: Stall) -> str:
    """That the copy waited for is the last of several which took the whole time, one after the other."""
    begin = stall.interval.start_us - stall.us
    row: list[Interval] = []
    other = stall.interval.waits_for
    while other and other.kind == "copy" and other.end_us > begin + EPSILON and len(row) < _MOST_STEPS:
        row.append(other)
        other = other.waits_for
    if len(row) < 2:
        return ""
    size = bytes_in_words(sum(copy.bytes for copy in row))
    most = "at least " if len(row) == _MOST_STEPS else ""
    return f", the last of {most}{len(row)} copies in a row ({size})"


def critical_path(interval: Interval) -> list[Interval]:
    """What led to an interval's start, from the interval back along the critical edges, at most 1000."""
    path = [interval]
    while path[-1].waits_for is not None and len(path) < _MOST_STEPS:
        path.append(path[-1].waits_for)
    return path


def stalled_us(stalls: Iterable[Stall], kind: str = "kernel") -> dict[str, float]:
    """Microseconds of stalls in front of kernels (or copies) by cause, the longest first."""
    sums: dict[str, float] = {}
    for stall in stalls:
        if stall.interval.kind == kind:
            sums[stall.interval.cause] = sums.get(stall.interval.cause, 0.0) + stall.us
    return dict(sorted(sums.items(), key=lambda item: -item[1]))


def verdict(timeline: Timeline) -> list[str]:
    """What there is to say of a timeline as a whole: how far from the bound, what is hidden and why not."""
    said = [_pace(timeline), *_hidden(timeline)]
    if timeline.uncounted:
        names = ", ".join(op.name + _result(op) for op in timeline.uncounted[:5])
        said.append(f"Not counted is what {names} and the like run: it is known only when they run.")
    if timeline.unrecorded:
        names = ", ".join(op.attributes.get("event", "?") for op in timeline.unrecorded[:5])
        said.append(f"Nothing records the events {names} that are waited for: these waits hold nothing.")
    return said


def _pace(timeline: Timeline) -> str:
    bound = timeline.bound_us
    what = "kernels" if timeline.compute_us >= bound - EPSILON else "copies"
    if bound <= 0:
        raw = any(_is_operator(op) for op in timeline.instructions)
        tail = ": the program is not lowered to the GPU, no instruction is a kernel or a copy" if raw else ""
        return f"Nothing runs on the device{tail}."
    takes = "A run takes" if timeline.runs == 1 else f"Run after run, one of {timeline.runs} takes"
    ratio = timeline.period_us / bound
    return (
        f"{takes} {time_in_words(timeline.period_us)}, {ratio:.2f} times the bound of {time_in_words(bound)} "
        f"(the {what} alone)."
    )


def _is_operator(op: Op) -> bool:
    """Whether an instruction is an operator of a program that is not lowered."""
    return "::" not in op.name and op.name[:1] not in ("@", "") and not is_view(op) and op.name not in _MEMORY


def _hidden(timeline: Timeline) -> list[str]:
    work = [i for i in timeline.intervals if i.lane != "host" and i.run == 0]
    copies = [i for i in work if i.kind == "copy"]
    kernels = [i for i in work if i.kind == "kernel"]
    if not copies:
        return ["Nothing is copied between host and device."]
    head = f"{percent(timeline.overlap)} of the copies' time is hidden under kernels"
    streams = {i.stream for i in copies}
    if len(streams) == 1 and streams == {i.stream for i in kernels}:
        stream = next(iter(streams))
        return [
            f"{head}: all {len(copies)} copies and {len(kernels)} kernels are on stream {stream}, in which "
            "each waits for the one before it."
        ]
    by_cause = stalled_us(timeline.stalls)
    total = sum(by_cause.values())
    if total <= _SMALLEST_SHARE * max(timeline.makespan_us, EPSILON):
        return [f"{head}; kernels wait for nothing."]
    parts = ", ".join(f"{time_in_words(us)} for {_CAUSES[cause]}" for cause, us in by_cause.items())
    return [f"{head}; kernels wait {time_in_words(total)} in all: {parts}."]


_CAUSES = {
    "start": "the first launch",
    "stream": "what is in front of them on their stream",
    "event": "events",
    "copy engine": "the copy engine",
    "compute": "kernels of other streams",
    "host": "the host",
}
