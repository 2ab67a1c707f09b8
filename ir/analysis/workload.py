"""How much a kernel computes and moves: operations, bytes and threads, from shapes and names.

A kernel whose module of operators is in the program is counted operator by operator. Of a kernel in a dump
from elsewhere only the operands' shapes and the name are known: which operand is the weight is inferred.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from ..program import Op, Value, symbol
from ..types import ShapeType, TensorType, TupleType, Type, byte_size, element_bits, element_count
from .fused_names import MATRIX, element_flops, kind_of, kind_of_all, operators
from .views import is_copy_to_gpu, is_view, written_operand

_MOST_CANDIDATES: Final = 8
"""Operands that are tried as the factors of a product, the largest ones."""
_LONGEST_LOOK: Final = 64
"""Views that are followed from an operand to the literal it may be."""
_OUTPUTS_A_THREAD: Final = {"convolution": 16, "dot": 16, "attention": 16}
_OTHER_OUTPUTS_A_THREAD: Final = 2
_BYTES_A_THREAD: Final = 1024
_FEWEST_THREADS: Final = 256
_MOST: Final = 10**30
"""A dump may say any size; numbers beyond this are cut, so that they stay within a float."""
_LITERALS: Final = frozenset(
    {"@literal", "hip::hip_copy_literal", "hip::load_literal", "hip::hip_load_memory"}
)


@dataclass(frozen=True, slots=True)
class Workload:
    """What one launch of a kernel has to do."""

    kind: str
    """One of `fused_names.KINDS`."""
    flops: int
    bytes: int
    """Bytes of device memory read and written at least: each operand once."""
    element: str
    """The element type that it computes in, a key of `ELEMENT_BITS`."""
    threads: int
    """Threads that it is launched with, or an estimate from its outputs."""


def workload(op: Op, modules: Mapping[str, Op] | None = None) -> Workload:
    """The work of a kernel; `modules` are the program's modules by name (looked up if left out)."""
    body = _body(op, modules_of(op) if modules is None else modules)
    kind, flops = _counted(body) if body else _inferred(op)
    outputs = _elements(op.results[0].type) if op.results else 0
    if not outputs and op.operands:
        outputs = _elements(op.operands[-1].type)
    size = _bytes(op, kind, outputs)
    return Workload(kind, min(flops, _MOST), size, _element(op), _threads(op, kind, outputs, size))


def modules_of(op: Op) -> dict[str, Op]:
    """The modules of the program that an instruction of a module stands in, by name."""
    here = op.parent
    if here is None or here.block is None:
        return {}
    return {symbol(each): each for each in here.block.ops if each.name == "module"}


def _body(op: Op, modules: Mapping[str, Op]) -> list[Op]:
    """The instructions of the modules that a kernel is made of; [] for none."""
    names = [name.strip() for name in op.attributes.get("modules", "").split(",")]
    called = [modules[name] for name in names if name in modules]
    return [inner for m in called for region in m.regions for block in region.blocks for inner in block.ops]


def _bytes(op: Op, kind: str, outputs: int) -> int:
    """Bytes of all operands, each buffer that is looked at in the same way once.

    A kernel that makes each element of its result from one element of each operand (a gather from a large
    table, say) reads no more of an operand than its result has elements.
    """
    seen: dict[tuple[int, str], int] = {}
    each = kind in ("pointwise", "copy")
    for value in op.operands:
        size = byte_size(value.type) or 0
        seen[id(value), value.type.text] = min(size, _span(value.type, outputs)) if each else size
    if written_operand(op) is None and op.results:
        seen[id(op.results[0]), ""] = byte_size(op.results[0].type) or 0
    return min(sum(max(size, 0) for size in seen.values()), _MOST)


def _span(type: Type, count: int) -> int:
    """Bytes of so many elements of a type."""
    return count * (element_bits(_first(type)) or 64) // 8


def _element(op: Op) -> str:
    """The element type of the first result; of an integer product, of what is multiplied."""
    for value in (*op.operands[:1], *op.results):
        type = _first(value.type)
        if isinstance(type, ShapeType) and type.element not in ("i1", "i32", "i64"):
            return type.element
    return "f32"


def _first(type: Type) -> Type:
    return type.members[0] if isinstance(type, TupleType) and type.members else type


