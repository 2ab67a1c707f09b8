"""Plans of random programs: valid by the independent verifier, within what was asked for, undone step by step."""

import random
from itertools import pairwise

import pytest
from passlens.ir import edit
from passlens.ir.analysis.devices import device
from passlens.ir.analysis.migraphx_summary import main_body
from passlens.ir.analysis.timeline import timeline
from passlens.ir.analysis.verify_plan import plan_memory, verify_plan
from passlens.ir.errors import InputError
from passlens.ir.formats.migraphx import parse_migraphx
from passlens.ir.formats.migraphx_print import print_migraphx
from passlens.ir.passes.step import Debugger
from passlens.ir.passes.streaming.decisions import Plan, Wishes
from passlens.ir.passes.streaming.passes import StreamingPass
from passlens.ir.passes.streaming.planner import make_plan
from passlens.ir.program import Op, Program, Value
from streaming_programs import Link, named_cost, random_program, random_text, work

LINK = Link(7.0, 1000.0)


def planned(text: str, wishes: Wishes, *, naive: bool = False) -> tuple[Program, Plan]:
    program = parse_migraphx(text)
    made = StreamingPass(named_cost, LINK, wishes, naive)
    Debugger(made, program).finish()
    assert made.plan is not None
    printed = print_migraphx(program)
    again = parse_migraphx(printed)
    assert print_migraphx(again) == printed
    assert not [d for d in again.diagnostics if d.code != "undefined-value"]
    return again, made.plan


def wishes_of(seed: int, text: str) -> Wishes:
    job = work(parse_migraphx(text))
    budget = job.literal_bytes * (seed % 5) // 4
    limit = None
    if seed % 3:
        floor = make_plan(job, LINK, Wishes(0, None)).arena
        limit = job.parameters + job.code + budget + floor * (3 if seed % 3 == 1 else 2) // 3
    return Wishes(budget, limit, seed % 2 == 0)


@pytest.mark.parametrize("seed", range(60))
def test_every_plan_is_valid(seed: int) -> None:
    text = random_text(seed, 2 + seed % 23, 1 + seed % 29)
    wishes = wishes_of(seed, text)
    original = parse_migraphx(text)
    try:
        program, plan = planned(text, wishes, naive=seed % 7 == 6)
    except InputError:
        assert wishes.memory_limit is not None
        return
    limit = None if seed % 7 == 6 else wishes.memory_limit
    found = verify_plan(program, original, budget=wishes.budget, memory_limit=limit, steady=wishes.steady)
    assert not [each.message for each in found]
    memory = plan_memory(main_body(program))
    assert memory["resident"] == plan.resident_bytes <= (wishes.budget or 0)
    assert memory["arena"] == plan.arena


@pytest.mark.parametrize("seed", range(30))
def test_predicted_times_are_those_of_the_simulated_streams(seed: int) -> None:
    text = random_text(seed, 4 + seed % 9, 3 + seed % 8)
    program, plan = planned(text, Wishes(0, None, seed % 2 == 0))
    target = device("h200")
    instructions = main_body(program)
    # The planner's own costs, on the simulator of the timeline.
    found = timeline(with_times(instructions), linked(target), runs=12 if seed % 2 == 0 else 1)
    assert found.period_us == pytest.approx(plan.period_us, rel=1e-6, abs=1e-6)


def with_times(instructions: list[Op]) -> list[Op]:
    for op in instructions:
        if op.name == "gpu::code_object":
            edit.set_attribute(op, "perf.ms", str(named_cost(op) / 1000))
    return instructions


def linked(target):
    from dataclasses import replace

    from passlens.ir.analysis.devices import Transfer

    return replace(target, pinned=Transfer(LINK.latency_us, LINK.bytes_per_us), launch_us=0.0, event_us=0.0)


