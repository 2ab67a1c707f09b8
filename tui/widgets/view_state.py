"""Where a reader is in one text: plain data that the IR pane draws from."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...ir.program import Value
from .find import Matches
from .fold import FoldModel
from .places import Token


@dataclass(slots=True)
class ViewState:
    """The cursor, the value under it, folds and the search; lines and columns count from 0."""

    line: int = 0
    column: int = 0
    token: Token | None = None
    value: Value | None = None
    folds: FoldModel = field(default_factory=lambda: FoldModel(0))
    matches: Matches | None = None
    hide_locations: bool = False
