"""Hold our remove-layout-conversions against the real pass on a folder of programs.

    python tests/oracle/tally.py RULES INPUTS OUTPUTS

INPUTS holds TTGIR as the pass got it, OUTPUTS under the same names what the real pass made of it (as
`run_pass.py` writes them; a `.json` beside a missing output says that it aborted, a `.debug` is its own log).
Prints how many agree (the same program up to names and locations), each that does not, the same for aborts,
and for how many the propagation (every value visited, its candidates, in order) is the log's line for line.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from passlens.ir.diff.compare import compare
from passlens.ir.formats.mlir import parse_mlir, print_mlir
from passlens.ir.passes.layout.admit import faults_of
from passlens.ir.passes.layout.debuglog import PREFIX, DebugLog
from passlens.ir.passes.layout.explain import FATAL
from passlens.ir.passes.layout.remove_conversions import RemoveLayoutConversions
from passlens.ir.passes.layout.rules import rules_named
from passlens.ir.passes.step import Step


def outcome(path: Path, real: Path, rules: str, logs: Counter[str]) -> tuple[str, str]:
    """(verdict, what differs) of one input."""
    program = parse_mlir(path.read_text())
    if any(True for _ in faults_of(program)):
        return "invalid", ""
    fatal = ""
    pass_ = RemoveLayoutConversions(rules_named(rules))
    walked: list[Step] = []
    ours: list[str] = []
    log: DebugLog | None = None
    for step in pass_.steps(program):
        if log is None and pass_.run is not None:
            log = DebugLog(program, pass_.run.tensors)
        if step.kind in FATAL:
            fatal = fatal or step.kind
        if step.kind in ("visit", "candidate"):
            walked.append(step)
        elif step.kind == "pick-single" and log is not None:
            ours += log.propagation(walked, counts=pass_.rules.rewrite == "in-place")
            walked.clear()
    debug = real.with_suffix(".debug")
    if debug.exists():
        told = [line for line in debug.read_text().splitlines() if line.startswith(PREFIX)]
        same = propagation(ours) == propagation(told)
        logs["propagation line for line" if same else "propagation differs"] += 1
    if not real.exists():
        return ("both abort" if fatal else "only the real pass aborts"), fatal
    if fatal:
        return "only ours aborts", fatal
    found = compare(parse_mlir(print_mlir(program)), parse_mlir(real.read_text()))
    if found.same:
        return "agree", ""
    counts = {key: value for key, value in found.counts().items() if value}
    return "differ", f"{counts}: " + "; ".join(c.a.name if c.a else c.b.name for c in found.changes[:4])


def propagation(lines: list[str]) -> list[str]:
    """The lines of a debug log that are about propagation."""
    found, inside = [], False
    for line in lines:
        text = line.removeprefix(PREFIX)
        if text.startswith("propagateLayout considering"):
            inside = True
        elif not text.startswith((" ", "changed")):
            inside = False
        if inside:
            found.append(text)
    return found


def main() -> None:
    rules, inputs, outputs = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    verdicts: Counter[str] = Counter()
    logs: Counter[str] = Counter()
    for path in sorted(inputs.rglob("*.mlir")):
        real = outputs / path.relative_to(inputs)
        if not real.exists() and not real.with_suffix(".json").exists():
            continue
        verdict, what = outcome(path, real, rules, logs)
        verdicts[verdict] += 1
        if verdict not in ("agree", "both abort"):
            print(f"{verdict}: {path.relative_to(inputs)} {what}", flush=True)
    total = sum(verdicts.values())
    print(f"{rules}: {total} inputs; " + ", ".join(f"{n} {name}" for name, n in verdicts.most_common()))
    print("  " + ", ".join(f"{n} {name}" for name, n in logs.most_common()))


if __name__ == "__main__":
    main()
