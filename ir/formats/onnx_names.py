"""Names and strings of an ONNX model as text of one line, and back.

A protobuf string may hold anything, bytes that are not UTF-8 included (Python then gets `bytes`). Inside
passlens such a string is decoded with `surrogateescape`; in the listing it is quoted and escaped, so that
no name can end a line, colour a terminal or pass for another.
"""

from __future__ import annotations

import re
from typing import Final

# No colon at the end: in the listing, a colon follows a name in front of its type.
_BARE: Final = re.compile(r"[\w./:$@+\-]*[\w./$@+\-]")
_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_PLAIN: Final = {text[1]: char for char, text in _ESCAPES.items()}
_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.))", re.S)


def decoded(raw: str | bytes) -> str:
    """A protobuf string as `str`; bytes that are not UTF-8 become lone surrogates."""
    return raw.decode("utf-8", "surrogateescape") if isinstance(raw, bytes) else raw


def quoted(raw: str | bytes) -> str:
    r"""A string in double quotes: `\xHH` is a byte that is not UTF-8, `\uHHHH` cannot be seen."""
    return '"' + "".join(map(_escaped, decoded(raw))) + '"'


def unquoted(text: str) -> str:
    """What `quoted` was given; a text without quotes is taken as it is."""
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        return text
    return _ESCAPE.sub(_unescape, text[1:-1])


def printed(name: str | bytes) -> str:
    """A name as it stands in the listing behind `%` or in an op's name: bare where that is unmistakable."""
    text = decoded(name)
    return text if not text or _BARE.fullmatch(text) else quoted(text)


def value_name(name: str | bytes) -> str:
    """The name of a `Value`: `%conv1`, `%"with space"`, and `%` for one that is left out."""
    return "%" + printed(name)


def raw_name(name: str) -> str:
    """The model's name for a `Value` of this name."""
    return unquoted(name.removeprefix("%"))


def encodable(name: str) -> str:
    r"""The name with bytes that are not UTF-8 spelled `\xHH`: protobuf writes no others."""
    return "".join(_escaped(c) if "\ud800" <= c <= "\udfff" else c for c in name)


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _unescape(found: re.Match[str]) -> str:
    byte, short, long, plain = found.groups()
    if byte:
        return chr(0xDC00 + int(byte, 16))
    if short or long:
        code = int(short or long, 16)
        return chr(code) if code < 0x110000 else found.group()
    return _PLAIN.get(plain, found.group())
