"""Choosing a snapshot of the trace to compare the one shown with."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from ...ir.trace import Trace
from ..titles import snapshot_title
from ..widgets.bars import Bar
from ..widgets.row_list import RowList
from ..widgets.rows import Row


class SnapshotChoice(ModalScreen[int | None]):
    """The snapshots of the same format in a window over the screen; dismissed with the index chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,D", "dismiss(None)", "Close", show=False)]

    def __init__(self, trace: Trace, key: int) -> None:
        super().__init__()
        self.trace = trace
        self.key = key

    def compose(self) -> ComposeResult:
        """A heading and the list."""
        with Vertical(id="choice"):
            title = Bar(classes="title")
            shown = snapshot_title(self.trace.snapshots[self.key])
            title.say(((f" Compare {shown} with", "heading"),), (("enter  esc closes ", "dim"),))
            yield title
            yield RowList(id="choice-rows")

    def on_mount(self) -> None:
        """Fill the list, with the cursor near the snapshot that is shown."""
        form = self.trace.snapshots[self.key].format
        others = [s for s in self.trace.snapshots if s.format == form and s.index != self.key]
        rows = [
            Row(((f" {s.index:>4}  ", "dim"), (snapshot_title(s), "")), ((f"{s.kernel} ", "dim"),), s.index)
            for s in others
        ]
        listed = self.query_one(RowList)
        listed.show(rows, max(sum(s.index < self.key for s in others) - 1, 0))
        listed.focus()

    @on(RowList.Chosen)
    def _chosen(self, event: RowList.Chosen) -> None:
        found = event.rows.row(event.index).target
        if isinstance(found, int):
            self.dismiss(found)
