"""MIGraphX's own passes under `passlens step`: on a MIGraphX program, or on what the pass got in a log.

An ONNX model is lowered to a program first.

`migraphx-schedule@tests` takes the weights of MIGraphX's own tests instead of the GPU's, and
`migraphx-eliminate-allocation@4` aligns to 4 bytes instead of 32.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Final

from ...ir.analysis.cost import kernel_us
from ...ir.analysis.devices import device
from ...ir.errors import InputError
from ...ir.formats.migraphx_print import print_migraphx
from ...ir.passes.step import PHASE, Pass, Step, breakpoint_of
from ...ir.passes.streaming.decisions import Wishes
from ...ir.passes.streaming.lower.lower import LoweringPass, empty_program
from ...ir.passes.streaming.migraphx_coloring import (
    COLORING,
    ELIMINATE,
    MigraphxEliminateAllocation,
    MigraphxMemoryColoring,
)
from ...ir.passes.streaming.migraphx_graph import fake_model, gpu_model
from ...ir.passes.streaming.migraphx_schedule import PASS_NAME as SCHEDULE
from ...ir.passes.streaming.migraphx_schedule import MigraphxSchedule
from ...ir.passes.streaming.passes import PHASES, StreamingPass
from ...ir.program import Program, symbol, walk
from ...ir.snapshot import PassRun, Snapshot
from ...ir.trace import Trace
from ..files import write_whole
from ..programs import dims_of, planning_source
from ..report.steps import step_data, step_line
from ..select import find_snapshot
from .plan import budget_of, size_of

_REAL: Final = {SCHEDULE: "schedule", COLORING: "memory_coloring", ELIMINATE: "eliminate_allocation"}
"""What MIGraphX calls the passes in a log."""
_STREAMING: Final = {"streaming": "guards", **{f"streaming-{phase}": phase for phase in PHASES[1:]}}
"""Our own passes, each with the phase that it ends with."""
LOWER: Final = "lower"
_MOST_STREAMS: Final = 64
_PARTS: Final = ("undefined-value", "markdown-mangled")
"""Diagnostics of programs that are not whole."""
_BRANCHING: Final = ("if", "loop", "scan", "run_on_target")
"""Ops whose modules use values of the program around them; those of fused kernels do not."""
_TOLD: Final = ("nothing", "arena", "compare", "single-stream", "simple-order", "end")
"""Kinds of steps whose sentences sum a pass up."""


def run_migraphx(args: argparse.Namespace, trace: Trace) -> int:
    """Step, print, write; raises InputError for input that the pass cannot run on.

    With `--check`, the result is compared with the program that the log has behind the pass; exit code 1 if
    they are not the same.
    """
    name = args.which.partition("@")[0]
    run = _run_in(trace, _REAL.get(name, ""), args.run)
    snapshot = _before(trace, run)
    program, pass_ = _chosen(args, trace, snapshot)
    first_line = trace.place(snapshot, 0)[0] if snapshot.format == "migraphx" else 1
    stop = breakpoint_of(args.until) if args.until else None
    kinds: Counter[str] = Counter()
    told: list[str] = []
    stopped: tuple[int, Step] | None = None
    for number, step in enumerate(pass_.steps(program), 1):
        kinds[step.kind] += step.depth > PHASE
        if step.kind in _TOLD:
            told.append(step.why)
        if args.steps == "text":
            print(step_line(number, step))
        elif args.steps == "json":
            print(json.dumps(step_data(number, step, None, program, first_line), ensure_ascii=False))
        if stop is not None and stop(step):
            stopped = number, step
            break
    if args.steps != "json":
        for line in _summary(args, kinds, told, stopped):
            print(line)
    if args.output == "-":
        sys.stdout.write(print_migraphx(program))
    elif args.output:
        write_whole(args.output, print_migraphx(program))
    return _check(args, trace, run, name, print_migraphx(program)) if args.check else 0


def _chosen(args: argparse.Namespace, trace: Trace, snapshot: Snapshot) -> tuple[Program, Pass]:
    """The program that the pass starts with, and the pass."""
    name, _, rules = args.which.partition("@")
    if name == LOWER:
        if snapshot.format != "onnx" or rules or args.streams is not None or args.check:
            raise InputError(
                f"{args.which} of {trace.name}: {LOWER} makes a MIGraphX program of an ONNX model; it has no "
                "rules, no --streams and nothing to --check against"
            )
        return empty_program(), LoweringPass(trace.fresh(snapshot), dims_of(args.dim), streamed=True)
    program = planning_source(trace, snapshot, dims_of(args.dim))()
    _refuse_parts(program, args.file)
    if args.which in _STREAMING:
        return program, _streaming(args, program)
    return program, _pass(name, rules, args.streams)


def _streaming(args: argparse.Namespace, program: Program) -> Pass:
    """Our planner's passes, up to the one that was asked for."""
    if args.streams is not None:
        raise InputError(f"--streams is for {SCHEDULE}: {args.which} puts copies on a second stream")
    if args.check:
        raise InputError(
            f"--check compares with a compiler's own pass: {args.which} is ours; see passlens plan"
        )
    target = device(args.device)
    limit = size_of(args.memory_limit, "--memory-limit") if args.memory_limit else None
    if args.budget == "auto" and limit is None:
        limit = target.memory_bytes
    wishes = Wishes(None if args.budget == "auto" else budget_of(args.budget, program), limit)
    return StreamingPass(
        lambda op: kernel_us(op, target), target.pinned, wishes, through=_STREAMING[args.which]
    )


