"""A layout as a picture: which thread holds which element, as data, as text and as SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from typing import Final

from .linear import Basis, LinearLayout

MOST_INDICES: Final = 1 << 22
"""Layouts with more (register, lane, warp, block) indices than this are not drawn."""
_HUES: Final = 12


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds an element; for a memory layout only `register` counts, as the offset in elements."""

    block: int
    warp: int
    lane: int
    register: int


@dataclass(frozen=True, slots=True)
class Window:
    """The rows and columns of the last two dimensions that are drawn; a tensor of one has one row."""

    rows: tuple[int, int]
    columns: tuple[int, int]


@dataclass(slots=True)
class Grid:
    """The cells of a window, row by row; replicas of a cell follow each other, the first holder first."""

    shape: tuple[int, ...]
    window: Window
    cells: list[list[list[Holder]]]
    memory: bool
    """Whether the layout is of memory, and holders are offsets."""

    @property
    def cut(self) -> bool:
        """Whether the window leaves part of the tensor out."""
        rows, columns = sizes(self.shape)
        return self.window != Window((0, rows), (0, columns))


def sizes(shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns of the picture: the last two dimensions; the ones before them are taken at 0."""
    return (shape[-2] if len(shape) > 1 else 1), (shape[-1] if shape else 1)


def holders(layout: LinearLayout) -> Iterator[tuple[Basis, Holder]]:
    """Every index of a layout with the element that it holds.

    Raises ValueError for layouts of more than `MOST_INDICES` indices.
    """
    inputs = _inputs(layout)
    zero = (0,) * len(layout.outputs)
    for block, far in enumerate(_span(inputs[3], zero)):
        for warp, mid in enumerate(_span(inputs[2], far)):
            for lane, near in enumerate(_span(inputs[1], mid)):
                for register, at in enumerate(_span(inputs[0], near)):
                    yield at, Holder(block, warp, lane, register)


def _inputs(layout: LinearLayout) -> list[tuple[Basis, ...]]:
    """The bases of register (of a memory layout: offset), lane, warp and block; ValueError for too many."""
    if "offset" in layout.input_names:
        inputs = [layout.bases("offset"), (), (), layout.bases("block")]
    else:
        inputs = [layout.bases(name) for name in ("register", "lane", "warp", "block")]
    if sum(map(len, inputs)) > MOST_INDICES.bit_length() - 1:
        raise ValueError("the layout is too large to be drawn; name a smaller --shape")
    return inputs


def _span(bases: tuple[Basis, ...], start: Basis) -> list[Basis]:
    points = [start]
    for basis in bases:
        points += [tuple(a ^ b for a, b in zip(point, basis, strict=True)) for point in points]
    return points


def grid(layout: LinearLayout, window: Window | None = None) -> Grid:
    """Who holds what inside a window of the tensor (all of it by default).

    Raises ValueError for layouts of more than `MOST_INDICES` indices.
    """
    import numpy

    rows, columns = sizes(layout.shape)
    window = window or Window((0, rows), (0, columns))
    (top, bottom), (left, right) = window.rows, window.columns
    cells: list[list[list[Holder]]] = [[[] for _ in range(left, right)] for _ in range(top, bottom)]
    inputs = _inputs(layout)
    rank = len(layout.outputs)
    inside = numpy.ones(1 << sum(map(len, inputs)), dtype=bool)
    places = [numpy.zeros_like(inside, dtype=numpy.int64)] * 2
    for dimension in range(rank):
        at = numpy.zeros(1, dtype=numpy.int64)
        for bases in inputs:
            for basis in bases:
                at = numpy.concatenate((at, at ^ basis[dimension]))
        low, high = (
            (left, right) if dimension == rank - 1 else (top, bottom) if dimension == rank - 2 else (0, 1)
        )
        inside &= (at >= low) & (at < high)
        places = [places[1], at]
    for index in numpy.flatnonzero(inside).tolist():
        row, column = int(places[0][index]), int(places[1][index])
        cells[row - top][column - left].append(_holder(index, inputs))
    return Grid(layout.shape, window, cells, "offset" in layout.input_names)


def _holder(index: int, inputs: list[tuple[Basis, ...]]) -> Holder:
    """The parts of an index whose lowest bits are the register's."""
    parts = []
    for bases in inputs:
        parts.append(index & ((1 << len(bases)) - 1))
        index >>= len(bases)
    register, lane, warp, block = parts
    return Holder(block, warp, lane, register)


Paint = Callable[[str, Holder], str]
"""Puts colour around a cell's text; the holder chooses it."""


def cell_text(cell: list[Holder], memory: bool) -> str:
    """`T5:2` (lane 5, register 2), with the warp in front where it is not 0; `×n` for n replicas."""
    if not cell:
        return "."
    first = cell[0]
    if memory:
        return str(first.register)
    block = f"B{first.block}" if first.block else ""
    warp = f"W{first.warp}" if first.warp else ""
    more = f"×{len(cell)}" if len(cell) > 1 else ""
    return f"{block}{warp}T{first.lane}:{first.register}{more}"


def element_lines(picture: Grid, paint: Paint | None = None, marks: Grid | None = None) -> Iterator[str]:
    """The tensor as rows of cells; with `marks`, cells whose first holder is another there get a `*`."""
    texts = [[cell_text(cell, picture.memory) for cell in row] for row in picture.cells]
    if marks is not None:
        for row, (ours, theirs) in enumerate(zip(picture.cells, marks.cells, strict=True)):
            for column, (one, other) in enumerate(zip(ours, theirs, strict=True)):
                texts[row][column] += "" if _same_thread(one, other) else "*"
    width = max((len(text) for row in texts for text in row), default=1)
    (top, _), (left, right) = picture.window.rows, picture.window.columns
    edge = len(str(max(picture.window.rows[1] - 1, 0)))
    yield " " * edge + "  " + " ".join(f"{column:>{width}}" for column in range(left, right))
    for row, cells in enumerate(texts):
        shown = [f"{text:>{width}}" for text in cells]
        if paint is not None:
            holders_here = picture.cells[row]
            shown = [
                paint(text, cell[0]) if cell else text for text, cell in zip(shown, holders_here, strict=True)
            ]
        yield f"{top + row:>{edge}}  " + " ".join(shown)


def _same_thread(one: list[Holder], other: list[Holder]) -> bool:
    threads = {(h.block, h.warp, h.lane) for h in one}
    return {(h.block, h.warp, h.lane) for h in other} <= threads


def thread_lines(layout: LinearLayout, most: int = 64) -> Iterator[str]:
    """A line a thread: the elements in its registers, in order; at most `most` threads."""
    found: dict[tuple[int, int, int], list[str]] = {}
    for at, holder in holders(layout):
        key = (holder.block, holder.warp, holder.lane)
        if key in found or len(found) < most:
            found.setdefault(key, []).append("(" + ",".join(map(str, at)) + ")")
    threads = layout.input_size("lane") * layout.input_size("warp") * layout.input_size("block")
    for (block, warp, lane), elements in found.items():
        yield f"block {block} warp {warp} lane {lane:>2}: {' '.join(elements)}"
    if threads > len(found):
        yield f"… {threads - len(found):,} more threads"


def hardware_lines(layout: LinearLayout) -> Iterator[str]:
    """The basis vectors: where each bit of register, lane, warp, block (or offset) goes."""
    for name in layout.input_names:
        bases = layout.bases(name)
        shown = ", ".join("(" + ", ".join(map(str, basis)) + ")" for basis in bases)
        yield f"{name:<9}{f'{1 << len(bases):,}':>8}  {shown or '-'}"


def svg(picture: Grid, title: str) -> str:
    """The tensor as a self-contained, deterministic SVG: a colour a lane, thick lines around warps."""
    cell, top = 34, 26
    rows, columns = len(picture.cells), len(picture.cells[0]) if picture.cells else 0
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" '
        f'width="{columns * cell + 2}" height="{rows * cell + top + 2}" '
        'font-family="monospace" font-size="10" text-anchor="middle">',
        f'<text x="2" y="16" text-anchor="start" font-size="12">{escape(title)}</text>',
    ]
    for row, cells in enumerate(picture.cells):
        for column, held in enumerate(cells):
            x, y = column * cell + 1, row * cell + top
            first = held[0] if held else Holder(0, 0, 0, 0)
            hue = 360 * (first.lane % _HUES) // _HUES
            light = 88 - 9 * (first.warp % 4)
            label = cell_text(held, picture.memory)
            parts.append(
                f"<g><title>{escape(_tooltip(held, picture.memory))}</title>"
                f'<rect x="{x}" y="{y}" width="{cell}" height="{cell}" fill="hsl({hue},60%,{light}%)" '
                f'stroke="#999" stroke-width="0.5"/>'
                f'<text x="{x + cell // 2}" y="{y + cell // 2 + 4}">{escape(label)}</text></g>'
            )
    parts += list(_warp_lines(picture, cell, top))
    return "\n".join([*parts, "</svg>", ""])


def _tooltip(held: list[Holder], memory: bool) -> str:
    if memory:
        return f"offset {held[0].register}" if held else ""
    return "; ".join(f"block {h.block} warp {h.warp} lane {h.lane} register {h.register}" for h in held)


def _warp_lines(picture: Grid, cell: int, top: int) -> Iterator[str]:
    """Lines between neighbours that different warps hold."""

    def warp(row: int, column: int) -> tuple[int, int]:
        held = picture.cells[row][column]
        return (held[0].block, held[0].warp) if held else (-1, -1)

    rows, columns = len(picture.cells), len(picture.cells[0]) if picture.cells else 0
    for row in range(rows):
        for column in range(columns):
            x, y = column * cell + 1, row * cell + top
            if column and warp(row, column) != warp(row, column - 1):
                yield f'<line x1="{x}" y1="{y}" x2="{x}" y2="{y + cell}" stroke="#000" stroke-width="2"/>'
            if row and warp(row, column) != warp(row - 1, column):
                yield f'<line x1="{x}" y1="{y}" x2="{x + cell}" y2="{y}" stroke="#000" stroke-width="2"/>'
