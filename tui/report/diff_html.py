"""Comparisons as one HTML page that needs nothing beside itself; all text from files is escaped."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from ...ir.diff.result import Diff
from ...ir.diff.traces import TraceDiff
from ..safe import visible
from .diff_lines import DiffLine, diff_lines
from .diff_text import count_text, divergence_rows

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --changed: #c9a22733; --added: #2ea04333;
  --removed: #f8514933; --moved: #388bfd33; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 1.5rem; }
h1 { font-size: 1.1rem; } .names { font-family: ui-monospace, monospace; }
ol { list-style: none; margin: 1rem 0; padding: 0; border: 1px solid var(--line); overflow-x: auto; }
li { font-family: ui-monospace, monospace; white-space: pre; padding: 0 .6rem; min-width: max-content; }
li.changed { background: var(--changed); } li.added { background: var(--added); }
li.removed { background: var(--removed); } li.moved { background: var(--moved); }
li.gap { opacity: .6; } .note { opacity: .85; } .old { text-decoration: line-through; opacity: .7; }
table { border-collapse: collapse; } td, th { border: 1px solid var(--line); padding: .15rem .5rem;
  text-align: left; }
"""
_SIGNS = {"same": " ", "changed": "~", "added": "+", "removed": "-", "moved": ">", "gap": " "}


def diff_html(diff: Diff, names: tuple[str, str], *, context: int = 1) -> str:
    """A page with the comparison of two programs."""
    return page(names, _program_body(diff, context))


def trace_diff_html(diff: TraceDiff, names: tuple[str, str]) -> str:
    """A page with the passes of two traces side by side."""
    return page(names, _trace_body(diff))


def folder_html(
    names: tuple[str, str],
    entries: list[tuple[str, Diff | None, TraceDiff | None]],
    only: tuple[list[str], list[str]],
    errors: list[str],
    *,
    context: int = 1,
) -> str:
    """A page with the files of two folders; `only` holds the names that one of them lacks."""
    body: list[str] = []
    for name, programs, traces in entries:
        if programs is not None and not programs.same:
            body.extend([f"<h2>{_text(name)}</h2>", *_program_body(programs, context)])
        elif traces is not None and not traces.same:
            body.extend([f"<h2>{_text(name)}</h2>", *_trace_body(traces)])
    for folder, missing in zip(names, only, strict=True):
        body.extend(f"<p>only in {_text(folder)}: {_text(name)}</p>" for name in missing)
    body.extend(f"<p>{_text(error)}</p>" for error in errors)
    return page(names, body or ["<p>The folders hold the same programs.</p>"])


def _program_body(diff: Diff, context: int) -> list[str]:
    if diff.same:
        return ["<p>The programs are the same.</p>"]
    body = [f"<p>{_text(count_text(diff.counts(), len(diff.b.ops)))}</p>", "<ol>"]
    for line in diff_lines(diff, context):
        body.extend(_items(line))
    body.append("</ol>")
    return body


def _trace_body(diff: TraceDiff) -> list[str]:
    body = [f"<p><strong>{_text(row)}</strong></p>" for row in divergence_rows(diff)]
    if diff.same:
        body.append("<p>All passes gave the same programs.</p>")
    body.append("<table><tr><th>kernel</th><th>pass</th><th>verdict</th><th>ops</th></tr>")
    for pair in diff.pairs:
        kind = "changed" if pair.verdict == "changed" else ""
        cells = (pair.kernel, pair.title, pair.verdict, count_text(pair.counts) if pair.counts else "")
        row = "".join(f"<td>{_text(cell)}</td>" for cell in cells)
        body.append(f'<tr class="{kind}">{row}</tr>')
    body.append("</table>")
    return body


def page(names: tuple[str, str], body: list[str]) -> str:
    """A whole page around `body`, which must be escaped already."""
    title = f"{_text(names[0])} → {_text(names[1])}"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>passlens diff</title><style>{_STYLE}</style></head>\n"
        f'<body><h1 class="names">{title}</h1>\n' + "\n".join(body) + "\n</body></html>\n"
    )


def _items(line: DiffLine) -> Iterator[str]:
    indent = "  " * line.depth
    if line.mark == "gap":
        yield f'<li class="gap">  {indent}⋮ {line.count:,} same</li>'
        return
    sign = _SIGNS[line.mark]
    if line.mark == "changed":
        yield f'<li class="changed">{sign} {indent}<strong>{_text(line.summary)}</strong></li>'
        if line.old != line.text:
            yield f'<li class="changed">  {indent}  <span class="old">{_text(line.old)}</span></li>'
        yield f'<li class="changed">  {indent}  {_text(line.text)}</li>'
    else:
        yield f'<li class="{line.mark}">{sign} {indent}{_text(line.text)}</li>'
    for note in line.notes:
        yield f'<li class="{line.mark}">  {indent}    <span class="note">{_text(note)}</span></li>'


def _text(text: str) -> str:
    return escape(visible(text))
