"""The overview in the inspector: the numbers of the program shown, and what the file holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...ir.trace import Trace
from ..report.overview_text import migraphx_lines, mlir_lines
from ..titles import plural, size_text
from .rows import Row, heading, plain, wrapped

_LABEL = 14
"""Columns of the label in the lines that the text report makes."""


def overview_rows(trace: Trace, said: dict[str, Any], width: int) -> list[Row]:
    """Rows for the numbers of one program (`said`, as `summary` gives them) and for the whole input."""
    rows = [heading("program shown")]
    rows += program_rows(said, width) if said else [plain("no program here", "dim")]
    rows += [plain(""), heading("input")]
    rows += _fact("file", trace.name, width)
    rows += _fact("size", size_text(trace.size), width)
    rows += _fact("snapshots", f"{len(trace.snapshots):,}", width)
    if trace.runs:
        rows += _fact("passes", f"{len(trace.runs):,}", width)
    if trace.kernels:
        rows += _fact("kernels", ", ".join(trace.kernels[:50]), width)
    return rows


def program_rows(said: dict[str, Any], width: int) -> list[Row]:
    """The numbers of one program."""
    rows: list[Row] = []
    for line in _lines(said):
        rows += _fact(line[2:_LABEL].strip(), line[_LABEL:], width)
    return rows


def numbers(said: dict[str, Any]) -> str:
    """One line of the numbers that people come for."""
    if "literals" in said and "arena" in said:
        copies, arena = said["copies"], said["arena"]
        peak = "" if arena["peak_live"] == arena["bytes"] else f", peak {size_text(arena['peak_live'])}"
        unstreamed = size_text(arena["peak_live_without_streamed"])
        parts = [
            f"{said['instructions']:,} instructions",
            f"{said['literals']['count']:,} literals {size_text(said['literals']['bytes'])}",
            f"arena {size_text(arena['bytes'])}{peak}, {unstreamed} unstreamed",
        ]
        if copies["count"]:
            parts.append(f"{copies['distance'].get('0', 0):,}/{copies['count']:,} copies used at once")
        return " · ".join(parts)
    if "convert_layouts" in said:
        converts = said["convert_layouts"]
        parts = [plural(said["ops"], "op")]
        if converts["count"] or said["encodings"]:
            parts.append(plural(converts["count"], "convert"))
            if converts["in_loops"]:
                parts[-1] += f" ({converts['in_loops']} in loops)"
            parts.append(plural(len(said["encodings"]), "encoding"))
        return " · ".join(parts)
    known = [
        f"{said[key]:,} {key}" for key in ("nodes", "ops", "instructions") if isinstance(said.get(key), int)
    ]
    return " · ".join(known)


def _lines(said: dict[str, Any]) -> Iterator[str]:
    if "convert_layouts" in said:
        yield from mlir_lines(said)
    elif "arena" in said:
        yield from migraphx_lines(said)
    else:
        for name, value in said.items():
            text = f"{value:,}" if isinstance(value, int) else str(value)
            yield f"  {name[:11]:<12}{text[:2000]}"


def _fact(name: str, text: str, width: int) -> list[Row]:
    """A label and a text; the lines behind the first are indented under the text."""
    lines = list(wrapped(text, max(width - 12, 12)))
    rows = []
    for number, line in enumerate(lines):
        rows.append(Row(((f"{name if number == 0 else '':<12}", "dim"), line.left[0])))
    return rows
