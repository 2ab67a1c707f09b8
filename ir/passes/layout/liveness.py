"""Loop arguments that nothing alive depends on, found for a whole program at once (Triton 3.8 and later)."""

from __future__ import annotations

from collections.abc import Iterator

from ... import edit
from ...program import Block, Op, Value, walk
from ..step import Step
from .greedy import has_no_effect
from .names import LOOPS_AND_BRANCHES, TERMINATORS, kind
from .remat_cost import flows_into
from .state import Run, body_of, role, terminator

_FORWARDING = frozenset({"scf.yield", "scf.condition"})


def live_values(run: Run) -> set[Value]:
    """The values that an effect, a return or a decision depends on."""
    live: set[Value] = set()
    work: list[Value] = []

    def mark(value: Value) -> None:
        if value not in live:
            live.add(value)
            work.append(value)

    for op in walk(run.program):
        for index, operand in enumerate(op.operands):
            if _is_root(op, index):
                mark(operand)
    while work:
        for source in _sources(work.pop()):
            mark(source)
    return live


def _is_root(op: Op, index: int) -> bool:
    name = kind(op)
    if name in _FORWARDING:
        return op.name == "scf.condition" and index == 0
    if name in LOOPS_AND_BRANCHES:
        # what a loop or branch decides by matters where its regions have an effect
        return flows_into((op, index)) is None and not has_no_effect(op)
    if name in TERMINATORS:
        return name in ("tt.return", "ttg.warp_yield", "cf.cond_br", "cf.br")
    return not has_no_effect(op)


def _sources(value: Value) -> Iterator[Value]:
    owner = value.owner
    op = owner
    if isinstance(owner, Block):
        op = owner.parent.parent if owner.parent is not None else None
    if not isinstance(op, Op):
        return
    if op.name in LOOPS_AND_BRANCHES:
        yield from _through(op, value, isinstance(owner, Block))
        return
    if isinstance(owner, Op):
        yield from op.operands
        for region in op.regions:
            for block in region.blocks:
                last = terminator(block)
                if last is not None:
                    yield from last.operands


def _through(op: Op, value: Value, is_argument: bool) -> Iterator[Value]:
    """What a result or argument of a loop or branch is made from, with what decides how often."""
    if op.name == "scf.for":
        yield from op.operands[:3]
        number = value.index - 1 if is_argument else value.index
        last = terminator(body_of(op))
        if number >= 0:
            yield op.operands[number + 3]
            if last is not None:
                yield last.operands[number]
    elif op.name == "scf.if":
        yield op.operands[0]
        for region in range(len(op.regions)):
            last = terminator(body_of(op, region))
            if last is not None and last.operands:
                yield last.operands[value.index]
    else:
        condition, last = terminator(body_of(op)), terminator(body_of(op, 1))
        before = body_of(op)
        if is_argument and value.owner is before:
            yield op.operands[value.index]
            if last is not None:
                yield last.operands[value.index]
        elif condition is not None:
            yield condition.operands[0]
            yield condition.operands[value.index + 1]


def drop_dead_arguments(run: Run) -> Iterator[Step]:
    """Uses of a dead loop argument become uses of what it begins with."""
    live = live_values(run)
    for op in list(walk(run.program)):
        if op.name not in ("scf.for", "scf.while"):
            continue
        body = body_of(op)
        if body is None:
            continue
        first, offset = (1, 2) if op.name == "scf.for" else (0, 0)
        for arg in body.args[first:]:
            if arg in live or not arg.uses:
                continue
            init = op.operands[arg.index + offset]
            edit.replace_all_uses(arg, init)
            yield run.recorder.step(
                "dead-argument",
                f"nothing alive depends on {role(arg)} {arg.name} of {op.name}: {init.name} will do for it",
                op=op,
                value=arg,
            )
