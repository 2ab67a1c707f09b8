"""The app: which screen is shown, themes, and the command palette."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import ClassVar

from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.theme import Theme

from .actions import ACTIONS
from .jobs import Unwaited
from .screens.diff import KEYS, DiffScreen
from .screens.picker import PickerScreen
from .screens.timeline import KEYS as TIMELINE_KEYS
from .screens.timeline import TimelineScreen
from .screens.trace import TraceScreen
from .screens.trace_view import Refused
from .widgets.paint import colours

_THREADS = 12
"""At least one for each kind of job."""
_THEMES = (
    Theme(
        name="passlens-dark", primary="#5aa9e6", secondary="#3d6b94", accent="#f2b84b", foreground="#d7dee6",
        background="#11151a", surface="#151a20", panel="#1f2730", success="#6cc48c", warning="#e6b450",
        error="#ef6b73", dark=True,
    ),
    Theme(
        name="passlens-light", primary="#1f6fb2", secondary="#7fa8c9", accent="#a65f00", foreground="#1d2733",
        background="#f7f8fa", surface="#ffffff", panel="#e4e9ef", success="#1f7a42", warning="#8f5a00",
        error="#b3261e", dark=False,
    ),
)  # fmt: skip


class PasslensApp(App[str]):
    """Shows one trace, or the screen it is given; without either it begins with the file picker."""

    TITLE = "passlens"
    CSS_PATH = "passlens.tcss"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+q", "quit", "Quit", show=False, priority=True)]

    def __init__(
        self, path: str | None = None, *, theme: str = "passlens-dark", first: DiffScreen | None = None
    ) -> None:
        super().__init__()
        self.path = path
        self.first = first
        for known in _THEMES:
            self.register_theme(known)
        self.theme = theme

    def get_css_variables(self) -> dict[str, str]:
        """The theme's variables and the colours of IR that go with a dark or a light theme."""
        variables = super().get_css_variables()
        return {**variables, **colours(variables, self.current_theme.dark)}

    def on_mount(self) -> None:
        """Open what was asked for."""
        asyncio.get_running_loop().set_default_executor(Unwaited(_THREADS, "passlens"))
        if self.first is not None:
            self.push_screen(self.first, lambda _: self.exit())
        else:
            self.push_screen(TraceScreen(self.path) if self.path is not None else PickerScreen())

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every action of the Trace, the Diff or the Timeline screen, besides Textual's own commands."""
        yield from super().get_system_commands(screen)
        if isinstance(screen, TraceScreen):
            for action in ACTIONS:
                node = screen.ir if action.pane else screen
                yield SystemCommand(
                    action.title,
                    f"{action.help} ({action.shown})",
                    lambda name=action.action, node=node: self.call_later(self.run_action, name, node),
                )

        if isinstance(screen, DiffScreen | TimelineScreen):
            for _, shown, title, name, what in KEYS if isinstance(screen, DiffScreen) else TIMELINE_KEYS:
                yield SystemCommand(
                    title,
                    f"{what} ({shown})",
                    lambda name=name: self.call_later(self.run_action, name, screen),
                )

    def on_refused(self, message: Refused) -> None:
        """A file given on the command line that cannot be used ends the app; a picked one goes back."""
        if self.path is not None:
            self.exit(message.reason, return_code=2)
            return
        self.switch_screen(PickerScreen(message.reason))

    def on_pick_another(self) -> None:
        """Let the reader choose another file."""
        self.push_screen(PickerScreen())

    def on_picker_screen_picked(self, message: PickerScreen.Picked) -> None:
        """Open the file that was chosen in place of the screens so far."""
        self.path = None
        while len(self.screen_stack) > 2:
            self.pop_screen()
        self.switch_screen(TraceScreen(message.path))
