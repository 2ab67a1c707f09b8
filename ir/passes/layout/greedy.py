"""MLIR's greedy rewriting, as far as its order can be seen in the result.

Ops are taken from a work-list, the last of the program first: one without use and effect is erased, one
that folds is replaced, else the patterns are tried. Constants are made one per value and function, and moved
to the top of it, whenever an iteration begins. It ends when an iteration changes nothing, and gives up after
ten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from ... import edit
from ...formats.mlir_syntax import is_isolated
from ...formats.mlir_text import expand_aliases
from ...program import Block, Op, Region, Value, walk, walk_post
from ...types import Type
from ..step import DETAIL, OP, Step
from .names import HAS_BODY_EFFECTS, TERMINATORS, is_removable, kind
from .state import Run

MAX_ITERATIONS: Final = 10

Pattern: TypeAlias = Callable[["Rewriter", Op], str | None]
"""Rewrites an op and says what it did, in a sentence; None if it does not apply."""


class Rewriter:
    """What patterns edit through, so that the driver knows what to look at again."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.work: list[Op] = []
        self.listed: set[Op] = set()
        self.gone: set[Op] = set()

    def push(self, op: Op) -> None:
        """Look at an op, and then at the ops around it, before anything else in the list."""
        current: Op | None = op
        while current is not None:
            if current not in self.listed:
                self.listed.add(current)
                self.work.append(current)
            current = current.parent

    def pop(self) -> Op | None:
        """The op to look at next."""
        while self.work:
            op = self.work.pop()
            self.listed.discard(op)
            if op not in self.gone:
                return op
        return None

    def insert_before(self, anchor: Op, op: Op) -> Op:
        """Put a new op in front of another."""
        for result in op.results:
            if not result.name:
                result.name = self.run.new_name()
        edit.insert_before(anchor, op)
        self.push(op)
        return op

    def create(
        self,
        anchor: Op,
        name: str,
        operands: Sequence[Value],
        types: Sequence[Type],
        attributes: dict[str, str] | None = None,
    ) -> Op:
        """A new op in front of `anchor`."""
        return self.insert_before(anchor, edit.create(name, operands, types, attributes))

    def replace_value(self, old: Value, new: Value) -> None:
        """Make all uses of a value uses of another."""
        users = [use[0] for use in old.uses]
        edit.replace_all_uses(old, new)
        for user in users:
            self.push(user)

    def replace(self, op: Op, values: Sequence[Value]) -> None:
        """Put other values in the place of an op's results, and erase it."""
        for old, new in zip(op.results, values, strict=True):
            self.replace_value(old, new)
        self.erase(op)

    def set_operand(self, op: Op, index: int, value: Value) -> None:
        """Change an operand."""
        old = op.operands[index]
        edit.set_operand(op, index, value)
        if old.op is not None:
            self.push(old.op)
        self.push(op)

    def erase(self, op: Op) -> None:
        """Erase an op without uses, and look at what it used."""
        inner = list(walk(op))
        used = [operand.op for dead in inner for operand in dead.operands if operand.op is not None]
        edit.erase(op)
        self.gone.update(inner)
        for defining in used:
            if defining not in self.gone:
                self.push(defining)


class Constants:
    """The constants of each function, one for each value and type, at the top of it."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.known: dict[tuple[Region, str], Op] = {}
        self.owned: set[Op] = set()

    def insert(self, rewriter: Rewriter, op: Op) -> bool:
        """Take a constant in; False if it was a second one and is erased."""
        region = _scope(op)
        if region is None:
            return True
        key = (region, self._key(op))
        first = self.known.get(key)
        if first is not None:
            edit.replace_all_uses(op.results[0], first.results[0])
            rewriter.gone.add(op)
            edit.erase(op)
            return False
        self.known[key] = op
        self._place(op, region.blocks[0])
        self.owned.add(op)
        return True

    def _place(self, op: Op, top: Block) -> None:
        block = op.block
        assert block is not None
        at = block.ops.index(op)
        if block is not top or (at > 0 and block.ops[at - 1] not in self.owned):
            edit.move(op, before=top.ops[0])

    def _key(self, op: Op) -> str:
        value = op.attributes.get("value", "")
        text = expand_aliases(f"{value} : {op.results[0].type.text}", self.run.program.aliases)
        own = self.run.tensors.of(op.results[0])
        return f"{value.partition(' : ')[0]} {op.results[0].type.text if own is None else own!r} {text}"


def _scope(op: Op) -> Region | None:
    """The region at whose top the constants for this op are kept."""
    region = op.block.parent if op.block is not None else None
    while region is not None and region.parent is not None:
        if is_isolated(region.parent.name) or region.parent.block is None:
            return region
        region = region.parent.block.parent
    return region


def is_dead(op: Op) -> bool:
    """Whether an op has no use and no effect, so that it can be erased."""
    if any(result.uses for result in op.results):
        return False
    return has_no_effect(op)


def has_no_effect(op: Op) -> bool:
    """Whether an op could be erased if nothing used it."""
    name = kind(op)
    if name in TERMINATORS:
        return False
    if name in HAS_BODY_EFFECTS:
        return all(
            kind(inner) in TERMINATORS or kind(inner) in HAS_BODY_EFFECTS or is_removable(inner)
            for region in op.regions
            for block in region.blocks
            for inner in walk(block)
        )
    return is_removable(op)


def greedy(run: Run, patterns: dict[str, list[Pattern]], what: str) -> Iterator[Step]:
    """Apply patterns (by kind of op) until nothing changes."""
    rewriter = Rewriter(run)
    for _ in range(MAX_ITERATIONS):
        changed = False
        constants = Constants(run)
        rewriter.work.clear()
        rewriter.listed.clear()
        listed = []
        for op in list(walk_post(run.program)):
            if op.name == "arith.constant":
                if constants.insert(rewriter, op):
                    listed.append(op)
            elif kind(op) not in ("builtin.module",):
                listed.append(op)
        rewriter.work = listed
        rewriter.listed = set(listed)
        while (taken := rewriter.pop()) is not None:
            op = taken
            if is_dead(op):
                rewriter.erase(op)
                changed = True
                yield run.recorder.step("erase-dead", f"{_named(op)} has no use", op=op, depth=DETAIL)
                continue
            for pattern in patterns.get(kind(op), ()):
                done = pattern(rewriter, op)
                if done is not None:
                    changed = True
                    yield run.recorder.step("fold", done, op=op, depth=OP)
                    break
        if not changed:
            return
    yield run.recorder.step(
        "no-convergence", f"{what} still changes after {MAX_ITERATIONS} iterations: the pass fails here"
    )


def _named(op: Op) -> str:
    names = ", ".join(result.name for result in op.results)
    return f"{op.name} {names}" if names else op.name
