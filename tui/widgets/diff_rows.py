"""Two programs side by side: rows of matched ops, with what differs inside them marked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from rich.cells import cell_len, set_cell_size

from ...ir.diff.result import Diff
from ...ir.formats.mlir_text import expand_aliases
from ...ir.program import Op, Value
from ..report.diff_lines import DiffLine, diff_lines, shown
from ..safe import visible
from .rows import Pieces, Row

_TOKEN: Final = re.compile(r"%[\w.$#:-]+|#\w+|[\w.]+|\s+|.", re.S)
_LONGEST: Final = 4_000
"""Texts of more characters are marked as a whole."""
_SIGN: Final = {"same": " ", "changed": "~", "added": "+", "removed": "-", "moved": ">", "gap": " "}
_HUE: Final = {"same": "", "changed": "", "added": "good", "removed": "bad", "moved": "accent", "gap": "dim"}


@dataclass(frozen=True, slots=True)
class SideRow:
    """A matched pair of ops, one op that has no counterpart, a gap, or a note on the row above."""

    mark: str
    """`same`, `changed`, `added`, `removed`, `moved`, `gap` or `note`."""
    left: Pieces
    right: Pieces
    hunk: int
    """Number of the run of changed rows that the row is in, or -1."""
    op: Op | None = None


def side_rows(diff: Diff, context: int) -> list[SideRow]:
    """The rows of a comparison, `context` unchanged ops around each change."""
    rows: list[SideRow] = []
    hunk, inside = -1, False
    for line in diff_lines(diff, context):
        if line.mark in ("same", "gap"):
            inside = False
        elif not inside:
            hunk, inside = hunk + 1, True
        rows += _rows(diff, line, hunk if inside else -1)
    return rows


def _rows(diff: Diff, line: DiffLine, hunk: int) -> list[SideRow]:
    indent = "  " * line.depth
    if line.mark == "gap":
        text: Pieces = ((f"{indent}⋮ {line.count:,} same", "dim"),)
        return [SideRow("gap", text, text, hunk)]
    assert line.op is not None
    sign, hue = f"{_SIGN[line.mark]} ", _HUE[line.mark]
    alone: Pieces = ((sign + indent, hue), (visible(line.text), hue))
    if line.mark == "added":
        return [SideRow("added", (), alone, hunk, line.op)]
    if line.mark == "removed":
        return [SideRow("removed", alone, (), hunk, line.op)]
    old = diff.counterpart(line.op)
    before = shown(old) if old is not None else line.text
    left, right = _marked(diff, old, before, line.op, line.text) if line.mark == "changed" else (
        ((visible(before), hue),), ((visible(line.text), hue),),
    )  # fmt: skip
    rows = [SideRow(line.mark, ((sign + indent, hue), *left), ((sign + indent, hue), *right), hunk, line.op)]
    for note in line.notes:
        piece: Pieces = ((f"  {indent}  {visible(note)}", "warn"),)
        rows.append(SideRow("note", (), piece, hunk, line.op))
    return rows


def _marked(diff: Diff, old: Op | None, before: str, new: Op, after: str) -> tuple[Pieces, Pieces]:
    """Both texts with the tokens marked that differ; another name for the same value is no difference."""
    if old is None or len(before) + len(after) > _LONGEST:
        return ((visible(before), "bad"),), ((visible(after), "good"),)
    names = _renamed(diff, old)
    a, b = _TOKEN.findall(before), _TOKEN.findall(after)
    aliases = (diff.a.program.aliases, diff.b.program.aliases)
    means_a = [names.get(t, expand_aliases(t, aliases[0]) if t.startswith("#") else t) for t in a]
    means_b = [expand_aliases(t, aliases[1]) if t.startswith("#") else t for t in b]
    left: list[tuple[str, str]] = []
    right: list[tuple[str, str]] = []
    for tag, i, j, k, m in SequenceMatcher(None, means_a, means_b, autojunk=False).get_opcodes():
        same = tag == "equal"
        if i < j:
            left.append((visible("".join(a[i:j])), "" if same else "bad"))
        if k < m:
            right.append((visible("".join(b[k:m])), "" if same else "good"))
    return tuple(left), tuple(right)


def _renamed(diff: Diff, old: Op) -> dict[str, str]:
    """Names in an op's text as their counterparts are called in the other program."""
    arguments = [arg for region in old.regions for block in region.blocks for arg in block.args]
    found: dict[str, str] = {}
    values: list[Value] = [*old.operands, *old.results, *arguments]
    for value in values:
        other = diff.counterpart_of_value(value)
        if other is not None and value.name and other.name:
            found[value.name] = other.name
            found.setdefault(value.name.partition("#")[0], other.name.partition("#")[0])
    new = diff.counterpart(old)
    if new is not None and old.results and len(old.results) == len(new.results):
        # `%67:3 =` names all results of an op at once.
        base, count = old.results[0].name.partition("#")[0], len(old.results)
        found[f"{base}:{count}"] = f"{new.results[0].name.partition('#')[0]}:{count}"
    return found


def beside(row: SideRow, width: int, shift: int = 0) -> Row:
    """The row as one line of `width` cells, its text moved `shift` cells to the left."""
    half = max((width - 3) // 2, 4)
    if row.mark == "note":
        return Row((*_fit((), half, 0), (" │ ", "dim"), *row.right))
    return Row((*_fit(row.left, half, shift), (" │ ", "dim"), *_fit(row.right, half, shift)))


def _fit(pieces: Pieces, width: int, shift: int) -> Pieces:
    """The pieces, cut to or filled up to `width` cells, without their first `shift` characters."""
    fitted: list[tuple[str, str]] = []
    room = width
    for text, style in pieces:
        cut = text[shift:]
        shift = max(shift - len(text), 0)
        if not cut or room <= 0:
            continue
        if cell_len(cut) > room:
            cut = set_cell_size(cut, room - 1) + "…"
        fitted.append((cut, style))
        room -= cell_len(cut)
    if room > 0:
        fitted.append((" " * room, ""))
    return tuple(fitted)
