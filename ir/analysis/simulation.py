"""The discrete-event simulation behind a timeline: host, streams, events and engines.

The rules, which are those of CUDA and HIP as far as they matter here:

- The host issues the instructions in order. A launch costs it `launch_us`, an event `event_us`, everything
  else nothing. It runs ahead of the device without limit, except that a synchronisation, and a copy from
  pageable memory, hold it until they are done.
- A stream does its work in the order of issue. `wait_event` holds its stream until what was in front of the
  event's last issued `record_event` is done; before the event's first record it holds nothing. Events and
  the current stream go over from one run to the next.
- Kernels have the compute units to themselves, one at a time, in the order in which they become ready: a
  second stream of kernels hides launches and waits and adds no speed.
- A copy engine does one copy at a time, in the order in which copies become ready; the two directions have
  engines of their own. Several engines of one direction share its link: their latencies overlap, their
  bytes do not.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from ..program import Op
from .cost import copies_back, copy_bytes, copy_us, kernel_us, work_of
from .devices import Device
from .intervals import EPSILON, Cause, Interval, Kind
from .order import RECORD, SET, SYNC_ALL, SYNC_STREAM, WAIT
from .workload import modules_of

_KERNEL, _COPY, _RECORD, _WAIT, _SYNC, _SYNC_ALL, _SET = range(7)
"""What an item is; the first two take time on the device, the first four on the host."""


@dataclass(slots=True)
class Item:
    """One instruction that costs anything or orders anything."""

    code: int
    index: int
    op: Op
    host_us: float = 0.0
    """Microseconds that issuing it takes."""
    us: float = 0.0
    """Microseconds of a kernel or copy on the device."""
    bytes: int = 0
    event: str = ""
    stream: int = 0
    back: bool = False
    """Whether a copy goes to the host."""

    @property
    def is_kernel(self) -> bool:
        """Whether it takes the compute units."""
        return self.code == _KERNEL

    @property
    def is_copy(self) -> bool:
        """Whether it takes a copy engine."""
        return self.code == _COPY


def prepare(instructions: list[Op], device: Device, pinned: bool) -> list[Item]:
    """The instructions that take time or order something; the module table is looked up once."""
    modules = modules_of(instructions[0]) if instructions else {}
    items = []
    launch, mark = device.launch_us, device.event_us
    for index, op in enumerate(instructions):
        kind = work_of(op)
        if kind == "kernel":
            items.append(Item(_KERNEL, index, op, launch, kernel_us(op, device, modules)))
        elif kind == "copy":
            us = copy_us(op, device, pinned=pinned)
            items.append(Item(_COPY, index, op, launch, us, copy_bytes(op), back=copies_back(op)))
        elif op.name in RECORD or op.name in WAIT:
            code = _RECORD if op.name in RECORD else _WAIT
            items.append(Item(code, index, op, mark, event=op.attributes.get("event", "")))
        elif op.name in SYNC_STREAM or op.name in SYNC_ALL:
            items.append(Item(_SYNC if op.name in SYNC_STREAM else _SYNC_ALL, index, op))
        elif op.name in SET:
            stream = op.attributes.get("stream", "")
            number = int(stream) if stream.isdecimal() and len(stream) < 10 else 0
            items.append(Item(_SET, index, op, stream=number))
    return items


@dataclass(slots=True)
class Task:
    """One item in one run: a kernel, a copy, or the point of an event or synchronisation (no time)."""

    item: Item
    run: int
    stream: int
    ready: float
    number: int
    """In the order of issue: who is first of those that become ready at once."""
    cause: Cause = "host"
    source: Task | None = None
    """The kernel or copy at the other end of the critical edge."""
    event: str = ""
    missing: int = 0
    """Tasks that have to be done before it is ready."""
    followers: list[tuple[Task, str | None]] = field(default_factory=list)
    """Tasks that wait for it, with the event if it is one that they wait for."""
    start: float = 0.0
    end: float = -1.0
    """-1 until it has run."""
    lane: int = 0


class Simulation:
    """The state of host, streams, events and engines; times are final once a task is taken off the heap.

    Tasks come off the heap in the order in which they become ready. What becomes ready through a task is
    never ready earlier than it, so that nothing that comes later can ask for an engine earlier.
    """

    def __init__(self, items: list[Item], device: Device, pinned: bool) -> None:
        self.items = items
        self.device = device
        self.holds = not pinned
        self.latency = device.transfer(pinned).latency_us
        self.host = 0.0
        self.holder: Task | None = None
        self.host_intervals: list[tuple[Interval, Task | None]] = []
        self.stream = 0
        self.tails: dict[int, Task] = {}
        self.events: dict[str, Task] = {}
        self.tasks: list[Task] = []
        self.heap: list[tuple[float, int, Task]] = []
        self.compute = Engine()
        self.engines = [[Engine() for _ in range(device.copy_engines)] for _direction in range(2)]
        self.links = [0.0, 0.0]
        self.ends: list[float] = []

    def run(self, runs: int) -> None:
        """Issue everything and run it."""
        self.ends = [0.0] * runs
        for run in range(runs):
            for item in self.items:
                held = self.issue(item, run)
                if held is not None:
                    self.hold(held)
            self.ends[run] = max(self.ends[run], self.host)
        self.drain()

    # Host

    def issue(self, item: Item, run: int) -> Task | None:
        """Let the host issue an item; the task that then holds the host, if one does."""
        code = item.code
        if code == _SET:
            self.stream = item.stream
            return None
        if code == _SYNC_ALL:
            return self.meet(item, run)
        begin, self.host = self.host, self.host + item.host_us
        if item.host_us:
            self.note(item, run, "issue", begin)
        task = Task(item, run, self.stream, self.host, len(self.tasks), source=self.holder)
        self.follow(self.tails.get(self.stream), task, None)
        if code == _WAIT:
            self.follow(self.events.get(item.event), task, item.event)
        elif code == _RECORD:
            self.events[item.event] = task
        self.tails[self.stream] = task
        self.tasks.append(task)
        self.offer(task)
        return task if code == _SYNC or (code == _COPY and self.holds) else None

    def meet(self, item: Item, run: int) -> Task:
        """A point behind everything that was issued to any stream."""
        task = Task(item, run, self.stream, self.host, len(self.tasks), source=self.holder)
        for tail in self.tails.values():
            self.follow(tail, task, None)
        self.tasks.append(task)
        self.offer(task)
        return task

    def hold(self, task: Task) -> None:
        """Keep the host until a task is done."""
        self.drain(task)
        if task.end > self.host:
            begin, self.host = self.host, task.end
            self.holder = task if task.item.code <= _COPY else task.source
            self.note(task.item, task.run, "wait", begin)

    def note(self, item: Item, run: int, kind: Kind, begin: float) -> None:
        """Keep what the host has just done."""
        interval = Interval(
            item.op, item.index, run, kind, "host", self.stream, begin, self.host, item.bytes, "host"
        )
        self.host_intervals.append((interval, self.holder))

    # Device

    def follow(self, first: Task | None, then: Task, event: str | None) -> None:
        """Make `then` wait for `first`."""
        if first is None:
            return
        if first.end >= 0:
            _push(first, then, event)
        else:
            first.followers.append((then, event))
            then.missing += 1

    def offer(self, task: Task) -> None:
        """Put a task that misses nothing among those that are ready."""
        if task.missing == 0:
            heapq.heappush(self.heap, (task.ready, task.number, task))

    def drain(self, until: Task | None = None) -> None:
        """Run tasks as they become ready, all of them or until one is done."""
        while self.heap and (until is None or until.end < 0):
            task = heapq.heappop(self.heap)[2]
            self.place(task)
            self.ends[task.run] = max(self.ends[task.run], task.end)
            for then, event in task.followers:
                _push(task, then, event)
                then.missing -= 1
                self.offer(then)
            task.followers = []

    def place(self, task: Task) -> None:
        """Give a ready task its time on the engine that it needs."""
        item = task.item
        if item.code == _KERNEL:
            self.compute.take(task, "compute")
            task.end = self.compute.free = task.start + item.us
        elif item.code == _COPY:
            engines = self.engines[item.back]
            task.lane = min(range(len(engines)), key=lambda n: (engines[n].free, n))
            engine = engines[task.lane]
            engine.take(task, "copy engine")
            bytes_from = max(task.start + self.latency, self.links[item.back])
            task.end = engine.free = bytes_from + (item.us - self.latency)
            self.links[item.back] = task.end
        else:
            task.start = task.end = task.ready

    # Result

    def intervals(self) -> list[Interval]:
        """Every interval by its start, with the critical edges between them."""
        made = {id(task): _interval(task) for task in self.tasks if task.item.code <= _COPY}
        for task in self.tasks:
            interval = made.get(id(task))
            if interval is None:
                continue
            interval.waits_for = made.get(id(task.source)) if task.source is not None else None
            if interval.cause == "host" and interval.start_us <= self.device.launch_us + EPSILON:
                interval.cause = "start"
        for interval, holder in self.host_intervals:
            interval.waits_for = made.get(id(holder)) if holder is not None else None
        host = [interval for interval, _ in self.host_intervals]
        return sorted([*host, *made.values()], key=lambda i: (i.start_us, i.end_us))


def _interval(task: Task) -> Interval:
    item = task.item
    kind: Kind = "kernel" if item.code == _KERNEL else "copy"
    return Interval(
        item.op, item.index, task.run, kind, _lane(task), task.stream, task.start, task.end, item.bytes,
        task.cause, event=task.event,
    )  # fmt: skip


class Engine:
    """What does one task at a time: the compute units, a copy engine."""

    __slots__ = ("free", "last")

    def __init__(self) -> None:
        self.free = 0.0
        self.last: Task | None = None

    def take(self, task: Task, cause: Cause) -> None:
        """Start a task as soon as both it and the engine are ready."""
        task.start = max(task.ready, self.free)
        if self.free > task.ready + EPSILON:
            task.cause, task.source, task.event = cause, self.last, ""
        self.last = task


def _push(first: Task, then: Task, event: str | None) -> None:
    """Tell a task when one that it waits for is done, and remember the edge that holds it longest."""
    if first.end < then.ready or (first.end == then.ready and then.cause != "host"):
        return
    then.ready = first.end
    if first.item.code <= _COPY:
        source: Task | None = first
        cause: Cause = "stream"
        named = ""
    else:
        source, cause, named = first.source, first.cause, first.event
    if event is not None and cause != "host":
        cause, named = "event", event
    then.cause, then.source, then.event = cause, source, named


def _lane(task: Task) -> str:
    if task.item.code == _KERNEL:
        return f"stream {task.stream}"
    name = "copy back" if task.item.back else "copy"
    return f"{name} {task.lane + 1}" if task.lane else name
