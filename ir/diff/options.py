"""What a comparison looks at beyond meaning: names, locations, and attributes to leave out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Options:
    """Renumbered values, renamed aliases and moved source lines are no difference unless asked for."""

    names: bool = False
    """Whether a result or block argument with another name is a change."""
    locations: bool = False
    """Whether another `loc(…)`, aliases resolved, is a change."""
    ignored_attributes: frozenset[str] = frozenset()
    """Names of attributes that are left out of the comparison."""
    only: frozenset[str] = frozenset()
    """Kinds of parts (`encoding`, `operand`, …) and of changes (`added`, `removed`, `moved`) to report; all
    where empty. Matching does not depend on it."""


DEFAULT: Final = Options()
