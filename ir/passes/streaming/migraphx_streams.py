"""Which stream MIGraphX's scheduler gives each instruction, and in which order it puts them.

Partitions: from the last instruction backwards, the heaviest input goes on with the partition of its user,
other inputs of more than `THRESHOLD` open partitions of their own, the rest stay. The partition of the last
instruction is the critical one. Streams: the critical partition is given stream 0; the others go, user by
user (those found last first) and heaviest first, to the stream with the least work among the rest.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from ..step import Recorder, Step
from .migraphx_graph import Graph, ScheduleModel, Weights

THRESHOLD: Final = 2
"""An input that weighs no more than this is not worth a partition."""
MOST_VISITS: Final = 200
"""Visits an instruction, on average, that putting a module in order may take."""


@dataclass(slots=True)
class Partition:
    """Instructions for one stream; `opener` uses its first instruction, and is -1 for the critical one."""

    number: int
    opener: int
    weight: int = 0
    members: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Streams:
    """What was decided for one module, by position in the graph."""

    partitions: list[Partition] = field(default_factory=list)
    stream: dict[int, int] = field(default_factory=dict)
    """Only of instructions that weigh something."""
    visited: dict[int, int] = field(default_factory=dict)
    """Instruction → when it was come to."""
    used: int = 1


def partition(graph: Graph, weights: Weights, recorder: Recorder, streams: Streams) -> Iterator[Step]:
    """Cut what the last instruction needs into partitions, a step for each instruction."""
    critical = Partition(0, -1)
    streams.partitions.append(critical)
    work: list[tuple[int, Partition | None, int, str]] = []
    work.append((len(graph.ops) - 1, critical, -1, "it is the last instruction"))
    while work:
        at, part, user, why = work.pop()
        if part is None:
            part = Partition(len(streams.partitions), user)
            streams.partitions.append(part)
        if at in streams.visited:
            continue
        streams.visited[at] = len(streams.visited)
        part.members.append(at)
        part.weight += weights.own[at]
        recorder.set("partition", graph.ops[at], part.number)
        sentence = f"{graph.name(at)} is in partition {part.number}: {why}"
        yield recorder.step("partition", sentence, op=graph.ops[at], encodings=(part.number,))
        work.extend(reversed(list(_inputs(graph, weights, at, part))))


def _inputs(
    graph: Graph, weights: Weights, at: int, part: Partition
) -> Iterator[tuple[int, Partition | None, int, str]]:
    """The inputs of an instruction, heaviest first, with the partition that each is for (None: a new one)."""
    total = weights.total
    inputs = graph.inputs[at]
    if len(inputs) > 1:
        inputs = sorted(inputs, key=lambda i: (total[i], len(graph.inputs[i]), i), reverse=True)
    for rank, each in enumerate(inputs):
        user = graph.name(at)
        if rank == 0:
            yield each, part, at, f"it is the heaviest input ({total[each]}) of {user}"
        elif total[each] > THRESHOLD:
            heavier = graph.name(inputs[0])
            why = f"{user} has a heavier input, {heavier}, and {total[each]} is more than {THRESHOLD}"
            yield each, None, at, why
        else:
            yield each, part, at, f"{total[each]} is too little for a stream beside that of {user}"


def assign(
    graph: Graph, weights: Weights, model: ScheduleModel, recorder: Recorder, streams: Streams
) -> Iterator[Step]:
    """Give every partition a stream, a step for each; none is given where one stream is all there is."""
    loads = [0] * (model.streams - 1)
    chosen: list[tuple[Partition, int, str]] = [(streams.partitions[0], 0, "it is the critical one")]
    for part in _in_order(streams):
        if not loads:
            chosen.append((part, 0, "there is no other stream"))
            continue
        least = min(range(len(loads)), key=loads.__getitem__)
        others = ", ".join(f"{n + 1}: {load}" for n, load in enumerate(loads))
        chosen.append((part, least + 1, f"that has the least work (stream {others})"))
        loads[least] += part.weight
    streams.used = 1 + sum(load > 0 for load in loads)
    if streams.used < 2:
        yield recorder.step("single-stream", "one stream is enough for all: none is set", depth=1)
        return
    for part, stream, why in chosen:
        for at in part.members:
            if weights.own[at] > 0:
                streams.stream[at] = stream
                recorder.set("stream", graph.ops[at], stream)
        head = graph.ops[part.members[0]] if part.members else None
        sentence = f"partition {part.number} (weight {part.weight}) goes to stream {stream}: {why}"
        yield recorder.step("assign", sentence, op=head, encodings=(part.number, stream))


def _in_order(streams: Streams) -> list[Partition]:
    """All but the critical one, by their openers, those found last first; heaviest first for one opener."""
    by_opener: dict[int, list[Partition]] = {}
    for part in streams.partitions[1:]:
        by_opener.setdefault(part.opener, []).append(part)
    ordered: list[Partition] = []
    for opener in sorted(by_opener, key=streams.visited.__getitem__, reverse=True):
        group = by_opener[opener]
        ordered += sorted(group, key=lambda part: (part.weight, len(part.members)), reverse=True)
    return ordered


@dataclass(slots=True)
class Order:
    """The order to issue in, by position, and what it came from."""

    positions: list[int]
    keys: dict[int, int]
    """The key of an instruction the first time that it waits."""
    times: dict[int, int]
    """How often an instruction was moved to the front."""
    simple: bool = False
    """Whether a simpler rule was used, because MIGraphX's would have taken too many visits."""


