"""Which MIGraphX instructions surely finish before which others begin, over streams and events.

Instructions are issued in program order and run asynchronously on the stream that was set last. On one
stream they run in order. `record_event` marks a point of its stream; `wait_event` makes what its stream runs
later wait for the point that was recorded last when the wait was issued. A synchronisation makes everything
issued later wait for its stream, or for all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ..program import Op

_SYNC_STREAM: Final = frozenset({"hip::sync_stream", "gpu::sync_stream"})
_SYNC_ALL: Final = frozenset({"hip::sync_device", "gpu::sync_device"})
_SET: Final = frozenset({"gpu::set_stream", "hip::set_stream"})
_RECORD: Final = frozenset({"gpu::record_event", "hip::record_event"})
_WAIT: Final = frozenset({"gpu::wait_event", "hip::wait_event"})


@dataclass(slots=True)
class Order:
    """The stream of each instruction, and its vector clock; indices are those of the instructions."""

    streams: list[int]
    clocks: list[dict[int, int]]
    """Stream → how many of its instructions are finished when this one begins, itself included on its own."""
    unrecorded: list[int] = field(default_factory=list)
    """Waits for events that nothing has recorded when they are issued."""
    ticks: list[int] = field(default_factory=list)
    """The instruction's number on its own stream, from 1."""

    def before(self, first: int, second: int) -> bool:
        """Whether instruction `first` has surely finished when instruction `second` begins."""
        return self.clocks[second].get(self.streams[first], 0) >= self.ticks[first] and first != second


def order_of(instructions: list[Op]) -> Order:
    """Walk the instructions in the order in which the host issues them."""
    order = Order([], [])
    now: dict[int, dict[int, int]] = {}
    floor: dict[int, int] = {}
    events: dict[str, dict[int, int]] = {}
    stream = 0
    for index, op in enumerate(instructions):
        if op.name in _SET:
            stream = _number(op.attributes.get("stream", ""))
        clock = now.setdefault(stream, {})
        _join(clock, floor)
        if op.name in _WAIT:
            recorded = events.get(op.attributes.get("event", ""))
            if recorded is None:
                order.unrecorded.append(index)
            else:
                _join(clock, recorded)
        clock[stream] = clock.get(stream, 0) + 1
        order.streams.append(stream)
        order.ticks.append(clock[stream])
        order.clocks.append(dict(clock))
        if op.name in _RECORD:
            events[op.attributes.get("event", "")] = dict(clock)
        elif op.name in _SYNC_STREAM:
            _join(floor, clock)
        elif op.name in _SYNC_ALL:
            for other in now.values():
                _join(floor, other)
    return order


def _join(clock: dict[int, int], other: dict[int, int]) -> None:
    for stream, tick in other.items():
        if clock.get(stream, 0) < tick:
            clock[stream] = tick


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 10 else 0
