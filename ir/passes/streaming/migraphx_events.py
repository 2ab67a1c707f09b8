"""Where MIGraphX's scheduler sets streams, records events and waits for them.

An instruction waits where what it needs comes from other streams: for the last producer on each of them,
found through instructions that weigh nothing. A producer is recorded once, however many wait for it. A wait
is left out where the stream has waited for that event, or for one whose producer's stream had waited for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ... import edit
from ...program import Op
from ...types import Type
from ..step import Recorder, Step
from .migraphx_graph import Graph, ScheduleModel

_NO_SHAPE = Type("float_type, {}, {}")


@dataclass(slots=True)
class Flow:
    """Where the streams of an ordered module meet and part; positions are those of the graph."""

    nearest: list[dict[int, int]]
    """For each instruction, stream → the last producer on it that its result holds work of."""
    before: list[dict[int, int]]
    """The same over the inputs of the instruction."""
    outward: list[set[int]]
    """The streams of those that use the instruction, through what weighs nothing."""


def flow(graph: Graph, stream: dict[int, int]) -> Flow:
    """Follow the streams through a graph whose positions are the order of issue."""
    nearest: list[dict[int, int]] = []
    before: list[dict[int, int]] = []
    for at in range(len(graph.ops)):
        inputs: dict[int, int] = {}
        for each in dict.fromkeys(graph.inputs[at]):
            for where, producer in nearest[each].items():
                inputs[where] = max(inputs.get(where, -1), producer)
        before.append(inputs)
        nearest.append({stream[at]: at} if at in stream else inputs)
    outward: list[set[int]] = [set() for _ in graph.ops]
    for at in range(len(graph.ops) - 1, -1, -1):
        for user in graph.users[at]:
            outward[at] |= {stream[user]} if user in stream else outward[user]
    return Flow(nearest, before, outward)


@dataclass(slots=True)
class _State:
    event: dict[int, int] = field(default_factory=dict)
    """Producer → the event that records it."""
    waited: dict[int, int] = field(default_factory=dict)
    """Stream → events that it has waited for, as bits."""
    at_record: dict[int, int] = field(default_factory=dict)
    """Producer → what its stream had waited for when it was issued, as bits."""
    current: int = -1


def insert_events(
    graph: Graph, stream: dict[int, int], streams: Flow, model: ScheduleModel, recorder: Recorder
) -> Iterator[Step]:
    """Set streams, record and wait, instruction by instruction; a step for each such thing, done or not."""
    state = _State()
    inserter = _Inserter(graph)
    for at, op in enumerate(graph.ops):
        if at not in stream:
            continue
        mine = stream[at]
        if model.events and state.current != mine:
            state.current = mine
            inserter.before(op, _made("gpu::set_stream", "stream", mine))
            why = f"{graph.name(at)} is the first of a row on stream {mine}"
            yield recorder.step("set-stream", why, op=op)
        for where, producer in sorted(streams.before[at].items()):
            if where != mine:
                yield from _wait(graph, state, inserter, model, recorder, (at, mine, producer, where))
        if streams.outward[at] - {mine}:
            state.at_record[at] = state.waited.get(mine, 0)


def _wait(
    graph: Graph,
    state: _State,
    inserter: _Inserter,
    model: ScheduleModel,
    recorder: Recorder,
    edge: tuple[int, int, int, int],
) -> Iterator[Step]:
    at, mine, producer, where = edge
    op, made = graph.ops[at], graph.ops[producer]
    event = state.event.get(producer)
    if event is None:
        event = state.event[producer] = len(state.event)
        recorder.set("event", made, event)
        if model.events:
            inserter.after(made, _made("gpu::record_event", "event", event))
        needed = f"{graph.name(at)} on stream {mine} needs it"
        where_from = f"{graph.name(producer)} on stream {where}"
        why = f"{where_from} is recorded as event {event}: {needed}"
        yield recorder.step("record", why, op=made, encodings=(event,))
    done = state.waited.get(mine, 0)
    if done >> event & 1:
        covered = f"stream {mine} has waited for event {event}, or for one behind it"
        why = f"{graph.name(at)} needs no wait: {covered}"
        yield recorder.step("elide", why, op=op, encodings=(event,))
    else:
        inserter.wait(op, event, where, model.events)
        recorder.set("waits", op, (*(recorder.get("waits", op) or ()), where))
        last = f"{graph.name(producer)} is the last of stream {where} that it needs"
        why = f"{graph.name(at)} on stream {mine} waits for event {event}: {last}"
        yield recorder.step("wait", why, op=op, encodings=(event, where))
    state.waited[mine] = done | 1 << event | state.at_record.get(producer, 0)


class _Inserter:
    """Puts instructions into the block of a graph at known places, without searching for them."""

    def __init__(self, graph: Graph) -> None:
        self.block = graph.block
        self.place = {op: at for at, op in enumerate(graph.ops)}
        self.size = len(graph.ops) + 2
        self.added = [0] * (self.size + 1)
        """How many were put in front of each place, as a tree of sums."""
        self.waits: dict[Op, Op] = {}

    def before(self, anchor: Op, op: Op) -> None:
        """Directly in front of an instruction, behind what was put there before."""
        place = self.place[anchor]
        edit.insert_at(self.block, place + self._sum(place), op)
        self._add(place)

    def after(self, anchor: Op, op: Op) -> None:
        """Directly behind an instruction."""
        place = self.place[anchor]
        edit.insert_at(self.block, place + self._sum(place) + 1, op)
        self._add(place + 1)

    def wait(self, anchor: Op, event: int, where: int, on_gpu: bool) -> None:
        """A wait in front of an instruction; the tests' model has one for all of its events."""
        if on_gpu:
            self.before(anchor, _made("gpu::wait_event", "event", event))
        elif anchor in self.waits:
            known = self.waits[anchor].attributes["wait_for"].strip("{}")
            edit.set_attribute(self.waits[anchor], "wait_for", f"{{{known}, {where}}}")
        else:
            self.waits[anchor] = _made("wait_event", "wait_for", where, "{%s}")
            self.before(anchor, self.waits[anchor])

    def _add(self, place: int) -> None:
        place += 1
        while place <= self.size:
            self.added[place] += 1
            place += place & -place

    def _sum(self, place: int) -> int:
        total, place = 0, place + 1
        while place > 0:
            total += self.added[place]
            place -= place & -place
        return total


def _made(name: str, attribute: str, number: int, form: str = "%s") -> Op:
    return edit.create(name, (), (_NO_SHAPE,), {attribute: form % number})
