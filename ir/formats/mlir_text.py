"""Cutting MLIR text: balanced brackets, lists, and the tokens of an op's header at bracket depth zero."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_BRACKET: Final = re.compile(r'"(?:[^"\\\n]|\\.)*+"?|->|[<>]=|//[^\n]*+|[<>(){}\[\]]')
_SPLIT: Final = re.compile(r'"(?:[^"\\\n]|\\.)*+"?|->|[<>]=|[<>(){}\[\],]')
_TOKEN: Final = re.compile(
    r"""(?P<blank>[ \t\r\n]++|//[^\n]*+)
    |(?P<string>"(?:[^"\\\n]|\\.)*+"?)
    |(?P<arrow>->)
    |(?P<ref>%[\w$.\-]*[\w$.](?:\#\d+)?)
    |(?P<symbol>@(?:[\w$.\-]+|"(?:[^"\\\n]|\\.)*+")(?:::@(?:[\w$.\-]+|"(?:[^"\\\n]|\\.)*+"))*)
    |(?P<block>\^[\w$.\-]+)
    |(?P<name>[\#!]?[A-Za-z_][\w$.\-]*(?<!-)|\#\d+|!\d+)
    |(?P<number>-?\d[\w.]*(?:[eE][+\-]?\d+)?)
    |(?P<open>[<({\[])
    |(?P<punct>.)""",
    re.X | re.S,
)

_ALIAS: Final = re.compile(r'"(?:[^"\\\n]|\\.)*+"|(?<![%\w.])[#!][A-Za-z_][\w$]*+(?![.<\w$])')


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a header at depth zero.

    `kind` is `string`, `arrow`, `ref`, `symbol`, `block`, `name` (with its `<…>` if one follows at once),
    `number`, `group` (a whole bracketed text), `loc`, `punct` or `region`; `start:end` are offsets in the
    text that was cut.
    """

    kind: str
    text: str
    start: int
    end: int


def balanced_end(text: str, pos: int, limit: int | None = None) -> int:
    """The offset behind the bracket that closes the one at `pos`; `limit` where it is never closed."""
    high = len(text) if limit is None else limit
    depth = 0
    for found in _BRACKET.finditer(text, pos, high):
        token = found.group()
        if token in "<({[":
            depth += 1
        elif token in ">)}]":
            depth -= 1
            if depth <= 0:
                return found.end()
    return high


def split_top(text: str) -> list[str]:
    """The comma-separated parts of `text`, commas in brackets and strings not counted; blanks kept."""
    parts = []
    depth = begin = 0
    for found in _SPLIT.finditer(text):
        token = found.group()
        if token == ",":
            if depth == 0:
                parts.append(text[begin : found.start()])
                begin = found.end()
        elif token in "<({[":
            depth += 1
        elif token in ">)}]":
            depth -= 1
    last = text[begin:]
    if last.strip() or parts:
        parts.append(last)
    return parts


def tokens(text: str, pos: int, end: int) -> Iterator[Token]:
    """The tokens of `text[pos:end]` at bracket depth zero; a bracketed text is one token."""
    while pos < end:
        found = _TOKEN.match(text, pos, end)
        if found is None:
            return
        kind = found.lastgroup or "punct"
        stop = found.end()
        if kind == "open":
            kind, stop = "group", balanced_end(text, pos, end)
        elif kind == "name" and stop < end:
            if text[stop] == "<":
                stop = balanced_end(text, stop, end)
            elif text[stop] == "(" and found.group() == "loc":
                kind, stop = "loc", balanced_end(text, stop, end)
        if kind != "blank":
            yield Token(kind, text[pos:stop], pos, stop)
        pos = stop


def without_location(text: str) -> str:
    """`text` without a `loc(…)` at its end."""
    at = text.rfind("loc(")
    return text[:at].rstrip() if at >= 0 and balanced_end(text, at + 3) == len(text.rstrip()) else text


def expand_aliases(text: str, aliases: dict[str, str], limit: int = 100_000) -> str:
    """`text` with its attribute and type aliases replaced by what they stand for, through and through.

    Undefined aliases and location aliases stay; aliases that contain themselves stop at the repeat, and
    growth stops at `limit` characters.
    """
    if not aliases or ("#" not in text and "!" not in text):
        return text
    for _ in range(len(aliases) + 1):
        grown = _ALIAS.sub(lambda found: _meaning(found.group(), aliases), text)
        if grown == text or len(grown) > limit:
            return text
        text = grown
    return text


def _meaning(name: str, aliases: dict[str, str]) -> str:
    return name if name[0] == '"' or name.startswith("#loc") else aliases.get(name, name)
