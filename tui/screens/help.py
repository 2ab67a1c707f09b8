"""The help page: every key with what it does."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from ..actions import groups
from ..widgets.bars import Bar
from ..widgets.row_list import RowList
from ..widgets.rows import Row, heading, plain

_GLYPHS = (
    ("●", "good", "the pass changed the program"),
    ("·", "dim", "the pass changed nothing"),
    ("○", "dim", "not known: the other side of the pass is not in the input"),
    ("✗", "bad", "the pass failed; a value that is used and never defined"),
    ("−12 / +3", "good", "how many ops the pass took away or added"),
    ("⇄8", "encoding", "layout conversions after the pass"),
    ("┄", "dim", "a dump from inside a pass"),
    ("▾ ▸", "fold", "open and folded"),
)


class HelpScreen(ModalScreen[None]):
    """Keys and signs, in a window over the screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1", "dismiss", "Close", show=False),
    ]

    def __init__(self, rows: list[Row] | None = None) -> None:
        super().__init__()
        self._rows = rows

    def compose(self) -> ComposeResult:
        """A heading and the list."""
        with Vertical(id="help"):
            title = Bar(classes="title")
            title.say(((" Keys", "heading"),), (("esc closes ", "dim"),))
            yield title
            yield RowList(id="help-rows")

    def on_mount(self) -> None:
        """Fill the list."""
        rows = self.query_one(RowList)
        rows.show(help_rows() if self._rows is None else self._rows)
        rows.focus()


def help_rows() -> list[Row]:
    """The rows of the help page."""
    rows: list[Row] = []
    for group, actions in groups().items():
        rows.append(heading(f" {group}"))
        rows += [
            Row(
                (
                    ("   ", ""),
                    (f"{action.shown:<13}", "key"),
                    (f"{action.title:<17}", ""),
                    (action.help, "dim"),
                )
            )
            for action in actions
        ]
        rows.append(plain(""))
    rows.append(heading(" Moving"))
    for keys, what in (
        ("j k ↑ ↓", "line by line"),
        ("space  PgDn", "a page on; ctrl+d and ctrl+u by half a page"),
        ("ctrl+p", "command palette: every action by name, and themes"),
        ("mouse", "click selects, twice goes to the definition; the gutter folds; the wheel scrolls"),
    ):
        rows.append(Row((("   ", ""), (f"{keys:<13}", "key"), (what, "dim"))))
    rows += [plain(""), heading(" Signs")]
    rows += [Row((("   ", ""), (f"{glyph:<13}", style), (what, "dim"))) for glyph, style, what in _GLYPHS]
    return rows
