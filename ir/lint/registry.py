"""All rules: ours, and those that other packages bring by the entry point group `passlens.rules`."""

from __future__ import annotations

import fnmatch
from importlib.metadata import entry_points
from typing import Final

from ..errors import InputError
from . import health, layout, streaming
from .budgets import RULES as BUDGET_RULES
from .rule import Rule

OWN: Final[tuple[Rule, ...]] = (*streaming.RULES, *layout.RULES, *health.RULES, *BUDGET_RULES)
GROUP: Final = "passlens.rules"


def all_rules() -> list[Rule]:
    """Every rule by its id.

    An entry point of the group names a sequence of `Rule`. Raises InputError for one that cannot be
    loaded, or that takes an id which another rule has.
    """
    rules = {rule.id: rule for rule in OWN}
    for point in entry_points(group=GROUP):
        try:
            found = point.load()
        except Exception as error:  # whatever a stranger's module raises when it is imported
            raise InputError(f"the rules of {point.value} cannot be loaded: {error}") from error
        for rule in found:
            if rule.id in rules:
                raise InputError(f"{point.value} brings a rule {rule.id}, which there is already")
            rules[rule.id] = rule
    return sorted(rules.values(), key=lambda rule: rule.id)


def chosen(rules: list[Rule], select: list[str], ignore: list[str]) -> list[Rule]:
    """The rules whose ids match a pattern of `select` (all, if it is empty) and none of `ignore`.

    Raises:
        InputError: a pattern matches no rule.
    """
    for pattern in (*select, *ignore):
        if not any(_matches(rule.id, pattern) for rule in rules):
            raise InputError(f"no rule is called {pattern!r}; the rules are {', '.join(r.id for r in rules)}")
    return [
        rule
        for rule in rules
        if (not select or any(_matches(rule.id, pattern) for pattern in select))
        and not any(_matches(rule.id, pattern) for pattern in ignore)
    ]


def _matches(id: str, pattern: str) -> bool:
    """`PS2`, `PS2*` and `PS201` match PS201."""
    return fnmatch.fnmatchcase(id, pattern) or id.startswith(pattern.rstrip("*"))
