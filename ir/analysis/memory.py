"""What an arena holds at every point of a MIGraphX program."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ..program import Op, Value
from ..types import ShapeType, byte_size
from .views import Roots, buffer_of, captured, is_copy_to_gpu, is_view, outer_load, written_operand

_ARENAS: Final = ("hip::hip_allocate_memory", "hip::hip_load_memory")


@dataclass(slots=True)
class Buffer:
    """A stretch of an arena cut out by one `load`; positions are indices into the instructions.

    It is live from the instruction that first writes it to the last that reads it through any alias, both
    included; `first` is None for a buffer that nothing writes or reads.
    """

    load: Op
    start: int
    end: int
    first: int | None = None
    last: int | None = None
    literal: Op | None = None
    """The literal that is copied into it: the buffer is a streamed weight."""
    writers: list[Op] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        """Bytes of the stretch."""
        return self.end - self.start


@dataclass(slots=True)
class ArenaUse:
    """Bytes of live buffers at every instruction, with and without streamed literals."""

    bytes: int
    """Bytes of the arena, 0 for a program without one."""
    buffers: list[Buffer]
    live: list[int]
    live_without_streamed: list[int]

    @property
    def peak_live(self) -> int:
        """The most bytes of buffers live at once."""
        return max(self.live, default=0)

    @property
    def peak_live_without_streamed(self) -> int:
        """The same without buffers that literals are copied into: what everything else needs."""
        return max(self.live_without_streamed, default=0)


def arena_use(instructions: list[Op]) -> ArenaUse:
    """The arena of a module: its buffers, when each is live, and the sums of live bytes.

    What is cut out of a buffer (a piece of a concatenation) is part of it and no buffer of its own.
    """
    roots: Roots = {}
    cuts = {id(op): outer_load(op, roots)[0] for op in instructions if op.name == "load" and op.results}
    buffers = {id(op): _buffer(op) for op in instructions if cuts.get(id(op)) is op}
    for at, op in enumerate(instructions):
        if op.name == "load":
            continue
        written = written_operand(op)
        # Looking at bytes in another way reads none of them; what else a view is given it waits for.
        first = 1 if is_view(op) else 0
        for index, value in [*enumerate(op.operands)][first:] + [(-1, value) for value in captured(op)]:
            owner = buffer_of(value, roots).op
            buffer = buffers.get(id(cuts.get(id(owner)))) if owner is not None else None
            if buffer is None:
                continue
            if index == written:
                buffer.writers.append(op)
                buffer.literal = _literal(op) if is_copy_to_gpu(op) else buffer.literal
            buffer.first = at if buffer.first is None else buffer.first
            buffer.last = at
    found = list(buffers.values())
    live, without = _sums(found, len(instructions))
    return ArenaUse(arena_bytes(instructions), found, live, without)


def arena_bytes(instructions: list[Op]) -> int:
    """Bytes of the arenas that a module allocates (or is given as a parameter named scratch)."""
    total = 0
    for op in instructions:
        arena = op.name in _ARENAS and "@literal" not in op.attributes.get("id", "")
        if op.results and (arena or (op.name == "@param" and _is_scratch(op.results[0]))):
            total += byte_size(op.results[0].type) or 0
    return total


def _is_scratch(value: Value) -> bool:
    type = value.type
    name = value.name.rpartition(":")[2]
    return name == "scratch" and isinstance(type, ShapeType) and type.element == "i8"


def _buffer(op: Op) -> Buffer:
    start, end = (_number(op.attributes.get(key, "")) for key in ("offset", "end"))
    return Buffer(op, start, max(end, start))


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 20 else 0


def _literal(copy: Op) -> Op | None:
    source = buffer_of(copy.operands[0]).op
    return source if source is not None and source.name == "@literal" else None


def _sums(buffers: list[Buffer], count: int) -> tuple[list[int], list[int]]:
    """Live bytes at each of `count` positions, in all and without streamed literals, by differences."""
    steps = [0] * (count + 1)
    kept = [0] * (count + 1)
    for buffer in buffers:
        if buffer.first is None or buffer.last is None:
            continue
        steps[buffer.first] += buffer.bytes
        steps[buffer.last + 1] -= buffer.bytes
        if buffer.literal is None:
            kept[buffer.first] += buffer.bytes
            kept[buffer.last + 1] -= buffer.bytes
    return _running(steps), _running(kept)


def _running(steps: list[int]) -> list[int]:
    total = 0
    sums = []
    for step in steps[:-1]:
        total += step
        sums.append(total)
    return sums
