"""Kernels that compute element by element write over an operand that nobody reads afterwards.

Such a kernel reads each element before it writes the same one, so that it needs no second buffer. MIGraphX
gives it one all the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from ... import edit
from ...analysis.pointwise import is_pointwise
from ...analysis.views import buffer_of, captured, is_view, outer_load
from ...program import Block, Op, Program, Value, symbol
from ..step import PHASE, Recorder, Step


def reuse(program: Program, block: Block, recorder: Recorder) -> Iterator[Step]:
    """Give pointwise kernels the buffer of an operand, where types are equal and its last use is here."""
    recorder.phase = "reuse"
    yield recorder.step("phase", "pointwise kernels write over operands that die there", depth=PHASE)
    modules = {symbol(op): op for op in program.ops if op.name == "module"}
    ops = [op for op in block.ops if op.name and op.name != "load" and not is_view(op)]
    last = _last_uses(ops)
    places = {id(op): at for at, op in enumerate(ops)}
    for at, op in enumerate(ops):
        if not op.operands or not is_pointwise(op, modules):
            continue
        target = _load_of(op.operands[-1])
        if target is None or not _is_own(op.operands[-1], target, places, at):
            continue
        for value in op.operands[:-1]:
            source = _load_of(value)
            if source is None or source is target or not _dies(op, value, source, last, at):
                continue
            edit.replace_all_uses(target.results[0], source.results[0])
            edit.erase(target)
            last[id(source)] = last.get(id(target), at)
            name = op.results[0].name
            why = f"{name} writes over {value.name}, which nothing reads afterwards: one buffer less"
            yield recorder.step("reuse", why, op=op, value=value)
            break


def _load_of(value: Value) -> Op | None:
    """The buffer that a value lies in; None for one that is no piece of the arena of its own."""
    op = buffer_of(value).op
    if op is None or op.name not in ("load", "hip::allocate", "allocate") or not op.results:
        return None
    return op if op.name != "load" or outer_load(op)[0] is op else None


def _last_uses(ops: list[Op]) -> dict[int, int]:
    """The last place that touches each buffer, by the identity of what makes the buffer."""
    last: dict[int, int] = {}
    for at, op in enumerate(ops):
        for value in (*op.operands, *captured(op)):
            root = buffer_of(value).op
            if root is not None:
                outer = outer_load(root)[0] if root.name == "load" else root
                last[id(outer)] = last[id(root)] = at
    return last


def _is_own(output: Value, target: Op, places: dict[int, int], at: int) -> bool:
    """Whether the kernel is the first to use its buffer, and writes all of it."""
    if output is not target.results[0]:
        return False
    return all(
        not is_view(user) and user.name != "load" and places.get(id(user), at) >= at
        for user, _ in output.uses
    )


def _dies(op: Op, value: Value, source: Op, last: dict[int, int], at: int) -> bool:
    """Whether an operand's buffer ends here, is read whole and once, and has the result's very type."""
    return (
        last.get(id(source)) == at
        and value.type.text == op.operands[-1].type.text == source.results[0].type.text
        and not any(user.name == "load" for user, _ in source.results[0].uses)
        and sum(buffer_of(each).op is source for each in op.operands[:-1]) == 1
        and value.op is not None
        and not is_view(value.op)
    )
