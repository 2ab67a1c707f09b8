"""IR on a terminal, in colour: one regular expression a line, no markup ever taken from the text."""

from __future__ import annotations

import os
import re
import sys

from ..safe import visible

_PIECES = re.compile(
    r"(?P<comment>//.*)|(?P<string>\"(?:[^\"\\]|\\.)*\"?)|(?P<loc>\bloc\((?:[^()]|\([^()]*\))*\))"
    r"|(?P<value>[%@][\w$.\-:#]*)|(?P<alias>[#!][A-Za-z_][\w$.]*)|(?P<block>\^\w+)"
    r"|(?P<op>\b[a-z_]\w*(?:\.[\w$]+)+|\b(?:gpu|hip)::\w+)|(?P<type>\b(?:tensor|memref|vector|[su]?i\d+|b?f\d+|index|\w+_type)\b)"
    r"|(?P<number>-?\b\d[\w.]*\b)"
)
_COLOURS = {
    "comment": "2", "string": "33", "loc": "2", "value": "36", "alias": "35", "block": "34", "op": "1;32",
    "type": "34", "number": "33",
}  # fmt: skip


def print_ir(text: str, format: str) -> None:
    """Write IR to standard output in colour, unless NO_COLOR is set."""
    plain = bool(os.environ.get("NO_COLOR"))
    for line in text.split("\n"):
        safe = visible(line)
        sys.stdout.write((safe if plain else coloured(safe)) + "\n")


def coloured(line: str) -> str:
    """A line with ANSI colours around its tokens."""
    return _PIECES.sub(lambda m: f"\x1b[{_COLOURS[m.lastgroup or 'op']}m{m.group()}\x1b[0m", line)
