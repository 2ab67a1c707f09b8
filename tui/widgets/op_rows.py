"""What the inspector says of an op and of the value under the cursor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ...ir.formats.mlir_text import expand_aliases
from ...ir.program import Block, Op, Value
from ...ir.types import (
    DynamicShapeType,
    MemDescType,
    ShapeType,
    TensorType,
    Type,
    byte_size,
    element_bits,
    element_count,
)
from ..document import Document
from .encoding_rows import encoding_rows
from .locations import location_lines
from .places import definition, uses
from .rows import Jump, Row, fact, heading, plain, wrapped

_MOST_USES: Final = 500
_LONGEST: Final = 20_000
"""Characters of an attribute that are shown."""


@dataclass(frozen=True, slots=True)
class Look:
    """What the inspector looks at, and how wide it is."""

    document: Document
    op: Op | None
    value: Value | None
    width: int
    line: int = 0
    """The line of the cursor."""
    expanded: bool = False
    """Whether aliases in types and attributes are written out."""


def op_rows(look: Look) -> list[Row]:
    """The rows of the inspector."""
    op = look.op
    if look.document.index is None:
        return [plain("reading…" if look.document.format else "no program here", "dim")]
    if op is None:
        return [*_alias(look)] or [plain("no op here", "dim")]
    rows = list(_head(look, op))
    if look.value is not None:
        rows += _value(look, look.value)
    rows += [*_results(look, op), *_operands(look, op), *_attributes(look, op), *_encodings(look, op)]
    rows += [*_memory(look, op), *_location(look, op)]
    return rows


def _alias(look: Look) -> Iterator[Row]:
    """The alias that is defined on the cursor's line."""
    program = look.document.program
    line = look.document.lines.line(look.line) if look.document.text else ""
    name = line.partition(" = ")[0].strip()
    if program is None or name not in program.aliases:
        return
    yield Row(((name, "encoding"),), (("alias", "dim"),))
    meaning = program.aliases[name]
    if name.startswith("#loc"):
        for text in location_lines(meaning, program.aliases):
            yield from wrapped(text, look.width, "string")
    else:
        yield from encoding_rows(expand_aliases(meaning, program.aliases), None, look.width)


def _head(look: Look, op: Op) -> Iterator[Row]:
    index = look.document.index
    assert index is not None
    number, line = index.number.get(id(op), 0), look.document.lines.line_of(max(op.start, 0)) + 1
    yield Row(((op.name or "text that was not understood", "op"),), ((f"line {line}", "dim"),))
    where = f"op {number:,} of {len(index.number):,}"
    parent = op.parent
    if parent is not None:
        yield Row(((where + " in ", "dim"), (parent.name, "link")), target=Jump(parent.start))
    else:
        yield plain(where, "dim")
    inner = sum(len(block.ops) for region in op.regions for block in region.blocks)
    if op.regions:
        blocks = sum(len(region.blocks) for region in op.regions)
        yield plain(f"{len(op.regions)} region(s), {blocks} block(s), {inner:,} ops directly inside", "dim")


def _value(look: Look, value: Value) -> Iterator[Row]:
    yield plain("")
    yield heading(value.name, _origin(value))
    yield from _typed(look, value.type)
    if value.owner is None:
        yield plain("used and never defined in this text", "bad")
    place = definition(value)
    if place >= 0:
        yield Row((("defined  ", "dim"), (_where(look, place), "link")), target=Jump(place))
    places = uses(value)
    yield plain(f"used {len(value.uses)} time{'s' * (len(value.uses) != 1)}", "dim" if places else "warn")
    for user, at in places[:_MOST_USES]:
        yield Row(
            (("  → ", "dim"), (user.name, "op"), *_names(user)), ((_where(look, at), "link"),), Jump(at)
        )
    if len(places) > _MOST_USES:
        yield plain(f"  … and {len(places) - _MOST_USES:,} more", "dim")


def _names(op: Op) -> tuple[tuple[str, str], ...]:
    return ((f" {op.results[0].name}", "value"),) if op.results else ()


def _origin(value: Value) -> str:
    owner = value.owner
    if isinstance(owner, Op):
        return f"  result {value.index} of {owner.name}" if len(owner.results) > 1 else f"  by {owner.name}"
    if isinstance(owner, Block):
        parent = owner.parent.parent if owner.parent else None
        return f"  argument {value.index} of {parent.name if parent else 'the program'}"
    return "  undefined"


def _where(look: Look, offset: int) -> str:
    return f"line {look.document.lines.line_of(offset) + 1}"


def _typed(look: Look, type: Type) -> Iterator[Row]:
    """A type, its size, and what the size comes from."""
    yield from wrapped(_text(look, type.text), look.width, "type")
    size = byte_size(type)
    if size is None:
        return
    count, bits = element_count(type), element_bits(type)
    of = f" = {count:,} × {bits} bits" if count and bits and count > 1 else ""
    yield plain(f"{size:,} byte{'s' * (size != 1)}{of}", "number")
    if isinstance(type, ShapeType) and count and bits and size < count * bits // 8:
        yield plain(f"broadcast: {count:,} elements read {size:,} bytes", "dim")


