"""Races, waits and arenas: the cases with their answers, the report, and every order of two accesses."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from passlens.ir import edit
from passlens.ir.analysis.hazards import memory_faults, shown, to_json
from passlens.ir.analysis.migraphx_summary import main_body
from passlens.ir.analysis.order import order_of
from passlens.ir.analysis.views import is_copy_to_gpu
from passlens.ir.formats.migraphx import parse_migraphx
from passlens.ir.program import Op, Program
from passlens.ir.trace import open_trace

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests/golden"
NOTHING = {"hazards": [], "waits_without_record": [], "live_overlaps": [], "outside_arena": []}


def faults(program: Program) -> dict[str, list[object]]:
    return to_json(memory_faults(main_body(program)))


def case(name: str) -> dict[str, list[object]]:
    (path,) = GOLDEN.glob(f"cases/migraphx/{name}*.txt")
    return faults(open_trace(str(path)).program(0))


def test_a_read_on_another_stream_without_an_event() -> None:
    (hazard,) = case("01_")["hazards"]
    assert hazard == {
        "kind": "RAW",
        "first": "@6",
        "second": "@9",
        "memory": "@1",
        "start": 0,
        "end": 1024,
        "streams": [1, 0],
    }


def test_a_copy_over_bytes_that_may_still_be_read() -> None:
    (hazard,) = case("03_")["hazards"]
    assert hazard == {
        "kind": "WAR",
        "first": "@11",
        "second": "@15",
        "memory": "@1",
        "start": 0,
        "end": 1024,
        "streams": [0, 1],
    }


def test_a_wait_for_what_nothing_records() -> None:
    assert case("04_") == {**NOTHING, "waits_without_record": ["@4"]}


def test_a_load_outside_the_arena() -> None:
    assert case("05_")["outside_arena"] == [{"load": "@3", "start": 1024, "end": 2048, "arena": 1536}]


def test_buffers_live_together_in_each_other_s_way() -> None:
    assert case("06_") == {
        **NOTHING,
        "live_overlaps": [{"first": "@3", "second": "@5", "start": 512, "end": 1024}],
    }


@pytest.mark.parametrize(
    "path",
    [GOLDEN / "seeds/migraphx_streaming_resnet50.txt", *GOLDEN.glob("cases/migraphx/0[278]*.txt"), *ROOT.glob("samples/cnn_*.txt")],
    ids=lambda path: path.name,
)  # fmt: skip
def test_sound_programs(path: Path) -> None:
    trace = open_trace(str(path))
    for snapshot in trace.snapshots:
        assert faults(trace.program(snapshot)) == NOTHING


CONCATENATION = """module: "main"
@1 = hip::hip_allocate_memory[shape=int8_type, {4096}, {1},id=main:scratch] -> int8_type, {4096}, {1}
x = @param:x -> float_type, {64}, {1}
@3 = load[offset=1024,end=1536](@1) -> float_type, {128}, {1}
@4 = load[offset=0,end=256](@3) -> float_type, {64}, {1}
@5 = gpu::gemm(x,@4) -> float_type, {64}, {1}
@6 = load[offset=256,end=512](@3) -> float_type, {64}, {1}
@7 = gpu::gemm(x,@6) -> float_type, {64}, {1}
@8 = load[offset=1536,end=1792](@1) -> float_type, {64}, {1}
@9 = gpu::gemm(x,@8) -> float_type, {64}, {1}
@10 = identity(@3,@5,@7) -> float_type, {128}, {1}
@11 = load[offset=512,end=768](@1) -> float_type, {64}, {1}
@12 = gpu::gemm(@10,@9,@11) -> float_type, {64}, {1}
@13 = @return(@12)
"""


def test_pieces_of_a_buffer_are_part_of_it() -> None:
    assert faults(parse_migraphx(CONCATENATION)) == NOTHING
    crossing = parse_migraphx(CONCATENATION.replace("offset=1536,end=1792", "offset=1280,end=1536"))
    assert faults(crossing)["live_overlaps"] == [{"first": "@3", "second": "@8", "start": 1280, "end": 1536}]
    beyond = parse_migraphx(CONCATENATION.replace("offset=256,end=512", "offset=384,end=640"))
    assert faults(beyond)["outside_arena"] == [{"load": "@6", "start": 384, "end": 640, "arena": 512}]
    on_two = CONCATENATION.replace("@8 = ", "@20 = gpu::set_stream[stream=1] -> float_type, {}, {}\n@8 = ")
    raced = faults(parse_migraphx(on_two.replace("@9 = gpu::gemm(x,", "@9 = gpu::gemm(@7,")))["hazards"]
    assert raced[0] == {
        "kind": "RAW",
        "first": "@7",
        "second": "@9",
        "memory": "@1",
        "start": 1280,
        "end": 1536,
        "streams": [0, 1],
    }


def on_a_second_stream(program: Program) -> None:
    """Put every copy of a one-stream program on stream 1, with no event."""
    for op in list(main_body(program)):
        if is_copy_to_gpu(op):
            block = op.block
            assert block is not None
            edit.create("gpu::set_stream", attributes={"stream": "1"}, before=op)
            behind = block.ops[block.ops.index(op) + 1]
            edit.create("gpu::set_stream", attributes={"stream": "0"}, before=behind)


def test_the_report_s_copies_on_a_second_stream_race() -> None:
    program = open_trace(str(GOLDEN / "seeds/migraphx_streaming_resnet50.txt")).program(0)
    on_a_second_stream(program)
    found = memory_faults(main_body(program))
    copies = {shown(op) for op in main_body(program) if is_copy_to_gpu(op)}
    raw = [h for h in found.hazards if h.kind == "RAW"]
    assert len(copies) == 119
    assert {shown(h.first) for h in raw} == copies  # whatever reads a copy races with it
    assert any(h.kind == "WAR" for h in found.hazards)
    assert all(h.streams in ((0, 1), (1, 0)) for h in found.hazards)


def test_dropping_an_event_of_a_sound_program_is_found() -> None:
    path = str(ROOT / "samples/cnn_streamed_prefetch.txt")
    count = sum(op.name == "gpu::wait_event" for op in main_body(open_trace(path).program(0)))
    assert count == 16
    for number in range(count):
        program = open_trace(path).program(0)
        waits = [op for op in main_body(program) if op.name == "gpu::wait_event"]
        edit.erase(waits[number])
        assert memory_faults(main_body(program)).hazards


PROLOGUE = (
    'module: "main"\n'
    "@0 = hip::hip_allocate_memory[shape=int8_type, {16}, {1},id=main:scratch] -> int8_type, {16}, {1}\n"
    "x = @param:x -> float_type, {4}, {1}\n"
    "@2 = load[offset=0,end=16](@0) -> float_type, {4}, {1}\n"
)
ACTIONS = [
    "write",
    "read",
    "stream 0",
    "stream 1",
    "stream 2",
    "record 0",
    "record 1",
    "wait 0",
    "wait 1",
    "sync",
    "device",
]


def build(actions: list[str]) -> Program:
    lines = [PROLOGUE.rstrip("\n")]
    for number, action in enumerate(actions, 3):
        word, _, which = action.partition(" ")
        op = {
            "write": "gpu::code_object[code_object=1](x,@2) -> float_type, {4}, {1}",
            "read": "gpu::code_object[code_object=1,output_arg=1](@2,out) -> float_type, {4}, {1}",
            "stream": f"gpu::set_stream[stream={which}] -> float_type, {{}}, {{}}",
            "record": f"gpu::record_event[event={which}] -> float_type, {{}}, {{}}",
            "wait": f"gpu::wait_event[event={which}] -> float_type, {{}}, {{}}",
            "sync": "hip::sync_stream -> float_type, {}, {}",
            "device": "hip::sync_device -> float_type, {}, {}",
        }[word]
        lines.append(f"@{number} = {op}")
    return parse_migraphx("\n".join(lines) + "\n")


def edges(actions: list[str]) -> list[set[int]]:
    """For each action everything surely before it: plain reachability over the rules, written another way."""
    stream = 0
    last: dict[int, int] = {}
    recorded: dict[str, int] = {}
    everywhere: set[int] = set()
    before: list[set[int]] = []
    for number, action in enumerate(actions):
        word, _, which = action.partition(" ")
        stream = int(which) if word == "stream" else stream
        mine = set(everywhere)
        for other in [last.get(stream), recorded.get(which) if word == "wait" else None]:
            if other is not None:
                mine |= before[other] | {other}
        before.append(mine)
        last[stream] = number
        if word == "record":
            recorded[which] = number
        elif word == "sync":
            everywhere |= mine | {number}
        elif word == "device":
            for other in last.values():
                everywhere |= before[other] | {other}
    return before


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(ACTIONS), max_size=14))
def test_the_order_is_reachability(actions: list[str]) -> None:
    ops: list[Op] = main_body(build(actions))
    order = order_of(ops)
    before = edges(actions)
    for second in range(len(actions)):
        for first in range(second):
            assert order.before(first + 3, second + 3) == (first in before[second])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(ACTIONS), max_size=14))
def test_every_race_is_found_and_nothing_else(actions: list[str]) -> None:
    ops = main_body(build(actions))
    before = edges(actions)
    racing = {
        (first, second)
        for second, b in enumerate(actions)
        for first, a in enumerate(actions[:second])
        if {a, b} <= {"write", "read"} and "write" in (a, b) and first not in before[second]
    }
    found = memory_faults(ops).hazards
    position = {id(op): index - 3 for index, op in enumerate(ops)}
    pairs = {(position[id(h.first)], position[id(h.second)]) for h in found}
    assert pairs <= racing
    assert bool(pairs) == bool(racing)
