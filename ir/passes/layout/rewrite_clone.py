"""Rewriting in the era of clones (2023-08 to 3.7): new ops beside the old ones, and a map between values.

`mapping[(old value, encoding)]` is filled when an op is rewritten and asked when an operand is wanted. Ops
whose picks equal their types are kept; nothing makes a mapping for what they define. Where that is asked for
all the same the compiler aborts. Here the step `missing-mapping` says so, and the old value is used instead.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from typing import TypeAlias

from ... import edit
from ...program import Op, Region, Value, walk
from ...types import Type
from ..step import DETAIL, Step
from .build import clone_before, convert_after, convert_before, region_with, replacement
from .folding import takes_result_encoding
from .missing import Missing, Visit, owner_of, record
from .names import CONVERT, LOOPS_AND_BRANCHES, REWRITABLE, keeps_encoding, kind
from .state import Run, body_of, describe
from .tensors import Layout

Asked: TypeAlias = Generator[Step, None, Value]


class CloneRewriter:
    """One rewrite of one function."""

    def __init__(self, run: Run, function: Op) -> None:
        self.run = run
        self.function = function
        self.recorder = run.recorder
        self.dead: list[Op] = []
        self.visits: list[Visit] = []

    def steps(self) -> Iterator[Step]:
        """Visit the regions in the era's order and rewrite what has to be."""
        queue: deque[Region] = deque([self.function.regions[0]])
        while queue:
            region = queue.pop() if self.run.rules.region_order == "last-first" else queue.popleft()
            for block in region.blocks:
                for op in list(block.ops):
                    yield from self._op(op, queue)
        yield from self._erase()

    def _op(self, op: Op, queue: deque[Region]) -> Iterator[Step]:
        if self._has_to_change(op):
            made = yield from self._rewrite(op)
            if made.regions:
                self.visits.append(Visit(made, rewritten=True))
            queue.extend(made.regions)
        elif op.name == "scf.yield":
            yield from self._yield(op)
        elif op.name == "scf.condition":
            yield from self._condition(op)
        elif kind(op) == "tt.reduce" and self.run.tensors.of(op.results[0]) is None:
            yield from self._reduce_to_scalar(op)
        elif kind(op) == "tt.assert":
            yield from self._assert(op)
        else:
            yield from self._keep(op)
            if op.regions:
                self.visits.append(Visit(op, rewritten=False))
            queue.extend(op.regions)

    def _has_to_change(self, op: Op) -> bool:
        pick, tensors = self.recorder.table("pick"), self.run.tensors
        return any(result in pick and pick[result] != tensors.of(result) for result in op.results)

    # -- asking for values ---------------------------------------------------------------------------

    def _as(self, value: Value, layout: Layout, asking: Op) -> Asked:
        """The value in an encoding, by way of the mapping; a convert is made if the pick is another."""
        own = self.run.tensors.of(value)
        if own is None:
            return value
        rewritten = value
        picked: Layout | None = self.recorder.get("pick", value)
        if picked is not None and picked != own:
            found: Value | None = self.recorder.get("mapping", (value, picked))
            if found is None:
                rewritten = yield from self._missing(value, picked, asking, layout)
            else:
                rewritten = found
        if self.run.tensors.of(rewritten) == layout:
            return rewritten
        converted = convert_after(self.run, rewritten, layout)
        yield self.recorder.step(
            "convert",
            f"{asking.name} wants {value.name} in {self.run.show(layout)}: "
            f"{converted.name} converts {rewritten.name}",
            op=asking,
            value=converted,
            encodings=(layout,),
            depth=DETAIL,
        )
        return converted

    def _missing(self, value: Value, picked: Layout, asking: Op, layout: Layout) -> Asked:
        """Say that a mapping is missing, and go on with the best value there is."""
        owner = owner_of(value)
        found = record(self.run, value, picked, asking, self.visits, layout, rewritten=owner in self.dead)
        self.recorder.set("missing", (value, picked), found)
        self.recorder.set("poisoned", value, f"asked for in {self.run.show(picked)}, which was never made")
        yield self.recorder.step(
            "missing-mapping",
            _sentence(self.run, found),
            op=asking,
            value=value,
            encodings=(picked, *found.candidates),
        )
        for key, other in self.recorder.table("mapping").items():
            if isinstance(key, tuple) and key[0] is value and isinstance(other, Value):
                return other
        return value

    # -- ops that stay -------------------------------------------------------------------------------

    def _set(self, op: Op, index: int, value: Value) -> None:
        if op.operands[index] is not value:
            edit.set_operand(op, index, value)

    def _keep(self, op: Op) -> Iterator[Step]:
        pick = self.recorder.table("pick")
        for index, operand in enumerate(list(op.operands)):
            if operand in pick:
                own = self.run.tensors.of(operand)
                assert own is not None
                self._set(op, index, (yield from self._as(operand, own, op)))

    def _yield(self, op: Op) -> Iterator[Step]:
        parent = op.parent
        for index, operand in enumerate(list(op.operands)):
            type = operand.type
            if parent is not None and parent.name in ("scf.for", "scf.if"):
                type = parent.results[index].type
            elif parent is not None and parent.name == "scf.while":
                before = body_of(parent)
                type = before.args[index].type if before is not None else type
            layout = self.run.tensors.of_type(type)
            if layout is not None:
                self._set(op, index, (yield from self._as(operand, layout, op)))

    def _condition(self, op: Op) -> Iterator[Step]:
        parent = op.parent
        for index, operand in enumerate(list(op.operands)):
            if index == 0 or parent is None or index > len(parent.results):
                continue
            layout = self.run.tensors.of(parent.results[index - 1])
            if layout is not None:
                self._set(op, index, (yield from self._as(operand, layout, op)))

    def _reduce_to_scalar(self, op: Op) -> Iterator[Step]:
        pick = self.recorder.table("pick")
        layout = next((pick[operand] for operand in op.operands if operand in pick), None)
        if layout is not None:
            for index, operand in enumerate(list(op.operands)):
                self._set(op, index, (yield from self._as(operand, layout, op)))

    def _assert(self, op: Op) -> Iterator[Step]:
        layout = self.recorder.get("pick", op.operands[0])
        if layout is not None:
            self._set(op, 0, (yield from self._as(op.operands[0], layout, op)))

    # -- ops that are made anew ----------------------------------------------------------------------

    def _rewrite(self, op: Op) -> Generator[Step, None, Op]:
        self.dead.append(op)
        name = kind(op)
        if name in LOOPS_AND_BRANCHES:
            made = yield from self._structured(op, name)
            return made
        layout = self.recorder.get("pick", op.results[0]) or self.run.tensors.of(op.results[0])
        assert layout is not None
        if name == CONVERT:
            made = yield from self._convert(op, layout)
        elif takes_result_encoding(self.run, op, layout):
            copy = clone_before(self.run, op, op)
            made = convert_before(self.run, op, copy.results[0], layout).op or copy
            self._map(op.results[0], made.results[0])
        elif keeps_encoding(name) or name in REWRITABLE:
            made = yield from self._generic(op, layout)
        else:
            yield self.recorder.step(
                "unexpected-op",
                f"{op.name} was picked to become {self.run.show(layout)}, and the pass has no way to rewrite "
                "it: the compiler aborts here (unexpected op in rewrite)",
                op=op,
                value=op.results[0],
                encodings=(layout,),
            )
            self.dead.pop()
            for result in op.results:
                picked: Layout | None = self.recorder.get("pick", result)
                if picked is not None and picked != self.run.tensors.of(result):
                    self.recorder.set("mapping", (result, picked), convert_after(self.run, result, picked))
                    self.recorder.set("poisoned", result, f"{op.name} was not rewritten, but converted")
            return op
        yield self._made(op, made, layout)
        return made

    def _made(self, op: Op, made: Op, layout: Layout) -> Step:
        names = ", ".join(result.name for result in made.results)
        return self.recorder.step(
            "rewrite",
            f"{op.name} {op.results[0].name} is made anew in {self.run.show(layout)} as {names}",
            op=op,
            value=op.results[0],
            encodings=(layout,),
        )

    def _map(self, old: Value, new: Value) -> None:
        """Remember the new value under its own encoding; one of the old type takes over at once."""
        if self.run.tensors.same(old.type, new.type):
            edit.replace_all_uses(old, new)
            return
        layout = self.run.tensors.of(new)
        if layout is not None:
            self.recorder.set("mapping", (old, layout), new)

    def _convert(self, op: Op, layout: Layout) -> Generator[Step, None, Op]:
        source = op.operands[0]
        own = self.recorder.get("pick", source) or self.run.tensors.of(source)
        assert own is not None
        value = yield from self._as(source, own, op)
        made = convert_before(self.run, op, value, layout).op
        assert made is not None
        self.recorder.set("mapping", (op.results[0], layout), made.results[0])
        return made

    def _generic(self, op: Op, layout: Layout) -> Generator[Step, None, Op]:
        made = clone_before(self.run, op, op)
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
        else:
            for index, operand in enumerate(op.operands):
                assert wanted is not None
                self._set(made, index, (yield from self._as(operand, wanted, op)))
        for old, new in zip(op.results, made.results, strict=True):
            if self.run.tensors.of(old) is not None:
                edit.set_type(new, self.run.tensors.with_encoding(old.type, layout))
            self._map(old, new)
        return made

    def _operand_encoding(self, op: Op, layout: Layout) -> Layout | None:
        if self.run.rules.operand_pick_first:
            for operand in op.operands:
                picked: Layout | None = self.recorder.get("pick", operand)
                if picked is not None and self.run.infer.result(op, picked) == layout:
                    return picked
        return self.run.infer.operand(op, layout)

    def _type_of(self, value: Value) -> Type:
        layout: Layout | None = self.recorder.get("pick", value)
        return value.type if layout is None else self.run.tensors.with_encoding(value.type, layout)

    def _structured(self, op: Op, name: str) -> Generator[Step, None, Op]:
        if name == "scf.for":
            made = yield from self._for(op)
        elif name == "scf.while":
            made = yield from self._while(op)
        else:
            made = self._if(op)
        yield self.recorder.step(
            "rewrite",
            f"{op.name} with result {op.results[0].name} is made anew with the results' picks",
            op=op,
            value=op.results[0],
            encodings=tuple(
                layout for result in made.results if (layout := self.run.tensors.of(result)) is not None
            ),
        )
        return made

    def _for(self, op: Op) -> Generator[Step, None, Op]:
        """Iter args and results take the results' picks, whatever the arguments' own are."""
        operands = list(op.operands)
        for index, result in enumerate(op.results):
            layout: Layout | None = self.recorder.get("pick", result)
            if layout is not None:
                operands[index + 3] = yield from self._as(operands[index + 3], layout, op)
        made = replacement(self.run, op, operands, [value.type for value in operands[3:]])
        old_body = op.regions[0].blocks[0]
        types = [old_body.args[0].type, *(value.type for value in operands[3:])]
        self._body(op, made, 0, types)
        for old, new in zip(op.results, made.results, strict=True):
            self._map(old, new)
        self._map_arguments(op, made, 0)
        return made

    def _body(self, op: Op, made: Op, region: int, types: list[Type]) -> None:
        old = op.regions[region].blocks[0]
        new = region_with(made, [(arg.name, type) for arg, type in zip(old.args, types, strict=True)])
        edit.move_ops(old, new)

    def _map_arguments(self, op: Op, made: Op, region: int) -> None:
        old, new = op.regions[region].blocks[0].args, made.regions[region].blocks[0].args
        for before, after in zip(old, new, strict=True):
            self._map(before, after)

    def _while(self, op: Op) -> Generator[Step, None, Op]:
        """The condition region is typed by its arguments' picks, the body by the results' picks."""
        before = op.regions[0].blocks[0]
        operands = list(op.operands)
        for index, arg in enumerate(before.args):
            layout: Layout | None = self.recorder.get("pick", arg)
            if layout is not None:
                operands[index] = yield from self._as(operands[index], layout, op)
        types = [self._type_of(result) for result in op.results]
        made = replacement(self.run, op, operands, types)
        self._body(op, made, 0, [value.type for value in operands])
        self._body(op, made, 1, types)
        for old, new in zip(op.results, made.results, strict=True):
            self._map(old, new)
        self._map_arguments(op, made, 0)
        self._map_arguments(op, made, 1)
        return made

    def _if(self, op: Op) -> Op:
        made = replacement(self.run, op, op.operands, [self._type_of(result) for result in op.results])
        edit.take_regions(op, made)
        for old, new in zip(op.results, made.results, strict=True):
            self._map(old, new)
        return made

    def _erase(self) -> Iterator[Step]:
        """Take the old ops away, the last first; what still uses them gets their values by another way."""
        for op in reversed(self.dead):
            inner = set(walk(op))
            args = [arg for region in op.regions for block in region.blocks for arg in block.args]
            for value in (*op.results, *args):
                if any(user not in inner for user, _ in value.uses):
                    yield from self._rescue(value)
            edit.erase(op)
        yield self.recorder.step("erase", f"{len(self.dead)} op(s) that were made anew are erased")

    def _rescue(self, value: Value) -> Iterator[Step]:
        """Uses of a value that goes away get what replaced it; where no fault led there, this is one."""
        poisoned = self.recorder.table("poisoned")
        if value not in poisoned:
            user = value.uses[0][0]
            yield self.recorder.step(
                "still-used",
                f"{describe(value)} goes away and is still used by {user.name}: "
                "the compiler aborts here (Cannot destroy a value that still has uses)",
                op=user,
                value=value,
            )
        for key, new in list(self.recorder.table("mapping").items()):
            if isinstance(key, tuple) and key[0] is value and isinstance(new, Value):
                own = self.run.tensors.of(value)
                assert own is not None
                back = convert_after(self.run, new, own)
                edit.replace_all_uses(value, back)
                self.recorder.set("poisoned", back, "stands in for a value without mapping")
                return


def _sentence(run: Run, found: Missing) -> str:
    asked = f"in {run.show(found.wanted)}, which {found.asked_by.name} asks for"
    what = f"{describe(found.value)} has no rewritten value {asked}"
    if found.owner is None or found.reason == "not-yet":
        return f"{what}: its owner was not come to yet"
    if found.reason == "other-encoding":
        return f"{what}: {found.owner.name} was made anew under another encoding"
    return f"{what}: {found.owner.name} was kept, because the picks of its results are their types"
