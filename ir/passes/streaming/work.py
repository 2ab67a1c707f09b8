"""What a program makes the GPU do, as far as planning its streaming is concerned.

A *slot* is a place in the order of the compute stream: one op that does something on the device (a kernel, a
library call, a copy of something else than a literal). Slots keep the order of the program. Between slots lie
views and loads, which take no time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from ...analysis.views import Roots, buffer_of, captured, is_kernel, is_view, outer_load
from ...program import Block, Op, Value
from ...types import TupleType, Type, byte_size, element_bits

_IDLE: Final = frozenset(
    {
        "@param", "@literal", "@return", "load", "hip::hip_allocate_memory", "hip::allocate", "allocate",
        "hip::hip_copy_literal", "hip::hip_load_memory", "hip::load_literal", "undefined", "",
        "gpu::set_stream", "gpu::record_event", "gpu::wait_event", "hip::sync_device", "gpu::sync_device",
        "check_context", "check_context::migraphx::gpu::context",
    }
)  # fmt: skip
_ARENAS: Final = ("hip::hip_allocate_memory", "hip::hip_load_memory")


@dataclass(slots=True)
class Weight:
    """A literal that kernels read; `uses` are the slots that do, ascending."""

    value: Value
    bytes: int
    uses: list[int] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The literal's name, `@12`."""
        return self.value.name

    @property
    def first(self) -> int:
        """The slot that reads it first."""
        return self.uses[0]

    @property
    def last(self) -> int:
        """The slot that reads it last."""
        return self.uses[-1]


@dataclass(slots=True)
class Buffer:
    """A stretch of the arena that holds what kernels compute: live from slot `first` to slot `last`."""

    load: Op
    bytes: int
    first: int = -1
    last: int = -1

    @property
    def used(self) -> bool:
        """Whether any slot touches it."""
        return self.first >= 0


@dataclass(slots=True)
class Work:
    """A main module, read for planning. Sizes in bytes, times in microseconds."""

    block: Block
    slots: list[Op]
    us: list[float]
    """How long each slot takes."""
    weights: list[Weight]
    """By first use, then by name, so that the order in which literals stand in the program does not count."""
    unused: list[Weight]
    """Literals that nothing reads."""
    buffers: list[Buffer]
    arena: Op | None
    """The op that allocates the arena."""
    parameters: int
    """Bytes of inputs and outputs."""
    code: int
    """Bytes of code objects, as far as the program gives them."""
    alignment: int

    @property
    def compute_us(self) -> float:
        """The sum of all slots."""
        return sum(self.us)

    @property
    def literal_bytes(self) -> int:
        """Bytes of all literals."""
        return sum(weight.bytes for weight in (*self.weights, *self.unused))

    def live(self) -> list[int]:
        """Bytes of activations live at each slot."""
        return live_bytes(len(self.slots), [(b.first, b.last, b.bytes) for b in self.buffers if b.used])


def work_of(block: Block, cost: Callable[[Op], float]) -> Work:
    """Read a main module whose literals are read directly (see `detach`); `cost` gives microseconds."""
    ops = [op for op in block.ops if op.name]
    slots = [op for op in ops if _is_slot(op)]
    roots: Roots = {}
    buffers = {
        id(op.results[0]): Buffer(op, _load_bytes(op))
        for op in ops
        if _makes_buffer(op) and outer_load(op, roots)[0] is op
    }
    weights = {
        id(op.results[0]): Weight(op.results[0], byte_size(op.results[0].type) or 0)
        for op in ops
        if op.name == "@literal" and op.results
    }
    for slot, op in enumerate(slots):
        for value in (*op.operands, *captured(op)):
            _touch(_root(value, roots), slot, buffers, weights)
    _keep_returned(ops, len(slots) - 1, roots, buffers)
    used = sorted(
        (w for w in weights.values() if w.uses),
        key=lambda weight: (weight.first, len(weight.name), weight.name),
    )
    return Work(
        block,
        slots,
        [cost(op) for op in slots],
        used,
        [w for w in weights.values() if not w.uses],
        list(buffers.values()),
        next((op for op in ops if _is_arena(op)), None),
        _parameter_bytes(ops),
        sum(_code_bytes(op) for op in ops),
        max((alignment_of(b.load.results[0].type) for b in buffers.values()), default=1),
    )


def live_bytes(slots: int, spans: list[tuple[int, int, int]]) -> list[int]:
    """Bytes live at each of `slots` places, for spans of (first, last, bytes), both ends included."""
    steps = [0] * (slots + 1)
    for first, last, size in spans:
        steps[first] += size
        steps[last + 1] -= size
    total = 0
    live = []
    for step in steps[:-1]:
        total += step
        live.append(total)
    return live


def alignment_of(type: Type) -> int:
    """The alignment in bytes that MIGraphX's memory colouring asks for a buffer of this type.

    Four elements where their number divides by four, two where it divides by two, else one (and one for up
    to four elements); of a tuple, by its largest element.
    """
    members = type.members if isinstance(type, TupleType) else (type,)
    widest = max((-(-(element_bits(member) or 8) // 8) for member in members), default=1)
    count = (byte_size(type) or 0) // widest
    if count <= 4:
        return widest
    return widest * (4 if count % 4 == 0 else 2 if count % 2 == 0 else 1)


def _is_slot(op: Op) -> bool:
    return op.name not in _IDLE and not is_view(op) and (is_kernel(op) or bool(op.operands))


def _makes_buffer(op: Op) -> bool:
    return bool(op.results) and op.name in ("load", "hip::allocate", "allocate")


def _load_bytes(op: Op) -> int:
    start, end = (op.attributes.get(key, "") for key in ("offset", "end"))
    if start.isdecimal() and end.isdecimal() and len(end) < 20:
        return max(int(end) - int(start), 0)
    return byte_size(op.results[0].type) or 0


def _root(value: Value, roots: Roots) -> Value:
    """What made the bytes; a piece that is cut out of a buffer is that buffer."""
    root = buffer_of(value, roots)
    if root.op is not None and root.op.name == "load":
        return outer_load(root.op, roots)[0].results[0]
    return root


def _touch(root: Value, slot: int, buffers: dict[int, Buffer], weights: dict[int, Weight]) -> None:
    buffer = buffers.get(id(root))
    if buffer is not None:
        buffer.first = slot if buffer.first < 0 else buffer.first
        buffer.last = slot
    weight = weights.get(id(root))
    if weight is not None and (not weight.uses or weight.uses[-1] != slot):
        weight.uses.append(slot)


def _keep_returned(ops: list[Op], last: int, roots: Roots, buffers: dict[int, Buffer]) -> None:
    """What the module returns stays live to its end."""
    for op in ops:
        if op.name == "@return":
            for value in op.operands:
                buffer = buffers.get(id(_root(value, roots)))
                if buffer is not None and buffer.used:
                    buffer.last = last


def _is_arena(op: Op) -> bool:
    if op.name == "@param":
        return bool(op.results) and op.results[0].name.rpartition(":")[2] == "scratch"
    return op.name in _ARENAS and "@literal" not in op.attributes.get("id", "")


def _parameter_bytes(ops: list[Op]) -> int:
    return sum(
        byte_size(op.results[0].type) or 0
        for op in ops
        if op.name == "@param" and op.results and not _is_arena(op)
    )


def _code_bytes(op: Op) -> int:
    size = op.attributes.get("code_object", "") if op.name == "gpu::code_object" else ""
    return int(size) if size.isdecimal() and len(size) < 12 else 0
