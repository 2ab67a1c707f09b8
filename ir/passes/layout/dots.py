"""Moving converts to dot operands up to the loads, where the pipeliner looks (Triton 3.3 and later)."""

from __future__ import annotations

from collections.abc import Iterator

from ...layouts import encodings as enc
from ...program import Op, Value
from ..step import Step
from .anchors import MMA
from .build import convert_after
from .greedy import has_no_effect
from .names import CONVERT, DESCRIPTOR_LOADS, DOT_INTERFACE, UPCASTS, VIEWS, is_elementwise, kind
from .remat import Rematerializer
from .slices import Slice, backward_slice


class NextToLoads(Rematerializer):
    """Converts of dot operands go right behind the loads that they come from."""

    def hoist(self) -> Iterator[Step]:
        """Try every convert that is left."""
        yield from self.each(self.up)

    def up(self, convert: Op) -> Iterator[Step]:
        """Try to move one convert."""
        layout = self.run.tensors.of(convert.results[0])
        if layout is None or not self._feeds_a_dot(convert):
            return
        slice_ = backward_slice(self.run, (convert, 0), layout, Slice(), _moves_data, self.existing_in)
        if slice_.failed:
            return
        loads: list[Value] = []
        inner: dict[Value, None] = {}
        for value in slice_.values:
            op = value.op
            if op is None:
                return
            if slice_.is_there(value):
                inner[value] = None
            elif kind(op) == "tt.load" or kind(op) in DESCRIPTOR_LOADS:
                loads.append(value)
            elif op.name == "arith.constant" or not _moves_data(op):
                inner[value] = None
            else:
                return
        if not inner:
            return
        mapping = {load: convert_after(self.run, load, slice_.layouts[load]) for load in loads}
        slice_.values = inner
        yield self.recorder.step(
            "hoist",
            f"{convert.results[0].name} is converted behind the load(s) that it comes from",
            op=convert,
            value=convert.results[0],
            encodings=(layout,),
        )
        yield from self.rewrite(slice_, convert, mapping)

    def _feeds_a_dot(self, convert: Op) -> bool:
        """Whether a dot whose left operand is laid out for matrix instructions follows in the same block."""
        block = convert.block
        assert block is not None
        for op in block.ops[block.ops.index(convert) + 1 :]:
            if kind(op) in DOT_INTERFACE and op.operands:
                layout = self.run.tensors.of(op.operands[0])
                if isinstance(layout, enc.DotOperand) and isinstance(layout.parent, MMA):
                    return True
        return False


def _moves_data(op: Op) -> bool:
    """Whether an op may take elements from other threads, or has effects."""
    name = kind(op)
    if is_elementwise(name) and has_no_effect(op):
        return False
    return name not in VIEWS | UPCASTS and name not in ("tt.broadcast", "ttg.fp4_to_fp", CONVERT)
