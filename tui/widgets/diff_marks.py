"""Rows of a comparison as pieces of text: colours, the sign in front, and what differs within a line."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Final

from rich.cells import cell_len, set_cell_size

from ...ir.diff.result import Diff
from ...ir.formats.mlir_text import expand_aliases
from ...ir.program import Op, Value
from ..report.diff_lines import shown
from ..safe import visible
from ..titles import plural
from .diff_rows import Comparison, Entry, Part, Shown
from .highlight import Span, overlay, spans, whole
from .rows import Pieces, Row

_REST: Final = r"|#[\w.$-]+|[\w.]+|\s+|."
_TOKENS: Final = {
    "mlir": re.compile(r"%[\w.$-]+(?:[#:]\d+)?" + _REST, re.S),
    "migraphx": re.compile(r"(?:[\w.]+:)?@\d+" + _REST, re.S),
    "onnx": re.compile(r'%(?:"(?:[^"\\]|\\.)*"|[\w./:$@+-]*[\w./$@+-])' + _REST, re.S),
}
_LONGEST: Final = 4_000
"""Texts of more characters are marked as a whole."""
_SIGN: Final = {"same": " ", "changed": "~", "added": "+", "removed": "-", "moved": ">", "source": ">"}
_HUE: Final = {
    "same": "", "changed": "warn", "added": "good", "removed": "bad", "moved": "accent", "source": "accent",
}  # fmt: skip
_GONE: Final = "\0"
"""Stands for a value that the other program has not: equal to no name."""
Sides = tuple[Pieces, Pieces]


def sides(known: Comparison, entry: Entry) -> Sides:
    """Both texts of an entry, without sign and indent; () on the side where there is no op."""
    form = known.diff.a.program.format
    if entry.new is None or entry.mark == "source":
        assert entry.old is not None
        hue = _HUE[entry.mark]
        return ((visible(shown(entry.old)), hue),), ()
    after = visible(shown(entry.new))
    if entry.old is None:
        return (), ((after, "good"),)
    before = visible(shown(entry.old))
    left: list[Span] = []
    right: list[Span] = []
    if entry.change is not None and entry.change.parts:
        left, right = differing(known.diff, entry.old, before, entry.new, after)
    return _coloured(before, form, left), _coloured(after, form, right)


def _coloured(text: str, form: str, marks: list[Span]) -> Pieces:
    ground = whole(spans(text, form), 0, len(text))
    return tuple((text[low:high], mark or style) for low, high, style, mark in overlay(ground, marks))


def differing(diff: Diff, old: Op, before: str, new: Op, after: str) -> tuple[list[Span], list[Span]]:
    """The stretches of both texts that differ; another name for the same value is no difference."""
    if len(before) + len(after) > _LONGEST:
        return [(0, len(before), "gone")], [(0, len(after), "came")]
    pattern = _TOKENS.get(diff.a.program.format, _TOKENS["mlir"])
    a, b = pattern.findall(before), pattern.findall(after)
    names = _renamed(diff, old, new)
    aliases = (diff.a.program.aliases, diff.b.program.aliases)
    means_a = [names.get(t, expand_aliases(t, aliases[0]) if t.startswith("#") else t) for t in a]
    means_b = [expand_aliases(t, aliases[1]) if t.startswith("#") else t for t in b]
    left: list[Span] = []
    right: list[Span] = []
    starts_a, starts_b = _starts(a), _starts(b)
    for tag, i, j, k, m in SequenceMatcher(None, means_a, means_b, autojunk=False).get_opcodes():
        if tag != "equal" and i < j:
            left.append((starts_a[i], starts_a[j], "gone"))
        if tag != "equal" and k < m:
            right.append((starts_b[k], starts_b[m], "came"))
    if diff.options.only == {"encoding"}:
        left = _encodings(before, left)
        right = _encodings(after, right)
    return left, right


def _encodings(text: str, marks: list[Span]) -> list[Span]:
    """The marks on encodings, where any are written by name; else all."""
    return [mark for mark in marks if "#" in text[mark[0] : mark[1]]] or marks


def _starts(tokens: list[str]) -> list[int]:
    starts = [0]
    for token in tokens:
        starts.append(starts[-1] + len(token))
    return starts


def _renamed(diff: Diff, old: Op, new: Op) -> dict[str, str]:
    """Names in an op's text as their counterparts are called in the other program."""
    arguments = [arg for region in old.regions for block in region.blocks for arg in block.args]
    defined: list[Value] = [] if diff.options.names else [*old.results, *arguments]
    found: dict[str, str] = {}
    for value in (*old.operands, *defined):
        other = diff.counterpart_of_value(value)
        if other is not None and value.name and other.name:
            found[visible(value.name)] = visible(other.name)
            if value.owner is not None:
                found.setdefault(value.name.partition("#")[0], other.name.partition("#")[0])
        elif value.name:
            found[visible(value.name)] = _GONE
    if old.results and len(old.results) == len(new.results) and not diff.options.names:
        # `%67:3 =` names all results of an op at once.
        base, count = old.results[0].name.partition("#")[0], len(old.results)
        found[f"{base}:{count}"] = f"{new.results[0].name.partition('#')[0]}:{count}"
    return found


