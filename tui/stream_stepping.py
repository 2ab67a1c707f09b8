"""The planner of streaming being walked: the debugger on a program of its own, and what is shown of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from ..ir.analysis.cost import kernel_us
from ..ir.analysis.devices import device
from ..ir.errors import InputError
from ..ir.formats.migraphx_print import print_migraphx
from ..ir.passes.step import PASS, Debugger, Pass, Step
from ..ir.passes.streaming.decisions import Wishes
from ..ir.passes.streaming.detach import main_block
from ..ir.passes.streaming.passes import StreamingPass
from ..ir.passes.streaming.report import account
from ..ir.program import Op, Program

BUDGETS: Final = ("0%", "25%", "50%", "75%", "100%")
FAULT: Final = "cannot-be-planned"
_TABLES: Final = ("residency", "copy", "issue", "offset", "event")
_DEVICE: Final = "h200"


@dataclass(frozen=True, slots=True)
class FactCell:
    """What the facts say of one literal, copy, buffer or event."""

    table: str
    name: str
    said: str


class _Told:
    """A pass of which an error in the input is the last step, so that it can be walked up to there."""

    def __init__(self, inner: Pass) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        """As users type it."""
        return self._inner.name

    def steps(self, program: Program) -> Iterator[Step]:
        """The steps, and why there are no more."""
        try:
            yield from self._inner.steps(program)
        except InputError as error:
            yield Step(FAULT, "", f"this cannot be planned: {error}", depth=PASS)


class StreamStepping:
    """The streaming pass under one budget, on a fresh program.

    Raises:
        InputError: the program is none that can be planned.
    """

    format: Final = "migraphx"
    first_stop: Final = "kind=issue"

    def __init__(self, read: Callable[[], Program], text: str, budget: str = "0%") -> None:
        self.read = read
        self.text = text
        self.rules = f"budget {budget}"
        self.budget = budget
        self.program: Program = read()
        main_block(self.program)
        target = device(_DEVICE)
        bytes_kept = account(self.program).literals * int(budget[:-1]) // 100
        pass_ = StreamingPass(lambda op: kernel_us(op, target), target.pinned, Wishes(bytes_kept))
        self.debugger = Debugger(_Told(pass_), self.program)
        self._printed: tuple[int, str] = (0, text)

    @property
    def step(self) -> Step | None:
        """The step that was made last."""
        return self.debugger.step

    @property
    def cells(self) -> list[FactCell]:
        """Everything that is known at this step: the youngest table first, which is the one being filled."""
        facts = self.debugger.facts
        return [
            FactCell(table, str(key), _said(table, found))
            for table in reversed(_TABLES)
            for key, found in facts.get(table, {}).items()
        ]

    def about(self, cell: FactCell) -> bool:
        """Whether the last step is about it."""
        step = self.step
        if step is None:
            return False
        if any(fact.table == cell.table and str(fact.key) == cell.name for fact in step.facts):
            return True
        return step.value is not None and step.value.name == cell.name

    def shown_text(self) -> str:
        """The program at this step as text; printed anew only where the position is another one."""
        if self._printed[0] != self.debugger.position:
            self._printed = self.debugger.position, print_migraphx(self.program)
        return self._printed[1]

    def place(self, text: str) -> int | None:
        """Where in `text` the step's op stands; None where it has no place there."""
        op = self._subject()
        if op is None:
            return None
        if text == self.text and 0 <= op.start < op.end:
            return op.start
        for result in op.results:
            found = re.search(rf"^[ \t]*({re.escape(result.name)} = )", text, re.M)
            if found:
                return found.start(1)
        return None

    def _subject(self) -> Op | None:
        step = self.step
        if step is None or step.op is not None:
            return step.op if step is not None else None
        return step.value.op if step.value is not None else None

    def missing(self) -> list[int]:
        """There are no mappings that could be missing."""
        return []

    def under_next_budget(self) -> StreamStepping:
        """The same program under the next budget, around the corner."""
        at = BUDGETS.index(self.budget)
        return StreamStepping(self.read, self.text, BUDGETS[(at + 1) % len(BUDGETS)])


def _said(table: str, found: object) -> str:
    if table == "offset" and isinstance(found, tuple) and len(found) == 2:
        return f"bytes {found[0]:,} to {found[1]:,} of the arena"
    if table == "issue" and isinstance(found, int):
        return (
            f"issued in the run before, {-found} slots from its end"
            if found < 0
            else f"issued at slot {found}"
        )
    if table == "copy":
        return f"copies {found}"
    return f"recorded behind {found}" if table == "event" else str(found)
