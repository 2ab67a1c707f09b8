"""Timelines: small ones worked out by hand, the report's program, and random programs against first principles."""

from __future__ import annotations

import gc
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from passlens.ir.analysis.devices import Device, Transfer, device
from passlens.ir.analysis.hazards import memory_faults
from passlens.ir.analysis.intervals import EPSILON, Interval
from passlens.ir.analysis.migraphx_summary import main_body
from passlens.ir.analysis.second_stream import move_copies
from passlens.ir.analysis.stalls import critical_path, sentence, stalled_us, verdict, why
from passlens.ir.analysis.timeline import Timeline, timeline
from passlens.ir.analysis.timeline_json import to_json
from passlens.ir.formats.migraphx import parse_migraphx
from passlens.ir.formats.migraphx_print import print_migraphx
from passlens.ir.program import Op
from passlens.ir.trace import open_trace

GOLDEN = Path(__file__).parents[2] / "golden"
H200 = device("h200")
# Launches take 1 µs, an event 0.5; a copy 10 µs and 1 µs for each 1000 bytes.
CARD = replace(
    H200,
    launch_us=1.0,
    event_us=0.5,
    pinned=Transfer(10.0, 1000.0),
    pageable=Transfer(20.0, 500.0),
    copy_engines=1,
)


def program(lines: str) -> list[Op]:
    """A program in short: `K 30` a kernel of 30 µs, `C 5000` a copy of 5000 bytes, `s 1` set_stream, `r e` and
    `w e` events, `B 100` a copy back, `sync` and `sync all`."""
    text = ['module: "main"']
    none = "float_type, {}, {}"
    for at, line in enumerate(lines.split(";")):
        word, _, rest = line.strip().partition(" ")
        shape = f"int8_type, {{{rest}}}, {{1}}"
        match word:
            case "K":
                made = f"k{at} = gpu::code_object[code_object=1,symbol_name=add_kernel]() -> {none}: {float(rest) / 1000}ms, 1%"
            case "C":
                text += [f"l{at} = @literal{{ ... }} -> {shape}", f"p{at} = @param:p{at} -> {shape}"]
                made = f"c{at} = hip::copy_to_gpu(l{at},p{at}) -> {shape}"
            case "B":
                text += [f"p{at} = @param:p{at} -> {shape}"]
                made = f"b{at} = hip::copy_from_gpu(p{at}) -> {shape}"
            case "s":
                made = f"s{at} = gpu::set_stream[stream={rest}] -> {none}"
            case "r":
                made = f"r{at} = gpu::record_event[event={rest}] -> {none}"
            case "w":
                made = f"w{at} = gpu::wait_event[event={rest}] -> {none}"
            case "sync":
                made = f"y{at} = hip::sync_{'device' if rest else 'stream'}() -> {none}"
            case _:
                raise AssertionError(line)
        text.append(made)
    return main_body(parse_migraphx("\n".join(text) + "\n"))


def spans(result: Timeline, *lanes: str) -> list[tuple[str, float, float]]:
    return [
        (i.op.results[0].name, round(i.start_us, 6), round(i.end_us, 6))
        for i in result.intervals
        if i.lane in lanes
    ]


def seed() -> list[Op]:
    return main_body(open_trace(str(GOLDEN / "seeds/migraphx_streaming_resnet50.txt")).program(0))


# By hand


def test_one_stream_does_one_thing_after_the_other() -> None:
    result = timeline(program("C 5000;K 30;C 20000;K 7"), CARD)
    assert spans(result, "copy", "stream 0") == [
        ("c0", 1, 16),
        ("k1", 16, 46),
        ("c2", 46, 76),
        ("k3", 76, 83),
    ]
    assert spans(result, "host") == [("c0", 0, 1), ("k1", 1, 2), ("c2", 2, 3), ("k3", 3, 4)]
    assert (result.makespan_us, result.compute_us, result.copy_us, result.host_us) == (83, 37, 45, 4)
    assert (result.bound_us, result.overlap) == (45, 0.0)
    assert [(s.interval.lane, s.us, s.interval.cause) for s in result.stalls] == [
        ("copy", 1, "start"), ("stream 0", 16, "stream"), ("copy", 30, "stream"), ("stream 0", 30, "stream"),
    ]  # fmt: skip
    assert sentence(result.stalls[3]) == (
        "stream 0 stands still for 30.0 µs before the kernel add_kernel of k3: it comes behind the copy of l2 "
        "(20.0 KB) on the same stream 0"
    )


