"""The Trace screen: passes, IR, inspector, findings. Nothing here waits: work goes to threads."""

from __future__ import annotations

from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.screen import Screen

from ...ir.errors import InputError
from ...ir.passes.layout.ledger import LAYOUT_PASS
from ...ir.passes.layout.rules import pick_rules
from ..actions import ACTIONS, FOOTER
from ..document import Document
from ..safe import visible
from ..session import Badge, TraceSession
from ..titles import plural, run_title
from ..widgets.bars import Bar
from ..widgets.find import Matches
from ..widgets.finding_rows import GoToPass, is_problem
from ..widgets.inspector import Inspector
from ..widgets.ir_pane import IrPane
from ..widgets.key_bar import Key, KeyBar
from ..widgets.op_rows import Look
from ..widgets.overview_rows import numbers
from ..widgets.pass_entries import Entry, Listing, sides
from ..widgets.pass_list import PassList
from ..widgets.prompt import Prompt
from ..widgets.row_list import RowList
from ..widgets.rows import Jump, Row, wrapped
from .help import HelpScreen
from .stepper import StepperScreen
from .trace_jobs import TraceJobs

_PANES = ("passes", "ir", "inspector", "findings")
_NARROW, _SHORT = 100, 32
_BREAKPOINTS: list[tuple[int, str]] | None = [(0, "-narrow"), (_NARROW, "-medium"), (150, "-wide")]


_KEYS = [
    Key(action.shown.split()[0], FOOTER[action.action], action.action)
    for action in sorted((a for a in ACTIONS if a.action in FOOTER), key=lambda a: [*FOOTER].index(a.action))
]


