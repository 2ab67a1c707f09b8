"""One encoding in the inspector: its parameters, a line each, and a picture of its layout."""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.formats.mlir_text import split_top
from ...ir.types import Type
from .layout_rows import layout_rows
from .rows import Row, plain, wrapped


def encoding_rows(meaning: str, kind: Type | None, width: int) -> Iterator[Row]:
    """The rows of an encoding whose aliases are expanded.

    `kind` is a type that has it, whose lens a picture needs; None for an alias looked at by itself.
    """
    name, _, rest = meaning.partition("<")
    yield plain(f"  {name}", "encoding")
    for part in _parameters(rest):
        yield from wrapped(part, width, "", "    ")
    if kind is not None:
        yield from layout_rows(meaning, kind, width)


def _parameters(rest: str) -> Iterator[str]:
    """The parameters inside `<{…}>`, nested brackets kept together."""
    inside = rest.rstrip()
    for closing in (">", "}"):
        inside = inside.removesuffix(closing).rstrip()
    for part in split_top(inside.removeprefix("{")):
        yield part.strip()
