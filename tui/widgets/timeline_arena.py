"""The arena as a picture: time across, offsets down; in each cell the buffer that takes most of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ...ir.analysis.lives import Life
from ..report.timeline_text import Scale

STREAMED: Final = "▓"
ACTIVATION: Final = "▒"
FREE: Final = "·"
OUTSIDE: Final = -2
"""The number of cells that are not in the run."""
_NOTICEABLE: Final = 0.2
"""A cell that is filled less shows nothing."""


@dataclass(slots=True)
class ArenaPicture:
    """Rows of cells, each with the number of a life in `lives`, or -1 where nothing lies, or `OUTSIDE`."""

    lives: list[Life]
    cells: list[list[int]]
    bytes_per_row: float

    def at(self, row: int, column: int) -> Life | None:
        """What lies in a cell."""
        if not (0 <= row < len(self.cells) and 0 <= column < len(self.cells[row])):
            return None
        number = self.cells[row][column]
        return self.lives[number] if number >= 0 else None

    def mark(self, row: int, column: int) -> tuple[str, str]:
        """The character of a cell and the name of its style; neighbours in number differ in hue."""
        number = self.cells[row][column]
        if number < 0:
            return (FREE if number == -1 else " "), "gutter"
        if self.lives[number].streamed:
            return STREAMED, ("value", "fold")[number % 2]
        return ACTIVATION, ("type", "good")[number % 2]


def arena_picture(
    lives: list[Life], arena: int, scale: Scale, rows: int, run: tuple[float, float]
) -> ArenaPicture:
    """Draw `arena` bytes in `rows` rows over the stretch of time of `scale`, as far as it is in the run."""
    begin, end = max(scale.begin, run[0]), min(scale.end, run[1])
    kept = [life for life in lives if life.end_us > begin and life.start_us < end]
    per_row = max(arena / rows, 1.0) if rows else 1.0
    best = [[0.0] * scale.cells for _ in range(rows)]
    inside = [begin < scale.us(column + 0.5) < end for column in range(scale.cells)]
    cells = [[-1 if here else OUTSIDE for here in inside] for _ in range(rows)]
    for number, life in enumerate(kept):
        left, right = scale.cell(max(begin, life.start_us)), scale.cell(min(end, life.end_us))
        top, bottom = life.buffer.start / per_row, min(float(rows), life.buffer.end / per_row)
        for row, high in _parts(top, bottom):
            for column, wide in _parts(left, right):
                area = high * wide
                if row < rows and column < scale.cells and inside[column] and area > best[row][column]:
                    best[row][column] = area
                    if area > _NOTICEABLE:
                        cells[row][column] = number
    return ArenaPicture(kept, cells, per_row)


def _parts(begin: float, end: float) -> list[tuple[int, float]]:
    """The cells that a stretch crosses, each with the part of it that is covered."""
    found = []
    at = int(begin)
    while at < end:
        found.append((at, min(end, at + 1) - max(begin, at)))
        at += 1
    return found
