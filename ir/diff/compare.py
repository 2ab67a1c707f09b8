"""Compare two programs: `compare(a, b)` says which ops changed, and in what."""

from __future__ import annotations

import gc
from typing import Final

from ..program import Program
from .fill import fill
from .fingerprint import label
from .index import Side, index
from .options import DEFAULT, Options
from .parts import parts_of
from .prior import Both, Manner, guess
from .relate import Matching
from .repair import count_differences, repair
from .result import Change, Diff, Part, Status
from .sequence import longest_increasing
from .shape import Shapes, shape

_FEW: Final = 50
"""Fewer differences than one op in so many: edits here and there, and no general reordering."""
_SMALL: Final = 4_000
"""Programs of fewer ops in all are matched in every manner; the others in two."""


def compare(a: Program, b: Program, options: Options = DEFAULT) -> Diff:
    """Match the ops of two programs and report those that are not the same.

    Deterministic; `compare(b, a)` is the mirror of `compare(a, b)`. Takes time in proportion to the
    size of the programs (times its logarithm) and, up to some hundreds, to the square of the number of
    differences.
    """
    collecting = gc.isenabled()
    gc.disable()  # no cycle dies in here, and the collector would walk both programs again and again
    try:
        return _compare(index(a), index(b), options)
    finally:
        if collecting:
            gc.enable()


def _compare(a: Side, b: Side, options: Options) -> Diff:
    shapes = shape(a, b, options)
    if shapes.swapped:
        a, b = b, a
    if _identical(a, b, shapes):
        return _diff_of_identical(a, b, options)
    matching = match(a, b, shapes)
    changes = _changes(matching, shapes, matching.moved)
    diff = Diff(
        a, b, options,
        matching.ops_a, matching.ops_b, matching.values_a, matching.values_b,
        matching.blocks_a, matching.blocks_b, changes,
    )  # fmt: skip
    if shapes.swapped:
        diff = _mirror(diff)
    diff.changes = _in_reading_order(diff)
    if options.only:
        diff.changes = [kept for change in diff.changes if (kept := _narrowed(change, options.only))]
    return diff


def _narrowed(change: Change, only: frozenset[str]) -> Change | None:
    """The change with the parts that were asked for, or None where nothing of it was."""
    if change.status in only and change.status != "changed":
        return change
    parts = change.parts if "changed" in only else [part for part in change.parts if part.kind in only]
    moved = change.moved and "moved" in only
    if not parts and not moved:
        return None
    status: Status = "changed" if parts else "moved"
    return Change(status, change.a, change.b, change.index_a, change.index_b, moved, parts)


def match(a: Side, b: Side, shapes: Shapes) -> Matching:
    """Decide which op of `b` is which op of `a`."""
    numbers: dict[str, int] = {}
    names_a = [numbers.setdefault(op.name, len(numbers)) for op in a.ops]
    names_b = [numbers.setdefault(op.name, len(numbers)) for op in b.ops]
    left, right = label(a, shapes.ops[0], names_a), label(b, shapes.ops[1], names_b)
    whole = (
        [hash(pair) for pair in zip(left.upward, left.downward, strict=True)],
        [hash(pair) for pair in zip(right.upward, right.downward, strict=True)],
    )
    both = Both(a, b, shapes.ops, (names_a, names_b), (left, right), whole)
    found = _attempt(both, "forward")
    size = len(a.ops) + len(b.ops)
    others: list[Manner] = []
    if found.cost * _FEW < size or size < _SMALL:
        others.append("backward")
    if found.cost * _FEW >= size or size < _SMALL:
        others.append("use")
    for manner in others if found.cost > 1 else ():
        found = min(found, _attempt(both, manner), key=lambda matching: matching.cost)
    return found


def _attempt(both: Both, manner: Manner) -> Matching:
    matching = Matching(both, guess(both, manner))
    if matching.guess.by_place:
        matching.trust_guess()
    matching.decide_all()
    matching.decide_all()
    fill(matching)
    if repair(matching):
        fill(matching)
        repair(matching)
    _part_implicit(matching)
    matching.moved = _moved(matching)
    matching.cost = count_differences(matching) + len(matching.moved)
    return matching


def _identical(a: Side, b: Side, shapes: Shapes) -> bool:
    """Whether the two programs are the same op by op; much the most frequent case in a trace."""
    return (
        shapes.ops[0] == shapes.ops[1]
        and a.operands == b.operands
        and a.parent == b.parent
        and a.block_of == b.block_of
        and shapes.blocks[0] == shapes.blocks[1]
        and _successors(a) == _successors(b)
    )


