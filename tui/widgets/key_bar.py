"""The keys at the bottom of a screen: one line, drawn at once, each key a button for the mouse.

Textual's own footer is rebuilt, widget by widget, whenever the focus moves; this one never is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual import events

from .bars import Bar


@dataclass(frozen=True, slots=True)
class Key:
    """A key as it is shown, what it does in a word, and the action behind it."""

    shown: str
    label: str
    action: str


class KeyBar(Bar):
    """Keys and what they do; a click does it."""

    DEFAULT_CSS = "KeyBar { dock: bottom; }"

    def __init__(self, keys: Sequence[Key], id: str | None = None) -> None:
        super().__init__(id=id)
        self.keys = tuple(keys)
        pieces: list[tuple[str, str]] = []
        for key in self.keys:
            pieces += [(f" {key.shown}", "key"), (f" {key.label} ", "dim")]
        self.say(tuple(pieces))

    async def on_click(self, event: events.Click) -> None:
        """Do what the key under the mouse does."""
        right = 0
        for key in self.keys:
            right += cell_len(f" {key.shown} {key.label} ")
            if event.x < right:
                await self.screen.run_action(key.action)
                return
