"""Colours for one line of IR, found by one regular expression a format."""

from __future__ import annotations

import re
from typing import Final, TypeAlias

Span: TypeAlias = tuple[int, int, str]
"""`start:end` in the line and the name of a style of `paint.STYLES`."""

_STRING: Final = r'(?P<string>"(?:[^"\\]|\\.)*+"?)'
_LOC: Final = (
    r'(?P<loc>\bloc\((?:[^()"]|"(?:[^"\\]|\\.)*+"|\((?:[^()"]|"(?:[^"\\]|\\.)*+"|\([^()]*+\))*+\))*+\)?)'
)
_NUMBER: Final = r"(?P<number>(?<![\w.])-?(?:0x[0-9A-Fa-f]++|\d[\d_]*+(?:\.\d*+)?(?:[eE][+-]?\d++)?)(?![\w]))"

_MLIR_TEXT: Final = rf"""{_STRING}
    |(?P<comment>//.*+)
    |{_LOC}
    |(?P<value>%[\w$.\-]++(?:\#\d++)?)
    |(?P<symbol>@[\w$.\-]++)
    |(?P<block>\^[\w$.\-]++)
    |(?P<encoding>\#[A-Za-z_][\w$.]*+)
    |(?P<type>![A-Za-z_][\w$.]*+|(?<![\w.])(?:\d++x|\?x)++(?:[A-Za-z]\w*+)?
        |\b(?:[su]?i\d++|t?f\d\w*+|bf16|index|none|tensor|memref|vector|complex)\b)
    |(?P<attribute>\b[A-Za-z_][\w.$\-]*+(?=\ ?=[^=]))
    |(?P<op>\b[A-Za-z_]\w*+(?:\.[A-Za-z_][\w$]*+)++)
    |(?P<keyword>\b(?:module|func|return|attributes|to|step|iter_args|else|do|dense|true|false|unit|public|private)\b)
    |{_NUMBER}"""
_VALUE: Final = r"%[\w$.\-]++(?:\#\d++)?"
# ONNX names hold slashes and colons, and anything at all in quotes.
_ONNX_VALUE: Final = r'%(?:"(?:[^"\\]|\\.)*+"?|[\w./:$@+\-]*[\w./$@+\-])'
_MLIR: Final = re.compile(_MLIR_TEXT, re.X)
_ONNX: Final = re.compile(_MLIR_TEXT.replace(_VALUE, _ONNX_VALUE), re.X)
_MIGRAPHX: Final = re.compile(
    rf"""{_STRING}
    |(?P<op>(?<=\ =\ )(?:@[A-Za-z_]\w*+|[A-Za-z_][\w:.]*+)|^\s*@return\b)
    |(?P<value>(?:[\w.]++:)?(?<!\w)@\d++)
    |(?P<type>\b\w+_type\b|\bdynamic\b)
    |(?P<attribute>\b[A-Za-z_]\w*+(?==))
    |(?P<keyword>->|^module(?=:))
    |(?P<number>(?<![\w.])-?\d++(?:\.\d++)?(?:[eE][+-]?\d++)?(?:ms|us|%)?(?!\w))
    |(?P<comment>\#.*+)""",
    re.X,
)
_PLAIN: Final = re.compile(
    r"""(?P<error>\b(?:error|Error|ERROR|Assertion|UNREACHABLE|abort)\b)
    |(?P<keyword>^\s*\#\d++\ 0x[0-9a-f]++)
    |(?P<comment>^//.*+)""",
    re.X,
)
_PATTERNS: Final = {"mlir": _MLIR, "migraphx": _MIGRAPHX, "onnx": _ONNX}


def spans(line: str, format: str) -> list[Span]:
    """The coloured stretches of a line, in order and without overlaps; the rest has no colour."""
    pattern = _PATTERNS.get(format, _PLAIN)
    return [(found.start(), found.end(), found.lastgroup or "") for found in pattern.finditer(line)]


def whole(spans: list[Span], start: int, end: int) -> list[Span]:
    """The spans with the gaps between them filled (style ''), cut to `start:end`."""
    found: list[Span] = []
    pos = start
    for low, high, style in spans:
        low, high = max(low, pos), min(high, end)
        if low >= high:
            continue
        if low > pos:
            found.append((pos, low, ""))
        found.append((low, high, style))
        pos = high
    if pos < end:
        found.append((pos, end, ""))
    return found


def overlay(below: list[Span], above: list[Span]) -> list[tuple[int, int, str, str]]:
    """`below` cut at the borders of `above`: (start, end, style below, style above or '').

    Both are in order; `below` has no gaps. Of overlapping spans of `above` the first one wins.
    """
    found: list[tuple[int, int, str, str]] = []
    marks = iter(above)
    mark = next(marks, None)
    for start, end, style in below:
        pos = start
        while pos < end:
            while mark is not None and mark[1] <= pos:
                mark = next(marks, None)
            if mark is None or mark[0] >= end:
                found.append((pos, end, style, ""))
                break
            if mark[0] > pos:
                found.append((pos, mark[0], style, ""))
                pos = mark[0]
            stop = min(end, mark[1])
            found.append((pos, stop, style, mark[2]))
            pos = stop
    return found