TWO = "s 1;C 20000;r 0;C 10000;r 1;s 0;K 10;w 0;K 15;w 1;K 5"


def test_a_second_stream_with_events_hides_copies() -> None:
    result = timeline(program(TWO), CARD)
    # Copies: 1…31 and (issued at 2.5) 31…51; the kernels are issued at 4, 5.5 and 7.
    assert spans(result, "copy") == [("c1", 1, 31), ("c3", 31, 51)]
    assert spans(result, "stream 0") == [("k6", 4, 14), ("k8", 31, 46), ("k10", 51, 56)]
    assert result.overlap == pytest.approx((10 + 15) / 50)
    assert [(s.interval.op.results[0].name, s.us, s.interval.cause) for s in result.stalls if s.interval.lane != "copy"] == [
        ("k6", 4, "host"), ("k8", 17, "event"), ("k10", 5, "event"),
    ]  # fmt: skip
    last = result.stalls[-1]
    assert why(last.interval) == "it waits for event 1, recorded behind the copy of l3 (10.0 KB) on stream 1"
    assert [i.op.results[0].name for i in critical_path(last.interval)] == ["k10", "c3", "c1"]


def test_runs_go_on_where_the_one_before_ended() -> None:
    result = timeline(program(TWO), CARD, runs=4)
    # The copies never stop: each run ends 5 µs after its second copy.
    assert result.ends_us == [56, 106, 156, 206]
    assert (result.period_us, result.makespan_us, result.bound_us) == (50, 206, 50)
    assert [i.run for i in result.on("copy")] == [0, 0, 1, 1, 2, 2, 3, 3]


def test_the_period_is_that_of_the_later_runs() -> None:
    # Copy and kernel take 60 µs one after the other and 30 a run; the copy back takes 50 a run.
    result = timeline(program("s 1;C 20000;r 0;s 0;w 0;K 30;s 2;B 40000"), CARD, runs=5)
    assert result.ends_us == [61, 104, 154, 204, 254]
    assert (result.period_us, result.bound_us) == (50, 50)
    assert timeline(program("K 5"), CARD).period_us == 6


def test_a_wait_before_its_record_is_for_the_run_before() -> None:
    # The copy of a run may only begin when the kernel of the run before has read its memory.
    steady = program("s 1;w 9;C 10000;r 0;s 0;w 0;K 30;r 9")
    result = timeline(steady, CARD, runs=3)
    assert spans(result, "copy") == [("c2", 1.5, 21.5), ("c2", 51.5, 71.5), ("c2", 101.5, 121.5)]
    assert spans(result, "stream 0") == [("k6", 21.5, 51.5), ("k6", 71.5, 101.5), ("k6", 121.5, 151.5)]
    assert [i.cause for i in result.on("copy")] == ["host", "event", "event"]
    assert why(result.on("copy")[1]) == (
        "it waits for event 9, recorded behind the kernel add_kernel of k6 of run 1 on stream 0"
    )
    assert result.overlap == 0
    assert result.unrecorded == []


def test_a_wait_for_what_nothing_records_holds_nothing() -> None:
    result = timeline(program("w 5;K 10"), CARD, runs=2)
    assert spans(result, "stream 0") == [("k1", 1.5, 11.5), ("k1", 11.5, 21.5)]
    assert [op.name for op in result.unrecorded] == ["gpu::wait_event"]
    assert (
        verdict(result)[-1] == "Nothing records the events 5 that are waited for: these waits hold nothing."
    )


