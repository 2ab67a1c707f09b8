"""Stretches of time on the lanes of a timeline, each with the edge that held its start longest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from ..program import Op

Cause = Literal["start", "stream", "event", "copy engine", "compute", "host"]
"""What an interval could not begin before: nothing; the work in front of it on its stream; an event; the
copy that had the engine; the kernel that had the compute units; its issue by the host."""
Kind = Literal["kernel", "copy", "issue", "wait"]

EPSILON: Final = 1e-6
"""Microseconds below which a gap is none."""


@dataclass(slots=True, eq=False)
class Interval:
    """One stretch of time on a lane, made by one instruction in one run."""

    op: Op
    index: int
    """Of the op in the instructions."""
    run: int
    kind: Kind
    lane: str
    """`host`, `stream K` for kernels, `copy` (`copy 2`, …) or `copy back` for copies."""
    stream: int
    start_us: float
    end_us: float
    bytes: int = 0
    """Of a copy."""
    cause: Cause = "start"
    """The critical edge: what held the start longest."""
    waits_for: Interval | None = None
    """The kernel or copy at the other end of that edge; for `host` the one that had held the host, if any."""
    event: str = ""
    """The event of the edge, if it is one."""

    @property
    def us(self) -> float:
        """Microseconds that it lasts."""
        return self.end_us - self.start_us
