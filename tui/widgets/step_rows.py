"""Rows of the Stepper screen: the table of values, and the steps with their reasons."""

from __future__ import annotations

from ...ir.passes.layout.state import describe
from ...ir.passes.step import PHASE, Step
from ..stepping import MISSING, Cell
from ..stream_stepping import FactCell
from .rows import Pieces, Row

# Signs that say without colour what kind of step it is.
_GLYPHS: dict[str, tuple[str, str]] = {
    "anchor": ("⚓", "accent"), "visit": ("·", "dim"), "candidate": ("+", "good"), "pick": ("✓", "good"),
    "pick-single": ("✓", "dim"), "rewrite": ("~", "warn"), "map": ("→", "good"), "convert": ("⇄", "warn"),
    MISSING: ("✗", "bad"), "poisoned": ("☠", "bad"), "erase": ("-", "warn"), "erase-dead": ("-", "dim"),
    "fold": ("↓", "good"), "check": ("?", "accent"), "slice-failed": ("✗", "warn"), "remat": ("↻", "good"),
    "remat-value": ("+", "dim"), "keep": ("■", "good"), "stream": ("↓", "value"), "copy": ("+", "value"),
    "issue": ("◀", "good"), "await-copy": ("◊", "warn"), "guard": ("◊", "warn"),
    "replace": ("→", "good"), "latent": ("!", "warn"), "fatal": ("✗", "bad"),
}  # fmt: skip


def step_row(number: int, step: Step, current: bool) -> Row:
    """One step of the log; `number` counts from 1."""
    glyph, style = _GLYPHS.get(step.kind, ("▪" if step.depth <= PHASE else " ", "heading"))
    indent = "" if step.depth <= PHASE else "  "
    mark = "▶" if current else " "
    text = "heading" if step.depth <= PHASE else "bad" if step.kind == MISSING else ""
    left: Pieces = (
        (f"{mark}{number:>5} ", "accent" if current else "gutter"), (f"{indent}{glyph} ", style),
        (f"{step.kind}  ", "dim"), (step.why, text),
    )  # fmt: skip
    return Row(left, target=number)


def cell_row(cell: Cell, here: bool) -> Row:
    """One value of the table: name, candidates with the pick marked, and what it became."""
    name, _, what = describe(cell.value).partition(" ")
    left: list[tuple[str, str]] = [("▶ " if here else "  ", "accent"), (f"{name:<8}", "value"), (" ", "")]
    for layout in cell.candidates:
        picked = layout == cell.pick
        left.append((f"✓{layout} " if picked else f"{layout} ", "good" if picked else "encoding"))
    if cell.order_dependent:
        left.append(("by order of uses ", "warn"))
    left.append((what, "dim"))
    if cell.missing:
        right: Pieces = ((f" MISSING in {cell.missing} ", "bad"),)
    elif cell.image:
        right = ((f" → {cell.image} ", "good"),)
    else:
        right = ()
    return Row(tuple(left), right, target=cell.value)


def fact_row(cell: FactCell, here: bool) -> Row:
    """One fact of the planner."""
    return Row(
        (
            ("▶ " if here else "  ", "accent"), (f"{cell.table:<10}", "dim"), (f"{cell.name:<14} ", "value"),
            (cell.said, "heading" if here else ""),
        ),
        target=cell,
    )  # fmt: skip
