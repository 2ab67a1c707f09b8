"""The streaming report's dump on a GPU: as it stands, re-planned, and with an event dropped.

    python bench/bench_replay.py [--repeat 20]

Prints measured times beside the predicted ones, and what a plan without its guards gives: different results
from run to run are a race that the device shows; the verifier names it beforehand.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from passlens.backends.cuda import Cuda, missing
from passlens.backends.reference import run_reference
from passlens.backends.replay import give_bodies, random_data
from passlens.backends.run import run_on
from passlens.ir import edit
from passlens.ir.analysis.cost import kernel_us
from passlens.ir.analysis.devices import device
from passlens.ir.analysis.migraphx_summary import main_body
from passlens.ir.analysis.timeline import timeline
from passlens.ir.analysis.verify_plan import plan_memory, verify_plan
from passlens.ir.formats.migraphx import parse_migraphx
from passlens.ir.passes.step import Debugger
from passlens.ir.passes.streaming.decisions import Wishes
from passlens.ir.passes.streaming.passes import StreamingPass
from passlens.ir.program import Program
from passlens.ir.trace import open_trace

Data = tuple[dict[str, np.ndarray], dict[str, np.ndarray]]
SEED = Path(__file__).parents[1] / "tests/golden/seeds/migraphx_streaming_resnet50.txt"


def planned(text: str, wishes: Wishes | None) -> Program:
    program = parse_migraphx(text)
    give_bodies(program)
    if wishes is not None:
        target = device("h200")
        Debugger(StreamingPass(lambda op: kernel_us(op, target), target.pinned, wishes), program).finish()
    return program


def report(name: str, program: Program, repeat: int, wanted: np.ndarray, data: Data) -> float:
    literals, inputs = data
    found = run_on(Cuda(), program, literals, inputs, runs=3, repeat=repeat)
    times = found.times
    assert times is not None
    guess = timeline(main_body(program), device("h200"), runs=6)
    error = float(np.max(np.abs(found.outputs[0] - wanted)) / np.max(np.abs(wanted)))
    print(
        f"{name:<28} {times.period_us:7.1f} us a run, {times.period_us / times.bound_us:5.3f} of the bound; "
        f"compute {times.compute_us:7.1f}, copies {times.copy_us:7.1f}, hidden {100 * times.overlap:5.1f} % "
        f"(predicted {100 * guess.overlap:5.1f} %); memory {sum(found.bytes.values()):,}; error {error:.1e}"
    )
    return times.period_us


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=20)
    args = parser.parse_args()
    why = missing()
    if why:
        print(why)
        raise SystemExit(2)
    text = open_trace(str(SEED)).text(0)
    plain = planned(text, None)
    # By the names of literals and inputs, which no plan changes.
    data = literals, inputs = random_data(plain)
    (wanted,) = run_reference(plain, literals, inputs)
    before = report("as it stands", plain, args.repeat, wanted, data)
    after = report("budget 0", planned(text, Wishes(0)), args.repeat, wanted, data)
    report("budget 0, same memory", planned(text, Wishes(0, 32_386_480)), args.repeat, wanted, data)
    report("budget 50 %", planned(text, Wishes(52_689_366)), args.repeat, wanted, data)
    report("all resident", planned(text, Wishes(105_378_732)), args.repeat, wanted, data)
    print(f"the plan is {before / after:.2f} times faster than the dump as it stands")
    broken = planned(text, Wishes(0))
    for op in main_body(broken):
        if op.name == "gpu::wait_event":
            edit.erase(op)
    wrong = verify_plan(broken, planned(text, None), budget=0)
    print(f"without its waits: the verifier finds {len(wrong)} violations, the first: {wrong[0].message}")
    (given,) = run_on(Cuda(), broken, literals, inputs, runs=3).outputs
    print(f"  on the device: error {float(np.max(np.abs(given - wanted)) / np.max(np.abs(wanted))):.1e}")
    print(f"memory by the account: {plan_memory(main_body(planned(text, Wishes(0))))}")


if __name__ == "__main__":
    main()
