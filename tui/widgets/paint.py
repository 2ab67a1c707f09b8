"""The styles that lines are drawn with, by name: hues by hand for dark and light, the rest from the theme.

They are not CSS classes on purpose: Textual works out every component class of every widget anew whenever
the focus moves, which costs more than drawing a page.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rich.style import Style
from textual.app import App
from textual.color import Color
from textual.theme import Theme
from textual.widget import Widget

_DARK: Final = {
    "op": "#dcc98a", "value": "#8ec7ff", "type": "#5fc9b0", "encoding": "#e0a06c", "string": "#c8a37e",
    "number": "#b5cea8", "keyword": "#c59be0", "symbol": "#f0d890", "block": "#c59be0",
    "attribute": "#9fb0c3", "faint": "#6b7785", "muted": "#93a0ad",
}  # fmt: skip
_LIGHT: Final = {
    "op": "#6b4e00", "value": "#0550ae", "type": "#0b6b62", "encoding": "#9a4b00", "string": "#8a3324",
    "number": "#2c6e2f", "keyword": "#7a2fa0", "symbol": "#6b4e00", "block": "#7a2fa0",
    "attribute": "#4a5866", "faint": "#76808b", "muted": "#5c6772",
}  # fmt: skip
_BACKGROUNDS: Final = {
    "cursor": ("primary", 0.22), "selected": ("primary", 0.1), "bar": ("foreground", 0.05),
    "occurrence": ("accent", 0.28), "match": ("warning", 0.36),
}  # fmt: skip
"""Backgrounds mixed from the theme's own and so much of another of its colours."""
LANE_HUES: Final = 8
"""Backgrounds `lane0`, `lane1` and so on, which tell neighbouring lanes apart."""


_known: dict[str, tuple[Theme, dict[str, Style]]] = {}


def colours(theme: Mapping[str, str], dark: bool) -> dict[str, str]:
    """The colours of IR that go with a theme, as CSS variables (`ir-op`, `ir-cursor`, …)."""
    background = Color.parse(theme["background"])
    mixed = {
        name: background.blend(Color.parse(theme[other]), share).hex
        for name, (other, share) in _BACKGROUNDS.items()
    }
    return {f"ir-{name}": hue for name, hue in ((_DARK if dark else _LIGHT) | mixed).items()}


def _palette(theme: Theme) -> dict[str, Style]:
    variables = theme.to_color_system().generate()
    known = colours(variables, theme.dark)
    ground = _rich(variables["background"])

    def hue(name: str) -> str:
        return _rich(known.get(f"ir-{name}") or variables[name])

    styles = {name: Style(color=hue(name)) for name in _DARK}
    styles |= {name: Style(bgcolor=hue(name)) for name in ("cursor", "selected")}
    return styles | {
        "": Style.null(),
        "symbol": Style(color=hue("symbol"), bold=True),
        "loc": Style(color=hue("faint")),
        "comment": Style(color=hue("faint"), italic=True),
        "gutter": Style(color=hue("faint")),
        "dim": Style(color=hue("muted")),
        "heading": Style(color=hue("foreground"), bold=True),
        "good": Style(color=hue("success")),
        "warn": Style(color=hue("warning")),
        "error": Style(color=hue("error")),
        "bad": Style(color=hue("error"), bold=True),
        "gone": Style(color=hue("error"), bold=True, underline=True),
        "came": Style(color=hue("success"), bold=True, underline=True),
        "fold": Style(color=hue("primary")),
        "link": Style(color=hue("primary"), underline=True),
        "accent": Style(color=hue("accent"), bold=True),
        "key": Style(color=hue("accent"), bold=True),
        "occurrence": Style(bgcolor=hue("occurrence"), underline=True),
        "token": Style(color=ground, bgcolor=hue("accent"), bold=True),
        "match": Style(bgcolor=hue("match"), underline=True),
        "match-here": Style(color=ground, bgcolor=hue("warning"), bold=True),
        **{f"lane{i}": Style(bgcolor=_lane(variables["background"], i)) for i in range(LANE_HUES)},
    }


def _lane(background: str, number: int) -> str:
    """One of the lanes' backgrounds; neighbours in number lie far apart on the colour wheel."""
    wheel = Color.from_hsl((number * 3 % LANE_HUES) / LANE_HUES, 0.7, 0.5)
    return _rich(Color.parse(background).blend(wheel, 0.3).hex)


def palette(app: App[object]) -> dict[str, Style]:
    """Name → style for the theme that the app has now; '' changes nothing."""
    theme = app.current_theme
    known = _known.get(theme.name)
    if known is None or known[0] is not theme:
        known = _known[theme.name] = (theme, _palette(theme))
    return known[1]


class Paint:
    """The styles of one widget by name, kept until `forget`: they change with the theme."""

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._styles: dict[str, Style] = {}

    def __call__(self, name: str) -> Style:
        """The style of a name, to be put over the widget's own."""
        if not self._styles:
            self._styles = palette(self._widget.app)
        return self._styles[name]

    def forget(self) -> None:
        """Ask the app anew."""
        self._styles = {}


def _rich(colour: str) -> str:
    """A colour of a theme as Rich writes it."""
    name = Color.parse(colour).rich_color.name
    return name
