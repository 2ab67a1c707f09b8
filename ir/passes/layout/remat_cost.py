"""Whether making a slice again is cheaper than the convert it saves: the model of Triton 3.4 and later.

Costs are in thousandths of a cycle of a multiprocessor, as the compiler counts them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Final

from ...errors import InputError
from ...layouts import encodings as enc
from ...layouts.to_linear import to_linear
from ...program import Block, Op, Use, Value, walk
from ...types import ELEMENT_BITS, ScalarType, TensorType, Type
from .attributes import axis_of, lens_of
from .convert_cost import reorders_registers, unique_elements
from .names import kind
from .slices import Slice
from .state import Run, body_of, terminator
from .tensors import Layout

CONVERT_WEIGHT: Final = 32
"""Through shared memory and back, 8 each way, twice for the barriers."""
LEAST_ELEMENTS: Final = 32
LEAST_BITS: Final = 32
LOAD_WEIGHT: Final = 8
INTER_WARP_WEIGHT: Final = 8
DEAR_WEIGHT: Final = 8
"""Ops of the special function unit, or of many instructions."""

_DEAR: Final = frozenset(
    {
        "arith.divf", "math.erfc", "math.sinh", "math.cosh", "math.tanh", "math.asinh",
        "math.acosh", "math.atanh", "math.ctpop", "math.ctlz", "math.cttz", "math.exp", "math.exp2",
        "math.expm1", "math.log", "math.log2", "math.log10", "math.log1p", "math.sin", "math.cos",
        "math.tan", "math.asin", "math.acos", "math.atan", "math.atan2", "math.powf", "math.sqrt",
        "math.rsqrt", "math.erf", "math.cbrt",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was weighed, in thousandths of a cycle."""

    convert: int
    again: int
    veto: str = ""

    @property
    def worth_it(self) -> bool:
        """Whether the slice is to be made again."""
        return not self.veto and self.convert >= self.again


def bits_of(type: Type) -> int:
    """Bits of an element that is a number; 0 for a pointer."""
    element = type.element if isinstance(type, TensorType) else type
    if isinstance(element, ScalarType):
        if element.name == "i1":
            return 1
        return ELEMENT_BITS.get(element.name, 0) or int("0" + element.name.lstrip("uis"))
    return 0


def byte_count(type: Type, least_elements: int = 0, least_bits: int = 0) -> int:
    """Bytes of a tensor; 0 for anything else, unless the least numbers say otherwise."""
    tensor = isinstance(type, TensorType)
    elements = max(prod(lens_of(type)) if tensor else 0, least_elements)
    return elements * max(bits_of(type) if tensor else 0, least_bits) >> 3


def convert_cost(run: Run, source: Value, target: Layout) -> int:
    """What converting `source` to `target` costs."""
    own = run.tensors.of(source)
    if own is not None and reorders_registers(own, target, lens_of(source.type)):
        return 0
    return CONVERT_WEIGHT * byte_count(source.type, LEAST_ELEMENTS, LEAST_BITS)


def weigh(run: Run, convert: Op, slice_: Slice, new_convert: int) -> Verdict:
    """Weigh a convert against its slice, with `new_convert` for converts that would be new."""
    slice_ = slice_.copy()
    for value in list(slice_.values):
        if slice_.is_there(value):
            del slice_.values[value]
    ops = dict.fromkeys(value.op for value in slice_.values if value.op is not None)
    outside = used_outside(convert, slice_, ops)
    target = run.tensors.of(convert.results[0])
    assert target is not None
    saved = convert_cost(run, convert.operands[0], target)
    total = new_convert
    for op in ops:
        if op.name == "arith.constant":
            continue
        stays = any(result in outside for result in op.results)
        if op.name.startswith(("arith.", "math.")):
            total += _arithmetic(run, op, slice_, stays)
        elif stays and kind(op) in ("tt.load", "ttg.local_load"):
            total += sum(LOAD_WEIGHT * byte_count(result.type) for result in op.results)
        elif stays and kind(op) == "tt.reduce":
            if not _is_associative(op):
                return Verdict(saved, total, "a sum would be made twice, in different orders")
            total += _reduce(run, op)
    return Verdict(saved, total)


