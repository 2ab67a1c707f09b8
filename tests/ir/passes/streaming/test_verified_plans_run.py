"""Plans beside the reference executor: what the verifier accepts gives the right results in every order."""

from __future__ import annotations

import random
import re
from functools import cache

import numpy as np
import onnx_models
from hypothesis import given, settings
from hypothesis import strategies as st
from passlens.backends.reference import run_reference
from passlens.ir.analysis.cost import kernel_us
from passlens.ir.analysis.devices import device
from passlens.ir.analysis.verify_plan import verify_plan
from passlens.ir.errors import InputError
from passlens.ir.formats.migraphx import parse_migraphx
from passlens.ir.formats.migraphx_print import print_migraphx
from passlens.ir.passes.step import Debugger
from passlens.ir.passes.streaming.decisions import Wishes
from passlens.ir.passes.streaming.lower.lower import lower
from passlens.ir.passes.streaming.passes import StreamingPass
from passlens.ir.program import Program

ORDERS = 4


@cache
def lowered() -> tuple[str, dict[str, np.ndarray], dict[str, np.ndarray], list[np.ndarray]]:
    """A small decoder as a GPU program, its weights, inputs and right results."""
    model = onnx_models.gpt(layers=1, width=32, heads=2, words=300, length=8)
    made = lower(model)
    given = onnx_models.inputs_of(model)
    inputs = {made.inputs.get(name, name): data for name, data in given.items()}
    return (
        print_migraphx(made.program),
        made.literals,
        inputs,
        run_reference(made.program, made.literals, inputs),
    )


@cache
def plan(percent: int) -> tuple[str, ...]:
    """The lines of our plan at a budget of so many per cent of the weights."""
    text, literals, _, _ = lowered()
    target = device("h200")
    budget = sum(data.nbytes for data in literals.values()) * percent // 100
    program = parse_migraphx(text)
    wishes = Wishes(budget, None)
    Debugger(StreamingPass(lambda op: kernel_us(op, target), target.pinned, wishes), program).finish()
    return tuple(print_migraphx(program).splitlines())


def is_right(program: Program, seed: int) -> bool:
    """Whether two runs back to back, in an order drawn at random, end with the right results."""
    _, literals, inputs, right = lowered()
    own = [{name: data.copy() for name, data in held.items()} for held in (literals, inputs)]
    try:
        made = run_reference(program, own[0], own[1], order=seed, runs=2)
    except (InputError, ValueError, IndexError):
        return False
    return all(np.allclose(a, b, rtol=1e-4, atol=1e-5) for a, b in zip(made, right, strict=True))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0, 50]), st.sampled_from(["offset", "event", "swap"]))
def test_a_changed_plan_that_passes_runs_right(number: int, percent: int, how: str) -> None:
    rng = random.Random(number)
    lines = list(plan(percent))
    end = next(n for n, line in enumerate(lines) if n and line.startswith("module:"))
    if how == "offset":
        loads = [n for n in range(end) if " = load[" in lines[n]]
        changed = rng.choice(loads)
        one, other = (
            re.findall(r"offset=(\d+),end=(\d+)", lines[n])[0] for n in (changed, rng.choice(loads))
        )
        size = int(one[1]) - int(one[0])
        span = f"offset={other[0]},end={int(other[0]) + size}"
        lines[changed] = lines[changed].replace(f"offset={one[0]},end={one[1]}", span)
    else:
        touched = [n for n in range(end) if "_event[" in lines[n] or "_to_gpu" in lines[n]]
        if not touched:
            return
        moved = lines.pop(rng.choice(touched))
        if how == "swap" or "_to_gpu" in moved:
            lines.insert(rng.randint(1, end - 2), moved)
    program = parse_migraphx("\n".join(lines) + "\n")
    if not verify_plan(program, parse_migraphx(lowered()[0])):
        assert all(is_right(program, seed) for seed in range(ORDERS))


def test_the_plans_themselves() -> None:
    for percent in (0, 50, 100):
        program = parse_migraphx("\n".join(plan(percent)) + "\n")
        assert verify_plan(program, parse_migraphx(lowered()[0])) == []
        assert all(is_right(program, seed) for seed in range(3 * ORDERS))


def test_every_event_of_a_plan_is_needed_for_its_proof() -> None:
    before = parse_migraphx(lowered()[0])
    lines = plan(0)
    waits = [n for n, line in enumerate(lines) if "gpu::record_event" in line]
    assert waits
    for number in waits:
        program = parse_migraphx("\n".join([*lines[:number], *lines[number + 1 :]]) + "\n")
        assert {violation.kind for violation in verify_plan(program, before)} >= {"event"}
