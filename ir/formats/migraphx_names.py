"""Names for the values of a MIGraphX program that is printed anew, such that each means what it meant."""

from __future__ import annotations

import re
from typing import Final

from ..program import Op, Program, Value
from .migraphx_modules import Scope, around, scopes_of

_NUMBER: Final = re.compile(r"@(\d{1,9})$")


class Names:
    """A name for every result; a value without one, or whose name would be taken for another, gets `@N`.

    `N` is larger than every number that the program uses, defined or not.
    """

    def __init__(self, program: Program) -> None:
        self._scopes = scopes_of(program)
        self._module_of = {id(scope.block): scope for scope in self._scopes}
        self._around = {name: [each.scope for each in found] for name, found in around(self._scopes).items()}
        self._taken: dict[int, set[str]] = {id(scope.block): set() for scope in self._scopes}
        self._bare: dict[int, set[str]] = {id(scope.block): set() for scope in self._scopes}
        self._places: dict[int, dict[int, int]] = {}
        self.names: dict[Value, str] = {}
        self._fresh = 0
        self._undefined()
        for scope in self._scopes:
            for op in scope.block.ops:
                for value in op.results:
                    self._name(value, scope)

    def argument(self, op: Op, value: Value) -> str:
        """What an instruction calls a value: with its module in front where it would not be found else."""
        name = self.names.get(value, value.name)
        owner = value.op
        if owner is None or owner.block is op.block or len(self._scopes) == 1:
            return name
        here = self._module_of.get(id(op.block))
        there = self._module_of.get(id(owner.block))
        if here is None or there is None or there in self._around.get(here.module, []):
            return name
        return f"{there.module}:{there.strip(name)}"

    def _undefined(self) -> None:
        """Keep names that are used and never defined free, in every module where they are looked for."""
        highest = -1
        for scope in self._scopes:
            for op in scope.block.ops:
                for value in op.results:
                    highest = max(highest, _number(value.name))
                for value in op.operands:
                    if value.owner is None:
                        highest = max(highest, _number(value.name))
                        self._reserve(value.name, scope)
        self._fresh = highest + 1

    def _reserve(self, name: str, scope: Scope) -> None:
        for each in (scope, *self._around.get(scope.module, [])):
            bare = each.strip(name)
            self._taken[id(each.block)] |= {name, bare, f"{each.module}:{bare}"}
        if ":" in name:
            for each in self._scopes:
                if name.startswith(f"{each.module}:"):
                    self._taken[id(each.block)] |= {name, each.strip(name)}

    def _name(self, value: Value, scope: Scope) -> None:
        seen_by = self._seen_by(value, scope)
        name = value.name
        bare = self._bare[id(scope.block)]
        while not name or scope.strip(name) in bare or any(name in taken for taken in seen_by):
            name = f"@{self._fresh}"
            self._fresh += 1
        bare.add(scope.strip(name))
        for taken in seen_by:
            taken.add(name)
        self.names[value] = name

    def _seen_by(self, value: Value, scope: Scope) -> list[set[str]]:
        """The names of the modules in which this value must not be mixed up with another."""
        own = [self._taken[id(scope.block)]]
        if len(self._scopes) == 1:
            return own
        users = {id(op.block): self._module_of.get(id(op.block)) for op, _ in value.uses}
        if not self._is_early(value, scope):
            users.pop(id(scope.block), None)
        modules: dict[int, Scope] = {}
        for user in users.values():
            if user is not None:
                modules[id(user.block)] = user
                modules |= {id(each.block): each for each in self._around.get(user.module, [])}
        return own + [self._taken[block] for block in modules]

    def _is_early(self, value: Value, scope: Scope) -> bool:
        """Whether a value is used in its module before it is defined, where an outer one would be meant."""
        places = self._places.get(id(scope.block))
        if places is None:
            places = self._places[id(scope.block)] = {id(op): at for at, op in enumerate(scope.block.ops)}
        defined = places[id(value.op)]
        return any(places.get(id(op), defined + 1) <= defined for op, _ in value.uses)


def _number(name: str) -> int:
    found = _NUMBER.search(name)
    return int(found.group(1)) if found else -1
