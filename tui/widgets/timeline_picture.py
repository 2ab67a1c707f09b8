"""The picture of the Timeline screen: the program as it stands, another below it, and the arena of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from ...ir.analysis.intervals import Interval
from ...ir.analysis.lives import Life
from ...ir.analysis.stalls import bytes_in_words
from ..planning import Planned, Sight, Which
from ..report.timeline_text import Scale, times
from ..safe import visible
from .paint import Paint
from .timeline_arena import ACTIVATION, STREAMED, ArenaPicture, arena_picture
from .timeline_lanes import STYLES, lane_line, lane_name, stall_line, under
from .timeline_words import arena_title, sight_title

_LABEL: Final = 11
_ZOOM: Final = 2.0
_CLOSEST_US: Final = 0.5
"""No fewer microseconds are shown across."""
_MOST_LANES: Final = 4
"""Of each program; the others are left out and counted."""


@dataclass(slots=True)
class Line:
    """One line of the picture; `lane` and `row` say what it shows, for the cursor."""

    label: str
    text: str
    kind: str
    """`text`, `title`, `lane`, `stalls` or `arena`."""
    which: Which | None = None
    intervals: list[Interval] | None = None
    row: int = -1


class TimelinePicture(Widget, can_focus=True):
    """Draws what `show` was given; a cursor of time and line."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "across(-1)", "Earlier", show=False),
        Binding("right,l", "across(1)", "Later", show=False),
        Binding("shift+left,H,pageup", "across(-20)", "Pan back", show=False),
        Binding("shift+right,L,pagedown", "across(20)", "Pan on", show=False),
        Binding("up,k", "down(-1)", "Up", show=False),
        Binding("down,j", "down(1)", "Down", show=False),
        Binding("home,0", "edge(0)", "Begin", show=False),
        Binding("end,dollar_sign", "edge(1)", "End", show=False),
        Binding("enter", "choose", "Go to the op", show=False),
    ]

    class Moved(Message):
        """The cursor is somewhere else."""

    class Chosen(Message):
        """Enter or a second click: go to the op under the cursor."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self.paint = Paint(self)
        self.planned: Planned | None = None
        self.which: Which = "planned"
        self.at_us = 0.0
        """Where the cursor is, from the beginning of the run that is shown."""
        self.begin_us = 0.0
        self.span_us = 1.0
        self.line = 0
        """The cursor's place among the lines that it can be on."""
        self.lines: list[Line] = []
        self._arena: ArenaPicture | None = None

    # -- what is shown ----------------------------------------------------------------------------

    def show(self, planned: Planned, which: Which) -> None:
        """Show other programs; the stretch of time stays where it was zoomed in."""
        whole = self.planned is None or self.span_us >= self.longest_us - 1e-6
        self.planned = planned
        self.which = which if which in planned.sights else "as it stands"
        if whole:
            self.begin_us, self.span_us = 0.0, self.longest_us
        self._keep_inside()
        self.draw()

    @property
    def sight(self) -> Sight | None:
        """The program that the cursor and the arena are of."""
        return self.planned.sights.get(self.which) if self.planned is not None else None

    @property
    def longest_us(self) -> float:
        """The longest run of those shown: what the width stands for when nothing is zoomed."""
        spans = [each.span_us for each in self.planned.sights.values()] if self.planned is not None else []
        return max([*spans, _CLOSEST_US])

    @property
    def cells(self) -> int:
        """Columns for the time."""
        return max(self.size.width - _LABEL - 1, 8)

    def scale(self, sight: Sight) -> Scale:
        """The stretch that is shown in the times of a program."""
        begin = sight.begin_us + self.begin_us
        return Scale(begin, begin + self.span_us, self.cells)

    def draw(self) -> None:
        """Work the lines out anew."""
        self._arena = None
        self.lines = self._lines()
        self.line = min(self.line, max(len(self.places) - 1, 0))
        self.refresh()
        self.post_message(self.Moved())

    @property
    def places(self) -> list[int]:
        """The lines that the cursor can be on: lanes of the program it is of, and its arena."""
        return [
            index
            for index, line in enumerate(self.lines)
            if line.kind == "arena" or (line.kind == "lane" and line.which == self.which)
        ]

    def _lines(self) -> list[Line]:
        planned = self.planned
        if planned is None or not self.size.height:
            return []
        lower: Which = "naive" if self.which == "naive" else "planned"
        lines = [Line("", times(Scale(self.begin_us, self.begin_us + self.span_us, self.cells)), "text")]
        for which in ("as it stands", lower):
            sight = planned.sights.get(which)
            if sight is not None:
                lines += self._program(sight)
        sight = self.sight
        if sight is not None:
            lines += self._below(sight, self.size.height - len(lines))
        return lines

    def _program(self, sight: Sight) -> list[Line]:
        scale = self.scale(sight)
        lines = [Line("", sight_title(sight), "title", sight.which)]
        lanes = sight.lanes()
        roomy = self.size.height > 30
        for name, intervals in lanes[: _MOST_LANES * (1 + roomy)]:
            if name == "host" and not roomy:
                continue
            text = lane_line(sight, intervals, scale)
            lines.append(Line(lane_name(name, intervals), text, "lane", sight.which, intervals))
        if sight.which == self.which and sight.stalls:
            lines.append(Line("stalls", stall_line(sight, scale), "stalls", sight.which))
        return lines

    def _below(self, sight: Sight, room: int) -> list[Line]:
        rows = room - 1
        lines = [Line("", arena_title(sight), "title")]
        if rows < 1 or not sight.account.arena:
            return lines
        self._arena = arena_picture(
            sight.lives, sight.account.arena, self.scale(sight), rows, (sight.begin_us, sight.end_us)
        )
        for row in range(rows):
            offset = int(row * self._arena.bytes_per_row)
            label = bytes_in_words(offset) if row % 2 == 0 else ""
            lines.append(Line(label, "", "arena", sight.which, None, row))
        return lines

    # -- what is under the cursor -----------------------------------------------------------------

    @property
    def column(self) -> int:
        """The cell that the cursor is in."""
        return min(max(int((self.at_us - self.begin_us) / self.span_us * self.cells), 0), self.cells - 1)

    @property
    def here(self) -> Line | None:
        """The line that the cursor is on."""
        places = self.places
        return self.lines[places[self.line]] if places else None

    @property
    def interval(self) -> Interval | None:
        """The kernel or copy under the cursor, or the one next behind it."""
        line, sight = self.here, self.sight
        if line is None or sight is None or line.intervals is None:
            return None
        return under(line.intervals, sight.begin_us + self.at_us)

    @property
    def life(self) -> Life | None:
        """The buffer under the cursor."""
        line = self.here
        if line is None or self._arena is None or line.row < 0:
            return None
        return self._arena.at(line.row, self.column)

    # -- drawing ----------------------------------------------------------------------------------

    def notify_style_update(self) -> None:
        """Take the colours of another theme."""
        self.paint.forget()
        super().notify_style_update()

    def on_resize(self, _: events.Resize) -> None:
        """Fit the picture."""
        self.draw()

    def render_line(self, y: int) -> Strip:
        """Draw one line."""
        base, width = self.rich_style, self.size.width
        if y >= len(self.lines):
            return Strip.blank(width, base)
        line = self.lines[y]
        if line.kind == "title":
            chosen = line.which == self.which or line.which is None
            style = base + self.paint("selected" if chosen else "") + self.paint("heading" if chosen else "")
            return Strip([Segment(visible(line.text), style)]).adjust_cell_length(width, style)
        current = bool(self.places) and self.places[self.line] == y
        label = f"{visible(line.label)[: _LABEL - 1]:>{_LABEL - 1}} "
        pieces = [Segment(label, base + self.paint("accent" if current else "dim"))]
        if line.kind == "text":
            pieces.append(Segment(line.text, base + self.paint("dim")))
        else:
            pieces += self._cells(line, current, base)
        return Strip(pieces).adjust_cell_length(width, base)

    def _cells(self, line: Line, current: bool, base: Style) -> list[Segment]:
        life = self.life
        column = self.column
        own = line.which == self.which
        pieces: list[Segment] = []
        for at in range(self.cells):
            style = ""
            if line.kind == "arena":
                assert self._arena is not None
                mark, style = self._arena.mark(line.row, at)
                found = self._arena.at(line.row, at)
                if found is not None and life is not None and found is life:
                    style = "accent"
            else:
                mark = line.text[at]
                style = "accent" if line.kind == "stalls" else STYLES.get(mark, "")
            paint = base + self.paint(style)
            if at == column and own:
                paint = base + self.paint("accent") if current else paint
                paint += self.paint("cursor")
                mark = "┃" if current and mark in " ·" else mark
            pieces.append(Segment(mark, paint))
        return list(Segment.simplify(pieces))

    # -- moving -----------------------------------------------------------------------------------

    def go(self, at_us: float, line: int | None = None) -> None:
        """Put the cursor at a moment of the run and bring it into view."""
        self.at_us = at_us
        if line is not None:
            self.line = line
        moved = self._keep_inside()
        if moved:
            self.draw()
        else:
            self.refresh()
            self.post_message(self.Moved())

    def _keep_inside(self) -> bool:
        """Keep the cursor in the run and in view; whether the stretch shown has moved."""
        sight = self.sight
        end = sight.span_us if sight is not None else 0.0
        self.at_us = min(max(self.at_us, 0.0), max(end - 1e-6, 0.0))
        before = self.begin_us, self.span_us
        self.span_us = min(max(self.span_us, _CLOSEST_US), self.longest_us)
        if not self.begin_us <= self.at_us < self.begin_us + self.span_us:
            self.begin_us = self.at_us - self.span_us / 2
        self.begin_us = min(max(self.begin_us, 0.0), max(self.longest_us - self.span_us, 0.0))
        return before != (self.begin_us, self.span_us)

    def action_across(self, cells: int) -> None:
        """Move by cells; at the edges of the stretch shown, the stretch moves too."""
        column = self.column
        self.go(self.begin_us + (column + cells + 0.5) / self.cells * self.span_us)

    def action_down(self, by: int) -> None:
        """Move to another line."""
        self.line = min(max(self.line + by, 0), max(len(self.places) - 1, 0))
        self.go(self.at_us)

    def action_edge(self, last: int) -> None:
        """Move to the beginning or the end of the run."""
        self.go(self.longest_us if last else 0.0)

    def zoom(self, by: int) -> None:
        """Show less time (`by` > 0) or more, around the cursor."""
        share = (self.at_us - self.begin_us) / self.span_us
        self.span_us = self.span_us / _ZOOM if by > 0 else self.span_us * _ZOOM
        self.span_us = min(max(self.span_us, _CLOSEST_US), self.longest_us)
        self.begin_us = self.at_us - share * self.span_us
        self._keep_inside()
        self.draw()

    def action_choose(self) -> None:
        """Say that the op under the cursor was chosen."""
        self.post_message(self.Chosen())

    def on_click(self, event: events.Click) -> None:
        """Put the cursor under the mouse; twice goes to the op."""
        places = self.places
        if event.y in places and event.x >= _LABEL:
            us = self.begin_us + (event.x - _LABEL + 0.5) / self.cells * self.span_us
            self.go(us, places.index(int(event.y)))
            if event.chain > 1:
                self.action_choose()


__all__ = ["ACTIVATION", "STREAMED", "TimelinePicture"]
