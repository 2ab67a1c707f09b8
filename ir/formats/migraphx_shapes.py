"""Shapes as MIGraphX prints them: `float_type, {2, 3}, {3, 1}`, dynamic and symbolic ones, tuples of them."""

from __future__ import annotations

import re
from typing import Final

from ..types import MIGRAPHX_ELEMENTS, UNKNOWN, DynamicShapeType, ShapeType, TupleType, Type
from .migraphx_text import regroup, split_list

_STANDARD: Final = re.compile(r"(\w+_type), \{([^{}]*)\}, \{([^{}]*)\}$")
_ELEMENT: Final = re.compile(r"\w+_type$")
_RANGE: Final = re.compile(r"\[\s*(\d+)\s*\.\.\s*(\d+|inf)\s*(?:,\s*\{[^{}]*\}\s*)?\]$")
# An expression of symbols, each with or without its range: `n`, `n[1..8]`, `2*n[1..8, {2, 4}] + 1`.
_SYMBOL: Final = re.compile(r"(?=[^\[]*[A-Za-z_])[\w\s+*/%().\[\]{},\-]+$")
_DEEPEST: Final = 32
_UNBOUNDED: Final = 1 << 62
"""Bounds from here on are the largest number that there is, printed for a dimension without bound."""


def parse_shape(text: str, depth: int = 0) -> Type:
    """The shape that `text` denotes; text of another form stays a `Type` of that text, '' is `UNKNOWN`.

    A dimension with bounds is `(low, high)`; one that is named or computed stays text (`n[1..8]`).
    """
    text = text.strip()
    if not text:
        return UNKNOWN
    standard = _STANDARD.match(text)
    if standard:
        element, lens, strides = standard.groups()
        sizes, steps = _numbers(lens), _numbers(strides)
        if sizes is not None and steps is not None and len(sizes) == len(steps):
            return ShapeType(text, MIGRAPHX_ELEMENTS.get(element, element), sizes, steps)
    if text[0] == "[" and text[-1] == "]" and depth < _DEEPEST:
        members = _members(text[1:-1])
        if members or not text[1:-1].strip():
            return TupleType(text, tuple(parse_shape(part, depth + 1) for part in members))
    return _dynamic(text) or Type(text)


def _dynamic(text: str) -> DynamicShapeType | None:
    """`dynamic, float_type, {[1..4], 3}` or `float_type, {n[1..8], 3}, {3, 1}`."""
    parts = [part.strip() for part in split_list(text)]
    is_dynamic = parts[0] == "dynamic"
    parts = parts[1:] if is_dynamic else parts
    if len(parts) not in ((2, 3) if is_dynamic else (3,)) or not _ELEMENT.match(parts[0]):
        return None
    dims = _dimensions(parts[1])
    strides = _dimensions(parts[2]) if len(parts) == 3 else dims
    if dims is None or strides is None or len(strides) != len(dims):
        return None
    if not is_dynamic and all(isinstance(dim, tuple) and dim[0] == dim[1] for dim in dims + strides):
        return None
    return DynamicShapeType(text, MIGRAPHX_ELEMENTS.get(parts[0], parts[0]), dims)


def _dimensions(text: str) -> tuple[tuple[int, int] | str, ...] | None:
    if len(text) < 2 or text[0] != "{" or text[-1] != "}":
        return None
    dims = [_dimension(part.strip()) for part in split_list(text[1:-1])]
    known = tuple(dim for dim in dims if dim is not None)
    return known if len(known) == len(dims) else None


def _numbers(text: str) -> tuple[int, ...] | None:
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    if all(part.isdecimal() and len(part) < 20 for part in parts):
        return tuple(int(part) for part in parts)
    return None


def _dimension(text: str) -> tuple[int, int] | str | None:
    """A length, the bounds of one, or the text of one with a name; None for what is none of these."""
    if text.isdecimal() and len(text) < 20:
        return int(text), int(text)
    found = _RANGE.match(text)
    if found and len(found.group(1)) < 20 and len(found.group(2)) <= 20:
        high = _UNBOUNDED if found.group(2) == "inf" else int(found.group(2))
        return int(found.group(1)), high if high < _UNBOUNDED else -1
    return text if _SYMBOL.match(text) else None


def _members(text: str) -> list[str]:
    """The shapes of a tuple: `float_type, {2}, {1}, [..]` cut where a new shape begins; [] for other text."""
    words = [part.strip() for part in split_list(text)]
    begins = [
        word.startswith("[") or word == "dynamic" or (word.endswith("_type") and before != "dynamic")
        for word, before in zip(words, ["", *words], strict=False)
    ]
    return regroup(words, begins, ", ") if begins[:1] == [True] else []


def is_shape(type: Type) -> bool:
    """Whether a text was understood as a shape, or as a tuple of such."""
    waiting = [type]
    while waiting:
        each = waiting.pop()
        if isinstance(each, TupleType):
            waiting.extend(each.members)
        elif not isinstance(each, ShapeType | DynamicShapeType):
            return False
    return True
