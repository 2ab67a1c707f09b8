"""The Stepper: a layout pass walked step by step, forwards and backwards, on the program it was given."""

from __future__ import annotations

from typing import ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen

from ...ir.errors import InputError
from ...ir.passes.layout.explain import explain_missing
from ...ir.program import Value
from ..document import document
from ..safe import visible
from ..stepping import Stepping, breakpoint_of, next_rules, parting
from ..widgets.bars import Bar
from ..widgets.ir_pane import IrPane
from ..widgets.key_bar import Key, KeyBar
from ..widgets.prompt import Prompt
from ..widgets.row_list import RowList
from ..widgets.rows import Row
from ..widgets.step_rows import cell_row, step_row

_SMALL: Final = 3000
"""Up to so many lines the program is printed anew at every step; larger ones at phases and with `u`."""


class StepLog(RowList):
    """The steps seen so far; rows are made when they are drawn."""

    stepping: Stepping | None = None

    @property
    def count(self) -> int:
        """How many steps have been seen."""
        return len(self.stepping.debugger.known) if self.stepping else 0

    def row(self, index: int) -> Row:
        """One step."""
        assert self.stepping is not None
        debugger = self.stepping.debugger
        return step_row(index + 1, debugger.known_at(index), index + 1 == debugger.position)


class ValueTable(RowList):
    """Values with candidates; rows are made when they are drawn."""

    stepping: Stepping | None = None
    values: list[Value] = []  # noqa: RUF012  # replaced as a whole, never changed

    @property
    def count(self) -> int:
        """How many values have candidates."""
        return len(self.values)

    def row(self, index: int) -> Row:
        """One value."""
        assert self.stepping is not None
        step = self.stepping.step
        value = self.values[index]
        return cell_row(self.stepping.cell(value), step is not None and step.value is value)
