"""Comparisons as text, for terminals and pipes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...ir.diff.result import Diff
from ...ir.diff.traces import Divergence, PassPair, TraceDiff
from ..safe import visible
from .diff_lines import DiffLine, diff_lines

Painter = Callable[[str, str], str]
"""Gives a row its colour, or not."""

_SIGNS = {"same": " ", "changed": "~", "added": "+", "removed": "-", "moved": ">", "gap": " "}
_COLOURS = {"changed": "33", "added": "32", "removed": "31", "moved": "36", "gap": "2", "same": ""}


def diff_text(diff: Diff, names: tuple[str, str], *, context: int = 1, colour: bool = False) -> str:
    """The comparison of two programs; '' where they are the same."""
    if diff.same:
        return ""
    paint = _paint if colour else _plain
    rows = [paint(f"--- {visible(names[0])}", "31"), paint(f"+++ {visible(names[1])}", "32")]
    rows.append(count_text(diff.counts(), len(diff.b.ops)))
    for line in diff_lines(diff, context):
        rows.extend(_rows(line, paint))
    return "\n".join(rows) + "\n"


def count_text(counts: dict[str, int], total: int | None = None) -> str:
    """`2 changed, 2 added`, with how many ops there are in all."""
    said = ", ".join(f"{n} {status}" for status, n in counts.items() if n) or "no op"
    return f"{said} of {total:,} ops" if total is not None else said


def _rows(line: DiffLine, paint: Painter) -> Iterator[str]:
    indent = "  " * line.depth
    if line.mark == "gap":
        yield paint(f"  {indent}⋮ {line.count:,} same", _COLOURS["gap"])
        return
    colour = _COLOURS[line.mark]
    sign = _SIGNS[line.mark]
    if line.mark == "changed":
        yield paint(f"~ {indent}{visible(line.summary)}", colour)
        if line.old != line.text:
            yield paint(f"- {indent}  {visible(line.old)}", _COLOURS["removed"])
            yield paint(f"+ {indent}  {visible(line.text)}", _COLOURS["added"])
        else:
            yield paint(f"~ {indent}  {visible(line.text)}", "")
    else:
        yield paint(f"{sign} {indent}{visible(line.text)}", colour)
    for note in line.notes:
        yield paint(f"  {indent}    {visible(note)}", colour)


def _plain(text: str, colour: str) -> str:
    return text


def _paint(text: str, colour: str) -> str:
    return f"\x1b[{colour}m{text}\x1b[0m" if colour else text


def trace_diff_text(diff: TraceDiff, names: tuple[str, str], *, colour: bool = False) -> str:
    """The passes of two traces side by side, and where they part; '' where all is the same."""
    if diff.same:
        return ""
    paint = _paint if colour else _plain
    rows = [paint(f"--- {visible(names[0])}", "31"), paint(f"+++ {visible(names[1])}", "32")]
    rows.extend(divergence_rows(diff))
    kernel = None
    for pair in diff.pairs:
        if pair.kernel != kernel:
            kernel = pair.kernel
            rows.append(f"kernel {visible(kernel) or '(unnamed)'}")
        rows.append(_pair_row(pair, paint))
    return "\n".join(rows) + "\n"


def divergence_rows(diff: TraceDiff) -> list[str]:
    """One sentence for each kernel whose compiles part, and for each that one trace lacks."""
    rows = [_parting(found) for found in diff.divergences]
    rows.extend(f"{visible(name) or '(unnamed)'}: only in the first" for name in diff.only_a)
    rows.extend(f"{visible(name) or '(unnamed)'}: only in the second" for name in diff.only_b)
    return rows


def _parting(found: Divergence) -> str:
    kernel = visible(found.kernel) or "(unnamed)"
    if found.pair is None:
        return f"{kernel}: the compiles part"
    title = visible(found.pair.title)
    if found.reason == "input":
        return f"{kernel}: the programs differ before the first pass that both ran, {title}"
    if found.reason == "extra":
        side = "first" if found.pair.b is None else "second"
        return f"{kernel}: first diverging pass: {title}, which only the {side} ran"
    return f"{kernel}: first diverging pass: {title} ({count_text(found.pair.counts)})"


def _pair_row(pair: PassPair, paint: Painter) -> str:
    title = visible(pair.title)
    if pair.verdict == "same":
        return f"  {title}: same"
    if pair.verdict == "changed":
        how = "" if pair.same_input else " (what went in differed)"
        return paint(f"~ {title}: {count_text(pair.counts)}{how}", _COLOURS["changed"])
    if pair.verdict == "unknown":
        return paint(f"  {title}: what came out is not in both inputs", "2")
    sign, side = ("-", "first") if pair.verdict == "only-a" else ("+", "second")
    return paint(f"{sign} {title}: only the {side} ran it", _COLOURS["removed" if sign == "-" else "added"])
