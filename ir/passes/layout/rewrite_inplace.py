"""Rewriting since Triton 3.8: ops keep their place and get other types; there is no map, and none can miss.

Where the picks of tied values disagree the compiler goes by the result's and adds converts. The step `latent`
says so: under the rules of the clones' era the same disagreement can be a missing mapping.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from typing import TypeAlias

from ... import edit
from ...program import Op, Region, Value
from ..step import DETAIL, Step
from .build import convert_after
from .folding import takes_result_encoding
from .names import REWRITABLE, keeps_encoding, kind
from .state import Run, body_of, describe
from .tensors import Layout

Asked: TypeAlias = Generator[Step, None, Value]


def latent(run: Run, function: Op) -> Iterator[Step]:
    """Tied values whose picks disagree: argument and result of a loop."""
    pick = run.recorder.table("pick")
    for value, chosen in list(pick.items()):
        assert isinstance(value, Value)
        for other in _tied_arguments(value):
            theirs = pick.get(other)
            if theirs is not None and theirs != chosen:
                yield run.recorder.step(
                    "latent",
                    f"{describe(other)} was picked {run.show(theirs)}, and its result {value.name} "
                    f"{run.show(chosen)}: the argument follows the result, at the price of converts",
                    op=value.op,
                    value=other,
                    encodings=(theirs, chosen),
                )


def _tied_arguments(value: Value) -> list[Value]:
    op = value.op
    if op is None or op.name not in ("scf.for", "scf.while"):
        return []
    body = body_of(op, 0 if op.name == "scf.for" else 1)
    if body is None:
        return []
    index = value.index + 1 if op.name == "scf.for" else value.index
    return body.args[index : index + 1]


class InPlaceRewriter:
    """One rewrite of one function."""

    def __init__(self, run: Run, function: Op) -> None:
        self.run = run
        self.function = function
        self.recorder = run.recorder
        self.before: dict[Value, Layout] = {}
        """The encodings that values had when the rewrite began, where they have another now."""

    def steps(self) -> Iterator[Step]:
        """Visit the regions, outer ones first, and rewrite what has to be."""
        queue: deque[Region] = deque([self.function.regions[0]])
        while queue:
            region = queue.popleft()
            for block in region.blocks:
                for op in list(block.ops):
                    yield from self._op(op)
                    if op.name not in ("scf.yield", "scf.condition") and not self._scalar_reduce(op):
                        queue.extend(op.regions)

    def _op(self, op: Op) -> Iterator[Step]:
        pick, tensors = self.recorder.table("pick"), self.run.tensors
        if any(result in pick and pick[result] != tensors.of(result) for result in op.results):
            yield from self._rewrite(op)
        elif op.name == "scf.yield":
            yield from self._yield(op)
        elif op.name == "scf.condition":
            yield from self._condition(op)
        elif self._scalar_reduce(op):
            layout = next((pick[operand] for operand in op.operands if operand in pick), None)
            if layout is not None:
                for index in range(len(op.operands)):
                    yield from self._want(op, index, layout)
        elif kind(op) == "tt.assert":
            layout = self.recorder.get("pick", op.operands[0])
            if layout is not None:
                yield from self._want(op, 0, layout)
        else:
            for index, operand in enumerate(list(op.operands)):
                if operand in pick:
                    own = self.before.get(operand) or tensors.of(operand)
                    assert own is not None
                    yield from self._want(op, index, own)

    def _scalar_reduce(self, op: Op) -> bool:
        return kind(op) == "tt.reduce" and self.run.tensors.of(op.results[0]) is None

    def _want(self, op: Op, index: int, layout: Layout) -> Iterator[Step]:
        """Have operand `index` be in `layout`, by a convert if it is not."""
        value = op.operands[index]
        own = self.run.tensors.of(value)
        if own is None or own == layout:
            return
        converted = convert_after(self.run, value, layout)
        edit.set_operand(op, index, converted)
        yield self.recorder.step(
            "convert",
            f"{op.name} wants {value.name} in {self.run.show(layout)}: {converted.name} converts it",
            op=op,
            value=converted,
            encodings=(layout,),
            depth=DETAIL,
        )

    def _become(self, value: Value, layout: Layout) -> None:
        own = self.run.tensors.of(value)
        if own is None or own == layout:
            return
        self.before.setdefault(value, own)
        edit.set_type(value, self.run.tensors.with_encoding(value.type, layout))

    def _yield(self, op: Op) -> Iterator[Step]:
        parent = op.parent
        for index in range(len(op.operands)):
            type = op.operands[index].type
            if parent is not None and parent.name in ("scf.for", "scf.if"):
                type = parent.results[index].type
            elif parent is not None and parent.name == "scf.while":
                before = body_of(parent)
                type = before.args[index].type if before is not None else type
            layout = self.run.tensors.of_type(type)
            if layout is not None:
                yield from self._want(op, index, layout)

    def _condition(self, op: Op) -> Iterator[Step]:
        parent = op.parent
        for index in range(1, len(op.operands)):
            layout = self.run.tensors.of(parent.results[index - 1]) if parent is not None else None
            if layout is not None:
                yield from self._want(op, index, layout)

    def _rewrite(self, op: Op) -> Iterator[Step]:
        layout = self.recorder.get("pick", op.results[0]) or self.run.tensors.of(op.results[0])
        name = kind(op)
        if name == "scf.for":
            yield from self._for(op)
        elif name == "scf.while":
            yield from self._while(op)
        elif name == "scf.if":
            self._picked(op.results)
        elif layout is None:
            return
        elif takes_result_encoding(self.run, op, layout):
            self._become(op.results[0], layout)
        elif keeps_encoding(name) or name in REWRITABLE:
            yield from self._generic(op, layout)
        else:
            yield self.recorder.step(
                "unexpected-op",
                f"{op.name} was picked to become {self.run.show(layout)}, and the pass has no way to rewrite "
                "it: the compiler aborts here (unexpected op in rewrite)",
                op=op,
                value=op.results[0],
                encodings=(layout,),
            )
            return
        shown = ", ".join(
            f"{result.name} in {self.run.show(own)}"
            for result in op.results
            if (own := self.run.tensors.of(result)) is not None
        )
        yield self.recorder.step(
            "rewrite",
            f"{op.name} gives {shown}",
            op=op,
            value=op.results[0],
            encodings=() if layout is None else (layout,),
        )

    def _picked(self, values: list[Value]) -> None:
        for value in values:
            layout: Layout | None = self.recorder.get("pick", value)
            if layout is not None:
                self._become(value, layout)

    def _generic(self, op: Op, layout: Layout) -> Iterator[Step]:
        wanted = self._operand_encoding(op, layout) if op.operands else None
        if wanted is None and op.operands:
            yield self.recorder.step(
                "no-operand-encoding",
                f"no operand encoding gives {op.name} the result {self.run.show(layout)}: "
                "the compiler aborts here",
                op=op,
                value=op.results[0],
                encodings=(layout,),
            )
        elif wanted is not None:
            for index in range(len(op.operands)):
                yield from self._want(op, index, wanted)
        for result in op.results:
            self._become(result, layout)

    def _operand_encoding(self, op: Op, layout: Layout) -> Layout | None:
        for operand in op.operands:
            picked: Layout | None = self.recorder.get("pick", operand)
            if picked is not None and self.run.infer.result(op, picked) == layout:
                return picked
        return self.run.infer.operand(op, layout)

    def _for(self, op: Op) -> Iterator[Step]:
        """Inits, arguments and results take the results' picks."""
        body = op.regions[0].blocks[0]
        for index, result in enumerate(op.results):
            layout: Layout | None = self.recorder.get("pick", result)
            if layout is not None:
                yield from self._want(op, index + 3, layout)
                self._become(result, layout)
                self._become(body.args[index + 1], layout)

    def _while(self, op: Op) -> Iterator[Step]:
        """Operands follow the condition region's arguments; the body's arguments follow the results."""
        before, after = op.regions[0].blocks[0], op.regions[1].blocks[0]
        for index, arg in enumerate(before.args):
            layout: Layout | None = self.recorder.get("pick", arg)
            if layout is not None:
                yield from self._want(op, index, layout)
                self._become(arg, layout)
        for result, arg in zip(op.results, after.args, strict=True):
            layout = self.recorder.get("pick", result)
            if layout is not None:
                self._become(result, layout)
                self._become(arg, layout)
