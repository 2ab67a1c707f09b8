"""`passlens plan`: which weights stay on the GPU, when the others are copied, and what that gives.

Exit code 0: a valid plan; 1: the plan that was made breaks a rule (a fault of ours); 2: an error, such as a
memory limit that cannot be kept.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys

from ...ir.analysis.devices import Device, device, device_names
from ...ir.errors import InputError
from ...ir.passes.streaming.decisions import Wishes
from ...ir.passes.streaming.report import PlanReport, account, plan_report, report_json
from ...ir.program import Program
from ...ir.trace import Trace, open_trace
from ..files import is_special, refuse_input, whole_file, write_whole
from ..programs import dims_of, planning_source
from ..report.plan_text import plan_text
from ..select import find_snapshot

HELP = "which weights stay on the GPU, when the others are copied, and what that gives"

_BUDGET = "literals that may stay resident: 50MB, 25%%, auto (as many as memory allows); 0 streams all"
_STREAMS = "1: copies on the kernels' stream; 2 (default): on a stream of their own"
_DIM = "size of an open dimension of an ONNX model, such as batch=8; 1 unless given (may be repeated)"
_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_SIZE = re.compile(r"(?P<number>\d{1,18}(?:\.\d{1,6})?)\s*(?P<unit>[kKmMgG]?i?[bB]?)$")


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    option = parser.add_argument
    option("file", help="a MIGraphX dump or log, or an ONNX model; - for standard input")
    option("--budget", default="0", metavar="BYTES|SHARE|auto", help=_BUDGET)
    names = ", ".join(device_names())
    option("--device", default="h200", metavar="NAME|FILE", help=f"{names}, or a JSON profile")
    option("--memory-limit", metavar="BYTES", help="GPU memory for literals, arena, parameters and code")
    option("--streams", type=int, default=2, metavar="N", help=_STREAMS)
    option("--naive", action="store_true", help="copy each literal where it is first used")
    option("--cold", action="store_true", help="plan for one cold inference, not for a steady stream")
    option("--pageable", action="store_true", help="literals lie in ordinary host memory, not in pinned")
    option("--dim", action="append", default=[], metavar="NAME=SIZE", help=_DIM)
    option("--pass", dest="which", metavar="N|NAME[#K]", help="the snapshot to plan")
    option("-o", "--output", metavar="FILE", help="write the planned program")
    option("--perfetto", metavar="FILE", help="write the timeline for Perfetto or chrome://tracing")
    option("--json", action="store_true", help="everything as JSON (docs/plan-schema.json)")
    option("--all", action="store_true", help="list every literal and every stall")


def run(args: argparse.Namespace) -> int:
    """Plan and print."""
    if args.streams < 1:
        raise InputError(f"--streams {args.streams}: expected 1 (one stream for all) or 2 (copies apart)")
    _check_paths(args)
    trace = open_trace(args.file)
    target = device(args.device)
    report = _report(args, trace, target)
    if args.output is not None and report.violations:
        print(f"passlens: {args.output} is not written: the plan is not valid", file=sys.stderr)
    elif args.output is not None:
        from ...ir.formats.migraphx_print import print_migraphx

        write_whole(args.output, print_migraphx(report.program))
    if args.perfetto is not None:
        from ..report.perfetto import write_trace

        with whole_file(args.perfetto) as file:
            write_trace(report.timeline, file)
    if args.json:
        json.dump(report_json(report), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        encoding = os.environ.get("PYTHONIOENCODING") or sys.stdout.encoding
        sys.stdout.write(plan_text(report, every=args.all, encoding=encoding))
        if args.streams > 2:
            print(
                f"--streams {args.streams}: kernels depend on one another and copies share one link, so that "
                "the plan uses two streams; more would change nothing"
            )
    return 1 if report.violations else 0


def _check_paths(args: argparse.Namespace) -> None:
    paths = [os.path.realpath(path) for path in (args.output, args.perfetto) if path]
    if len(paths) == 2 and paths[0] == paths[1] and not is_special(args.output):
        raise InputError(f"-o and --perfetto both write {args.output}; give two paths")
    for option, path in (("-o", args.output), ("--perfetto", args.perfetto)):
        if path:
            refuse_input(option, path, args.file)


def _report(args: argparse.Namespace, trace: Trace, target: Device) -> PlanReport:
    read = planning_source(trace, find_snapshot(trace, args.which), dims_of(args.dim))
    limit = size_of(args.memory_limit, "--memory-limit") if args.memory_limit else None
    if args.budget == "auto" and limit is None:
        free = trace.facts.driver.get("free_memory", [])
        limit = int(free[0]) if free else target.memory_bytes
    budget = None if args.budget == "auto" else budget_of(args.budget, read())
    wishes = Wishes(budget, limit, not args.cold)
    return plan_report(read, target, wishes, naive=args.naive or args.streams == 1, pinned=not args.pageable)


def size_of(text: str, option: str) -> int:
    """Bytes from `52428800`, `50MB` (millions), `50MiB` (2^20).

    Raises:
        InputError: the text is none of these.
    """
    found = _SIZE.match(text.strip())
    unit = found["unit"].lower() if found else "?"
    unit = unit + "b" if unit in ("k", "m", "g", "ki", "mi", "gi") else unit
    if found is None or unit not in _UNITS:
        shares = ", a share such as 25%, or auto" if option == "--budget" else ""
        raise InputError(f"{option} {text!r}: expected bytes, such as 52428800, 50MB or 50MiB{shares}")
    return (
        int(float(found["number"]) * _UNITS[unit])
        if "." in found["number"]
        else int(found["number"]) * _UNITS[unit]
    )


def budget_of(text: str, program: Program) -> int:
    """Bytes from a size, or from a share of all literals (`25%`).

    Raises:
        InputError: the text is neither.
    """
    share = re.fullmatch(r"(\d{1,3}(?:\.\d{1,6})?)\s*%", text.strip())
    if share is None:
        return size_of(text, "--budget")
    return int(account(program).literals * float(share[1]) / 100)