def test_a_wait_is_for_the_last_record_that_was_issued() -> None:
    result = timeline(program("s 1;C 90000;r 0;s 0;K 5;r 0;s 2;w 0;K 1"), CARD)
    assert spans(result, "stream 2") == [("k8", 7.5, 8.5)]  # event 0 is now that of k4 (2.5…7.5)


def test_events_chained_over_streams_name_the_work_behind_them() -> None:
    result = timeline(program("s 1;C 5000;r 0;s 2;w 0;r 1;s 0;w 1;K 3"), CARD)
    (kernel,) = result.on("stream 0")
    assert (kernel.start_us, kernel.cause, kernel.event) == (16, "event", "1")
    assert kernel.waits_for is result.on("copy")[0]


def test_pageable_copies_hold_the_host() -> None:
    result = timeline(program("C 5000;K 30;C 5000;K 1"), CARD, pinned=False)
    # 20 + 10 µs a copy; the host issues the kernel only after the first copy and the second copy waits for it.
    assert spans(result, "copy", "stream 0") == [
        ("c0", 1, 31),
        ("k1", 32, 62),
        ("c2", 62, 92),
        ("k3", 93, 94),
    ]
    assert [(i.kind, i.start_us, i.end_us) for i in result.on("host")] == [
        ("issue", 0, 1), ("wait", 1, 31), ("issue", 31, 32), ("issue", 32, 33), ("wait", 33, 92), ("issue", 92, 93),
    ]  # fmt: skip
    assert result.intervals[-1].cause == "host"
    assert why(result.intervals[-1]).endswith("it was held until the copy of l2 (5.0 KB) was done")
    assert result.host_us == 4


def test_synchronisation_holds_the_host() -> None:
    stream = timeline(program("s 1;K 50;s 0;K 10;sync;K 1"), CARD)
    # Kernels share the compute units: k3 becomes ready at 2 and runs at 51.
    assert spans(stream, "stream 0", "stream 1") == [("k1", 1, 51), ("k3", 51, 61), ("k5", 62, 63)]
    assert stream.on("stream 0")[0].cause == "compute"
    assert (
        why(stream.on("stream 0")[0])
        == "the compute units are busy with the kernel add_kernel of k1 on stream 1"
    )
    every = timeline(program("s 1;C 50000;s 0;K 10;sync all;K 1"), CARD)
    assert spans(every, "stream 0") == [("k3", 2, 12), ("k5", 62, 63)]
    one = timeline(program("s 1;C 50000;s 0;K 10;sync;K 1"), CARD)
    assert spans(one, "stream 0") == [("k3", 2, 12), ("k5", 13, 14)]


def test_a_blocked_stream_does_not_block_the_engine_for_others() -> None:
    result = timeline(program("K 100;r 0;s 1;w 0;C 1000;s 2;C 2000"), CARD)
    assert spans(result, "copy") == [("c6", 4, 16), ("c4", 101, 112)]


def test_copies_of_several_streams_take_turns() -> None:
    result = timeline(program("s 1;C 5000;s 2;C 5000"), CARD)
    first, second = result.on("copy")
    assert (second.start_us, second.cause, second.waits_for) == (16, "copy engine", first)
    assert why(second) == "the copy engine is busy with the copy of l1 (5.0 KB)"


def test_engines_share_the_link() -> None:
    result = timeline(program("s 1;C 5000;s 2;C 5000;s 3;C 100"), replace(CARD, copy_engines=2))
    # Latencies overlap; the bytes of the second follow those of the first, at 16.
    assert spans(result, "copy") == [("c1", 1, 16), ("c5", 16, 26.1)]
    assert spans(result, "copy 2") == [("c3", 2, 21)]
    assert result.lanes == ["host", "copy", "copy 2"]
    assert result.bound_us == pytest.approx((15 + 15 + 10.1) / 2)


