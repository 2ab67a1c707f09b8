"""The Diff screen: two programs side by side, matched op by op; one above the other where it is narrow."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from ...ir.diff.compare import compare
from ...ir.diff.options import Options
from ...ir.diff.result import Diff
from ..jobs import Latest, Stale
from ..report.diff_text import count_text
from ..safe import visible
from ..widgets.bars import Bar
from ..widgets.diff_marks import in_words, row_of
from ..widgets.diff_rows import Comparison, Entry, Shown, comparison, row_at, shown_rows, unchanged_runs
from ..widgets.key_bar import Key, KeyBar
from ..widgets.row_list import RowList
from ..widgets.rows import Row, heading, wrapped
from .help import HelpScreen

KEYS: Final = (
    ("right_square_bracket,n", "]", "Next", "hunk(1)", "to the next change"),
    ("left_square_bracket,p", "[", "Prev", "hunk(-1)", "to the previous change"),
    ("z", "z enter", "Fold", "fold", "unfold the unchanged ops; z folds them again"),
    ("Z", "Z", "All", "fold_all", "fold or unfold all that is unchanged"),
    ("o", "o", "Other end", "other_end", "to the other end of a moved op; so does enter"),
    ("e", "e", "Encodings", "only_encodings", "report changes of encodings only, or all again"),
    ("question_mark,f1", "?", "Help", "help", "this page"),
    ("escape,q,d", "q", "Close", "close", "back to the passes"),
    ("plus", "+", "More", "context(4)", "show more of what is the same"),
    ("minus", "-", "Less", "context(-4)", "show less of what is the same"),
    ("right,l", "→ l", "Right", "shift(20)", "move the text to the left"),
    ("left,h", "← h", "Left", "shift(-20)", "move the text back"),
    ("v", "v", "Side by side", "view", "side by side, or one above the other"),
    ("N", "N", "Names", "names", "other names of values are a difference, or not"),
    ("L", "L", "Locations", "locations", "other source locations are a difference, or not"),
)  # fmt: skip
_ON_BAR: Final = 8
_MOST_CONTEXT: Final = 1 << 20
_NARROW: Final = 100
"""Below so many columns the sides stand one above the other."""
_SIGNS: Final = (
    ("+", "good", "added"), ("-", "bad", "removed"), ("~", "warn", "changed: what differs is underlined"),
    (">", "accent", "moved, in both of its places"), ("…", "fold", "unchanged ops, folded"),
)  # fmt: skip


class SideBySide(RowList):
    """The rows, made when they are drawn."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self.known: Comparison | None = None
        self.sides: list[Shown] = []
        self.shift = 0
        self.stacked = False

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.sides)

    def row(self, index: int) -> Row:
        """One row, fitted to the width."""
        assert self.known is not None
        return row_of(self.known, self.sides[index], self.inner.width, self.shift, self.stacked)

    @property
    def entry(self) -> Entry | None:
        """What the cursor is on; None for a fold."""
        if self.known is None or not self.sides or self.sides[self.cursor].folded:
            return None
        return self.known.entries[self.sides[self.cursor].entry]


