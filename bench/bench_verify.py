"""Time of the plan verifier, and of MIGraphX's passes as steps, against the size of the program.

    python bench/bench_verify.py [--kernels 250,500,1000,2000]

CPU seconds of this process, medians of three. The plans stream every weight over a ring of slots, with an
event for each copy and each slot that is free again. The limit of the verifier is 1 s for 10,000
instructions; the microseconds an instruction show how it grows. Then MIGraphX's own passes on the streaming
report: steps, time, and how near its colouring is to the largest sum of live bytes.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "ir" / "analysis"))

from passlens.ir.analysis.migraphx_summary import main_body  # noqa: E402  (the path above comes first)
from passlens.ir.analysis.verify_plan import verify_plan  # noqa: E402
from passlens.ir.formats.migraphx import parse_migraphx  # noqa: E402
from passlens.ir.passes.step import Debugger, Pass  # noqa: E402
from passlens.ir.passes.streaming.migraphx_coloring import MigraphxMemoryColoring  # noqa: E402
from passlens.ir.passes.streaming.migraphx_graph import gpu_model  # noqa: E402
from passlens.ir.passes.streaming.migraphx_schedule import MigraphxSchedule  # noqa: E402
from passlens.ir.trace import open_trace  # noqa: E402
from stream_plans import Planner, original, random_net  # noqa: E402

SEED = ROOT / "tests/golden/seeds/migraphx_streaming_resnet50.txt"
LIMIT_S, LIMIT_OPS = 1.0, 10_000


def median(run: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return statistics.median(times)


def verifying(kernels: int) -> None:
    rng = random.Random(1)
    net = random_net(rng, kernels, kernels)
    before = parse_migraphx(original(net))
    plan = parse_migraphx(Planner(net, rng, 8, set()).plan())
    ops = len(main_body(plan))
    taken = median(lambda: verify_plan(plan, before))
    share = taken / LIMIT_S * LIMIT_OPS / ops
    print(
        f"{ops:>7,} instructions  {taken:7.3f} s  {taken / ops * 1e6:6.1f} µs each  {share:5.2f} of the limit"
    )


def stepping(name: str, pass_: Pass) -> None:
    trace = open_trace(str(SEED))
    steps = Debugger(pass_, trace.fresh(trace.snapshots[0]))
    steps.finish()
    taken = median(lambda: Debugger(pass_, trace.fresh(trace.snapshots[0])).finish())
    arena = [step.encodings for step in steps.known if step.kind == "arena"]
    said = f"  arena {arena[0][0]:,} of {arena[0][1]:,} live" if arena else ""
    print(f"{name:<26}{steps.seen:>6,} steps  {taken:7.3f} s{said}")


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", default="250,500,1000,2000")
    for kernels in parser.parse_args().kernels.split(","):
        verifying(int(kernels))
    for streams in (1, 2, 4):
        stepping(f"schedule, {streams} stream(s)", MigraphxSchedule(gpu_model(streams)))
    stepping("memory colouring", MigraphxMemoryColoring())


if __name__ == "__main__":
    main()