class TraceScreen(Screen[None]):
    """One trace."""

    HORIZONTAL_BREAKPOINTS = _BREAKPOINTS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(action.keys, action.action, action.title, show=False) for action in ACTIONS if not action.pane
    ]

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path
        self.session: TraceSession | None = None
        self.jobs = TraceJobs(self)
        self.side = "after"
        self.mode = "overview"
        self.expanded = False
        self.wishes: dict[str, bool] = {}
        self._return_to: IrPane | PassList | None = None
        self._landing: int | None = None
        self._begun = False
        self._first: Entry | None = None
        self._problems = 0
        self._search_from = 0
        self._said: dict[str, object] = {}

    # -- building ---------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Title, three panes, findings, prompt, footer."""
        yield Bar(id="title")
        with Horizontal(id="panes"):
            with Vertical(id="passes-side"):
                yield Bar(id="passes-title", classes="title")
                yield PassList(id="passes")
            with Vertical(id="ir-side"):
                yield Bar(id="ir-title", classes="title")
                yield IrPane(id="ir")
            with Vertical(id="inspector-side"):
                yield Bar(id="inspector-title", classes="title")
                yield Inspector(id="inspector")
        with Vertical(id="findings-side"):
            yield Bar(id="findings-title", classes="title")
            yield RowList(id="findings")
        yield Prompt(id="prompt")
        yield KeyBar(_KEYS)

    def on_mount(self) -> None:
        """Begin to read the file."""
        self.title_bar("reading…")
        self.query_one("#passes-title", Bar).say(((" reading…", "dim"),))
        self.passes.focus()
        self.jobs.open.ask(self.path)

    def on_resize(self, _: events.Resize) -> None:
        """Fit the panes to the screen."""
        self.fit_panes()

    @property
    def passes(self) -> PassList:
        """The list of passes."""
        return self.query_one("#passes", PassList)

    @property
    def ir(self) -> IrPane:
        """The IR."""
        return self.query_one("#ir", IrPane)

    @property
    def inspector(self) -> Inspector:
        """The inspector."""
        return self.query_one("#inspector", Inspector)

    @property
    def findings(self) -> RowList:
        """The findings."""
        return self.query_one("#findings", RowList)

    def fit_panes(self) -> None:
        """Show the panes that are wanted and that there is room for."""
        narrow, short = self.size.width < _NARROW, self.size.height < _SHORT
        inspector = self.wishes.get("inspector", not narrow)
        passes = self.wishes.get("passes", not (narrow and inspector))
        findings = self.wishes.get("findings", not short) and self.findings.count > 0
        for name, wanted in (("passes", passes), ("inspector", inspector), ("findings", findings)):
            self.query_one(f"#{name}-side").display = wanted
        self.query_one("#findings-side").styles.height = min(self.findings.count, 5 if short else 8) + 1
        if self.focused is not None and not self.focused.display:
            self.ir.focus()

    # -- what the threads bring -------------------------------------------------------------------

    def opened(self, session: TraceSession, known: Listing, whole: bool) -> None:
        """The file, or the beginning of a large one, was read: list it and show where to begin."""
        at_start = self.session is None or self.passes.entry == self._first
        self.session = session
        self.title_bar("" if whole else "reading…")
        self.passes.set_listing(known)
        self._passes_title()
        self._first = next((entry for entry in known.entries if entry.kind != "kernel"), None)
        if known.failed is not None and at_start:
            self.passes.select("run", known.failed)
        entry = self.passes.entry
        if entry is not None and entry.kind != "kernel":
            self.show_entry(entry)
        if whole:
            self.jobs.facts.ask(None)

    def refused(self, error: Exception) -> None:
        """The file cannot be used: say why; the app decides what comes next."""
        said = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        self.app.post_message(Refused(said))

    def show_document(self, document: Document) -> None:
        """A text, or its program, is there."""
        if self.ir.document.key == document.key or self.jobs.wanted == document.key:
            self.ir.show(document)
            if not self._begun and document.index is not None:
                self._begun = True
                self.ir.begin()
            if self._landing is not None and (document.index is not None or not document.format):
                offset, self._landing = self._landing, None
                self.ir.go(offset, remember=False)
            self.ir_title()

    def show_numbers(self, key: int, said: dict[str, object], rows: list[Row]) -> None:
        """The numbers of the program shown are there."""
        if key != self.jobs.wanted:
            return
        self._said = said
        self.title_bar()
        if self.mode == "overview":
            self.inspector.show(rows)

    def show_findings(self, rows: list[Row]) -> None:
        """What went wrong in the input and in the program shown."""
        self.findings.show(rows)
        self._problems = sum(is_problem(row) for row in rows)
        self.title_bar()
        notes = len(rows) - self._problems
        said = f" {plural(self._problems, 'finding')}" + (f", {plural(notes, 'note')}" if notes else "")
        choose = " enter goes there " if any(row.target is not None for row in rows) else ""
        self.query_one("#findings-title", Bar).say(((said, "heading"),), ((choose, "dim"),))
        self.fit_panes()

    def show_inspection(self, rows: list[Row]) -> None:
        """What is known of the op under the cursor."""
        if self.mode == "op":
            self.inspector.show(rows)

    def show_matches(self, matches: Matches, document: Document) -> None:
        """A search ended."""
        if document is not self.ir.document:
            return
        self.ir.set_matches(matches)
        more = "" if matches.complete else " and more"
        count = f"{len(matches):,} match{'es' * (len(matches) != 1)}{more}" if matches.query else ""
        prompt = self.query_one(Prompt)
        prompt.note(count, "dim" if matches or not matches.query else "bad")
        if matches and prompt.display and prompt.purpose == "search":
            self.ir.go(matches.offsets[matches.following(self._search_from - 1)], remember=False)
        self.ir_title()

    def show_badges(self, badges: dict[int, Badge]) -> None:
        """Numbers of passes are there."""
        self.passes.set_badges(badges)
        self._passes_title()

    def fault(self, error: Exception) -> None:
        """Something of ours failed: say so and go on."""
        self.notify(
            visible(f"{type(error).__name__}: {error}"), title="not shown", severity="error", markup=False
        )

    # -- choosing what is shown -------------------------------------------------------------------

    @on(PassList.Selected)
    def _selected(self, event: PassList.Selected) -> None:
        self.show_entry(event.entry)

    def show_entry(self, entry: Entry) -> None:
        """Show the side of a pass that is chosen."""
        if self.session is None:
            return
        before, after = sides(self.session.trace, entry)
        self.jobs.read(before if self.side == "before" else after)
        self.ir_title()

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
        for name in _PANES:
            pane = self.query_one(f"#{name}")
            self.query_one(f"#{name}-title", Bar).set_class(pane.has_focus, "-on")

    def inspect(self) -> None:
        """Ask for what the inspector shows."""
        pane, title = self.ir, self.query_one("#inspector-title", Bar)
        if self.mode == "row":
            return
        if self.mode == "overview":
            title.say(((" Overview", "heading"),), (("o: op ", "dim"),))
            self.jobs.numbers.ask((self.jobs.wanted, self.inspector.room))
            return
        title.say(((" Inspector", "heading"),), ((" a: aliases  o: overview ", "dim"),))
        self.jobs.inspect.ask(pane_look(pane, self.inspector.room, self.expanded))

    # -- bars -------------------------------------------------------------------------------------

    def title_bar(self, state: str = "") -> None:
        """What the input is, and the numbers of the program shown."""
        name = "standard input" if self.path == "-" else self.path.rstrip("/").rpartition("/")[2]
        left: list[tuple[str, str]] = [(" passlens ", "key"), (f" {name}", "heading")]
        if self.session is not None:
            said, what = numbers(self._said), self.session.headline
            parts = [(what, "dim"), (said, "")] if self.size.width >= 120 else [(said, ""), (what, "dim")]
            left += [(f"  │  {text}", style) for text, style in parts if text]
        count = self._problems
        right = ((f" {state or plural(count, 'finding')} ", "warn"),) if state or count else ()
        self.query_one("#title", Bar).say(tuple(left), right)

    def ir_title(self) -> None:
        """Which text is shown, and where the cursor is in it."""
        pane, document = self.ir, self.ir.document
        left: list[tuple[str, str]] = [*self._shown_title()]
        if self.jobs.reading and document.index is None:
            left.append(("  reading…", "warn"))
        matches = pane.state.matches
        right = f"{pane.state.line + 1:,}/{len(document.lines):,} "
        if matches is not None and matches.query:
            right = f"{matches.number(pane.offset_here)} of {len(matches):,} “{matches.query}”   {right}"
        self.query_one("#ir-title", Bar).say(tuple(left), ((right, "dim"),))

    def _shown_title(self) -> list[tuple[str, str]]:
        """The pass and side shown; for a dump made around another pass, that pass too."""
        document, entry = self.ir.document, self.passes.entry
        if self.session is None or entry is None or entry.kind != "run":
            return [(f" {document.title or 'no text yet'}", "heading")]
        run = self.session.trace.runs[entry.number]
        side = "after" if document.key == run.after else "before" if document.key == run.before else ""
        if not side:
            return [(f" {document.title}", "heading")]
        title = f"{side} {run_title(run)}"
        printed = f"  printed {document.title}" if document.title not in title else ""
        return [(f" {title}", "heading"), (printed, "dim")]

    def _passes_title(self) -> None:
        passes = self.passes
        note = f"“{passes.words}” " if passes.words else ""
        note += "changed " if passes.changed_only else ""
        self.query_one("#passes-title", Bar).say(((" Passes", "heading"),), ((note, "warn"),))

    # -- actions ----------------------------------------------------------------------------------

    def action_pane(self, name: str) -> None:
        """Give the keys to a pane, showing it."""
        side = self.query_one(f"#{name}-side")
        if not side.display and name != "ir":
            self.wishes[name] = True
            if name == "inspector" and self.size.width < _NARROW:
                self.wishes.pop("passes", None)
            if name == "passes" and self.size.width < _NARROW:
                self.wishes.pop("inspector", None)
            self.fit_panes()
        if side.display:
            self.query_one(f"#{name}").focus()

    def action_next_pane(self) -> None:
        """Give the keys to the next pane that is shown."""
        shown = [name for name in _PANES if self.query_one(f"#{name}-side").display]
        focused = self.focused.id if self.focused is not None else None
        at = shown.index(focused) if focused in shown else -1
        self.query_one(f"#{shown[(at + 1) % len(shown)]}").focus()

    def action_toggle_pane(self, name: str) -> None:
        """Show or hide a pane."""
        self.wishes[name] = not self.query_one(f"#{name}-side").display
        if name == "inspector" and self.size.width < _NARROW:
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

    def hunted(self, entry: Entry | None) -> None:
        """The next pass that changed something is known."""
        if entry is None:
            self.notify("no other pass that way changed its program", timeout=2)
        else:
            self.passes.select(entry.kind, entry.number)

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
        """Walk the pass chosen, if it is the layout pass and its input is there."""
        entry = self.passes.entry
        if self.session is None or entry is None or entry.kind != "run":
            self.notify("choose a run of the layout pass first", timeout=3)
            return
        run = self.session.trace.runs[entry.number]
        if run.argument != LAYOUT_PASS or run.before is None:
            said = "only runs of the layout pass can be stepped, and only with the program in front of them"
            self.notify(said, timeout=4)
            return
        text = self.session.trace.text(run.before)
        self.app.push_screen(StepperScreen(text, run_title(run), pick_rules(text).name))

    def action_filter(self) -> None:
        """Type a filter for the passes."""
        self._return_to = self.passes
        self.query_one(Prompt).open("filter", self.passes.words)

    def action_changed_only(self) -> None:
        """List only passes that changed the program, or all again."""
        passes = self.passes
        passes.changed_only = not passes.changed_only
        passes.refilter()
        self._passes_title()
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
            self._passes_title()
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
            self._passes_title()
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


def pane_look(pane: IrPane, width: int, expanded: bool) -> Look:
    """What the inspector shall look at: the place of the pane's cursor."""
    return Look(pane.document, pane.op, pane.state.value, width, pane.state.line, expanded)


class Refused(Message):
    """A file could not be used."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__()


class PickAnother(Message):
    """The reader wants another file."""