class DiffScreen(Screen[None]):
    """One comparison."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(keys, action, label, show=False) for keys, _, label, action, _ in KEYS
    ]

    def __init__(self, diff: Diff, names: tuple[str, str]) -> None:
        super().__init__()
        self.diff = diff
        self.names = names
        self.context = 2
        self.opened: set[int] = set()
        self.runs: list[tuple[int, int]] = []
        self.wish: bool | None = None
        """Whether the reader wants the sides one above the other; None: as the width has it."""
        self.work: Latest[Options] = Latest(self, "compare", self._compare, self._failed)

    def compose(self) -> ComposeResult:
        """Title, names of the sides, rows, what became of the op, keys."""
        yield Bar(id="diff-title")
        yield Bar(id="diff-sides", classes="title")
        yield SideBySide(id="diff-rows")
        words = RowList(id="diff-words")
        words.can_focus = False
        yield words
        yield KeyBar([Key(shown, label, action) for _, shown, label, action, _ in KEYS[:_ON_BAR]])

    def on_mount(self) -> None:
        """Lay the comparison out, off the screen's thread."""
        self.rows.focus()
        self._bars()
        self.work.ask(self.diff.options)

    @property
    def rows(self) -> SideBySide:
        """The list."""
        return self.query_one(SideBySide)

    # -- laying out -------------------------------------------------------------------------------

    def _compare(self, options: Options, stale: Stale) -> None:
        diff = self.diff
        if options != diff.options:
            diff = compare(*diff.programs, options)
        known = comparison(diff)
        if not stale() and self.is_running:
            self.app.call_from_thread(self._show, known)

    def _failed(self, error: Exception) -> None:
        text = f"the comparison failed: {type(error).__name__}: {error}"
        self.notify(text, severity="error", markup=False)

    def _show(self, known: Comparison) -> None:
        """A comparison is there: put the cursor on its first change."""
        self.diff = known.diff
        self.rows.known = known
        self.opened = set()
        self._fill(known.hunks[0] if known.hunks else 0)

    def _fill(self, entry: int) -> None:
        """Work out the rows; the cursor goes to an entry."""
        rows, known = self.rows, self.rows.known
        if known is None:
            return
        rows.stacked = self.size.width < _NARROW if self.wish is None else self.wish
        self.runs = unchanged_runs(known, self.context)
        rows.sides = shown_rows(known, self.runs, self.opened, rows.stacked)
        rows.show((), row_at(rows.sides, entry))
        self._bars()

    @property
    def _here(self) -> int:
        rows = self.rows
        return rows.sides[rows.cursor].entry if rows.sides else 0

    def _bars(self) -> None:
        known, options = self.rows.known, self.diff.options
        total = len(known.hunks) if known is not None else 0
        entry = self.rows.entry
        hunk = entry.hunk + 1 if entry is not None else 0
        where = f" change {hunk} of {total} " if hunk else f" {total} change{'s' * (total != 1)} "
        counts = count_text(self.diff.counts(), len(self.diff.b.ops))
        said = "laying out…" if known is None else "the same program" if self.diff.same else counts
        switches = (
            (options.names, "names"),
            (options.locations, "locations"),
            (options.only, "encodings only"),
        )
        notes = "".join(f"  {word}" for on, word in switches if on)
        self.query_one("#diff-title", Bar).say(
            ((" diff ", "key"), (f" {said}", "heading"), (notes, "warn")), ((where, "dim"),)
        )
        left, right = (visible(name) for name in self.names)
        half = max((self.size.width - 3) // 2, 4)
        both = f" {left} → {right}" if self.rows.stacked else f" {left[: half - 2]:<{half}} {right}"
        self.query_one("#diff-sides", Bar).say(((both, "heading"),))
        words = in_words(entry) if entry is not None else "enter unfolds these ops" if total else ""
        self.query_one("#diff-words", RowList).show(
            [*wrapped(visible(words), self.size.width - 2, indent=" ")]
        )

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        """Say what became of the op that the cursor is on."""
        if event.rows is self.rows:
            self._bars()

    def on_resize(self, _: events.Resize) -> None:
        """Fit the rows and the names of the sides."""
        if self.rows.known is not None:
            self._fill(self._here)

    # -- actions ----------------------------------------------------------------------------------

    @on(RowList.Chosen)
    def _chosen(self, event: RowList.Chosen) -> None:
        entry = self.rows.entry
        if event.rows is not self.rows or not self.rows.sides:
            return
        if entry is None:
            self.action_fold()
        elif entry.mark in ("moved", "source"):
            self.action_other_end()

    def action_hunk(self, by: int) -> None:
        """Go to the beginning of the next or previous change."""
        known, at = self.rows.known, self._here
        hunks = known.hunks if known is not None else []
        found = [i for i in hunks if i > at] if by > 0 else [i for i in reversed(hunks) if i < at]
        if found:
            self.rows.move(row_at(self.rows.sides, found[0]))
        else:
            self.notify("there is no further change", timeout=2)

    def action_other_end(self) -> None:
        """Go to where a moved op stood, or to where it stands."""
        other = self.rows.known.ends.get(self._here) if self.rows.known is not None else None
        if other is None:
            self.notify("the op under the cursor has not moved", timeout=2)
            return
        self.rows.move(row_at(self.rows.sides, other))

    def action_fold(self) -> None:
        """Unfold the run of unchanged ops under the cursor, or fold it again."""
        here = self._here
        run = next(((start, end) for start, end in self.runs if start <= here < end), None)
        if run is None:
            self.notify("only unchanged ops fold", timeout=2)
            return
        self.opened ^= {run[0]}
        self._fill(here if run[0] in self.opened else run[0])

    def action_fold_all(self) -> None:
        """Unfold everything, or fold all that is unchanged."""
        starts = {start for start, _ in self.runs}
        self.opened = set() if self.opened >= starts else starts
        self._fill(self._here)

    def action_context(self, factor: int) -> None:
        """Show more or less of what is the same; the cursor stays at its op."""
        wanted = self.context * factor if factor > 0 else self.context // -factor
        self.context = min(max(wanted, 1), _MOST_CONTEXT)
        self.opened = set()
        self._fill(self._here)

    def action_shift(self, by: int) -> None:
        """Move the texts of both sides sideways."""
        self.rows.shift = max(self.rows.shift + by, 0)
        self.rows.refresh()

    def action_view(self) -> None:
        """Side by side, or one above the other."""
        self.wish = not self.rows.stacked
        self._fill(self._here)

    def action_only_encodings(self) -> None:
        """Report changes of encodings only, or all again."""
        only: frozenset[str] = frozenset() if self.diff.options.only else frozenset(("encoding",))
        self.work.ask(replace(self.diff.options, only=only))

    def action_names(self) -> None:
        """Count other names of values as a difference, or not."""
        self.work.ask(replace(self.diff.options, names=not self.diff.options.names))

    def action_locations(self) -> None:
        """Count other source locations as a difference, or not."""
        self.work.ask(replace(self.diff.options, locations=not self.diff.options.locations))

    def action_help(self) -> None:
        """Show the keys and signs."""
        self.app.push_screen(HelpScreen(help_rows()))

    def action_close(self) -> None:
        """Back to the passes."""
        self.dismiss()


def help_rows() -> list[Row]:
    """The rows of the help page of this screen."""
    rows = [heading(" Diff")]
    for _, shown, label, _, what in KEYS:
        rows.append(Row((("   ", ""), (f"{shown:<13}", "key"), (f"{label:<17}", ""), (what, "dim"))))
    rows += [Row(()), heading(" Signs")]
    rows += [Row((("   ", ""), (f"{sign:<13}", style), (what, "dim"))) for sign, style, what in _SIGNS]
    return rows
