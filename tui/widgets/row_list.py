"""A list of any length that builds and draws only the rows in sight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ..safe import visible
from .paint import Paint
from .rows import Row


class RowList(ScrollView, can_focus=True):
    """Rows with a cursor; text from files is drawn as it is, never as markup."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "step(-1)", "Up", show=False),
        Binding("down,j", "step(1)", "Down", show=False),
        Binding("pageup,ctrl+b", "page(-1)", "Page up", show=False),
        Binding("pagedown,ctrl+f", "page(1)", "Page down", show=False),
        Binding("ctrl+u", "page(-0.5)", "Half a page up", show=False),
        Binding("ctrl+d", "page(0.5)", "Half a page down", show=False),
        Binding("home,g", "edge(0)", "First", show=False),
        Binding("end,G", "edge(1)", "Last", show=False),
        Binding("enter", "choose", "Choose", show=False),
    ]

    class Moved(Message):
        """The cursor went to another row."""

        def __init__(self, rows: RowList, index: int) -> None:
            self.rows = rows
            self.index = index
            super().__init__()

        @property
        def control(self) -> RowList:
            """The list."""
            return self.rows

    class Chosen(Moved):
        """Enter or the mouse chose a row."""

    def __init__(self, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.paint = Paint(self)
        self._frame: tuple[Style, int] | None = None
        self.rows: Sequence[Row] = ()
        self.cursor = 0

    @property
    def inner(self) -> Size:
        """The size without scroll bars."""
        return self.scrollable_content_region.size

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw what is in sight; what all its lines need is worked out once."""
        self._frame = (self.rich_style, self.inner.width)
        return super().render_lines(crop)

    def notify_style_update(self) -> None:
        """Take the colours of another theme."""
        self.paint.forget()
        super().notify_style_update()

    def row(self, index: int) -> Row:
        """The row to draw; lists that make their rows when they are drawn override this."""
        return self.rows[index]

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.rows)

    def show(self, rows: Sequence[Row], cursor: int | None = None) -> None:
        """Show other rows; the cursor goes to `cursor`, or stays as far as it can."""
        self.rows = rows
        self.resized()
        self.cursor = min(max(self.cursor if cursor is None else cursor, 0), max(self.count - 1, 0))
        self._into_view()
        self.refresh()

    def resized(self) -> None:
        """Tell the scroll bars how many rows there are."""
        self.virtual_size = Size(0, self.count)

    def move(self, index: int) -> None:
        """Put the cursor on a row, bring it into view and say so."""
        if not self.count:
            return
        index = min(max(index, 0), self.count - 1)
        changed = index != self.cursor
        self.cursor = index
        self._into_view()
        self.refresh()
        if changed:
            self.post_message(self.Moved(self, index))

    def action_step(self, by: int) -> None:
        """Move by some rows."""
        self.move(self.cursor + by)

    def action_page(self, pages: float) -> None:
        """Move by pages, or parts of one."""
        self.move(self.cursor + int(pages * max(self.inner.height - 1, 1)))

    def action_edge(self, last: int) -> None:
        """Move to the first or last row."""
        self.move(self.count - 1 if last else 0)

    def action_choose(self) -> None:
        """Say that the row under the cursor was chosen."""
        if self.count:
            self.post_message(self.Chosen(self, self.cursor))

    def on_click(self, event: events.Click) -> None:
        """Put the cursor where the mouse is, and choose that row."""
        row = int(event.y) + self.scroll_offset.y
        if row < self.count:
            self.move(row)
            self.action_choose()

    def on_focus(self) -> None:
        """Show the cursor."""
        self.refresh()

    def on_blur(self) -> None:
        """Show that the cursor is elsewhere."""
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw one row."""
        base, width = self._frame or (self.rich_style, self.inner.width)
        index = self.scroll_offset.y + y
        if index >= self.count:
            return Strip.blank(width, base)
        if index == self.cursor:
            base += self.paint("cursor" if self.has_focus else "selected")
        row = self.row(index)
        right = [Segment(visible(text), base + self.paint(style)) for text, style in row.right]
        space = sum(cell_len(segment.text) for segment in right)
        room = max(width - space - (1 if space else 0), 0)
        # No row is wider than its list, so the rest of a very long text need not be looked at.
        left = [Segment(visible(text[: width + 1]), base + self.paint(style)) for text, style in row.left]
        strip = Strip(left)
        if strip.cell_length > room:
            strip = Strip([*strip.crop(0, max(room - 1, 0)), Segment("…", base + self.paint("dim"))])
        strip = strip.adjust_cell_length(max(width - space, 0), base)
        return Strip([*strip, *right]).adjust_cell_length(width, base)

    def _into_view(self) -> None:
        top, height = self.scroll_offset.y, max(self.inner.height, 1)
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False)
        elif self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False)
