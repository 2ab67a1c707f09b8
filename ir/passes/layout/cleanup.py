"""The patterns of the last clean-up."""

from __future__ import annotations

from .canonicalize import convert_patterns
from .greedy import Pattern
from .rules import RuleSet
from .structured import BRANCH_PATTERNS, LOOP_PATTERNS, dead_loop_values


def last_patterns(rules: RuleSet) -> dict[str, list[Pattern]]:
    """Folds of converts, with the canonical forms of loops and branches."""
    patterns = convert_patterns(rules)
    if rules.dead_arguments == "pattern":
        patterns.setdefault("scf.for", []).append(dead_loop_values)
    for more in (LOOP_PATTERNS, BRANCH_PATTERNS):
        for name, listed in more.items():
            patterns.setdefault(name, []).extend(listed)
    return patterns
