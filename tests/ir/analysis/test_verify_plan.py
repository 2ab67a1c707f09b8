"""The verifier of streaming plans: sound plans pass, and each way of breaking one is named."""

from __future__ import annotations

import random
import re
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from passlens.ir.analysis.migraphx_summary import main_body
from passlens.ir.analysis.verify_plan import plan_memory, verify_plan
from passlens.ir.formats.migraphx import parse_migraphx
from passlens.ir.program import Program
from passlens.ir.trace import open_trace
from stream_plans import Net, Planner, original, races, random_net

ROOT = Path(__file__).parents[3]
SEED = ROOT / "tests/golden/seeds/migraphx_streaming_resnet50.txt"
RACES = {"RAW", "WAR", "WAW", "overlap", "uncopied", "in-place", "return"}
NUMBERS = st.integers(0, 10**6)


def parsed(text: str) -> Program:
    program = parse_migraphx(text)
    assert not [d for d in program.diagnostics if d.code != "undefined-value"]
    return program


def planned(number: int) -> tuple[Net, list[str], Program]:
    """A random net, the lines of a sound plan of it, and the original program."""
    rng = random.Random(number)
    net = random_net(rng, rng.randint(1, 9), rng.randint(1, 8))
    resident = {index for index in range(len(net.counts)) if rng.random() < 0.3}
    plan = Planner(net, rng, rng.randint(1, 4), resident).plan()
    return net, plan.splitlines(), parsed(original(net))


def kinds(lines: list[str], before: Program, **options: int | bool | None) -> set[str]:
    found = verify_plan(parsed("\n".join(lines) + "\n"), before, **options)  # type: ignore[arg-type]  # one of each
    assert all(violation.message and str(violation).startswith(violation.kind) for violation in found)
    return {violation.kind for violation in found}


def places(lines: list[str], pattern: str) -> list[int]:
    return [number for number, line in enumerate(lines) if re.search(pattern, line)]


def resident_bytes(lines: list[str]) -> int:
    return plan_memory(main_body(parsed("\n".join(lines) + "\n")))["resident"]


# -- plans that are right ------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(NUMBERS)
def test_sound_plans_pass(number: int) -> None:
    _, lines, before = planned(number)
    needed = sum(plan_memory(main_body(parsed("\n".join(lines) + "\n"))).values())
    assert kinds(lines, before, budget=resident_bytes(lines), memory_limit=needed) == set()
    assert kinds(lines, before, steady=False) == set()
    assert verify_plan(before, before) == []


def test_the_report_and_its_memory() -> None:
    program, again = (open_trace(str(SEED)).program(0) for _ in range(2))
    assert verify_plan(program, again, budget=0, memory_limit=31232000 + 606112 + 548368) == []
    assert plan_memory(main_body(program)) == {
        "resident": 0, "arena": 31232000, "parameters": 606112, "code": 548368, "other": 0,
    }  # fmt: skip
    (memory,) = verify_plan(program, again, memory_limit=31232000 + 606112 + 548368 - 1)
    assert memory.kind == "memory"


def test_a_prefetching_sample_is_sound_once_and_races_with_its_next_run() -> None:
    path = str(ROOT / "samples/cnn_streamed_prefetch.txt")
    program = open_trace(path).program(0)
    assert verify_plan(program, program, steady=False) == []
    found = verify_plan(program, program)
    assert {v.kind for v in found} == {"WAR"}
    assert all("of the next run" in v.message for v in found)


@settings(max_examples=60, deadline=None)
@given(NUMBERS)
def test_names_of_events_and_places_of_views_do_not_matter(number: int) -> None:
    _, lines, before = planned(number)
    renamed = [re.sub(r"event=(\d+)", lambda m: f"event={int(m[1]) * 7 + 3}", line) for line in lines]
    assert kinds(renamed, before) == set()
    views = places(lines, "hip::view_bytes")
    for first, second in pairwise(views):
        if second == first + 1:
            lines[first], lines[second] = lines[second], lines[first]
    loads = places(lines, r" = load\[")
    for load in loads:
        lines.insert(2, lines.pop(load))  # buffers may be named any time before their use
    assert kinds(lines, before) == set()


# -- plans that are wrong ------------------------------------------------------------------------------


