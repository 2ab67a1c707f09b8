"""What the Trace screen does in threads, one job at a time of each kind."""

from __future__ import annotations

import os
from collections.abc import Callable
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ...ir.diff.compare import compare
from ...ir.errors import Diagnostic, InputError
from ...ir.program import Value
from ...ir.trace import open_trace
from ..collecting import undisturbed
from ..document import Document
from ..jobs import Latest, Stale
from ..session import Badge, TraceSession, first_look
from ..widgets.find import find_all
from ..widgets.finding_rows import diagnostic_rows, fact_rows, is_problem, more_rows
from ..widgets.op_rows import Look, op_rows
from ..widgets.overview_rows import overview_rows
from ..widgets.pass_entries import Entry, listing
from ..widgets.rows import Row

if TYPE_CHECKING:
    from .trace_view import TraceView

_AT_ONCE: Final = 200_000
"""Texts of fewer characters are shown when they are parsed, longer ones before that."""
_BATCH_SECONDS: Final = 0.1
_HURRY_SECONDS: Final = 0.15
"""A request so soon after the last one waits, since others are likely to follow."""
_PAUSE_SECONDS: Final = 0.04

Result = TypeVar("Result")


class TraceJobs:
    """The jobs of one screen; each calls the screen back on its own thread."""

    def __init__(self, screen: TraceView) -> None:
        self.screen = screen
        self.wanted: int | None = None
        """The key of the document asked for last."""
        self._asked = 0.0
        self._hurry = False
        self.facts_rows: list[Row] = []
        self.more_rows: list[Row] = []
        self.open: Latest[str] = Latest(screen, "open", self._open, screen.refused)
        self.documents: Latest[int] = Latest(screen, "read", self._read, screen.fault)
        self.numbers: Latest[tuple[int | None, int]] = Latest(screen, "numbers", self._numbers, screen.fault)
        self.inspect: Latest[Look] = Latest(screen, "inspect", self._inspect, screen.fault)
        self.search: Latest[tuple[Document, str]] = Latest(screen, "search", self._search, screen.fault)
        self.badges: Latest[list[int]] = Latest(screen, "badges", self._badges, screen.fault)
        self.facts: Latest[None] = Latest(screen, "facts", self._facts, screen.fault)
        self.diffs: Latest[tuple[int, int]] = Latest(screen, "diff", self._diff, screen.fault)
        self.histories: Latest[tuple[int, Value]] = Latest(screen, "history", self._history, screen.fault)
        self.hunt: Latest[tuple[int, list[Entry]]] = Latest(screen, "hunt", self._hunt, screen.fault)

    @property
    def reading(self) -> bool:
        """Whether a text is on its way."""
        return self.documents.busy

    def read(self, key: int) -> None:
        """Show a snapshot: at once if it is at hand, else when it is read."""
        self.wanted = key
        self._hurry, self._asked = monotonic() - self._asked < _HURRY_SECONDS, monotonic()
        session = self.screen.session
        known = session.known(key) if session is not None else None
        if known is not None and (known.index is not None or not known.format):
            self.screen.show_document(known)
        self.documents.ask(key)

    def _open(self, path: str, stale: Stale) -> None:
        look = first_look(path)
        if look is not None and look.snapshots:
            # The last two entries may belong to a dump that goes on behind what was looked at.
            self._tell(self.screen.opened, TraceSession(look), listing(look, 2), False)
        with undisturbed(os.path.getsize(path) if os.path.isfile(path) else 0):
            trace = open_trace(path)
            session, known = TraceSession(trace), listing(trace)
        if not stale():
            self._tell(self.screen.opened, session, known, True)

    def _read(self, key: int, stale: Stale) -> None:
        session = self.screen.session
        if session is None or (self._hurry and self._passed_by(stale)):
            return
        found = session.read(key)
        if stale():
            return
        if found.index is None and len(found.text) > _AT_ONCE:
            self._tell(self.screen.show_document, found)
        try:
            found = session.parse(key)
        except Exception as error:  # the text must be shown whatever its reader does
            self._tell(self.screen.show_document, found)
            self._tell(self.screen.show_findings, self._rows(found, [_unread(error)]))
            return
        if stale():
            return
        self._tell(self.screen.show_document, found)
        program = found.program
        self._tell(self.screen.show_findings, self._rows(found, program.diagnostics if program else []))
        self._tell(self.screen.inspect)
        self._tell(self.numbers.ask, (key, self.screen.inspector.room))

    def _rows(self, document: Document | None, diagnostics: list[Diagnostic]) -> list[Row]:
        session = self.screen.session
        own = list(diagnostic_rows(None, session.trace.diagnostics)) if session is not None else []
        rows = [*self.facts_rows, *own, *diagnostic_rows(document, diagnostics), *self.more_rows]
        return sorted(rows, key=lambda row: not is_problem(row))

    def _facts(self, _: None, stale: Stale) -> None:
        session = self.screen.session
        if session is None:
            return
        facts = session.trace.facts
        self.facts_rows, self.more_rows = fact_rows(facts), more_rows(facts)
        if stale():
            return
        document = self.screen.ir.document
        program = document.program
        self._tell(self.screen.show_findings, self._rows(document, program.diagnostics if program else []))

    def _numbers(self, request: tuple[int | None, int], stale: Stale) -> None:
        key, width = request
        session = self.screen.session
        if session is None or key is None:
            return
        said: dict[str, Any] = session.summary(key)
        if not stale():
            rows = overview_rows(session.trace, said, width)
            self._tell(self.screen.show_numbers, key, said, rows)

    def _inspect(self, look: Look, stale: Stale) -> None:
        rows = op_rows(look)
        if not stale():
            self._tell(self.screen.show_inspection, rows)

    def _search(self, request: tuple[Document, str], stale: Stale) -> None:
        document, query = request
        matches = find_all(document.text, query, stale)
        if matches is not None:
            self._tell(self.screen.show_matches, matches, document)

    def _badges(self, runs: list[int], stale: Stale) -> None:
        session = self.screen.session
        if session is None or self._passed_by(stale):
            return
        known = self.screen.passes.badges
        found: dict[int, Badge] = {}
        since = monotonic()
        for index in runs:
            if stale():
                break
            if index in known:
                continue
            found[index] = session.badge(session.trace.runs[index])
            if monotonic() - since > _BATCH_SECONDS:
                self._tell(self.screen.show_badges, found)
                found, since = {}, monotonic()
        if found:
            self._tell(self.screen.show_badges, found)

    def _hunt(self, request: tuple[int, list[Entry]], stale: Stale) -> None:
        session = self.screen.session
        if session is None:
            return
        for entry in request[1]:
            if stale():
                return
            if entry.kind == "run":
                run = session.trace.runs[entry.number]
                if session.changed(run) or run.failed:
                    self._tell(self.screen.hunted, entry)
                    return
        self._tell(self.screen.hunted, None)

    def _passed_by(self, stale: Stale) -> bool:
        """Wait a moment; whether the reader has gone on meanwhile, as with a key held down."""
        sleep(_PAUSE_SECONDS)
        return stale()

    def _diff(self, keys: tuple[int, int], stale: Stale) -> None:
        session = self.screen.session
        if session is None:
            return
        programs = [session.parse(key).program for key in keys]
        if programs[0] is None or programs[1] is None or stale():
            return
        found = compare(programs[0], programs[1])
        if not stale():
            self._tell(self.screen.show_diff, found, keys)

    def _history(self, wanted: tuple[int, Value], stale: Stale) -> None:
        session = self.screen.session
        if session is None:
            return
        events = session.history(*wanted)
        if not stale():
            self._tell(self.screen.show_history, wanted[1].name, events)

    def _tell(self, call: Callable[..., Result], *args: object) -> None:
        """Call the screen on its own thread; a screen that is gone is not told."""
        if self.screen.is_running:
            self.screen.app.call_from_thread(call, *args)


def _unread(error: Exception) -> Diagnostic:
    """A program that could not be read, as a finding; anything but an InputError is a fault of ours."""
    if isinstance(error, InputError):
        return Diagnostic("unreadable", str(error))
    return Diagnostic("internal-error", f"passlens failed to read this: {type(error).__name__}: {error}")
