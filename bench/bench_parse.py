"""Parse rate of MLIR text, beside libtriton's parser and xDSL's in the same run.

    python bench/bench_parse.py FILE.ttgir [--triton-python PYTHON] [--megabytes 5] [--runs 5]

FILE is a TTGIR module (a snapshot of a pass log: `passlens show LOG --pass NAME > FILE`); it is repeated up
to the wanted size. PYTHON is an interpreter that has a Triton wheel. xDSL does not read `tt.func`, so it
gets a module of func, arith and scf of the same size, and so do we beside it. Medians; the last column is
our rate over the peer's. The budget (docs: design, section 5) is 15 MB/s on TTGIR.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from passlens.ir.formats.mlir import parse_mlir

LIBTRITON = """
import json, sys, time
from triton._C.libtriton import amd, ir, nvidia
context = ir.context()
for dialects in (ir, nvidia, amd):
    dialects.load_dialects(context)
times = []
for _ in range(int(sys.argv[2])):
    began = time.perf_counter()
    ir.parse_mlir_module(sys.argv[1], context)
    times.append(time.perf_counter() - began)
print(json.dumps(times))
"""


def main() -> None:
    args = arguments()
    module = args.file.read_text()
    functions = many_functions(module, args.megabytes)
    rows = [("passlens, TTGIR", *rate(parse_mlir, functions, args.runs))]
    if args.triton_python:
        rows.append(("libtriton, TTGIR", *libtriton(args.triton_python, functions, args.runs)))
    common = upstream_module(args.megabytes / 10)
    ours = rate(parse_mlir, common, args.runs)
    rows.append(("passlens, func/arith/scf", *ours))
    peer = xdsl_parser()
    if peer:
        rows.append(("xDSL, func/arith/scf", *rate(peer, common, 1)))
    print(f"{'parser':<28}{'MB':>7}{'MB/s':>9}{'ops/s':>12}   passlens is")
    for name, size, speed, ops in rows:
        base = rows[0][2] if "TTGIR" in name else ours[1]
        note = "" if name.startswith("passlens") else f"{base / speed:.1f} x as fast"
        print(f"{name:<28}{size:7.2f}{speed:9.2f}{ops:12,.0f}   {note}")
    print(f"budget: 15 MB/s on TTGIR: {'met' if rows[0][2] >= 15 else 'MISSED'} ({rows[0][2]:.1f})")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--triton-python")
    parser.add_argument("--megabytes", type=float, default=5)
    parser.add_argument("--runs", type=int, default=5)
    return parser.parse_args()


def rate(parse: Callable[[str], object], text: str, runs: int) -> tuple[float, float, float]:
    """(MB, median MB/s, ops per second)."""
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        parse(text)
        times.append(time.perf_counter() - began)
    seconds = statistics.median(times)
    return len(text) / 1e6, len(text) / 1e6 / seconds, text.count("\n") / seconds


def libtriton(python: str, text: str, runs: int) -> tuple[float, float, float]:
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([python, "-c", LIBTRITON, file.name, str(runs)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"libtriton refused the text: {done.stderr[-500:]}")
    seconds = statistics.median(json.loads(done.stdout))
    return len(text) / 1e6, len(text) / 1e6 / seconds, text.count("\n") / seconds


def many_functions(module: str, megabytes: float) -> str:
    """One module with the functions of `module` repeated under new names, up to the size."""
    program = parse_mlir(module)
    (top,) = [op for op in program.ops if op.name == "builtin.module"]
    functions = [op for op in top.regions[0].blocks[0].ops if op.name == "tt.func"]
    head, tail = module[: functions[0].lead], module[functions[-1].end :]
    body = "".join(module[op.lead : op.end] for op in functions)
    parts = [head]
    size = len(head) + len(tail)
    number = 0
    while size < megabytes * 1e6:
        text = body
        for op in functions:
            name = op.attributes["sym_name"].strip('"')
            text = text.replace(f"@{name}(", f"@{name}_{number}(")
        parts.append(text)
        size += len(text)
        number += 1
    return "".join([*parts, tail])


def upstream_module(megabytes: float) -> str:
    body = (
        "  func.func @f{n}(%arg0: i32, %arg1: index) -> i32 {{\n"
        "    %c0 = arith.constant 0 : index\n    %c1 = arith.constant 1 : index\n"
        "    %0 = scf.for %i = %c0 to %arg1 step %c1 iter_args(%x = %arg0) -> (i32) {{\n"
        "      %1 = arith.addi %x, %arg0 : i32\n      %2 = arith.muli %1, %x : i32\n"
        "      %3 = arith.cmpi slt, %1, %2 : i32\n      %4 = arith.select %3, %1, %2 : i32\n"
        "      scf.yield %4 : i32\n    }}\n    func.return %0 : i32\n  }}\n"
    )
    return (
        "builtin.module {\n"
        + "".join(body.format(n=n) for n in range(int(megabytes * 1e6 / len(body))))
        + "}\n"
    )


def xdsl_parser() -> Callable[[str], object] | None:
    try:
        from xdsl.context import Context
        from xdsl.parser import Parser
        from xdsl.universe import Universe
    except ImportError:
        print("xDSL is not installed (pip install xdsl): its row is left out")
        return None

    def parse(text: str) -> object:
        context = Context()
        for name, factory in Universe.get_multiverse().all_dialects.items():
            context.register_dialect(name, factory)
        return Parser(context, text).parse_module()

    return parse


if __name__ == "__main__":
    main()
