"""MIGraphX's `memory_coloring` and `eliminate_allocation` as steps.

Colouring takes allocations (`hip::allocate`, `allocate`) and cuts them out of one parameter, `scratch`, so
that those that are live together share no bytes. A listing that was coloured already is first taken back to
its allocations; then the last step says how the places found compare with those of the listing.

The steps' facts: `live` (op → positions of its first and last use), `neighbours` (op → ops live together with
it), `place` (op → its bytes `(start, end)`), `arena` (module → bytes).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ... import edit
from ...analysis.hazards import shown
from ...analysis.memory import arena_use
from ...errors import InputError
from ...program import Block, Op, Program, Value, symbol
from ...types import ShapeType
from ..step import PASS, PHASE, Recorder, Step
from .migraphx_graph import block_of, modules_to_run
from .migraphx_interference import (
    ALLOCATIONS,
    Allocation,
    alignment_of,
    allocations,
    most_live_bytes,
    size_of,
)
from .migraphx_place import Placed, Placement

COLORING: str = "migraphx-memory-coloring"
ELIMINATE: str = "migraphx-eliminate-allocation"
_SHOWN = 4


@dataclass(slots=True)
class MigraphxMemoryColoring:
    """The pass `memory_coloring` on every module of a program, the last first."""

    @property
    def name(self) -> str:
        """The pass as users type it."""
        return COLORING

    def steps(self, program: Program) -> Iterator[Step]:
        """Place every allocation; the program is edited.

        Raises InputError for a program that has neither allocations nor buffers cut from an arena.
        """
        recorder = Recorder()
        yield recorder.step("pass-begin", f"{self.name} begins", depth=PASS)
        modules = modules_to_run(program)
        wanted = {"load", *ALLOCATIONS}
        if not any(op.name in wanted for module in modules for op in block_of(module).ops):
            expected = "hip::allocate, or load[offset=…,end=…] of an arena"
            raise InputError(f"the program has nothing to place: expected {expected}")
        for module in modules:
            yield from _color(module, recorder)
        yield recorder.step("pass-end", f"{self.name} ends", depth=PASS)


def _color(module: Op, recorder: Recorder) -> Iterator[Step]:
    block, name = block_of(module), symbol(module)
    lifted = _Lifted()
    if not any(op.name in ALLOCATIONS for op in block.ops):
        yield from lifted.lift(block, recorder)
    if not any(op.name in ALLOCATIONS for op in block.ops):
        return
    yield _phase(recorder, "liveness", f"allocations of {name} that are live together are neighbours")
    found = allocations(block.ops)
    for each in found:
        yield _live(each, found, recorder)
    placement = Placement(found)
    yield _phase(recorder, "place", f"allocations are placed in units of {placement.alignment} bytes")
    for placed in placement.place_all():
        yield _placed(placed, placement, recorder)
    yield _phase(recorder, "improve", f"{placement.bytes:,} bytes so far; each is placed anew where it gains")
    for placed in placement.improve():
        yield _placed(placed, placement, recorder)
    yield _check(module, placement, recorder)
    yield _phase(recorder, "rewrite", "allocations become loads from one parameter")
    yield from _rewrite(block, placement, lifted, recorder)
    if lifted.before:
        yield lifted.compare(placement, recorder)


def _phase(recorder: Recorder, name: str, why: str) -> Step:
    recorder.phase = name
    return recorder.step("phase", why, depth=PHASE)


def _live(each: Allocation, found: list[Allocation], recorder: Recorder) -> Step:
    neighbours = tuple(found[n].op for n in each.neighbours)
    recorder.set("live", each.op, (each.first, each.last))
    recorder.set("neighbours", each.op, neighbours)
    why = (
        f"{shown(each.op)} ({each.bytes:,} bytes) is live from instruction {each.first} to {each.last}, with "
        f"{_names(neighbours)}; it would like a multiple of {alignment_of(each.op)}"
    )
    return recorder.step("live", why, op=each.op, value=each.op.results[0])


def _placed(placed: Placed, placement: Placement, recorder: Recorder) -> Step:
    each = placement.found[placed.number]
    unit = placement.alignment
    start = placed.segment[0] * unit
    end = start + each.bytes
    recorder.set("place", each.op, (start, end))
    because = {
        "empty": "none of its neighbours has a place",
        "front": "its neighbours leave more than its size free there",
    }.get(placed.reason, "")
    if placed.beside is not None:
        places = placement.segments
        mine = [n for n in each.neighbours if places.get(n) == placed.beside]
        where = "the first gap that is large enough is" if placed.reason == "gap" else "no gap is; the end is"
        because = f"{where} behind {_names([placement.found[n].op for n in mine])}"
    count = len(each.neighbours)
    again = f" (round {placed.round})" if placed.round else ""
    what = f"{shown(each.op)} ({each.bytes:,} bytes, {count} neighbours)"
    why = f"{what} goes to {start:,}:{end:,}{again}: {because}"
    kind = "move" if placed.round else "place"
    return recorder.step(kind, why, op=each.op, value=each.op.results[0], encodings=(start, end))


def _names(ops: Sequence[Op]) -> str:
    if not ops:
        return "no other"
    more = f" and {len(ops) - _SHOWN} more" if len(ops) > _SHOWN else ""
    return ", ".join(shown(op) for op in ops[:_SHOWN]) + more


def _check(module: Op, placement: Placement, recorder: Recorder) -> Step:
    """The arena's size beside the least possible, once no two neighbours are found to share bytes."""
    clashes = placement.clashes()
    if clashes:
        one, other = (shown(placement.found[n].op) for n in clashes[0])
        raise AssertionError(f"{one} and {other} are live together and were given common bytes")
    recorder.set("arena", module, placement.bytes)
    least = most_live_bytes(placement.found)
    pairs = sum(len(each.neighbours) for each in placement.found) // 2
    why = (
        f"{symbol(module)} needs {placement.bytes:,} bytes; {least:,} are live at once, and none of "
        f"{pairs:,} pairs of neighbours shares any"
    )
    return recorder.step("arena", why, op=module, encodings=(placement.bytes, least))


