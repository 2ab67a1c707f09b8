"""The order of instructions over several runs that the host issues back to back, and waits across them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from passlens.ir.analysis.hazards import memory_faults
from passlens.ir.analysis.migraphx_summary import main_body
from passlens.ir.analysis.order import order_of
from passlens.ir.formats.migraphx import parse_migraphx
from passlens.ir.program import Op

ACTIONS = [
    "kernel",
    *(f"{word} {n}" for word in ("stream", "record", "wait") for n in (0, 1)),
    "sync",
    "device",
]


def build(actions: list[str]) -> list[Op]:
    ops = {
        "kernel": "gpu::code_object[code_object=1](x,out) -> float_type, {4}, {1}",
        "stream": "gpu::set_stream[stream=%] -> float_type, {}, {}",
        "record": "gpu::record_event[event=%] -> float_type, {}, {}",
        "wait": "gpu::wait_event[event=%] -> float_type, {}, {}",
        "sync": "hip::sync_stream -> float_type, {}, {}",
        "device": "hip::sync_device -> float_type, {}, {}",
    }
    lines = ['module: "main"']
    for number, action in enumerate(actions):
        word, _, which = action.partition(" ")
        lines.append(f"@{number} = {ops[word].replace('%', which)}")
    return main_body(parse_migraphx("\n".join(lines) + "\n"))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(ACTIONS), max_size=10), st.integers(1, 3))
def test_runs_are_the_program_written_out_as_often(actions: list[str], runs: int) -> None:
    once, unrolled = order_of(build(actions), runs), order_of(build(actions * runs))
    assert (once.streams, once.clocks, once.ticks) == (unrolled.streams, unrolled.clocks, unrolled.ticks)


def test_a_wait_in_front_of_its_record_waits_for_the_run_before() -> None:
    actions = ["stream 1", "wait 0", "kernel", "stream 0", "kernel", "record 0"]
    order = order_of(build(actions), runs=3)
    assert order.unrecorded == []
    for run in (0, 1):
        reader, next_writer = 6 * run + 4, 6 * (run + 1) + 2
        assert order.before(reader, next_writer)
        assert not order.before(6 * run + 2, reader)
    without = [action for action in actions if action != "wait 0"]
    order = order_of(build(without), runs=2)
    assert not order.before(3, 5 + 1)


def test_only_an_event_that_nothing_records_is_a_fault() -> None:
    actions = ["wait 0", "wait 1", "kernel", "record 0"]
    assert order_of(build(actions), runs=3).unrecorded == [1]
    (fault,) = memory_faults(build(actions)).unrecorded
    assert fault.attributes["event"] == "1"
