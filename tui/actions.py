"""Every action of the Trace screen in one table: keys, palette and help all read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Action:
    """Something the reader can do; `keys` as Textual names them, `shown` as people read them."""

    group: str
    keys: str
    shown: str
    action: str
    title: str
    help: str
    pane: bool = False
    """Whether the IR pane binds the keys itself, so that they mean something else in other panes."""


ACTIONS: Final = (
    Action("Panes", "1", "1", "pane('passes')", "Passes", "go to the list of passes"),
    Action("Panes", "2", "2", "pane('ir')", "IR", "go to the IR"),
    Action("Panes", "3", "3", "pane('inspector')", "Inspector", "go to the inspector, showing it"),
    Action("Panes", "4", "4", "pane('findings')", "Findings", "go to the findings, showing them"),
    Action("Panes", "w,f6", "w", "next_pane", "Next pane", "go to the next pane"),
    Action("Panes", "s", "s", "toggle_pane('passes')", "Passes on/off", "show or hide the list of passes"),
    Action("Panes", "i", "i", "toggle_pane('inspector')", "Inspect", "show or hide the inspector"),
    Action("Panes", "m", "m", "toggle_pane('findings')", "Findings", "show or hide the findings"),
    Action("Panes", "o", "o", "overview", "Overview", "the numbers of this program and of the input"),
    Action("Passes", "full_stop,J", ".  J", "step_pass(1)", "Next pass", "show the next pass"),
    Action("Passes", "comma,K", ",  K", "step_pass(-1)", "Previous pass", "show the previous pass"),
    Action(
        "Passes",
        "greater_than_sign",
        ">",
        "step_changed(1)",
        "Next change",
        "the next pass that changed the program",
    ),
    Action(
        "Passes",
        "less_than_sign",
        "<",
        "step_changed(-1)",
        "Previous change",
        "the previous pass that changed it",
    ),
    Action("Passes", "b", "b", "side", "Before/after", "show the program before or after the pass"),
    Action(
        "Passes",
        "f",
        "f",
        "filter",
        "Filter",
        "list only passes whose names hold the words typed",
    ),
    Action("Passes", "d", "d", "diff", "Diff", "show what the pass chosen changed, side by side"),
    Action("Passes", "D", "D", "diff_with", "Diff with…", "choose another program to compare this one with"),
    Action(
        "Passes", "S", "S", "stepper", "Step the pass", "walk the layout pass, or the planner of streaming"
    ),
    Action(
        "Passes", "T", "T", "timeline", "Timeline", "kernels, copies and memory over time, and a better plan"
    ),
    Action("Passes", "c", "c", "changed_only", "Changed only", "list only passes that changed the program"),
    Action(
        "Search",
        "slash",
        "/",
        "search",
        "Search",
        "search this text as you type; upper case counts if typed",
    ),
    Action("Search", "n", "n", "match(1)", "Next match", "go to the next match", pane=True),
    Action("Search", "N", "N", "match(-1)", "Previous match", "go to the previous match", pane=True),
    Action("Search", "colon", ":", "line", "Line", "go to a line by its number"),
    Action("Search", "escape", "esc", "clear", "Clear", "drop the search, the filter, or go back to the IR"),
    Action("Values", "l,tab", "l  tab", "value(1)", "Next value", "to the next value on the line", pane=True),
    Action(
        "Values",
        "h,shift+tab",
        "h",
        "value(-1)",
        "Previous value",
        "to the previous value on the line",
        pane=True,
    ),
    Action(
        "Values", "g", "gd  enter", "definition", "Definition", "go to where the value is defined", pane=True
    ),
    Action("Values", "asterisk", "*", "use(1)", "Next use", "go to the next use of the value", pane=True),
    Action(
        "Values",
        "number_sign",
        "#",
        "use(-1)",
        "Previous use",
        "go to the previous use of the value",
        pane=True,
    ),
    Action(
        "Values", "H", "H", "value_history", "History", "follow the value under the cursor through all passes"
    ),
    Action("Values", "a", "a", "expand", "Expand aliases", "write aliases out in the inspector"),
    Action(
        "Values",
        "left_square_bracket",
        "[  ctrl+o",
        "history(-1)",
        "Back",
        "back to where the last jump began",
        pane=True,
    ),
    Action("Values", "right_square_bracket", "]", "history(1)", "Forward", "forward again", pane=True),
    Action("Values", "y", "y", "copy", "Copy", "copy the text of the op to the clipboard"),
    Action("Text", "z", "z  enter", "fold", "Fold", "fold or unfold the region", pane=True),
    Action("Text", "Z", "Z", "fold_all", "Fold all", "fold or unfold all inner regions", pane=True),
    Action("Text", "L", "L", "locations", "Locations", "hide or show source locations"),
    Action("Text", "G", "gg  G", "edge(1)", "End", "go to the top, or the end", pane=True),
    Action(
        "Text",
        "shift+right",
        "shift+←→  0",
        "pan(1)",
        "Scroll right",
        "scroll sideways; 0 for the first column",
        pane=True,
    ),
    Action("App", "O", "O", "open", "Open file", "choose another file"),
    Action("App", "question_mark,f1", "?", "help", "Help", "this page"),
    Action("App", "q", "q", "app.quit", "Quit", "leave passlens"),
)


FOOTER: Final = {
    "help": "Help", "next_pane": "Pane", "search": "Search", "step_pass(1)": "Next", "step_pass(-1)": "Prev",
    "diff": "Diff", "side": "Side", "overview": "Overview", "toggle_pane('inspector')": "Inspect",
    "toggle_pane('findings')": "Findings", "filter": "Filter", "app.quit": "Quit",
}  # fmt: skip
"""What the footer shows, in this order, by short names."""


def groups() -> dict[str, list[Action]]:
    """The actions by group, in the order of the table."""
    found: dict[str, list[Action]] = {}
    for action in ACTIONS:
        found.setdefault(action.group, []).append(action)
    return found
