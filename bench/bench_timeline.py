"""The simulated timeline and the cost model against the size of the program.

    python bench/bench_timeline.py [--ops 1000,3000,10000,30000] [--runs 1,3]

Times are CPU seconds of this process, medians of five, of a program with a copy and a kernel every nine
instructions on two streams with events. "first" is the first look at a freshly read program, which reads
attributes and types of every instruction; the limit is 0.3 s for 10,000 instructions.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from pathlib import Path

from passlens.ir.analysis.devices import device
from passlens.ir.analysis.migraphx_summary import main_body
from passlens.ir.analysis.timeline import timeline
from passlens.ir.formats.migraphx import parse_migraphx
from passlens.ir.program import Op
from passlens.ir.trace import open_trace
from passlens.tui.report.timeline_text import UNICODE, timeline_text

SEED = Path(__file__).parents[1] / "tests/golden/seeds/migraphx_streaming_resnet50.txt"
LIMIT_S, LIMIT_OPS = 0.3, 10_000
WEIGHT = "float_type, {64, 64, 3, 3}, {576, 9, 3, 1}"
DATA = "float_type, {1, 64, 56, 56}, {200704, 3136, 56, 1}"
NONE = "float_type, {}, {}"


def layers(ops: int) -> str:
    """A program of about so many instructions: each layer copies a filter on stream 1 and convolves on 0."""
    lines = [
        'module: "main"',
        "a = hip::hip_allocate_memory[shape=int8_type, {4000000}, {1},id=main:scratch]"
        " -> int8_type, {4000000}, {1}",
        f"k0 = @param:k0 -> {DATA}",
    ]
    for n in range(1, (ops - 2) // 9 + 1):
        lines += [
            f"l{n} = @literal{{ ... }} -> {WEIGHT}",
            f"w{n} = load[offset={2000000 + n % 8 * 147456},end={2147456 + n % 8 * 147456}](a) -> {WEIGHT}",
            f"s{n} = gpu::set_stream[stream=1] -> {NONE}",
            f"c{n} = hip::copy_to_gpu(l{n},w{n}) -> {WEIGHT}",
            f"r{n} = gpu::record_event[event={n}] -> {NONE}",
            f"t{n} = gpu::set_stream[stream=0] -> {NONE}",
            f"e{n} = gpu::wait_event[event={n}] -> {NONE}",
            f"b{n} = load[offset={n % 2 * 802816},end={802816 + n % 2 * 802816}](a) -> {DATA}",
            f"k{n} = gpu::code_object[symbol_name=mlir_convolution_add_relu,global=12544,local=64]"
            f"(k{n - 1},c{n},b{n}) -> {DATA}",
        ]
    return "\n".join(lines) + "\n"


def median(body: list[Op], runs: int) -> float:
    """Median CPU seconds of five timelines."""
    times = []
    for _ in range(5):
        gc.collect()
        begin = time.process_time()
        timeline(body, device("h200"), runs=runs)
        times.append(time.process_time() - begin)
    return statistics.median(times)


def first(text: str) -> float:
    """CPU seconds of the first timeline of a program that nothing has looked at."""
    body = main_body(parse_migraphx(text))
    gc.collect()
    begin = time.process_time()
    timeline(body, device("h200"))
    return time.process_time() - begin


def report() -> None:
    """The report's program: what is predicted, beside what was measured on the card."""
    body = main_body(open_trace(str(SEED)).program(0))
    result = timeline(body, device("h200"))
    print(
        f"ResNet-50 of the report on the H200 profile: kernels {result.compute_us:,.0f} µs (measured 2,200), "
        f"copies {result.copy_us:,.0f} µs in {len(result.on('copy'))} (measured 3,000 in 161), "
        f"one run {result.makespan_us:,.0f} µs, bound {result.bound_us:,.0f} µs, hidden {result.overlap:.1%}"
    )
    begin = time.process_time()
    timeline_text(result, width=120, marks=UNICODE)
    print(f"  drawn at 120 columns in {(time.process_time() - begin) * 1e3:.1f} ms")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ops", default="1000,3000,10000,30000")
    parser.add_argument("--runs", default="1,3")
    args = parser.parse_args()
    report()
    print("instructions  runs    median     first   µs an instruction and run   / limit")
    for ops in map(int, args.ops.split(",")):
        text = layers(ops)
        body = main_body(parse_migraphx(text))
        cold = first(text)
        for runs in map(int, args.runs.split(",")):
            seconds = median(body, runs)
            each = seconds / len(body) / runs
            limit = LIMIT_S * len(body) / LIMIT_OPS
            print(
                f"{len(body):12,}  {runs:4}  {seconds * 1e3:7.1f} ms"
                f"  {cold * 1e3:6.1f} ms  {each * 1e6:10.2f}  {'':15} {seconds / limit:6.2f}×"
            )


if __name__ == "__main__":
    main()
