"""What must hold of any program: chains agree, definitions dominate uses, blocks end as they should.

The rules are MLIR's (uses dominate, terminators, types along region edges) and MIGraphX's (`@return`
ends a module). Violations come back as diagnostics; nothing is raised and nothing is changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from .errors import Diagnostic
from .formats.mlir_syntax import is_isolated
from .formats.mlir_text import expand_aliases
from .program import Block, Op, Program, Region, Use, Value, walk
from .types import UNKNOWN

_TERMINATORS: Final = frozenset(
    {"return", "yield", "br", "cond_br", "switch", "condition", "unreachable", "terminator", "warp_return",
     "warp_yield", "in_parallel", "resume", "@return", "end", "assert_terminator"}
)  # fmt: skip
# Ops whose regions are known to need a terminator; others may be graph regions.
_TERMINATED: Final = (".func", "scf.for", "scf.if", "scf.while", "tt.reduce", "tt.scan", "scf.execute_region")
_MANY_USES: Final = 16


@dataclass(slots=True)
class _Numbers:
    """Preorder numbers: `enter[op] <= enter[x] < leave[op]` holds exactly for the ops x in `op`'s subtree."""

    enter: dict[int, int] = field(default_factory=dict)
    leave: dict[int, int] = field(default_factory=dict)
    blocks: dict[int, tuple[int, int]] = field(default_factory=dict)


def verify(program: Program) -> list[Diagnostic]:
    """Everything wrong with the structure of `program`, in text order; [] for a sound one.

    Codes: `broken-chain` (uses and operands disagree), `undefined-value`, `use-before-definition`,
    `not-visible`, `missing-terminator`, `region-edge-type`.
    """
    numbers = _number(program)
    found: list[Diagnostic] = []
    known: dict[Value, set[Use]] = {}
    for op in walk(program):
        found.extend(_chains(op, known))
        # A MIGraphX module may read what the module that calls it has made.
        captures = program.format == "migraphx"
        found.extend(d for d in _operands(op, numbers) if not (captures and d.code == "not-visible"))
        if program.format != "onnx":
            found.extend(_terminators(op, program.format))
        found.extend(_region_edges(op, program.aliases))
    return found


def _number(program: Program) -> _Numbers:
    numbers = _Numbers()
    count = 0
    stack: list[tuple[Op | Block, bool]] = [(block, False) for block in reversed(program.body.blocks)]
    while stack:
        item, done = stack.pop()
        if isinstance(item, Block):
            if done:
                numbers.blocks[id(item)] = (numbers.blocks[id(item)][0], count)
                continue
            numbers.blocks[id(item)] = (count, count)
            stack.append((item, True))
            stack.extend((op, False) for op in reversed(item.ops))
        elif done:
            numbers.leave[id(item)] = count
        else:
            numbers.enter[id(item)] = count
            count += 1
            stack.append((item, True))
            inner = [block for region in item.regions for block in region.blocks]
            stack.extend((block, False) for block in reversed(inner))
    return numbers


def _chains(op: Op, known: dict[Value, set[Use]]) -> Iterator[Diagnostic]:
    """Where operands and uses disagree; `known` keeps the uses of often used values as sets."""
    for index, value in enumerate(op.operands):
        uses: list[Use] | set[Use] = value.uses
        if len(value.uses) > _MANY_USES:
            uses = known.get(value) or known.setdefault(value, set(value.uses))
        if (op, index) not in uses:
            yield Diagnostic(
                "broken-chain",
                f"operand {index} of {op.name} is not among the uses of {value.name}",
                op.start,
            )
    for result in op.results:
        for user, index in result.uses:
            if index >= len(user.operands) or user.operands[index] is not result:
                yield Diagnostic(
                    "broken-chain", f"{result.name} lists a use by {user.name} that is not there", op.start
                )


def _operands(op: Op, numbers: _Numbers) -> Iterator[Diagnostic]:
    for index, value in enumerate(op.operands):
        problem = _visibility(op, value, numbers)
        if problem:
            code, what = problem
            yield Diagnostic(code, f"operand {index} of {op.name}, {value.name}, {what}", op.start)


