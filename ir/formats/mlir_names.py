"""The names under which the values of an edited program are printed: legal, and their own if possible."""

from __future__ import annotations

from collections.abc import Iterator

from ..program import Block, Op, Program, Value, walk, walk_blocks
from .mlir_syntax import is_isolated


def print_names(program: Program) -> dict[Value, str]:
    """A name for every value such that no name is defined twice where both are visible.

    A value keeps its own name unless it has none or the name is taken; sibling regions may share names,
    and a region of an isolated op starts afresh, as in MLIR.
    """
    names: dict[Value, str] = {}
    fresh = _fresh_names(program)
    visible: set[str] = set()
    undo: list[str] = []
    for kind, what in _events(program):
        if kind in ("define", "define anew"):
            assert isinstance(what, Value)
            name = what.name
            base = name.partition("#")[0]
            taken = name in visible or (base != name and base in visible)
            if kind == "define anew" or not name.startswith("%") or taken:
                name = next(fresh)
            visible.add(name)
            undo.append(name)
            names[what] = name
        elif kind == "enter":
            assert isinstance(what, list)
            what.append((visible, undo))
            visible, undo = (set(), []) if what[0] else (visible, [])
        else:
            assert isinstance(what, list)
            outer, outer_undo = what.pop()
            if visible is outer:
                visible.difference_update(undo)
            visible, undo = outer, outer_undo
    return names


def _events(program: Program) -> Iterator[tuple[str, object]]:
    """`define` (or `define anew`) of each value in the order of scopes; `enter` and `leave` of regions.

    The list given with `enter` comes back with `leave`; its first member says whether names from
    outside are invisible.
    """
    stack: list[tuple[str, object]] = [("block", block) for block in reversed(program.body.blocks)]
    while stack:
        kind, what = stack.pop()
        if kind == "block":
            assert isinstance(what, Block)
            for arg in what.args:
                yield "define", arg
            stack.extend(("op", op) for op in reversed(what.ops))
        elif kind == "op":
            assert isinstance(what, Op)
            broken = _broken_packs(what)
            stack.extend(
                ("define anew" if result in broken else "define", result) for result in reversed(what.results)
            )
            for region in reversed(what.regions):
                scope: list[object] = [is_isolated(what.name)]
                stack.append(("leave", scope))
                stack.extend(("block", block) for block in reversed(region.blocks))
                stack.append(("enter", scope))
        else:
            yield kind, what


def _broken_packs(op: Op) -> set[Value]:
    """Results named `%a#k` that do not stand at place k of their pack, as after an edit."""
    broken: set[Value] = set()
    base, count = "", 0
    for result in op.results:
        name, mark, number = result.name.partition("#")
        count = count + 1 if mark and name == base else 0
        base = name
        if mark and number != str(count):
            broken.add(result)
    return broken


def _fresh_names(program: Program) -> Iterator[str]:
    taken = {value.name.partition("#")[0] for op in walk(program) for value in (*op.results, *op.operands)}
    taken.update(arg.name for block in walk_blocks(program) for arg in block.args)
    number = 0
    while True:
        name = f"%n{number}"
        if name not in taken:
            yield name
        number += 1
