"""Steps of a pass as lines of text and as JSON data."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from ...ir.errors import line_and_column
from ...ir.passes.layout.explain import FATAL
from ...ir.passes.layout.state import Run
from ...ir.passes.layout.tensors import Opaque
from ...ir.passes.step import PHASE, Step
from ...ir.program import Op, Program, Value

SCHEMA_VERSION = 1
"""Of the objects that `step_data` makes."""


def step_line(number: int, step: Step) -> str:
    """One line: number, phase, kind, the sentence; details are indented."""
    mark = "!" if step.kind in FATAL else " "
    indent = "" if step.depth <= PHASE else "  " * (step.depth - PHASE)
    return f"{number:>5} {mark} {step.phase:<9} {step.kind:<15} {indent}{step.why}"


def step_data(
    number: int, step: Step, run: Run | None, program: Program, first_line: int = 1
) -> dict[str, Any]:
    """A step as JSON: names for values and ops, the program's spelling for encodings, changed facts.

    `run` is that of the layout pass; other passes have none.
    """
    data: dict[str, Any] = {
        "step": number,
        "phase": step.phase,
        "kind": step.kind,
        "depth": step.depth,
        "why": step.why,
        "fatal": step.kind in FATAL,
    }
    if step.op is not None:
        data["op"] = {"name": step.op.name, "line": line_of(program, step.op, first_line)}
    if step.value is not None:
        data["value"] = step.value.name
    data["encodings"] = [plain(each, run) for each in step.encodings]
    data["facts"] = [
        {
            "table": fact.table,
            "key": plain(fact.key, run),
            "old": plain(fact.old, run),
            "new": plain(fact.new, run),
        }
        for fact in step.facts
    ]
    return data


def line_of(program: Program, op: Op, first_line: int = 1) -> int | None:
    """The line of an op in the file that it was read from; None for an op that was made."""
    if op.start < 0 or op.source is not program.source:
        return None
    return line_and_column(program.text, op.start)[0] + first_line - 1


def plain(what: Hashable | object, run: Run | None) -> Any:
    """Anything that a fact holds, as JSON data."""
    if what is None or isinstance(what, bool | int | str):
        return what
    if isinstance(what, Value):
        return what.name
    if isinstance(what, Op):
        names = ", ".join(result.name for result in what.results)
        return f"{what.name} {names}".rstrip()
    if isinstance(what, tuple):
        return [plain(each, run) for each in what]
    if run is not None and (isinstance(what, Opaque) or type(what).__module__.endswith("layouts.encodings")):
        return run.show(what)  # type: ignore[arg-type]  # narrowed by where the class comes from
    return str(what)
