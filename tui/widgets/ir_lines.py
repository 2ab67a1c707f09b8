"""Where the lines of a text are, so that any line is found without touching the others."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from dataclasses import dataclass

from ..safe import visible


@dataclass(frozen=True, slots=True)
class LineIndex:
    """A text and the offsets at which its lines begin; lines and columns count from 0."""

    text: str
    starts: array[int]
    longest: int
    """Columns that the widest line takes on the screen."""

    def __len__(self) -> int:
        return len(self.starts)

    def span(self, line: int) -> tuple[int, int]:
        """The offsets of a line, its line end not included."""
        start = self.starts[line]
        if line + 1 < len(self.starts):
            return start, self.starts[line + 1] - 1
        return start, len(self.text) - (self.text.endswith("\n") and len(self.text) > start)

    def line(self, line: int) -> str:
        """The text of a line."""
        start, end = self.span(line)
        return self.text[start:end]

    def line_of(self, offset: int) -> int:
        """The line that an offset is on; offsets outside the text go to the first or last line."""
        return max(bisect_right(self.starts, offset) - 1, 0)


def index_lines(text: str) -> LineIndex:
    """Find the lines of `text`; only `\\n` ends one."""
    starts = array("q", [0])
    pos = longest = 0
    for line in text.split("\n"):
        longest = max(longest, len(line) if line.isprintable() else len(visible(line)))
        pos += len(line) + 1
        starts.append(pos)
    starts.pop()
    if len(starts) > 1 and starts[-1] == len(text):
        starts.pop()
    return LineIndex(text, starts, longest)
