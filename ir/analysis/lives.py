"""When each buffer of an arena holds something, in the time of a simulated timeline."""

from __future__ import annotations

from dataclasses import dataclass

from ..program import Op
from .intervals import Interval
from .memory import Buffer, arena_use
from .timeline import Timeline
from .views import Roots, buffer_of, captured, is_view, outer_load


@dataclass(frozen=True, slots=True)
class Life:
    """A buffer from the interval that first writes it to the end of the last that uses it."""

    buffer: Buffer
    first: Interval
    last: Interval
    end_us: float

    @property
    def start_us(self) -> float:
        """When its first writer begins, in microseconds."""
        return self.first.start_us

    @property
    def streamed(self) -> bool:
        """Whether literals are copied into it."""
        return self.buffer.literal is not None


def lives_of(timeline: Timeline) -> list[Life]:
    """The lives of all buffers of a timeline's program in all its runs, by their start.

    A weight that is copied for the next run lives across the end of its own.
    """
    instructions = timeline.instructions
    roots: Roots = {}
    users = _users(instructions, roots)
    spans: dict[int, list[Interval]] = {}
    for interval in timeline.intervals:
        if interval.kind in ("kernel", "copy"):
            spans.setdefault(id(interval.op), []).append(interval)
    found: list[Life] = []
    for buffer in arena_use(instructions).buffers:
        if buffer.writers:
            found += _lives(buffer, users.get(id(buffer.load), []), spans)
    return sorted(found, key=lambda life: life.start_us)


def _users(instructions: list[Op], roots: Roots) -> dict[int, list[Op]]:
    """The instructions that write or read each `load`, by the identity of the load."""
    users: dict[int, dict[int, Op]] = {}
    for op in instructions:
        if op.name == "load" or is_view(op):
            continue
        for value in (*op.operands, *captured(op)):
            owner = buffer_of(value, roots).op
            if owner is not None and owner.name == "load":
                users.setdefault(id(outer_load(owner, roots)[0]), {})[id(op)] = op
    return {key: list(ops.values()) for key, ops in users.items()}


def _lives(buffer: Buffer, users: list[Op], spans: dict[int, list[Interval]]) -> list[Life]:
    """One life from each run of the first writer on; what reads before any is written lives not."""
    intervals = sorted(
        (interval for op in users for interval in spans.get(id(op), ())), key=lambda each: each.start_us
    )
    found: list[Life] = []
    for interval in intervals:
        if interval.op is buffer.writers[0]:
            found.append(Life(buffer, interval, interval, interval.end_us))
        elif found:
            life = found[-1]
            later = interval if interval.end_us > life.end_us else life.last
            found[-1] = Life(buffer, life.first, later, max(life.end_us, interval.end_us))
    return found
