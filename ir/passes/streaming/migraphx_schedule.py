"""MIGraphX's `schedule` as steps: weights, partitions, streams, the order of issue, events, conflicts.

The steps' facts: `weight` and `total` (op → its own and accumulated weight), `partition`, `stream`, `key`
(op → what it was put in order by), `event` (op → the event that records it), `waits` (op → streams that it
waits for), `conflicts` (op → later ops that may run at the same time).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field

from ... import edit
from ...analysis.hazards import shown
from ...analysis.views import captured
from ...program import Block, Op, Program, symbol
from ...types import ShapeType
from ..step import PASS, PHASE, Recorder, Step
from .migraphx_conflicts import conflicts, tie
from .migraphx_events import flow, insert_events
from .migraphx_graph import STREAM_OPS, Graph, ScheduleModel, block_of, gpu_model, modules_to_run, weigh
from .migraphx_streams import Order, Streams, assign, order, partition

PASS_NAME = "migraphx-schedule"


@dataclass(slots=True)
class MigraphxSchedule:
    """The pass for a model of a device (a GPU with one stream, as MIGraphX has it unless told otherwise)."""

    model: ScheduleModel = field(default_factory=gpu_model)

    @property
    def name(self) -> str:
        """The pass as users type it."""
        return PASS_NAME

    def steps(self, program: Program) -> Iterator[Step]:
        """Schedule every module of a program that runs as one, the last module first.

        Raises InputError for instructions that use what stands behind them.
        """
        recorder = Recorder()
        begins = f"{self.name} begins, with {_count(self.model.streams)}"
        yield recorder.step("pass-begin", begins, depth=PASS)
        for module in modules_to_run(program):
            if block_of(module).ops:
                yield from self._module(module, recorder)
        yield recorder.step("pass-end", f"{self.name} ends", depth=PASS)

    def _module(self, module: Op, recorder: Recorder) -> Iterator[Step]:
        block = block_of(module)
        yield from _clear(block, recorder)
        graph = Graph(block)
        weights = weigh(graph, self.model)
        yield _phase(recorder, "weigh", f"the work behind each instruction of {symbol(module)} is summed up")
        for at, own in weights.own.items():
            op, total = graph.ops[at], weights.total[at]
            recorder.set("weight", op, own)
            recorder.set("total", op, total)
            why = f"{graph.name(at)} weighs {own}, and {total} with all that it needs"
            yield recorder.step("weigh", why, op=op, encodings=(own, total))
        streams = Streams()
        yield _phase(recorder, "partition", "what must run one after the other is put together")
        yield from partition(graph, weights, recorder, streams)
        yield _phase(recorder, "assign", "partitions are given streams")
        yield from assign(graph, weights, self.model, recorder, streams)
        yield _phase(recorder, "order", "instructions are put in the order of issue")
        wanted = order(graph, weights)
        if wanted.simple:
            why = "a simpler order is taken: MIGraphX's would take too many visits"
            yield recorder.step("simple-order", why, depth=PHASE)
        yield from _reorder(graph, wanted, recorder)
        if streams.used > 1:
            yield from self._streams(Graph(block), graph, streams, recorder)

    def _streams(self, graph: Graph, old: Graph, streams: Streams, recorder: Recorder) -> Iterator[Step]:
        """What several streams need, on the module in its new order."""
        stream = {graph.place[old.ops[at]]: where for at, where in streams.stream.items()}
        ways = flow(graph, stream)
        rows = conflicts(graph, stream, ways, self.model)
        yield _phase(recorder, "events", "streams are set, and wait for each other where they meet")
        yield from insert_events(graph, stream, ways, self.model, recorder)
        yield _phase(recorder, "conflicts", "instructions that may run at the same time are tied")
        yield from tie(graph, rows, recorder)


def _clear(block: Block, recorder: Recorder) -> Iterator[Step]:
    """Take away what MIGraphX does not have at this point: an earlier schedule, and what nothing needs."""
    alive: set[Op] = {block.ops[-1]}
    for op in reversed(block.ops):
        if op in alive or _stays(op):
            alive.add(op)
            alive.update(value.op for value in (*op.operands, *captured(op)) if value.op is not None)
    gone = [op for op in reversed(block.ops) if op not in alive]
    if not gone:
        return
    yield _phase(recorder, "clear", "an earlier schedule, and what nothing needs, is taken away")
    for op in gone:
        why = "it says only when others run" if op.name in STREAM_OPS else "nothing needs it"
        edit.erase(op)
        yield recorder.step("clear", f"{shown(op)} ({op.name}) is taken away: {why}", op=op)


def _stays(op: Op) -> bool:
    """Whether an instruction is kept though nothing uses it: a parameter, or one that makes no value."""
    if op.name in STREAM_OPS:
        return False
    types = [value.type for value in op.results]
    empty = all(isinstance(each, ShapeType) and (not each.lens or 0 in each.lens) for each in types)
    return op.name in ("@param", "") or op.name.startswith("check_context") or empty


def _count(streams: int) -> str:
    return "one stream" if streams == 1 else f"{streams} streams"


def _phase(recorder: Recorder, name: str, why: str) -> Step:
    recorder.phase = name
    return recorder.step("phase", why, depth=PHASE)


def _reorder(graph: Graph, order: Order, recorder: Recorder) -> Iterator[Step]:
    """Move as few instructions as will do, each directly behind the one that it is to follow."""
    wanted = order.positions
    stay = _longest_increasing(wanted)
    for at, key in order.keys.items():
        recorder.set("key", graph.ops[at], key)
    for rank, at in enumerate(wanted):
        if at in stay:
            continue
        op = graph.ops[at]
        if rank == 0:
            edit.move(op, before=graph.block.ops[0])
            behind = "to the front"
        else:
            _move_behind(graph.block, op, graph.ops[wanted[rank - 1]])
            behind = f"behind {graph.name(wanted[rank - 1])}"
        why = f"{graph.name(at)} is moved {behind}: {_reason(order, at)}"
        yield recorder.step("move", why, op=op, encodings=(order.keys.get(at),))


def _reason(order: Order, at: int) -> str:
    if at not in order.keys:
        return "the last instruction does not need it"
    if not order.keys[at]:
        return "it weighs nothing, and so stands as close to its use as can be"
    times = order.times.get(at, 1)
    again = f" after it was put to wait {times} times" if times > 1 else ""
    return f"what waited with a smaller key than its {order.keys[at] * times}{again} stands behind it"


def _move_behind(block: Block, op: Op, anchor: Op) -> None:
    behind = block.ops.index(anchor) + 1
    if behind < len(block.ops):
        edit.move(op, before=block.ops[behind])
    else:
        edit.move(op, block=block)


def _longest_increasing(numbers: list[int]) -> set[int]:
    """The members of a longest increasing subsequence of different numbers."""
    tails: list[int] = []
    ends: list[int] = []
    previous: dict[int, int] = {}
    for number in numbers:
        rank = bisect_left(tails, number)
        if rank == len(tails):
            tails.append(number)
            ends.append(number)
        tails[rank] = ends[rank] = number
        if rank:
            previous[number] = ends[rank - 1]
    found: set[int] = set()
    at = ends[-1] if ends else None
    while at is not None:
        found.add(at)
        at = previous.get(at)
    return found
