"""The Stepper: a pass walked step by step, forwards and backwards, on the program it was given.

It walks the layout pass of Triton programs, and the planner of weight streaming of MIGraphX programs.
"""

from __future__ import annotations

from typing import ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen

from ...ir.errors import InputError
from ...ir.passes.step import PHASE
from ...ir.program import Value
from ..document import document
from ..safe import visible
from ..stepping import MISSING, Stepping, breakpoint_of, next_rules, parting
from ..stream_stepping import FAULT, FactCell, StreamStepping
from ..widgets.bars import Bar
from ..widgets.ir_pane import IrPane
from ..widgets.key_bar import Key, KeyBar
from ..widgets.prompt import Prompt
from ..widgets.row_list import RowList
from ..widgets.rows import Row, wrapped
from ..widgets.step_rows import cell_row, fact_row, step_row

_SMALL: Final = 3000
"""Up to so many lines the program is printed anew at every step; larger ones at phases and with `u`."""


class StepLog(RowList):
    """The steps seen so far; rows are made when they are drawn."""

    stepping: Stepping | StreamStepping | None = None

    @property
    def count(self) -> int:
        """How many steps have been seen."""
        return self.stepping.debugger.seen if self.stepping else 0

    def row(self, index: int) -> Row:
        """One step."""
        assert self.stepping is not None
        debugger = self.stepping.debugger
        return step_row(index + 1, debugger.known_at(index), index + 1 == debugger.position)


class ValueTable(RowList):
    """Values with candidates, or the planner's facts; rows are made when they are drawn."""

    stepping: Stepping | StreamStepping | None = None

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self.values: list[Value | FactCell] = []

    def fill(self) -> None:
        """Take the values of the step that was made last; the cursor goes to the one that it is about."""
        assert self.stepping is not None
        here: int | None = None
        if isinstance(self.stepping, StreamStepping):
            self.values = [*self.stepping.cells]
            here = next((i for i, cell in enumerate(self.stepping.cells) if self.stepping.about(cell)), None)
        else:
            self.values = [*self.stepping.values]
            step = self.stepping.step
            if step is not None and step.value is not None:
                here = next((i for i, value in enumerate(self.values) if value is step.value), None)
        self.show((), here)

    @property
    def count(self) -> int:
        """How many values have candidates."""
        return len(self.values)

    def row(self, index: int) -> Row:
        """One value."""
        assert self.stepping is not None
        step = self.stepping.step
        value = self.values[index]
        if isinstance(self.stepping, StreamStepping):
            assert isinstance(value, FactCell)
            return fact_row(value, self.stepping.about(value))
        assert isinstance(value, Value)
        return cell_row(self.stepping.cell(value), step is not None and step.value is value)


_KEYS: Final = (
    ("n,full_stop,right,space", "n  .", "Step", "forward", "make the next step"),
    ("p,comma,left,backspace", "p  ,", "Back", "back", "take the last step back"),
    ("o", "o", "Over", "over", "go on to the next step that is no deeper"),
    ("u", "u", "Out", "out", "go on to the next phase, or the end"),
    ("m", "m", "Missing", "missing", "go on to the next missing mapping (planner: the next copy issued)"),
    ("b", "b", "Stop at", "stop_at", "run to a breakpoint: missing, kind=…, value=%…, op=…, phase=…"),
    ("c", "c", "Continue", "carry_on(1)", "run to the last breakpoint again"),
    ("C", "C", "Run back", "carry_on(-1)", "run backwards to the last breakpoint"),
    ("E", "E", "End", "end", "go to the end of the pass"),
    ("B", "B", "Start", "start", "go back to the beginning"),
    (
        "r",
        "r",
        "Rules",
        "rules",
        "run under the next rule set, and go to where the two part (planner: the next budget)",
    ),
    ("w", "w", "Pane", "next_pane", "go to the next pane"),
    ("escape,q", "q", "Close", "close", "back to the passes"),
)

_PLANNER_LABELS: Final = {"Missing": "Issue", "Rules": "Budget"}
_BREAKPOINTS: list[tuple[int, str]] | None = [(0, "-narrow"), (110, "-wide")]


