"""The panes of the Trace screen, and how what the threads bring is shown in them."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.screen import Screen

from ...ir.diff.history import Event
from ...ir.diff.result import Diff
from ...ir.errors import InputError
from ..actions import ACTIONS, FOOTER
from ..document import Document
from ..safe import visible
from ..session import Badge, TraceSession
from ..titles import plural, run_title, snapshot_title
from ..widgets.bars import Bar
from ..widgets.find import Matches
from ..widgets.finding_rows import is_problem
from ..widgets.inspector import Inspector
from ..widgets.ir_pane import IrPane
from ..widgets.key_bar import Key, KeyBar
from ..widgets.op_rows import Look
from ..widgets.overview_rows import numbers
from ..widgets.pass_entries import Entry, Listing, sides
from ..widgets.pass_list import PassList
from ..widgets.prompt import Prompt
from ..widgets.row_list import RowList
from ..widgets.rows import Row
from .diff import DiffScreen
from .history import HistoryScreen
from .trace_jobs import TraceJobs

PANES = ("passes", "ir", "inspector", "findings")
NARROW, _SHORT = 100, 32
_BREAKPOINTS: list[tuple[int, str]] | None = [(0, "-narrow"), (NARROW, "-medium"), (150, "-wide")]


_KEYS = [
    Key(action.shown.split()[0], FOOTER[action.action], action.action)
    for action in sorted((a for a in ACTIONS if a.action in FOOTER), key=lambda a: [*FOOTER].index(a.action))
]


class TraceView(Screen[None]):
    """The panes of a trace and what is put into them; what the reader does is in `TraceScreen`."""

    HORIZONTAL_BREAKPOINTS = _BREAKPOINTS

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
        narrow, short = self.size.width < NARROW, self.size.height < _SHORT
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
        self.passes_title()
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
        self.passes_title()

    def hunted(self, entry: Entry | None) -> None:
        """The next pass that changed something is known."""
        if entry is None:
            self.notify("no other pass that way changed its program", timeout=2)
        else:
            self.passes.select(entry.kind, entry.number)

    def fault(self, error: Exception) -> None:
        """Something of ours failed: say so and go on."""
        self.notify(
            visible(f"{type(error).__name__}: {error}"), title="not shown", severity="error", markup=False
        )

    def show_diff(self, diff: Diff, keys: tuple[int, int]) -> None:
        """A comparison of two snapshots is there."""
        if self.session is None:
            return
        trace, entry = self.session.trace, self.passes.entry
        names = [snapshot_title(trace.snapshots[key]) for key in keys]
        if entry is not None and entry.kind == "run" and keys == sides(trace, entry):
            title = run_title(trace.runs[entry.number])
            names = [f"before {title}", f"after {title}"]
        self.app.push_screen(DiffScreen(diff, (names[0], names[1])))

    def show_history(self, name: str, events: list[Event]) -> None:
        """The history of a value is there; a row chosen in it leads to its pass."""
        if self.session is None:
            return
        if not events:
            self.notify(f"{name} is not in this program any more", timeout=3, markup=False)
            return
        trace = self.session.trace

        def follow(chosen: Event | None) -> None:
            if chosen is None:
                return
            kind = "run" if chosen.run is not None else "snapshot"
            number = chosen.run if chosen.run is not None else chosen.snapshot
            if self.passes.select(kind, number):
                self.passes.focus()

        self.app.push_screen(HistoryScreen(name, events, trace), follow)

    # -- what is asked of them --------------------------------------------------------------------

    def show_entry(self, entry: Entry) -> None:
        """Show the side of a pass that is chosen."""
        if self.session is None:
            return
        before, after = sides(self.session.trace, entry)
        self.jobs.read(before if self.side == "before" else after)
        self.ir_title()

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

    def passes_title(self) -> None:
        """Which filter the list of passes has."""
        passes = self.passes
        note = f"“{passes.words}” " if passes.words else ""
        note += "changed " if passes.changed_only else ""
        self.query_one("#passes-title", Bar).say(((" Passes", "heading"),), ((note, "warn"),))


def pane_look(pane: IrPane, width: int, expanded: bool) -> Look:
    """What the inspector shall look at: the place of the pane's cursor."""
    return Look(pane.document, pane.op, pane.state.value, width, pane.state.line, expanded)


class Refused(Message):
    """A file could not be used."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__()
