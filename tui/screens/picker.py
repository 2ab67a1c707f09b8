"""The file picker: samples first, then folders, with a filter."""

from __future__ import annotations

import os
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input

from ..widgets.bars import Bar
from ..widgets.files import Choice, folder_choices, picker_rows, sample_choices
from ..widgets.key_bar import Key, KeyBar
from ..widgets.row_list import RowList

_KEYS = (
    Key("enter", "Open", "open"), Key("/", "Filter", "filter"), Key("⌫", "Folder up", "up"),
    Key("esc", "Back", "leave"), Key("q", "Quit", "app.quit"),
)  # fmt: skip


class PickerScreen(Screen[None]):
    """Choose a file to open."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open"),
        Binding("slash,f", "filter", "Filter", key_display="/"),
        Binding("backspace,left,h", "up", "Folder up", key_display="⌫"),
        Binding("escape", "leave", "Back", key_display="esc"),
        Binding("q", "app.quit", "Quit"),
    ]

    class Picked(Message):
        """A file or folder was chosen."""

        def __init__(self, path: str) -> None:
            self.path = path
            super().__init__()

    def __init__(self, complaint: str = "", folder: str = "") -> None:
        super().__init__()
        self.complaint = complaint
        self.folder = folder or os.getcwd()
        self._samples: list[Choice] = []
        self._inside: list[Choice] = []

    def compose(self) -> ComposeResult:
        """Title, filter, list, footer."""
        yield Bar(id="title")
        yield Bar(id="complaint")
        yield Input(placeholder="type to filter", id="filter", compact=True)
        yield RowList(id="files")
        yield KeyBar(_KEYS)

    def on_mount(self) -> None:
        """List the samples and the folder."""
        self.query_one("#title", Bar).say(
            ((" passlens ", "key"), (" open a dump, a pass log or a model", "dim"))
        )
        complaint = self.query_one("#complaint", Bar)
        complaint.say(((f" ✗ {self.complaint}", "bad"),))
        complaint.display = bool(self.complaint)
        self._samples = sample_choices()
        self.enter(self.folder)
        self.query_one(RowList).focus()

    def enter(self, folder: str) -> None:
        """List a folder."""
        self.folder = folder
        self._inside = folder_choices(folder)
        with self.query_one(Input).prevent(Input.Changed):
            self.query_one(Input).value = ""
        self.relist()

    def relist(self) -> None:
        """Apply the filter."""
        rows = picker_rows(self._samples, self.folder, self._inside, self.query_one(Input).value)
        first = next((at for at, row in enumerate(rows) if row.target is not None), 0)
        self.query_one(RowList).show(rows, first)

    @on(Input.Changed)
    def _filtered(self) -> None:
        self.relist()

    @on(Input.Submitted)
    def _entered(self) -> None:
        self.query_one(RowList).focus()
        self.query_one(RowList).action_choose()

    @on(RowList.Chosen)
    def _chosen(self, event: RowList.Chosen) -> None:
        choice = event.rows.row(event.index).target
        if not isinstance(choice, Choice):
            return
        if choice.opens:
            self.post_message(self.Picked(choice.path))
        else:
            self.enter(choice.path)

    def action_open(self) -> None:
        """Open what the cursor is on."""
        self.query_one(RowList).action_choose()

    def action_filter(self) -> None:
        """Type a filter."""
        self.query_one(Input).focus()

    def action_up(self) -> None:
        """Go to the folder above."""
        self.enter(os.path.dirname(self.folder))

    def action_leave(self) -> None:
        """Leave the filter, or go back to the trace; with none, leave the app."""
        if self.query_one(Input).has_focus or self.query_one(Input).value:
            self.query_one(Input).value = ""
            self.query_one(RowList).focus()
        elif len(self.app.screen_stack) > 2:
            self.app.pop_screen()
        else:
            self.app.exit()
