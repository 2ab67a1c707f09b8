"""Planning time against the size of the program, and how near the plans are to their bound.

    python bench/bench_plan.py [--kernels 30,100,200,1000,3000]

CPU seconds of this process, medians of three, of random programs with as many literals as kernels (three
instructions a kernel). "whole" counts in the reading of the program and every step of the pass. The limit is
0.3 s for about 600 instructions. Then the streaming report's ResNet-50 and four lowered models at five
budgets:
time over the bound, arena over the largest sum of live bytes.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "ir" / "passes" / "streaming"))

import onnx_models  # noqa: E402  (the path above comes first)
from passlens.ir.analysis.devices import device  # noqa: E402
from passlens.ir.formats.migraphx import parse_migraphx  # noqa: E402
from passlens.ir.formats.migraphx_print import print_migraphx  # noqa: E402
from passlens.ir.formats.onnx import program_of  # noqa: E402
from passlens.ir.passes.step import Debugger  # noqa: E402
from passlens.ir.passes.streaming.decisions import Wishes  # noqa: E402
from passlens.ir.passes.streaming.lower.lower import lower  # noqa: E402
from passlens.ir.passes.streaming.passes import StreamingPass  # noqa: E402
from passlens.ir.passes.streaming.planner import make_plan  # noqa: E402
from passlens.ir.passes.streaming.report import plan_report  # noqa: E402
from passlens.ir.trace import open_trace  # noqa: E402
from streaming_programs import Link, named_cost, random_text, work  # noqa: E402

SEED = ROOT / "tests/golden/seeds/migraphx_streaming_resnet50.txt"
LINK = Link(7.0, 1000.0)
LIMIT_S, LIMIT_OPS = 0.3, 600


def median(run: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return statistics.median(times)


def size(kernels: int) -> None:
    text = random_text(1, kernels, kernels)
    job = work(parse_migraphx(text))
    wishes = Wishes(job.literal_bytes // 4, None)
    plan = make_plan(job, LINK, wishes)
    tight = Wishes(wishes.budget, job.parameters + job.code + job.literal_bytes // 4 + plan.arena * 3 // 4)
    planning = median(lambda: make_plan(job, LINK, wishes))
    limited = median(lambda: make_plan(job, LINK, tight))
    whole = median(lambda: Debugger(StreamingPass(named_cost, LINK, wishes), parse_migraphx(text)).finish())
    ops = text.count("\n")
    print(
        f"{ops:>7,} instructions  plan {planning:7.3f} s  with a memory limit {limited:7.3f} s  whole "
        f"{whole:7.3f} s ({whole / ops * LIMIT_OPS / LIMIT_S:4.2f} of the limit, by instructions)  "
        f"time/bound {plan.period_us / plan.bound_us:5.3f}  arena/live {plan.arena / plan.live_bound:5.3f}"
    )


def resnet() -> None:
    text = open_trace(str(SEED)).text(0)
    target = device("h200")
    for percent in (0, 25, 50, 75, 100):
        wishes = Wishes(105_378_732 * percent // 100)
        found = plan_report(lambda: parse_migraphx(text), target, wishes, curve=False)
        plan = found.plan
        print(
            f"ResNet-50, {target.name}, budget {percent:3} %: {found.period_us:7.1f} us, "
            f"{found.before_us / found.period_us:4.2f} times faster than the dump, time/bound "
            f"{found.period_us / plan.bound_us:5.3f}, arena/live {plan.arena / plan.live_bound:5.3f}, "
            f"copies hidden {100 * found.timeline.overlap:5.1f} %"
        )


def models() -> None:
    dims = {"batch": 1, "sequence": 128}
    made = {
        "ResNet-50": (onnx_models.resnet50_v2, {}),
        "MobileNetV2": (onnx_models.mobilenet_v2, {}),
        "BERT-base": (onnx_models.bert, dims),
        "small GPT": (onnx_models.gpt, {}),
    }
    target = device("h200")
    for name, (build, sizes) in made.items():
        text = print_migraphx(lower(program_of(build()), sizes).program)
        total = sum(weight.bytes for weight in work(parse_migraphx(text)).weights)
        for percent in (0, 25, 50, 75, 100):
            wishes = Wishes(total * percent // 100)
            found = plan_report(lambda text=text: parse_migraphx(text), target, wishes, curve=False)
            plan = found.plan
            loose = plan.arena / plan.live_bound if plan.live_bound else 1.0
            print(
                f"{name:<12} budget {percent:3} %: {found.period_us:8.1f} us, time/bound "
                f"{found.period_us / plan.bound_us:5.3f}, arena/live {loose:5.3f}, {len(found.violations)} "
                f"violations{', ' + found.gap_reason if found.gap_reason else ''}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kernels", default="30,100,200,1000,3000", help="sizes of the random programs")
    for kernels in parser.parse_args().kernels.split(","):
        size(int(kernels))
    resnet()
    models()


if __name__ == "__main__":
    main()
