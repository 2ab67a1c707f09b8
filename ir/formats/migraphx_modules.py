"""Which values a name of MIGraphX text can mean: those of its module, and of the modules around it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from ..program import Block, Op, Program, Value, symbol
from .migraphx_source import MigraphxSource

MAIN: Final = "main"
_END: Final = 1 << 62
"""A place behind every instruction."""
_MOST_AROUND: Final = 32
"""Modules around a module that are looked at, so that long chains of modules cost little."""


@dataclass(slots=True, eq=False)
class Scope:
    """The values of one module by name, each with its place among the module's instructions."""

    module: str
    block: Block
    printed: dict[str, list[tuple[int, Value]]] = field(default_factory=dict)
    """By the names that are printed."""
    bare: dict[str, list[tuple[int, Value]]] = field(default_factory=dict)
    """By names without the module's own in front: `main:@4` and `@4` are one."""

    def strip(self, name: str) -> str:
        """A name without this module's own in front."""
        return name.removeprefix(f"{self.module}:")


@dataclass(slots=True, eq=False)
class Around:
    """A module around another, and the place of the instruction that the other is part of."""

    scope: Scope
    place: int


def scopes_of(program: Program) -> list[Scope]:
    """The modules of a program, in order, with the names that they define."""
    return [
        _scope(symbol(op), region.blocks[0]) for op in program.ops for region in op.regions if region.blocks
    ]


def _scope(module: str, block: Block) -> Scope:
    scope = Scope(module, block)
    for place, op in enumerate(block.ops):
        for value in op.results:
            scope.printed.setdefault(value.name, []).append((place, value))
    scope.bare = scope.printed
    if any(name.startswith(f"{module}:") for name in scope.printed):
        scope.bare = {}
        for name, found in scope.printed.items():
            scope.bare.setdefault(scope.strip(name), []).extend(found)
        for found in scope.bare.values():
            found.sort(key=lambda entry: entry[0])
    return scope


def module_names(text: str | None) -> list[str]:
    """The modules of an instruction's list (`main:#If_0, main:#If_1`)."""
    return [name for part in text.split(",") if (name := part.strip())] if text else []


def modules_of(op: Op) -> list[str]:
    """The modules that are part of an instruction."""
    if op._detail is None and isinstance(op.source, MigraphxSource):
        line = op.source.lines.get(op.start) if op.name else None
        return module_names(line.modules) if line is not None else []
    return module_names(op.attributes.get("modules"))


def around(scopes: list[Scope]) -> dict[str, list[Around]]:
    """For every module the modules around it: those whose instructions it is part of, those around these,
    nearest first, and at last the main one."""
    by_name: dict[str, Scope] = {}
    for scope in scopes:
        by_name.setdefault(scope.module, scope)
    users: dict[str, dict[str, int]] = {}
    for scope in scopes:
        for place, op in enumerate(scope.block.ops):
            for name in modules_of(op):
                if name != scope.module:
                    users.setdefault(name, {}).setdefault(scope.module, place)
    return {name: _chain(name, users, by_name) for name in by_name}


def _chain(name: str, users: dict[str, dict[str, int]], by_name: dict[str, Scope]) -> list[Around]:
    order: dict[str, int] = {}
    for current in _breadth_first(name, users, order):
        for user, place in users.get(current, {}).items():
            if len(order) >= _MOST_AROUND:
                break
            if user != name:
                order.setdefault(user, place)
    if name != MAIN:
        order.setdefault(MAIN, _END)
    return [Around(by_name[user], place) for user, place in order.items() if user in by_name]


def _breadth_first(name: str, users: dict[str, dict[str, int]], order: dict[str, int]) -> Iterator[str]:
    """`name`, then what is put into `order` meanwhile."""
    yield name
    seen = 0
    while seen < len(order):
        yield list(order)[seen]
        seen += 1


def before(values: list[tuple[int, Value]] | None, place: int) -> Value | None:
    """The last of some values that is defined in front of a place."""
    if not values:
        return None
    index = bisect_left(values, place, key=lambda entry: entry[0])
    return values[index - 1][1] if index else None
