"""Text from files made harmless for a terminal: control characters and bidi marks become visible escapes."""

from __future__ import annotations

import re

_UNSAFE = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


def visible(text: str) -> str:
    """One line of text without a character that a terminal would act upon or hide; a tab becomes two blanks.

    Each character is treated by itself, so `visible(a + b) == visible(a) + visible(b)`.
    """
    if text.isprintable():
        return text
    return _UNSAFE.sub(_escape, text.replace("\t", "  "))


def _escape(found: re.Match[str]) -> str:
    code = ord(found.group())
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was no UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
