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
from .logs_prefix import mark_length
from .migraphx_line import Line, parse_line
from .migraphx_source import MigraphxSource

MOST_LINES: Final = 256
"""Lines that one instruction may take; MIGraphX prints a literal's first elements only."""
MOST_TEXT: Final = 1 << 16
"""Characters that a broken instruction may take."""
_MOST_TRIES: Final = 6
"""How often lines whose brackets all close may fail to make an instruction."""
_TAIL: Final = re.compile(r",? ?target_id=\d+|: ?-?[\d.]+|: ?weight=")


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
    end: int
    """Where its first line ends."""
    pieces: list[Piece] = field(default_factory=list)
    depth: int | None = None
    """Brackets open so far less those that close, over all kinds."""
    ends: bool = False
    """Whether there is an arrow, or the operation is one without a shape."""
    tries: int = 0

    def joined(self, source: MigraphxSource, piece: Piece) -> Line | None:
        """The instruction that the text up to a further piece makes, if it makes a whole one."""
        if not self._may_end(source.text, piece) or self.is_full or piece.end - self.op.start > MOST_TEXT:
            return None
        return self.join(source, piece)

    def _may_end(self, text: str, piece: Piece) -> bool:
        """Whether it is worth a try: its brackets all close, or, where some never do, its shape seems to."""
        before = self.pieces[-1].end if self.pieces else self.end
        if self.depth is None:
            self.depth = _depth(text, self.op.start, before)
            self.ends = self.op.name == "@return" or text.find("->", self.op.start, before) >= 0
        self.depth += _depth(text, piece.start, piece.end)
        self.ends = self.ends or "->" in text[before - 1 : before] + text[piece.start : piece.end]
        return self.ends and (not self.depth or text[piece.end - 1] in "]}")

    def join(self, source: MigraphxSource, piece: Piece) -> Line | None:
        """The same, tried in any case."""
        text, start = source.text, self.op.start
        self.tries += 1
        spans = [(start, self.end), *((p.start, p.end) for p in (*self.pieces, piece))]
        for whole in (
            _unwrapped(text, spans),
            " ".join(text[begin:end] for begin, end in spans),
            "".join(text[begin:end] for begin, end in spans),
        ):
            line = parse_line(whole, self.module)
            if line is not None and not line.skip and source.is_whole(line):
                if bool(line.mangled) != bool(source.lines[start].mangled):
                    return None
                line.extent = piece.end - start
                self.pieces.append(piece)
                return line
        return None

    def join_tail(self, source: MigraphxSource, piece: Piece) -> Line | None:
        """The instruction with a further piece, if it is whole already and the piece belongs to it.

        That is a piece that can only stand behind a shape; or the rest of the origin, where the line before
        it is as long as those that were broken.
        """
        if self.is_full or piece.end - self.op.start > MOST_TEXT:
            return None
        text = source.text
        if _TAIL.match(text, piece.start):
            return self.join(source, piece)
        line = self.join(source, piece) if self._last_is_broken(text) else None
        if line is not None and "#" not in line.suffix:
            self.pieces.pop()
            return None
        return line

    def _last_is_broken(self, text: str) -> bool:
        starts = [self.op.start, *(piece.start for piece in self.pieces)]
        widths = [text.find("\n", at) - text.rfind("\n", 0, at) for at in starts]
        # The first line may lack the indentation of the others.
        *others, last = widths[1:] if len(widths) > 2 else widths
        return bool(others) and all(width == last for width in others)

    @property
    def is_full(self) -> bool:
        """Whether no further line can belong to the instruction."""
        return len(self.pieces) >= MOST_LINES or self.tries >= _MOST_TRIES


def lines_of(text: str, module: str = "") -> int:
    """How many lines the instruction takes that a text begins with; 1 if more lines make no whole one."""
    source = MigraphxSource(text)
    end = source.line_end(0)
    line = parse_line(text[:end].rstrip(), module)
    if line is None or source.is_whole(line):
        return 1
    source.lines[0] = line
    wrapped = Wrapped(Op(line.op, source, 0, end), module, len(text[:end].rstrip()))
    whole = False
    while end < len(text) and not wrapped.is_full:
        start, end = end + 1, source.line_end(end + 1)
        inside = text[start:end].strip()
        if not inside:
            break
        start += mark_length(text[start:end])
        start += len(text[start:end]) - len(text[start:end].lstrip())
        piece = Piece(start, start, start + len(text[start:end].rstrip()))
        joined = wrapped.join_tail(source, piece) if whole else wrapped.joined(source, piece)
        if whole and joined is None:
            break
        whole = whole or joined is not None
        wrapped.pieces += [] if joined is not None else [piece]
    return len(wrapped.pieces) + 1 if whole else 1


def _unwrapped(text: str, spans: list[tuple[int, int]]) -> str:
    """The lines as one, blanks at their ends kept, but for an indentation that all but the first have."""
    rows = []
    for start, end in spans:
        begin = start
        while begin and text[begin - 1] in " \t":
            begin -= 1
        # Of the blanks behind a logger's mark, one is the mark's own.
        begin += 0 if begin == 0 or text[begin - 1] == "\n" else min(1, start - begin)
        stop = text.find("\n", end)
        rows.append(text[begin : stop if stop >= 0 else len(text)].rstrip("\r"))
    first, *rest = rows
    indent = min(len(row) - len(row.lstrip()) for row in rest)
    return (
        text[spans[0][0] : spans[0][1]]
        + first[len(first.rstrip()) :]
        + "".join(row[indent if indent > 1 else 0 :] for row in rest)
    )


def _depth(text: str, start: int, end: int) -> int:
    opened = sum(text.count(mark, start, end) for mark in "[{(")
    return opened - sum(text.count(mark, start, end) for mark in "]})")
