"""Timelines drawn in the terminal and written for Perfetto."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from passlens.ir.analysis.devices import Transfer, device
from passlens.ir.analysis.migraphx_summary import main_body
from passlens.ir.analysis.timeline import Timeline, timeline
from passlens.ir.formats.migraphx import parse_migraphx
from passlens.ir.trace import open_trace
from passlens.tui.report.perfetto import trace_events, write_trace
from passlens.tui.report.timeline_text import ASCII, UNICODE, Marks, marks_for, timeline_text

GOLDEN = Path(__file__).parents[1] / "golden"
CARD = replace(device("h200"), name="card", launch_us=1.0, event_us=0.0, pinned=Transfer(10.0, 1000.0))
NONE = "float_type, {}, {}"


def overlapped(name: str = "add_kernel", runs: int = 1) -> Timeline:
    """Copies of 20 and 30 µs on stream 1; kernels of 30 and 10 µs, the second waiting for the second copy."""
    text = f"""module: "main"
a = @literal{{ ... }} -> int8_type, {{10000}}, {{1}}
b = @literal{{ ... }} -> int8_type, {{20000}}, {{1}}
p = @param:p -> int8_type, {{10000}}, {{1}}
q = @param:q -> int8_type, {{20000}}, {{1}}
s1 = gpu::set_stream[stream=1] -> {NONE}
c = hip::copy_to_gpu(a,p) -> int8_type, {{10000}}, {{1}}
d = hip::copy_to_gpu(b,q) -> int8_type, {{20000}}, {{1}}
r = gpu::record_event[event=4] -> {NONE}
s0 = gpu::set_stream[stream=0] -> {NONE}
k = gpu::code_object[code_object=1,symbol_name={name}](p) -> {NONE}: 0.03ms, 1%
w = gpu::wait_event[event=4] -> {NONE}
l = gpu::code_object[code_object=1,symbol_name={name}](d) -> {NONE}: 0.01ms, 1%
"""
    return timeline(main_body(parse_migraphx(text)), CARD, runs=runs)


def test_the_picture_of_a_small_program() -> None:
    # 61 µs in all; cut to 60 cells of 1 µs from 0 to 60.
    assert timeline_text(overlapped(), width=75, marks=ASCII, to_us=60) == (
        "card, pinned host memory, one run: 61.0 us; a run's kernels 40.0 us, copies\n"
        "  50.0 us, issuing 4.0 us\n"
        "A run takes 61.0 us, 1.22 times the bound of 50.0 us (the copies alone).\n"
        "60.0 % of the copies' time is hidden under kernels; kernels wait 21.0 us in\n"
        "  all: 18.0 us for events, 3.0 us for the host.\n"
        "\n"
        "              0.0 us         15.0 us        30.0 us        45.0 us\n"
        "host         |hhhh........................................................|\n"
        "copy         |.cc==============================cccccccccccccccccc.........|\n"
        "stream 0     |...##############################..................#########|\n"
        "stream 1     |.cc==============================cccccccccccccccccc.........|\n"
        "# kernel  = copy under a kernel  c copy under none  h host issues  . idle\n"
        "\n"
        "2 stalls of kernels by cause: event 18.0 us, host 3.0 us\n"
        "  at 0.0 us: stream 0 stands still for 3.0 us before the kernel add_kernel\n"
        "    of k: the host issues it only then: issuing what is in front of it\n"
        "    takes that long\n"
        "  at 33.0 us: stream 0 stands still for 18.0 us before the kernel\n"
        "    add_kernel of l: it waits for event 4, recorded behind the copy of b\n"
        "    (20.0 KB) on stream 1\n"
    )


def seed() -> Timeline:
    trace = open_trace(str(GOLDEN / "seeds/migraphx_streaming_resnet50.txt"))
    return timeline(main_body(trace.program(0)), device("h200"), runs=2)


@pytest.mark.parametrize("width", [1, 40, 80, 133, 400])
@pytest.mark.parametrize("marks", [ASCII, UNICODE])
def test_no_line_is_wider_than_the_terminal(width: int, marks: Marks) -> None:
    text = timeline_text(seed(), width=width, marks=marks, most_stalls=100)
    assert max(map(len, text.split("\n"))) <= max(width, 40)
    assert marks is UNICODE or text.isascii()
    assert "run ends" in text
    lanes = [line for line in text.split("\n") if line.startswith(("host ", "copy ", "stream 0", "run ends"))]
    assert len({len(lane) for lane in lanes}) == 1
    (stream,) = [lane for lane in lanes if lane.startswith("stream 0")]
    assert marks.kernel in stream
    assert marks.exposed in stream
    assert marks.hidden not in stream


def test_a_stretch_can_be_cut_out() -> None:
    text = timeline_text(overlapped(), width=75, marks=ASCII, from_us=33, to_us=51)
    assert "copy         |" + "c" * 60 + "|" in text
    assert "(nothing to draw)" in timeline_text(overlapped(), width=75, from_us=5, to_us=5)
    assert "(nothing to draw)" in timeline_text(timeline([], CARD), width=75)


def test_many_streams_are_cut_and_said_to_be() -> None:
    lines = ['module: "main"']
    for n in range(200):
        lines += [
            f"s{n} = gpu::set_stream[stream={n}] -> {NONE}",
            f"k{n} = gpu::code_object[symbol_name=x]() -> {NONE}",
        ]
    text = timeline_text(timeline(main_body(parse_migraphx("\n".join(lines) + "\n")), CARD), width=80)
    assert "(137 more lanes)" in text
    assert "and 190 shorter ones" in text


def test_what_a_dump_calls_things_cannot_harm_a_terminal_or_a_trace() -> None:
    result = overlapped("\x1b[31mred\u202e<script>")
    for marks in (ASCII, UNICODE):
        text = timeline_text(result, width=80, marks=marks)
        assert "\x1b" not in text
        assert "\u202e" not in text
    file = io.StringIO()
    write_trace(result, file)
    assert file.getvalue().isascii()


def test_marks_follow_the_encoding() -> None:
    assert marks_for("utf-8") is marks_for("UTF-8:replace") is UNICODE
    assert {
        marks_for(name) for name in ("ascii", "latin-1:strict", None, "", ":replace", "no such encoding")
    } == {ASCII}
    for marks in (ASCII, UNICODE):
        each = [getattr(marks, name) for name in Marks.__slots__]
        assert len(set(each)) == len(each)
        assert all(len(mark) == 1 for mark in each)


def test_a_trace_for_perfetto() -> None:
    result = overlapped(runs=2)
    file = io.StringIO()
    write_trace(result, file)
    trace = json.loads(file.getvalue())
    assert trace["traceEvents"] == list(trace_events(result))
    events = trace["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert list(names.values()) == ["host", "copy", "stream 0"]
    complete = [e for e in events if e["ph"] == "X"]
    assert len(complete) == len(result.intervals)
    for event, interval in zip(complete, result.intervals, strict=True):
        assert names[event["tid"]] == interval.lane
        assert (event["ts"], event["dur"]) == (pytest.approx(interval.start_us), pytest.approx(interval.us))
        assert event["args"]["run"] == interval.run + 1
    arrows = {phase: [e for e in events if e["ph"] == phase] for phase in "sf"}
    assert [e["id"] for e in arrows["s"]] == [e["id"] for e in arrows["f"]] == [1, 2]
    assert (arrows["s"][0]["ts"], arrows["f"][0]["ts"]) == (51, 51)
    assert {names[e["tid"]] for e in arrows["s"]} == {"copy"}
    (last,) = [
        e for e in complete if e["args"]["op"] == "l" and e["cat"] == "kernel" and e["args"]["run"] == 1
    ]
    assert last["args"]["why it begins then"].startswith(
        "it waits for event 4, recorded behind the copy of b"
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 200), st.floats(0, 200), st.floats(0, 200), st.sampled_from([ASCII, UNICODE]))
def test_any_stretch_at_any_width_can_be_drawn(width: int, start: float, end: float, marks: Marks) -> None:
    text = timeline_text(overlapped(runs=2), width=width, marks=marks, from_us=start, to_us=end)
    assert max(map(len, text.split("\n"))) <= max(width, 40)
