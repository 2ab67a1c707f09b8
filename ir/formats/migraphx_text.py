"""Brackets and lists in MIGraphX text, where strings are not quoted and `<` is no bracket.

A bracket counts only where its partner is there: attribute text may hold a single one (`text=a]b`).
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from typing import Final

_BRACKETS: Final = re.compile(r"[\[\](){}]")
_PARTNER: Final = {"]": "[", "}": "{", ")": "("}


def closing(text: str, pos: int) -> int | None:
    """The offset behind the bracket that closes the one at `pos`; None if none does."""
    inner = _BRACKETS.search(text, pos + 1)
    if inner is not None and _PARTNER.get(inner.group()) == text[pos]:
        return inner.end()
    for opener, closer in _pairs(text, pos):
        if opener == pos:
            return closer + 1
    return None


def is_balanced(text: str) -> bool:
    """Whether there are as many brackets of each kind that open as that close."""
    return all(text.count(opener) == text.count(closer) for closer, opener in _PARTNER.items())


def split_list(text: str) -> list[str]:
    """The parts between the commas that stand in no pair of brackets; blanks kept, '' has none."""
    if not text:
        return []
    if "{" not in text and "[" not in text and "(" not in text:
        return text.split(",")
    parts: list[str] = []
    start = pos = 0
    for opener, closer in [*_outermost(text), (len(text), len(text))]:
        while (comma := text.find(",", pos, opener)) >= 0:
            parts.append(text[start:comma])
            start = pos = comma + 1
        pos = closer
    parts.append(text[start:])
    return parts


def regroup(parts: list[str], begins: list[bool], joint: str) -> list[str]:
    """Join every part to the one before it unless it begins something new; drop those before the first."""
    groups: list[list[str]] = []
    for part, new in zip(parts, begins, strict=True):
        if new:
            groups.append([part])
        elif groups:
            groups[-1].append(part)
    return [joint.join(group) for group in groups]


def _pairs(text: str, pos: int = 0) -> Iterator[tuple[int, int]]:
    """The offsets of brackets that belong together, inner pairs before the pairs around them.

    A closing bracket takes the nearest open one of its kind; those opened in between have no partner.
    """
    waiting = array("q")  # small, as a line may be nothing but open brackets
    counts = {"[": 0, "{": 0, "(": 0}
    for mark in _BRACKETS.finditer(text, pos):
        kind = mark.group()
        opener = _PARTNER.get(kind)
        if opener is None:
            waiting.append(mark.start())
            counts[kind] += 1
        elif counts[opener]:
            begin = waiting.pop()
            while text[begin] != opener:
                counts[text[begin]] -= 1
                begin = waiting.pop()
            counts[opener] -= 1
            yield begin, mark.start()


def _outermost(text: str) -> list[tuple[int, int]]:
    """The pairs of brackets that stand in no other pair, in order."""
    outer: list[tuple[int, int]] = []
    for pair in sorted(_pairs(text)):
        if not outer or pair[0] > outer[-1][1]:
            outer.append(pair)
    return outer
