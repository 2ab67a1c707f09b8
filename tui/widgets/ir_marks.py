"""What is marked on a line of IR: the value under the cursor, wherever it occurs, and what a search found."""

from __future__ import annotations

from ..document import Document
from .highlight import Span
from .ir_line import LONG
from .places import Token, tokens
from .view_state import ViewState


def line_marks(document: Document, state: ViewState, line: int, window: tuple[int, int]) -> list[Span]:
    """The marked stretches of a line, in order; of a long line only those in the columns of `window`."""
    start, end = document.lines.span(line)
    found: list[Span] = []
    if state.token is not None:
        found.extend(_occurrences(document, state, state.token, (start, end), window))
    if state.matches:
        here = document.lines.starts[state.line] + state.column
        for low, high in state.matches.within(start, end):
            found.append((low - start, high - start, "match-here" if low == here else "match"))
    return sorted(found)


def _occurrences(
    document: Document, state: ViewState, token: Token, line: tuple[int, int], window: tuple[int, int]
) -> list[Span]:
    start, end = line
    name = token.text.partition("#")[0]
    low, high = start, end
    if end - start > LONG:
        low, high = max(start, start + window[0]), min(end, start + window[1])
    elif document.text.find(name, start, end) < 0:
        return []
    index = document.index
    found: list[Span] = []
    for other in tokens(document.text, low, high, document.format, index):
        if other.start == token.start:
            found.append((other.start - start, other.end - start, "token"))
        elif other.text.partition("#")[0] == name and (
            state.value is None or index is None or index.same(state.value, other)
        ):
            found.append((other.start - start, other.end - start, "occurrence"))
    return found
