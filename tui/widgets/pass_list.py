"""The list of passes: kernels as groups, badges, a filter."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from ..session import Badge
from .pass_entries import Entry, Listing, entry_row, shown_entries
from .row_list import RowList
from .rows import Row


class PassList(RowList):
    """Passes and programs of a trace; moving the cursor selects one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("z,space", "collapse", "Fold or unfold the kernel", show=False),
    ]

    class Selected(Message):
        """The cursor is on another pass or program."""

        def __init__(self, entry: Entry) -> None:
            self.entry = entry
            super().__init__()

    class InView(Message):
        """Other passes came into view and have no badges yet."""

        def __init__(self, runs: list[int]) -> None:
            self.runs = runs
            super().__init__()

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self.known: Listing | None = None
        self.badges: dict[int, Badge] = {}
        self.words = ""
        self.changed_only = False
        self.collapsed: set[int] = set()
        self._shown: list[Entry] = []
        self._asked: tuple[int, int] = (-1, -1)

    def set_listing(self, known: Listing) -> None:
        """List what a trace holds."""
        self.known = known
        self.badges.clear()
        self.collapsed.clear()
        self.refilter()

    @property
    def count(self) -> int:
        """How many entries the filter lets through."""
        return len(self._shown)

    @property
    def entry(self) -> Entry | None:
        """The entry under the cursor."""
        return self._shown[self.cursor] if 0 <= self.cursor < len(self._shown) else None

    def row(self, index: int) -> Row:
        """The row of an entry."""
        entry = self._shown[index]
        assert self.known is not None
        badge = self.badges.get(entry.number) if entry.kind == "run" else None
        collapsed = entry.group in self.collapsed
        return entry_row(self.known.trace, entry, badge, collapsed, self.known.sizes[entry.group])

    def refilter(self) -> None:
        """Apply the filter anew; the cursor stays on its entry if that is still listed."""
        if self.known is None:
            return
        before = self.entry
        self._shown = shown_entries(
            self.known,
            words=self.words,
            changed_only=self.changed_only,
            collapsed=self.collapsed,
            badges=self.badges,
        )
        same = 0 <= self.cursor < len(self._shown) and self._shown[self.cursor] == before
        at = self.cursor if same else self._place_of(before)
        self._asked = (-1, -1)
        self.show((), at)

    def set_badges(self, badges: dict[int, Badge]) -> None:
        """Take over numbers that were computed."""
        self.badges.update(badges)
        if self.changed_only:
            self.refilter()
        self.refresh()

    def select(self, kind: str, index: int) -> bool:
        """Put the cursor on an entry, opening its kernel and dropping the filter if they hide it."""
        known = self.known.entries if self.known is not None else []
        wanted = next((entry for entry in known if entry.kind == kind and entry.number == index), None)
        if wanted is None:
            return False
        if wanted not in self._shown:
            self.words, self.changed_only = "", False
            self.collapsed.discard(wanted.group)
            self.refilter()
        self.move(self._shown.index(wanted))
        return True

    def select_first(self) -> None:
        """Put the cursor on the first entry if it is on a heading, as after a filter."""
        entry = self.entry
        if entry is not None and entry.kind == "kernel":
            self.step(1)

    def step(self, by: int) -> bool:
        """Move to the next or previous entry that is no heading; False if there is none."""
        ahead = self.ahead(by)
        return bool(ahead) and self.select(ahead[0].kind, ahead[0].number)

    def ahead(self, by: int) -> list[Entry]:
        """The entries behind (`by` 1) or in front of (-1) the cursor, nearest first, without headings."""
        rest = self._shown[self.cursor + 1 :] if by > 0 else self._shown[: self.cursor][::-1]
        return [entry for entry in rest if entry.kind != "kernel"]

    def move(self, index: int) -> None:
        """Move the cursor and say which entry is selected."""
        before = self.entry
        super().move(index)
        entry = self.entry
        if entry is not None and entry is not before and entry.kind != "kernel":
            self.post_message(self.Selected(entry))

    def action_collapse(self) -> None:
        """Fold or unfold the kernel that the cursor is in."""
        entry = self.entry
        if entry is None:
            return
        self.collapsed ^= {entry.group}
        self.refilter()

    def action_choose(self) -> None:
        """Fold a kernel; choose anything else."""
        entry = self.entry
        if entry is not None and entry.kind == "kernel":
            self.action_collapse()
        else:
            super().action_choose()

    def on_idle(self, _: events.Idle) -> None:
        """Ask for the numbers of the passes in view."""
        top = self.scroll_offset.y
        window = (top, top + self.inner.height)
        if window == self._asked or not self._shown:
            return
        self._asked = window
        runs = [e.number for e in self._shown[window[0] : window[1]] if e.kind == "run"]
        if any(run not in self.badges for run in runs):
            self.post_message(self.InView(runs))

    def _place_of(self, before: Entry | None) -> int:
        """Where the cursor's entry is now; if it is gone, its kernel's heading, else the first real entry."""
        heading = first = -1
        for at, entry in enumerate(self._shown):
            if entry == before:
                return at
            if before is not None and entry.kind == "kernel" and entry.group == before.group:
                heading = at
            elif first < 0 and entry.kind != "kernel":
                first = at
        return max(heading if heading >= 0 else first, 0)
