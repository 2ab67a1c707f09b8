"""Which lines of a text are hidden by folds, and which row of the screen shows which line."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable


class FoldModel:
    """Folds over `count` lines: folding the range `(head, tail)` hides the lines head+1 … tail."""

    __slots__ = ("_before", "_starts", "_stops", "count", "folded", "ranges")

    def __init__(self, count: int, ranges: Iterable[tuple[int, int]] = ()) -> None:
        self.count = count
        self.ranges: dict[int, int] = {}
        """Head line → last line of the range; of several ranges with one head the longest."""
        for head, tail in ranges:
            if tail > head:
                self.ranges[head] = max(tail, self.ranges.get(head, 0))
        self.folded: set[int] = set()
        """Heads of the ranges that are folded."""
        self._rebuild()

    @property
    def rows(self) -> int:
        """How many lines are not hidden."""
        return self.count - (self._before[-1] if self._before else 0)

    def line_of(self, row: int) -> int:
        """The line shown on a row; rows behind the end give `count` and more."""
        low, high = 0, len(self._starts)
        while low < high:
            middle = (low + high) // 2
            hidden = self._before[middle - 1] if middle else 0
            if self._starts[middle] - hidden <= row:
                low = middle + 1
            else:
                high = middle
        return row + (self._before[low - 1] if low else 0)

    def row_of(self, line: int) -> int:
        """The row that shows a line; for a hidden line the row of the fold that hides it."""
        at = bisect_right(self._starts, line) - 1
        if at < 0:
            return line
        hidden = self._before[at]
        if line < self._stops[at]:
            return self._starts[at] - 1 - (self._before[at - 1] if at else 0)
        return line - hidden

    def hidden(self, line: int) -> bool:
        """Whether a fold hides the line."""
        at = bisect_right(self._starts, line) - 1
        return at >= 0 and line < self._stops[at]

    def toggle(self, head: int) -> bool:
        """Fold or unfold the range that begins on a line; False if none does."""
        if head not in self.ranges:
            return False
        self.folded ^= {head}
        self._rebuild()
        return True

    def reveal(self, line: int) -> None:
        """Unfold whatever hides a line."""
        if not self.hidden(line):
            return
        self.folded = {head for head in self.folded if not head < line <= self.ranges[head]}
        self._rebuild()

    def fold(self, heads: Iterable[int]) -> None:
        """Fold exactly the ranges that begin on these lines."""
        self.folded = {head for head in heads if head in self.ranges}
        self._rebuild()

    def around(self, line: int) -> int | None:
        """The head of the innermost range that a line is in (its own, if one begins there)."""
        heads = sorted(self.ranges)
        for index in range(bisect_right(heads, line) - 1, -1, -1):
            if line <= self.ranges[heads[index]] + 1:
                return heads[index]
        return None

    def _rebuild(self) -> None:
        """Merge the folded ranges into the stretches of lines that are hidden, with running sums."""
        self._starts: list[int] = []
        self._stops: list[int] = []
        self._before: list[int] = []
        total = 0
        for head in sorted(self.folded):
            start, stop = head + 1, self.ranges[head] + 1
            if self._stops and start <= self._stops[-1]:
                # The head is hidden itself: only what reaches further down adds to the stretch.
                total += max(stop - self._stops[-1], 0)
                self._stops[-1] = max(stop, self._stops[-1])
                self._before[-1] = total
                continue
            total += stop - start
            self._starts.append(start)
            self._stops.append(stop)
            self._before.append(total)
