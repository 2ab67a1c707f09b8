"""How fast a program runs when its copies may begin at given slots: one copy engine, one compute stream.

The program runs again and again (or once). Slot k of run r is numbered k + r·n, so that a copy whose issue
slot is negative begins during the run before. A copy with issue slot p may begin once slot p − 1 has ended
and the copies in front of it are done; a slot waits for the copies that it reads.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

_SETTLED: Final = 1e-9
_MOST_RUNS: Final = 64
_EPSILON: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Transfer:
    """One copy to the GPU: of a literal, or of several side by side. Time in microseconds."""

    us: float
    first: int
    """The slot that reads it first."""
    last: int
    """The slot that reads it last."""
    bytes: int


@dataclass(slots=True)
class Pace:
    """What a simulation found; times in microseconds."""

    us: float
    """Time from run to run in a steady stream, or of the one run."""
    starts: list[float]
    """When each slot begins in the last run simulated, from that run's origin."""
    ends: list[float]
    copies: list[tuple[float, float]]
    """When each transfer begins and ends, by the same origin."""
    stalls: list[float]
    """How long each slot waited for its transfers."""


def pace(us: list[float], transfers: list[Transfer], issue: list[int], *, steady: bool) -> Pace:
    """Simulate; `transfers` are in the order of the copy stream (ascending `first`), `issue` their slots."""
    if not us:
        return Pace(sum(t.us for t in transfers), [], [], [], [])
    run = _Run(us, transfers, issue)
    origin = run.play()
    if not steady:
        return run.result(origin, run.finished)
    periods: list[float] = []
    for _ in range(_MOST_RUNS):
        before = run.finished
        origin = run.play()
        periods.append(run.finished - before)
        if len(periods) >= 3 and max(periods[-3:]) - min(periods[-3:]) < _SETTLED * max(periods[-1], 1.0):
            break
    tail = periods[-8:] if len(periods) == _MOST_RUNS else periods[-1:]
    return run.result(origin, sum(tail) / len(tail))


class _Run:
    """The state from run to run: when the streams are free, and when the slots of the last run ended."""

    def __init__(self, us: list[float], transfers: list[Transfer], issue: list[int]) -> None:
        self.us = us
        self.transfers = transfers
        self.issue = issue
        self.previous = [0.0] * len(us)
        self.finished = 0.0
        self.copied = 0.0
        self.starts: list[float] = []
        self.ends: list[float] = []
        self.copies: list[tuple[float, float]] = []
        self.stalls: list[float] = []

    def play(self) -> float:
        """One run; returns the origin of its times (the end of the run before)."""
        origin = self.finished
        us, transfers, issue, previous, slots = (
            self.us,
            self.transfers,
            self.issue,
            self.previous,
            len(self.us),
        )
        starts: list[float] = []
        ends: list[float] = []
        copies: list[tuple[float, float]] = []
        stalls: list[float] = []
        free, copied, at, count = self.finished, self.copied, 0, len(transfers)
        for slot, length in enumerate(us):
            ready = 0.0
            while at < count and transfers[at].first <= slot:
                after = issue[at] - 1
                gate = ends[after] if after >= 0 else previous[slots + after]
                begin = copied if copied > gate else gate
                copied = begin + transfers[at].us
                copies.append((begin, copied))
                ready = copied
                at += 1
            begin = free if free > ready else ready
            stalls.append(begin - free)
            starts.append(begin)
            free = begin + length
            ends.append(free)
        self.previous, self.finished, self.copied = ends, free, copied
        self.starts, self.ends, self.copies, self.stalls = starts, ends, copies, stalls
        return origin

    def result(self, origin: float, us: float) -> Pace:
        return Pace(
            us,
            [at - origin for at in self.starts],
            [at - origin for at in self.ends],
            [(begin - origin, end - origin) for begin, end in self.copies],
            self.stalls,
        )


def latest_starts(transfers: list[Transfer], found: Pace, *, steady: bool) -> list[float]:
    """When each transfer must begin at the latest so that no slot begins later than it did in `found`."""
    latest = [0.0] * len(transfers)
    after = float("inf")
    for _ in range(2 if steady else 1):
        limit = after
        for index in range(len(transfers) - 1, -1, -1):
            end = min(found.starts[transfers[index].first], limit)
            latest[index] = limit = end - transfers[index].us
        after = latest[0] + found.us if latest else after
    return latest


def slot_at(found: Pace, time: float, *, steady: bool) -> int:
    """The issue slot of a transfer that is to begin at `time`: the slot that has not ended by then.

    Times in front of the run's origin lie in the runs before, so the slot is negative (0 if there are none).
    """
    slots = len(found.ends)
    runs = 0
    while steady and time + _EPSILON < found.ends[0] and runs < 4:
        # The run before has the same times one period earlier.
        time += found.us
        runs += 1
    return bisect_right(found.ends, time + _EPSILON) - runs * slots
