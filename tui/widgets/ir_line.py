"""What of one line of IR is shown, and which column is which character."""

from __future__ import annotations

from typing import Final

from ...ir.formats.mlir_text import balanced_end
from ..safe import visible
from .highlight import Span, spans, whole

LONG: Final = 4000
"""Lines longer than this are coloured only around what is in sight, and keep their locations."""
MARGIN: Final = 300


def line_spans(line: str, format: str, hide_locations: bool) -> list[Span]:
    """The shown stretches of a whole line, without gaps except for hidden locations."""
    found = whole(spans(line, format), 0, len(line))
    if not hide_locations or format != "mlir" or "loc(" not in line:
        return found
    shown: list[Span] = []
    pos = 0
    for start, end in _locations(line):
        shown.extend(_within(found, pos, start))
        pos = end
    shown.extend(_within(found, pos, len(line)))
    return shown


def window_spans(line: str, format: str, column: int, width: int) -> list[Span]:
    """The stretches of a long line around the columns in sight, those in front of them not coloured."""
    start, end = max(column - MARGIN, 0), min(column + width + MARGIN, len(line))
    inside = spans(line[start:end], format)
    return whole([(low + start, high + start, style) for low, high, style in inside], start, end)


def column_of(line: str, shown: list[Span], offset: int) -> int:
    """The column at which the character at `offset` of the line is shown."""
    column = 0
    for start, end, _ in shown:
        if offset < end:
            return column + len(visible(line[start : max(offset, start)]))
        column += len(visible(line[start:end]))
    return column


def offset_of(line: str, shown: list[Span], column: int) -> int:
    """The character of the line that is shown at a column; the line's length behind its end."""
    at = 0
    for start, end, _ in shown:
        width = len(visible(line[start:end]))
        if column < at + width:
            if width == end - start:
                return start + column - at
            for offset in range(start, end):
                at += len(visible(line[offset]))
                if column < at:
                    return offset
        at += width
    return len(line)


def _within(found: list[Span], low: int, high: int) -> list[Span]:
    return [
        (max(start, low), min(end, high), style) for start, end, style in found if start < high and end > low
    ]


def _locations(line: str) -> list[tuple[int, int]]:
    """Where the `loc(…)` of a line are, each with the blanks in front of it; not that of `#loc = loc(…)`."""
    places = []
    pos = line.find("loc(")
    while pos >= 0:
        end = balanced_end(line, pos + 3)
        begin = pos
        while begin and line[begin - 1] == " ":
            begin -= 1
        if not (pos and (line[pos - 1].isalnum() or line[pos - 1] == "_")) and not line[:begin].endswith("="):
            places.append((begin, end))
        pos = line.find("loc(", end)
    return places
