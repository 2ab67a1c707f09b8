"""The rows of the findings panel: what went wrong in the input, worst first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ...ir.errors import Diagnostic
from ...ir.formats.logs_facts import LogFacts
from ..document import Document
from .rows import Jump, Row

_GRAVE: Final = ("undefined-value", "broken-chain", "unparsed-text", "internal-error", "not-text")
_MOST_FRAMES: Final = 60


@dataclass(frozen=True, slots=True)
class GoToPass:
    """Show a pass by its name."""

    name: str


def is_problem(row: Row) -> bool:
    """Whether a row says that something is wrong, and not only what is so."""
    return row.left[0][0] in ("✗ ", "● ")


def fact_rows(facts: LogFacts) -> list[Row]:
    """What the log says besides IR: the crash, where it happened, errors, reproducers."""
    rows: list[Row] = []
    failing = GoToPass(facts.failing_pass) if facts.failing_pass else None
    if facts.crash:
        rows.append(Row((("✗ ", "bad"), ("crash  ", "bad"), (facts.crash, ""))))
    if facts.failing_pass:
        where = f" on @{facts.failing_symbol}" if facts.failing_symbol else ""
        rows.append(
            Row((("✗ ", "bad"), ("failed ", "bad"), (facts.failing_pass + where, "link")), target=failing)
        )
    rows += [Row((("✗ ", "bad"), ("error  ", "bad"), (line, ""))) for line in facts.errors]
    rows += [Row((("↻ ", "accent"), ("reproducer ", "accent"), (line, ""))) for line in facts.reproducers]
    for name, values in facts.driver.items():
        numbers = ", ".join(f"{value:,}" for value in values)
        rows.append(Row((("· ", "dim"), (f"{name.replace('_', ' ')}: ", "dim"), (numbers, ""))))
    return rows


def more_rows(facts: LogFacts) -> list[Row]:
    """What is long and said last: a propagation dump, and the back trace of a crash."""
    rows: list[Row] = []
    for entry in facts.propagation:
        several = len(entry.encodings) > 1
        note = f"{len(entry.encodings)} encodings" if several else entry.encodings[0]
        rows.append(
            Row(
                (
                    ("⇄ " if several else "· ", "warn" if several else "dim"),
                    (entry.value, "value"),
                    (f"  {note}", "dim"),
                )
            )
        )
    return rows + [
        Row((("  ", ""), ("frame  ", "dim"), (frame, "dim"))) for frame in facts.back_trace[:_MOST_FRAMES]
    ]


def diagnostic_rows(document: Document | None, diagnostics: Sequence[Diagnostic]) -> Iterator[Row]:
    """What a reader noticed and survived, the grave first; choosing a row goes to the place."""
    for diagnostic in sorted(diagnostics, key=lambda found: found.code not in _GRAVE):
        grave = diagnostic.code in _GRAVE
        right: list[tuple[str, str]] = []
        target = None
        if diagnostic.count > 1:
            right.append((f"×{diagnostic.count:,}  ", "dim"))
        if diagnostic.offset >= 0 and document is not None:
            line = document.lines.line_of(diagnostic.offset) + 1
            right.append((f"line {line:,} ", "link"))
            target = Jump(diagnostic.offset)
        mark = ("✗ ", "bad") if grave else ("● ", "warn")
        yield Row((mark, (f"{diagnostic.code}  ", mark[1]), (diagnostic.message, "")), tuple(right), target)
