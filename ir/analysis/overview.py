"""What an input holds, as data: the numbers that `passlens info` prints and the first screen shows.

`overview` gives a JSON-ready dictionary; docs/info-schema.json describes it. The summary of the main
program stands at the top level, beside what is said of the whole input.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..errors import Diagnostic
from ..program import Program
from ..snapshot import Snapshot
from ..trace import Trace
from . import mlir_summary

SCHEMA_VERSION = 1
_MOST_PROGRAMS = 16
"""Lone programs beyond this many are listed without numbers of their own."""
_LARGEST_COUNTED = 4_000_000
"""Dumps of more characters than this are not parsed for their op counts (they are in a late dialect)."""


def overview(trace: Trace, which: Snapshot | None = None) -> dict[str, Any]:
    """Everything that can be said of an input at a glance; `which` chooses the main program."""
    main = which or main_snapshot(trace)
    lone = [snapshot for snapshot in trace.snapshots if snapshot.when == "whole"][:_MOST_PROGRAMS]
    said: dict[str, Any] = {
        "schema": SCHEMA_VERSION,
        "file": trace.name,
        "bytes": trace.size,
        "format": main.format if main else None,
        "kernels": trace.kernels,
        "snapshots": [_snapshot(trace, snapshot) for snapshot in trace.snapshots],
        "passes": passes(trace),
        "facts": _facts(trace),
        "diagnostics": _diagnostics(trace.diagnostics),
    }
    if main is not None:
        program = trace.program(main)
        said["main"] = main.index
        said["diagnostics"] += _diagnostics(program.diagnostics)
        said.update(summary(program))
    if len(lone) > 1:
        said["programs"] = [
            {"snapshot": s.index, "title": s.title, **summary(trace.program(s)),
             "diagnostics": _diagnostics(trace.program(s).diagnostics)}
            for s in lone
        ]  # fmt: skip
    return said


def main_snapshot(trace: Trace) -> Snapshot | None:
    """The program that the numbers are about: the first lone one, or what came out of the last TTGIR pass.

    In a pass log that goes on into the LLVM dialect, the last dump whose kernel is still a `tt.func` is
    taken, since layouts and converts end there.
    """
    if not trace.snapshots:
        return None
    lone = [snapshot for snapshot in trace.snapshots if snapshot.when == "whole"]
    if lone and not trace.runs:
        return lone[0]
    dumps = [snapshot for snapshot in trace.snapshots if snapshot.when != "whole"] or trace.snapshots
    if all(run.after is None for run in trace.runs):
        return dumps[0]  # a page about dumps, not the log of a compile
    first = [snapshot for snapshot in dumps if snapshot.kernel == dumps[0].kernel and snapshot.parent is None]
    for snapshot in reversed(first):
        if snapshot.format != "mlir":
            return snapshot
        data = trace.files[snapshot.file].data
        if data.find(b"tt.func", snapshot.start, min(snapshot.end, snapshot.start + 200_000)) >= 0:
            return snapshot
    return first[-1]


def summary(program: Program) -> dict[str, Any]:
    """The numbers of one program, by its format."""
    if program.format == "migraphx":
        from . import hazards, migraphx_summary

        faults = hazards.memory_faults(migraphx_summary.main_body(program))
        numbers = migraphx_summary.to_json(migraphx_summary.summarize(program))
        return {**numbers, "memory_faults": hazards.to_json(faults)}
    if program.format == "onnx":
        from . import onnx_summary

        return onnx_summary.to_json(onnx_summary.summarize(program))
    return mlir_summary.to_json(mlir_summary.summarize(program))


def passes(trace: Trace) -> list[dict[str, Any]]:
    """The passes in order, each with whether it changed the program and the counts of what came out."""
    rows: list[dict[str, Any]] = []
    for run in trace.runs:
        shown = run.after if run.after is not None else run.before
        counts = _counts(trace, trace.snapshots[shown]) if shown is not None else None
        rows.append(
            {
                "index": run.index, "name": run.name, "argument": run.argument, "ordinal": run.ordinal,
                "kernel": run.kernel, "manager": run.manager, "depth": run.depth, "failed": run.failed,
                "changed": trace.changed(run), "before": run.before, "after": run.after,
                "nested": run.nested, "milliseconds": run.milliseconds,
                "ops": counts[0] if counts else None, "converts": counts[1] if counts else None,
            }
        )  # fmt: skip
    return rows


def _counts(trace: Trace, snapshot: Snapshot) -> tuple[int, int] | None:
    """(ops, convert_layouts) of a snapshot; None for one that is too large to be parsed in passing."""
    if snapshot.end - snapshot.start > _LARGEST_COUNTED:
        return None
    return trace.counts(snapshot)


def _snapshot(trace: Trace, snapshot: Snapshot) -> dict[str, Any]:
    return {
        "index": snapshot.index, "title": snapshot.title, "format": snapshot.format, "when": snapshot.when,
        "pass": snapshot.pass_name, "argument": snapshot.argument, "options": snapshot.options,
        "kernel": snapshot.kernel, "op": snapshot.op_name, "symbol": snapshot.symbol,
        "failed": snapshot.failed, "inside": snapshot.parent,
        "file": trace.files[snapshot.file].path, "start": snapshot.start, "end": snapshot.end,
    }  # fmt: skip


def _facts(trace: Trace) -> dict[str, Any]:
    facts = trace.facts
    return {
        "driver": facts.driver,
        "perf": facts.perf,
        "versions": facts.versions,
        "crash": facts.crash or None,
        "back_trace": facts.back_trace,
        "failing_pass": facts.failing_pass or None,
        "errors": facts.errors,
        "reproducers": facts.reproducers,
        "propagation": [{"value": p.value, "encodings": list(p.encodings)} for p in facts.propagation],
    }


def _diagnostics(diagnostics: list[Diagnostic]) -> list[dict[str, Any]]:
    """One entry a code, with how many names or places it stands for and the first message."""
    kinds = Counter(diagnostic.code for diagnostic in diagnostics)
    first = {diagnostic.code: diagnostic for diagnostic in reversed(diagnostics)}
    return [
        {"code": code, "count": count, "first": first[code].message,
         "uses": sum(d.count for d in diagnostics if d.code == code)}
        for code, count in kinds.items()
    ]  # fmt: skip
