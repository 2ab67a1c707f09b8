"""Findings that are known, or that somebody decided to live with: comments, configuration, baselines."""

from __future__ import annotations

import fnmatch
import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from ..errors import InputError
from .finding import Finding, fingerprint

_INLINE: Final = re.compile(r"passlens: *ignore\[(?P<rules>[\w*, ]+)\]\s*[:,-]?\s*(?P<reason>.*)")


@dataclass(frozen=True, slots=True)
class Suppression:
    """A decision not to hear of something; the reason is not optional."""

    rule: str
    reason: str
    path: str = "*"
    kernel: str = "*"

    def covers(self, finding: Finding) -> bool:
        """Whether the finding is of the kind."""
        name = finding.file.replace("\\", "/")
        return (
            fnmatch.fnmatchcase(finding.rule, self.rule)
            and (fnmatch.fnmatchcase(name, self.path) or fnmatch.fnmatchcase(name, f"*/{self.path}"))
            and fnmatch.fnmatchcase(finding.kernel, self.kernel)
        )


def inline(text: str) -> dict[int, list[str]]:
    """Line → rules that a comment on it, or on the line above, suppresses, if it gives a reason.

    A comment is `// passlens: ignore[PS205] the loop runs once` in MLIR, `# passlens: …` elsewhere.
    """
    found: dict[int, list[str]] = {}
    if "passlens:" not in text:
        return found
    for number, line in enumerate(text.split("\n"), 1):
        match = _INLINE.search(line)
        if match and match["reason"].strip():
            rules = [rule.strip() for rule in match["rules"].split(",")]
            for at in (number, number + 1):
                found.setdefault(at, []).extend(rules)
    return found


def kept(
    findings: Iterable[Finding], rules: Iterable[Suppression], comments: dict[int, list[str]]
) -> list[Finding]:
    """The findings that nothing suppresses."""
    rules = list(rules)
    return [
        finding
        for finding in findings
        if not any(rule.covers(finding) for rule in rules)
        and not any(fnmatch.fnmatchcase(finding.rule, each) for each in comments.get(finding.line, []))
    ]


def baseline_text(findings: Iterable[Finding]) -> str:
    """A baseline file: how often each finding is known."""
    counts = Counter(fingerprint(finding) for finding in findings)
    names = {fingerprint(finding): f"{finding.rule} {finding.message[:80]}" for finding in findings}
    entries = {key: {"count": counts[key], "about": names[key]} for key in sorted(counts)}
    return json.dumps({"passlens_baseline": 1, "findings": entries}, indent=1, ensure_ascii=True) + "\n"


def read_baseline(text: str, file: str) -> Counter[str]:
    """What a baseline file knows.

    Raises:
        InputError: it is no baseline.
    """
    try:
        data = json.loads(text)
        return Counter({key: int(entry["count"]) for key, entry in data["findings"].items()})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{file} is no baseline: {error}; write one with --write-baseline") from error


def unknown(findings: list[Finding], known: Counter[str]) -> list[Finding]:
    """The findings that a baseline does not know: of equal ones those beyond the number that it has."""
    left = known.copy()
    found = []
    for finding in findings:
        key = fingerprint(finding)
        if left[key] > 0:
            left[key] -= 1
        else:
            found.append(finding)
    return found
