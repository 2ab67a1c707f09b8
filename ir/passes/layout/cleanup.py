"""The patterns of the last clean-up."""

from __future__ import annotations

from .canonicalize import convert_patterns
from .greedy import Pattern
from .rules import RuleSet
from .structured import BRANCH_PATTERNS, LOOP_PATTERNS, dead_loop_values


def last_patterns(rules: RuleSet) -> dict[str, list[Pattern]]:
    """The canonical forms of loops and branches, with the folds of converts if they run together."""
    patterns = {} if rules.cleanup_in_two else convert_patterns(rules)
    if rules.dead_arguments == "pattern":
        patterns.setdefault("scf.for", []).append(dead_loop_values)
    for more in (LOOP_PATTERNS, BRANCH_PATTERNS):
        for name, listed in more.items():
            patterns.setdefault(name, []).extend(listed)
    return patterns
