"""Types of MLIR text: what the printed form of a type means, without registered dialects."""

from __future__ import annotations

import re
from typing import Final

from ..types import ELEMENT_BITS, UNKNOWN, MemDescType, PointerType, ScalarType, TensorType, TupleType, Type
from .mlir_text import balanced_end, split_top

_DIMS: Final = re.compile(r"(?:(?:\?|\d+|\[\d+\])x)*")
_INTEGER: Final = re.compile(r"[su]?i\d+")
_SHAPED: Final = ("tensor<", "memref<", "vector<")
_MEMDESC: Final = ("!ttg.memdesc<", "!tt.memdesc<", "!triton_gpu.memdesc<", "!triton_gpu.mem_desc<")
_DEEPEST: Final = 24
"""Types nested deeper than this stay text; real ones end at four or five."""


def parse_type(text: str, aliases: dict[str, str], cache: dict[str, Type], depth: int = 0) -> Type:
    """The type that `text` denotes, type aliases looked through; text of an unknown kind stays text."""
    text = text.strip()
    known = cache.get(text)
    if known is not None:
        return known
    parsed = _parse(text, aliases, cache, depth) if text and depth < _DEEPEST else Type(text)
    if not text:
        return UNKNOWN
    cache[text] = parsed
    return parsed


def _parse(text: str, aliases: dict[str, str], cache: dict[str, Type], depth: int) -> Type:
    if text in ELEMENT_BITS or _INTEGER.fullmatch(text):
        return ScalarType(text, text)
    if text[0] == "!" and text in aliases:
        meant = parse_type(aliases[text], aliases, cache, depth + 1)
        return meant
    if text.startswith(_SHAPED):
        return _shaped(text, aliases, cache, depth)
    if text.startswith(_MEMDESC):
        return _memdesc(text, aliases, cache, depth)
    if text.startswith(("!tt.ptr", "!llvm.ptr")):
        return _pointer(text, aliases, cache, depth)
    if text.startswith("tuple<"):
        return _tuple(text, text[6:-1], aliases, cache, depth)
    if text.startswith("!llvm.struct<(") and text.endswith(")>"):
        return _struct(text, aliases, cache, depth)
    if text[0] == "(" and balanced_end(text, 0) == len(text):
        return _tuple(text, text[1:-1], aliases, cache, depth)
    return Type(text)


def _inside(text: str) -> list[str]:
    return split_top(text[text.index("<") + 1 : -1]) if text.endswith(">") else []


def _dimensions(text: str) -> tuple[tuple[int, ...], str]:
    """`4x?xf32` → ((4, -1), `f32`)."""
    found = _DIMS.match(text)
    end = found.end() if found else 0
    lens = tuple(
        -1 if d == "?" or d.startswith("[") or len(d) > 18 else int(d) for d in text[:end].split("x")[:-1]
    )
    return lens, text[end:]


def _shaped(text: str, aliases: dict[str, str], cache: dict[str, Type], depth: int) -> Type:
    parts = _inside(text)
    if not parts or parts[0].startswith("*"):
        return Type(text)
    lens, element = _dimensions(parts[0].strip())
    encoding = ", ".join(part.strip() for part in parts[1:])
    return TensorType(text, lens, parse_type(element, aliases, cache, depth + 1), encoding)


def _memdesc(text: str, aliases: dict[str, str], cache: dict[str, Type], depth: int) -> Type:
    parts = [part.strip() for part in _inside(text)]
    if len(parts) < 2:
        return Type(text)
    lens, element = _dimensions(parts[0])
    space = next((part for part in parts[2:] if part.startswith("#")), "")
    element_type = parse_type(element, aliases, cache, depth + 1)
    return MemDescType(text, lens, element_type, parts[1], space, "mutable" in parts[2:])


def _pointer(text: str, aliases: dict[str, str], cache: dict[str, Type], depth: int) -> Type:
    if "<" not in text:
        return PointerType(text, None, 0)
    parts = [part.strip() for part in _inside(text)]
    if not parts:
        return Type(text)
    if text.startswith("!llvm"):
        return PointerType(text, None, int(parts[0]) if parts[0].isdecimal() and len(parts[0]) < 9 else 0)
    space = int(parts[1]) if len(parts) > 1 and parts[1].isdecimal() and len(parts[1]) < 9 else 1
    return PointerType(text, parse_type(parts[0], aliases, cache, depth + 1), space)


def _tuple(text: str, inside: str, aliases: dict[str, str], cache: dict[str, Type], depth: int) -> Type:
    return TupleType(
        text, tuple(parse_type(part, aliases, cache, depth + 1) for part in split_top(inside) if part.strip())
    )


def _struct(text: str, aliases: dict[str, str], cache: dict[str, Type], depth: int) -> Type:
    """An LLVM struct, whose members may leave out the dialect: `!llvm.struct<(ptr<1>, i32)>`."""
    members = []
    for part in split_top(text[14:-2]):
        member = part.strip()
        if member.startswith(("ptr", "struct<", "array<", "vec<", "func<")):
            member = f"!llvm.{member}"
        members.append(parse_type(member, aliases, cache, depth + 1))
    return TupleType(text, tuple(members))


def with_shape_of(type: Type, element: str) -> Type:
    """The type with the same shape (and encoding) whose elements are `element`; for comparisons."""
    scalar = ScalarType(element, element)
    if not isinstance(type, TensorType):
        return scalar
    dims = "".join("?x" if n < 0 else f"{n}x" for n in type.lens)
    tail = f", {type.encoding}" if type.encoding else ""
    head = type.text.partition("<")[0]
    return TensorType(f"{head}<{dims}{element}{tail}>", type.lens, scalar, type.encoding)


def pointee_of(type: Type) -> Type:
    """What a load from a pointer, a tensor of pointers or a pointer to a tensor gives, or `UNKNOWN`."""
    if isinstance(type, PointerType):
        return type.pointee or UNKNOWN
    if isinstance(type, TensorType) and isinstance(type.element, PointerType) and type.element.pointee:
        dims = "".join(f"{n}x" for n in type.lens)
        tail = f", {type.encoding}" if type.encoding else ""
        element = type.element.pointee
        return TensorType(f"tensor<{dims}{element.text}{tail}>", type.lens, element, type.encoding)
    return UNKNOWN
