"""The raw text of logs: bytes under an index, and what surrounds IR on a line (prefixes, colours)."""

from __future__ import annotations

import mmap
import re
from typing import Final, TypeAlias

Data: TypeAlias = "bytes | mmap.mmap"
"""What an input's bytes are read from; both search and slice alike."""

_ANSI: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_WORKER: Final = re.compile(
    r"\([\w .\-]*\bpid=\d+[^)\n]*\) ?|\[[\w .\-]*(?:rank|worker)[\w .\-:]*\]:? ?", re.I
)
_WORKER_BYTES: Final = re.compile(rb"^\([\w .\-]*\bpid=\d+", re.M)

RELEASE_EVERY: Final = 32 << 20
"""Bytes of a mapped file that may stay in memory while it is searched."""


def release(data: Data, start: int, end: int) -> None:
    """Let go of the memory of a mapped stretch that was only searched; it is read again when needed."""
    if isinstance(data, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        first = start - start % mmap.PAGESIZE
        if end > first:
            data.madvise(mmap.MADV_DONTNEED, first, end - first)


def decode(raw: bytes) -> str:
    """Bytes as text, one way and back: bytes that are no UTF-8 become surrogates."""
    return raw.decode("utf-8", "surrogateescape")


def line_prefix(line: str) -> str:
    """A worker's mark (`(Worker pid=12) `, `[rank0]: `) at the beginning of a line, or ''."""
    found = _WORKER.match(line)
    return found.group() if found else ""


def clean(text: str, prefix: str = "") -> str:
    """IR text without carriage returns, colours and the line prefix; other workers' lines are left out.

    Text without any of these is returned as it is.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if not prefix:
        return text
    kept = []
    for line in text.split("\n"):
        if line.startswith(prefix):
            kept.append(line[len(prefix) :])
        elif line.rstrip() == prefix.rstrip():
            kept.append("")
        elif not line_prefix(line):
            kept.append(line)
    return "\n".join(kept)


def has_workers(data: Data) -> bool:
    """Whether lines of the input begin with a worker's mark (looked for in its first 64 KB)."""
    return _WORKER_BYTES.search(bytes(data[:65536])) is not None
