"""The few lines of a log that may state a fact: what logs_facts reads closely.

A log is nearly all IR, so only the stretches between its programs are read. Where these are large, too, the
lines are found by byte search: regular expressions over all of it take seconds a gigabyte and let no other
thread run meanwhile; a search for fixed bytes in windows does neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .logs_prefix import strip_marks
from .logs_text import Data, Sweep, decode, plain, release

_WINDOW: Final = 8 << 20
"""Bytes searched in one go, with other threads waiting."""
_TRACE_LINES: Final = 400
_NEEDLES: Final[dict[bytes, int]] = {
    b"Free memory: ": 0, b"Streaming budget: ": 0, b"Total size of literals: ": 0, b"size: ": 0,
    b" time: ": 0, b"Rate: ": 0, b"MIGraphX Version: ": 0,
    b"Assertion `": _TRACE_LINES, b"LLVM ERROR: ": _TRACE_LINES,
    b"UNREACHABLE executed at": _TRACE_LINES,
    b"terminate called after": _TRACE_LINES, b"Memory access fault": _TRACE_LINES, b"#0 0x": _TRACE_LINES,
    b"Pipeline failed while executing [": 1, b'pipeline: "': 0, b": error: ": 0, b"Value: ": 60,
}  # fmt: skip
"""What a line with a fact holds → how many of the lines behind it belong to it."""
_IN_FRONT: Final[dict[bytes, int]] = {b"#0 0x": 4}
"""What a line holds → how many lines in front of it belong to it: a fatal message that a terminal wrapped."""
_LARGEST: Final = 256 << 20
"""Of a larger stretch only so many bytes are searched, half of them at its beginning and half at its end."""
_MOST_HITS: Final = 20_000
_MOST_BYTES: Final = 32 << 20
_READ_WHOLE: Final = 16 << 20
"""So many bytes between the programs are read as they are."""
_LONGEST_LINE: Final = 1 << 16
"""Of longer lines the part around the needle is taken, half of it in front."""


def near_facts(data: Data, stretches: Sequence[tuple[int, int]]) -> str:
    """The text of the lines in some stretches that may state a fact, with those that belong to them."""
    apart = _apart(stretches)
    if sum(end - start for start, end in apart) > _READ_WHOLE:
        apart = _apart([hit for start, end in apart for hit in _hits(data, start, end)], _MOST_BYTES)
    sweep = Sweep(data)
    pieces: list[bytes] = []
    for start, end in apart:
        sweep.at(start)
        pieces.append(bytes(data[start:end]))
    sweep.end()
    text = decode(b"\n".join(pieces))
    return strip_marks(plain(text))


def _apart(stretches: Sequence[tuple[int, int]], most: int = 1 << 62) -> list[tuple[int, int]]:
    """Stretches in order, those that touch each other joined, until they are `most` bytes in all."""
    merged: list[tuple[int, int]] = []
    total = 0
    for start, end in sorted(stretches):
        if merged and start <= merged[-1][1]:
            total += max(end - merged[-1][1], 0)
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            total += end - start
            merged.append((start, end))
        if total > most:
            break
    return merged


def _hits(data: Data, begin: int, limit: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    counts = dict.fromkeys(_NEEDLES, 0)
    covered = dict.fromkeys(_NEEDLES, begin)
    for low in _windows(begin, limit):
        high = min(low + _WINDOW, limit)
        for needle, behind in _NEEDLES.items():
            pos = data.find(needle, max(low, covered[needle]), min(high + len(needle) - 1, limit))
            while 0 <= pos < high and counts[needle] < _MOST_HITS:
                stretch = _lines(data, pos, _IN_FRONT.get(needle, 0), behind)
                found.append(stretch)
                counts[needle] += 1
                covered[needle] = max(stretch[1], pos + 1)
                pos = data.find(needle, covered[needle], high)
        release(data, low, high)
    return found


def _windows(begin: int, limit: int) -> list[int]:
    """Where the windows to search begin."""
    begins = list(range(begin, limit, _WINDOW))
    half = _LARGEST // 2 // _WINDOW
    return begins if len(begins) <= 2 * half else begins[:half] + begins[-half:]


def _lines(data: Data, pos: int, front: int, behind: int) -> tuple[int, int]:
    """The line that holds `pos`, with so many in front of it and behind it."""
    floor = max(pos - _LONGEST_LINE // 2, 0)
    newline = data.rfind(b"\n", floor, pos)
    for _ in range(front):
        newline = data.rfind(b"\n", floor, newline) if newline > floor else newline
    start = newline + 1 if newline >= 0 else floor
    end = pos
    for _ in range(behind + 1):
        limit = min(end + _LONGEST_LINE, len(data))
        newline = data.find(b"\n", end, limit)
        end = newline + 1 if newline >= 0 else limit
    return start, end
