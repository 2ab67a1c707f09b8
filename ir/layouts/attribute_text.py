"""The small language that layout attributes are written in, as a tree.

    #ttg.blocked<{order = [1, 0], …}>    #ttg.padded_shared<[512:+16] {…}>    #alias

Only the shape of the text is read here, `parse.py` gives it meaning. Values are integers, words (`true`,
`fp16`), strings, lists, dictionaries and attributes; `512:+16` is a pair.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ..errors import InputError

MAX_DEPTH = 64
"""Attributes nest as deep as a tensor has dimensions; deeper text is refused, not recursed into."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """`#dialect.kind<…>`: the kind without its dialect, its named fields and its unnamed parts."""

    kind: str
    dialect: str
    fields: dict[str, Tree] = field(default_factory=dict)
    parts: tuple[Tree, ...] = ()
    start: int = 0
    """The column of its `#`, from 0; in the text of an alias, that of the alias."""


@dataclass(frozen=True, slots=True)
class Word:
    """A bare word, a number that is no integer, or a string with its quotes."""

    text: str


@dataclass(frozen=True, slots=True)
class Pair:
    """`interval:+padding`."""

    first: int
    second: int


Tree: TypeAlias = int | Word | Pair | Attribute | list["Tree"] | dict[str, "Tree"]

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<attribute>[#!][A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*)
    | (?P<pair>\d+\s*:\s*\+\s*\d+)
    | (?P<float>-?\d+\.\d*(?:[eE][+-]?\d+)?)
    | (?P<int>-?\d+)(?:\s*:\s*[su]?i\d+)?
    | (?P<string>"(?:[^"\\]|\\.)*")
    | (?P<word>[A-Za-z_$][\w$.]*)
    | (?P<mark>[<>{}\[\],=])
    )""",
    re.VERBOSE,
)


class _Reader:
    """A cursor over the tokens of one text."""

    def __init__(self, text: str, aliases: Mapping[str, str], known: dict[str, Tree]) -> None:
        self.text = text
        self.aliases = aliases
        self.known = known
        """Aliases already read: each is read once, however often and however deep it is used."""
        self.at = 0
        self.kind = ""
        self.value = ""
        self.start = 0
        self.step()

    def step(self) -> None:
        """Read the next token into `kind` (or 'end') and `value`."""
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            rest = self.text[self.at :]
            blank = len(rest) - len(rest.lstrip())
            self.start = self.at + blank
            if blank < len(rest):
                raise self.wrong(f"found {rest[blank]!r}, which no layout attribute uses")
            self.kind, self.value = "end", ""
            return
        self.kind = match.lastgroup or ""
        self.value = match.group(self.kind)
        self.start = match.start(self.kind)
        self.at = match.end()

    def wrong(self, what: str) -> InputError:
        """An error about the current token, with a glimpse of the text around it."""
        glimpse = self.text[max(0, self.start - 24) : self.start + 24].replace("\n", " ")
        return InputError(f"in the layout attribute, column {self.start + 1}: {what} (near {glimpse!r})")

    def take(self, mark: str) -> None:
        """Step over a punctuation mark that must be here."""
        if self.value != mark or self.kind != "mark":
            raise self.wrong(f"expected {mark!r}, found {self.value or 'the end of the text'!r}")
        self.step()

    def sees(self, mark: str) -> bool:
        """Whether the current token is this punctuation mark."""
        return self.kind == "mark" and self.value == mark


def read_attribute(text: str, aliases: Mapping[str, str] | None = None) -> Attribute:
    """The tree of one attribute; `aliases` gives what `#name` stands for.

    Raises:
        InputError: the text is not an attribute, an alias is not defined or defined by itself, or the
            nesting is deeper than `MAX_DEPTH`.
    """
    reader = _Reader(text, aliases or {}, {})
    tree = _value(reader, 0)
    if reader.kind != "end":
        raise reader.wrong(f"found {reader.value!r} after the attribute's end")
    if not isinstance(tree, Attribute):
        raise InputError(
            f"expected a layout attribute such as #ttg.blocked<{{…}}>, found {text.strip()[:60]!r}"
        )
    return tree


def _value(reader: _Reader, depth: int) -> Tree:
    if depth > MAX_DEPTH:
        raise reader.wrong(f"the attribute is nested more than {MAX_DEPTH} deep")
    if reader.kind == "attribute":
        return _attribute(reader, depth)
    if reader.sees("["):
        return _list(reader, depth)
    if reader.sees("{"):
        return _dict(reader, depth)
    kind, value = reader.kind, reader.value
    if kind == "int":
        reader.step()
        if len(value) > 18:
            raise reader.wrong("found a number of more than 18 digits")
        return int(value)
    if kind == "pair":
        reader.step()
        first, second = re.findall(r"\d{1,18}", value)[:2]
        return Pair(int(first), int(second))
    if kind in ("word", "string", "float"):
        reader.step()
        return Word(value)
    raise reader.wrong(f"expected a value, found {value or 'the end of the text'!r}")


def _list(reader: _Reader, depth: int) -> list[Tree]:
    reader.take("[")
    items: list[Tree] = []
    while not reader.sees("]"):
        items.append(_value(reader, depth + 1))
        if not reader.sees(","):
            break
        reader.step()
    reader.take("]")
    return items


def _dict(reader: _Reader, depth: int) -> dict[str, Tree]:
    reader.take("{")
    fields: dict[str, Tree] = {}
    while not reader.sees("}"):
        _field(reader, fields, depth)
        if not reader.sees(","):
            break
        reader.step()
    reader.take("}")
    return fields


def _field(reader: _Reader, fields: dict[str, Tree], depth: int) -> None:
    name = reader.value.strip('"')
    if reader.kind not in ("word", "string"):
        raise reader.wrong(f"expected a field name, found {reader.value or 'the end of the text'!r}")
    if name in fields:
        raise reader.wrong(f"the field {name!r} is given twice")
    reader.step()
    if reader.sees("="):
        reader.step()
        fields[name] = _value(reader, depth + 1)
    else:
        fields[name] = Word("unit")


def _attribute(reader: _Reader, depth: int) -> Tree:
    name, start = reader.value, reader.start
    reader.step()
    if name in reader.aliases and not reader.sees("<"):
        return _alias(reader, name, depth)
    dialect, _, kind = name.removeprefix("#").rpartition(".")
    if not reader.sees("<"):
        if not dialect:
            raise InputError(f"the alias {name} is not defined here; give its text or a file that defines it")
        return Attribute(kind, dialect, start=start)
    fields: dict[str, Tree] = {}
    parts: list[Tree] = []
    reader.take("<")
    while not reader.sees(">"):
        _part(reader, fields, parts, depth)
    reader.take(">")
    return Attribute(kind, dialect, fields, tuple(parts), start)


def _alias(reader: _Reader, name: str, depth: int) -> Tree:
    if name not in reader.known:
        inner = _Reader(reader.aliases[name], reader.aliases, reader.known)
        reader.known[name] = _value(inner, depth + 1)
        if inner.kind != "end":
            raise inner.wrong(f"found {inner.value!r} after the end of what {name} stands for")
    return reader.known[name]


def _part(reader: _Reader, fields: dict[str, Tree], parts: list[Tree], depth: int) -> None:
    if reader.sees(","):
        reader.step()
    elif reader.sees("{"):
        for name, tree in _dict(reader, depth + 1).items():
            if name in fields:
                raise reader.wrong(f"the field {name!r} is given twice")
            fields[name] = tree
    elif reader.kind in ("word", "string"):
        _field(reader, fields, depth)
    else:
        parts.append(_value(reader, depth + 1))
