"""Canonical forms of loops and branches that the last clean-up brings about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ... import edit
from ...program import Block, Op, Value, walk
from .greedy import Pattern, Rewriter, has_no_effect
from .state import body_of, terminator


def dead_loop_values(rewriter: Rewriter, op: Op) -> str | None:
    """Yields of a loop that nothing alive depends on become the arguments themselves (rule of 3.0 to 3.7)."""
    body = body_of(op)
    last = terminator(body)
    if body is None or last is None:
        return None
    alive = _alive(op, body, last)
    if alive is None:
        return None
    dead = [
        index
        for index, value in enumerate(last.operands)
        if value not in alive
        and value is not body.args[index + 1]
        and body.args[index + 1] not in alive  # a value from outside is in no list, and may be needed
        and not op.results[index].uses
    ]
    if not dead:
        return None
    for index in dead:
        edit.set_operand(last, index, body.args[index + 1])
    rewriter.push(last)
    rewriter.push(op)
    names = ", ".join(f"#{index}" for index in dead)
    return f"nothing alive needs what {op.name} carries as {names}"


def _alive(op: Op, body: Block, last: Op) -> set[Value] | None:
    """The values inside a loop that matter outside or have an effect; None if all do or it is unclear."""
    inside = set(walk(op))
    alive: set[Value] = set()
    work: list[Value] = []

    def mark(value: Value) -> None:
        owner = value.owner
        around = owner.parent.parent if isinstance(owner, Block) and owner.parent else owner
        if around in inside and value not in alive and (around is not op or isinstance(owner, Block)):
            alive.add(value)
            work.append(value)

    for index, result in enumerate(op.results):
        if result.uses:
            mark(last.operands[index])
    if len(alive) == len(op.results):
        return None
    for inner in walk(body):
        if inner.name not in ("scf.yield", "scf.for") and not has_no_effect(inner):
            for operand in inner.operands:
                mark(operand)
    while work:
        value = work.pop()
        if not _spread(value, mark):
            return None
    return alive


def _spread(value: Value, mark: Callable[[Value], None]) -> bool:
    """Mark what a value is made from; False where that cannot be told."""
    op = value.op
    if op is not None and op.name == "scf.for":
        mark(op.operands[value.index + 3])
        last = terminator(body_of(op))
        if last is not None:
            mark(last.operands[value.index])
        return True
    if op is not None and op.name == "scf.if":
        for region in range(len(op.regions)):
            last = terminator(body_of(op, region))
            if last is not None and last.name == "scf.yield":
                mark(last.operands[value.index])
        return True
    if op is not None:
        if op.name == "scf.while":
            return False
        for operand in op.operands:
            mark(operand)
        return True
    block = value.owner
    owner = block.parent.parent if isinstance(block, Block) and block.parent is not None else None
    if owner is not None and owner.name == "scf.for" and value.index > 0:
        last = terminator(body_of(owner))
        if last is not None:
            mark(last.operands[value.index - 1])
        mark(owner.operands[value.index + 2])
    return True


def forwarded_loop_values(rewriter: Rewriter, op: Op) -> str | None:
    """Values that a loop only hands through, or carries twice, leave it."""
    body = body_of(op)
    last = terminator(body)
    if body is None or last is None:
        return None
    seen: dict[tuple[Value, Value], int] = {}
    dropped: list[int] = []
    for index, result in enumerate(op.results):
        arg, init, yielded = body.args[index + 1], op.operands[index + 3], last.operands[index]
        if arg is yielded or (not arg.uses and (yielded is init or not result.uses)):
            rewriter.replace_value(arg, init)
            rewriter.replace_value(result, init)
            dropped.append(index)
            continue
        first = seen.setdefault((init, yielded), index)
        if first != index:
            rewriter.replace_value(arg, body.args[first + 1])
            rewriter.replace_value(result, op.results[first])
            dropped.append(index)
    if not dropped:
        return None
    for index in reversed(dropped):
        for value in (last.operands[index], op.operands[index + 3]):
            if value.op is not None:
                rewriter.push(value.op)
        edit.erase_operand(last, index)
        edit.erase_argument(body, index + 1)
        edit.erase_operand(op, index + 3)
        edit.erase_result(op, index)
    rewriter.push(op)
    return f"{op.name} need not carry {len(dropped)} value(s)"


def unused_branch_results(rewriter: Rewriter, op: Op) -> str | None:
    """Results of a branch that nobody uses leave it."""
    unused = [result.index for result in op.results if not result.uses]
    if not unused:
        return None
    for index in reversed(unused):
        for region in range(len(op.regions)):
            last = terminator(body_of(op, region))
            if last is not None and last.name == "scf.yield":
                value = last.operands[index]
                edit.erase_operand(last, index)
                if value.op is not None:
                    rewriter.push(value.op)
        edit.erase_result(op, index)
    rewriter.push(op)
    return f"{len(unused)} result(s) of {op.name} have no use"


def branch_with_outer_results(rewriter: Rewriter, op: Op) -> str | None:
    """Results that both branches take from outside are selected instead."""
    lasts = [terminator(body_of(op, region)) for region in range(2)]
    if (
        not op.results
        or len(op.regions) < 2
        or any(last is None or last.name != "scf.yield" for last in lasts)
    ):
        return None
    inside = set(walk(op))
    outer: list[int] = []
    for index in range(len(op.results)):
        values = [last.operands[index] for last in lasts if last is not None]
        if all(_defined_in(value) not in inside for value in values):
            outer.append(index)
    if not outer:
        return None
    then, other = lasts
    assert then is not None and other is not None
    for index in outer:
        a, b = then.operands[index], other.operands[index]
        chosen = a
        if a is not b:
            made = rewriter.create(op, "arith.select", [op.operands[0], a, b], [op.results[index].type])
            chosen = made.results[0]
        rewriter.replace_value(op.results[index], chosen)
    for index in reversed(outer):
        edit.erase_operand(then, index)
        edit.erase_operand(other, index)
        edit.erase_result(op, index)
    rewriter.push(op)
    return f"{len(outer)} result(s) of {op.name} come from outside it"


def _defined_in(value: Value) -> Op | None:
    owner = value.owner
    if isinstance(owner, Block):
        return owner.parent.parent if owner.parent is not None else None
    return owner


def empty_else(rewriter: Rewriter, op: Op) -> str | None:
    """An else branch that does nothing goes."""
    if op.results or len(op.regions) < 2 or not op.regions[1].blocks:
        return None
    block = op.regions[1].blocks[0]
    if len(op.regions[1].blocks) > 1 or len(block.ops) != 1:
        return None
    edit.erase(block.ops[0])
    edit.erase_blocks(op.regions[1])
    return f"the else branch of {op.name} does nothing"


LOOP_PATTERNS: Final[dict[str, list[Pattern]]] = {"scf.for": [forwarded_loop_values]}
BRANCH_PATTERNS: Final[dict[str, list[Pattern]]] = {
    "scf.if": [branch_with_outer_results, unused_branch_results, empty_else]
}
