"""Which MIGraphX instructions surely finish before which others begin, over streams and events.

Instructions are issued in program order and run asynchronously on the stream that was set last. On one
stream they run in order. `record_event` marks a point of its stream; `wait_event` makes what its stream runs
later wait for the point that was recorded last when the wait was issued. A synchronisation makes everything
issued later wait for its stream, or for all.

A program may be run again and again without the host waiting between the runs. Then a wait that is issued
before the program's own record of its event waits for the record that the run before made; in the first run
it waits for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ..program import Op

SYNC_STREAM: Final = frozenset({"hip::sync_stream", "gpu::sync_stream"})
SYNC_ALL: Final = frozenset({"hip::sync_device", "gpu::sync_device"})
SET: Final = frozenset({"gpu::set_stream", "hip::set_stream"})
RECORD: Final = frozenset({"gpu::record_event", "hip::record_event"})
WAIT: Final = frozenset({"gpu::wait_event", "hip::wait_event"})


@dataclass(slots=True)
class Order:
    """The stream of each instruction, and its vector clock; indices are those of the instructions.

    With several runs, instruction `i` of run `r` has index `r * len(instructions) + i`.
    """

    streams: list[int]
    clocks: list[dict[int, int]]
    """Stream → how many of its instructions are finished when this one begins, itself included on its own."""
    unrecorded: list[int] = field(default_factory=list)
    """Waits for events that nothing in the program records; indices of the first run."""
    ticks: list[int] = field(default_factory=list)
    """The instruction's number on its own stream, from 1."""

    def before(self, first: int, second: int) -> bool:
        """Whether instruction `first` has surely finished when instruction `second` begins."""
        return self.clocks[second].get(self.streams[first], 0) >= self.ticks[first] and first != second


def order_of(instructions: list[Op], runs: int = 1) -> Order:
    """Walk the instructions in the order in which the host issues them, `runs` times one after the other.

    The current stream and the events go over from one run to the next.
    """
    walk = _Walk(Order([], [], _never_recorded(instructions)))
    for _ in range(runs):
        for op in instructions:
            walk.issue(op)
    return walk.order


@dataclass(slots=True)
class _Walk:
    """What the streams know at one point of the issue order."""

    order: Order
    stream: int = 0
    now: dict[int, dict[int, int]] = field(default_factory=dict)
    floor: dict[int, int] = field(default_factory=dict)
    events: dict[str, dict[int, int]] = field(default_factory=dict)

    def issue(self, op: Op) -> None:
        name = op.name
        if name in SET:
            self.stream = _number(op.attributes.get("stream", ""))
        clock = self.now.setdefault(self.stream, {})
        if self.floor:
            _join(clock, self.floor)
        if name in WAIT:
            _join(clock, self.events.get(op.attributes.get("event", ""), {}))
        clock[self.stream] = clock.get(self.stream, 0) + 1
        self.order.streams.append(self.stream)
        self.order.ticks.append(clock[self.stream])
        self.order.clocks.append(dict(clock))
        if name in RECORD:
            self.events[op.attributes.get("event", "")] = dict(clock)
        elif name in SYNC_STREAM:
            _join(self.floor, clock)
        elif name in SYNC_ALL:
            for other in self.now.values():
                _join(self.floor, other)


def _never_recorded(instructions: list[Op]) -> list[int]:
    recorded = {op.attributes.get("event", "") for op in instructions if op.name in RECORD}
    waits = [(at, op) for at, op in enumerate(instructions) if op.name in WAIT]
    return [at for at, op in waits if op.attributes.get("event", "") not in recorded]


def _join(clock: dict[int, int], other: dict[int, int]) -> None:
    for stream, tick in other.items():
        if clock.get(stream, 0) < tick:
            clock[stream] = tick


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 10 else 0