class StepperScreen(Screen[None]):
    """One run of a pass."""

    HORIZONTAL_BREAKPOINTS = _BREAKPOINTS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(keys, action, label, show=False) for keys, _, label, action, _ in _KEYS
    ]

    def __init__(self, stepping: Stepping | StreamStepping, title: str) -> None:
        super().__init__()
        self.text = stepping.text
        self.name_of_pass = title
        self.stepping = stepping
        self.stop = stepping.first_stop
        self._note = ""
        self._drawn = ""

    def compose(self) -> ComposeResult:
        """Title, IR beside the values, the steps with their reasons, keys."""
        yield Bar(id="step-title")
        with Horizontal(id="step-panes"):
            with Vertical(id="step-ir-side"):
                yield Bar(id="step-ir-title", classes="title")
                yield IrPane(id="step-ir")
            with Vertical(id="step-values-side"):
                yield Bar(id="step-values-title", classes="title")
                yield ValueTable(id="step-values")
        with Vertical(id="step-log-side"):
            yield Bar(id="step-log-title", classes="title")
            yield RowList(id="step-why")
            yield StepLog(id="step-log")
        yield Prompt(id="prompt")
        named = _PLANNER_LABELS if isinstance(self.stepping, StreamStepping) else {}
        yield KeyBar(
            [
                Key(shown, named.get(label, label), action)
                for _, shown, label, action, _ in _KEYS
                if label != "Run back"
            ]
        )

    def on_mount(self) -> None:
        """Show the program before the first step."""
        self._begin()
        self.query_one(StepLog).focus()

    def on_resize(self, _: events.Resize) -> None:
        """Fit the panes."""
        self.query_one("#step-log-side").styles.height = max(self.size.height // 3, 8)

    def _begin(self) -> None:
        self.query_one(StepLog).stepping = self.stepping
        self.query_one(ValueTable).stepping = self.stepping
        self._drawn = ""
        self.stepping.debugger.forward()
        self.refresh_panes(text=True)

    # -- what is shown ----------------------------------------------------------------------------

    def refresh_panes(self, *, text: bool | None = None) -> None:
        """Bring all panes to the step that was made last."""
        self._show_text(text)
        table, log = self.query_one(ValueTable), self.query_one(StepLog)
        table.fill()
        log.show((), self.stepping.debugger.position - 1)
        # The list learns its new length with the next layout; only then can it scroll to its end.
        self.call_after_refresh(log.move, self.stepping.debugger.position - 1)
        self._bars()

    def _show_text(self, wanted: bool | None) -> None:
        """The program: printed anew at every step if it is small, else at phases and when asked for."""
        stepping, pane = self.stepping, self.query_one("#step-ir", IrPane)
        step = stepping.step
        small = len(pane.document.lines) <= _SMALL
        if wanted or small or (step is not None and step.depth <= PHASE):
            shown = stepping.shown_text()
            if shown != self._drawn:
                self._drawn = shown
                pane.show(document(0, "", stepping.format, shown))
        place = stepping.place(self._drawn)
        if place is not None:
            pane.go(place, remember=False)

    def _bars(self) -> None:
        debugger, step = self.stepping.debugger, self.stepping.step
        total = f"{debugger.seen:,}" if debugger.finished else f"{debugger.seen:,}+"
        where = f" step {debugger.position:,} of {total} " if step is not None else " before the first step "
        missing = len(self.stepping.missing())
        found = f" {missing} missing mapping{'s' * (missing != 1)} " if missing else ""
        left = (
            (" stepper ", "key"), (f" {self.name_of_pass.removeprefix('tritongpu-')}", "heading"),
            (f"  @{self.stepping.rules}", "accent"), (f"   {self._note}", "warn"),
        )  # fmt: skip
        self.query_one("#step-title", Bar).say(left, ((found, "bad"), (where, "dim")))
        phase = f" {step.phase}" if step is not None and step.phase else " program"
        fresh = "" if self._is_fresh() else "  as of the last phase; u goes to the next"
        self.query_one("#step-ir-title", Bar).say(((phase, "heading"), (fresh, "dim")))
        streaming = isinstance(self.stepping, StreamStepping)
        values = " Facts: literals, copies, places" if streaming else " Values: what they could be"
        signs = "▶ this step " if streaming else "✓ picked → rewritten "
        self.query_one("#step-values-title", Bar).say(((values, "heading"),), ((signs, "dim"),))
        kind = step.kind if step is not None else ""
        self.query_one("#step-log-title", Bar).say(((" Why  ", "heading"), (kind, "accent")))
        why = self.query_one("#step-why", RowList)
        said = step.why if step is not None else ""
        style = "bad" if kind in (MISSING, FAULT) else ""
        why.show(tuple(wrapped(said, max(why.inner.width - 1, 20), style, " ")), 0)

    def _is_fresh(self) -> bool:
        return len(self.query_one("#step-ir", IrPane).document.lines) <= _SMALL or self._drawn == self.text

    # -- moving -----------------------------------------------------------------------------------

    def action_forward(self) -> None:
        """Make the next step."""
        if self.stepping.debugger.forward() is None:
            self.notify("the pass has ended", timeout=2)
        self.refresh_panes()

    def action_back(self) -> None:
        """Take the last step back."""
        if self.stepping.debugger.position > 1:
            self.stepping.debugger.back()
        self.refresh_panes()

    def action_over(self) -> None:
        """Go on to the next step that is no deeper."""
        self.stepping.debugger.over()
        self.refresh_panes()

    def action_out(self) -> None:
        """Go on to the next phase."""
        self.stepping.debugger.until(lambda step: step.depth <= PHASE)
        self.refresh_panes(text=True)

    def action_missing(self) -> None:
        """Go on to the next missing mapping; of the planner, to the next copy that is issued."""
        self.stop = self.stepping.first_stop
        self.action_carry_on(1)

    def action_carry_on(self, direction: int) -> None:
        """Run to the breakpoint, forwards or backwards; stay where it is never met."""
        debugger, before = self.stepping.debugger, self.stepping.debugger.position
        stop = breakpoint_of(self.stop)
        met = debugger.until(stop) if direction > 0 else debugger.back_until(stop)
        if met is None:
            debugger.go_to(before)
            way = "ahead" if direction > 0 else "behind"
            self.notify(f"nothing {way} meets “{self.stop}”", timeout=3, markup=False)
        self.refresh_panes(text=True)

    def action_stop_at(self) -> None:
        """Ask for a breakpoint."""
        self.query_one(Prompt).open("break", self.stop)

    @on(Prompt.Typed)
    def _typed(self, event: Prompt.Typed) -> None:
        if not event.done:
            return
        self.query_one(StepLog).focus()
        if event.cancelled:
            return
        try:
            breakpoint_of(event.text)
        except InputError as error:
            self.notify(visible(str(error)), severity="warning", markup=False)
            return
        self.stop = event.text
        self.action_carry_on(1)

    def action_end(self) -> None:
        """Go to the end of the pass."""
        self.stepping.debugger.finish()
        self.refresh_panes(text=True)

    def action_start(self) -> None:
        """Go back to the beginning."""
        self.stepping.debugger.go_to(1)
        self.refresh_panes(text=True)

    def action_rules(self) -> None:
        """Run under the next rule set, and go to where it parts from this one; or under the next budget."""
        if isinstance(self.stepping, StreamStepping):
            self.stepping = self.stepping.under_next_budget()
            self._begin()
            return
        old = self.stepping.rules
        new = next_rules(old)
        found = parting(self.text, old, new)
        self.stepping = Stepping(self.text, new)
        self._note = "" if found is not None else f"the same steps as @{old}"
        self._begin()
        if found is not None:
            self._note = f"parts from @{old} at step {found.position:,}, where it had: {found.left}"
            self.stepping.debugger.go_to(found.position)
        self.refresh_panes(text=True)

    @on(RowList.Chosen)
    def _chosen(self, event: RowList.Chosen) -> None:
        if isinstance(event.rows, StepLog):
            self.stepping.debugger.go_to(event.index + 1)
            self.refresh_panes(text=True)
        elif isinstance(event.rows, ValueTable):
            self.stop = f"value={event.rows.values[event.index].name}"
            self.action_carry_on(1)

    def action_next_pane(self) -> None:
        """Go to the next pane."""
        panes = [self.query_one(StepLog), self.query_one("#step-ir"), self.query_one(ValueTable)]
        here = next((i for i, pane in enumerate(panes) if pane.has_focus), -1)
        panes[(here + 1) % len(panes)].focus()

    def action_close(self) -> None:
        """Back to the passes."""
        self.dismiss()
