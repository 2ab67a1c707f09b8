"""Instructions that a terminal or an editor has broken over several lines.

A line that does not make a whole instruction stays open. Lines behind it that are no instructions of their
own are held; as soon as all of them together make a whole instruction, they are its text. If that does not
happen within some lines they are what they look like by themselves, and the instruction was cut off.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from ..program import Op
from .migraphx_line import Line, parse_line
from .migraphx_source import MigraphxSource

MOST_LINES: Final = 256
"""Lines that one instruction may take; MIGraphX prints a literal's first elements only."""
MOST_TEXT: Final = 1 << 16
"""Characters that a broken instruction may take."""
_MOST_TRIES: Final = 6
"""How often lines whose brackets all close may fail to make an instruction."""
_TAIL: Final = re.compile(r",? ?target_id=\d+|: ?-?[\d.]+|: ?weight=|#")


@dataclass(slots=True)
class Piece:
    """A line that may be the rest of an instruction; offsets in the text."""

    lead: int
    start: int
    end: int


@dataclass(slots=True)
class Wrapped:
    """The instruction that is still open, and the lines held for it."""

    op: Op
    module: str
    pieces: list[Piece] = field(default_factory=list)
    depth: int | None = None
    """Brackets open so far less those that close, over all kinds."""
    tries: int = 0

    def joined(self, source: MigraphxSource, piece: Piece) -> Line | None:
        """The instruction that the text up to a further piece makes, if it makes a whole one."""
        text, start = source.text, self.op.start
        self.depth = _depth(text, start, self.op.end) if self.depth is None else self.depth
        self.depth += _depth(text, piece.start, piece.end)
        if self.depth or self.is_full or piece.end - start > MOST_TEXT:
            return None
        self.tries += 1
        spans = [(start, self.op.end), *((p.start, p.end) for p in (*self.pieces, piece))]
        for whole in (
            text[start : piece.end].replace("\r", "").replace("\n", ""),
            "".join(text[begin:end] for begin, end in spans),
            " ".join(text[begin:end] for begin, end in spans),
        ):
            line = parse_line(whole, self.module)
            if line is not None and not line.skip and source.is_whole(line):
                line.extent = piece.end - start
                return line if bool(line.mangled) == bool(source.lines[start].mangled) else None
        return None

    @property
    def is_full(self) -> bool:
        """Whether no further line can belong to the instruction."""
        return len(self.pieces) >= MOST_LINES or self.tries >= _MOST_TRIES


def may_follow_whole(text: str) -> bool:
    """Whether a line can only be what stands behind a shape, so that it belongs to a whole instruction."""
    return _TAIL.match(text) is not None


def _depth(text: str, start: int, end: int) -> int:
    opened = sum(text.count(mark, start, end) for mark in "[{(")
    return opened - sum(text.count(mark, start, end) for mark in "]})")
