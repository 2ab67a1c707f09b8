"""Moving converts to where the tensor is smaller or the code runs less often."""

from __future__ import annotations

from collections.abc import Iterator

from ... import edit
from ...layouts import encodings as enc
from ...program import Op, Value
from ...types import element_bits
from ..step import Step
from .build import clone_before, convert_before
from .names import kind
from .remat import Rematerializer
from .slices import Slice, rematerializable
from .state import Run

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
        for convert in self.converts():
            yield from self.over(convert)
            if self.run.rules.reuse_converts and convert not in self.removed:
                layout = self.run.tensors.of(convert.results[0])
                assert layout is not None
                yield self.register(convert.operands[0], layout, convert.results[0])
        yield from self.finish()

    def over(self, convert: Op) -> Iterator[Step]:
        """Try to move one convert."""
        layout = self.run.tensors.of(convert.results[0])
        if layout is None or isinstance(layout, enc.DotOperand):
            return
        slice_ = rematerializable(self.run, (convert, 0), layout, Slice(), widens)
        if slice_.failed:
            return
        boundary = self._boundary(slice_)
        if boundary is None:
            return
        to = slice_.layouts[boundary.results[0]]
        source = self.run.infer.operand(boundary, to)
        if source is None:
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

    def _boundary(self, slice_: Slice) -> Op | None:
        """The one widening op whose operand cannot be made again; what can be joins the slice."""
        found: Op | None = None
        for value in list(slice_.values):
            op = value.op
            if op is None or not widens(op):
                continue
            source = self.run.infer.operand(op, slice_.layouts[value])
            if source is None:
                return None
            behind = rematerializable(self.run, (op, 0), source, Slice())
            if not behind.failed:
                slice_.values.update(behind.values)
                for other, layout in behind.layouts.items():
                    slice_.layouts.setdefault(other, layout)
            elif found is not None:
                return None
            else:
                found = op
        return found


def hoist_all(run: Run, function: Op) -> Iterator[Step]:
    """All the hoists of the rule set on one function."""
    yield from OverWidening(run, function).hoist()
