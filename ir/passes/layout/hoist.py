"""Moving converts to where the tensor is smaller or the code runs less often."""

from __future__ import annotations

from collections.abc import Iterator

from ... import edit
from ...layouts import encodings as enc
from ...program import Op, Value
from ...types import element_bits
from ..step import Step
from .build import clone_before, convert_before
from .conditionals import IntoConditionals
from .dots import NextToLoads
from .names import kind
from .remat import Rematerializer
from .remat_cost import convert_cost, weigh
from .slices import Slice, rematerializable
from .state import Run
from .tensors import Layout

_WIDENING = frozenset({"arith.extsi", "arith.extui", "arith.extf", "tt.broadcast", "tt.expand_dims"})


def widens(op: Op) -> bool:
    """Whether the result of an op holds more bytes than its operand."""
    name = kind(op)
    if name in _WIDENING:
        return True
    if name != "tt.fp_to_fp":
        return False
    before, after = element_bits(op.operands[0].type), element_bits(op.results[0].type)
    return before is not None and after is not None and before < after


class OverWidening(Rematerializer):
    """Converts go in front of the op that makes their tensor larger."""

    def hoist(self) -> Iterator[Step]:
        """Try every convert that is left."""
        yield from self.each(self.over)

    def over(self, convert: Op) -> Iterator[Step]:
        """Try to move one convert."""
        layout = self.run.tensors.of(convert.results[0])
        if layout is None or isinstance(layout, enc.DotOperand):
            return
        slice_ = rematerializable(self.run, (convert, 0), layout, Slice(), widens, self.existing_in)
        if slice_.failed:
            return
        slice_, boundary = self._boundary(slice_)
        if boundary is None:
            return
        to = slice_.layouts[boundary.results[0]]
        source = self.run.infer.operand(boundary, to)
        if source is None:
            return
        if self.run.rules.hoist_cost:
            verdict = weigh(self.run, convert, slice_, convert_cost(self.run, boundary.operands[0], source))
            yield self.weighed(convert, verdict)
            if not verdict.worth_it:
                return
        moved = convert_before(self.run, boundary, boundary.operands[0], source)
        copy = clone_before(self.run, boundary, boundary)
        edit.set_operand(copy, 0, moved)
        result = boundary.results[0]
        edit.set_type(copy.results[0], self.run.tensors.with_encoding(result.type, to))
        mapping: dict[Value, Value] = {result: copy.results[0]}
        slice_.values.pop(result, None)
        yield self.recorder.step(
            "hoist",
            f"{convert.results[0].name} is converted in front of {boundary.name}, where it is smaller",
            op=boundary,
            value=moved,
            encodings=(source,),
        )
        yield from self.rewrite(slice_, convert, mapping)

    def _boundary(self, slice_: Slice) -> tuple[Slice, Op | None]:
        """The one widening op whose operand cannot be made again; what can be joins the slice."""
        found: Op | None = None
        for value in list(slice_.values):
            op = value.op
            if op is None or not widens(op):
                continue
            source = self.run.infer.operand(op, slice_.layouts[value])
            if source is None:
                return slice_, None
            behind = self._behind(op, source, slice_)
            if behind is not None:
                slice_ = behind
            elif found is not None:
                return slice_, None
            else:
                found = op
        return slice_, found

    def _behind(self, op: Op, source: Layout, slice_: Slice) -> Slice | None:
        """The slice with what is behind a widening op, if that can be made again."""
        if self.run.rules.slice_by_use:
            grown = rematerializable(self.run, (op, 0), source, slice_.copy(), None, self.existing_in)
            return None if grown.failed else grown
        behind = rematerializable(self.run, (op, 0), source, Slice())
        if behind.failed:
            return None
        slice_.values.update(behind.values)
        for other, layout in behind.layouts.items():
            slice_.layouts.setdefault(other, layout)
        return slice_


def hoist_all(run: Run, function: Op) -> Iterator[Step]:
    """All the hoists of the rule set on one function."""
    yield from OverWidening(run, function).hoist()
    if run.rules.hoist_into_conditionals:
        yield from IntoConditionals(run, function).hoist()
    if run.rules.hoist_dot_operands:
        yield from NextToLoads(run, function).hoist()
