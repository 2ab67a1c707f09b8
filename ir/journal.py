"""A journal of edits: what every primitive change of a program replaced, so that it can be undone and redone.

While a journal is being kept, the primitives below write down each change they make; otherwise they only
make it. `edit.py` makes all its changes through them, so that a debugger of passes can walk backwards at the
cost of what a step changed, and get back the same lists in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

T = TypeVar("T")

_ABSENT: Final = object()


@dataclass(frozen=True, slots=True)
class Splice:
    """`items[at:at + len(old)]` became `new`."""

    items: list[Any]
    at: int
    old: tuple[Any, ...]
    new: tuple[Any, ...]

    def undo(self) -> None:
        """Make it as it was."""
        self.items[self.at : self.at + len(self.new)] = self.old

    def redo(self) -> None:
        """Make the change again."""
        self.items[self.at : self.at + len(self.old)] = self.new


@dataclass(frozen=True, slots=True)
class Assign:
    """An attribute of an object was given another value."""

    target: object
    name: str
    old: Any
    new: Any

    def undo(self) -> None:
        """Make it as it was."""
        setattr(self.target, self.name, self.old)

    def redo(self) -> None:
        """Make the change again."""
        setattr(self.target, self.name, self.new)


@dataclass(frozen=True, slots=True)
class Entry:
    """A whole dictionary was given other contents (the order of its keys is part of them)."""

    target: dict[str, str]
    old: dict[str, str]
    new: dict[str, str]

    def undo(self) -> None:
        """Make it as it was."""
        self._fill(self.old)

    def redo(self) -> None:
        """Make the change again."""
        self._fill(self.new)

    def _fill(self, contents: dict[str, str]) -> None:
        self.target.clear()
        self.target.update(contents)


Change: TypeAlias = Splice | Assign | Entry

_ACTIVE: ContextVar[list[Change] | None] = ContextVar("journal", default=None)


@contextmanager
def recording(changes: list[Change]) -> Iterator[None]:
    """Append every change made inside the `with` to `changes`."""
    token = _ACTIVE.set(changes)
    try:
        yield
    finally:
        _ACTIVE.reset(token)


def undo(changes: Sequence[Change]) -> None:
    """Take changes back, the last first."""
    for change in reversed(changes):
        change.undo()


def redo(changes: Sequence[Change]) -> None:
    """Make changes again, in their order."""
    for change in changes:
        change.redo()


def splice(items: list[T], at: int, count: int, new: Sequence[T] = ()) -> None:
    """Replace `count` items from `at` on by `new`."""
    journal = _ACTIVE.get()
    if journal is not None:
        journal.append(Splice(items, at, tuple(items[at : at + count]), tuple(new)))
    items[at : at + count] = new


def append(items: list[T], item: T) -> None:
    """Add an item at the end."""
    journal = _ACTIVE.get()
    if journal is not None:
        journal.append(Splice(items, len(items), (), (item,)))
    items.append(item)


def remove(items: list[T], item: T) -> None:
    """Take the first item away that equals `item`; ValueError if there is none."""
    splice(items, items.index(item), 1)


def assign(target: object, name: str, new: object) -> None:
    """Set an attribute; does nothing where it already holds this very object."""
    old = getattr(target, name, _ABSENT)
    if old is new:
        return
    journal = _ACTIVE.get()
    if journal is not None and old is not _ABSENT:
        journal.append(Assign(target, name, old, new))
    setattr(target, name, new)


def put(target: dict[str, str], key: str, text: str | None) -> None:
    """Set a key of a dictionary, or with None take it away."""
    journal = _ACTIVE.get()
    before = dict(target) if journal is not None else None
    if text is None:
        target.pop(key, None)
    else:
        target[key] = text
    if journal is not None and before is not None:
        journal.append(Entry(target, before, dict(target)))
