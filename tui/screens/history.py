"""The history of a value: born, rewritten, moved, erased, pass by pass."""

from __future__ import annotations

from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from ...ir.diff.history import Event
from ...ir.trace import Trace
from ..safe import visible
from ..titles import run_title, snapshot_title
from ..widgets.bars import Bar
from ..widgets.row_list import RowList
from ..widgets.rows import Row

_HUES: Final = {"born": "good", "erased": "bad", "rewritten": "warn", "unchanged": "dim"}


class HistoryScreen(ModalScreen[Event | None]):
    """Events in a window over the screen; choosing one leads to its pass."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,H", "dismiss(None)", "Close", show=False),
        Binding("a", "everything", "All", show=False),
    ]

    def __init__(self, name: str, events: list[Event], trace: Trace) -> None:
        super().__init__()
        self.value = name
        self.events = events
        self.trace = trace
        self.everything = False

    def compose(self) -> ComposeResult:
        """A heading and the list."""
        with Vertical(id="history"):
            yield Bar(id="history-title", classes="title")
            yield RowList(id="history-rows")

    def on_mount(self) -> None:
        """Fill the list."""
        self._fill()
        self.query_one(RowList).focus()

    def _fill(self) -> None:
        shown = [event for event in self.events if self.everything or event.what != "unchanged"]
        rest = len(self.events) - len(shown)
        note = f"{rest} passes that left it as it was: a shows them " if rest else "enter: to the pass  esc "
        title = self.query_one("#history-title", Bar)
        title.say(((f" {visible(self.value)} through the passes", "heading"),), ((note, "dim"),))
        self.query_one(RowList).show([row for event in shown for row in self._rows(event)])

    def _rows(self, event: Event) -> list[Row]:
        if event.run is not None:
            place = run_title(self.trace.runs[event.run])
        else:
            place = snapshot_title(self.trace.snapshots[event.snapshot])
        hue = _HUES.get(event.what, "accent")
        text = f" → {event.replacement}" if event.replacement else f"  {event.text}"
        rows = [
            Row(
                (
                    (f" {event.snapshot:>4}  ", "dim"),
                    (f"{event.what:<10} ", hue),
                    (place, "heading"),
                    (visible(text), ""),
                ),
                target=event,
            )
        ]
        for part in event.parts:
            said = f"{part.kind} {part.which}: {part.old or '(none)'} → {part.new or '(none)'}"
            rows.append(Row(((" " * 18, ""), (visible(said), "warn")), target=event))
        return rows

    @on(RowList.Chosen)
    def _chosen(self, event: RowList.Chosen) -> None:
        found = event.rows.row(event.index).target
        if isinstance(found, Event):
            self.dismiss(found)

    def action_everything(self) -> None:
        """Show the passes that left the value as it was, too, or not."""
        self.everything = not self.everything
        self._fill()
