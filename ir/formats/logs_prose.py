"""MLIR that stands by itself: in a file of its own, between prose, in markdown fences, behind a crash."""

from __future__ import annotations

import re
from typing import Final

from ..snapshot import Snapshot
from .logs_text import Data, decode

_START: Final = re.compile(
    rb"(?m)^(?P<prefix>\([^)\n]*\bpid=\d+[^)\n]*\) ?)?"
    rb"(?P<start>[#!][A-Za-z_][\w$.\-]*[ ]=[ ]|module\b(?=[^\n]*\{)"
    rb'|"builtin\.module"\(|(?:tt|func|llvm|gpu|triton)\.(?:func|module)\b(?=[^\n]*[({])|func\b(?=[^\n]*@))'
)
_SPLIT: Final = re.compile(rb"(?m)^// -----[ \t\r]*$")
_WORKER: Final = rb"(?:\([^)\n]*\bpid=\d+[^)\n]*\) ?)?"
_TAIL: Final = re.compile(
    rb"(?:" + _WORKER + rb"(?:[ \t\r]*\n|[#!][A-Za-z_][\w$.\-]* = [^\n]*(?:\n|\Z)|[ \t]*//[^\n]*(?:\n|\Z)))*+"
)
_CLOSING: Final = re.compile(rb"(?m)^" + _WORKER + rb"\}[^\n]*$")
_RESOURCES: Final = re.compile(rb"(?s)(?:[ \t\r\n]|\([^)\n]*\bpid=\d+[^)\n]*\))*+\{-#.*?#-\}[^\n]*")
_IS_OP: Final = re.compile(
    rb"(?m)^\s*(?:%[\w$.\-]+(?::\d+)?(?:, %[\w$.\-]+)* = )?\"?[a-z_]\w*\.[a-z_][\w.]*\"?[ (]"
)

_LIKE_IR: Final = re.compile(rb"\s*(?:[%}#!\"^()\[\]]|[a-z_]\w*\.[a-z]|(?:module|func|return)\b|\{-#)")


def dump_end(data: Data, start: int, limit: int) -> int:
    """Where the dump that begins at `start` ends: behind its closing brace and the aliases after it.

    `limit` where no closing brace stands at the beginning of a line (a dump that was cut off).
    """
    closing = _CLOSING.search(data, start, limit)
    if closing is None:
        return limit
    end = closing.end()
    tail = _TAIL.match(data, min(end + 1, limit), limit)
    if tail and tail.group().strip():
        end = tail.start() + len(tail.group().rstrip())
    return end


def cut(data: Data, begin: int, limit: int, whole_file: bool) -> list[Snapshot]:
    """The programs between `begin` and `limit` that no banner announces.

    With `whole_file`, a text that is nothing but IR is one snapshot as it stands (or one for each part
    between `// -----` lines), so that comments and ops outside a module are kept.
    """
    if whole_file and _is_all_ir(data, begin, limit):
        marks = [begin, *(m.end() for m in _SPLIT.finditer(data, begin, limit)), limit]
        stops = [*(m.start() for m in _SPLIT.finditer(data, begin, limit)), limit]
        parts = [(low, high) for low, high in zip(marks, stops, strict=False) if data[low:high].strip()]
        return [Snapshot(i, low, high, "mlir") for i, (low, high) in enumerate(parts)]
    found: list[Snapshot] = []
    pos = begin
    while True:
        start = _START.search(data, pos, limit)
        if start is None:
            return found
        end = dump_end(data, start.start(), limit)
        module = start["start"]
        if module[:1] in b"#!" and not _holds_program(data, start.start(), end):
            pos = start.end()
            continue
        resources = _RESOURCES.match(data, end, limit)
        end = resources.end() if resources else end
        title = title_in_front(data, start.start(), found[-1].end if found else 0)
        found.append(Snapshot(len(found), start.start(), end, "mlir", title=title))
        pos = max(end, start.end())


def _is_all_ir(data: Data, begin: int, limit: int) -> bool:
    """Whether the text reads as IR from its first line that is no comment to its last."""
    head = bytes(data[begin : min(limit, begin + 65536)])
    lines = [line for line in head.split(b"\n") if line.strip() and not line.lstrip().startswith(b"//")]
    if not lines:
        return False
    first = lines[0]
    if not (_START.match(first) or _IS_OP.match(first)) or first.startswith(b"("):
        return False
    tail = bytes(data[max(begin, limit - 4096) : limit]).rstrip().split(b"\n")[-1]
    return bool(re.match(rb"\s*[}#!\"%\w]", tail)) and not _mostly_prose(lines)


def _mostly_prose(lines: list[bytes]) -> bool:
    odd = sum(1 for line in lines[:400] if not _LIKE_IR.match(line))
    return odd * 5 > len(lines[:400])


def _holds_program(data: Data, start: int, end: int) -> bool:
    text = bytes(data[start : min(end, start + 1_000_000)])
    return any(m["start"][:1] not in b"#!" for m in _START.finditer(text))


def title_in_front(data: Data, start: int, after: int) -> str:
    """The last line of prose in front of a program: a heading, mostly."""
    before = decode(bytes(data[max(after, start - 2000) : start]))
    for line in reversed(before.split("\n")):
        words = line.strip().strip("#*`-=_: ")
        if words and not words.startswith(("mlir", "//")) and len(words) < 100:
            return words
    return ""
