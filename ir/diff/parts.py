"""Which parts of an op changed, given which op and which values are whose counterparts."""

from __future__ import annotations

from itertools import zip_longest

from ..types import MemDescType, PointerType, TensorType, Type
from .aliases import AliasTable
from .index import Side
from .own import Own
from .relate import Matching
from .result import Part, PartKind
from .sequence import align
from .shape import Shapes


def parts_of(matching: Matching, shapes: Shapes, i: int, j: int) -> list[Part]:
    """The parts in which op `j` of b differs from its counterpart `i` of a."""
    both = matching.both
    a, b = both.a, both.b
    parts: list[Part] = []
    if both.shapes[0][i] != both.shapes[1][j]:
        parts.extend(_own_parts(shapes.own(0, a, i), shapes.own(1, b, j)))
    parts.extend(_result_parts(matching, shapes, i, j))
    parts.extend(_operand_parts(matching, i, j))
    if a.ops[i].successors or b.ops[j].successors:
        parts.extend(_successor_parts(matching, i, j))
    if a.inner[i] or b.inner[j]:
        parts.extend(_region_parts(matching, shapes, i, j))
    return parts


def _own_parts(old: Own, new: Own) -> list[Part]:
    parts: list[Part] = []
    if old.name != new.name:
        parts.append(Part("name", "", old.name, new.name))
    for key in sorted({*old.attributes, *new.attributes}):
        left, right = old.attributes.get(key, ""), new.attributes.get(key, "")
        if left != right:
            parts.append(Part("attribute", key, left, right))
    if old.location != new.location:
        parts.append(Part("location", "", old.location, new.location))
    for index, (left, right) in enumerate(zip(old.names, new.names, strict=False)):
        if left != right:
            parts.append(Part("value name", str(index), left, right))
    return [*parts, *_syntax_parts(old, new)]


def _syntax_parts(old: Own, new: Own) -> list[Part]:
    """What differs in the text alone, if both ops were read from a custom form."""
    if old.agrees(new):
        return []
    left = f"{old.words or ''} {old.layout or ''}".strip()
    right = f"{new.words or ''} {new.layout or ''}".strip()
    return [Part("syntax", "", left, right)]


def _result_parts(matching: Matching, shapes: Shapes, i: int, j: int) -> list[Part]:
    both = matching.both
    left, right = both.a.results[i], both.b.results[j]
    same_shape = both.shapes[0][i] == both.shapes[1][j]
    if (same_shape and len(left) == len(right)) or not (left or right):
        return []
    return _value_parts(matching, shapes, (left, right), ("result", ""))


def _value_parts(
    matching: Matching,
    shapes: Shapes,
    values: tuple[tuple[int, ...], tuple[int, ...]],
    naming: tuple[PartKind, str],
) -> list[Part]:
    """Results or arguments that came, went, or have another type; `naming` is their kind and prefix."""
    a, b = matching.both.a, matching.both.b
    kind, prefix = naming
    parts: list[Part] = []
    place = {y: index for index, y in enumerate(values[1])}
    for index, x in enumerate(values[0]):
        at = place.get(matching.values_a[x], -1)
        if at < 0:
            type_text = shapes.aliases[0].resolve(a.values[x].type.text)
            parts.append(Part(kind, f"{prefix}{index}", type_text, "", a.values[x], None))
            continue
        old, new = a.values[x], b.values[values[1][at]]
        parts.extend(_type_parts(f"{prefix or 'result '}{at}", old.type, new.type, shapes.aliases))
        if shapes.options.names and kind == "argument" and old.name != new.name:
            parts.append(Part("value name", f"{prefix}{at}", old.name, new.name, old, new))
    for index, y in enumerate(values[1]):
        if matching.values_b[y] < 0:
            type_text = shapes.aliases[1].resolve(b.values[y].type.text)
            parts.append(Part(kind, f"{prefix}{index}", "", type_text, None, b.values[y]))
    return parts


