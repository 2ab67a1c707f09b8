"""Weight streaming as a pass: each decision of a plan is a step that changes the program.

Phases: `detach` takes the program's own copies and streams away; `reuse` has pointwise kernels write over
operands that die there; `residency` says which literals stay;
`copies` puts a copy in front of the first use of each of the others (this is what a compiler that does not
look ahead makes); `schedule` moves the copies to a stream of their own and issues them earlier; `coloring`
gives every buffer its place in the arena; `guards` makes copies wait for what they would overwrite.

Facts: `residency` (literal → resident or streamed), `copy` (copy's name → literals), `issue` (copy's name →
slot), `offset` (load's name → first byte, end), `event` (number → what records it).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from ... import edit
from ...errors import InputError
from ...journal import assign
from ...program import Op, Program, Value
from ...types import ShapeType, Type, byte_size
from ..step import DETAIL, PASS, PHASE, Recorder, Step
from .batches import Batch
from .decisions import Link, Plan, Wishes
from .detach import BATCH, PIECE, batch_offsets, detach, main_block
from .fitting import colored
from .guards import Guard, guards_of
from .planner import make_plan
from .reuse import reuse
from .work import Work, work_of

PHASES: Final = ("detach", "reuse", "residency", "copies", "schedule", "coloring", "guards")
_COPY: Final = "hip::copy_to_gpu"
_NUMBERED: Final = re.compile(r"(?:.*:)?@(\d{1,12})$")
_EMPTY: Final = ShapeType("float_type, {}, {}", "f32", (), ())


@dataclass(slots=True)
class StreamingPass:
    """Plans a program and carries the plan out.

    After the pass has run, `work` and `plan` hold what was decided.
    """

    cost: Callable[[Op], float]
    """Microseconds of an op on the device."""
    link: Link
    wishes: Wishes
    naive: bool = False
    """Leave copies where they are used, on the stream of the kernels."""
    through: str = "guards"
    """The last phase to run."""
    in_place: bool = True
    """Let pointwise kernels write over operands that die there."""
    work: Work | None = None
    plan: Plan | None = None

    @property
    def name(self) -> str:
        """As users type it."""
        return "streaming"

    def steps(self, program: Program) -> Iterator[Step]:
        """Run on `program`; raises InputError where it cannot be planned."""
        recorder = Recorder()
        recorder.phase = "detach"
        yield recorder.step("pass", "plan the streaming of weights", depth=PASS)
        yield from detach(program, recorder)
        if self.in_place:
            yield from reuse(program, main_block(program), recorder)
        self.work = work = work_of(main_block(program), self.cost)
        self.plan = plan = (
            naive_plan(work, self.link, self.wishes)
            if self.naive
            else make_plan(work, self.link, self.wishes)
        )
        writer = _Writer(program, work, plan, recorder)
        phases: list[tuple[str, Callable[[], Iterator[Step]]]] = [
            ("residency", writer.residency),
            ("copies", writer.copies),
            ("schedule", writer.schedule),
            ("coloring", writer.coloring),
            ("guards", writer.guards),
        ]
        for phase, run in phases:
            if PHASES.index(phase) > PHASES.index(self.through):
                break
            if self.naive and phase in ("schedule", "guards"):
                continue
            recorder.phase = phase
            yield from run()
        yield recorder.step("end", "the plan is carried out", depth=PASS)


def naive_plan(work: Work, link: Link, wishes: Wishes) -> Plan:
    """The resident set of the best plan, every other literal copied by itself where it is first used."""
    best = make_plan(work, link, replace(wishes, memory_limit=None))
    streamed = sorted(best.streamed, key=lambda weight: weight.first)
    batches = [Batch((weight,)) for weight in streamed]
    transfers = [batch.transfer(link.time_us) for batch in batches]
    issue = [batch.first for batch in batches]
    colors = colored(work, transfers, issue)
    needed = best.resident_bytes + colors.bytes + work.parameters + work.code
    if wishes.memory_limit is not None and needed > wishes.memory_limit:
        raise InputError(
            f"a memory limit of {wishes.memory_limit:,} bytes is too little: with every literal copied "
            "where it is "
            f"first used the program needs {needed:,}; give at least that, or a smaller budget"
        )
    copy_us = sum(transfer.us for transfer in transfers)
    return Plan(
        wishes, best.resident, streamed, batches, issue, best.buffers, colors.offsets, colors.bytes,
        colors.bound, work.compute_us + copy_us, work.compute_us, copy_us,
    )  # fmt: skip


class _Writer:
    """Carries a plan out, phase by phase."""

    def __init__(self, program: Program, work: Work, plan: Plan, recorder: Recorder) -> None:
        self.program = program
        self.work = work
        self.plan = plan
        self.recorder = recorder
        self.block = work.block
        self.number = 1 + max(
            (int(m[1]) for op in work.block.ops for v in op.results if (m := _NUMBERED.match(v.name))),
            default=-1,
        )
        self.copies_made: list[Op] = []
        self.loads: list[Op] = []
        self.events = 0
        self.slot_of = {id(op): slot for slot, op in enumerate(work.slots)}

    # residency

    def residency(self) -> Iterator[Step]:
        plan, budget = self.plan, self.plan.wishes.budget
        limit = "as much as memory allows" if budget is None else f"{budget:,} bytes"
        total = self.work.literal_bytes
        why = f"{plan.resident_bytes:,} of {total:,} bytes of literals stay resident (budget {limit})"
        yield self.recorder.step("phase", why, depth=PHASE)
        left = None if budget is None else budget
        for weight in sorted(plan.resident, key=lambda w: w.first):
            left = None if left is None else left - weight.bytes
            yield self._stay(weight.value, weight.bytes, left)
        for weight in self.plan.streamed:
            self.recorder.set("residency", weight.name, "streamed")
            why = f"{weight.name} ({weight.bytes:,} bytes, first read in slot {weight.first}) is streamed"
            yield self.recorder.step("stream", why, op=weight.value.op, value=weight.value)
        for weight in self.work.unused:
            why = f"nothing reads {weight.name} ({weight.bytes:,} bytes): it is not copied"
            yield self.recorder.step("unused", why, op=weight.value.op, value=weight.value)

    def _stay(self, value: Value, size: int, left: int | None) -> Step:
        op = _owner(value)
        found = _NUMBERED.match(value.name)
        assign(op, "name", "hip::hip_copy_literal")
        edit.set_attribute(op, "literal", None)
        edit.set_attribute(op, "id", f"main:@literal:{found[1] if found else value.name}")
        self.recorder.set("residency", value.name, "resident")
        rest = "" if left is None else f"; {left:,} bytes of the budget are left"
        return self.recorder.step(
            "keep", f"{value.name} ({size:,} bytes) stays on the GPU{rest}", op=op, value=value
        )

    # copies

    def copies(self) -> Iterator[Step]:
        count = sum(len(batch.weights) for batch in self.plan.batches)
        transfers = len(self.plan.batches)
        why = f"{count} literals are copied by {transfers} transfers, each in front of its first use"
        yield self.recorder.step("phase", why, depth=PHASE)
        for batch in self.plan.batches:
            yield from self._copy(batch)

    def _copy(self, batch: Batch) -> Iterator[Step]:
        anchor = self.work.slots[batch.first]
        first = batch.weights[0]
        for weight in batch.weights:
            self._before(_owner(weight.value), anchor)
        if len(batch.weights) == 1:
            load = self._load(first.value.type, anchor)
            copy = self._make(_COPY, [first.value, load.results[0]], first.value.type, anchor)
            self._redirect(first.value, copy.results[0], copy)
        else:
            shape = _bytes_shape(batch.bytes)
            load = self._load(shape, anchor)
            copy = self._make(BATCH, [*(w.value for w in batch.weights), load.results[0]], shape, anchor)
        self.copies_made.append(copy)
        self.loads.append(load)
        names = " ".join(weight.name for weight in batch.weights)
        self.recorder.set("copy", copy.results[0].name, names)
        self.recorder.set("issue", copy.results[0].name, batch.first)
        what = f"{names} ({batch.bytes:,} bytes)"
        yield self.recorder.step(
            "copy", f"{what} is copied in front of slot {batch.first}", op=copy, value=first.value
        )
        if len(batch.weights) > 1:
            yield from self._pieces(batch, copy, anchor)

    def _pieces(self, batch: Batch, copy: Op, anchor: Op) -> Iterator[Step]:
        offsets = batch_offsets([weight.bytes for weight in batch.weights])
        for weight, offset in zip(batch.weights, offsets, strict=True):
            piece = self._make(PIECE, [copy.results[0]], weight.value.type, anchor, {"offset": str(offset)})
            self._redirect(weight.value, piece.results[0], copy)
            why = f"readers of {weight.name} look at the batch from byte {offset:,} on"
            yield self.recorder.step("piece", why, op=piece, value=weight.value, depth=DETAIL)

    def _redirect(self, literal: Value, copied: Value, copy: Op) -> None:
        """Have readers of the literal read what was copied, and views of it stand behind the copy."""
        edit.replace_all_uses(literal, copied, lambda use: use[0] is not copy)
        self._views_behind(_owner(copied))

    def _views_behind(self, op: Op) -> None:
        """Move the views of an op's result that stand in front of it right behind it."""
        work = [op]
        while work:
            maker = work.pop()
            behind = maker
            for view in dict.fromkeys(user for result in maker.results for user, _ in result.uses):
                if view.block is self.block and self.block.ops.index(view) < self.block.ops.index(behind):
                    self._after(view, behind)
                    behind = view
                    work.append(view)

    # schedule

    def schedule(self) -> Iterator[Step]:
        why = f"{len(self.copies_made)} transfers go to stream 1; kernels stay on stream 0"
        yield self.recorder.step("phase", why, depth=PHASE)
        place = 0
        waited = -1
        for index, copy in enumerate(self.copies_made):
            place = max(place, self.plan.issue[index], 0)
            yield self._issue(index, copy, place)
        yield from self._switch_streams()
        for slot in range(len(self.work.slots)):
            last = max((i for i, batch in enumerate(self.plan.batches) if batch.first == slot), default=-1)
            if last > waited:
                waited = last
                yield self._await_copy(last, slot)

    def _issue(self, index: int, copy: Op, place: int) -> Step:
        batch, anchor, issue = self.plan.batches[index], self.work.slots[place], self.plan.issue[index]
        for weight in batch.weights:
            self._before(_owner(weight.value), anchor)
        for op in (self.loads[index], copy):
            edit.move(op, before=anchor)
        self._views_behind(copy)
        name = copy.results[0].name
        self.recorder.set("issue", name, issue)
        ahead = batch.first - issue
        run = " of the run before" if issue < 0 else ""
        shown = issue + len(self.work.slots) if issue < 0 else issue
        why = f"{name} may begin with slot {shown}{run}, {ahead} ahead of its first use in slot {batch.first}"
        return self.recorder.step("issue", why, op=copy)

    def _switch_streams(self) -> Iterator[Step]:
        """Copies that stand together share one pair of stream changes."""
        members = {id(op) for op in (*self.copies_made, *self.loads)}
        for copy in self.copies_made:
            at = self.block.ops.index(copy)
            before = self._neighbour(at, -1, members)
            if not (before is not None and id(before) in members):
                start = copy
                self._make("gpu::set_stream", [], _EMPTY, start, {"stream": "1"})
            after = self._neighbour(self.block.ops.index(copy), 1, members)
            if not (after is not None and id(after) in members):
                self._make_after("gpu::set_stream", copy, {"stream": "0"})
                yield self.recorder.step(
                    "stream", f"up to {copy.results[0].name} on stream 1", op=copy, depth=DETAIL
                )

    def _neighbour(self, at: int, direction: int, members: set[int]) -> Op | None:
        """The next copy of a run of copies; loads, literals and views between do not part them."""
        at += direction
        while 0 <= at < len(self.block.ops):
            op = self.block.ops[at]
            if id(op) in self.slot_of or op.name == "gpu::set_stream" or op.name == "@return":
                return None
            if id(op) in members and op.name != "load":
                return op
            at += direction
        return None

    def _await_copy(self, index: int, slot: int) -> Step:
        copy, kernel = self.copies_made[index], self.work.slots[slot]
        event = self._event(copy)
        self._make_after("gpu::record_event", copy, {"event": event})
        wait = self._make("gpu::wait_event", [], _EMPTY, kernel, {"event": event})
        why = f"slot {slot} waits until {copy.results[0].name} is there (event {event})"
        return self.recorder.step("await-copy", why, op=wait)

    # coloring

    def coloring(self) -> Iterator[Step]:
        plan = self.plan
        share = f"{100 * (plan.arena / plan.live_bound - 1):.1f} %" if plan.live_bound else "0 %"
        why = f"an arena of {plan.arena:,} bytes; {plan.live_bound:,} are live at most ({share} more)"
        arena = self._arena()
        yield self.recorder.step("phase", why, op=arena, depth=PHASE)
        for buffer, offset in zip(plan.buffers, plan.offsets, strict=False):
            yield self._put(buffer.load, arena, offset, buffer.bytes, buffer.first, buffer.last)
        count = len(plan.buffers)
        for load, batch, offset, issue in zip(
            self.loads, plan.batches, plan.offsets[count:], plan.issue, strict=True
        ):
            yield self._put(load, arena, offset, batch.bytes, issue, batch.last)

    def _arena(self) -> Op:
        plan = self.plan
        shape = _bytes_shape(plan.arena)
        arena = self.work.arena
        if arena is None:
            attributes = {"shape": shape.text, "id": "main:scratch"}
            arena = self._make("hip::hip_allocate_memory", [], shape, self.block.ops[0], attributes)
        else:
            edit.set_type(arena.results[0], shape)
            if "shape" in arena.attributes:
                edit.set_attribute(arena, "shape", shape.text)
        return arena

    def _put(self, load: Op, arena: Op, offset: int, size: int, first: int, last: int) -> Step:
        if load.name != "load":
            assign(load, "name", "load")
            edit.set_attribute(load, "shape", None)
        if not load.operands:
            edit.append_operand(load, arena.results[0])
        edit.set_attribute(load, "offset", str(offset))
        edit.set_attribute(load, "end", str(offset + size))
        self._before(arena, load)
        name = load.results[0].name
        self.recorder.set("offset", name, (offset, offset + size))
        why = f"{name} ({size:,} bytes, slots {first} to {last}) lies at {offset:,} to {offset + size:,}"
        return self.recorder.step("place", why, op=load, value=load.results[0])

    # guards

    def guards(self) -> Iterator[Step]:
        slots = len(self.work.slots)
        guards = guards_of(self.plan, slots)
        why = (
            f"{len(guards)} of {len(self.copies_made)} transfers wait until what they overwrite has been used"
        )
        yield self.recorder.step("phase", why, depth=PHASE)
        events: dict[int, str] = {}
        for guard in guards:
            yield self._guard(guard, guard.slot % slots if slots else 0, events)

    def _guard(self, guard: Guard, slot: int, events: dict[int, str]) -> Step:
        copy, kernel = self.copies_made[guard.batch], self.work.slots[slot]
        if slot not in events:
            events[slot] = self._event(kernel)
            self._make_after("gpu::record_event", kernel, {"event": events[slot]})
        wait = self._make("gpu::wait_event", [], _EMPTY, copy, {"event": events[slot]})
        run = " of the run before" if guard.slot < 0 else ""
        why = f"{copy.results[0].name} overwrites what slot {slot}{run} uses last (event {events[slot]})"
        return self.recorder.step("guard", why, op=wait)

    # ops

    def _event(self, source: Op) -> str:
        event = str(self.events)
        self.events += 1
        self.recorder.set("event", event, source.results[0].name if source.results else source.name)
        return event

    def _load(self, type: Type, anchor: Op) -> Op:
        arena = [self.work.arena.results[0]] if self.work.arena is not None else []
        return self._make("load", arena, type, anchor, {"offset": "0", "end": str(byte_size(type) or 0)})

    def _make(
        self,
        name: str,
        operands: list[Value],
        type: Type,
        anchor: Op,
        attributes: dict[str, str] | None = None,
    ) -> Op:
        op = edit.create(name, operands, [type], attributes, before=anchor, names=[f"@{self.number}"])
        self.number += 1
        return op

    def _make_after(self, name: str, anchor: Op, attributes: dict[str, str]) -> Op:
        op = edit.create(name, [], [_EMPTY], attributes, names=[f"@{self.number}"])
        self.number += 1
        edit.insert_after(anchor, op)
        return op

    def _before(self, op: Op, anchor: Op) -> None:
        """Have `op` stand in front of `anchor`."""
        if self.block.ops.index(op) > self.block.ops.index(anchor):
            edit.move(op, before=anchor)

    def _after(self, op: Op, anchor: Op) -> None:
        edit.move(op, before=anchor)
        edit.move(anchor, before=op)


def _owner(value: Value) -> Op:
    op = value.op
    if op is None:
        raise InputError(f"{value.name} is defined by no instruction; give a complete program")
    return op


def _bytes_shape(count: int) -> ShapeType:
    return ShapeType(f"int8_type, {{{count}}}, {{1}}", "i8", (count,), (1,))
