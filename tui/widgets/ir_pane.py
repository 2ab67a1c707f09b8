"""The pane that shows IR: draws only the lines in sight, moves among values, folds, searches, jumps."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ...ir.program import Op
from ..actions import ACTIONS
from ..document import Document, document
from ..safe import visible
from .find import Matches
from .highlight import Span, overlay
from .history import History, Spot
from .ir_folds import fold_model, inner_heads, location_heads
from .ir_line import LONG, column_of, line_spans, offset_of, window_spans
from .ir_marks import line_marks
from .paint import Paint
from .places import Token, definition, token_at, token_before, tokens, uses
from .view_state import ViewState


class IrPane(ScrollView, can_focus=True):
    """One document with a cursor on a line and, where the line has any, on a value."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(a.keys, a.action, a.title, show=False) for a in ACTIONS if a.pane and a.keys != "g"),
        Binding("up,k", "step(-1)", "Up", show=False),
        Binding("down,j", "step(1)", "Down", show=False),
        Binding("left", "value(-1)", "Previous value", show=False),
        Binding("right", "value(1)", "Next value", show=False),
        Binding("pageup,ctrl+b", "page(-1)", "Page up", show=False),
        Binding("pagedown,ctrl+f,space", "page(1)", "Page down", show=False),
        Binding("ctrl+u", "page(-0.5)", "Half a page up", show=False),
        Binding("ctrl+d", "page(0.5)", "Half a page down", show=False),
        Binding("home,ctrl+home", "edge(0)", "Top", show=False),
        Binding("end,ctrl+end", "edge(1)", "End", show=False),
        Binding("shift+left", "pan(-1)", "Scroll left", show=False),
        Binding("0", "pan(0)", "First column", show=False),
        Binding("enter", "enter", "Fold, or go to the definition", show=False),
        Binding("ctrl+o", "history(-1)", "Back", show=False),
    ]

    class Moved(Message):
        """The cursor went to another place."""

        def __init__(self, pane: IrPane) -> None:
            self.pane = pane
            super().__init__()

        @property
        def control(self) -> IrPane:
            """The pane."""
            return self.pane

    class Revisit(Message):
        """Going back or forward leads to a document that is not the one shown."""

        def __init__(self, spot: Spot) -> None:
            self.spot = spot
            super().__init__()

    class Says(Message):
        """Something that could not be done, to be shown to the reader."""

        def __init__(self, text: str) -> None:
            self.text = text
            super().__init__()

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self.paint = Paint(self)
        self._frame: tuple[Style, int] | None = None
        self.document: Document = document(-1, "", "", "")
        self.state = ViewState()
        self.history = History()
        self._spans: LRUCache[int, list[Span]] = LRUCache(1024)
        self._pending_g = False

    # -- what is shown ----------------------------------------------------------------------------

    @property
    def inner(self) -> Size:
        """The size without scroll bars."""
        return self.scrollable_content_region.size

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw what is in sight; what all its lines need is worked out once."""
        self._frame = (self.rich_style, self.inner.width)
        return super().render_lines(crop)

    def notify_style_update(self) -> None:
        """Take the colours of another theme."""
        self.paint.forget()
        super().notify_style_update()

    def show(self, document: Document) -> None:
        """Show a document; the cursor keeps its line, so that stepping through passes stays in place."""
        same = document.key == self.document.key and document.text == self.document.text
        folded = set(self.state.folds.folded) if same else set()
        self.document = document
        self.state.folds = fold_model(self.document, folded, self.state.hide_locations)
        if not same:
            self.state.matches = None
        self._spans.clear()
        self.state.line = min(self.state.line, max(len(document.lines) - 1, 0))
        self._resize()
        self._settle(self.state.column if same else None)

    def begin(self) -> None:
        """Put the cursor on the first op, behind the aliases, unless the reader has moved already."""
        index = self.document.index
        if index is not None and index.ops and self.state.line == 0:
            self.state.line = self.document.lines.line_of(index.starts[0])
            self._settle(None, scroll=False)

    def set_matches(self, matches: Matches | None) -> None:
        """Show where a search found something."""
        self.state.matches = matches
        self.refresh()

    def go(self, offset: int, *, remember: bool = True) -> None:
        """Put the cursor at a character offset, unfolding what hides it."""
        if remember:
            self.history.leave(self.spot)
        offset = min(max(offset, 0), len(self.document.text))
        line = self.document.lines.line_of(offset)
        self.state.folds.reveal(line)
        self._resize()
        self.state.line = line
        self._settle(offset - self.document.lines.starts[line], centre=True)

    def go_to_line(self, number: int) -> None:
        """Put the cursor on a line, counted from 1."""
        line = min(max(number - 1, 0), len(self.document.lines) - 1)
        self.go(self.document.lines.starts[line])

    def toggle_locations(self) -> None:
        """Hide or show `loc(…)` and the lines that only define location aliases."""
        self.state.hide_locations = not self.state.hide_locations
        self._spans.clear()
        self.state.folds = fold_model(self.document, self.state.folds.folded, self.state.hide_locations)
        self._resize()
        self._settle(self.state.column)

    @property
    def offset_here(self) -> int:
        """The character offset of the cursor."""
        return self.document.lines.starts[self.state.line] + self.state.column

    @property
    def spot(self) -> Spot:
        """The place of the cursor."""
        return Spot(self.document.key, self.offset_here)

    @property
    def op(self) -> Op | None:
        """The op under the cursor, once the program is parsed."""
        index = self.document.index
        if index is None or not self.document.text:
            return None
        if self.state.token is not None:
            return index.op_at(self.state.token.start)
        line = self.document.lines.line(self.state.line) if self.state.column == 0 else ""
        return index.op_at(self.offset_here + len(line) - len(line.lstrip(" ")))

    # -- moving -----------------------------------------------------------------------------------

    def action_step(self, by: int) -> None:
        """Move by some rows."""
        self._to_row(self.state.folds.row_of(self.state.line) + by)

    def action_page(self, pages: float) -> None:
        """Move by pages, or parts of one."""
        rows = int(pages * max(self.inner.height - 1, 1))
        self.scroll_to(y=self.scroll_offset.y + rows, animate=False)
        self._to_row(self.state.folds.row_of(self.state.line) + rows)

    def action_edge(self, last: int) -> None:
        """Move to the first or the last line."""
        self.history.leave(self.spot)
        self._to_row(self.state.folds.rows - 1 if last else 0)

    def action_pan(self, direction: int) -> None:
        """Scroll sideways by half a page, or to the first column."""
        step = max(self.inner.width // 2, 8)
        self.scroll_to(x=self.scroll_offset.x + direction * step if direction else 0, animate=False)

    def action_value(self, direction: int) -> None:
        """Move to the next or previous value on the line, and on to the neighbouring line's."""
        token = self._neighbour(direction)
        if token is not None:
            self._take(token)
            return
        row = self.state.folds.row_of(self.state.line) + direction
        if not 0 <= row < self.state.folds.rows:
            return
        self._to_row(row)
        if direction < 0:
            self._take(self._neighbour(-1, from_end=True) or self.state.token)

    def action_enter(self) -> None:
        """Fold the region that begins here; anywhere else go to the definition of the value."""
        if self.state.line in self.state.folds.ranges:
            self.action_fold()
        else:
            self.action_definition()

    def action_definition(self) -> None:
        """Go to where the value under the cursor is defined."""
        value = self.state.value
        place = definition(value) if value is not None else -1
        if value is None:
            self.post_message(self.Says("no value under the cursor"))
        elif place < 0:
            self.post_message(self.Says(f"{visible(value.name)} is never defined in this text"))
        else:
            self.go(place)

    def action_use(self, direction: int) -> None:
        """Go to the next or previous use of the value under the cursor, around the end if need be."""
        value = self.state.value
        places = [place for _, place in uses(value)] if value is not None else []
        if not places:
            name = visible(value.name) if value is not None else ""
            self.post_message(self.Says(f"{name} has no uses" if name else "no value under the cursor"))
            return
        here = self.offset_here
        ahead = [place for place in places if (place > here if direction > 0 else place < here)]
        self.go((ahead or places)[0 if direction > 0 else -1])

    def action_match(self, direction: int) -> None:
        """Go to the next or previous match of the search."""
        matches = self.state.matches
        if not matches:
            self.post_message(self.Says("nothing to go to: search with / first"))
            return
        here = self.offset_here
        at = matches.following(here) if direction > 0 else matches.preceding(here)
        self.go(matches.offsets[at])

    def action_history(self, direction: int) -> None:
        """Go back to where the last jump began, or forward again."""
        spot = self.history.back(self.spot) if direction < 0 else self.history.forward(self.spot)
        if spot is None:
            return
        if spot.key == self.document.key:
            self.go(spot.offset, remember=False)
        else:
            self.post_message(self.Revisit(spot))

    def action_fold(self) -> None:
        """Fold or unfold the region that begins here, else the innermost one around the cursor."""
        folds = self.state.folds
        head = folds.around(self.state.line)
        if head is None or not folds.toggle(head):
            self.post_message(self.Says("nothing to fold here"))
            return
        self._resize()
        self.state.line = head
        self._settle(None)

    def action_fold_all(self) -> None:
        """Fold every region but the outermost two levels (module, function); again to unfold all."""
        folds = self.state.folds
        kept = location_heads(self.document) if self.state.hide_locations else set()
        if folds.folded - kept:
            folds.fold(kept)
        else:
            folds.fold([*inner_heads(folds.ranges), *kept])
        self._resize()
        while folds.hidden(self.state.line):
            self.state.line -= 1
        self._settle(None)

    def on_key(self, event: events.Key) -> None:
        """`g` waits for the key behind it: `gg` goes to the top, `gd` to the definition."""
        if self._pending_g:
            self._pending_g = False
            if event.key in ("g", "d"):
                event.stop()
                event.prevent_default()
                if event.key == "g":
                    self.action_edge(0)
                else:
                    self.action_definition()
        elif event.key == "g":
            event.stop()
            event.prevent_default()
            self._pending_g = True

    def on_click(self, event: events.Click) -> None:
        """Put the cursor where the mouse is; in the gutter fold; twice: go to the definition."""
        row = int(event.y) + self.scroll_offset.y
        if row >= self.state.folds.rows:
            return
        line = self.state.folds.line_of(row)
        column = int(event.x) - self._gutter
        self.state.line = line
        if column < 0:
            self.state.column = 0
            self.action_fold()
            return
        text = self.document.lines.line(line)
        if len(text) > LONG:
            offset = min(column + self.scroll_offset.x, len(text))
        else:
            offset = offset_of(text, self._shown(line), column + self.scroll_offset.x)
        self._settle(offset)
        if event.chain == 2:
            self.action_definition()

    # -- drawing ----------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """Draw one line."""
        base, width = self._frame or (self.rich_style, self.inner.width)
        row = self.scroll_offset.y + y
        line = self.state.folds.line_of(row)
        if not self.document.text or line >= len(self.document.lines):
            return Strip.blank(width, base)
        here = line == self.state.line
        if here:
            base += self.paint("cursor" if self.has_focus else "selected")
        gutter = self._draw_gutter(line, here)
        room = max(width - self._gutter, 0)
        text = self.document.lines.line(line)
        left = self.scroll_offset.x
        shown = (
            self._shown(line) if len(text) <= LONG else window_spans(text, self.document.format, left, room)
        )
        first = shown[0][0] if shown and len(text) > LONG else 0
        segments = [
            Segment(visible(text[start:end]), base + self.paint(below) + self.paint(above))
            for start, end, below, above in overlay(
                shown, line_marks(self.document, self.state, line, (left, left + room))
            )
        ]
        if line in self.state.folds.folded:
            count = self.state.folds.ranges[line] - line
            segments.append(Segment(f" ··· {count} lines", base + self.paint("fold")))
        content = Strip(segments).crop(left - first, left - first + room).adjust_cell_length(room, base)
        return Strip([*(Segment(part, base + self.paint(style)) for part, style in gutter), *content])

    def _draw_gutter(self, line: int, here: bool) -> list[tuple[str, str]]:
        """A mark for diagnostics, the number of the line, and whether it folds."""
        mark = "●" if line in self.document.marks else ("▶" if here else " ")
        style = "bad" if line in self.document.marks else "accent"
        fold = " "
        if line in self.state.folds.ranges:
            fold = "▸" if line in self.state.folds.folded else "▾"
        number = f"{line + 1:>{self._gutter - 3}}"
        return [(mark, style), (number, "accent" if here else "gutter"), (fold, "fold"), (" ", "")]

    def _shown(self, line: int) -> list[Span]:
        known = self._spans.get(line)
        if known is None:
            text = self.document.lines.line(line)
            known = line_spans(text, self.document.format, self.state.hide_locations)
            self._spans[line] = known
        return known

    # -- the cursor -------------------------------------------------------------------------------

    @property
    def _gutter(self) -> int:
        return len(str(len(self.document.lines))) + 3

    def _to_row(self, row: int) -> None:
        row = min(max(row, 0), max(self.state.folds.rows - 1, 0))
        self.state.line = self.state.folds.line_of(row)
        self._settle(None)

    def _settle(self, column: int | None, *, centre: bool = False, scroll: bool = True) -> None:
        """Find the value at a column of the cursor's line (None: the first on the line); show all that."""
        state, lines = self.state, self.document.lines
        start, end = lines.span(state.line) if self.document.text else (0, 0)
        if column is None:
            state.column = 0
            state.token = next(iter(self._tokens(start, min(end, start + LONG))), None)
            state.column = state.token.start - start if state.token else 0
        else:
            state.column = min(max(column, 0), end - start)
            state.token = token_at(lines, start + state.column, self.document.format, self.document.index)
        self._resolve()
        if scroll:
            self._into_view(centre, sideways=column is not None)
        self.refresh()
        self.post_message(self.Moved(self))

    def _take(self, token: Token | None) -> None:
        if token is None:
            return
        self.state.token = token
        self.state.column = token.start - self.document.lines.starts[self.state.line]
        self._resolve()
        self._into_view(False, sideways=True)
        self.refresh()
        self.post_message(self.Moved(self))

    def _resolve(self) -> None:
        index, token = self.document.index, self.state.token
        self.state.value = index.value_at(token) if index is not None and token is not None else None

    def _tokens(self, start: int, end: int) -> list[Token]:
        return list(tokens(self.document.text, start, end, self.document.format, self.document.index))

    def _neighbour(self, direction: int, from_end: bool = False) -> Token | None:
        start, end = self.document.lines.span(self.state.line)
        here = self.state.token
        form, index, text = self.document.format, self.document.index, self.document.text
        if direction > 0:
            begin = here.end if here else start + self.state.column
            return next(iter(tokens(text, begin, end, form, index)), None)
        stop = end if from_end else here.start if here else start + self.state.column
        return token_before(text, stop, start, form, index)

    def _into_view(self, centre: bool, *, sideways: bool) -> None:
        row = self.state.folds.row_of(self.state.line)
        top, height = self.scroll_offset.y, max(self.inner.height, 1)
        if not top <= row < top + height:
            target = row - height // 3 if centre else (row if row < top else row - height + 1)
            self.scroll_to(y=max(target, 0), animate=False)
        left, room = self.scroll_offset.x, max(self.inner.width - self._gutter, 1)
        if not sideways:
            return
        column, length = self._cursor_column(), len(self.state.token.text) if self.state.token else 1
        if not left <= column or column + length > left + room:
            self.scroll_to(x=max(column - room // 3, 0) if column + length > room else 0, animate=False)

    def _cursor_column(self) -> int:
        text = self.document.lines.line(self.state.line) if self.document.text else ""
        if len(text) > LONG:
            return self.state.column
        return column_of(text, self._shown(self.state.line), self.state.column)

    def _resize(self) -> None:
        width = self._gutter + self.document.lines.longest + 1 if self.document.text else 0
        self.virtual_size = Size(width, self.state.folds.rows if self.document.text else 0)
