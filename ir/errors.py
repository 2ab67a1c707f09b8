"""What passlens says about bad input: one error type, and diagnostics that travel with a program."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A position in an input: file name (or `<stdin>`), 1-based line and column."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Something a reader noticed and survived.

    `code` is a stable kebab-case name (`undefined-value`, `undefined-alias`, `unparsed-text`, …);
    `offset` is the character offset in the program's text, or -1 where there is none; `count` says
    how often the same thing occurred when it is reported once.
    """

    code: str
    message: str
    offset: int = -1
    count: int = 1


class InputError(Exception):
    """Input that cannot be used at all; the command line prints it and exits with code 2.

    Says what was found, what was expected and what to do next; `place` is None where a whole file is
    meant and the message names it.
    """

    def __init__(self, message: str, place: Place | None = None) -> None:
        super().__init__(f"{place}: {message}" if place else message)
        self.place = place


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """The 1-based line and column of a character offset in `text`."""
    line = text.count("\n", 0, offset) + 1
    return line, offset - (text.rfind("\n", 0, offset) + 1) + 1