@settings(max_examples=400, deadline=None)
@given(NUMBERS, st.sampled_from(["offset", "event", "swap"]))
def test_it_rejects_just_the_plans_that_some_order_breaks(number: int, how: str) -> None:
    _, lines, before = planned(number)
    rng = random.Random(number + 1)
    if how == "offset":
        loads = places(lines, r" = load\[")
        one, other = rng.choice(loads), rng.choice(loads)
        start, end = map(int, re.findall(r"offset=(\d+),end=(\d+)", lines[one])[0])
        target = max(0, int(re.findall(r"offset=(\d+)", lines[other])[0]) + rng.choice([0, -16, 16]))
        span = f"offset={target},end={target + end - start}"
        lines[one] = lines[one].replace(f"offset={start},end={end}", span)
    elif how == "event":
        del lines[rng.choice(places(lines, "_event|set_stream") or [-1])]
    else:
        body = range(2, len(lines) - 1)
        lines.insert(rng.choice(body), lines.pop(rng.choice(body)))
    program = parsed("\n".join(lines) + "\n")
    found = {violation.kind for violation in verify_plan(program, before)}
    if "order" not in found and lines[-1].startswith("@900000"):
        assert bool(found & RACES) == races(main_body(program))


@settings(max_examples=60, deadline=None)
@given(NUMBERS)
def test_a_wait_for_a_record_that_was_dropped(number: int) -> None:
    _, lines, before = planned(number)
    for record in places(lines, "record_event"):
        assert "event" in kinds(lines[:record] + lines[record + 1 :], before)


@settings(max_examples=60, deadline=None)
@given(NUMBERS)
def test_a_copy_that_was_dropped_or_comes_too_late(number: int) -> None:
    _, lines, before = planned(number)
    for copy in places(lines, "_to_gpu"):
        assert "order" in kinds(lines[:copy] + lines[copy + 1 :], before)
        late = [*lines[:copy], *lines[copy + 1 : -1], lines[copy], lines[-1]]
        assert "order" in kinds(late, before)
        # What reads the copy reads its buffer instead, where nothing has been copied to.
        name, room = lines[copy].split(" = ")[0], re.findall(r"(@\d+)\)", lines[copy])[0]
        skipped = [re.sub(rf"{name}\b", room, line) for n, line in enumerate(lines) if n != copy]
        assert kinds(skipped, before) & {"operand", "uncopied", "WAW"}


@settings(max_examples=60, deadline=None)
@given(NUMBERS)
def test_a_copy_of_another_literal(number: int) -> None:
    net, lines, before = planned(number)
    for copy in places(lines, "_to_gpu"):
        for literal in re.findall(r"@1\d{5}\b", lines[copy]):
            other = f"@{100000 + (int(literal[1:]) - 99999) % len(net.counts)}"
            if other != literal:
                changed = [*lines[:copy], lines[copy].replace(literal, other), *lines[copy + 1 :]]
                assert kinds(changed, before) & {"operand", "order"}
    for copy in places(lines, "hip_copy_literal"):
        other = f"{100000 + (int(lines[copy][1:7]) - 99999) % len(net.counts)}"
        changed = [*lines]
        changed[copy] = re.sub(r"literal:\d+", f"literal:{other}", lines[copy])
        if other != lines[copy][1:7]:
            used = any(f"{lines[copy][:7]}," in line for line in lines)
            assert not used or kinds(changed, before) & {"operand", "literal"}


@settings(max_examples=25, deadline=None)
@given(NUMBERS)
def test_a_kernel_that_does_something_else(number: int) -> None:
    _, lines, before = planned(number)
    for kernel in places(lines, "gpu::code_object"):
        for old, new, kind in [
            ("symbol_name=mlir_dot_add", "symbol_name=mlir_dot", "kernel"),
            ("global=64", "global=128", "kernel"),
            ("}, {1}", "}, {2}", "kernel"),
            (re.findall(r"\(([^,]*),", lines[kernel])[0] + ",", "@1,", "operand"),
        ]:
            changed = [*lines[:kernel], lines[kernel].replace(old, new), *lines[kernel + 1 :]]
            assert kind in kinds(changed, before), (old, lines[kernel])
    (back,) = places(lines, "@return")
    first = lines[places(lines, "gpu::code_object")[0]].split(" = ")[0]
    if first not in lines[back]:
        assert "operand" in kinds([*lines[:back], f"@900000 = @return({first})"], before)


