"""One text on the screen with what is known about it: its lines, and its program once it is parsed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from ..ir.program import Program
from .widgets.ir_lines import LineIndex, index_lines
from .widgets.places import ProgramIndex, index_program, region_ranges

_LOCATION_LINE: Final = re.compile(r"^#loc\w* = loc\(.*$", re.M)


@dataclass(slots=True)
class Document:
    """A snapshot's text, or a stretch of a log that holds no program (then `format` is '')."""

    key: int
    """Index of the snapshot; -1 for the log itself."""
    title: str
    format: str
    lines: LineIndex
    index: ProgramIndex | None = None
    ranges: list[tuple[int, int]] = field(default_factory=list)
    """What can be folded: the line that stays, the last line that is hidden."""
    location_ranges: list[tuple[int, int]] = field(default_factory=list)
    """Runs of lines that only define location aliases."""
    marks: dict[int, str] = field(default_factory=dict)
    """Lines that a diagnostic is about → its code."""

    @property
    def text(self) -> str:
        """The whole text."""
        return self.lines.text

    @property
    def program(self) -> Program | None:
        """The parsed program, once there is one."""
        return self.index.program if self.index else None


def document(key: int, title: str, format: str, text: str) -> Document:
    """A document that is not parsed yet."""
    lines = index_lines(text)
    return Document(key, title, format, lines, location_ranges=_location_ranges(lines))


def parsed(document: Document, program: Program) -> Document:
    """The document with its program: what can be folded, and which lines have diagnostics."""
    lines = document.lines
    marks = {
        lines.line_of(diagnostic.offset): diagnostic.code
        for diagnostic in program.diagnostics
        if diagnostic.offset >= 0
    }
    ranges = region_ranges(program, lines)
    return Document(
        document.key, document.title, document.format, lines, index_program(program), ranges,
        document.location_ranges, marks,
    )  # fmt: skip


def _location_ranges(lines: LineIndex) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    for found in _LOCATION_LINE.finditer(lines.text):
        line = lines.line_of(found.start())
        if ranges and ranges[-1][1] == line - 1:
            ranges[-1] = (ranges[-1][0], line)
        else:
            ranges.append((line, line))
    return [(head, tail) for head, tail in ranges if tail > head]
