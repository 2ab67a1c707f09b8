"""Shapes as MIGraphX prints them: `float_type, {2, 3}, {3, 1}`, dynamic ones, tuples of them."""

from __future__ import annotations

import re
from typing import Final

from ..types import MIGRAPHX_ELEMENTS, UNKNOWN, DynamicShapeType, ShapeType, TupleType, Type
from .mlir_text import split_top

_STANDARD: Final = re.compile(r"(\w+_type), \{([^{}]*)\}, \{([^{}]*)\}$")
_DYNAMIC: Final = re.compile(r"dynamic, (\w+_type), \{(.*)\}$")
_RANGE: Final = re.compile(r"\[\s*(\d+)\s*\.\.\s*(\d+|inf)\s*(?:,\s*\{[^{}]*\}\s*)?\]$")
_DEEPEST: Final = 32


def parse_shape(text: str, depth: int = 0) -> Type:
    """The shape that `text` denotes; text of another form stays a `Type` of that text, '' is `UNKNOWN`."""
    text = text.strip()
    if not text:
        return UNKNOWN
    standard = _STANDARD.match(text)
    if standard:
        element, lens, strides = standard.groups()
        sizes, steps = _numbers(lens), _numbers(strides)
        if sizes is not None and steps is not None and len(sizes) == len(steps):
            return ShapeType(text, MIGRAPHX_ELEMENTS.get(element, element), sizes, steps)
        return Type(text)
    dynamic = _DYNAMIC.match(text)
    if dynamic:
        element, dims = dynamic.groups()
        parts = tuple(_dimension(part.strip()) for part in split_top(dims))
        return DynamicShapeType(text, MIGRAPHX_ELEMENTS.get(element, element), parts)
    if text[0] == "[" and text[-1] == "]" and depth < _DEEPEST:
        return TupleType(text, tuple(parse_shape(part, depth + 1) for part in _members(text[1:-1])))
    return Type(text)


def _numbers(text: str) -> tuple[int, ...] | None:
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    if all(part.isdecimal() and len(part) < 20 for part in parts):
        return tuple(int(part) for part in parts)
    return None


def _dimension(text: str) -> tuple[int, int] | str:
    if text.isdecimal() and len(text) < 20:
        return int(text), int(text)
    found = _RANGE.match(text)
    if found and len(found.group(1)) < 20 and len(found.group(2)) < 20:
        high = -1 if found.group(2) == "inf" else int(found.group(2))
        return int(found.group(1)), high
    return text


def _members(text: str) -> list[str]:
    """The shapes of a tuple: `float_type, {2}, {1}, [..]` cut where a new shape begins."""
    members: list[str] = []
    for part in split_top(text):
        word = part.strip()
        begins = word.startswith("[") or word == "dynamic" or word.endswith("_type")
        if begins and not (members and members[-1].endswith("dynamic")):
            members.append(word)
        elif members:
            members[-1] += f", {word}"
    return members