def _rewrite(block: Block, placement: Placement, lifted: _Lifted, recorder: Recorder) -> Iterator[Step]:
    places = {
        each.op: placement.segments[number][0] * placement.alignment
        for number, each in enumerate(placement.found)
    }
    memory = lifted.arena or _parameter(block, "scratch", placement.bytes)
    if lifted.arena is not None:
        _resize(lifted.arena, placement.bytes)
    for op in [op for op in block.ops if op.name in ALLOCATIONS]:
        start = places.get(op, 0)
        yield _load(op, memory.results[0], start, start + size_of(op), recorder)


def _parameter(block: Block, name: str, size: int) -> Op:
    """A parameter of bytes in front of a module's instructions."""
    module = block.parent.parent if block.parent is not None else None
    prefix = "" if module is None or symbol(module) == "main" else f"{symbol(module)}:"
    text = f"int8_type, {{{size}}}, {{1}}"
    attributes = {"parameter": f"{prefix}{name}"}
    made = edit.create(
        "@param", (), (ShapeType(text, "i8", (size,), (1,)),), attributes, names=(f"{prefix}{name}",)
    )
    edit.insert_at(block, 0, made)
    return made


def _resize(arena: Op, size: int) -> None:
    text = f"int8_type, {{{size}}}, {{1}}"
    if "shape" in arena.attributes:
        edit.set_attribute(arena, "shape", text)
    edit.set_type(arena.results[0], ShapeType(text, "i8", (size,), (1,)))


