"""The raw text of logs: bytes under an index, and how they become text."""

from __future__ import annotations

import mmap
import re
from typing import Final, TypeAlias

Data: TypeAlias = "bytes | mmap.mmap"
"""What an input's bytes are read from; both search and slice alike."""

ANSI: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

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


def plain(text: str) -> str:
    """Text without carriage returns and colours; text without any of these is returned as it is."""
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if "\x1b" in text:
        text = ANSI.sub("", text)
    return text
