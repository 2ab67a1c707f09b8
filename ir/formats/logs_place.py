"""From a place in a snapshot's text back to a line and column of the file."""

from __future__ import annotations

from typing import Final

from ..snapshot import Snapshot
from .logs_prefix import line_pattern, mark_of
from .logs_text import ANSI, Data, decode, release

_CHUNK: Final = 1 << 24


def place_of(data: Data, snapshot: Snapshot, line: int, text: str, offset: int) -> tuple[int, int]:
    """The 1-based line and column (in bytes) in the file of a character offset in a snapshot's `text`.

    `line` is the line that the snapshot begins in.
    """
    before = text[: max(offset, 0)]
    skipped = before.count("\n")
    column = len(before.rpartition("\n")[2].encode("utf-8", "surrogateescape"))
    start = snapshot.start
    if snapshot.prefix:
        return _prefixed(data, snapshot, skipped, column, line)
    for _ in range(skipped):
        start = data.find(b"\n", start) + 1
    begin = data.rfind(b"\n", 0, start) + 1
    return line + skipped, start - begin + column + 1


def count_lines(data: Data, end: int) -> int:
    """The 1-based line of a byte offset."""
    lines = 1
    for low in range(0, end, _CHUNK):
        high = min(low + _CHUNK, end)
        lines += bytes(data[low:high]).count(b"\n")
        release(data, low, high)
    return lines


def _prefixed(data: Data, snapshot: Snapshot, skipped: int, column: int, line: int) -> tuple[int, int]:
    """The same where lines bear a prefix, and lines of other writers were left out."""
    pattern = line_pattern(snapshot.prefix)
    pos = snapshot.start
    while True:
        end = data.find(b"\n", pos, snapshot.end)
        end = snapshot.end if end < 0 else end
        own = ANSI.sub("", decode(bytes(data[pos:end])))
        found = pattern.match(own)
        if found is not None or not mark_of(own):
            if not skipped:
                return line, column + (found.end() if found else 0) + 1
            skipped -= 1
        if end >= snapshot.end:
            return line, column + 1
        pos = end + 1
        line += 1
