"""An open trace as the screens use it: from several threads, with the texts looked at last kept."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final

from ..ir.analysis.overview import summary
from ..ir.diff.history import Event, value_history
from ..ir.diff.index import index
from ..ir.inputs import is_text
from ..ir.program import Value
from ..ir.snapshot import PassRun
from ..ir.trace import Trace, trace_of_text
from .collecting import dropped, undisturbed
from .document import Document, document, parsed
from .titles import headline, snapshot_title

_KEPT: Final = 6
"""Documents kept."""
_KEPT_TEXT: Final = 8_000_000
"""Characters of documents kept in all."""
_LARGEST_COUNTED: Final = 4_000_000
"""Snapshots of more bytes are not parsed in passing for the numbers in the pass list."""
_LARGE: Final = 16 << 20
_LOOK: Final = 1 << 20
"""Bytes of a log of `_LARGE` bytes or more that are listed while the rest is being indexed."""
_LARGEST_LOG: Final = 4 << 20
"""Bytes of a log without programs that are shown as text."""


@dataclass(frozen=True, slots=True)
class Badge:
    """What the pass list says of a pass; None where it is not known."""

    changed: bool | None
    ops: int | None = None
    delta: int | None = None
    """Ops after minus ops before."""
    converts: int | None = None


def first_look(path: str) -> Trace | None:
    """The beginning of a large log, which is there at once; None for what is small, packed or no text.

    Its passes are numbered as those of the whole, as far as it goes; the last ones may be cut off.
    """
    if not os.path.isfile(path) or os.path.getsize(path) < _LARGE:
        return None
    with open(path, "rb") as file:
        head = file.read(_LOOK)
    if not is_text(head) or path.endswith((".gz", ".zst", ".onnx")):
        return None
    whole_lines = head[: head.rfind(b"\n") + 1]
    return trace_of_text(whole_lines.decode("utf-8", "surrogateescape"), path)


class TraceSession:
    """A trace behind a lock; each call does one thing, so that nobody waits for a whole sweep."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.headline = headline(trace)
        """The input in a few words."""
        self._lock = threading.RLock()
        self._documents: OrderedDict[int, Document] = OrderedDict()

    def known(self, key: int) -> Document | None:
        """The document of a snapshot, if it was read lately."""
        with self._lock:
            found = self._documents.get(key)
            if found is not None:
                self._documents.move_to_end(key)
            return found

    def read(self, key: int) -> Document:
        """A snapshot's text (-1: the log's), not parsed unless it was before."""
        found = self.known(key)
        if found is not None:
            return found
        with self._lock:
            if key < 0:
                text = bytes(self.trace.data[:_LARGEST_LOG]).decode("utf-8", "surrogateescape")
                made = document(key, self.trace.name, "", text)
            else:
                snapshot = self.trace.snapshots[key]
                title = snapshot_title(snapshot)
                made = document(key, title, snapshot.format, self.trace.text(snapshot))
            return self._keep(made)

    def parse(self, key: int) -> Document:
        """A snapshot's text with its program."""
        found = self.read(key)
        if key < 0 or found.index is not None:
            return found
        with undisturbed(len(found.text)):
            with self._lock:
                program = self.trace.program(key)
            made = parsed(found, program)
        return self._keep(made)

    def summary(self, key: int) -> dict[str, Any]:
        """The numbers of a snapshot's program, {} for the log itself."""
        found = self.parse(key)
        if found.program is None:
            return {}
        with undisturbed(len(found.text)):
            return summary(found.program)

    def history(self, key: int, value: Value) -> list[Event]:
        """A value of a snapshot's document through all passes.

        The trace may have read the program anew since; the value is found there by its number.
        """
        shown = self.parse(key).program
        assert shown is not None, "a value was chosen in the program shown"
        with self._lock:
            known = index(self.trace.program(key))
            number = index(shown).value_number.get(value)
            if number is None:
                return []
            return value_history(self.trace, key, known.values[number])

    def changed(self, run: PassRun) -> bool | None:
        """Whether a pass changed its program."""
        with self._lock:
            return self.trace.changed(run)

    def badge(self, run: PassRun) -> Badge:
        """The numbers of a pass."""
        changed = self.changed(run)
        after = self._counts(run.after)
        if changed is False and after is not None:
            return Badge(changed, after[0], 0, after[1])
        before = self._counts(run.before)
        shown = after or before
        delta = after[0] - before[0] if after is not None and before is not None else None
        return Badge(changed, shown[0] if shown else None, delta, shown[1] if shown else None)

    def _counts(self, key: int | None) -> tuple[int, int] | None:
        if key is None:
            return None
        snapshot = self.trace.snapshots[key]
        if snapshot.end - snapshot.start > _LARGEST_COUNTED:
            return None
        with self._lock:
            return self.trace.counts(snapshot)

    def _keep(self, made: Document) -> Document:
        with self._lock:
            self._documents[made.key] = made
            self._documents.move_to_end(made.key)
            total = sum(len(kept.text) for kept in self._documents.values())
            while len(self._documents) > 1 and (len(self._documents) > _KEPT or total > _KEPT_TEXT):
                _, oldest = self._documents.popitem(last=False)
                total -= len(oldest.text)
                dropped(len(oldest.text))
        return made