@settings(max_examples=60, deadline=None)
@given(NUMBERS)
def test_a_budget_and_a_limit_that_are_too_small(number: int) -> None:
    _, lines, before = planned(number)
    resident = resident_bytes(lines)
    if resident:
        assert kinds(lines, before, budget=resident - 1) == {"budget"}
    needed = sum(plan_memory(main_body(parsed("\n".join(lines) + "\n"))).values())
    assert kinds(lines, before, memory_limit=needed - 1) == {"memory"}


@settings(max_examples=25, deadline=None)
@given(NUMBERS)
def test_buffers_outside_too_small_and_crooked(number: int) -> None:
    _, lines, before = planned(number)
    arena = int(re.findall(r"\{(\d+)\}", lines[1])[0])
    for load in places(lines, r" = load\["):
        start, end = map(int, re.findall(r"offset=(\d+),end=(\d+)", lines[load])[0])
        for span, kind in [
            (f"offset={arena},end={arena + end - start}", "outside"),
            (f"offset={end},end={start}", "outside"),
            (f"offset={start},end={end - 4}", "size"),
            (f"offset={start + 4},end={end + 4}", "alignment"),
        ]:
            if kind == "alignment" and not re.search(r"float_type, \{(8|20|64|256|128|16)\}", "".join(lines)):
                continue
            old = f"offset={start},end={end}"
            changed = [*lines[:load], lines[load].replace(old, span), *lines[load + 1 :]]
            assert kinds(changed, before) & {kind, "outside"}, span


# -- single rules --------------------------------------------------------------------------------------

HEAD = """module: "main"
@1 = hip::hip_allocate_memory[shape=int8_type, {4096}, {1},id=main:scratch] -> int8_type, {4096}, {1}
x = @param:x -> float_type, {64}, {1}
"""
KERNEL = "gpu::code_object[code_object=9,symbol_name=%s,global=64,local=64]"


def twin(first: str, second: str, kernel: str = "mlir_dot", end: str = "@7") -> list[str]:
    """Two kernels that write buffers at the given offsets, the second reading the first's result."""
    kernel_text = KERNEL % kernel
    text = f"""{HEAD}@4 = load[offset={first}](@1) -> float_type, {{64}}, {{1}}
@5 = {KERNEL % "mlir_dot"}(x,@4) -> float_type, {{64}}, {{1}}
@6 = load[offset={second}](@1) -> float_type, {{64}}, {{1}}
@7 = {kernel_text}(@5,@6) -> float_type, {{64}}, {{1}}
@8 = @return({end})
"""
    return text.splitlines()


@pytest.mark.parametrize(
    ("kernel", "second", "wrong"),
    [
        ("mul_add_relu_kernel", "0,end=256", set()),
        ("leaky_relu_kernel", "0,end=256", set()),
        ("mlir_dot", "0,end=256", {"in-place"}),
        ("mul_reduce_sum_kernel", "0,end=256", {"in-place"}),
        ("mul_add_relu_kernel", "128,end=384", {"in-place"}),
    ],
)
def test_writing_in_place(kernel: str, second: str, wrong: set[str]) -> None:
    before = parsed("\n".join(twin("0,end=256", "256,end=512", kernel)) + "\n")
    lines = twin("0,end=256", second, kernel)
    assert kinds(lines, before) == wrong
    # What the original does already is its own business.
    assert kinds(lines, parsed("\n".join(lines) + "\n")) == set()


def test_a_body_says_whether_a_kernel_may_write_in_place() -> None:
    body = ['module: "main:k"', "main:x0 = @param:x0 -> float_type, {64}, {1}"]
    for op, wrong in (("relu", set()), ("softmax[axis=0]", {"in-place"})):
        inner = [*body, f"main:@1 = {op}(main:x0) -> float_type, {{64}}, {{1}}", "main:@2 = @return(main:@1)"]
        lines = twin("0,end=256", "0,end=256", "fused_kernel")
        lines = [line.replace("(@5,@6)", "(@5,@6), [main:k]") for line in lines] + inner
        before = [line.replace("offset=0,end=256](@1) -> float_type, {64}, {1}", "offset=512,end=768](@1) -> float_type, {64}, {1}")
                  if line.startswith("@4 ") else line for line in lines]  # fmt: skip
        assert kinds(lines, parsed("\n".join(before) + "\n")) == wrong


