"""What loggers put in front of every line: a worker's mark, a rank, a time, a quote sign, colours.

A prefix is known by its *key*: the text in front of a banner without colours, with a NUL in the place of
each time of day, so that all lines of one writer have one key.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from .logs_text import ANSI, Data, decode

_TIME: Final = r"(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+\-]\d\d:?\d\d)?"
_TIMES: Final = re.compile(_TIME)
_MARK: Final = re.compile(
    r"(?:" + _TIME + r" )?"
    r"(?:\([\w .\-]*\bpid=\d+[^)\n]*\) ?|\[[\w .\-]*(?:rank|worker|default)[\w .\-:]*\]:? ?"
    r"|\[\d+(?:,\d+)?\]<std(?:err|out)>: ?)",
    re.I,
)
_MARKS: Final = re.compile(r"(?m)^" + _MARK.pattern, re.I)
_LONGEST: Final = 200
_COLOUR: Final = rb"(?:\x1b\[[0-9;?]*[A-Za-z])*"
MARK_BYTES: Final = (
    _COLOUR + rb"(?:" + _TIME.encode() + rb" )?(?i:"
    + _MARK.pattern.encode().replace(rb"\) ?", rb"\)" + _COLOUR + rb" ?") + rb")?" + _COLOUR
)  # fmt: skip
"""The source of an expression that matches a time, such a mark, or both in raw bytes, or nothing."""
_LOOKED_AT: Final = 20
"""Lines behind a banner among which one must bear its prefix; other writers' may stand between."""


def key_of(prefix: str) -> str:
    """The key of the text that stands in front of something on its line."""
    return _TIMES.sub("\0", ANSI.sub("", prefix))


def mark_of(line: str) -> str:
    """The key of a mark that is known by its form (`(Worker pid=12) `, `[rank0]: `), or ''."""
    found = _MARK.match(ANSI.sub("", line[: 2 * _LONGEST]))
    return key_of(found.group()) if found else ""


def mark_length(line: str) -> int:
    """How many characters such a mark takes in front of a line without colours; 0 where there is none."""
    found = _MARK.match(line[:_LONGEST])
    return found.end() if found else 0


@lru_cache(maxsize=256)
def line_pattern(key: str) -> re.Pattern[str]:
    """What matches a line's prefix with this key in text without colours; its trailing blanks may lack."""
    parts = [re.escape(part) for part in key.rstrip().split("\0")]
    blanks = re.escape(key[len(key.rstrip()) :])
    return re.compile(_TIME.join(parts) + rf"(?:{blanks}|\s*$)")


@lru_cache(maxsize=256)
def bytes_pattern(key: str) -> bytes:
    """The source of an expression that matches the prefix in the raw bytes, colours between and all."""
    parts = []
    for part in key.split("\0"):
        escaped = (re.escape(char).encode("utf-8", "surrogateescape") for char in part)
        parts.append(_COLOUR.join(escaped))
    return _COLOUR + (_COLOUR + _TIME.encode() + _COLOUR).join(parts) + _COLOUR


def banner_key(data: Data, begin: int, place: int, body: int) -> str:
    """The key of what stands between the beginning of a banner's line and the banner; '' if it is no prefix.

    It is one if its form is known, or if a line behind the banner (`body`) bears it as well.
    """
    if place - begin > _LONGEST:
        return ""
    before = decode(bytes(data[begin:place]))
    key = key_of(before)
    if not key.strip("\0") or mark_of(before) == key:
        return key
    bearing = re.compile(bytes_pattern(key))
    for _ in range(_LOOKED_AT):
        if body >= len(data):
            break
        if bearing.match(data, body):
            return key
        body = data.find(b"\n", body) + 1 or len(data)
    return ""


def strip_prefix(text: str, key: str) -> str:
    """The lines of one writer without their prefix; lines with another writer's mark are left out."""
    pattern = line_pattern(key)
    kept = []
    for line in text.split("\n"):
        found = pattern.match(line)
        if found:
            kept.append(line[found.end() :])
        elif not mark_of(line):
            kept.append(line)
    return "\n".join(kept)


def strip_marks(text: str) -> str:
    """Text of all writers without their marks, as far as these are known by their form."""
    return _MARKS.sub("", text)
