"""Text that was copied from a terminal: its long lines are cut at the terminal's width."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

_NARROWEST: Final = 60
_FEWEST: Final = 3
"""So many different lines must have exactly the same length; the greatest of such is a terminal's width."""


def anyhow_wrapped(words: str) -> str:
    """An expression that matches words with a line break anywhere in them."""
    return r"\n?".join(re.escape(char) for char in words)


def unwrap(text: str) -> str:
    """The text with its lines put together where they were cut at the width of a terminal."""
    lines = text.split("\n")
    # Lines that end in blanks were padded by the terminal, and may be longer.
    lengths = Counter(len(line) for line in set(lines) if line and not line[-1].isspace())
    width = max((length for length, count in lengths.items() if count >= _FEWEST), default=0)
    if width < _NARROWEST:
        return text
    joined: list[str] = []
    goes_on = False
    for line in lines:
        if goes_on:
            joined[-1] += line
        else:
            joined.append(line)
        goes_on = len(line) == width and not line[-1].isspace()
    return "\n".join(joined)
