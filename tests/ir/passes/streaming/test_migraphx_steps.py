"""MIGraphX's passes step by step: there and back is the same program, and what they make together is sound."""

from __future__ import annotations

import random
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from passlens.ir.analysis.hazards import memory_faults
from passlens.ir.analysis.migraphx_summary import main_body
from passlens.ir.errors import InputError
from passlens.ir.formats.migraphx import parse_migraphx
from passlens.ir.formats.migraphx_print import print_migraphx
from passlens.ir.passes.step import Debugger, Pass
from passlens.ir.passes.streaming import migraphx_conflicts, migraphx_streams
from passlens.ir.passes.streaming.migraphx_coloring import (
    MigraphxEliminateAllocation,
    MigraphxMemoryColoring,
)
from passlens.ir.passes.streaming.migraphx_graph import fake_model, gpu_model
from passlens.ir.passes.streaming.migraphx_schedule import MigraphxSchedule
from passlens.ir.program import Program, walk

ROOT = Path(__file__).parents[4]
SEED = ROOT / "tests/golden/seeds/migraphx_streaming_resnet50.txt"
SHAPE = "float_type, {64}, {1}"
PASSES: dict[str, Pass] = {
    "one stream": MigraphxSchedule(gpu_model(1)),
    "four streams": MigraphxSchedule(gpu_model(4)),
    "tests' model": MigraphxSchedule(fake_model()),
    "coloring": MigraphxMemoryColoring(),
    "elimination": MigraphxEliminateAllocation(),
}


def random_text(number: int) -> str:
    rng = random.Random(number)
    lines, values = ['module: "main"', f"x = @param:x -> {SHAPE}"], ["x"]
    for n in range(1, rng.randint(2, 22)):
        inputs = ",".join(rng.choice(values[-6:]) for _ in range(rng.choice([1, 1, 2, 3])))
        kind = rng.random()
        if kind < 0.15:
            lines.append(f"@{10 * n} = identity({inputs}) -> {SHAPE}")
        elif kind < 0.35:
            lines.append(f"@{10 * n + 1} = @literal{{ ... }} -> {SHAPE}")
            lines.append(f"@{10 * n + 2} = hip::allocate[shape={SHAPE}] -> {SHAPE}")
            lines.append(f"@{10 * n} = hip::copy_to_gpu(@{10 * n + 1},@{10 * n + 2}) -> {SHAPE}")
        else:
            op = rng.choice(["gpu::gemm", "gpu::convolution", "gpu::code_object[code_object=8]"])
            lines.append(f"@{10 * n + 1} = hip::allocate[shape={SHAPE}] -> {SHAPE}")
            lines.append(f"@{10 * n} = {op}({inputs},@{10 * n + 1}) -> {SHAPE}")
        values.append(f"@{10 * n}")
    ends = ",".join(rng.choice(values) for _ in range(rng.randint(1, 3)))
    lines.append(f"@900 = hip::allocate[shape={SHAPE}] -> {SHAPE}")
    lines.append(f"@901 = gpu::gemm({ends},@900) -> {SHAPE}")
    return "\n".join([*lines, "@902 = @return(@901)"]) + "\n"


BRANCHES = "\n".join(
    [
        'module: "main"',
        f"x = @param:x -> {SHAPE}",
        *(f"@{n} = hip::allocate[shape={SHAPE}] -> {SHAPE}" for n in range(1, 5)),
        f"@11 = gpu::gemm(x,@1) -> {SHAPE}",
        f"@12 = gpu::gemm(@11,@2) -> {SHAPE}",
        f"@13 = gpu::gemm(x,@3) -> {SHAPE}",
        f"@14 = gpu::gemm(@12,@13,@4) -> {SHAPE}",
        "@15 = @return(@14)\n",
    ]
)


def state(program: Program) -> Any:
    """Everything that an edit may change, with the identities of ops and values."""
    ops = [
        (
            id(op),
            op.name,
            dict(op.attributes),
            [id(value) for value in op.operands],
            [(id(value), value.name, value.type.text, [(id(user), n) for user, n in value.uses]) for value in op.results],
        )
        for op in walk(program)
    ]  # fmt: skip
    return ops, print_migraphx(program)


def there_and_back(pass_: Pass, program: Program, stride: int) -> None:
    debugger = Debugger(pass_, program)
    seen = [(state(program), deepcopy_facts(debugger))]
    while debugger.forward() is not None:
        looked = debugger.position % stride == 0
        seen.append((state(program), deepcopy_facts(debugger)) if looked else (None, None))
    last = state(program)
    for way in (-1, 1, -1):
        while (debugger.back() if way < 0 else debugger.forward()) is not None:
            expected, facts = seen[debugger.position]
            if expected is not None:
                assert state(program) == expected
                assert deepcopy_facts(debugger) == facts
        if way > 0:
            assert state(program) == last
    assert debugger.position == 0
    assert debugger.facts == {}


def deepcopy_facts(debugger: Debugger) -> Any:
    return {
        name: {id(key): deepcopy(value) if isinstance(value, int) else value for key, value in table.items()}
        for name, table in debugger.facts.items()
    }


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(sorted(PASSES)))
def test_every_step_can_be_taken_back(number: int, which: str) -> None:
    there_and_back(PASSES[which], parse_migraphx(random_text(number)), 1)


@pytest.mark.parametrize("which", ["one stream", "four streams", "coloring"])
def test_the_report_there_and_back(which: str) -> None:
    text = SEED.read_text()
    text = text[text.index('module: "main"') : text.index("@573 = @return(@572)")] + "@573 = @return(@572)\n"
    there_and_back(PASSES[which], parse_migraphx(text), 97)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4))
