"""The layout pass in Python: the whole pass on the report's program, and single steps on a large one.

    python bench/bench_layout.py [--ops 5000] [--rules triton-3.0,triton-3.9]

Limits are design.md's: 0.3 s for the report's program, 16 ms (a frame) for a step on the screen. Times are
CPU seconds of this process: medians of seven runs of the pass; of steps the median, the 99th of a hundred
and the slowest, forwards and backwards. The Stepper's panes brought up to date by a step are timed in
the app itself, at 200×60; programs of more than 3,000 lines are printed anew at phases only.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import statistics
import time
from pathlib import Path

from passlens.ir.formats.mlir import parse_mlir
from passlens.ir.passes.layout.remove_conversions import RemoveLayoutConversions
from passlens.ir.passes.layout.rules import rules_named
from passlens.ir.passes.step import Debugger
from passlens.ir.program import walk
from passlens.tui.app import PasslensApp
from passlens.tui.screens.stepper import StepperScreen
from passlens.tui.stepping import Stepping

SEED = Path(__file__).parents[1] / "tests/golden/seeds/triton_reproducible.mlir"
PASS_LIMIT, STEP_LIMIT = 0.3, 0.016


def whole_pass(text: str, rules: str) -> tuple[float, int]:
    """Median CPU seconds of the pass, without parsing, and how many steps it makes."""
    times, count = [], 0
    for _ in range(7):
        program = parse_mlir(text)
        begin = time.process_time()
        count = sum(1 for _ in RemoveLayoutConversions(rules_named(rules)).steps(program))
        times.append(time.process_time() - begin)
    return statistics.median(times), count


def enlarged(text: str, ops: int) -> str:
    """The report's function as often as it takes to have so many ops, under other names."""
    program = parse_mlir(text)
    function = next(op for op in walk(program) if op.name == "tt.func")
    start, end = function.start, function.end
    one = sum(1 for _ in walk(program)) - 1
    copies = [text[start:end].replace("@kernel", f"@kernel_{i}", 1) for i in range(-(-ops // one))]
    return text[:start] + "\n  ".join(copies) + text[end:]


def steps(text: str, rules: str) -> tuple[list[float], list[float]]:
    """CPU seconds of every step forwards, then backwards to the beginning."""
    debugger = Debugger(RemoveLayoutConversions(rules_named(rules)), parse_mlir(text))
    ahead, back = [], []
    gc.collect()
    while True:
        begin = time.process_time()
        step = debugger.forward()
        ahead.append(time.process_time() - begin)
        if step is None:
            break
    while debugger.position > 0:
        begin = time.process_time()
        debugger.back()
        back.append(time.process_time() - begin)
    return ahead, back


async def on_screen(text: str, rules: str, count: int) -> list[float]:
    """CPU seconds of a step with all panes brought up to date."""
    app = PasslensApp(str(SEED))
    times = []
    async with app.run_test(size=(200, 60)) as pilot:
        await pilot.pause()
        screen = StepperScreen(Stepping(text, rules), "bench")
        app.push_screen(screen)
        await pilot.pause()
        for _ in range(count):
            begin = time.process_time()
            screen.action_forward()
            await asyncio.sleep(0)
            times.append(time.process_time() - begin)
            await pilot.pause()
    return times


def say(name: str, times: list[float], limit: float) -> None:
    """One line: median, 99th of a hundred, slowest, and the ratio to the limit."""
    ordered = sorted(times)
    near, worst = ordered[int(len(ordered) * 0.99) - 1], ordered[-1]
    middle = statistics.median(ordered)
    print(
        f"  {name:<22} {middle * 1e3:8.3f} ms  99%: {near * 1e3:8.3f} ms  slowest: {worst * 1e3:8.1f} ms"
        f"   median / limit {middle / limit:5.2f}×, 99% / limit {near / limit:5.2f}×"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ops", type=int, default=5000)
    parser.add_argument("--rules", default="triton-3.0,triton-3.9")
    args = parser.parse_args()
    text = SEED.read_text()
    text = text[text.index("\n", text.index("// -----//")) + 1 :] if "// -----//" in text else text
    large = enlarged(text, args.ops)
    count = sum(1 for _ in walk(parse_mlir(large)))
    for rules in args.rules.split(","):
        seconds, number = whole_pass(text, rules)
        print(f"{rules}: the report's program, {number} steps in {seconds * 1e3:.1f} ms", end="")
        print(f"   / limit {seconds / PASS_LIMIT:.2f}×")
        ahead, back = steps(large, rules)
        print(f"{rules}: a program of {count:,} ops, {len(ahead):,} steps, {sum(ahead):.2f} s in all")
        say("a step", ahead, STEP_LIMIT)
        say("a step back", back, STEP_LIMIT)
        say("a step on the screen", asyncio.run(on_screen(large, rules, 300)), STEP_LIMIT)


if __name__ == "__main__":
    main()