def test_modules_beside_main_stay_as_they_were() -> None:
    lines = twin("0,end=256", "256,end=512")
    body = ['module: "main:k"', "main:x0 = @param:x0 -> float_type, {64}, {1}", "main:@2 = @return(main:x0)"]
    before = parsed("\n".join([*lines, *body]) + "\n")
    assert kinds([*lines, *body], before) == set()
    assert kinds(lines, before) == {"module"}
    assert kinds([*lines, *body[:2], "main:@2 = @return()"], before) == {"module"}
    more = ['module: "main:l"', "main:@9 = @return()"]
    assert kinds([*lines, *body, *more], before) == {"module"}


def test_a_result_must_be_done_when_the_first_stream_is() -> None:
    lines = twin("0,end=256", "256,end=512")
    before = parsed("\n".join(lines) + "\n")
    on_one = [*lines[:3], "@20 = gpu::set_stream[stream=1] -> float_type, {}, {}", *lines[3:]]
    assert kinds(on_one, before, steady=False) == {"return"}
    back = [
        "@21 = gpu::record_event[event=0] -> float_type, {}, {}",
        "@22 = gpu::set_stream[stream=0] -> float_type, {}, {}",
        "@23 = gpu::wait_event[event=0] -> float_type, {}, {}",
    ]
    assert kinds([*on_one[:-1], *back, on_one[-1]], before, steady=False) == set()


def test_a_run_that_ends_on_another_stream_than_the_next_begins_on() -> None:
    lines = twin("0,end=256", "256,end=512")
    before = parsed("\n".join(lines) + "\n")
    tail = [*lines[:-1], "@20 = gpu::set_stream[stream=1] -> float_type, {}, {}", lines[-1]]
    assert kinds(tail, before, steady=False) == set()
    assert "stream" in kinds(tail, before)
    assert "stream" not in kinds(
        [*lines[:2], "@21 = gpu::set_stream[stream=0] -> float_type, {}, {}", *tail[2:]], before
    )


def test_a_kernel_that_reads_a_literal_on_the_host() -> None:
    lines = twin("0,end=256", "256,end=512")
    lines[3:3] = ["@30 = @literal{ ... } -> float_type, {64}, {1}"]
    lines = [line.replace("(@5,@6)", "(@30,@6)") for line in lines]
    assert kinds(lines, parsed("\n".join(lines) + "\n")) == {"uncopied"}


def test_room_to_work_in_is_written() -> None:
    """A buffer that a kernel is given and that nothing has written is its workspace."""
    lines = twin("0,end=256", "256,end=512")
    room = ["@30 = load[offset=512,end=768](@1) -> float_type, {64}, {1}"]
    lines = [*lines[:3], *room, *[line.replace("(@5,@6)", "(@5,@30,@6)") for line in lines[3:]]]
    before = parsed("\n".join(lines) + "\n")
    assert kinds(lines, before) == set()
    for offset in (0, 256):
        moved = [line.replace("offset=512,end=768", f"offset={offset},end={offset + 256}") for line in lines]
        assert kinds(moved, before) == {"in-place"}


def test_a_copy_into_less_than_it_copies() -> None:
    small, large = "float_type, {4}, {1}", "float_type, {64}, {1}"
    text = f"""{HEAD}@3 = @literal{{ ... }} -> {large}
@4 = load[offset=0,end=256](@1) -> {large}
@5 = hip::copy_to_gpu(@3,@4) -> {large}
@6 = load[offset=256,end=512](@1) -> {large}
@7 = {KERNEL % "mlir_dot"}(x,@5,@6) -> {large}
@8 = @return(@7)
"""
    before = parsed(text)
    room, less = f"load[offset=0,end=256](@1) -> {large}", f"load[offset=0,end=16](@1) -> {small}"
    assert kinds(text.splitlines(), before) == set()
    assert kinds(text.replace(room, less).splitlines(), before) == {"size"}
    batch = text.replace(
        f"@5 = hip::copy_to_gpu(@3,@4) -> {large}",
        "@9 = hip::copy_batch_to_gpu(@3,@4) -> int8_type, {256}, {1}\n"
        f"@5 = hip::view_bytes[offset=0](@9) -> {large}",
    )
    assert kinds(batch.splitlines(), before) == set()
    assert kinds(batch.replace(room, less).splitlines(), before) == {"size", "outside", "uncopied"}