def _pass(name: str, rules: str, streams: int | None) -> Pass:
    """The pass that `NAME[@RULES]` asks for; raises InputError for rules that it does not have."""
    if name != SCHEDULE and streams is not None:
        raise InputError(f"--streams is for {SCHEDULE}: {name} knows no streams")
    if name == SCHEDULE:
        if rules not in ("", "gpu", "tests"):
            raise InputError(f"{name}@{rules}: expected @gpu (the default) or @tests")
        if streams is not None and not 1 <= streams <= _MOST_STREAMS:
            raise InputError(f"--streams {streams}: expected a number from 1 to {_MOST_STREAMS}")
        return MigraphxSchedule(fake_model(streams or 4) if rules == "tests" else gpu_model(streams or 1))
    if name == COLORING:
        if rules:
            raise InputError(f"{name}@{rules}: {name} has one set of rules; leave @{rules} out")
        return MigraphxMemoryColoring()
    if name != ELIMINATE:
        raise InputError(f"{name}@{rules}: {name} has one set of rules; leave @{rules} out")
    if rules and not (rules.isdecimal() and len(rules) < 10 and int(rules)):
        raise InputError(f"{name}@{rules}: expected a number of bytes to align to, such as @32")
    return MigraphxEliminateAllocation(int(rules)) if rules else MigraphxEliminateAllocation()


def _run_in(trace: Trace, name: str, number: int | None) -> PassRun | None:
    """The K-th run of a pass in a log of a compile, or None where there is none."""
    runs = [run for run in trace.runs if run.name == name]
    if number is None:
        return runs[0] if runs else None
    if not 1 <= number <= len(runs):
        raise InputError(f"{trace.name} has {len(runs)} run(s) of {name}: there is no run {number}")
    return runs[number - 1]


def _before(trace: Trace, run: PassRun | None) -> Snapshot:
    before = run.before if run is not None else None
    snapshot = find_snapshot(trace, None) if before is None else trace.snapshots[before]
    if snapshot.format not in ("migraphx", "onnx"):
        raise InputError(
            f"{trace.name} holds {snapshot.format} IR: expected a MIGraphX program or an ONNX model"
        )
    return snapshot


def _refuse_parts(program: Program, name: str) -> None:
    """Raise InputError for a program of which parts are missing: a pass would take the rest for all of it."""
    for diagnostic in program.diagnostics:
        if diagnostic.code in _PARTS:
            raise InputError(
                f"{name} is no whole program, so no pass can run on it: {diagnostic.message}; give the "
                "listing as MIGraphX printed it"
            )
    known = {symbol(op) for op in program.ops if op.name == "module"}
    for op in walk(program):
        for module in op.attributes.get("modules", "").split(",") if op.name in _BRANCHING else ():
            if module.strip() not in known:
                raise InputError(
                    f"{name} is no whole program: {op.name} has the module {module.strip()}, which is not in "
                    "it, and what that uses is not known; give the listing of the whole program"
                )


def _summary(
    args: argparse.Namespace, kinds: Counter[str], told: list[str], stopped: tuple[int, Step] | None
) -> Iterator[str]:
    count = kinds.total()
    if stopped is not None:
        yield f"stopped at step {stopped[0]}:"
        yield step_line(*stopped)
        return
    if args.until:
        yield f"{args.until} was never come to"
    parts = ", ".join(f"{number} {kind}" for kind, number in kinds.items() if number)
    yield f"{args.which}: {count} steps" + (f" ({parts})" if parts else "")
    yield from told


def _check(args: argparse.Namespace, trace: Trace, run: PassRun | None, name: str, ours: str) -> int:
    """Compare with the program that the log has behind the pass."""
    from ...ir.diff.compare import compare
    from ...ir.formats.migraphx import parse_migraphx
    from ..report.diff_text import diff_text

    if args.until:
        raise InputError("--check wants the whole pass: leave --until out")
    if run is None or run.after is None:
        raise InputError(
            f"{trace.name} does not say what MIGraphX made of the program: --check wants a log of a compile "
            f"(MIGRAPHX_TRACE_COMPILE=1) with the pass {_REAL[name]} in it"
        )
    out = sys.stderr if args.steps == "json" else sys.stdout
    difference = compare(parse_migraphx(ours), trace.fresh(trace.snapshots[run.after]))
    if difference.same:
        print("agrees with the log", file=out)
        return 0
    print("disagrees with the log:", file=out)
    print(diff_text(difference, ("passlens", "the log")), file=out)
    return 1
