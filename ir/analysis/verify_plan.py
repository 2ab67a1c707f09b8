"""The verifier of streaming plans: it knows nothing of how a plan was made, and believes nothing about it.

A plan is right if it fits (resident literals within the budget, everything within the memory limit, buffers
inside their arena and aligned), if its streams and events surely give every read the bytes that it must get
(in one run, or in runs issued back to back without the host waiting), and if it computes what the original
program computes: the same kernels with the same operands, up to where literals live and buffers are.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from ..program import Op, Program, Value, symbol
from ..types import ShapeType, TupleType, Type, byte_size, element_bits, element_count
from .hazards import shown
from .migraphx_summary import main_body
from .order import RECORD, SET, WAIT, Order, order_of
from .plan_places import BATCH_COPY, RESIDENT, VIEW_BYTES, Access, Places, is_allocation, number_of
from .plan_races import races
from .plan_symbols import batch_bytes, changed_modules, changed_results
from .pointwise import is_pointwise
from .views import is_copy_to_gpu, is_kernel
from .violation import Violation, ViolationKind

_RUNS: Final = 2
"""Runs that steady state takes to show: what orders or races two runs is in one of them or between them."""


def verify_plan(
    plan: Program,
    original: Program,
    *,
    budget: int | None = None,
    memory_limit: int | None = None,
    steady: bool = True,
) -> list[Violation]:
    """Everything that is wrong with a plan of `original`; an empty list is its proof.

    Args:
        plan: the planned program, its instructions in the order in which the host issues them.
        original: the program that it was made from.
        budget: bytes of literals that may be resident; None for any.
        memory_limit: bytes of GPU memory for resident literals, arenas and other allocations, parameters and
            code objects in all; None for any.
        steady: whether the program is run again and again without the host waiting between the runs.
    """
    instructions = main_body(plan)
    places = Places(instructions)
    before = Places(main_body(original))
    runs = _RUNS if steady else 1
    order = order_of(instructions, runs)
    return [
        *_amounts(instructions, budget, memory_limit),
        *_buffers(places),
        *_definitions(instructions),
        *_events(instructions, order, steady),
        *_uncopied(places),
        *_in_place(places, before, plan),
        *races(places, order, runs),
        *changed_results(places, before),
        *changed_modules(plan, original),
    ]


def plan_memory(instructions: list[Op]) -> dict[str, int]:
    """Bytes of GPU memory that a main module needs: `resident`, `arena`, `parameters`, `code`, `other`.

    `other` is what copies and allocations take beside the arenas that buffers are cut from.
    """
    arenas = {op.operands[0] for op in instructions if op.name == "load" and op.operands}
    resident = {op.attributes.get("id", "") or shown(op): op for op in instructions if op.name == RESIDENT}
    total = {"resident": 0, "arena": 0, "parameters": 0, "code": 0, "other": 0}
    for op in resident.values():
        total["resident"] += _bytes(op)
    for op in instructions:
        if is_allocation(op):
            total["arena" if op.results and op.results[0] in arenas else "other"] += _bytes(op)
        elif op.name == "@param":
            total["parameters"] += _bytes(op)
        elif is_copy_to_gpu(op) and len(op.operands) == 1:
            total["other"] += _bytes(op)
        elif is_kernel(op):
            total["code"] += number_of(op, "code_object") or 0
    return total


def _bytes(op: Op) -> int:
    return sum(byte_size(value.type) or 0 for value in op.results)


def _amounts(instructions: list[Op], budget: int | None, limit: int | None) -> Iterator[Violation]:
    memory = plan_memory(instructions)
    if budget is not None and memory["resident"] > budget:
        ops = tuple(op for op in instructions if op.name == RESIDENT)
        what = f"{memory['resident']:,} bytes of literals are resident; the budget is {budget:,}"
        yield Violation("budget", what, ops)
    needed = sum(memory.values())
    if limit is not None and needed > limit:
        parts = ", ".join(f"{name} {size:,}" for name, size in memory.items() if size)
        yield Violation("memory", f"{needed:,} bytes are needed ({parts}); the limit is {limit:,}")


# -- buffers -----------------------------------------------------------------------------------------


def _buffers(places: Places) -> Iterator[Violation]:
    alignment = max((_alignment(op) for op in places.instructions), default=1)
    for op in places.instructions:
        if op.name in ("load", VIEW_BYTES) and op.operands and op.results:
            yield from _cut(op, places, alignment)
        elif places.is_literal_copy(op) and len(op.operands) > 1:
            copied = batch_bytes(op) if op.name == BATCH_COPY else byte_size(op.operands[0].type) or 0
            place = places.get(op.operands[-1])
            if place.end - place.start < copied:
                what = f"{shown(op)} copies {copied:,} bytes into {place.end - place.start:,}"
                yield Violation("size", what, (op,))


def _cut(op: Op, places: Places, alignment: int) -> Iterator[Violation]:
    """What is wrong with one buffer, or one weight of a batch."""
    base, needed = places.get(op.operands[0]), byte_size(op.results[0].type)
    if needed is None:
        what = f"{shown(op)} has the shape {op.results[0].type.text}, whose size is not known"
        yield Violation("size", what, (op,))
        return
    offset = number_of(op, "offset")
    end = number_of(op, "end") if op.name == "load" else (offset or 0) + needed
    if offset is None or end is None or offset > end or base.start + end > base.end:
        span = f"{op.attributes.get('offset')}:{op.attributes.get('end', end)}"
        what = f"{shown(op)} is bytes {span} of {op.operands[0].name}, which has {base.end - base.start:,}"
        yield Violation("outside", what, (op,))
    elif end - offset < needed:
        what = f"{shown(op)} has {end - offset:,} bytes and holds a value of {needed:,}"
        yield Violation("size", what, (op,))
    elif needed and (base.start + offset) % alignment:
        what = f"{shown(op)} begins at byte {base.start + offset:,}, which is no multiple of {alignment}"
        yield Violation("alignment", what, (op,))


def _alignment(op: Op) -> int:
    """What a buffer's offset must be a multiple of: an element, or two or four that are read at once."""
    if op.name not in ("load", VIEW_BYTES) or not op.results:
        return 1
    type = op.results[0].type
    size = _element_bytes(type)
    count = (byte_size(type) or 0) // size
    wide = 1 if count <= 4 else 4 if count % 4 == 0 else 2 if count % 2 == 0 else 1
    return size * wide


