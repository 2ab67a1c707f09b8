"""`passlens step`: run a pass step by step, and compare with the real compiler.

The layout pass runs by the rules of an era; MIGraphX's passes (see `step_migraphx`) on a MIGraphX program.
Exit code 0: done, and the real pass agrees if it was asked; 1: a mapping is missing, the pass would abort, or
the real pass disagrees; 2: an error.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator

from ...ir.errors import InputError
from ...ir.formats.mlir import parse_mlir, print_mlir
from ...ir.passes.layout.admit import faults_of
from ...ir.passes.layout.explain import FATAL, explain_step
from ...ir.passes.layout.remove_conversions import RemoveLayoutConversions
from ...ir.passes.layout.rules import PASS_NAME, RULE_SETS, RuleSet, pick_rules, rules_named
from ...ir.passes.step import Step, breakpoint_of
from ...ir.program import Program, walk
from ...ir.snapshot import Snapshot
from ...ir.trace import Trace, open_trace
from ..files import refuse_input, write_whole
from ..report.steps import step_data, step_line
from ..select import find_runs, find_snapshot

MIGRAPHX_PASSES = (
    "lower", "migraphx-schedule", "migraphx-memory-coloring", "migraphx-eliminate-allocation", "streaming",
    "streaming-reuse", "streaming-residency", "streaming-copies", "streaming-schedule", "streaming-coloring",
    "streaming-guards",
)  # fmt: skip
HELP = "run a pass step by step: Triton's layout pass by the rules of an era, or MIGraphX's passes"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", help="a dump, a log or a .ttgir; - for standard input")
    parser.add_argument(
        "--pass",
        dest="which",
        metavar="NAME[@RULES]",
        help=f"the pass ({PASS_NAME}, the default for Triton's IR) and the rule set "
        f"({', '.join(RULE_SETS)}, or a release such as 3.4); "
        "without one, that which fits the dump; or, on a MIGraphX program, "
        f"{', '.join(MIGRAPHX_PASSES)} (the default: streaming; of an ONNX model, lower is what "
        "makes it a MIGraphX program)",
    )
    parser.add_argument(
        "--streams",
        type=int,
        metavar="N",
        help="streams that migraphx-schedule may use: 1 unless given (with @tests, 4)",
    )
    parser.add_argument(
        "--dim", action="append", default=[], metavar="NAME=SIZE", help="of ONNX models: as for plan"
    )
    parser.add_argument("--budget", default="0", metavar="BYTES|SHARE|auto", help="of streaming: as for plan")
    parser.add_argument("--memory-limit", metavar="BYTES", help="of streaming: as for plan")
    parser.add_argument("--device", default="h200", metavar="NAME|FILE", help="of streaming: as for plan")
    parser.add_argument("--run", type=int, metavar="K", help="what the K-th run of the pass in the log got")
    parser.add_argument(
        "--until",
        metavar="WHERE",
        help="stop at missing, kind=…, phase=…, op=… or value=%%…; the first such step",
    )
    parser.add_argument("--steps", choices=("text", "json"), help="print every step; json: one object a line")
    parser.add_argument(
        "-o", dest="output", metavar="FILE", help="write the program after the pass (or step)"
    )
    parser.add_argument("--check", action="store_true", help="run the real pass, too, and compare")
    parser.add_argument(
        "--triton-python",
        metavar="PYTHON",
        help="a Python with the Triton to ask (also PASSLENS_TRITON_PYTHON)",
    )


def run(args: argparse.Namespace) -> int:
    """Step, print, write, compare; raises InputError for input that the pass could not run on."""
    trace = open_trace(args.file)
    if args.output and args.output != "-":
        refuse_input("-o", args.output, args.file)
    if args.which is None:
        args.which = _usual(trace)
    if args.which.partition("@")[0] in MIGRAPHX_PASSES:
        from .step_migraphx import run_migraphx

        return run_migraphx(args, trace)
    _known(args.which)
    if args.streams is not None:
        raise InputError(f"--streams is for migraphx-schedule: {args.which} knows no streams")
    snapshot = layout_snapshot(trace, args.run)
    text = trace.text(snapshot)
    rules = rules_of(args.which, text, header_of(trace, snapshot))
    program = readable_program(text, args.file)
    pass_ = RemoveLayoutConversions(rules)
    faults = _walk(args, pass_, program, first_line_of(trace, snapshot))
    if args.output:
        _write(args.output, print_mlir(program))
    if args.check:
        return max(faults, _check(args, text, print_mlir(program), faults))
    return faults


def _usual(trace: Trace) -> str:
    """The pass for a file if none is asked for: of a MIGraphX program, an ONNX model, anything else."""
    formats = {snapshot.format for snapshot in trace.snapshots}
    return {"migraphx": "streaming", "onnx": "lower"}.get("".join(sorted(formats)), PASS_NAME)


def layout_snapshot(trace: Trace, number: int | None) -> Snapshot:
    """The snapshot in front of the K-th run of the pass; in a file without passes, its program."""
    runs = find_runs(trace, PASS_NAME) if trace.runs else []
    if runs:
        return find_snapshot(trace, f"{PASS_NAME}#{number or 1}")
    if number not in (None, 1):
        raise InputError(f"{trace.name} is no log of passes: there is no run {number} of {PASS_NAME} in it")
    snapshot = find_snapshot(trace, None)
    if snapshot.format != "mlir":
        raise InputError(f"{trace.name} holds no MLIR: {PASS_NAME} runs on TTGIR")
    return snapshot


def header_of(trace: Trace, snapshot: Snapshot) -> str:
    """The banner line in front of a snapshot, or ''."""
    data = trace.files[snapshot.file].data
    end = snapshot.start
    start = bytes(data[max(0, end - 4000) : end]).rstrip(b"\n")
    line = start.rpartition(b"\n")[2].decode("utf-8", "replace")
    return line if "IR Dump" in line else ""


def first_line_of(trace: Trace, snapshot: Snapshot) -> int:
    """The line of the file on which the snapshot's text begins."""
    return trace.place(snapshot, 0)[0]