def test_the_two_directions_do_not_disturb_each_other() -> None:
    result = timeline(program("s 1;C 5000;s 2;B 5000"), CARD)
    assert spans(result, "copy") == [("c1", 1, 16)]
    assert spans(result, "copy back") == [("b3", 2, 17)]
    assert (result.bound_us, result.copy_us) == (15, 30)


@pytest.mark.parametrize("text", ["s 0", "r 1", "w 1;r 1", "sync"])
def test_programs_without_work(text: str) -> None:
    result = timeline(program(text), CARD, runs=2)
    assert (result.compute_us, result.copy_us, result.bound_us, result.overlap, result.stalls) == (
        0,
        0,
        0,
        0,
        [],
    )
    assert verdict(result)[:2] == [
        "Nothing runs on the device.",
        "Nothing is copied between host and device.",
    ]
    assert to_json(result)["stalls"] == []
    assert timeline([], CARD).makespan_us == 0


def test_a_program_that_is_not_lowered_is_said_to_be_so() -> None:
    (path,) = GOLDEN.glob("cases/migraphx_formats/03_*.txt")
    result = timeline(main_body(open_trace(str(path)).program(0)), CARD)
    assert verdict(result) == [
        "Nothing runs on the device: the program is not lowered to the GPU, no instruction is a kernel or a copy.",
        "Nothing is copied between host and device.",
        "Not counted is what if of @7, loop of @9 and the like run: it is known only when they run.",
    ]
    assert to_json(result)["uncounted"] == ["@7", "@9"]