def _element_bytes(type: Type) -> int:
    """Bytes of the largest element in a type, at least 1."""
    largest, open_ = 1, [type]
    while open_:
        each = open_.pop()
        if isinstance(each, TupleType):
            open_.extend(each.members)
        elif isinstance(each, ShapeType) and element_count(each) is not None:
            largest = max(largest, (element_bits(each) or 8) // 8)
    return largest


# -- order -------------------------------------------------------------------------------------------


def _definitions(instructions: list[Op]) -> Iterator[Violation]:
    defined: set[Value] = set()
    names: set[str] = set()
    for op in instructions:
        for value in op.operands:
            if value not in defined:
                what = "before it is made" if value.op is not None else "and nothing makes it"
                yield Violation("order", f"{shown(op)} ({op.name}) uses {value.name} {what}", (op,))
        for value in op.results:
            if value.name in names:
                yield Violation("order", f"{value.name} is the name of two values", (op,))
            names.add(value.name)
        defined.update(op.results)


def _unnamed(instructions: list[Op]) -> Iterator[Violation]:
    """Instructions about a stream or an event that they do not name by a number."""
    for op in instructions:
        kind: ViolationKind | None = (
            "stream" if op.name in SET else "event" if op.name in RECORD | WAIT else None
        )
        if kind is not None and (number_of(op, kind) is None or len(op.attributes[kind]) > 9):
            yield Violation(kind, f"{shown(op)} ({op.name}) names no {kind} by a number", (op,))


def _events(instructions: list[Op], order: Order, steady: bool) -> Iterator[Violation]:
    yield from _unnamed(instructions)
    for at in order.unrecorded:
        op = instructions[at]
        what = f"{shown(op)} waits for event {op.attributes.get('event', '?')}, which nothing records"
        yield Violation("event", what, (op,))
    if not steady:
        return
    count = len(instructions)
    for at, op in enumerate(instructions):
        matters = is_kernel(op) or is_copy_to_gpu(op) or "event" in op.attributes
        if matters and order.streams[at] != order.streams[count + at]:
            what = (
                f"{shown(op)} runs on stream {order.streams[at]} in the first run and on stream "
                f"{order.streams[count + at]} in the next, because no stream is set in front of it and the "
                "run ends on another"
            )
            yield Violation("stream", what, (op,))
            return


# -- what an instruction is given ----------------------------------------------------------------------


def _uncopied(places: Places) -> Iterator[Violation]:
    for op in places.instructions:
        if not is_kernel(op):
            continue
        for value in op.operands:
            if places.get(value).holds == "host":
                what = f"{shown(op)} reads the literal {value.name}, which is on the host and was not copied"
                yield Violation("uncopied", what, (op,))


def _in_place(places: Places, before: Places, plan: Program) -> Iterator[Violation]:
    """Instructions that write over what they read, or over their room to work in, and may not."""
    modules = {symbol(op): op for op in plan.ops if op.name == "module"}
    already: set[tuple[str, int]] | None = None
    for op, accesses in _by_op(places):
        for other, output in _overwritten(accesses):
            if _elementwise(op, other, output) and is_pointwise(op, modules):
                continue
            if already is None:
                already = _in_place_already(before)
            if (shown(op), other.operand) not in already:
                what = f"{shown(op)} writes over its operand {other.operand} while it uses it"
                yield Violation("in-place", what, (op,))
                break  # one is enough, and pairs are not few where all is in one place


def _elementwise(op: Op, other: Access, output: Access) -> bool:
    """Whether each element of an operand has the very place of the same element of the result."""
    same_place = (other.place.start, other.place.end) == (output.place.start, output.place.end)
    if other.writes or other.operand < 0 or not same_place:
        return False
    return op.operands[other.operand].type.text == op.results[0].type.text if op.results else False


def _in_place_already(original: Places) -> set[tuple[str, int]]:
    """Instructions and operands that the original already writes over; they must know what they do."""
    return {(shown(op), other.operand) for op, each in _by_op(original) for other, _ in _overwritten(each)}


def _by_op(places: Places) -> Iterator[tuple[Op, list[Access]]]:
    """Instructions that touch something, each with its accesses."""
    for at, group in groupby(places.accesses(), key=lambda access: access.at):
        yield places.instructions[at], list(group)


def _overwritten(accesses: list[Access]) -> Iterator[tuple[Access, Access]]:
    """Pairs of an instruction's accesses to common bytes, the second of them a write."""
    if len(accesses) < 2:
        return
    reads: list[Access] = []
    writes: list[Access] = []
    for access in sorted(accesses, key=lambda each: (id(each.place.memory), each.place.start)):
        place = access.place
        writes = [w for w in writes if w.place.memory is place.memory and w.place.end > place.start]
        yield from ((access, write) for write in writes)
        if not access.writes:
            reads.append(access)
            continue
        reads = [r for r in reads if r.place.memory is place.memory and r.place.end > place.start]
        yield from ((read, access) for read in reads)
        writes.append(access)


__all__ = ["Violation", "plan_memory", "verify_plan"]
