"""Instructions of MIGraphX logs that are broken over several lines."""

from __future__ import annotations

from typing import Final

from .logs_prefix import mark_length
from .logs_text import Data, decode
from .migraphx_wrap import MOST_LINES, MOST_TEXT, lines_of

_RUN: Final = "Run instruction: "
_LONGEST_LINE: Final = 4096


def whole_end(data: Data, start: int, limit: int) -> int:
    """Where the instruction on the line at `start` ends if it is broken over several lines."""
    text = decode(bytes(data[start : min(limit, start + MOST_TEXT)]))
    end = start - 1
    for _ in range(lines_of(text[mark_length(text) :].removeprefix(_RUN))):
        found = data.find(b"\n", end + 1, limit)
        end = found if found >= 0 else limit
    return end


def rest_of_wrapped(data: Data, pos: int, floor: int, limit: int) -> int:
    """How many lines behind the one at `pos` belong to the instruction that this line is part of."""
    begin, above = pos, 0
    while not _begins(bytes(data[begin : begin + _LONGEST_LINE]).partition(b"\n")[0]):
        if begin <= max(floor + 1, pos - MOST_TEXT) or above >= MOST_LINES:
            return 0
        begin = max(data.rfind(b"\n", floor, begin - 1) + 1, floor)
        above += 1
    text = decode(bytes(data[begin : min(limit, begin + MOST_TEXT)]))
    return max(lines_of(text[mark_length(text) :]) - 1 - above, 0)


def _begins(line: bytes) -> bool:
    return b" = " in line or b"@return" in line


def line_behind(data: Data, pos: int, lines: int) -> int:
    """The beginning of the line that is some lines behind the one at `pos`."""
    for _ in range(lines):
        pos = data.find(b"\n", pos) + 1
    return pos
