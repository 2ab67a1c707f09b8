"""Rules about copies, streams, events and the arena of MIGraphX programs (PS1xx)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from ..analysis.hazards import Hazard, hazards, outside, overlaps, shown
from ..analysis.memory import arena_bytes, arena_use
from ..analysis.migraphx_summary import Copy, copies_of, main_body, summarize
from ..analysis.order import RECORD, SET, SYNC_ALL, SYNC_STREAM, WAIT, Order, order_of
from ..analysis.verify_plan import plan_memory
from ..analysis.views import buffer_of, is_copy_to_gpu, is_kernel
from ..program import Op
from ..types import ShapeType, TupleType, Type, byte_size, element_bits
from .rule import Found, Rule, Subject

_MIGRAPHX: Final = ("migraphx",)
_FEW: Final = 4


def _body(subject: Subject) -> list[Op]:
    return main_body(subject.program)


def _order(subject: Subject) -> Order:
    return order_of(subject.once(_body))


def _hazards(subject: Subject) -> list[Hazard]:
    return list(hazards(subject.once(_body), subject.once(_order)))


def _copies(subject: Subject) -> list[tuple[Op, Copy]]:
    body = subject.once(_body)
    ops = [op for op in body if is_copy_to_gpu(op) and op.results]
    return list(zip(ops, copies_of(body), strict=True))


def _not_ahead(subject: Subject) -> Iterator[Found]:
    body = subject.once(_body)
    hidden = _under_the_run_before(body)
    for op, copy in subject.once(_copies):
        if copy.distance == 0 and id(op) not in hidden:
            yield Found(
                f"{copy.name} ({copy.bytes:,} bytes) is copied with no kernel between it and {copy.use}, "
                "which reads it: nothing can run meanwhile",
                op,
            )


def _under_the_run_before(body: list[Op]) -> set[int]:
    """Copies that a steady stream hides under kernels of the run before, by identity.

    A program says that it is one of a steady stream by waiting for an event that it records later.
    """
    recorded: set[str] = set()
    later = {op.attributes.get("event", "") for op in body if op.name in RECORD}
    steady = False
    for op in body:
        event = op.attributes.get("event", "")
        if op.name in RECORD:
            recorded.add(event)
        elif op.name in WAIT and event in later and event not in recorded:
            steady = True
    if not steady:
        return set()
    order = order_of(body, 2)
    kernels = [at for at, op in enumerate(body) if is_kernel(op)]
    again = len(body)
    return {
        id(op)
        for at, op in enumerate(body)
        if is_copy_to_gpu(op) and any(not order.before(kernel, at + again) for kernel in kernels)
    }


def _same_stream(subject: Subject) -> Iterator[Found]:
    body = subject.once(_body)
    streams = subject.once(_order).streams
    copying = {streams[at] for at, op in enumerate(body) if is_copy_to_gpu(op)}
    computing = Counter(streams[at] for at, op in enumerate(body) if is_kernel(op))
    for stream in sorted(copying & set(computing)):
        ops = [op for at, op in enumerate(body) if is_copy_to_gpu(op) and streams[at] == stream]
        size = sum(byte_size(op.results[0].type) or 0 for op in ops if op.results)
        yield Found(
            f"{_counted(len(ops), 'copy', 'copies')} of {size:,} bytes on stream {stream}, on which "
            f"{_counted(computing[stream], 'kernel runs', 'kernels run')}: each waits for what is in "
            "front of "
            "it, so that no copy runs under a kernel",
            ops[0],
        )


def _counted(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"


def _ordered_copies(subject: Subject) -> Iterator[Found]:
    body = subject.once(_body)
    order = subject.once(_order)
    kernels = [at for at, op in enumerate(body) if is_kernel(op)]
    computing = {order.streams[at] for at in kernels}
    by_op = {id(op): copy for op, copy in subject.once(_copies)}
    for at, op in enumerate(body):
        copy = by_op.get(id(op))
        if copy is None or not copy.distance or order.streams[at] in computing:
            continue
        if not _runs_beside(at, kernels, order):
            yield Found(
                f"{copy.name} ({copy.bytes:,} bytes) is on stream {order.streams[at]} by itself, but events "
                "put it behind every kernel in front of it and in front of every later one: nothing "
                "runs under it",
                op,
            )


def _runs_beside(at: int, kernels: list[int], order: Order) -> bool:
    return any(not order.before(at, kernel) and not order.before(kernel, at) for kernel in kernels)


def _unused(subject: Subject) -> Iterator[Found]:
    for op in subject.once(_body):
        if op.name == "@literal" and op.results and not op.results[0].uses:
            size = byte_size(op.results[0].type) or 0
            yield Found(f"literal {shown(op)} ({size:,} bytes) is used by nobody", op)
    for op, copy in subject.once(_copies):
        if copy.distance is None:
            yield Found(f"{copy.name} ({copy.bytes:,} bytes) is copied and then used by nobody", op)


def _copied_again(subject: Subject) -> Iterator[Found]:
    seen: dict[int, list[Op]] = {}
    for op, _ in subject.once(_copies):
        for value in op.operands[:-1] or op.operands:
            source = buffer_of(value)
            if source.op is not None and source.op.name == "@literal":
                seen.setdefault(id(source), []).append(op)
    for ops in seen.values():
        if len(ops) > 1:
            literal = buffer_of(ops[0].operands[0]).name
            names = ", ".join(shown(op) for op in ops)
            size = byte_size(ops[0].results[0].type) or 0
            yield Found(
                f"literal {literal} ({size:,} bytes) is copied {len(ops)} times ({names}), once for each use",
                ops[1],
            )


def _synchronous(subject: Subject) -> Iterator[Found]:
    body = subject.once(_body)
    last = max((at for at, op in enumerate(body) if is_kernel(op) or is_copy_to_gpu(op)), default=-1)
    for at, op in enumerate(body[: last + 1]):
        if op.name in SYNC_ALL or op.name in SYNC_STREAM:
            left = sum(is_kernel(each) for each in body[at:])
            yield Found(f"{op.name} holds the host with {left} kernels still to be issued", op)


def _small(subject: Subject) -> Iterator[Found]:
    body = [op for op in subject.once(_body) if is_kernel(op) or is_copy_to_gpu(op)]
    for copying, group in groupby(body, key=is_copy_to_gpu):
        ops = list(group)
        small = [op for op in ops if op.results and 0 < _size(op) < subject.limits.small_copy]
        if copying and len(small) >= _FEW and all(op.name != "hip::copy_batch_to_gpu" for op in small):
            total = sum(_size(op) for op in small)
            yield Found(
                f"{len(small)} copies of {total:,} bytes in all follow one another from {shown(small[0])} to "
                f"{shown(small[-1])}, each below {subject.limits.small_copy:,} bytes: one transfer would do",
                small[0],
            )


def _size(op: Op) -> int:
    return byte_size(op.results[0].type) or 0


def _race(kind: str, what: str) -> Rule:
    def check(subject: Subject) -> Iterator[Found]:
        for each in subject.once(_hazards):
            if each.kind == kind:
                yield Found(
                    f"{shown(each.second)} (stream {each.streams[1]}) {what} bytes {each.start} to "
                    f"{each.end} of "
                    f"{each.memory} that {shown(each.first)} (stream {each.streams[0]}) "
                    f"{'reads' if kind == 'WAR' else 'writes'}, with no event between them",
                    each.second,
                )

    number = {"RAW": "PS110", "WAR": "PS111", "WAW": "PS112"}[kind]
    return Rule(
        number,
        f"{kind} hazard between streams",
        "error",
        "streaming",
        "The two may run in either order, or at once: the result is then wrong, on some runs and not on "
        "others.",
        "Record an event behind the first and have the second's stream wait for it.",
        _MIGRAPHX,
        check,
    )


def _unrecorded(subject: Subject) -> Iterator[Found]:
    body = subject.once(_body)
    recorded = {op.attributes.get("event", "") for op in body if op.name in RECORD}
    for op in body:
        event = op.attributes.get("event", "")
        if op.name in WAIT and event not in recorded:
            yield Found(f"{shown(op)} waits for event {event}, which nothing records", op)


def _beyond(subject: Subject) -> Iterator[Found]:
    for each in outside(subject.once(_body)):
        yield Found(
            f"{shown(each.load)} is bytes {each.start} to {each.end} of an arena of {each.arena} bytes",
            each.load,
        )


def _misaligned(subject: Subject) -> Iterator[Found]:
    for op in subject.once(_body):
        offset = op.attributes.get("offset", "") if op.name == "load" else ""
        width = _element_bytes(op.results[0].type) if op.results and offset.isdecimal() else 1
        if offset.isdecimal() and int(offset[:20]) % width:
            yield Found(
                f"{shown(op)} begins at byte {offset}, which is no multiple of its elements' {width} bytes",
                op,
            )


def _element_bytes(type: Type) -> int:
    members = type.members if isinstance(type, TupleType) else (type,)
    sizes = [(element_bits(each) or 8) // 8 for each in members if isinstance(each, ShapeType)]
    return max([1, *sizes])


def _live_together(subject: Subject) -> Iterator[Found]:
    for each in overlaps(subject.once(_body)):
        yield Found(
            f"{shown(each.second.load)} shares bytes {each.start} to {each.end} with "
            f"{shown(each.first.load)} "
            "while both are live: one destroys what the other holds",
            each.second.load,
        )


def _over_memory(subject: Subject) -> Iterator[Found]:
    limit = subject.limits.memory
    if limit is None:
        return
    needs = plan_memory(subject.once(_body))
    total = sum(needs.values())
    if total > limit:
        parts = ", ".join(f"{name} {size:,}" for name, size in needs.items() if size)
        yield Found(f"the program needs {total:,} bytes of GPU memory ({parts}), the limit is {limit:,}")


def _budget_without_effect(subject: Subject) -> Iterator[Found]:
    budgets = subject.trace.facts.driver.get("streaming_budget", [])
    found = summarize(subject.program)
    if not budgets or not found.literals:
        return
    budget = budgets[-1]
    if budget >= found.literal_bytes and found.copies:
        yield Found(
            f"the streaming budget of {budget:,} bytes holds all literals ({found.literal_bytes:,} bytes), "
            f"and still {len(found.copies)} are copied in every run"
        )
    elif 0 < budget < found.literal_bytes and found.resident_bytes == 0 and found.copies:
        yield Found(
            f"the streaming budget of {budget:,} bytes keeps nothing resident: all {found.literals} literals "
            "are copied in every run"
        )


def _serialised(subject: Subject) -> Iterator[Found]:
    body = subject.once(_body)
    order = subject.once(_order)
    work = [at for at, op in enumerate(body) if is_kernel(op) or is_copy_to_gpu(op)]
    streams = {order.streams[at] for at in work}
    if len(streams) < 2:
        return
    for place, at in enumerate(work):
        for later in work[place + 1 :]:
            if order.streams[at] != order.streams[later] and not order.before(at, later):
                return
    first = next(op for op in body if op.name in SET)
    yield Found(
        f"{len(streams)} streams are used, but events put their {len(work)} kernels and copies in one order: "
        "nothing runs beside anything else",
        first,
    )


def _loose_arena(subject: Subject) -> Iterator[Found]:
    body = subject.once(_body)
    size = arena_bytes(body)
    peak = arena_use(body).peak_live
    if peak and size > peak * (1 + subject.limits.arena_slack):
        yield Found(
            f"the arena has {size:,} bytes, {100 * (size / peak - 1):.0f} % more than the {peak:,} that "
            "are live "
            "at once",
            next((op for op in body if op.name.startswith("hip::hip_allocate")), None),
        )


RULES: Final[tuple[Rule, ...]] = (
    Rule("PS101", "Copy issued right in front of its use", "warning", "streaming",
         "The kernels stand still while the literal is copied; its whole copy time is added to the "
         "inference.",
         "Issue the copy earlier, on a stream of its own: `passlens plan FILE` says how early.",
         _MIGRAPHX, _not_ahead),
    Rule("PS102", "Copies on the stream of the kernels", "warning", "streaming",
         "Work on one stream runs in order: copies and kernels take turns, more streams elsewhere do "
         "not help.",
         "Put the copies on a second stream, with an event for each kernel that reads one.",
         _MIGRAPHX, _same_stream),
    Rule("PS103", "Copy on its own stream that events put in order", "warning", "streaming",
         "The second stream is there, but nothing runs under this copy.",
         "Let the copy wait only for the last use of the bytes that it overwrites.",
         _MIGRAPHX, _ordered_copies),
    Rule("PS104", "Literal or copy that nobody uses", "warning", "streaming",
         "Memory and copy time for nothing.",
         "Drop it: dead code elimination was not run, or an input was cut off.",
         _MIGRAPHX, _unused),
    Rule("PS105", "Literal copied again for each use", "warning", "streaming",
         "The same bytes cross the bus several times in one inference.",
         "Copy it once and keep it until its last use, or keep it resident if the budget allows.",
         _MIGRAPHX, _copied_again),
    Rule("PS106", "Synchronisation in the middle of the program", "warning", "streaming",
         "The host waits and issues nothing meanwhile, so that the GPU runs dry afterwards.",
         "Order streams by events; synchronise once, at the end.", _MIGRAPHX, _synchronous),
    Rule("PS107", "Small copies that one transfer could make", "note", "streaming",
         "A copy of a few kilobytes takes as long as one of some hundred: its latency.",
         "Lay the literals side by side and copy them together.", _MIGRAPHX, _small),
    _race("RAW", "reads"),
    _race("WAR", "overwrites"),
    _race("WAW", "writes again"),
    Rule("PS113", "Wait for an event that nothing records", "error", "streaming",
         "The wait holds nothing: what was to be ordered is not.",
         "Record the event behind what is waited for.",
         _MIGRAPHX, _unrecorded),
    Rule("PS114", "Buffer outside its arena", "error", "streaming",
         "A kernel reads or writes memory of somebody else.", "Make the arena larger or the offset smaller.",
         _MIGRAPHX, _beyond),
    Rule("PS115", "Buffer that is not aligned", "error", "streaming",
         "Kernels read elements of several bytes at once; a misaligned address faults or is slow.",
         "Round offsets up to the size of the elements (MIGraphX: to four of them).", _MIGRAPHX, _misaligned),
    Rule("PS116", "Live buffers that share bytes", "error", "streaming",
         "What one kernel wrote is destroyed before another has read it.",
         "Colour the arena again: the liveness of one of the two was taken to be shorter than it is.",
         _MIGRAPHX, _live_together),
    Rule("PS117", "More memory than the limit", "error", "streaming",
         "The program cannot be loaded, or takes memory that others need.",
         "Stream more literals: `passlens plan FILE --memory-limit BYTES`.", _MIGRAPHX, _over_memory),
    Rule("PS118", "Streaming budget without effect", "warning", "streaming",
         "Literals that were to stay resident are copied in every run.",
         "Check that the budget reached the compiler, in bytes.", _MIGRAPHX, _budget_without_effect),
    Rule("PS119", "Streams that events put in one order", "warning", "streaming",
         "Several streams cost events and switches, and gain nothing.",
         "Drop the events that no data needs, or use one stream.", _MIGRAPHX, _serialised),
    Rule("PS120", "Arena much larger than what is live", "note", "streaming",
         "Memory that nothing ever uses at the same time.",
         "Colour the arena again; fragmentation wastes it.",
         _MIGRAPHX, _loose_arena),
)  # fmt: skip
