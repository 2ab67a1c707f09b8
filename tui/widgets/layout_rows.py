"""The picture of a layout in the inspector: a corner of the tensor, a colour a lane, lines between warps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...ir.errors import InputError
from ...ir.layouts.facts import layout_facts
from ...ir.layouts.linear import LinearLayout
from ...ir.layouts.parse import parse_encoding
from ...ir.layouts.picture import Grid, Holder, Window, grid, sizes
from ...ir.layouts.to_linear import to_linear
from ...ir.types import MemDescType, PointerType, TensorType, Type, element_bits
from .paint import LANE_HUES
from .rows import Pieces, Row, plain

_ROWS: Final = 8
_INDENT: Final = "   "


def layout_rows(meaning: str, kind: Type, width: int) -> Iterator[Row]:
    """Facts and picture of a type's encoding (aliases expanded); one line where there is none to draw."""
    if not isinstance(kind, TensorType | MemDescType):
        return
    lens = kind.lens[-2:] if isinstance(kind, MemDescType) else kind.lens
    if not lens or min(lens) < 1:
        return
    pointee = kind.element.pointee if isinstance(kind.element, PointerType) else None
    bits = element_bits(pointee or kind) or 32
    try:
        layout = to_linear(parse_encoding(meaning), lens, bits)
        drawn = grid(layout, _corner(layout, width))
    except (InputError, ValueError) as error:
        yield plain(f"{_INDENT}no picture: {error}", "dim")
        return
    yield from _facts(layout, bits)
    yield from picture_rows(drawn)


def _facts(layout: LinearLayout, bits: int) -> Iterator[Row]:
    if "offset" in layout.input_names:
        return
    facts = layout_facts(layout, bits)
    said = f"{facts.lanes} lanes × {facts.warps} warps, {facts.registers} registers"
    yield plain(_INDENT + said, "dim")
    copies = f", {facts.threads} threads an element" if facts.threads > 1 else ""
    yield plain(f"{_INDENT}{facts.vector_elements * bits // 8} bytes an access{copies}", "dim")


def _corner(layout: LinearLayout, width: int) -> Window:
    """As many columns as fit, where the widest cell decides."""
    rows, columns = sizes(layout.shape)
    widest = 2 + sum(len(str(layout.input_size(name))) for name in ("lane", "register")) + 3
    if "offset" in layout.input_names:
        widest = len(str(layout.input_size("offset"))) + 1
    return Window((0, min(rows, _ROWS)), (0, max(min(columns, (width - len(_INDENT)) // widest), 1)))


def picture_rows(drawn: Grid) -> Iterator[Row]:
    """A row of cells a row of the tensor; `T5:2` is register 2 of lane 5."""
    width = max((len(_text(cell, drawn.memory)) for row in drawn.cells for cell in row), default=1)
    for cells in drawn.cells:
        pieces: list[tuple[str, str]] = [(_INDENT, "")]
        before: Holder | None = None
        for cell in cells:
            first = cell[0] if cell else None
            other_warp = first is not None and before is not None and first.warp != before.warp
            pieces.append(("┃" if other_warp else " ", "heading"))
            hue = f"lane{first.lane % LANE_HUES}" if first is not None and not drawn.memory else ""
            pieces.append((f"{_text(cell, drawn.memory):^{width}}", hue))
            before = first
        yield Row(tuple(pieces))
    rows, columns = sizes(drawn.shape)
    if drawn.cut:
        (_, bottom), (_, right) = drawn.window.rows, drawn.window.columns
        note: Pieces = ((f"{_INDENT}{bottom} of {rows} rows, {right} of {columns} columns", "dim"),)
        yield Row(note)


def _text(cell: list[Holder], memory: bool) -> str:
    if not cell:
        return "."
    first = cell[0]
    if memory:
        return str(first.register)
    return f"{'w' + str(first.warp) if first.warp else ''}T{first.lane}:{first.register}"