def _visibility(op: Op, value: Value, numbers: _Numbers) -> tuple[str, str] | None:
    owner = value.owner
    if owner is None:
        return "undefined-value", "is never defined"
    block = owner if isinstance(owner, Block) else owner.block
    if block is None or id(block) not in numbers.blocks:
        return "not-visible", "belongs to an op that is not in the program"
    at = numbers.enter[id(op)]
    low, high = numbers.blocks[id(block)]
    if low <= at < high:
        if isinstance(owner, Op) and numbers.leave[id(owner)] > at and not _is_graph(block):
            return "use-before-definition", "is defined further down"
        return None
    inside = _ancestor_in(op, block.parent)
    if inside is None:
        return "not-visible", "is defined in a region that does not contain the use"
    if inside.block is not None and not _dominates(block, inside.block):
        return (
            "use-before-definition",
            f"is defined in {block.label or 'a block'} that does not dominate the use",
        )
    return None


def _is_graph(block: Block) -> bool:
    parent = block.parent.parent if block.parent else None
    return parent is None or parent.name in ("builtin.module", "hw.module")


def _ancestor_in(op: Op, region: Region | None) -> Op | None:
    """The op of `region` (any block) that is `op` or holds it; None across an isolated op."""
    current: Op | None = op
    while current is not None and current.block is not None:
        if current.block.parent is region:
            return current
        current = current.parent
        if current is not None and is_isolated(current.name):
            return None
    return None


def _dominates(above: Block, below: Block) -> bool:
    """Whether every way from the region's entry to `below` passes `above` (both in one region)."""
    region = above.parent
    if region is None or not region.blocks or above is region.blocks[0]:
        return True
    seen = {id(region.blocks[0])}
    work = [region.blocks[0]]
    while work:
        block = work.pop()
        for successor in block.ops[-1].successors if block.ops else ():
            if successor is above or id(successor) in seen:
                continue
            if successor is below:
                return False
            seen.add(id(successor))
            work.append(successor)
    return below is not region.blocks[0]


def _terminators(op: Op, format: str) -> Iterator[Diagnostic]:
    needs = format == "migraphx" or op.name.endswith(_TERMINATED)
    for region in op.regions:
        for block in region.blocks:
            if not needs and len(region.blocks) < 2:
                continue
            last = block.ops[-1] if block.ops else None
            if last is None and format == "mlir" and len(region.blocks) == 1:
                continue  # an empty body is a declaration, or an implicit terminator left out
            if last is None or not (last.successors or last.name.rpartition(".")[2] in _TERMINATORS):
                ends = f"ends with {last.name or 'unread text'}" if last else "is empty"
                where = last.start if last else op.start
                yield Diagnostic(
                    "missing-terminator", f"a block of {op.name} {ends}, not with a terminator", where
                )


def _region_edges(op: Op, aliases: dict[str, str]) -> Iterator[Diagnostic]:
    """Types along the edges into and out of the regions of scf.for, scf.if and scf.while."""
    for what, left, right in _edges(op):
        for index, (a, b) in enumerate(zip(left, right, strict=False)):
            if a.type is UNKNOWN or b.type is UNKNOWN or a.type.text == b.type.text:
                continue
            one, other = (expand_aliases(v.type.text, aliases) for v in (a, b))
            if one != other:
                yield Diagnostic(
                    "region-edge-type",
                    f"{op.name}: {what} #{index} disagree: {a.name} is {one}, {b.name} is {other}",
                    op.start,
                )
        if len(left) != len(right):
            yield Diagnostic(
                "region-edge-type",
                f"{op.name}: {what} differ in number: {len(left)} and {len(right)}",
                op.start,
            )


def _edges(op: Op) -> Iterator[tuple[str, list[Value], list[Value]]]:
    lasts = [r.blocks[-1].ops[-1] for r in op.regions if r.blocks and r.blocks[-1].ops]
    entry = op.regions[0].blocks[0] if op.regions and op.regions[0].blocks else None
    if op.name == "scf.if" and op.results:
        for last in lasts:
            if last.name == "scf.yield":
                yield "result and yielded value", op.results, last.operands
    elif op.name == "scf.for" and entry is not None and lasts and lasts[0].name == "scf.yield":
        yield "init and iter_arg", op.operands[3:], entry.args[1:]
        yield "iter_arg and yielded value", entry.args[1:], lasts[0].operands
        yield "iter_arg and result", entry.args[1:], op.results
    elif op.name == "scf.while" and len(lasts) == 2 and lasts[0].name == "scf.condition":
        after = op.regions[1].blocks[0]
        yield "operand and before-argument", op.operands, entry.args if entry else []
        yield "condition operand and after-argument", lasts[0].operands[1:], after.args
        yield "condition operand and result", lasts[0].operands[1:], op.results
        if lasts[1].name == "scf.yield" and entry is not None:
            yield "yielded value and before-argument", lasts[1].operands, entry.args