def _arithmetic(run: Run, op: Op, slice_: Slice, stays: bool) -> int:
    weight = DEAR_WEIGHT if op.name in _DEAR else 1
    total = 0
    for result in op.results:
        layout, own = slice_.layouts.get(result), run.tensors.of(result)
        factor = 1
        if layout is not None and own is not None:
            lens = lens_of(result.type)
            factor = max(1, unique_elements(layout, lens) // unique_elements(own, lens))
        total += weight * byte_count(result.type) * (factor if stays else factor - 1)
    return total


def _is_associative(op: Op) -> bool:
    """Whether the order of a reduction makes no difference: integers, two elements, or no sum or product."""
    type = op.operands[0].type
    element = type.element.text if isinstance(type, TensorType) else ""
    if not element.startswith(("f", "bf", "tf")) or lens_of(type)[axis_of(op)] <= 2:
        return True
    return not any(
        inner.name in ("arith.addf", "arith.mulf")
        for region in op.regions
        for block in region.blocks
        for inner in walk(block)
    )


def _reduce(run: Run, op: Op) -> int:
    layout, lens, axis = run.tensors.of(op.operands[0]), lens_of(op.operands[0].type), axis_of(op)
    if not isinstance(layout, enc.Distributed):
        return 0
    try:
        linear = to_linear(layout, lens)
    except InputError:
        return 0
    lanes, warps = (1 << sum(basis[axis] != 0 for basis in linear.bases(name)) for name in ("lane", "warp"))
    return lanes + INTER_WARP_WEIGHT * warps


# -- what survives -------------------------------------------------------------------------------------


def used_outside(convert: Op, slice_: Slice, ops: dict[Op, None]) -> dict[Value, None]:
    """The values of a slice that are needed without it, too, with all they are made from."""
    found = {
        value: None
        for value in slice_.values
        if any(_is_outside(use, convert, slice_, ops) for use in value.uses)
    }
    work = list(found)
    while work:
        for source in _made_from(work.pop()):
            if source in slice_.values and source not in found:
                found[source] = None
                work.append(source)
    return found


def _is_outside(use: Use, convert: Op, slice_: Slice, ops: dict[Op, None]) -> bool:
    op = use[0]
    if op is convert or op in ops:
        return False
    flows = flows_into(use)
    if flows is None:
        return True
    return not all(value in slice_.values or not value.uses for value in flows)


def flows_into(use: Use) -> list[Value] | None:
    """The values that become what a terminator or loop operand holds; None for operands of other ops."""
    op, index = use
    if op.name == "scf.for" and index >= 3:
        body = body_of(op)
        return [op.results[index - 3], *([body.args[index - 2]] if body is not None else [])]
    if op.name == "scf.while":
        body = body_of(op)
        return [body.args[index]] if body is not None else None
    parent = op.parent
    if parent is None:
        return None
    if op.name == "scf.condition" and index > 0:
        after = body_of(parent, 1)
        return [parent.results[index - 1], *([after.args[index - 1]] if after is not None else [])]
    if op.name == "scf.yield":
        body = body_of(parent)
        if parent.name == "scf.if":
            return [parent.results[index]]
        if parent.name == "scf.for" and body is not None:
            return [parent.results[index], body.args[index + 1]]
        if parent.name == "scf.while" and body is not None:
            return [body.args[index]]
    return None


def _made_from(value: Value) -> list[Value]:
    """The operands that a value comes from."""
    owner = value.owner
    op = owner
    if isinstance(owner, Block):
        op = owner.parent.parent if owner.parent is not None else None
    if not isinstance(op, Op):
        return []
    if op.name == "scf.for":
        number = value.index - 1 if isinstance(owner, Block) else value.index
        last = terminator(body_of(op))
        if number < 0:
            return list(op.operands)
        return [op.operands[number + 3], *([last.operands[number]] if last is not None else [])]
    if op.name == "scf.if" and isinstance(owner, Op):
        lasts = [terminator(body_of(op, region)) for region in range(len(op.regions))]
        return [last.operands[value.index] for last in lasts if last is not None and last.operands]
    return list(op.operands)
