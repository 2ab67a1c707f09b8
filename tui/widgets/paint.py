"""The styles that lines are drawn with, by name, and the colours behind them for dark and light themes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rich.style import Style
from textual.color import Color
from textual.widget import Widget

SYNTAX: Final = (
    "op", "value", "type", "encoding", "string", "number", "keyword", "symbol", "block", "attribute", "loc",
    "comment",
)  # fmt: skip
MARKS: Final = (
    "cursor", "selected", "occurrence", "match", "match-here", "token", "dim", "heading", "good", "bad",
    "warn", "link", "error", "gutter", "fold", "accent", "key",
)  # fmt: skip
STYLES: Final = (*SYNTAX, *MARKS)

DARK: Final = {
    "ir-op": "#dcc98a", "ir-value": "#8ec7ff", "ir-type": "#5fc9b0", "ir-encoding": "#e0a06c",
    "ir-string": "#c8a37e", "ir-number": "#b5cea8", "ir-keyword": "#c59be0", "ir-symbol": "#f0d890",
    "ir-block": "#c59be0", "ir-attribute": "#9fb0c3", "ir-faint": "#6b7785",
    "ir-muted": "#93a0ad",
}  # fmt: skip
LIGHT: Final = {
    "ir-op": "#6b4e00", "ir-value": "#0550ae", "ir-type": "#0b6b62", "ir-encoding": "#9a4b00",
    "ir-string": "#8a3324", "ir-number": "#2c6e2f", "ir-keyword": "#7a2fa0", "ir-symbol": "#6b4e00",
    "ir-block": "#7a2fa0", "ir-attribute": "#4a5866", "ir-faint": "#76808b",
    "ir-muted": "#5c6772",
}  # fmt: skip


def colours(theme: Mapping[str, str], dark: bool) -> dict[str, str]:
    """CSS variables for IR that go with a theme: hues by hand, backgrounds mixed from the theme's own."""
    background = Color.parse(theme["background"])

    def mixed(name: str, share: float) -> str:
        return background.blend(Color.parse(theme[name]), share).hex

    return {
        **(DARK if dark else LIGHT),
        "ir-cursor": mixed("primary", 0.22), "ir-selected": mixed("primary", 0.1),
        "ir-bar": mixed("foreground", 0.05), "ir-occurrence": mixed("accent", 0.28),
        "ir-match": mixed("warning", 0.36),
    }  # fmt: skip


COMPONENTS: Final = {f"pl--{name}" for name in STYLES}
"""The component classes behind the styles: `COMPONENT_CLASSES` of every widget that paints."""


class Paint:
    """The styles of one widget by name, kept until `forget`: they change with the theme."""

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._styles: dict[str, Style] = {"": Style.null()}

    def __call__(self, name: str) -> Style:
        """The style of a name, to be put over the widget's own; '' changes nothing."""
        style = self._styles.get(name)
        if style is None:
            style = self._widget.get_component_rich_style(f"pl--{name}", partial=True)
            self._styles[name] = style
        return style

    def forget(self) -> None:
        """Ask the widget anew."""
        self._styles = {"": Style.null()}