def rules_of(which: str, text: str, header: str) -> RuleSet:
    """The rule set that `NAME[@RULES]` asks for; raises InputError for another pass or an unknown set."""
    rules = _known(which)
    return rules_named(rules) if rules else pick_rules(text, header)


def _known(which: str) -> str:
    """The rules behind the layout pass's name; raises InputError for another pass."""
    name, _, rules = which.partition("@")
    if name not in (PASS_NAME, "TritonGPURemoveLayoutConversions", ""):
        known = ", ".join((f"{PASS_NAME}[@RULES]", *MIGRAPHX_PASSES))
        raise InputError(f"--pass {name!r} cannot be stepped: expected one of {known}")
    return rules


def readable_program(text: str, name: str) -> Program:
    """The parsed program; raises InputError where the real pass would refuse it."""
    program = parse_mlir(text, name)
    problems = list(faults_of(program))
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise InputError(f"{name} is no valid program, so no pass can run on it: {problems[0]}{more}")
    if not any(op.name == "tt.func" for op in walk(program)):
        raise InputError(f"{name} holds no tt.func: expected TTGIR, the form that Triton's layout passes get")
    return program


def _walk(args: argparse.Namespace, pass_: RemoveLayoutConversions, program: Program, first_line: int) -> int:
    stop = breakpoint_of(args.until) if args.until else None
    before = _converts(program)
    faults: list[str] = []
    number = 0
    stopped: Step | None = None
    for number, step in enumerate(pass_.steps(program), 1):
        if args.steps:
            _print_step(args, number, step, pass_, program, first_line)
        if step.kind in FATAL:
            assert pass_.run is not None
            faults.append(explain_step(pass_.run, program, step, first_line).summary)
        if stop is not None and stop(step):
            stopped = step
            break
    if args.steps != "json":
        for line in _summary(args, pass_, number, stopped, faults, before, _converts(program)):
            print(line)
    return 1 if faults else 0


def _print_step(
    args: argparse.Namespace,
    number: int,
    step: Step,
    pass_: RemoveLayoutConversions,
    program: Program,
    first: int,
) -> None:
    if args.steps == "text":
        print(step_line(number, step))
        return
    assert pass_.run is not None
    print(json.dumps(step_data(number, step, pass_.run, program, first), ensure_ascii=False))


def _summary(
    args: argparse.Namespace,
    pass_: RemoveLayoutConversions,
    number: int,
    stopped: Step | None,
    faults: list[str],
    before: int,
    after: int,
) -> Iterator[str]:
    if args.until and stopped is None:
        yield f"{args.until} was never come to, in {number} steps"
    elif stopped is not None:
        yield f"stopped at step {number}:"
        yield step_line(number, stopped)
        yield from _facts_of(pass_, stopped)
    for fault in faults:
        yield f"missing or fatal: {fault}"
    if stopped is None:
        yield f"{pass_.name}: {number} steps, convert_layout {before} → {after}"


def _facts_of(pass_: RemoveLayoutConversions, step: Step) -> Iterator[str]:
    """What is known of the step's value at this moment."""
    run = pass_.run
    if run is None or step.value is None:
        return
    held = run.recorder.get("candidates", step.value)
    if held:
        yield f"  candidates of {step.value.name}: {', '.join(run.show(layout) for layout in held)}"
    pick = run.recorder.get("pick", step.value)
    if pick is not None:
        yield f"  picked: {run.show(pick)}"
    for key, new in run.recorder.table("mapping").items():
        if isinstance(key, tuple) and key[0] is step.value:
            yield f"  mapped in {run.show(key[1])}: {new.name}"


def _converts(program: Program) -> int:
    return sum(op.name.endswith(".convert_layout") for op in walk(program))


def _write(path: str, text: str) -> None:
    if path == "-":
        sys.stdout.write(text)
    else:
        write_whole(path, text)


def _check(args: argparse.Namespace, text: str, ours: str, faults: int) -> int:
    """Run the real pass on the same text and say whether it made the same program."""
    from ...backends.compilers.triton import run_passes
    from ...ir.diff.compare import compare
    from ..report.diff_text import diff_text

    if args.until:
        raise InputError("--check wants the whole pass: leave --until out")
    out = sys.stderr if args.steps == "json" else sys.stdout
    answer = run_passes(text, python=args.triton_python)
    failed = answer.failed
    real = f"Triton {answer.version}"
    if failed is not None:
        verb = "aborts" if failed.aborted else "fails"
        outcome = "agrees" if faults else "disagrees"
        print(f"{outcome}: {real} {verb} in the pass: {failed.error}", file=out)
        return 0 if faults else 1
    if faults:
        print(f"disagrees: {real} runs through, and these rules do not", file=out)
        return 1
    # Printed by one printer: a release may spell what an older one wrote in another way.
    printed = run_passes(ours, ("canonicalize",), python=args.triton_python).passes[0].before
    difference = compare(parse_mlir(printed), parse_mlir(answer.text or ""))
    if difference.same:
        print(f"agrees with {real}", file=out)
        return 0
    print(f"disagrees with {real}:", file=out)
    print(diff_text(difference, ("passlens", real)), file=out)
    return 1
