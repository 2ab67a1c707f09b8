"""MLIR that stands by itself: in a file of its own, between prose, in markdown fences, behind a crash."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ..snapshot import Snapshot
from .logs_end import OPENS, dump_end
from .logs_prefix import MARK_BYTES, key_of
from .logs_text import Data, Sweep, decode

_ALIAS: Final = re.compile(rb"[#!][A-Za-z_][\w$.\-]* = ")
_FIRST_LINE: Final = re.compile(rb"(?m)^" + MARK_BYTES + rb"(?:> ?)*[ \t]*(?P<opens>" + OPENS.pattern + rb")")
_NEWLINE: Final = 10
_MISSES: Final = 64
_STRETCH: Final = 4 << 20
_WORDS: Final = (b"module", b"func")
"""Every program's first line holds one of them."""
_SPLIT: Final = b"// -----"
_IS_OP: Final = re.compile(
    rb"\s*(?:%[\w$.\-]+(?::\d+)?(?:, %[\w$.\-]+)* = )?\"?[a-z_]\w*\.[a-z_][\w.]*\"?[ (]"
)
_LIKE_IR: Final = re.compile(rb"\s*(?:[%}#!\"^()\[\]]|[a-z_]\w*\.[a-z]|(?:module|func|return)\b|\{-#)")
_SOURCE: Final = re.compile(r"^\[[\w\-]+\]:? ?")
"""What LLVM's debug output begins each line with."""
_LONGEST_LINE: Final = 4096
_BOM: Final = b"\xef\xbb\xbf"


def cut_file(data: Data) -> list[Snapshot]:
    """The programs of a file that is nothing but IR, as they stand; [] if it is something else.

    It is one snapshot, or one for each part between `// -----` lines, or one for each module: comments and
    ops outside a module are kept.
    """
    begin = len(_BOM) if bytes(data[:3]) == _BOM else 0
    limit = len(data)
    if not _is_all_ir(data, begin, limit):
        return []
    marks = list(_splits(data, begin, limit))
    starts, stops = [begin, *(end for _, end in marks)], [*(start for start, _ in marks), limit]
    parts = [(low, high) for low, high in zip(starts, stops, strict=True) if data[low:high].strip()]
    if len(parts) < 2:
        modules = cut_prose(data, begin, limit)
        if sum(_is_module(data, snapshot) for snapshot in modules) > 1:
            return modules
    return [Snapshot(i, low, high, "mlir", exact=True) for i, (low, high) in enumerate(parts)]


def cut_prose(data: Data, begin: int, limit: int, key: str | None = None) -> list[Snapshot]:
    """The programs between `begin` and `limit` that no banner announces; with `key`, one writer's only."""
    found: list[Snapshot] = []
    last = begin
    for line_start, prefix in _openings(data, begin, limit):
        own = key_of(decode(prefix))
        if line_start < last or (key is not None and own != key):
            continue
        if _is_quoted(data, line_start, limit, len(prefix)):
            continue
        start = _first_alias(data, line_start, last, prefix)
        end = dump_end(data, line_start, limit, own)
        fence = data.find(b"\n" + prefix + b"```", line_start, end)
        if fence >= 0:  # it was cut off, and the markdown around it goes on
            end = dump_end(data, line_start, fence, own)
        title = title_in_front(data, start, last)
        found.append(Snapshot(len(found), start, end, "mlir", title=title, prefix=own, exact=True))
        last = max(end, line_start + 1)
    return found


def _openings(data: Data, begin: int, limit: int) -> Iterator[tuple[int, bytes]]:
    """The first lines of programs, behind their aliases, each with what stands in front of it on its line.

    They are looked for by a word that each of them holds. Where prose is full of these words, an expression
    that looks at each line is faster for a while.
    """
    sweep = Sweep(data, begin)
    pos, missed = begin, 0
    places = dict.fromkeys(_WORDS, -2)
    while pos < limit:
        sweep.at(pos)
        if missed >= _MISSES:
            stop = min(limit, pos + _STRETCH)
            for found in _FIRST_LINE.finditer(data, pos, stop):
                yield found.start(), data[found.start() : found.start("opens")]
            pos, missed = (_line_end(data, stop, limit) if stop < limit else limit), 0
            continue
        place = _next_word(data, places, pos, limit)
        if place < 0:
            return
        start = max(data.rfind(b"\n", max(pos, place - _LONGEST_LINE), place) + 1, pos)
        pos = _line_end(data, place, limit)
        opening = _FIRST_LINE.match(data[start : min(pos, place + _LONGEST_LINE)])
        if opening is None or (start and data[start - 1] != _NEWLINE):
            missed += 1
        else:
            missed = 0
            yield start, opening.group()[: opening.start("opens")]


