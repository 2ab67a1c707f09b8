"""When every kernel and copy of a program would run, and what each of them waits for.

`simulation` says by which rules the times are made.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

from ..program import Op
from .cost import calls_modules
from .devices import Device
from .intervals import EPSILON, Cause, Interval, Kind
from .order import RECORD, WAIT
from .simulation import Item, Simulation, prepare

__all__ = ["Cause", "Interval", "Kind", "Stall", "Timeline", "timeline"]


@dataclass(frozen=True, slots=True)
class Stall:
    """A lane that did nothing for `us` microseconds in front of `interval`; its cause is the interval's."""

    interval: Interval
    us: float


@dataclass(slots=True)
class Timeline:
    """Where the time of one or several runs goes; all times in microseconds from the first issue."""

    device: Device
    instructions: list[Op]
    runs: int
    pinned: bool
    intervals: list[Interval] = field(default_factory=list)
    """Sorted by their start."""
    ends_us: list[float] = field(default_factory=list)
    """When each run's last work, and the host's part of it, was done."""
    compute_us: float = 0.0
    """Of one run: the sum of its kernels."""
    copy_us: float = 0.0
    """Of one run: the sum of its copies."""
    host_us: float = 0.0
    """Of one run: what issuing costs the host, without waiting."""
    bound_us: float = 0.0
    """No order of this work on the device is faster: the larger of compute and copies of one run."""
    overlap: float = 0.0
    """Share (0 to 1) of the copies' time in which a kernel runs too; of several runs, all but the first."""
    stalls: list[Stall] = field(default_factory=list)
    unrecorded: list[Op] = field(default_factory=list)
    """Waits for events that nothing records: they hold nothing."""
    uncounted: list[Op] = field(default_factory=list)
    """Instructions that run modules of their own (`if`, `loop`): what these do is left out."""

    @property
    def makespan_us(self) -> float:
        """When the last of the runs is done."""
        return max(self.ends_us, default=0.0)

    @property
    def period_us(self) -> float:
        """The time from one run's end to the next in the later half of the runs; of one run, its makespan."""
        if self.runs < 2:
            return self.makespan_us
        base = self.runs - self.runs // 2 - 1
        return (self.ends_us[-1] - self.ends_us[base]) / (self.runs - 1 - base)

    def on(self, lane: str) -> list[Interval]:
        """The intervals of a lane by their start."""
        return [interval for interval in self.intervals if interval.lane == lane]

    @property
    def lanes(self) -> list[str]:
        """The lanes that hold anything: host, copies, then streams by number."""
        return sorted({interval.lane for interval in self.intervals}, key=_lane_key)


def _lane_key(lane: str) -> tuple[int, int]:
    word, _, number = lane.rpartition(" ")
    group = 0 if lane == "host" else 2 if word == "stream" else 1
    return group, int(number) if number.isdecimal() else 0 if lane == "copy" else 1 << 30


def timeline(instructions: list[Op], device: Device, *, runs: int = 1, pinned: bool = True) -> Timeline:
    """Simulate a module's instructions, run `runs` times with the host not waiting in between.

    `pinned` says whether literals lie in page-locked host memory. The time needed grows as
    n log n with the instructions that give the device something to do.
    """
    if runs < 1:
        raise ValueError(f"a timeline is of 1 run or more, not of {runs}")
    work = prepare(instructions, device, pinned)
    result = Timeline(device, instructions, runs, pinned)
    simulation = Simulation(work, device, pinned)
    simulation.run(runs)
    result.ends_us = simulation.ends
    result.intervals = simulation.intervals()
    _sums(result, work)
    result.overlap = _overlap(result)
    result.stalls = _stalls(result)
    result.uncounted = [op for op in instructions if calls_modules(op)]
    recorded = {op.attributes.get("event", "") for op in instructions if op.name in RECORD}
    result.unrecorded = [
        op for op in instructions if op.name in WAIT and op.attributes.get("event", "") not in recorded
    ]
    return result


def _sums(result: Timeline, items: list[Item]) -> None:
    """Compute, copies and issuing of one run, and the bound."""
    latency = result.device.transfer(result.pinned).latency_us
    bounds = []
    for back in (False, True):
        copies = [item.us for item in items if item.is_copy and item.back == back]
        result.copy_us += sum(copies)
        link_us = sum(us - latency for us in copies)
        bounds.append(max(link_us, sum(copies) / result.device.copy_engines))
    result.compute_us = sum(item.us for item in items if item.is_kernel)
    result.host_us = sum(item.host_us for item in items)
    result.bound_us = max(result.compute_us, *bounds)


def _overlap(result: Timeline) -> float:
    """The share of the copies' time under kernels; see `Timeline.overlap`."""
    kernels = [i for i in result.intervals if i.kind == "kernel" and i.us > 0]
    ends = [i.end_us for i in kernels]
    first = 1 if result.runs > 1 else 0
    copies = [i for i in result.intervals if i.kind == "copy" and i.run >= first]
    hidden = 0.0
    for copy in copies:
        at = bisect_left(ends, copy.start_us + EPSILON)
        while at < len(kernels) and kernels[at].start_us < copy.end_us - EPSILON:
            hidden += min(copy.end_us, kernels[at].end_us) - max(copy.start_us, kernels[at].start_us)
            at += 1
    total = sum(i.us for i in copies)
    return hidden / total if total else 0.0


def _stalls(result: Timeline) -> list[Stall]:
    """The gaps of every lane but the host's, by when they end."""
    last: dict[str, float] = {}
    found = []
    for interval in result.intervals:
        if interval.lane == "host":
            continue
        gap = interval.start_us - last.get(interval.lane, 0.0)
        if gap > EPSILON:
            found.append(Stall(interval, gap))
        last[interval.lane] = interval.end_us
    return found