def _successors(side: Side) -> list[tuple[int, ...]]:
    return [tuple(side.block_number.get(s, -1) for s in op.successors) for op in side.ops if op.successors]


def _diff_of_identical(a: Side, b: Side, options: Options) -> Diff:
    ops, values, blocks = list(range(len(a.ops))), list(range(len(a.values))), list(range(len(a.blocks)))
    return Diff(a, b, options, ops, list(ops), values, list(values), blocks, list(blocks), [])


def _part_implicit(matching: Matching) -> None:
    """A terminator that the text leaves out carries nothing; one that carries something is another op."""
    a, b = matching.both.a, matching.both.b
    for i, j in enumerate(matching.ops_a):
        if j >= 0 and a.ops[i].implicit != b.ops[j].implicit and (a.operands[i] or b.operands[j]):
            matching.unmatch(i, j)


def _moved(matching: Matching) -> set[int]:
    """The ops of a whose counterpart is in another block, or out of the order of the ones that stayed."""
    a, b = matching.both.a, matching.both.b
    moved: set[int] = set()
    for block_a, members in enumerate(a.members):
        block_b = matching.blocks_a[block_a]
        inside: list[int] = []
        for i in members:
            j = matching.ops_a[i]
            if j < 0:
                continue
            if b.block_of[j] == block_b:
                inside.append(i)
            else:
                moved.add(i)
        places = [b.place[matching.ops_a[i]] for i in inside]
        stayed = set(longest_increasing(places))
        moved.update(i for at, i in enumerate(inside) if at not in stayed)
    return moved


def _changes(matching: Matching, shapes: Shapes, moved: set[int]) -> list[Change]:
    a, b = matching.both.a, matching.both.b
    changes: list[Change] = []
    for i, j in enumerate(matching.ops_a):
        op = a.ops[i]
        if j < 0:
            if not op.implicit:
                changes.append(Change("removed", op, None, i, -1))
            continue
        parts = _quick_parts(matching, shapes, i, j)
        if parts:
            changes.append(Change("changed", op, b.ops[j], i, j, i in moved, parts))
        elif i in moved:
            changes.append(Change("moved", op, b.ops[j], i, j, True))
    for j, i in enumerate(matching.ops_b):
        if i < 0 and not b.ops[j].implicit:
            changes.append(Change("added", None, b.ops[j], -1, j))
    return changes


def _quick_parts(matching: Matching, shapes: Shapes, i: int, j: int) -> list[Part]:
    both = matching.both
    a, b = both.a, both.b
    if both.shapes[0][i] == both.shapes[1][j] and not a.inner[i] and not b.inner[j]:
        values = matching.values_a
        left, right = a.operands[i], b.operands[j]
        if len(left) == len(right) and not a.ops[i].successors and not b.ops[j].successors:
            for x, y in zip(left, right, strict=True):
                if values[x] != y:
                    break
            else:
                return []
    return parts_of(matching, shapes, i, j)


def _mirror(diff: Diff) -> Diff:
    """The comparison seen from the other side."""
    status: dict[Status, Status] = {"added": "removed", "removed": "added"}
    changes = []
    for change in diff.changes:
        parts = [Part(p.kind, p.which, p.new, p.old, p.new_value, p.old_value) for p in change.parts]
        mirrored = Change(
            status.get(change.status, change.status),
            change.b, change.a, change.index_b, change.index_a, change.moved, parts,
        )  # fmt: skip
        changes.append(mirrored)
    return Diff(
        diff.b, diff.a, diff.options, diff.ops_b, diff.ops_a, diff.values_b, diff.values_a,
        diff.blocks_b, diff.blocks_a, changes,
    )  # fmt: skip


def _in_reading_order(diff: Diff) -> list[Change]:
    """By place in b; what is gone stands behind the nearest earlier op of a that has a counterpart."""
    last = -1
    anchor: list[int] = []
    for j in diff.ops_a:
        last = j if j >= 0 else last
        anchor.append(last)
    keyed = []
    for change in diff.changes:
        if change.index_b >= 0:
            keyed.append((change.index_b, 0, change.index_a, change))
        else:
            keyed.append((anchor[change.index_a], 1, change.index_a, change))
    keyed.sort(key=lambda entry: entry[:3])
    return [entry[3] for entry in keyed]