def _load(op: Op, memory: Value, start: int, end: int, recorder: Recorder) -> Step:
    """Put a `load` of the same name in place of an allocation."""
    value = op.results[0]
    attributes = {"offset": str(start), "end": str(end)}
    made = edit.create("load", (memory,), (value.type,), attributes, before=op, names=(value.name,))
    edit.replace_all_uses(value, made.results[0])
    edit.erase(op)
    why = f"{value.name} becomes load[offset={start},end={end}]"
    return recorder.step("load", why, op=made, value=made.results[0])


class _Lifted:
    """A module that was coloured already, taken back to its allocations."""

    def __init__(self) -> None:
        self.arena: Op | None = None
        self.before: dict[str, tuple[int, int]] = {}
        """Buffer → the bytes that the listing gives it."""
        self.size = 0
        self.live = 0

    def lift(self, block: Block, recorder: Recorder) -> Iterator[Step]:
        """Make an allocation of every buffer that is cut directly out of the arena."""
        loads = [op for op in block.ops if op.name == "load" and op.operands and op.results]
        if not loads:
            return
        self.arena = loads[0].operands[0].op
        use = arena_use(block.ops)
        self.size, self.live = use.bytes, use.peak_live
        yield _phase(recorder, "lift", "buffers that were cut from an arena are taken back to allocations")
        for op in loads:
            if op.operands[0].op is not self.arena:
                continue
            value = op.results[0]
            start, end = (_number(op.attributes.get(key, "")) for key in ("offset", "end"))
            self.before[value.name] = (start, end)
            attributes = {"shape": value.type.text}
            made = edit.create("hip::allocate", (), (value.type,), attributes, before=op, names=(value.name,))
            edit.replace_all_uses(value, made.results[0])
            edit.erase(op)
            why = f"{value.name} was bytes {start:,}:{end:,} of {shown(self.arena) if self.arena else '?'}"
            yield recorder.step("lift", why, op=made, value=made.results[0], encodings=(start, end))

    def compare(self, placement: Placement, recorder: Recorder) -> Step:
        """How the places compare with those that the listing had."""
        same = sum(
            self.before.get(each.op.results[0].name, (-1, -1))[0]
            == placement.segments[number][0] * placement.alignment
            for number, each in enumerate(placement.found)
        )
        why = (
            f"{same} of {len(self.before)} buffers are where the listing has them; its arena has "
            f"{self.size:,} bytes and this one {placement.bytes:,}; at most {self.live:,} are between their "
            "first write and last read at once"
        )
        return recorder.step("compare", why, op=self.arena, encodings=(same, self.size, placement.bytes))


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 20 else 0


@dataclass(slots=True)
class MigraphxEliminateAllocation:
    """The pass `eliminate_allocation`: buffers side by side in one parameter, `memory`."""

    alignment: int = 32
    """Bytes that each size is rounded up to a multiple of."""

    @property
    def name(self) -> str:
        """The pass as users type it."""
        return ELIMINATE

    def steps(self, program: Program) -> Iterator[Step]:
        """Give every allocation bytes of its own; a module whose allocations have none stays as it is."""
        recorder = Recorder()
        yield recorder.step("pass-begin", f"{self.name} begins", depth=PASS)
        modules = modules_to_run(program)
        if not any(op.name in ALLOCATIONS for module in modules for op in block_of(module).ops):
            yield recorder.step("nothing", "the program has no allocations: it stays as it is", depth=PHASE)
        for module in modules:
            block = block_of(module)
            wanted = [op for op in block.ops if op.name in ALLOCATIONS and op.results]
            offsets, total = [], 0
            for op in wanted:
                offsets.append(total)
                total += -(-size_of(op) // self.alignment) * self.alignment
            if not total:
                continue
            yield _phase(recorder, "place", f"{len(wanted)} buffers of {symbol(module)} need {total:,} bytes")
            recorder.set("arena", module, total)
            memory = _parameter(block, "memory", total)
            for op, offset in zip(wanted, offsets, strict=True):
                yield _load(op, memory.results[0], offset, offset + size_of(op), recorder)
        yield recorder.step("pass-end", f"{self.name} ends", depth=PASS)