@pytest.mark.parametrize(
    "path", sorted(GOLDEN.glob("cases/migraphx*/*.txt")), ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_every_dump_has_a_timeline(path: Path) -> None:
    trace = open_trace(str(path))
    for snapshot in trace.snapshots:
        program = trace.program(snapshot)
        if program.format != "migraphx":
            continue
        for module in program.ops:
            body = [op for region in module.regions for block in region.blocks for op in block.ops]
            for pinned in (True, False):
                result = timeline(body, CARD, runs=2, pinned=pinned)
                assert result.makespan_us >= 2 * result.bound_us
                assert result.makespan_us < 1e5
                assert to_json(result)["verdict"]


def test_a_timeline_is_of_one_run_at_least() -> None:
    with pytest.raises(ValueError, match="not of 0"):
        timeline(program("K 1"), CARD, runs=0)


# The report's program


def test_the_report_hides_nothing_and_says_why() -> None:
    result = timeline(seed(), H200)
    assert result.overlap == 0
    assert result.lanes == ["host", "copy", "stream 0"]
    assert result.makespan_us == pytest.approx(result.compute_us + result.copy_us + H200.launch_us)
    assert result.bound_us == result.copy_us
    assert verdict(result) == [
        "A run takes 4.97 ms, 1.82 times the bound of 2.74 ms (the copies alone).",
        "0 % of the copies' time is hidden under kernels: all 119 copies and 71 kernels are on stream 0, in "
        "which each waits for the one before it.",
    ]
    kernels = [stall for stall in result.stalls if stall.interval.kind == "kernel"]
    assert {stall.interval.cause for stall in kernels} == {"stream"}
    assert stalled_us(kernels)["stream"] == pytest.approx(result.copy_us + H200.launch_us)
    worst = max(kernels, key=lambda stall: stall.us)
    assert "copies in a row" in sentence(worst)


def test_the_report_with_its_copies_on_a_second_stream_is_fast_and_wrong() -> None:
    trace = open_trace(str(GOLDEN / "seeds/migraphx_streaming_resnet50.txt"))
    moved = trace.program(0)
    assert not memory_faults(main_body(moved)).any
    assert move_copies(moved) == 119
    text = print_migraphx(moved)
    body = main_body(parse_migraphx(text))
    assert print_migraphx(parse_migraphx(text)) == text
    result = timeline(body, H200)
    assert result.overlap > 0.7
    assert {i.stream for i in result.on("copy")} == {1}
    assert {i.stream for i in result.intervals if i.kind == "kernel"} == {0}
    races = memory_faults(body).hazards
    found = {(h.kind, h.first.results[0].name, h.second.results[0].name) for h in races}
    assert found == _races(body)
    copied = {op.results[0].name for op in body if op.name == "hip::copy_to_gpu"}
    assert {first for kind, first, _ in found if kind == "RAW"} == copied
    assert {h.streams for h in races} == {(0, 1), (1, 0)}


Touch = tuple[Op, bool, int, int]


def _touches(body: list[Op]) -> list[Touch]:
    """(op, whether it writes, from, to) for each operand that lies in the arena."""
    where: dict[int, tuple[int, int]] = {}
    touches: list[Touch] = []
    for op in body:
        if op.name == "load":
            where[id(op.results[0])] = (int(op.attributes["offset"]), int(op.attributes["end"]))
        elif op.name in ("multibroadcast", "step"):
            where[id(op.results[0])] = where[id(op.operands[0])]
        elif op.name.startswith(("gpu::code_object", "gpu::pooling", "hip::copy_to_gpu")):
            last = len(op.operands) - 1
            touches += [(op, at == last, *where[id(v)]) for at, v in enumerate(op.operands) if id(v) in where]
            if id(op.operands[-1]) in where:
                where[id(op.results[0])] = where[id(op.operands[-1])]
    return touches


def _races(body: list[Op]) -> set[tuple[str, str, str]]:
    """Of each byte its last write, the last read of each side, and what comes next of the other side."""
    touches = _touches(body)
    found = set()
    for low in {edge for *_, start, end in touches for edge in (start, end)}:
        write: Op | None = None
        reads: dict[bool, Op] = {}
        for op, writes in ((op, writes) for op, writes, start, end in touches if start <= low < end):
            copies = op.name == "hip::copy_to_gpu"
            if write is not None and (write.name == "hip::copy_to_gpu") != copies:
                found.add(("WAW" if writes else "RAW", write.results[0].name, op.results[0].name))
            if writes:
                found |= {
                    ("WAR", r.results[0].name, op.results[0].name) for c, r in reads.items() if c != copies
                }
                write, reads = op, {}
            else:
                reads[copies] = op
    return found


# First principles


@st.composite
def random_programs(draw: st.DrawFn, streams: int = 2) -> str:
    words = ["K {n}", "C {n}000", "B {n}000", "s {s}", "r {e}", "w {e}", "sync", "sync all"]
    weights = draw(st.sampled_from([words[:6], words[:3] + words[3:6] * 2, words]))
    picked = draw(st.lists(st.sampled_from(weights), min_size=4, max_size=40))
    return ";".join(
        word.format(
            n=draw(st.integers(0, 30)), s=draw(st.integers(0, streams - 1)), e=draw(st.integers(0, 4))
        )
        for word in picked
    )


CARDS = [CARD, replace(CARD, launch_us=0.0, event_us=0.0), replace(CARD, launch_us=7.0, event_us=3.0)]
cards = st.sampled_from(CARDS)


def dependencies(text: str, runs: int) -> list[tuple[str, int, int, list[int]]]:
    """(word, number, stream, the earlier items that its stream makes it wait for) of every issued item."""
    items: list[tuple[str, int, int, list[int]]] = []
    stream = 0
    tails: dict[int, int] = {}
    events: dict[int, int] = {}
    for _ in range(runs):
        for line in text.split(";"):
            word, _, rest = line.partition(" ")
            number = int(rest) if rest.isdecimal() else 0
            if word == "s":
                stream = number
                continue
            before = [tails[stream]] if stream in tails else []
            if word == "w" and number in events:
                before.append(events[number])
            if word == "sync" and rest:
                before = list(tails.values())
            items.append((word + ("!" if word == "sync" and rest else ""), number, stream, before))
            if items[-1][0] != "sync!":
                tails[stream] = len(items) - 1
            if word == "r":
                events[number] = len(items) - 1
    return items


def longest_paths(text: str, card: Device, runs: int, pinned: bool, result: Timeline) -> list[float]:
    """When each item would be done if each engine served its work in the order that the timeline says.

    Longest paths over the graph of stream order, events, the host's order and holds, and the engines' order.
    """
    items = dependencies(text, runs)
    work = [at for at, item in enumerate(items) if item[0] in "KCB"]
    intervals = sorted((i for i in result.intervals if i.lane != "host"), key=lambda i: (i.run, i.index))
    assert len(work) == len(intervals)
    turn: dict[int, int] = {}
    place = {id(interval): at for at, interval in zip(work, intervals, strict=True)}
    for lanes in (("copy",), ("copy back",), tuple(lane for lane in result.lanes if "stream" in lane)):
        row = [place[id(i)] for i in result.intervals if i.lane in lanes]
        turn.update(zip(row[1:], row[:-1], strict=True))
    host_after: list[float] = []
    done: dict[int, float] = {}

    def end(at: int) -> float | None:
        """When item `at` is done, or None while what it needs is not known yet."""
        word, number, _, before = items[at]
        needs = [*before, *([turn[at]] if at in turn else [])]
        if at >= len(host_after) or any(need not in done for need in needs):
            return None
        transfer = card.transfer(pinned)
        us = {"K": float(number), "C": transfer.time_us(number), "B": transfer.time_us(number)}.get(word, 0.0)
        return max([host_after[at], *(done[need] for need in needs)]) + us

    clock = 0.0
    held: int | None = None
    for _ in range(2 * len(items) + 2):
        while len(host_after) < len(items) and (held is None or held in done):
            clock = max(clock, done[held]) if held is not None else clock
            word = items[len(host_after)][0]
            clock += card.launch_us if word in "KCB" else card.event_us if word in "rw" else 0.0
            host_after.append(clock)
            holds = word.startswith("sync") or (not pinned and word in "CB")
            held = len(host_after) - 1 if holds else None
        for at in range(len(host_after)):
            if at not in done and (finished := end(at)) is not None:
                done[at] = finished
    assert len(done) == len(items)
    return [done[at] for at in work]


@settings(max_examples=400, deadline=None)
@given(random_programs(), cards, st.integers(1, 3), st.booleans())
def test_random_programs_are_longest_paths(text: str, card: Device, runs: int, pinned: bool) -> None:
    result = timeline(program(text), card, runs=runs, pinned=pinned)
    intervals = sorted((i for i in result.intervals if i.lane != "host"), key=lambda i: (i.run, i.index))
    ends = longest_paths(text, card, runs, pinned, result)
    assert [i.end_us for i in intervals] == pytest.approx(ends, abs=1e-3)


@settings(max_examples=400, deadline=None)
@given(random_programs(streams=4), cards, st.integers(1, 3), st.booleans(), st.integers(1, 3))
def test_what_holds_of_every_timeline(text: str, card: Device, runs: int, pinned: bool, engines: int) -> None:
    result = timeline(program(text), replace(card, copy_engines=engines), runs=runs, pinned=pinned)
    device_work = [i for i in result.intervals if i.lane != "host"]
    one_at_a_time = [result.on(lane) for lane in result.lanes if not lane.startswith("stream")]
    one_at_a_time.append([i for i in device_work if i.kind == "kernel"])
    for row in one_at_a_time:
        for first, second in pairwise(row):
            assert first.end_us <= second.start_us + EPSILON
    for stream in range(4):
        row = sorted((i for i in device_work if i.stream == stream), key=lambda i: (i.run, i.index))
        for first, second in pairwise(row):
            assert first.end_us <= second.start_us + EPSILON
    assert sum(i.us for i in device_work if i.kind == "kernel") == pytest.approx(runs * result.compute_us)
    if engines == 1:
        assert sum(i.us for i in device_work if i.kind == "copy") == pytest.approx(runs * result.copy_us)
    assert result.makespan_us >= runs * result.bound_us - 1e-6
    assert result.makespan_us >= result.host_us * runs - 1e-6
    assert 0 <= result.overlap <= 1 + 1e-9
    for run, end in enumerate(result.ends_us):
        assert end == max((i.end_us for i in result.intervals if i.run == run), default=end)
    _idle_for_a_reason(result, device_work)


def _idle_for_a_reason(result: Timeline, device_work: list[Interval]) -> None:
    """Nothing begins later than its critical edge ends, and every gap of a lane is a stall."""
    issued = {(i.index, i.run): i.end_us for i in result.on("host") if i.kind == "issue"}
    for i in device_work:
        if i.cause in ("host", "start"):
            begin = issued.get((i.index, i.run), i.start_us)  # launches may cost nothing
            assert i.start_us == pytest.approx(begin, abs=1e-3)
        else:
            assert i.waits_for is not None
            assert i.start_us == pytest.approx(i.waits_for.end_us, abs=1e-3)
        assert why(i)
    for lane in result.lanes[1:]:
        row = result.on(lane)
        gaps = row[0].start_us + sum(b.start_us - a.end_us for a, b in pairwise(row))
        assert sum(s.us for s in result.stalls if s.interval.lane == lane) == pytest.approx(gaps, abs=1e-3)


@settings(max_examples=100, deadline=None)
@given(random_programs(streams=3), cards)
def test_engines_serve_in_the_order_of_readiness(text: str, card: Device) -> None:
    result = timeline(program(text), card)
    items = dependencies(text, 1)
    work = [at for at, item in enumerate(items) if item[0] in "KCB"]
    intervals = sorted((i for i in result.intervals if i.lane != "host"), key=lambda i: i.index)
    ends = dict(zip(work, (i.end_us for i in intervals), strict=True))
    issued = sorted(i.end_us for i in result.on("host") if i.kind == "issue")
    ready: dict[int, float] = {}
    if "sync" in text or (card.launch_us == 0):
        return
    for at, (_, _, _, before) in enumerate(items):
        ready[at] = max([issued[at], *(ends.get(b, ready[b]) for b in before)])
    place = dict(zip(map(id, intervals), work, strict=True))
    for lanes in (("copy",), ("copy back",), tuple(lane for lane in result.lanes if "stream" in lane)):
        row = [ready[place[id(i)]] for i in result.intervals if i.lane in lanes and i.us > 0]
        assert all(a <= b + 1e-3 for a, b in pairwise(row))


@settings(max_examples=100, deadline=None)
@given(random_programs(streams=3), st.booleans())
def test_json_says_the_same(text: str, pinned: bool) -> None:
    result = timeline(program(text), CARD, runs=2, pinned=pinned)
    said = to_json(result)
    assert len(said["intervals"]) == len(result.intervals)
    for interval, each in zip(result.intervals, said["intervals"], strict=True):
        assert (each["start_us"], each["lane"]) == (pytest.approx(interval.start_us, abs=1e-3), interval.lane)
        if interval.waits_for is not None:
            assert said["intervals"][each["waits_for"]]["index"] == interval.waits_for.index
    assert len(said["stalls"]) == len(result.stalls)
    assert "intervals" not in to_json(result, intervals=False)


# Speed


def _seconds(body: list[Op]) -> float:
    times = []
    gc.collect()
    gc.disable()  # a full collection looks at everything that the test process holds
    try:
        for _ in range(3):
            begin = time.process_time()
            timeline(body, CARD)
            times.append(time.process_time() - begin)
    finally:
        gc.enable()
    return min(times)


@pytest.mark.parametrize(
    "piece",
    [
        "s 1;C 5000;r {n};s 0;w {n};K 9",
        "r {n};w {n};r {m};w {m}",
        "s {n};K 1;r {n};s {m};w {n}",
        "C 100;K 1",
    ],
)
def test_time_grows_as_the_program_does(piece: str) -> None:
    small, large = (
        program(";".join(piece.format(n=n, m=n + 1) for n in range(count))) for count in (500, 4000)
    )
    assert _seconds(large) < 8 * 3 * _seconds(small) + 0.05
    assert _seconds(large) < 1.0
