"""Single lines of text that are never read as markup: the title bar and the headings of panes."""

from __future__ import annotations

from rich.cells import cell_len
from rich.segment import Segment
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from ..safe import visible
from .paint import Paint
from .rows import Pieces


class Bar(Widget):
    """One line with a left and a right part; the left one is cut where both do not fit."""

    DEFAULT_CSS = "Bar { height: 1; width: 1fr; }"

    def __init__(self, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.paint = Paint(self)
        self.left: Pieces = ()
        self.right: Pieces = ()

    def notify_style_update(self) -> None:
        """Take the colours of another theme."""
        self.paint.forget()
        super().notify_style_update()

    def say(self, left: Pieces, right: Pieces = ()) -> None:
        """Show other texts."""
        if (left, right) != (self.left, self.right):
            self.left, self.right = left, right
            self.refresh()

    @property
    def text(self) -> str:
        """What the bar says, without styles."""
        return "".join(text for text, _ in (*self.left, *self.right))

    def get_content_width(self, container: Size, viewport: Size) -> int:
        """As wide as it can be."""
        return container.width

    def render_line(self, y: int) -> Strip:
        """Draw the line."""
        base, width = self.rich_style, self.size.width
        right = [Segment(visible(text), base + self.paint(style)) for text, style in self.right]
        space = min(sum(cell_len(segment.text) for segment in right), width)
        left = Strip(
            [Segment(visible(text[: width + 1]), base + self.paint(style)) for text, style in self.left]
        )
        room = width - space
        if left.cell_length > room:
            left = Strip([*left.crop(0, max(room - 1, 0)), Segment("…", base)])
        return Strip([*left.adjust_cell_length(room, base), *right]).adjust_cell_length(width, base)