def _next_word(data: Data, places: dict[bytes, int], pos: int, limit: int) -> int:
    """Where the next of `_WORDS` stands at or behind `pos`; -1 for none. `places` keeps what was found."""
    for word, known in places.items():
        if known != -1 and known < pos:
            places[word] = data.find(word, pos, limit)
    return min((place for place in places.values() if place >= 0), default=-1)


def _is_quoted(data: Data, line_start: int, limit: int, prefix: int) -> bool:
    """Whether an error message shows a line, with a caret under it, and no program begins there."""
    below = _line_end(data, line_start, limit) + 1
    line = bytes(data[below : min(_line_end(data, below, limit), below + _LONGEST_LINE)])
    return bool(line[prefix:].strip()) and not line[prefix:].strip(b" \t\r^~")


def _first_alias(data: Data, line_start: int, floor: int, prefix: bytes) -> int:
    """The beginning of the alias lines in front of a program's first line; blank ones may be between."""
    start, pos = line_start, line_start
    while pos > floor:
        above = max(data.rfind(b"\n", floor, pos - 1) + 1, floor)
        line = bytes(data[above : min(pos, above + len(prefix) + 200)])
        bare = line[len(prefix) :] if line.startswith(prefix) else line
        if _ALIAS.match(bare):
            start = above
        elif bare.strip() or pos != start:
            break
        pos = above
    return start


def _splits(data: Data, begin: int, limit: int) -> Iterator[tuple[int, int]]:
    """(start, end) of the lines that are nothing but `// -----`."""
    place = data.find(_SPLIT, begin, limit)
    while place >= 0:
        end = _line_end(data, place, limit)
        if (place == begin or data[place - 1] == 10) and not data[place + len(_SPLIT) : end].strip(b" -\t\r"):
            yield place, end
        place = data.find(_SPLIT, end, limit)


def _is_module(data: Data, snapshot: Snapshot) -> bool:
    head = bytes(data[snapshot.start : min(snapshot.end, snapshot.start + 1_000_000)])
    return re.search(rb'(?m)^(?:module\b|"builtin\.module")', head) is not None


def _is_all_ir(data: Data, begin: int, limit: int) -> bool:
    """Whether the text reads as IR from its first line that is no comment to its last."""
    head = bytes(data[begin : min(limit, begin + 65536)])
    lines = [line for line in head.split(b"\n") if line.strip() and not line.lstrip().startswith(b"//")]
    if not lines:
        return False
    first = lines[0]
    if not (_ALIAS.match(first) or OPENS.match(first) or _IS_OP.match(first)):
        return False
    tail = bytes(data[max(begin, limit - 4096) : limit]).rstrip().split(b"\n")[-1]
    return bool(re.match(rb"\s*[}#!\"%\w]", tail)) and not _mostly_prose(lines)


def _mostly_prose(lines: list[bytes]) -> bool:
    odd = sum(1 for line in lines[:400] if not _LIKE_IR.match(line))
    return odd * 5 > len(lines[:400])


def _line_end(data: Data, place: int, limit: int) -> int:
    end = data.find(b"\n", place, limit)
    return limit if end < 0 else end


def title_in_front(data: Data, start: int, after: int) -> str:
    """The last line of prose in front of a program: a heading, mostly; '' if IR or nothing is there."""
    before = decode(bytes(data[max(after, start - 2000) : start]))
    for line in reversed(before.split("\n")):
        words = line.strip().strip("#*`-=_: ")
        if not words or words.startswith(("mlir", "//")) or len(words) >= 100:
            continue
        if not any(char.isalpha() for char in words) or words.startswith(("}", "%", ")")):
            return ""
        return _SOURCE.sub("", words)
    return ""