@pytest.mark.parametrize("seed", range(16))
def test_more_budget_is_never_slower(seed: int) -> None:
    text = random_text(seed, 5 + seed % 20, 4 + seed % 20)
    job = work(parse_migraphx(text))
    floor = make_plan(job, LINK, Wishes(0, None)).arena
    limit = None if seed % 2 else job.parameters + job.code + floor * 4 // 5 + job.literal_bytes // 3
    times = []
    for quarter in range(5):
        wishes = Wishes(job.literal_bytes * quarter // 4, limit, seed % 4 < 2)
        times.append(make_plan(job, LINK, wishes).period_us)
    assert all(late <= early * (1 + 1e-9) for early, late in pairwise(times))


@pytest.mark.parametrize("seed", range(12))
def test_forwards_and_backwards_through_every_phase(seed: int) -> None:
    text = random_text(seed, 3 + seed, 2 + seed)
    program = parse_migraphx(text)
    debugger = Debugger(StreamingPass(named_cost, LINK, Wishes(seed * 20_000, None, seed % 2 == 0)), program)
    states = [(print_migraphx(program), repr(debugger.facts))]
    while debugger.forward() is not None:
        states.append((print_migraphx(program), repr(debugger.facts)))
    assert len(states) > 8
    while debugger.position:
        assert (print_migraphx(program), repr(debugger.facts)) == states[debugger.position]
        debugger.back()
    assert states[0] == (text, repr(debugger.facts))


@pytest.mark.parametrize("seed", range(12))
def test_planning_a_plan_gives_the_same_times(seed: int) -> None:
    text = random_text(seed, 4 + seed, 3 + seed)
    program, plan = planned(text, Wishes(30_000, None))
    again, second = planned(print_migraphx(program), Wishes(30_000, None))
    assert second.period_us == pytest.approx(plan.period_us)
    assert {w.name for w in second.resident} == {w.name for w in plan.resident}
    assert not verify_plan(again, parse_migraphx(text), budget=30_000, steady=True)


PIECES = """\
module: "main"
@1 = hip::hip_allocate_memory[shape=int8_type, {8192}, {1},id=main:scratch] -> int8_type, {8192}, {1}
x = @param:x -> float_type, {1, 256}, {256, 1}
@2 = @literal{ ... } -> float_type, {1, 256}, {256, 1}
@3 = load[offset=0,end=2048](@1) -> float_type, {1, 512}, {512, 1}
@4 = load[offset=0,end=1024](@3) -> float_type, {1, 256}, {512, 1}
@5 = gpu::code_object[code_object=0,symbol_name=k5_kernel,global=64,local=64,](x,@2,@4) -> float_type, {1, 256}, {512, 1}
@6 = load[offset=1024,end=2048](@3) -> float_type, {1, 256}, {512, 1}
@7 = load[offset=4096,end=5120](@1) -> float_type, {1, 256}, {256, 1}
@8 = gpu::code_object[code_object=0,symbol_name=k7_kernel,global=64,local=64,](x,@2,@7) -> float_type, {1, 256}, {256, 1}
@9 = gpu::code_object[code_object=0,symbol_name=k9_kernel,global=64,local=64,](@8,@6) -> float_type, {1, 256}, {512, 1}
@10 = identity(@3,@5,@9) -> float_type, {1, 512}, {512, 1}
@11 = load[offset=5120,end=7168](@1) -> float_type, {1, 512}, {512, 1}
@12 = gpu::code_object[code_object=0,symbol_name=k9_kernel,global=64,local=64,](@10,@11) -> float_type, {1, 512}, {512, 1}
@13 = @return(@12)
"""


def test_pieces_of_a_buffer_keep_their_places() -> None:
    program, plan = planned(PIECES, Wishes(0, None))
    assert not verify_plan(program, parse_migraphx(PIECES), budget=0, steady=True)
    assert sorted(buffer.bytes for buffer in plan.buffers) == [1024, 2048, 2048]
    pieces = [
        op
        for op in of_name(program, "load")
        if op.operands[0].op is not None and op.operands[0].op.name == "load"
    ]
    assert [(op.attributes["offset"], op.attributes["end"]) for op in pieces] == [
        ("0", "1024"),
        ("1024", "2048"),
    ]


def in_place(names: tuple[str, str, str], second: str = "@5") -> tuple[Program, Plan]:
    kb = "float_type, {256}, {1}"
    lines = [
        'module: "main"',
        "@1 = hip::hip_allocate_memory[shape=int8_type, {3072}, {1},id=main:scratch] -> int8_type, {3072}, {1}",
        f"x = @param:x -> {kb}",
        f"@2 = load[offset=0,end=1024](@1) -> {kb}",
        f"@3 = gpu::code_object[code_object=0,symbol_name={names[0]},global=64,local=64,](x,@2) -> {kb}",
        f"@4 = load[offset=1024,end=2048](@1) -> {kb}",
        f"@5 = gpu::code_object[code_object=0,symbol_name={names[1]},global=64,local=64,](@3,@4) -> {kb}",
        f"@6 = load[offset=2048,end=3072](@1) -> {kb}",
        f"@7 = gpu::code_object[code_object=0,symbol_name={names[2]},global=64,local=64,]({second},@6) -> {kb}",
        "@8 = @return(@7)",
    ]
    text = "\n".join(lines) + "\n"
    program, plan = planned(text, Wishes(0, None))
    assert not verify_plan(program, parse_migraphx(text), budget=0, steady=True)
    return program, plan


def test_pointwise_kernels_write_over_what_dies() -> None:
    _, plan = in_place(("exp_kernel", "relu_kernel", "add_kernel"))
    assert plan.arena == 1024  # one buffer for the whole chain
    _, plan = in_place(("exp_kernel", "mlir_convolution", "add_kernel"))
    assert plan.arena == 2048  # a convolution reads elements that it has written
    _, plan = in_place(("exp_kernel", "relu_kernel", "add_kernel"), "@5,@3")
    assert plan.arena == 2048  # @3 is read again later: only one of the two steps may write over its operand


def test_plans_do_not_depend_on_the_run() -> None:
    text = random_text(5, 20, 20)
    first, _ = planned(text, Wishes(50_000, None))
    second, _ = planned(text, Wishes(50_000, None))
    assert print_migraphx(first) == print_migraphx(second)


def test_a_limit_that_cannot_be_kept_says_what_would_do() -> None:
    text = random_text(3, 8, 8)
    with pytest.raises(InputError) as failure:
        planned(text, Wishes(0, 1000))
    needed = int(str(failure.value).split("needs ")[1].split(" ")[0].replace(",", ""))
    program, plan = planned(text, Wishes(0, needed))
    memory = plan_memory(main_body(program))
    assert memory["resident"] + plan.arena + memory["parameters"] + memory["code"] <= needed


@pytest.mark.parametrize("seed", range(40))
def test_every_mutation_that_makes_a_plan_wrong_is_rejected(seed: int) -> None:
    text = random_text(seed, 6 + seed % 12, 6 + seed % 12, largest=16)
    program, _ = planned(text, Wishes(40_000, None))
    original = parse_migraphx(text)
    chance = random.Random(seed)
    mutation = MUTATIONS[seed % len(MUTATIONS)]
    if not mutation(program, chance):
        pytest.skip("this plan has nothing of the kind")
    broken = parse_migraphx(print_migraphx(program))
    assert verify_plan(broken, original, budget=40_000, steady=True)


def of_name(program: Program, *names: str) -> list[Op]:
    return [op for op in main_body(program) if op.name in names]


def drop_copy_wait(program: Program, chance: random.Random) -> bool:
    """A kernel no longer waits for the copy that it reads."""
    body = main_body(program)
    waits = [
        op
        for at, op in enumerate(body)
        if op.name == "gpu::wait_event"
        and body[at + 1].name != "hip::copy_to_gpu"
        and on_stream(body, at) == "0"
    ]
    if not waits:
        return False
    edit.erase(chance.choice(waits))
    return True


def on_stream(body: list[Op], at: int) -> str:
    stream = "0"
    for op in body[:at]:
        if op.name == "gpu::set_stream":
            stream = op.attributes["stream"]
    return stream


def outside_arena(program: Program, chance: random.Random) -> bool:
    load = chance.choice(of_name(program, "load"))
    size = int(load.attributes["end"]) - int(load.attributes["offset"])
    arena = int(
        of_name(program, "hip::hip_allocate_memory")[0].results[0].type.text.split("{")[1].split("}")[0]
    )
    edit.set_attribute(load, "offset", str(arena - size + 16))
    edit.set_attribute(load, "end", str(arena + 16))
    return True


def onto_its_input(program: Program, chance: random.Random) -> bool:
    """A kernel's result is put where a copied literal that it reads lies."""
    for kernel in of_name(program, "gpu::code_object"):
        target = kernel.operands[-1].op
        for value in kernel.operands[:-1]:
            copy = value.op
            if (
                copy is not None
                and copy.name == "hip::copy_to_gpu"
                and target is not None
                and target.name == "load"
            ):
                source = copy.operands[-1].op
                assert source is not None
                size = int(target.attributes["end"]) - int(target.attributes["offset"])
                start = int(source.attributes["offset"])
                edit.set_attribute(target, "offset", str(start))
                edit.set_attribute(target, "end", str(start + size))
                return True
    return False


def over_budget(program: Program, chance: random.Random) -> bool:
    copies = of_name(program, "hip::copy_to_gpu")
    if not copies:
        return False
    from passlens.ir.journal import assign

    for copy in copies:
        literal = copy.operands[0].op
        assert literal is not None
        edit.replace_all_uses(copy.results[0], literal.results[0])
        edit.erase(copy)
        assign(literal, "name", "hip::hip_copy_literal")
        edit.set_attribute(literal, "id", f"main:@literal:{literal.results[0].name[1:]}")
    return sum(plan_memory(main_body(program))[k] for k in ("resident",)) > 40_000


def wrong_literal(program: Program, chance: random.Random) -> bool:
    copies = of_name(program, "hip::copy_to_gpu")
    for copy in copies:
        for other in copies:
            if other is not copy and other.operands[0].type.text == copy.operands[0].type.text:
                edit.set_operand(copy, 0, other.operands[0])
                return True
    return False


def drop_all_guards(program: Program, chance: random.Random) -> bool:
    """Copies no longer wait for what they overwrite."""
    body = main_body(program)
    guards = [op for at, op in enumerate(body) if op.name == "gpu::wait_event" and on_stream(body, at) == "1"]
    for op in guards:
        edit.erase(op)
    return bool(guards)


def other_operand(program: Program, chance: random.Random) -> bool:
    for kernel in reversed(of_name(program, "gpu::code_object")):
        for index, value in enumerate(kernel.operands[:-1]):
            other = next((v for v in before(program, kernel) if v is not value and v.type.text != ""), None)
            if other is not None and other is not value:
                edit.set_operand(kernel, index, other)
                return True
    return False


def before(program: Program, kernel: Op) -> list[Value]:
    body = main_body(program)
    return [op.results[0] for op in body[: body.index(kernel)] if op.name == "gpu::code_object"]


MUTATIONS = [
    drop_copy_wait, outside_arena, onto_its_input, over_budget, wrong_literal, drop_all_guards, other_operand,
]  # fmt: skip


def test_the_seed_is_planned_at_least_1_7_times_faster(golden_seed: str) -> None:
    from passlens.ir.passes.streaming.report import plan_report

    report = plan_report(lambda: parse_migraphx(golden_seed), device("h200"), Wishes(0), curve=False)
    assert not report.violations
    assert report.before_us / report.period_us >= 1.7
    assert report.before.literals == 105_378_732
    assert report.before.arena == 31_232_000
    assert report.before.peak_live == 31_215_616
    assert report.before.everything_but_literals == 8_028_160
    assert (report.copies_before, report.hidden_by_nothing) == (119, 46)
    assert report.before_timeline.overlap == 0.0
    assert report.timeline.overlap > 0.99
    assert report.plan.arena <= report.plan.live_bound * 1.02


@pytest.fixture
def golden_seed() -> str:
    from pathlib import Path

    from passlens.ir.trace import open_trace

    golden = Path(__file__).parents[3] / "golden" / "seeds" / "migraphx_streaming_resnet50.txt"
    return open_trace(str(golden)).text(0)


def test_random_programs_are_read(tmp_path: object) -> None:
    """The generator's own text is a good program: what is planned is not nonsense."""
    for seed in range(20):
        program = random_program(seed, 6, 6)
        assert not program.diagnostics
        assert len(work(program).weights) == 6
