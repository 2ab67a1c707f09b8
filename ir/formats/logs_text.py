"""The raw text of logs: bytes under an index, and how they become text."""

from __future__ import annotations

import mmap
import re
from typing import Final, TypeAlias

Data: TypeAlias = "bytes | mmap.mmap"
"""What an input's bytes are read from; both search and slice alike."""

ANSI: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

_AROUND: Final = 2 << 20
"""Bytes of a huge page, the most that a system maps at a time."""
_RELEASE_EVERY: Final = 32 << 20
"""Bytes of a mapped file that may stay in memory while it is searched."""


def release(data: Data, start: int, end: int) -> None:
    """Let go of the memory of a mapped stretch that was only searched; it is read again when needed.

    Goes a little beyond both ends, as reading one byte may have brought in so much around it.
    """
    if isinstance(data, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        first = max(start // _AROUND - 1, 0) * _AROUND
        last = min((end // _AROUND + 2) * _AROUND, len(data))
        if last > first:
            data.madvise(mmap.MADV_DONTNEED, first, last - first)


class Sweep:
    """A search through a file from `start` on, which lets go of the memory behind it."""

    __slots__ = ("_data", "_released", "next")

    def __init__(self, data: Data, start: int = 0) -> None:
        self._data = data
        self._released = start
        self.next = start + _RELEASE_EVERY
        """The place from which on `at` has something to do."""

    def at(self, place: int) -> None:
        """Tell how far the search has come."""
        if place >= self.next:
            release(self._data, self._released, place)
            self._released = place
            self.next = place + _RELEASE_EVERY

    def end(self) -> None:
        """Tell that it is done."""
        release(self._data, self._released, len(self._data))


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
