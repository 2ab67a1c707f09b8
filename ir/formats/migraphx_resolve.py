"""From the names in argument lists to the values that they mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from ..errors import Diagnostic
from ..program import Op, Program, Value
from .migraphx_modules import Around, Scope, around, before, modules_of, scopes_of
from .migraphx_source import MigraphxSource

_MOST_COMMAS: Final = 32
"""Commas in one parameter's name that are looked for; more are not worth the time that they cost."""


def resolve(program: Program, source: MigraphxSource) -> None:
    """Give every instruction its operands, and tell of names and modules that are not there."""
    scopes = scopes_of(program)
    names = ArgumentNames(name for scope in scopes for name in _printable(scope, source))
    finder = Finder(scopes)
    undefined: dict[str, Value] = {}
    for scope in scopes:
        for place, op in enumerate(scope.block.ops):
            line = source.lines.get(op.start) if op.name else None
            if line is None or not line.arguments:
                continue
            for index, name in enumerate(names.split(line.arguments)):
                value = finder.find(name, scope, place)
                if value is None:
                    value = undefined.get(name) or undefined.setdefault(name, Value(name))
                value.uses.append((op, index))
                op.operands.append(value)
    program.diagnostics.extend(_undefined(undefined))
    program.diagnostics.extend(_missing_modules(scopes))


def _printable(scope: Scope, source: MigraphxSource) -> Iterator[str]:
    """The names of a module, and those with a comma as other modules may call them, defined or not."""
    for name in scope.printed:
        yield name
        if "," in name:
            yield f"{scope.module}:{scope.strip(name)}"
    for op in scope.block.ops:
        if op.name == "@param" and "," in source.lines[op.start].attributes:
            yield source.lines[op.start].attributes


class Finder:
    """Says which value a name means at a place of a program."""

    __slots__ = ("_around", "_far")

    def __init__(self, scopes: list[Scope]) -> None:
        self._around = around(scopes)
        self._far: dict[str, Value] = {}
        for scope in reversed(scopes):
            self._far.update((f"{scope.module}:{bare}", found[0][1]) for bare, found in scope.bare.items())
            own = (name for name in scope.printed if name.startswith(f"{scope.module}:"))
            self._far.update((name, scope.printed[name][0][1]) for name in own)

    def find(self, name: str, scope: Scope, place: int) -> Value | None:
        """The value that a name means in the module `scope` at `place`.

        It is the last one of that very name that is defined before, in this module or one around it, the
        nearest first; else one that is defined later; else one whose name differs in the module in front
        only; else one of any module that the name itself gives.
        """
        found = before(scope.printed.get(name), place)
        if found is not None:
            return found
        levels = [Around(scope, place), *self._around.get(scope.module, [])]
        found = _nearest([(each.scope.printed.get(name), each.place) for each in levels])
        if found is not None:
            return found
        loosely = [(each.scope.bare.get(each.scope.strip(name)), each.place) for each in levels]
        return _nearest(loosely) or self._far.get(name)


def _nearest(levels: list[tuple[list[tuple[int, Value]] | None, int]]) -> Value | None:
    for values, place in levels:
        found = before(values, place)
        if found is not None:
            return found
    return next((values[0][1] for values, _ in levels if values), None)


@dataclass(slots=True)
class _Names:
    """A tree of names cut at their commas."""

    ends: bool = False
    next: dict[str, _Names] = field(default_factory=dict)


class ArgumentNames:
    """Cuts argument lists; names that hold commas are known and not cut."""

    __slots__ = ("_odd",)

    def __init__(self, names: Iterable[str]) -> None:
        self._odd = _Names()
        for name in names:
            if "," in name and name.count(",") <= _MOST_COMMAS:
                node = self._odd
                for part in name.split(","):
                    node = node.next.setdefault(part.rstrip(), _Names())
                node.ends = True

    def split(self, text: str) -> list[str]:
        """The names of an argument list."""
        parts = text.split(",")
        if not self._odd.next:
            return [name for part in parts if (name := part.strip())]
        names: list[str] = []
        at = 0
        while at < len(parts):
            width = self._longest(parts, at)
            name = ",".join(parts[at : at + width]).strip()
            if name:
                names.append(name)
            at += width
        return names

    def _longest(self, parts: list[str], at: int) -> int:
        """How many parts the longest known name takes that begins at `at`; 1 where there is none."""
        node = self._odd.next.get(parts[at].strip())
        width = longest = 1
        while node is not None and at + width < len(parts):
            node = node.next.get(parts[at + width].rstrip())
            width += 1
            if node is not None and node.ends:
                longest = width
        return longest


def _undefined(undefined: dict[str, Value]) -> Iterator[Diagnostic]:
    for name, value in undefined.items():
        op = value.uses[0][0]
        what = f"{name} is used by {op.name} and never defined"
        yield Diagnostic("undefined-value", what, op.start, len(value.uses))


def _missing_modules(scopes: list[Scope]) -> Iterator[Diagnostic]:
    known = {scope.module for scope in scopes}
    users: dict[str, list[Op]] = {}
    for scope in scopes:
        for op in scope.block.ops:
            for name in modules_of(op):
                if name not in known:
                    users.setdefault(name, []).append(op)
    for name, ops in users.items():
        what = f"{ops[0].name} has the module {name}, which is not in the listing"
        yield Diagnostic("missing-module", what, ops[0].start, len(ops))
