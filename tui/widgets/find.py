"""Searching a text for what was typed: literally, upper case counting only if some was typed."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_CHUNK: Final = 1 << 18
MOST: Final = 1_000_000
"""Matches beyond this many are not looked for."""


@dataclass(frozen=True, slots=True)
class Matches:
    """Where a query stands in a text."""

    query: str
    offsets: array[int]
    length: int
    """Characters of each match."""
    complete: bool
    """False if there were more than `MOST`."""

    def __len__(self) -> int:
        return len(self.offsets)

    def following(self, offset: int) -> int:
        """The index of the first match behind `offset`, around the end if need be; -1 for none."""
        if not self.offsets:
            return -1
        at = bisect_left(self.offsets, offset + 1)
        return at if at < len(self.offsets) else 0

    def preceding(self, offset: int) -> int:
        """The index of the last match in front of `offset`, around the beginning if need be; -1 for none."""
        if not self.offsets:
            return -1
        return (bisect_left(self.offsets, offset) - 1) % len(self.offsets)

    def number(self, offset: int) -> int:
        """Which match begins at an offset, from 1; 0 if none does."""
        at = bisect_left(self.offsets, offset)
        return at + 1 if at < len(self.offsets) and self.offsets[at] == offset else 0

    def within(self, start: int, end: int) -> list[tuple[int, int]]:
        """The matches that begin in `start:end`, as spans."""
        low = bisect_left(self.offsets, start)
        high = bisect_left(self.offsets, end, low)
        return [(at, at + self.length) for at in self.offsets[low:high]]


def find_all(text: str, query: str, stale: Callable[[], bool] = lambda: False) -> Matches | None:
    """Every place of `query` in `text`; None as soon as `stale()` says that nobody wants to know.

    The text is gone through in pieces, so that other threads get their turn.
    """
    offsets = array("q")
    if not query:
        return Matches(query, offsets, 0, True)
    flags = 0 if any(char.isupper() for char in query) else re.IGNORECASE
    pattern = re.compile(re.escape(query), flags)
    pos = 0
    while pos < len(text):
        if stale():
            return None
        end = min(pos + _CHUNK, len(text))
        behind = pos
        for found in pattern.finditer(text, pos, min(end + len(query) - 1, len(text))):
            offsets.append(found.start())
            behind = found.end()
            if len(offsets) >= MOST:
                return Matches(query, offsets, len(query), False)
        pos = max(end, behind)
    return Matches(query, offsets, len(query), True)
