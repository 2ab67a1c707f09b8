"""Rows of the lists beside the IR: pieces of text with styles, and what choosing the row does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

Pieces: TypeAlias = tuple[tuple[str, str], ...]
"""(text, name of a style of `paint.STYLES`) one after the other."""


@dataclass(frozen=True, slots=True)
class Jump:
    """Go to a character offset of the program shown."""

    offset: int


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a list; `target` None means that choosing it does nothing."""

    left: Pieces
    right: Pieces = ()
    target: object = None

    @property
    def text(self) -> str:
        """What the row says, without styles."""
        return "".join(text for text, _ in (*self.left, *self.right))


def heading(title: str, note: str = "") -> Row:
    """A row that begins a section."""
    return Row(((title, "heading"),), ((note, "dim"),) if note else ())


def plain(text: str, style: str = "", target: object = None) -> Row:
    """A row of one piece."""
    return Row(((text, style),), target=target)


def fact(name: str, value: str, style: str = "", width: int = 10) -> Row:
    """A row that gives something a value."""
    return Row(((f"{name:<{width}} ", "dim"), (value, style)))


def wrapped(text: str, width: int, style: str = "", indent: str = "", target: object = None) -> Iterable[Row]:
    """A long text on several rows, cut behind a blank where there is one; at most 400 rows."""
    room = max(width - len(indent), 8)
    pos, count = 0, 0
    while pos < len(text) and count < 400:
        end = min(pos + room, len(text))
        if end < len(text):
            cut = max(text.rfind(mark, pos + room // 4, end) for mark in (", ", " "))
            end = cut + 1 if cut > pos else end
        yield Row(((indent + text[pos:end].rstrip(), style),), target=target)
        pos = end
        while pos < len(text) and text[pos] == " ":
            pos += 1
        count += 1