def test_a_buffer_whose_size_is_not_known() -> None:
    lines = [line.replace("float_type, {64}, {1}", "dynamic, float_type, {[1..4], 16}") if line.startswith("@4 ") else line
             for line in twin("0,end=256", "256,end=512")]  # fmt: skip
    assert "size" in kinds(lines, parsed("\n".join(lines) + "\n"))


@pytest.mark.parametrize(
    ("op", "kind"),
    [
        ("set_stream[stream=-1]", "stream"),
        ("set_stream[stream=12345678901]", "stream"),
        ("record_event[event=]", "event"),
        ("wait_event", "event"),
    ],
)
def test_streams_and_events_have_numbers(op: str, kind: str) -> None:
    lines = twin("0,end=256", "256,end=512")
    before = parsed("\n".join(lines) + "\n")
    odd = [*lines[:3], f"@20 = gpu::{op} -> float_type, {{}}, {{}}", *lines[3:]]
    assert kind in kinds(odd, before)


def test_pieces_of_a_concatenation_keep_their_places() -> None:
    text = f"""{HEAD}@4 = load[offset=0,end=512](@1) -> float_type, {{128}}, {{1}}
@5 = load[offset=0,end=256](@4) -> float_type, {{64}}, {{1}}
@6 = {KERNEL % "mlir_dot"}(x,@5) -> float_type, {{64}}, {{1}}
@7 = load[offset=256,end=512](@4) -> float_type, {{64}}, {{1}}
@8 = {KERNEL % "mlir_dot"}(x,@7) -> float_type, {{64}}, {{1}}
@9 = identity(@4,@6,@8) -> float_type, {{128}}, {{1}}
@10 = load[offset=512,end=768](@1) -> float_type, {{64}}, {{1}}
@11 = {KERNEL % "mlir_dot"}(@9,@10) -> float_type, {{64}}, {{1}}
@12 = @return(@11)
"""
    lines, before = text.splitlines(), parsed(text)
    assert kinds(lines, before) == set()
    moved = [line.replace("offset=0,end=512](@1)", "offset=1024,end=1536](@1)") for line in lines]
    assert kinds(moved, before) == set()
    swapped = text.replace("(x,@5)", "(x,@0)").replace("(x,@7)", "(x,@5)").replace("(x,@0)", "(x,@7)")
    lines = swapped.splitlines()
    lines.insert(4, lines.pop(6))
    assert "operand" in kinds(lines, before)
    # Something else is written into one piece after it is done.
    late = [
        "@13 = load[offset=0,end=256](@1) -> float_type, {64}, {1}",
        f"@14 = {KERNEL % 'mlir_dot'}(x,@13) -> float_type, {{64}}, {{1}}",
    ]
    lines = text.splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("@11"))
    assert kinds([*lines[:at], *late, *lines[at:]], before) == {"overlap", "kernel"}


def test_a_parameter_may_be_updated_and_not_clobbered() -> None:
    text = f"""{HEAD}@4 = {KERNEL % "mlir_dot"}(x,x) -> float_type, {{64}}, {{1}}
@5 = @return(@4)
"""
    assert kinds(text.splitlines(), parsed(text)) == set()
    lines = twin("0,end=256", "256,end=512")
    before = parsed(
        "\n".join([*lines[:3], "@30 = @literal{ ... } -> float_type, {64}, {1}", *lines[3:]]) + "\n"
    )
    clobbers = [
        "@30 = @literal{ ... } -> float_type, {64}, {1}",
        "@31 = hip::copy_to_gpu(@30,x) -> float_type, {64}, {1}",
    ]
    assert "overlap" in kinds([*lines[:-1], *clobbers, lines[-1]], before)


def test_ten_thousand_instructions_take_less_than_a_second() -> None:
    rng = random.Random(1)
    net = random_net(rng, 2000, 2000)
    before = parsed(original(net))
    plan = parsed(Planner(net, rng, 8, set()).plan())
    assert len(main_body(plan)) > 10_000
    verify_plan(plan, before)  # types and attributes are read once
    started = time.process_time()
    assert verify_plan(plan, before) == []
    assert time.process_time() - started < 1