def in_words(entry: Entry) -> str:
    """What became of the op: `scf.for: +1 iter_arg, +1 result; operand 3: %cst_0 → %68 (arith.mulf)`."""
    op = entry.new or entry.old
    assert op is not None
    name = op.name or "text"
    if entry.mark in ("added", "removed"):
        return f"{name}: {entry.mark}"
    if entry.mark == "source":
        return f"{name}: it stood here; enter leads to where it is now"
    if entry.mark == "same":
        return f"{name}: unchanged"
    back = ("enter leads to where it stood",) if entry.mark == "moved" else ()
    # Types are long, so what is used comes before them.
    notes = sorted(entry.notes, key=lambda note: not note.startswith("operand"))
    return "; ".join((entry.summary or f"{name}: {entry.mark}", *notes, *back))


def row_of(known: Comparison, shown_row: Shown, width: int, shift: int, stacked: bool) -> Row:
    """A row as one line of `width` cells, its texts moved `shift` characters to the left."""
    entry = known.entries[shown_row.entry]
    indent = "  " * min(entry.depth, 30)
    if shown_row.folded:
        return Row(((f"  {indent}… {plural(shown_row.folded, 'unchanged op')}", "fold"),))
    left, right = sides(known, entry)
    if stacked:
        return Row(_stacked(entry, shown_row.part, left, right, indent, shift))
    half = max((width - 3) // 2, 4)
    sign = (_SIGN[entry.mark] + " ", _HUE[entry.mark])
    if entry.mark == "source":
        right = (("moved from here", "dim"),)
    elif entry.mark == "moved" and entry.change is not None and not entry.change.parts:
        left = (("moved to here", "dim"),)
    blank = ("  ", "")
    before = sign if left and entry.mark != "moved" else blank
    after = sign if right and entry.mark != "source" else blank
    half_left = _fit(((indent, ""), *left), half - 2, shift)
    half_right = _fit(((indent, ""), *right), half - 2, shift)
    return Row((before, *half_left, (" │ ", "dim"), after, *half_right))


def _stacked(entry: Entry, part: Part, left: Pieces, right: Pieces, indent: str, shift: int) -> Pieces:
    sign, hue = _SIGN[entry.mark], _HUE[entry.mark]
    if part != "both":
        sign, hue = ("-", "bad") if part == "old" else (">" if entry.mark == "moved" else "+", "good")
    pieces = left if part == "old" or not right else right
    return ((f"{sign} ", hue), *_moved_left(((indent, ""), *pieces), shift))


def _moved_left(pieces: Pieces, shift: int) -> Pieces:
    found: list[tuple[str, str]] = []
    for text, style in pieces:
        cut = text[shift:]
        shift = max(shift - len(text), 0)
        if cut:
            found.append((cut, style))
    return tuple(found)


def _fit(pieces: Pieces, width: int, shift: int) -> Pieces:
    """The pieces, cut to or filled up to `width` cells, without their first `shift` characters."""
    fitted: list[tuple[str, str]] = []
    room = width
    for text, style in _moved_left(pieces, shift):
        if room <= 0:
            break
        cut = text[: room + 1]
        if cell_len(cut) > room:
            cut = set_cell_size(cut, room - 1) + "…"
        fitted.append((cut, style))
        room -= cell_len(cut)
    if room > 0:
        fitted.append((" " * room, ""))
    return tuple(fitted)