def _results(look: Look, op: Op) -> Iterator[Row]:
    if not op.results or (len(op.results) == 1 and look.value is op.results[0]):
        return
    yield plain("")
    yield heading("results" if len(op.results) > 1 else "result")
    for result in op.results:
        used = f"×{len(result.uses)}" if result.uses else "unused"
        yield Row(((result.name, "value"),), ((used, "dim" if result.uses else "warn"),))
        yield from wrapped(_text(look, result.type.text), look.width, "type", "  ")
        size = byte_size(result.type)
        if size is not None:
            yield plain(f"  {size:,} bytes", "number")


def _operands(look: Look, op: Op) -> Iterator[Row]:
    if not op.operands:
        return
    yield plain("")
    yield heading("operands")
    for number, operand in enumerate(op.operands):
        maker = operand.op
        by = (
            (maker.name, "op")
            if maker is not None
            else (_origin(operand).strip(), "dim" if operand.owner else "bad")
        )
        place = definition(operand)
        where = ((_where(look, place), "link"),) if place >= 0 else ()
        left = ((f"{number} ", "dim"), (operand.name, "value"), (" ← ", "dim"), by)
        yield Row(left, where, Jump(place) if place >= 0 else None)
        if look.expanded or look.document.format == "mlir":
            yield from wrapped(_text(look, operand.type.text), look.width, "type", "    ")


def _attributes(look: Look, op: Op) -> Iterator[Row]:
    if not op.attributes:
        return
    yield plain("")
    yield heading("attributes")
    for name, text in op.attributes.items():
        shown = _text(look, text[:_LONGEST]) + ("…" if len(text) > _LONGEST else "")
        if len(name) + len(shown) + 3 <= look.width:
            yield Row(((name, "attribute"), (" = ", "dim"), (shown, "")))
        else:
            yield plain(name, "attribute")
            yield from wrapped(shown, look.width, "", "  ")


def _encodings(look: Look, op: Op) -> Iterator[Row]:
    """Every encoding of the op's values once, its aliases resolved, with the place for its picture."""
    program = look.document.program
    values = [look.value] if look.value is not None else []
    seen: dict[str, Type] = {}
    for value in (*values, *op.results, *op.operands):
        kind = value.type
        if isinstance(kind, TensorType | MemDescType) and kind.encoding:
            seen.setdefault(kind.encoding, kind)
    if not seen or program is None:
        return
    yield plain("")
    yield heading("encodings" if len(seen) > 1 else "encoding")
    for text, kind in seen.items():
        meaning = expand_aliases(text, program.aliases)
        if meaning != text and "<" not in text:
            yield plain(text, "encoding")
        elif text.startswith("#") and "<" not in text:
            yield Row(((text, "encoding"), (" is never defined", "bad")))
            continue
        yield from encoding_rows(meaning, kind, look.width)


def _memory(look: Look, op: Op) -> Iterator[Row]:
    """What a MIGraphX op does to memory: its piece of the arena, or which literal it is."""
    if look.document.format == "mlir":
        return
    kind = op.results[0].type if op.results else None
    rows: list[Row] = []
    if isinstance(kind, ShapeType):
        rows.append(fact("lens", "×".join(map(str, kind.lens)) or "scalar"))
        rows.append(fact("strides", ", ".join(map(str, kind.strides)) or "none"))
    elif isinstance(kind, DynamicShapeType):
        rows.append(fact("dims", ", ".join(map(str, kind.dims))))
    rows += _arena(op)
    literal = _literal(look, op)
    if literal:
        rows.append(fact("literal", literal))
    if rows:
        yield plain("")
        yield heading("memory")
        yield from rows


def _arena(op: Op) -> list[Row]:
    offset, end = op.attributes.get("offset", ""), op.attributes.get("end", "")
    if op.name != "load" or not (offset.isdecimal() and end.isdecimal()):
        return []
    low, high = int(offset[:18]), int(end[:18])
    return [fact("arena", f"{low:,} … {high:,}"), fact("buffer", f"{high - low:,} bytes")]


def _literal(look: Look, op: Op) -> str:
    """Which of the program's literals an op is, or copies."""
    index = look.document.index
    literals = [other for other in index.ops if other.name == "@literal"] if index else []
    for candidate in (op, *(operand.op for operand in op.operands)):
        if candidate is not None and candidate.name == "@literal":
            number = next((i for i, other in enumerate(literals, 1) if other is candidate), 0)
            which = f"{number} of {len(literals)}"
            return which if candidate is op else f"{which}, {candidate.results[0].name}"
    return ""


def _location(look: Look, op: Op) -> Iterator[Row]:
    program = look.document.program
    if not op.location or program is None:
        return
    yield plain("")
    yield heading("source", f"  {op.location}" if op.location.startswith("#") else "")
    lines = location_lines(op.location, program.aliases)
    if not lines:
        yield plain("unknown", "dim")
    for line in lines:
        yield from wrapped(line, look.width, "bad" if line.startswith("#") else "string")
    if lines and lines[0].startswith("#"):
        yield plain("this location is never defined in the text", "dim")


def _text(look: Look, text: str) -> str:
    program = look.document.program
    if not look.expanded or program is None:
        return text
    return expand_aliases(text, program.aliases)