def test_a_scheduled_and_coloured_program_races_with_nothing(number: int, streams: int) -> None:
    program = parse_migraphx(random_text(number))
    needed = {"@901"}
    for op in reversed(main_body(program)):
        if op.results and op.results[0].name in needed:
            needed.update(value.name for value in op.operands)
    Debugger(MigraphxSchedule(gpu_model(streams)), program).finish()
    Debugger(MigraphxMemoryColoring(), program).finish()
    ops = main_body(program)
    place = {op: at for at, op in enumerate(ops)}
    assert all(
        value.op is not None and place[value.op] < at for at, op in enumerate(ops) for value in op.operands
    )
    assert not memory_faults(ops).any
    assert needed <= {op.results[0].name for op in ops if op.results}
    again = parse_migraphx(print_migraphx(program))
    assert not again.diagnostics
    assert [op.name for op in main_body(again)] == [op.name for op in ops]


def lifted_report() -> Program:
    """The report as it was in front of memory colouring."""
    text = SEED.read_text()
    text = text[text.index('module: "main"') : text.index("@573 = @return(@572)")] + "@573 = @return(@572)\n"
    return parse_migraphx(re.sub(r"load\[[^\]]*\]\(@1\) -> (.*)", r"hip::allocate[shape=\1] -> \1", text))


def test_more_streams_would_not_have_helped_the_report() -> None:
    """One stream: an arena of the report's size. Two: eight waits, and five times the arena, for the ties."""
    sizes = {}
    for streams in (1, 2, 4):
        program = lifted_report()
        scheduled = Debugger(MigraphxSchedule(gpu_model(streams)), program)
        scheduled.finish()
        colored = Debugger(MigraphxMemoryColoring(), program)
        colored.finish()
        assert not memory_faults(main_body(program)).any
        (arena,) = [step.encodings for step in colored.known if step.kind == "arena"]
        waits = sum(step.kind == "wait" for step in scheduled.known)
        sizes[streams] = arena[0], waits
    assert sizes[1][1] == 0
    assert sizes[1][0] < 1.02 * 31_232_000
    assert sizes[2] == sizes[4]
    assert sizes[2][1] == 8
    assert sizes[2][0] > 5 * 31_232_000


def test_an_earlier_schedule_is_taken_away_first() -> None:
    program = parse_migraphx(BRANCHES)
    Debugger(MigraphxSchedule(gpu_model(4)), program).finish()
    once = print_migraphx(program)
    assert "set_stream" in once and "wait_event" in once
    again = Debugger(MigraphxSchedule(gpu_model(1)), program)
    again.finish()
    assert not re.search("set_stream|_event|identity", print_migraphx(program))
    cleared = [step for step in again.known if step.kind == "clear"]
    assert len(cleared) == len(re.findall("gpu::set_stream|_event|= identity", once))


def test_what_makes_no_value_stays() -> None:
    check = "@90 = check_context::migraphx::gpu::context -> float_type, {1}, {0}"
    text = BRANCHES.replace("@11 =", f"{check}\n@91 = hip::sync_device -> float_type, {{}}, {{}}\n@11 =")
    program = parse_migraphx(text.replace("@12 =", f"@92 = gpu::gemm(@11,@1) -> {SHAPE}\n@12 ="))
    Debugger(MigraphxSchedule(gpu_model(2)), program).finish()
    names = [op.results[0].name for op in main_body(program) if op.results]
    assert "@90" in names and "@91" in names
    assert "@92" not in names


def test_a_program_that_uses_what_stands_behind() -> None:
    text = f'module: "main"\n@0 = gpu::gemm(@1) -> {SHAPE}\n@1 = hip::allocate -> {SHAPE}\n@2 = @return(@0)\n'
    with pytest.raises(InputError, match="stands behind it"):
        Debugger(MigraphxSchedule(), parse_migraphx(text)).finish()


def test_orders_and_ties_that_would_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    program = parse_migraphx(random_text(3))
    monkeypatch.setattr(migraphx_streams, "MOST_VISITS", 0)
    debugger = Debugger(MigraphxSchedule(), program)
    debugger.finish()
    assert "simple-order" in {step.kind for step in debugger.known}
    place = {op: at for at, op in enumerate(main_body(program))}
    assert all(place[value.op] < at for op, at in place.items() for value in op.operands if value.op)
    monkeypatch.setattr(migraphx_conflicts, "MOST_PAIRS", 2)
    with pytest.raises(InputError, match="may run at the same time"):
        Debugger(MigraphxSchedule(gpu_model(4)), parse_migraphx(BRANCHES)).finish()


def test_bodies_of_fused_kernels_are_left_alone() -> None:
    text = f"""module: "main"
x = @param:x -> {SHAPE}
@1 = hip::allocate[shape={SHAPE}] -> {SHAPE}
@2 = gpu::code_object[code_object=0,symbol_name=add_relu_kernel](x,@1), [main:k] -> {SHAPE}
@3 = @return(@2)
module: "main:k"
main:x0 = @param:x0 -> {SHAPE}
main:@1 = add(main:x0,main:x0) -> {SHAPE}
main:@2 = relu(main:x0) -> {SHAPE}
main:@3 = @return(main:@1)
"""
    program = parse_migraphx(text)
    for pass_ in (PASSES["four streams"], PASSES["coloring"]):
        Debugger(pass_, program).finish()
    assert print_migraphx(program).endswith(text[text.index('module: "main:k"') :])
