"""Source locations of MLIR in words: aliases resolved, call sites and fused locations one a line."""

from __future__ import annotations

import re
from typing import Final

from ...ir.formats.mlir_text import balanced_end, split_top, tokens

_MOST: Final = 40
_FILE: Final = re.compile(r'^"((?:[^"\\]|\\.)*)":(\d+):(\d+)(?: to .*)?$', re.S)
_NAMED: Final = re.compile(r'^"((?:[^"\\]|\\.)*)"(?:\((.*)\))?$', re.S)


def location_lines(text: str, aliases: dict[str, str]) -> list[str]:
    """What the inside of a `loc(…)` says, innermost first, at most 40 lines; [] for an unknown place."""
    found: list[str] = []
    stack: list[tuple[str, str]] = [(text, "")]
    for _ in range(10 * _MOST):
        if not stack or len(found) >= _MOST:
            break
        inside, role = stack.pop()
        inside = _unwrap(inside.strip())
        if inside in aliases:
            stack.append((aliases[inside], role))
            continue
        line, inner = _read(inside, role)
        if line:
            found.append(line)
        stack.extend(reversed(inner))
    return found


def _read(inside: str, role: str) -> tuple[str, list[tuple[str, str]]]:
    """A line for a location, if it has one of its own, and the locations inside it with their roles."""
    file = _FILE.match(inside)
    if file:
        return f"{role}{file[1]}:{file[2]}:{file[3]}", []
    named = _NAMED.match(inside)
    if named:
        name = f"{role}“{named[1]}”"
        return (name, [(named[2], "  at ")]) if named[2] else (name, [])
    if inside.startswith("callsite(") and inside.endswith(")"):
        callee, caller = _call(inside[9:-1])
        return "", [(callee, role), (caller, "called from ")]
    if inside.startswith("fused"):
        bracket = inside.find("[")
        if bracket >= 0:
            parts = split_top(inside[bracket + 1 : balanced_end(inside, bracket) - 1])
            return "", [
                (part, f"{role}fused " if number == 0 else "  and ") for number, part in enumerate(parts)
            ]
    if inside in ("", "unknown"):
        return "", []
    return f"{role}{inside}", []


def _call(text: str) -> tuple[str, str]:
    for token in tokens(text, 0, len(text)):
        if token.kind == "name" and token.text == "at":
            return text[: token.start], text[token.end :]
    return text, ""


def _unwrap(text: str) -> str:
    return text[4:-1].strip() if text.startswith("loc(") and text.endswith(")") else text
