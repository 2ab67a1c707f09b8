"""The Trace screen: passes, IR, inspector, findings. Nothing here waits: work goes to threads."""

from __future__ import annotations

from typing import ClassVar

from textual import events, on
from textual.binding import Binding, BindingType
from textual.message import Message

from ...ir.errors import InputError
from ...ir.passes.layout.admit import faults_of
from ...ir.passes.layout.ledger import LAYOUT_PASS
from ...ir.passes.layout.rules import pick_rules
from ...ir.program import Op
from ..actions import ACTIONS
from ..programs import planning_source
from ..safe import visible
from ..stepping import Stepping
from ..stream_stepping import StreamStepping
from ..titles import run_title, snapshot_title
from ..widgets.bars import Bar
from ..widgets.finding_rows import GoToPass
from ..widgets.ir_pane import IrPane
from ..widgets.pass_entries import sides
from ..widgets.pass_list import PassList
from ..widgets.prompt import Prompt
from ..widgets.row_list import RowList
from ..widgets.rows import Jump, Row, wrapped
from .choice import SnapshotChoice
from .help import HelpScreen
from .stepper import StepperScreen
from .timeline import TimelineScreen, offset_of
from .trace_view import NARROW, PANES, TraceView


class TraceScreen(TraceView):
    """One trace."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(action.keys, action.action, action.title, show=False) for action in ACTIONS if not action.pane
    ]

    # -- choosing what is shown -------------------------------------------------------------------

    @on(PassList.Selected)
    def _selected(self, event: PassList.Selected) -> None:
        self.show_entry(event.entry)

    @on(RowList.Chosen)
    def _chosen(self, event: RowList.Chosen) -> None:
        if event.rows is self.passes:
            self.ir.focus()
        else:
            self._follow(event.rows.row(event.index))

    def _follow(self, row: Row) -> None:
        if isinstance(row.target, Jump):
            self.ir.go(row.target.offset)
            self.ir.focus()
        elif isinstance(row.target, GoToPass) and self.session is not None:
            runs = [r.index for r in self.session.trace.runs if row.target.name in (r.name, r.argument)]
            if runs and self.passes.select("run", runs[-1]):
                self.passes.focus()
        elif row.text.strip():
            self._read_out(row)

    def _read_out(self, row: Row) -> None:
        """Show all of a row that may be cut off in its list."""
        if not self.query_one("#inspector-side").display:
            self.action_toggle_pane("inspector")
        self.mode = "row"
        self.query_one("#inspector-title", Bar).say(((" In full", "heading"),), (("o: overview ", "dim"),))
        self.call_after_refresh(lambda: self.inspector.show([*wrapped(row.text, self.inspector.room)], 0))

    @on(PassList.InView)
    def _in_view(self, event: PassList.InView) -> None:
        self.jobs.badges.ask(event.runs)

    @on(IrPane.Moved)
    def _moved(self) -> None:
        self.ir_title()
        if self.ir.has_focus:
            self.mode = "op"
        self.inspect()

    @on(IrPane.Revisit)
    def _revisit(self, event: IrPane.Revisit) -> None:
        self._landing = event.spot.offset
        self.jobs.read(event.spot.key)

    @on(IrPane.Says)
    def _says(self, event: IrPane.Says) -> None:
        self.notify(event.text, timeout=2, markup=False)

    def on_descendant_focus(self, _: events.DescendantFocus) -> None:
        """The IR shows its op in the inspector; headings show which pane has the keys."""
        if self.ir.has_focus and self.mode != "op" and self.session is not None:
            self.mode = "op"
            self.inspect()
        for name in PANES:
            pane = self.query_one(f"#{name}")
            self.query_one(f"#{name}-title", Bar).set_class(pane.has_focus, "-on")

    # -- actions ----------------------------------------------------------------------------------

    def action_pane(self, name: str) -> None:
        """Give the keys to a pane, showing it."""
        side = self.query_one(f"#{name}-side")
        if not side.display and name != "ir":
            self.wishes[name] = True
            if name == "inspector" and self.size.width < NARROW:
                self.wishes.pop("passes", None)
            if name == "passes" and self.size.width < NARROW:
                self.wishes.pop("inspector", None)
            self.fit_panes()
        if side.display:
            self.query_one(f"#{name}").focus()

    def action_next_pane(self) -> None:
        """Give the keys to the next pane that is shown."""
        shown = [name for name in PANES if self.query_one(f"#{name}-side").display]
        focused = self.focused.id if self.focused is not None else None
        at = shown.index(focused) if focused in shown else -1
        self.query_one(f"#{shown[(at + 1) % len(shown)]}").focus()

    def action_toggle_pane(self, name: str) -> None:
        """Show or hide a pane."""
        self.wishes[name] = not self.query_one(f"#{name}-side").display
        if name == "inspector" and self.size.width < NARROW:
            self.wishes.pop("passes", None)
        self.fit_panes()
        if self.wishes[name] and name == "inspector":
            self.call_after_refresh(self.inspect)
        elif self.wishes[name] and not self.query_one(f"#{name}-side").display:
            self.notify("there is nothing to show in it", timeout=2)

    def action_overview(self) -> None:
        """Show the overview in the inspector, or the op again."""
        side = self.query_one("#inspector-side")
        if not side.display:
            self.wishes["inspector"] = True
            self.wishes.pop("passes", None)
            self.mode = "overview"
            self.fit_panes()
        else:
            self.mode = "op" if self.mode == "overview" else "overview"
        self.call_after_refresh(self.inspect)

    def action_step_pass(self, by: int) -> None:
        """Show the next or previous pass."""
        self.passes.step(by)

    def action_step_changed(self, by: int) -> None:
        """Show the next or previous pass that changed the program."""
        self.jobs.hunt.ask((by, self.passes.ahead(by)))

    def action_side(self) -> None:
        """Show the program before the pass, or after it."""
        self.side = "before" if self.side == "after" else "after"
        entry = self.passes.entry
        if entry is None or self.session is None or entry.kind == "kernel":
            return
        before, after = sides(self.session.trace, entry)
        if before == after:
            self.notify("only one side of this pass is in the input", timeout=2)
        self.show_entry(entry)

    def action_stepper(self) -> None:
        """Walk the layout pass, of the run that is chosen or on the program shown; or plan that one."""
        entry, session = self.passes.entry, self.session
        if session is None or entry is None or entry.kind in ("kernel", "log"):
            self.notify("choose a program or a run of the layout pass first", timeout=3)
            return
        trace = session.trace
        before, after = sides(trace, entry)
        if trace.snapshots[after].format == "migraphx":
            self._step_planner(self.ir.document.key if self.ir.document.key >= 0 else after)
            return
        title, key = snapshot_title(trace.snapshots[after]), after
        if entry.kind == "run":
            run = trace.runs[entry.number]
            title = run_title(run)
            if run.argument == LAYOUT_PASS:
                key = before
                if run.before is None:
                    said = "the program in front of this run is not in the input, so it cannot be stepped"
                    self.notify(said, timeout=4)
                    return
            else:
                title = f"{LAYOUT_PASS} after {title}"
        text = trace.text(trace.snapshots[key])
        if "tt.func" not in text:
            said = "the layout pass runs on Triton's programs, the planner on MIGraphX's; this is neither"
            self.notify(said, timeout=4)
            return
        fault = next(faults_of(trace.program(key)), "")
        if fault:
            self.notify(visible(f"no pass can run on this program: {fault}"), timeout=6, markup=False)
            return
        self.app.push_screen(StepperScreen(Stepping(text, pick_rules(text).name), title))

    def _step_planner(self, key: int) -> None:
        """Walk the planner of weight streaming on a MIGraphX program."""
        session = self.session
        if session is None:
            return
        trace, snapshot = session.trace, session.trace.snapshots[key]
        try:
            stepping = StreamStepping(planning_source(trace, snapshot), trace.text(snapshot))
        except InputError as error:
            self.notify(visible(str(error)), timeout=5, markup=False)
            return
        self.app.push_screen(StepperScreen(stepping, f"streaming of {snapshot_title(snapshot)}"))

    def action_timeline(self) -> None:
        """Show when the kernels and copies of the program shown would run, beside a plan of it."""
        session, key = self.session, self.ir.document.key
        if session is None or key < 0:
            return
        snapshot = session.trace.snapshots[key]
        if snapshot.format not in ("migraphx", "onnx"):
            said = f"there are no weights to stream in {snapshot.format} IR: open a MIGraphX or ONNX program"
            self.notify(said, timeout=4, markup=False)
            return

        def go_to(op: Op | None) -> None:
            program = self.ir.document.program
            if op is None or program is None or self.ir.document.key != key:
                return
            offset = offset_of(op, program)
            if offset is None:
                self.notify("this op is the plan's own: it is not in the program as it stands", timeout=3)
                return
            self.ir.go(offset)
            self.ir.focus()

        self.app.push_screen(TimelineScreen(session.trace, snapshot, snapshot_title(snapshot)), go_to)

    def action_diff(self) -> None:
        """Show what the pass chosen changed; of a program without passes, what the one before it was."""
        entry, session = self.passes.entry, self.session
        if session is None or entry is None or entry.kind in ("kernel", "log"):
            return
        before, after = sides(session.trace, entry)
        if before == after and entry.kind != "run":
            before = after - 1
        if before == after or before < 0:
            self.notify("there is no other program to compare with", timeout=3)
            return
        self.jobs.diffs.ask((before, after))

    def action_diff_with(self) -> None:
        """Choose a program to compare the one shown with; the earlier one is the first side."""
        session, key = self.session, self.ir.document.key
        if session is None or key < 0:
            return
        form = session.trace.snapshots[key].format
        if all(s.index == key or s.format != form for s in session.trace.snapshots):
            self.notify("there is no other program to compare with", timeout=3)
            return

        def compare_with(other: int | None) -> None:
            if other is not None:
                self.jobs.diffs.ask((min(other, key), max(other, key)))

        self.app.push_screen(SnapshotChoice(session.trace, key), compare_with)

    def action_value_history(self) -> None:
        """Follow the value under the cursor through all passes."""
        value, key = self.ir.state.value, self.ir.document.key
        if value is None or value.owner is None or key < 0:
            self.notify("put the cursor on a value first (l, h)", timeout=3)
            return
        self.jobs.histories.ask((key, value))

    def action_filter(self) -> None:
        """Type a filter for the passes."""
        self._return_to = self.passes
        self.query_one(Prompt).open("filter", self.passes.words)

    def action_changed_only(self) -> None:
        """List only passes that changed the program, or all again."""
        passes = self.passes
        passes.changed_only = not passes.changed_only
        passes.refilter()
        self.passes_title()
        if self.session is not None:
            self.jobs.badges.ask([run.index for run in self.session.trace.runs])

    def action_search(self) -> None:
        """Type what to search; in the list of passes, a filter."""
        if self.passes.has_focus:
            self.action_filter()
            return
        self._return_to = self.ir
        self._search_from = self.ir.offset_here
        self.ir.history.leave(self.ir.spot)
        self.query_one(Prompt).open("search")

    def action_line(self) -> None:
        """Type the number of a line."""
        self._return_to = self.ir
        self.query_one(Prompt).open("line")

    @on(Prompt.Typed)
    def _typed(self, event: Prompt.Typed) -> None:
        if event.done and self._return_to is not None:
            self._return_to.focus()
        if event.purpose == "filter":
            self.passes.words = "" if event.cancelled else event.text
            self.passes.refilter()
            self.passes_title()
            if event.done and not event.cancelled:
                self.passes.select_first()
        elif event.purpose == "search":
            self._searching(event)
        elif event.done and event.text.strip().isdecimal():
            self.ir.go_to_line(int(event.text.strip()[:12]))

    def _searching(self, event: Prompt.Typed) -> None:
        if event.cancelled:
            self.ir.set_matches(None)
            self.ir.go(self._search_from, remember=False)
            self.ir_title()
        elif event.text or not event.done:
            # Enter alone keeps the last search, as `n` would.
            self.jobs.search.ask((self.ir.document, event.text))

    def action_clear(self) -> None:
        """Drop the search or the filter; with neither go to the IR."""
        if self.ir.state.matches is not None:
            self.ir.set_matches(None)
            self.ir_title()
        elif self.passes.words or self.passes.changed_only:
            self.passes.words, self.passes.changed_only = "", False
            self.passes.refilter()
            self.passes_title()
        else:
            self.ir.focus()

    def action_expand(self) -> None:
        """Write aliases out in the inspector, or not."""
        self.expanded = not self.expanded
        self.mode = "op"
        self.inspect()

    def action_locations(self) -> None:
        """Hide or show source locations."""
        self.ir.toggle_locations()

    def action_copy(self) -> None:
        """Copy the text of the op under the cursor."""
        op = self.ir.op
        if op is not None and op.text:
            self.app.copy_to_clipboard(op.text)
            self.notify(f"copied {len(op.text):,} characters", timeout=2)

    def action_open(self) -> None:
        """Choose another file."""
        self.app.post_message(PickAnother())

    def action_help(self) -> None:
        """Show the keys."""
        self.app.push_screen(HelpScreen())


class PickAnother(Message):
    """The reader wants another file."""
