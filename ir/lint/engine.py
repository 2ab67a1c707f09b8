"""Run rules over a trace, one program in memory at a time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from ..analysis.devices import Device
from ..formats.mlir_text import expand_aliases
from ..passes.layout.rules import PASS_NAME
from ..program import Op, Program
from ..snapshot import PassRun, Snapshot
from ..trace import Trace
from .budgets import Bound, check_bounds, check_golden, numbers_of
from .finding import Finding, Severity, Source
from .rule import Found, Limits, Rule, Subject

_LAYOUT_PASSES: Final = frozenset({PASS_NAME, "TritonGPURemoveLayoutConversions"})
_LOC: Final = re.compile(r'"((?:[^"\\]|\\.)*)":(\d{1,9}):(\d{1,9})')


def lint_trace(
    trace: Trace, rules: Iterable[Rule], limits: Limits, severities: dict[str, Severity] | None = None
) -> list[Finding]:
    """All findings of a trace in the order of its text; equal ones are reported once.

    `severities` overrides a rule's own by its id.
    """
    rules = list(rules)
    found: dict[tuple[str, int, int, str], Finding] = {}
    writer = _Writer(trace, severities or {})
    for subject in subjects(trace, limits):
        for rule in rules:
            if rule.check is not None and _applies(rule, subject):
                for each in rule.check(subject):
                    finding = writer.of_program(rule, subject, each)
                    found.setdefault((finding.rule, finding.line, finding.column, finding.message), finding)
    for rule in rules:
        if rule.over is not None:
            for snapshot, each in rule.over(trace):
                finding = writer.of_trace(rule, snapshot, each)
                found.setdefault((finding.rule, finding.line, finding.column, finding.message), finding)
    return sorted(found.values(), key=lambda finding: finding.order)


def _applies(rule: Rule, subject: Subject) -> bool:
    if subject.snapshot.format not in rule.formats:
        return False
    if rule.before_layout:
        return subject.run is not None or (subject.final and not subject.trace.runs)
    return subject.final or not rule.only_final


def subjects(trace: Trace, limits: Limits) -> Iterator[Subject]:
    """The programs to look at: the last of each kernel, what layout passes were given, lone programs."""
    final = {snapshot.index for snapshot in last_programs(trace)}
    given: dict[int, PassRun] = {}
    for run in trace.runs:
        if (run.argument or run.name) in _LAYOUT_PASSES and run.before is not None:
            given.setdefault(run.before, run)
    seen: set[bytes] = set()
    for snapshot in trace.snapshots:
        middle = snapshot.index not in final and snapshot.index not in given
        # In the middle of a compile only what is broken is of interest: one look at each text.
        if middle and (snapshot.format != "mlir" or trace.content(snapshot) in seen):
            continue
        seen.add(trace.content(snapshot))
        yield Subject(
            trace,
            snapshot,
            trace.program(snapshot),
            limits,
            snapshot.index in final,
            given.get(snapshot.index),
        )


def last_programs(trace: Trace) -> list[Snapshot]:
    """The last program of each kernel, and every program that no pass made."""
    last: dict[tuple[int, str, str], Snapshot] = {}
    alone: list[Snapshot] = []
    for snapshot in trace.snapshots:
        if snapshot.format == "mlir" and not snapshot.pass_name and not trace.runs:
            alone.append(snapshot)
        elif _is_mangled(trace, snapshot):
            continue
        else:
            dialect = "llvm" if _is_llvm(trace, snapshot) else ""
            last[snapshot.file, snapshot.kernel, dialect] = snapshot
    return sorted([*alone, *last.values()], key=lambda snapshot: snapshot.index)


def _is_llvm(trace: Trace, snapshot: Snapshot) -> bool:
    """Whether a program has been lowered beyond encodings: those before it are looked at, too."""
    return snapshot.format == "mlir" and "llvm.func" in trace.text(snapshot)[:200_000]


def _is_mangled(trace: Trace, snapshot: Snapshot) -> bool:
    if snapshot.format != "migraphx":
        return False
    return any(each.code == "markdown-mangled" for each in trace.program(snapshot).diagnostics)


class _Writer:
    """Places what checks found."""

    def __init__(self, trace: Trace, severities: dict[str, Severity]) -> None:
        self.trace = trace
        self.severities = severities

    def of_program(self, rule: Rule, subject: Subject, found: Found) -> Finding:
        snapshot, program = subject.snapshot, subject.program
        offset = found.offset
        if found.op is not None and found.op.start >= 0 and found.op.source is program.source:
            offset = found.op.start
        line, column = self.trace.place(snapshot, max(offset, 0)) if snapshot.format != "onnx" else (1, 1)
        run = subject.run
        name = f"{run.argument or run.name}#{run.ordinal}" if run is not None else snapshot.argument
        return self._finding(rule, found.message, line, column, snapshot, name, _source_of(found.op, program))

    def of_trace(self, rule: Rule, snapshot: Snapshot | None, found: Found) -> Finding:
        line, column = self.trace.place(snapshot, 0) if snapshot is not None else (1, 1)
        name = (snapshot.argument or snapshot.pass_name) if snapshot is not None else ""
        return self._finding(rule, found.message, line, column, snapshot, name, None)

    def _finding(
        self,
        rule: Rule,
        message: str,
        line: int,
        column: int,
        snapshot: Snapshot | None,
        pass_name: str,
        source: Source | None,
    ) -> Finding:
        file = self.trace.files[snapshot.file if snapshot is not None else 0].path
        return Finding(
            rule.id,
            self.severities.get(rule.id, rule.severity),
            rule.title,
            " ".join(message.split()),
            file,
            line,
            column,
            rule.hazard,
            rule.mitigation,
            snapshot.kernel if snapshot is not None else "",
            pass_name,
            source,
        )


def _source_of(op: Op | None, program: Program) -> Source | None:
    """The first place in a file that an op's location names, aliases followed."""
    if op is None or not op.location:
        return None
    found = _LOC.search(expand_aliases(op.location, program.aliases))
    return Source(found[1], int(found[2]), int(found[3])) if found else None


def numbers(trace: Trace, device: Device) -> dict[str, dict[str, float]]:
    """The numbers of the last program of each kernel, by the kernel's name (or the file's)."""
    found: dict[str, dict[str, float]] = {}
    for snapshot in last_programs(trace):
        if snapshot.format == "mlir" and _is_llvm(trace, snapshot):
            continue
        path = trace.files[snapshot.file].path
        name = snapshot.kernel or path.replace("\\", "/").rpartition("/")[2]
        found[name] = numbers_of(trace.program(snapshot), device)
    return found


def budget_findings(
    trace: Trace, bounds: list[Bound], golden: dict[str, dict[str, float]], device: Device
) -> list[Finding]:
    """Bounds that are broken, and differences from golden numbers."""
    found: list[Finding] = []
    for name, held in numbers(trace, device).items():
        found += check_bounds(bounds, name, held, trace.name)
        found += check_golden(golden, name, held, trace.name)
    return found


__all__ = ["budget_findings", "last_programs", "lint_trace", "numbers", "subjects"]