def _threads(op: Op, kind: str, outputs: int, size: int) -> int:
    """What the launch says, or what a sensible one would take: enough for its outputs and for its bytes."""
    given = op.attributes.get("global", "")
    if given.isdecimal() and len(given) < 16 and int(given) > 0:
        return int(given)
    by_outputs = outputs // _OUTPUTS_A_THREAD.get(kind, _OTHER_OUTPUTS_A_THREAD)
    return min(max(by_outputs, size // _BYTES_A_THREAD, _FEWEST_THREADS), _MOST)


def _elements(type: Type) -> int:
    return max(element_count(type) or 0, 0)


def _lens(value: Value) -> tuple[int, ...]:
    type = _first(value.type)
    return type.lens if isinstance(type, ShapeType | TensorType) else ()


def _counted(body: Sequence[Op]) -> tuple[str, int]:
    """Kind and operations of a module of operators."""
    flops = 0
    names = []
    for op in body:
        if op.name.startswith("@") or not op.results:
            continue
        name = op.name.rpartition("::")[2]
        names.append(name)
        flops += _operator_flops(op, name)
    return kind_of_all(names), flops


def _operator_flops(op: Op, name: str) -> int:
    """Operations of one operator with its own operands."""
    out = _elements(op.results[0].type)
    kind = kind_of(name)
    if kind == "convolution" and len(op.operands) > 1:
        # A transposed convolution does for each input element what a convolution does for each output.
        per = _lens(op.operands[1])[1:]
        return 2 * prod(per) * (_elements(op.operands[0].type) if "back" in name else out)
    if kind == "dot" and op.operands:
        return 2 * out * (_lens(op.operands[0]) or (1,))[-1]
    if kind == "pooling":
        return out * _window(op)
    read = max((_elements(value.type) for value in op.operands), default=0)
    return max(out, read) * element_flops(name)


def _window(op: Op) -> int:
    """Elements that one output of a pooling is made from."""
    lengths = [piece.strip() for piece in op.attributes.get("lengths", "").strip("{}").split(",")]
    return prod(int(n) for n in lengths if n.isdecimal() and len(n) < 10)


def _inferred(op: Op) -> tuple[str, int]:
    """Kind and operations of a kernel of which only name and operands are known."""
    listed = operators(op.attributes.get("symbol_name", "") or op.name)
    kind = kind_of_all(listed)
    written = written_operand(op)
    out = op.results[0] if op.results else op.operands[-1] if op.operands else None
    if out is None:
        return kind, 0
    inputs = [value for index, value in enumerate(op.operands) if index != written]
    # What is fused behind a product works on its outputs; by itself it reads the largest operand.
    behind = kind in MATRIX.values()
    most = max([_elements(out.type), *(0 if behind else _elements(value.type) for value in inputs)])
    flops = sum(most * element_flops(name) for name in listed if name not in MATRIX and name != "pooling")
    if kind == "attention":
        return kind, flops + _attention_flops(inputs, out)
    for name in listed:
        if name == "pooling":
            flops += _elements(out.type) * _window(op)
        elif MATRIX.get(name) == "convolution":
            flops += _convolution_flops(inputs, out)
        elif MATRIX.get(name) == "dot":
            flops += _dot_flops(inputs, out)
    return kind, flops


def _convolution_flops(inputs: Sequence[Value], out: Value) -> int:
    """Twice the outputs times the elements of one filter; the filter is the operand most like a weight."""
    shape = _lens(out)
    best: tuple[int, int] = (-1, -1)
    for value in inputs:
        lens = _lens(value)
        if len(lens) < 3 or (shape and len(lens) != len(shape)) or _broadcast(value):
            continue
        likely = 4 * _is_weight(value) + 2 * (len(shape) > 1 and lens[0] == shape[1])
        likely += any(_reads(lens, _lens(other)) for other in inputs if other is not value)
        best = max(best, (likely, -prod(lens[1:])))  # of two that are as likely, filters are the smaller
    return 2 * _elements(out.type) * -best[1]


def _reads(weight: tuple[int, ...], data: tuple[int, ...]) -> bool:
    """Whether filters of this shape fit data of that shape: channels, and no wider than it is."""
    fits = len(data) == len(weight) and weight[1] > 0 and data[1] % weight[1] == 0
    return fits and all(w <= d for w, d in zip(weight[2:], data[2:], strict=True))


def _dot_flops(inputs: Sequence[Value], out: Value) -> int:
    """Twice the outputs times the length that a product sums over, from operands that can be its factors."""
    shape = _lens(out) or (1,)
    columns = shape[-1]
    rows = shape[-2] if len(shape) > 1 else 1
    total = _elements(out.type)
    batch = max(1, total // max(1, rows * columns))
    candidates = [v for v in inputs if not _broadcast(v) and len(_lens(v)) > 1]
    candidates = sorted(candidates, key=lambda v: -_elements(v.type))[:_MOST_CANDIDATES]
    best: tuple[int, int] = (-1, 0)
    for right in candidates:
        size = _elements(right.type)
        for copies in {1, batch}:
            if not size or size % max(1, copies * columns):
                continue
            length = size // max(1, copies * columns)
            left = [v for v in candidates if v is not right]
            fits = any(_elements(v.type) * columns == total * length for v in left)
            weight = 2 * _is_weight(right) + (columns in _lens(right)[-2:]) + (len(_lens(right)) == 2)
            best = max(best, (8 * fits + weight, length))
    return 2 * total * max(1, best[1])


def _attention_flops(inputs: Sequence[Value], out: Value) -> int:
    """Two products over the sequence: of queries and keys, of their softmax and the values."""
    shape = _lens(out) or (1,)
    head = max(1, shape[-1])
    rows = max(1, _elements(out.type) // head)
    longest = max((lens[-2] for v in inputs if len(lens := _lens(v)) > 1 and head in lens[-2:]), default=1)
    return 4 * rows * head * longest


def _broadcast(value: Value) -> bool:
    """Whether a value repeats bytes (a stride of 0): a bias, never a factor."""
    type = _first(value.type)
    return isinstance(type, ShapeType) and any(
        stride == 0 and n > 1 for n, stride in zip(type.lens, type.strides, strict=False)
    )


def _is_weight(value: Value) -> bool:
    """Whether a value's bytes are a literal's, on the device or copied there, looked at in any way."""
    op = value.op
    for _ in range(_LONGEST_LOOK):
        if op is None or not is_view(op) or not op.operands:
            break
        op = op.operands[0].op
    return op is not None and (op.name in _LITERALS or is_copy_to_gpu(op))