def _type_parts(which: str, old: Type, new: Type, aliases: tuple[AliasTable, AliasTable]) -> list[Part]:
    left, right = aliases[0].resolve(old.text), aliases[1].resolve(new.text)
    if left == right:
        return []
    parts: list[Part] = []
    bare_old, encoding_old = _split(old)
    bare_new, encoding_new = _split(new)
    if encoding_old or encoding_new:
        before, after = aliases[0].resolve(encoding_old), aliases[1].resolve(encoding_new)
        if before != after:
            parts.append(Part("encoding", which, before, after))
        if bare_old != bare_new or not parts:
            parts.append(Part("type", which, left, right))
        return parts
    return [Part("type", which, left, right)]


def _split(type: Type) -> tuple[object, str]:
    """A type without its encoding, and the encoding; a pointer to a tensor has the tensor's."""
    wrapped = 0
    while isinstance(type, PointerType) and isinstance(type.pointee, Type):
        type = type.pointee
        wrapped += 1
    if isinstance(type, TensorType):
        return (wrapped, "tensor", type.lens, _element(type.element)), type.encoding
    if isinstance(type, MemDescType):
        rest = (type.space, type.mutable)
        return (wrapped, "memdesc", type.lens, _element(type.element), rest), type.encoding
    return (wrapped, type.text), ""


def _element(type: Type) -> str:
    return type.text


def _operand_parts(matching: Matching, i: int, j: int) -> list[Part]:
    a, b = matching.both.a, matching.both.b
    left, right = a.operands[i], b.operands[j]
    images = [matching.values_a[x] for x in left]
    if tuple(images) == right:
        return []
    if len(left) == len(right):
        return [
            _operand(a, b, index, x, y)
            for index, (x, y, image) in enumerate(zip(left, right, images, strict=True))
            if image != y
        ]
    parts: list[Part] = []
    low_a = low_b = 0
    for at, to in [*align(images, list(right)), (len(left), len(right))]:
        for x, y in zip_longest(range(low_a, at), range(low_b, to), fillvalue=-1):
            value_a = left[x] if x >= 0 else -1
            value_b = right[y] if y >= 0 else -1
            parts.append(_operand(a, b, y if y >= 0 else x, value_a, value_b))
        low_a, low_b = at + 1, to + 1
    return parts


def _operand(a: Side, b: Side, index: int, x: int, y: int) -> Part:
    old = a.values[x] if x >= 0 else None
    new = b.values[y] if y >= 0 else None
    old_name = (old.name or "?") if old else ""
    new_name = (new.name or "?") if new else ""
    return Part("operand", str(index), old_name, new_name, old, new)


def _successor_parts(matching: Matching, i: int, j: int) -> list[Part]:
    a, b = matching.both.a, matching.both.b
    parts: list[Part] = []
    for index, (old, new) in enumerate(zip_longest(a.ops[i].successors, b.ops[j].successors)):
        same = (
            old is not None
            and new is not None
            and matching.blocks_a[a.block_number.get(old, -1)] == b.block_number.get(new, -2)
        )
        if not same:
            parts.append(Part("successor", str(index), old.label if old else "", new.label if new else ""))
    return parts


def _region_parts(matching: Matching, shapes: Shapes, i: int, j: int) -> list[Part]:
    a, b = matching.both.a, matching.both.b
    parts: list[Part] = []
    counts_a, counts_b = a.regions[i], b.regions[j]
    if len(counts_a) != len(counts_b):
        parts.append(Part("region", "", f"{len(counts_a)} regions", f"{len(counts_b)} regions"))
    for index, (left, right) in enumerate(zip(counts_a, counts_b, strict=False)):
        if left != right:
            parts.append(Part("region", str(index), f"{left} blocks", f"{right} blocks"))
    many = len(b.inner[j]) > 1
    for index, block_b in enumerate(b.inner[j]):
        block_a = matching.blocks_b[block_b]
        if block_a < 0 or shapes.blocks[0][block_a] == shapes.blocks[1][block_b]:
            continue
        values = (a.arguments[block_a], b.arguments[block_b])
        prefix = f"block {index} argument " if many else "argument "
        parts.extend(_value_parts(matching, shapes, values, ("argument", prefix)))
    return parts
