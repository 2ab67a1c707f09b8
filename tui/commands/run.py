"""`passlens run`: execute a program on a device, measure it, and hold it against the plan.

Exit code 0: done (and the results are right, if --check); 1: results differ; 2: an error, such as a device
that is not there.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import numpy as np

from ...backends.device import DeviceError
from ...backends.replay import Assumption, give_bodies, kernels_without_bodies, random_data
from ...ir.analysis.cost import kernel_us
from ...ir.analysis.devices import Device, device
from ...ir.analysis.migraphx_summary import main_body
from ...ir.analysis.stalls import percent, time_in_words
from ...ir.analysis.timeline import Timeline, timeline
from ...ir.analysis.verify_plan import verify_plan
from ...ir.errors import InputError
from ...ir.passes.step import Debugger
from ...ir.passes.streaming.decisions import Wishes
from ...ir.passes.streaming.passes import StreamingPass
from ...ir.program import Program
from ...ir.snapshot import Snapshot
from ...ir.trace import Trace, open_trace
from ..select import find_snapshot
from .plan import budget_of, size_of

HELP = "execute a program on a device (reference, simulate, cuda:0), measure it, check its results"

_RUNS = 6
_CLOSE = {"f16": 2e-2, "bf16": 5e-2}


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    option = parser.add_argument
    option("file", help="an ONNX model, or a MIGraphX dump (which is replayed)")
    option("--device", default="auto", help="auto, reference, simulate, or cuda:0")
    option("--budget", metavar="BYTES|SHARE|auto", help="plan first; without it the program runs as it is")
    option("--memory-limit", metavar="BYTES", help="of the plan")
    option("--naive", action="store_true", help="with --budget: copy each literal where it is first used")
    option(
        "--profile", default="h200", metavar="NAME|FILE", help="the device profile that plans are made for"
    )
    option(
        "--dim", action="append", default=[], metavar="NAME=SIZE", help="an open dimension of an ONNX model"
    )
    option("--repeat", type=int, default=0, metavar="N", help="measure N rounds (on a GPU)")
    option("--check", action="store_true", help="compare the results with the reference's")
    option("--force", action="store_true", help="run a plan that the verifier rejects")
    option("--pass", dest="which", metavar="N|NAME[#K]", help="the snapshot to run")
    option("--json", action="store_true", help="everything as JSON")


def run(args: argparse.Namespace) -> int:
    """Run and report."""
    if args.repeat < 0:
        raise InputError(f"--repeat {args.repeat}: expected rounds to measure, or 0 to measure none")
    trace = open_trace(args.file)
    program, literals, inputs, assumed = _material(args, trace, find_snapshot(trace, args.which))
    target = device(args.profile)
    _plan(args, program, target)
    name = _device_name(args.device)
    report: dict[str, Any] = {"device": name, "assumed": [f"{a.kernel}: {a.text}" for a in assumed]}
    predicted = timeline(main_body(program), target, runs=_RUNS)
    report["predicted"] = {
        "period_us": predicted.period_us,
        "overlap": predicted.overlap,
        "device": target.name,
    }
    try:
        outputs = _execute(args, name, program, literals, inputs, report)
    except DeviceError as error:
        raise InputError(f"{args.file} on {name}: {error}") from error
    status = _checked(args, name, program, literals, inputs, outputs, report)
    if args.json:
        json.dump(report, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        _print(report, predicted)
    return status


def _material(
    args: argparse.Namespace, trace: Trace, snapshot: Snapshot
) -> tuple[Program, dict[str, Any], dict[str, Any], list[Assumption]]:
    """The program with bodies for all kernels, its literals and inputs (random, where none are known)."""
    if snapshot.format == "onnx":
        from ...ir.passes.streaming.lower.lower import lower

        lowered = lower(trace.fresh(snapshot), _dims(args.dim))
        _, inputs = random_data(lowered.program)
        return lowered.program, dict(lowered.literals), inputs, []
    if snapshot.format != "migraphx":
        raise InputError(
            f"{trace.name} holds {snapshot.format} IR: expected an ONNX model or a MIGraphX program to run"
        )
    if args.dim:
        raise InputError(f"{trace.name} is no ONNX model: --dim {args.dim[0]} has nothing to set")
    program = trace.fresh(snapshot)
    assumed = give_bodies(program) if kernels_without_bodies(program) else []
    literals, inputs = random_data(program)
    return program, literals, inputs, assumed


def _dims(texts: list[str]) -> dict[str, int]:
    found = {}
    for text in texts:
        name, _, size = text.partition("=")
        if not name or not size.isdecimal() or not 0 < int(size[:12]) < 1 << 31:
            raise InputError(f"--dim {text!r}: expected NAME=SIZE, such as batch=1")
        found[name] = int(size)
    return found


def _plan(args: argparse.Namespace, program: Program, target: Device) -> None:
    if args.budget is None:
        if args.naive or args.memory_limit:
            raise InputError("--naive and --memory-limit are about a plan: give --budget too")
        return
    from ...ir.formats.migraphx import parse_migraphx
    from ...ir.formats.migraphx_print import print_migraphx

    original = parse_migraphx(print_migraphx(program))
    limit = size_of(args.memory_limit, "--memory-limit") if args.memory_limit else None
    if args.budget == "auto" and limit is None:
        limit = target.memory_bytes
    wishes = Wishes(None if args.budget == "auto" else budget_of(args.budget, program), limit)
    streaming = StreamingPass(lambda op: kernel_us(op, target), target.pinned, wishes, args.naive)
    Debugger(streaming, program).finish()
    wrong = verify_plan(program, original, budget=wishes.budget, memory_limit=None if args.naive else limit)
    if wrong and not args.force:
        raise InputError(f"the plan is not valid: {wrong[0].message}; --force runs it nevertheless")


def _device_name(asked: str) -> str:
    if asked in ("reference", "simulate") or (asked.startswith("cuda:") and asked[5:].isdecimal()):
        return asked
    if asked.startswith("hip:"):
        raise InputError(
            f"{asked}: AMD devices are not implemented yet; expected reference, simulate or cuda:0"
        )
    if asked != "auto":
        raise InputError(f"there is no device {asked!r}: expected auto, reference, simulate or cuda:0")
    from ...backends.cuda import missing

    return "reference" if missing() else "cuda:0"


def _execute(
    args: argparse.Namespace,
    name: str,
    program: Program,
    literals: dict[str, Any],
    inputs: dict[str, Any],
    report: dict[str, Any],
) -> list[Any]:
    if name == "simulate":
        return []
    if name == "reference":
        from ...backends.reference import run_reference

        return run_reference(program, literals, {key: value.copy() for key, value in inputs.items()})
    from ...backends.cuda import Cuda, missing
    from ...backends.run import run_on

    why = missing()
    if why:
        raise DeviceError(why)
    number = name.partition(":")[2]
    if not number.isdecimal():
        raise DeviceError(f"{name}: expected cuda:0, cuda:1, …")
    found = run_on(Cuda(int(number)), program, literals, inputs, runs=3, repeat=args.repeat)
    report.update(device=f"{name} {found.device}", bytes=found.bytes, kernels=found.kernels)
    if found.times is not None:
        times = found.times
        report["measured"] = {
            "period_us": times.period_us, "one_run_us": times.first_us, "compute_us": times.compute_us,
            "copy_us": times.copy_us, "bound_us": times.bound_us, "overlap": times.overlap,
        }  # fmt: skip
    return found.outputs


def _checked(
    args: argparse.Namespace,
    name: str,
    program: Program,
    literals: dict[str, Any],
    inputs: dict[str, Any],
    outputs: list[Any],
    report: dict[str, Any],
) -> int:
    report["outputs"] = [{"shape": list(np.shape(each)), "mean": _mean(each)} for each in outputs]
    if not args.check or name in ("reference", "simulate"):
        return 0
    from ...backends.reference import run_reference

    wanted = run_reference(program, literals, {key: value.copy() for key, value in inputs.items()})
    worst = max((_difference(a, b) for a, b in zip(outputs, wanted, strict=True)), default=0.0)
    limit = max((_CLOSE.get(str(np.asarray(b).dtype.name), 1e-4) for b in wanted), default=1e-4)
    report["check"] = {"relative_error": worst, "limit": limit, "right": bool(worst <= limit)}
    return 0 if worst <= limit else 1


def _mean(data: Any) -> float | None:
    """The mean, None where it is no finite number: JSON has no word for those."""
    mean = float(np.mean(np.asarray(data, np.float64))) if np.size(data) else 0.0
    return mean if np.isfinite(mean) else None


def _difference(a: Any, b: Any) -> float:
    """The largest difference over the largest value."""
    left, right = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if not np.isfinite(left).all():
        return float("inf")
    return float(
        np.max(np.abs(left.reshape(right.shape) - right), initial=0.0)
        / max(np.max(np.abs(right), initial=0.0), 1e-30)
    )


def _number(value: float | None) -> str:
    return "not finite" if value is None else f"{value:.6g}"


def _print(report: dict[str, Any], predicted: Timeline) -> None:
    print(f"device     {report['device']}")
    if report["assumed"]:
        print(
            f"replayed   {len(report['assumed'])} kernels by their names and shapes, weights and inputs "
            "random:"
        )
        for each in report["assumed"][:5]:
            print(f"           {each}")
        if len(report["assumed"]) > 5:
            print(f"           … and {len(report['assumed']) - 5} more (--json lists them)")
    said = report["predicted"]
    print(
        f"predicted  {time_in_words(said['period_us'])} a run on {said['device']}, copies hidden "
        f"{percent(said['overlap'])}"
    )
    if "measured" in report:
        found = report["measured"]
        print(
            f"measured   {time_in_words(found['period_us'])} a run of a steady stream, "
            f"{time_in_words(found['one_run_us'])} by itself; compute "
            f"{time_in_words(found['compute_us'])}, copies "
            f"{time_in_words(found['copy_us'])}; "
            f"{found['period_us'] / max(found['bound_us'], 1e-9):.3f} times the "
            f"larger; copies hidden {percent(found['overlap'])}"
        )
    if "bytes" in report:
        print(
            "memory     " + ", ".join(f"{key} {size:,}" for key, size in report["bytes"].items()) + " bytes"
        )
    for number, each in enumerate(report["outputs"]):
        print(f"output {number}   {each['shape']}, mean {_number(each['mean'])}")
    if "check" in report:
        check = report["check"]
        print(
            f"check      {'right' if check['right'] else 'WRONG'}: largest error "
            f"{check['relative_error']:.1e} of the "
            f"largest value (limit {check['limit']:.0e})"
        )