def order(graph: Graph, weights: Weights) -> Order:
    """The order to issue in.

    Built from the end: of what waits, what has the smallest key is moved to the front of all, and its inputs
    wait. A key is the instruction's own weight, times how far in weight it is from the end, times how often
    it was put to wait; it waits once at a time, and is moved again whenever another user of it has been. So
    what weighs nothing stands close in front of its use, and copies a few kernels in front of theirs. What
    the last instruction does not need stands in front of all, or of the last one where it needs others.
    """
    own = weights.own
    keys = _keys(graph, weights)
    moved: dict[int, int] = {}
    times: dict[int, int] = {}
    waiting: set[tuple[int, int]] = set()
    queue: list[tuple[int, int]] = []
    most = MOST_VISITS * len(own)
    visits = 0

    def wait(at: int) -> None:
        count = times.get(at, 0)
        if (count * keys[at], at) not in waiting:
            times[at] = count + 1
            waiting.add(((count + 1) * keys[at], at))
            heapq.heappush(queue, ((count + 1) * keys[at], at))

    wait(len(graph.ops) - 1)
    while queue:
        entry = heapq.heappop(queue)
        waiting.discard(entry)
        visits += 1
        if visits > most:
            return Order(_simple_order(graph, weights, keys), keys, dict.fromkeys(own, 1), simple=True)
        moved[entry[1]] = visits
        for each in graph.inputs[entry[1]]:
            wait(each)
    placed = sorted(moved, key=moved.__getitem__, reverse=True)
    return Order(_with_the_rest(graph, placed), keys, times)


def _keys(graph: Graph, weights: Weights) -> dict[int, int]:
    most = weights.total[len(graph.ops) - 1]
    grain = most // (len(graph.ops) + 1) + 1
    return {at: own * (1 + (most - weights.total[at]) // grain) for at, own in weights.own.items()}


def _simple_order(graph: Graph, weights: Weights, keys: dict[int, int]) -> list[int]:
    """The same, but that an instruction waits only once all of its users have been moved."""
    own = weights.own
    left = {at: sum(user in own for user in graph.users[at]) for at in own}
    ready = [(keys[len(graph.ops) - 1], len(graph.ops) - 1)]
    placed: list[int] = []
    while ready:
        at = heapq.heappop(ready)[1]
        placed.append(at)
        for each in dict.fromkeys(graph.inputs[at]):
            left[each] -= 1
            if not left[each]:
                heapq.heappush(ready, (keys[each], each))
    return _with_the_rest(graph, placed[::-1])


def _with_the_rest(graph: Graph, placed: list[int]) -> list[int]:
    """All positions: those that were placed, in their order, and what the last instruction does not need."""
    needed = set(placed)
    behind: set[int] = set()
    for at in range(len(graph.ops)):
        if at not in needed and any(each in needed or each in behind for each in graph.inputs[at]):
            behind.add(at)
    front = [at for at in range(len(graph.ops)) if at not in needed and at not in behind]
    return [*front, *placed[:-1], *sorted(behind), placed[-1]]
