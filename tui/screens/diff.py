"""The Diff screen: two programs side by side, matched op by op."""

from __future__ import annotations

from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from ...ir.diff.result import Diff
from ..report.diff_text import count_text
from ..safe import visible
from ..widgets.bars import Bar
from ..widgets.diff_rows import SideRow, beside, side_rows
from ..widgets.key_bar import Key, KeyBar
from ..widgets.row_list import RowList
from ..widgets.rows import Row

_KEYS: Final = (
    ("right_square_bracket,n", "]", "Next", "hunk(1)", "to the next change"),
    ("left_square_bracket,p", "[", "Previous", "hunk(-1)", "to the previous change"),
    ("plus,enter", "+", "More", "context(4)", "show more of what is the same"),
    ("minus", "-", "Less", "context(-4)", "show less of what is the same"),
    ("right,l", "→", "Right", "shift(20)", "move the text to the left"),
    ("left,h", "←", "Left", "shift(-20)", "move the text back"),
    ("escape,q,d", "q", "Close", "close", "back to the passes"),
)
_MOST_CONTEXT: Final = 1 << 20


class SideBySide(RowList):
    """The rows, made when they are drawn."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self.sides: list[SideRow] = []
        self.shift = 0

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.sides)

    def row(self, index: int) -> Row:
        """One row, fitted to the width."""
        return beside(self.sides[index], self.inner.width, self.shift)


class DiffScreen(Screen[None]):
    """One comparison."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(keys, action, label, show=False) for keys, _, label, action, _ in _KEYS
    ]

    def __init__(self, diff: Diff, names: tuple[str, str]) -> None:
        super().__init__()
        self.diff = diff
        self.names = names
        self.context = 1

    def compose(self) -> ComposeResult:
        """Title, names of the sides, rows, keys."""
        yield Bar(id="diff-title")
        yield Bar(id="diff-sides", classes="title")
        yield SideBySide(id="diff-rows")
        yield KeyBar([Key(shown, label, action) for _, shown, label, action, _ in _KEYS])

    def on_mount(self) -> None:
        """Show the comparison, with the cursor on the first change."""
        self._fill()
        self.rows.focus()
        self.call_after_refresh(self._first)

    @property
    def rows(self) -> SideBySide:
        """The list."""
        return self.query_one(SideBySide)

    def _first(self) -> None:
        self.rows.move(next((i for i, row in enumerate(self.rows.sides) if row.hunk == 0), 0))
        self._bars()

    def _fill(self) -> None:
        self.rows.sides = side_rows(self.diff, self.context)
        self.rows.show(())

    def _bars(self) -> None:
        rows = self.rows
        hunks = max((row.hunk for row in rows.sides), default=-1) + 1
        here = rows.sides[rows.cursor].hunk if rows.sides else -1
        where = f" change {here + 1} of {hunks} " if here >= 0 else f" {hunks} changes "
        said = (
            count_text(self.diff.counts(), len(self.diff.b.ops)) if not self.diff.same else "the same program"
        )
        self.query_one("#diff-title", Bar).say(
            ((" diff ", "key"), (f" {said}", "heading")), ((where, "dim"),)
        )
        half = max((self.size.width - 3) // 2, 4)
        left = visible(self.names[0])[: half - 2]
        self.query_one("#diff-sides", Bar).say(((f" {left:<{half}} {visible(self.names[1])}", "heading"),))

    def on_row_list_moved(self) -> None:
        """Say which change the cursor is on."""
        self._bars()

    def on_resize(self) -> None:
        """Fit the names of the sides."""
        if self.rows.sides:
            self._bars()

    def action_hunk(self, by: int) -> None:
        """Go to the beginning of the next or previous change."""
        rows, at = self.rows.sides, self.rows.cursor
        starts = [
            i for i, row in enumerate(rows) if row.hunk >= 0 and (not i or rows[i - 1].hunk != row.hunk)
        ]
        found = [i for i in starts if i > at] if by > 0 else [i for i in reversed(starts) if i < at]
        if found:
            self.rows.move(found[0])
        else:
            self.notify("there is no further change", timeout=2)

    def action_context(self, factor: int) -> None:
        """Show more or less of what is the same; the cursor stays at its op."""
        if not self.rows.sides:
            return
        wanted = self.context * factor if factor > 0 else self.context // -factor
        self.context = min(max(wanted, 1), _MOST_CONTEXT)
        before = self.rows.sides[self.rows.cursor]
        self._fill()
        at = next((i for i, row in enumerate(self.rows.sides) if row.op is before.op and row.op), 0)
        self.call_after_refresh(self.rows.move, at)
        self._bars()

    def action_shift(self, by: int) -> None:
        """Move the text sideways."""
        self.rows.shift = max(self.rows.shift + by, 0)
        self.rows.refresh()

    def action_close(self) -> None:
        """Back to the passes."""
        self.dismiss()
