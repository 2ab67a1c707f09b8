"""Where the text of an MLIR program ends inside a log."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from .logs_prefix import bytes_pattern, mark_of
from .logs_text import Data, decode

OPENS: Final = re.compile(
    rb'module\b[^\n]*\{|"builtin\.module"\(|(?:[a-z_]\w*\.)?func\b[^\n@]*@(?:"[^"\n]*"|[\w$.\-]+)\('
    rb"|(?:gpu|llvm|spirv)\.module\b[^\n]*\{"
)
"""The first line of a program, behind its aliases."""
_ALIAS: Final = re.compile(rb"[#!][A-Za-z_][\w$.\-]* = ")
_LOCATION: Final = re.compile(rb"#[A-Za-z_][\w$.\-]*?(\d*) = loc\(")
_RUN_OF_ALIASES: Final = re.compile(rb"(?:(?:[ \t\r]*\n)?[#!][A-Za-z_][\w$.\-]* = [^\n]*(?:\n|\Z))+")
_OPENS_AGAIN: Final = (b"{", b"({")
"""A brace at the beginning of a line closes the program unless its line ends in one of these (`} else {`)."""
_RESOURCES: Final = b"{-#"
_LONGEST_LINE: Final = 65536
_LONGEST_MARK: Final = 400
_MOST_BLANK: Final = 4
"""So many blank lines may stand in front of a program's resources."""


def dump_end(data: Data, start: int, limit: int, key: str = "") -> int:
    """Where the program that begins at `start` ends: behind its closing brace, locations and resources.

    `limit` where no closing brace stands at the beginning of a line (a dump that was cut off). `key` is the
    prefix of its lines.
    """
    closing = _closing_line(data, start, limit, key)
    if closing < 0:
        return limit
    end = _line_end(data, closing, limit)
    end = _behind_aliases(data, end, limit, key)
    end = _behind_resources(data, end, limit, key)
    return end - (data[end - 1 : end] == b"\r")


def _closing_line(data: Data, start: int, limit: int, key: str) -> int:
    """The beginning of the first line that closes a brace and opens none again; -1 if there is none."""
    if key:
        return _closing_prefixed(data, start, limit, key)
    place = data.find(b"\n}", start, limit)
    while place >= 0:
        end = _line_end(data, place + 1, limit)
        if not bytes(data[max(place, end - 8) : end]).rstrip().endswith(_OPENS_AGAIN):
            return place + 1
        place = data.find(b"\n}", end, limit)
    return -1


def _closing_prefixed(data: Data, start: int, limit: int, key: str) -> int:
    for found in _brace(key).finditer(data, start, limit):
        if not found.group().rstrip().endswith(_OPENS_AGAIN):
            return found.start()
    return -1


@lru_cache(maxsize=64)
def _brace(key: str) -> re.Pattern[bytes]:
    return re.compile(rb"(?m)^(?:" + bytes_pattern(key) + rb")?\}[^\n]*$")


@lru_cache(maxsize=64)
def _prefix(key: str) -> re.Pattern[bytes]:
    return re.compile(rb"(?:" + bytes_pattern(key) + rb")?")


def _line_end(data: Data, place: int, limit: int) -> int:
    end = data.find(b"\n", place, limit)
    return limit if end < 0 else end


def _behind_aliases(data: Data, end: int, limit: int, key: str) -> int:
    """The end of the last alias that belongs to the program that ends at `end`.

    MLIR prints behind a program the aliases that only locations need. Where another program follows at once,
    with its own aliases in front, only locations with rising numbers are taken for the first one's.
    """
    if not key:
        # Nearly always nothing follows but blank lines: then the lines need no look one by one.
        run = _RUN_OF_ALIASES.match(data, end + 1, limit)
        if run is None:
            return end
        if not OPENS.match(bytes(data[run.end() : min(run.end() + _LONGEST_LINE, limit)]).lstrip(b" \t\r\n")):
            return run.end() - run.group().endswith(b"\n")
    lines, following = _alias_lines(data, end + 1, limit, key)
    if not OPENS.match(following):
        return lines[-1][1] if lines else end
    last = -1
    for line, line_end in lines:
        location = _LOCATION.match(line)
        if location is None or int(location.group(1)[:9] or 0) <= last:
            break
        last, end = int(location.group(1)[:9] or 0), line_end
    return end


def _alias_lines(data: Data, pos: int, limit: int, key: str) -> tuple[list[tuple[bytes, int]], bytes]:
    """The alias lines from `pos` on, each with its end, and the line that follows them."""
    found: list[tuple[bytes, int]] = []
    blank = 0
    while pos < limit:
        line_end = _line_end(data, pos, limit)
        line = bytes(data[pos : min(line_end, pos + _LONGEST_LINE)])
        pos = line_end + 1
        if key:
            if _is_foreign(line, key):
                continue
            prefix = _prefix(key).match(line)
            line = line[prefix.end() :] if prefix else line
        if _ALIAS.match(line):
            found.append((line, line_end))
            blank = 0
        elif line.strip():
            return found, line
        else:
            blank += 1
            if blank > 1:
                break
    return found, b""


def _is_foreign(line: bytes, key: str) -> bool:
    """Whether a line bears the mark of another writer."""
    mark = mark_of(decode(line[:_LONGEST_MARK]))
    return bool(mark) and not key.startswith(mark.rstrip())


def _behind_resources(data: Data, end: int, limit: int, key: str) -> int:
    """The end of the `{-# … #-}` section that follows at once, if there is one."""
    pos = end + 1
    for _ in range(_MOST_BLANK + 1):
        if pos >= limit:
            break
        line_end = _line_end(data, pos, limit)
        line = bytes(data[pos : min(line_end, pos + 1000)])
        if key:
            found = _prefix(key).match(line)
            line = line[found.end() :] if found else line
        if line.startswith(_RESOURCES):
            close = data.find(b"#-}", pos, limit)
            return _line_end(data, close, limit) if close >= 0 else limit
        if line.strip():
            break
        pos = line_end + 1
    return end
