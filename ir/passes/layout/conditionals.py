"""Moving a convert into the branch of a conditional that needs it (Triton 3.3 and later)."""

from __future__ import annotations

from collections.abc import Iterator

from ...program import Op, Use, Value
from ..step import Step
from .build import convert_after, convert_before
from .remat import Rematerializer
from .slices import Slice, rematerializable
from .state import body_of, terminator


class IntoConditionals(Rematerializer):
    """Inside a loop, a convert that one branch can do without goes into the other branch."""

    def hoist(self) -> Iterator[Step]:
        """Try every convert that is left."""
        yield from self.each(self.into)

    def into(self, convert: Op) -> Iterator[Step]:
        """Try to move one convert."""
        layout = self.run.tensors.of(convert.results[0])
        if layout is None:
            return
        slice_ = rematerializable(self.run, (convert, 0), layout, Slice(), _is_if, self.existing_in)
        if slice_.failed:
            return
        slice_, above, terminals = self._branches(slice_)
        if not above:
            return
        mapping: dict[Value, Value] = {}
        for value in terminals:
            mapping[value] = convert_after(self.run, value, slice_.layouts[value])
            slice_.values.pop(value, None)
        for result, (last, index) in above:
            value = last.operands[index]
            mapping[value] = convert_before(self.run, last, value, slice_.layouts[result])
            slice_.values.pop(value, None)
        yield self.recorder.step(
            "hoist",
            f"{convert.results[0].name} is converted in one branch of {len(above)} conditional(s) only",
            op=convert,
            value=convert.results[0],
            encodings=(layout,),
        )
        yield from self.rewrite(slice_, convert, mapping)

    def _branches(self, slice_: Slice) -> tuple[Slice, list[tuple[Value, Use]], list[Value]]:
        """The slice grown into branches; where the convert goes into one; results that end the slice."""
        above: list[tuple[Value, Use]] = []
        terminals: list[Value] = []
        done: set[Value] = set()
        while (value := next((v for v in slice_.values if v not in done), None)) is not None:
            done.add(value)
            op = value.op
            if op is None or op.name != "scf.if":
                continue
            layout = slice_.layouts[value]
            edges: list[Use] = []
            failed: list[bool] = []
            grown = slice_.copy()
            for region in range(2):
                last = terminator(body_of(op, region))
                if last is None:
                    break
                tried = rematerializable(
                    self.run, (last, value.index), layout, grown.copy(), _is_if, self.existing_in
                )
                edges.append((last, value.index))
                failed.append(bool(tried.failed))
                grown = grown if tried.failed else tried
            if len(edges) < 2 or all(failed):
                terminals.append(value)
            elif not any(failed):
                slice_ = grown
            elif op.parent is None or op.parent.name != "scf.for":
                terminals.append(value)
            else:
                slice_ = grown
                above.append((value, edges[failed.index(True)]))
        return slice_, above, terminals


def _is_if(op: Op) -> bool:
    return op.name == "scf.if"
