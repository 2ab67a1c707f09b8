"""The few lines of a log that may state a fact, found by byte search: what logs_facts reads closely.

A log is nearly all IR. Regular expressions over all of it take seconds a gigabyte and let no other thread
run meanwhile; a search for fixed bytes in windows does neither.
"""

from __future__ import annotations

from typing import Final

from .logs_text import RELEASE_EVERY, Data, clean, decode, line_prefix, release

_WINDOW: Final = 8 << 20
"""Bytes searched in one go, with other threads waiting."""
_TRACE_LINES: Final = 400
_NEEDLES: Final[dict[bytes, int]] = {
    b"Free memory: ": 0, b"Streaming budget: ": 0, b"Total size of literals: ": 0, b"size: ": 0,
    b" time: ": 0, b"Rate: ": 0, b"MIGraphX Version: ": 0,
    b"Assertion `": _TRACE_LINES, b"Asse\nrtion `": _TRACE_LINES, b"LLVM ERROR: ": _TRACE_LINES,
    b"UNREACHABLE executed at": _TRACE_LINES,
    b"terminate called after": _TRACE_LINES, b"Memory access fault": _TRACE_LINES, b"#0 0x": _TRACE_LINES,
    b"Pipeline failed while executing [": 1, b'pipeline: "': 0, b": error: ": 0, b"Value: ": 60,
}  # fmt: skip
"""What a line with a fact holds → how many of the lines behind it belong to it."""
_LARGEST: Final = 256 << 20
"""Of a larger log only so many bytes are searched, half of them at its beginning and half at its end."""
_MOST_HITS: Final = 20_000
_MOST_BYTES: Final = 32 << 20
_LONGEST_LINE: Final = 1 << 16
"""Of longer lines the part around the needle is taken, half of it in front."""


def near_facts(data: Data) -> str:
    """The text of all lines that may state a fact, with those behind them that belong to it."""
    text = decode(b"\n".join(bytes(data[start:end]) for start, end in _ranges(data)))
    return clean(text, line_prefix(decode(bytes(data[:_LONGEST_LINE])).partition("\n")[0]))


def _ranges(data: Data) -> list[tuple[int, int]]:
    """Stretches of whole lines, in order, apart from each other, at most `_MOST_BYTES` in all."""
    merged: list[tuple[int, int]] = []
    total = 0
    for start, end in sorted(_hits(data)):
        if merged and start <= merged[-1][1]:
            total += max(end - merged[-1][1], 0)
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            total += end - start
            merged.append((start, end))
        if total > _MOST_BYTES:
            break
    return merged


def _hits(data: Data) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    counts = dict.fromkeys(_NEEDLES, 0)
    covered = dict.fromkeys(_NEEDLES, 0)
    for low in _windows(len(data)):
        high = min(low + _WINDOW, len(data))
        for needle, behind in _NEEDLES.items():
            pos = data.find(needle, max(low, covered[needle]), min(high + len(needle) - 1, len(data)))
            while 0 <= pos < high and counts[needle] < _MOST_HITS:
                stretch = _lines(data, pos, behind)
                found.append(stretch)
                counts[needle] += 1
                covered[needle] = max(stretch[1], pos + 1)
                pos = data.find(needle, covered[needle], high)
        if low and low % RELEASE_EVERY == 0:
            release(data, low - RELEASE_EVERY, low)
    return found


def _windows(size: int) -> list[int]:
    """Where the windows to search begin."""
    begins = list(range(0, size, _WINDOW))
    half = _LARGEST // 2 // _WINDOW
    return begins if len(begins) <= 2 * half else begins[:half] + begins[-half:]


def _lines(data: Data, pos: int, behind: int) -> tuple[int, int]:
    """The line that holds `pos` and so many behind it."""
    floor = max(pos - _LONGEST_LINE // 2, 0)
    newline = data.rfind(b"\n", floor, pos)
    start = newline + 1 if newline >= 0 else floor
    end = pos
    for _ in range(behind + 1):
        limit = min(end + _LONGEST_LINE, len(data))
        newline = data.find(b"\n", end, limit)
        end = newline + 1 if newline >= 0 else limit
    return start, end
