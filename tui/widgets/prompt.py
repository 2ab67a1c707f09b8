"""The line at the bottom in which a search, a line number or a filter is typed."""

from __future__ import annotations

from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input

from .bars import Bar

Purpose = Literal["search", "line", "filter", "break", "budget", "limit", "write"]
_MARKS: dict[Purpose, str] = {
    "search": " / ", "line": " : ", "filter": " passes: ", "break": " stop at: ", "budget": " budget: ",
    "limit": " memory limit: ", "write": " write the plan to: ",
}  # fmt: skip


class Prompt(Horizontal):
    """Hidden until it is asked for; tells of every change, of Enter and of Escape."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Cancel", show=False)]

    class Typed(Message):
        """The text changed, was confirmed (`done`) or given up (`done` and `cancelled`)."""

        def __init__(
            self, purpose: Purpose, text: str, *, done: bool = False, cancelled: bool = False
        ) -> None:
            self.purpose = purpose
            self.text = text
            self.done = done
            self.cancelled = cancelled
            super().__init__()

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self.purpose: Purpose = "search"
        self.display = False

    def compose(self) -> ComposeResult:
        """A label, the input, and room for a count."""
        yield Bar(id="prompt-label")
        yield Input(id="prompt-input", compact=True, select_on_focus=False)
        yield Bar(id="prompt-note")

    def open(self, purpose: Purpose, text: str = "") -> None:
        """Show the line and take the keys."""
        self.purpose = purpose
        label = self.query_one("#prompt-label", Bar)
        label.say(((_MARKS[purpose], "key"),))
        label.styles.width = len(_MARKS[purpose])
        self.note("")
        self.display = True
        field = self.query_one(Input)
        with field.prevent(Input.Changed):
            field.value = text
        field.cursor_position = len(text)
        field.focus()

    def note(self, text: str, style: str = "dim") -> None:
        """Say something at the right end, such as the number of matches."""
        self.query_one("#prompt-note", Bar).say((), ((text + " ", style),) if text else ())

    def close(self) -> None:
        """Hide the line."""
        self.display = False

    def action_cancel(self) -> None:
        """Give up."""
        self.close()
        self.post_message(self.Typed(self.purpose, "", done=True, cancelled=True))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Pass on what was typed."""
        event.stop()
        if self.display:
            self.post_message(self.Typed(self.purpose, event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Pass on what was confirmed."""
        event.stop()
        self.close()
        self.post_message(self.Typed(self.purpose, event.value, done=True))
