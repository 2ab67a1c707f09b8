"""What stands around the IR of a log: prefixes, several writers, terminals, markdown, crashes in its middle."""

from __future__ import annotations

import gzip
import random
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from passlens.ir.formats import logs_gaps, logs_streams
from passlens.ir.trace import Trace, trace_of_text

GOLDEN = Path(__file__).parents[2] / "golden"
FIRST = '#blocked = #ttg.blocked<{}>\n#loc = loc("f":1:2)\n'
LAST = '#loc1 = loc("a":1:1)'


def module(kernel: str, body: str = "x.y") -> str:
    return (
        f"{FIRST}module attributes {{a = 1 : i32}} {{\n  tt.func public @{kernel}(%a: i32) {{\n"
        f"    {body}\n    tt.return\n  }}\n}} loc(#loc)\n{LAST}\n"
    )


def dump(name: str, text: str) -> str:
    return f"// -----// IR Dump Before {name} ({name.lower()}) ('builtin.module' operation) //----- //\n{text}\n\n"


def log(kernel: str) -> str:
    texts = [("Inliner", "x.y"), ("CSE", "x.z"), ("Layout", "x.z")]
    return "".join(dump(name, module(kernel, body)) for name, body in texts)


LOG = log("k1") + log("k2")
PLAIN = trace_of_text(LOG)


def texts(trace: Trace) -> list[str]:
    return [trace.text(snapshot) for snapshot in trace.snapshots]


def passes(trace: Trace) -> list[tuple[object, ...]]:
    return [(r.kernel, r.manager, r.name, r.before, r.after, trace.changed(r), r.failed) for r in trace.runs]


def test_the_plain_log() -> None:
    assert passes(PLAIN) == [
        (k, m, name, before, after, changed, False)
        for k, m, base in [("k1", 0, 0), ("k2", 1, 3)]
        for name, before, after, changed in [
            ("Inliner", base, base + 1, True),
            ("CSE", base + 1, base + 2, False),
            ("Layout", base + 2, None, None),
        ]
    ]
    assert all(text.startswith(FIRST) and text.endswith(LAST) for text in texts(PLAIN))


@pytest.mark.parametrize(
    "prefix",
    [
        "(Worker pid=12) ",
        "\x1b[36m(Worker pid=12)\x1b[0m ",
        "[rank0]: ",
        "[1,0]<stderr>:",
        "stderr: ",
        "> ",
        "    ",
        "worker-1  | ",
        "2024-06-20T12:00:{:02d}.123Z ",
        "12:00:{:02d} (Worker pid=12) ",
    ],
)
def test_any_prefix_is_taken_off(prefix: str) -> None:
    numbers = count()
    lines = [prefix.format(next(numbers) % 60) + line for line in LOG.rstrip("\n").split("\n")]
    trace = trace_of_text("\n".join(lines) + "\n")
    assert texts(trace) == texts(PLAIN)
    assert passes(trace) == passes(PLAIN)
    offset = trace.text(4).index("tt.func")
    line, column = trace.place(4, offset)
    assert lines[line - 1].encode()[column - 1 :].startswith(b"tt.func") or "\x1b" in prefix
    assert line == PLAIN.place(4, offset)[0]


def test_a_prefix_whose_trailing_blank_is_missing_on_empty_lines() -> None:
    lines = [f"(W pid=1) {line}".rstrip() for line in LOG.rstrip("\n").split("\n")]
    assert texts(trace_of_text("\n".join(lines))) == texts(PLAIN)


def test_writers_that_print_at_a_time_are_told_apart() -> None:
    rng = random.Random(7)
    writers = {pid: [f"(W pid={pid}) {line}" for line in log(f"k{pid}").split("\n")] for pid in (1, 2, 3)}
    mixed = []
    while any(writers.values()):
        lines = rng.choice([lines for lines in writers.values() if lines])
        mixed.append(lines.pop(0))
    trace = trace_of_text("\n".join(mixed))
    assert sorted(trace.kernels) == ["k1", "k2", "k3"]
    for kernel in trace.kernels:
        own = [trace.text(s) for s in trace.snapshots if s.kernel == kernel]
        assert own == texts(trace_of_text(log(kernel)))
    assert len({(run.kernel, run.manager) for run in trace.runs}) == 3
    assert [run.after is None for run in trace.runs] == [False, False, True] * 3


def test_carriage_returns() -> None:
    trace = trace_of_text(LOG.replace("\n", "\r\n"))
    assert texts(trace) == texts(PLAIN)
    assert passes(trace) == passes(PLAIN)


def test_a_banner_behind_a_progress_bar() -> None:
    trace = trace_of_text(LOG.replace("// -----// IR Dump Before CSE", "12%...// -----// IR Dump Before CSE"))
    assert texts(trace) == texts(PLAIN)
    assert passes(trace) == passes(PLAIN)


@pytest.mark.parametrize("width", [60, 70, 80])
def test_a_banner_that_a_terminal_wrapped(width: int) -> None:
    wrapped = "\n".join(
        line[at : at + width] for line in LOG.split("\n") for at in range(0, max(len(line), 1), width)
    )
    trace = trace_of_text(wrapped)
    assert [r.name for r in trace.runs] == [r.name for r in PLAIN.runs]
    assert texts(trace) == texts(PLAIN)


def test_a_banner_of_many_thousand_characters() -> None:
    text = dump("A" * 6000, module("k")) + dump("B", module("k"))
    assert [len(run.name) for run in trace_of_text(text).runs] == [6000, 1]


CRASH = (
    "python: /a/b.cpp:556: f(): Assertion `x' failed.\n"
    + module("k1")
    + module("k1")
    + '\n{-#\n  external_resources: {\n    mlir_reproducer: {\n      pipeline: "builtin.module(cse)"\n    }\n  }\n#-}\n'
    "x.py:3:1: error: Failures have been detected while processing an MLIR pass pipeline\n"
    "x.py:3:1: note: Pipeline failed while executing [`Layout` on 'builtin.module' operation]: reproducer\n"
    "RuntimeError: PassManager::run failed\n"
)


def test_a_crash_in_the_middle_of_a_log() -> None:
    trace = trace_of_text(log("k1") + CRASH + log("k2"))
    assert [(r.kernel, r.failed, r.after) for r in trace.runs] == [
        ("k1", False, 1), ("k1", False, 2), ("k1", True, None), ("k2", False, 6), ("k2", False, 7), ("k2", False, None),
    ]  # fmt: skip
    printed = [s for s in trace.snapshots if s.when == "whole"]
    assert [s.index for s in printed] == [3, 4]
    assert all(trace.text(s).startswith(FIRST) for s in printed)
    assert trace.program(4).resources.startswith("{-#")
    assert trace.facts.failing_pass == "Layout"
    assert trace.facts.reproducers == ["builtin.module(cse)"]


def test_a_run_that_failed_has_the_dump_behind_the_failure() -> None:
    failed = dump("Layout", module("k1", "x.q")).replace("Before Layout", "After Layout Failed")
    trace = trace_of_text(log("k1") + failed)
    assert [(run.after, run.failed) for run in trace.runs] == [(1, False), (2, False), (3, True)]


def test_two_modules_without_a_line_between_them() -> None:
    trace = trace_of_text(module("a") + module("b"))
    assert trace.kernels == ["a", "b"]
    assert texts(trace) == [module("a").rstrip("\n"), module("b").rstrip("\n")]


def test_other_aliases_than_locations_behind_a_module_are_its_own() -> None:
    text = (
        module("a").rstrip("\n") + '\n#di = #llvm.di_basic_type<name = "int">\n#loc2 = loc(fused<#di>[#loc1])'
    )
    trace = trace_of_text(dump("A", text) + dump("B", text))
    assert texts(trace) == [text, text]


class TestMarkdown:
    def test_an_indented_fence(self) -> None:
        inner = "".join(f"    {line}\n" for line in module("k").rstrip("\n").split("\n"))
        trace = trace_of_text(f"# A bug\n\n- First\n\n    ```mlir\n{inner}    ```\nbye\n")
        assert texts(trace) == [module("k").rstrip("\n")]
        assert trace.snapshots[0].title == "First"

    def test_a_program_cut_off_in_its_fence_does_not_swallow_the_page(self) -> None:
        trace = trace_of_text(
            f"# A bug\n\nSee\n\n```mlir\n{module('k')[:150]}\n```\n\nand so on {{ module\n}}\n"
        )
        assert len(trace.snapshots) == 1
        assert "and so on" not in trace.text(0)


def test_a_log_with_dumps_of_mlir_and_listings_of_migraphx() -> None:
    listing = 'module: "main"\nx = @param:x -> float_type, {4}, {1}\n@1 = @return(x)\n'
    trace = trace_of_text(f"Pass: a\n{listing}\n{module('k')}\nPass: b\n{listing}\n")
    assert [s.format for s in trace.snapshots] == ["migraphx", "mlir", "migraphx"]
    assert [(run.before, run.after) for run in trace.runs] == [(None, 0), (0, 2)]
    assert trace.changed(1) is False
    trace = trace_of_text(f"{listing}\n" + log("k1") + listing)
    assert [s.format for s in trace.snapshots] == ["migraphx", "mlir", "mlir", "mlir", "migraphx"]


def test_a_large_log_is_cut_as_a_small_one(monkeypatch: pytest.MonkeyPatch) -> None:
    talk = log("k1") + CRASH + log("k2") + "a warning\n" + log("k3")
    inner = talk.replace(
        "// -----// IR Dump Before CSE", "// -----// Pipeliner internal IR Dump After: Step\nmodule {\n}\n\n// -----// IR Dump Before CSE"
    )  # fmt: skip
    small = [trace_of_text(text) for text in (talk, inner)]
    monkeypatch.setattr(logs_gaps, "_ALL", 0)
    monkeypatch.setattr(logs_streams, "_LOOK_INTO_ALL", 0)
    for trace, text in zip(small, (talk, inner), strict=True):
        large = trace_of_text(text)
        assert passes(large) == passes(trace)
        assert texts(large) == texts(trace)
        assert [s.parent for s in large.snapshots] == [s.parent for s in trace.snapshots]
    assert sum(s.parent is not None for s in small[1].snapshots) == 3


class TestMigraphx:
    body = "x = @param:x -> float_type, {4}, {1}\n@1 = relu(x) -> float_type, {4}, {1}\n@2 = @return(@1)\n"

    def test_every_evaluation_is_a_program(self) -> None:
        lines = "".join(
            f"Run instruction: {line}\nTime: 0.1ms, 0.2ms\n" for line in self.body.strip().split("\n")
        )
        trace = trace_of_text(f'module: "main"\n{self.body}\nRunning\n{lines}{lines}Done\n{lines}')
        assert [s.title for s in trace.snapshots] == [
            "program",
            "evaluation 1",
            "evaluation 2",
            "evaluation 3",
        ]
        assert all(trace.text(s).endswith("0.2ms") for s in trace.snapshots[1:])

    def test_two_compiles_are_not_compared(self) -> None:
        compile_ = (
            f'Compiling ...\nPass: a\nmodule: "main"\n{self.body}\nPass: b\nmodule: "main"\n{self.body}\n'
        )
        trace = trace_of_text(compile_ * 2)
        assert [(run.manager, run.before) for run in trace.runs] == [(0, None), (0, 0), (1, None), (1, 2)]

    def test_a_worker_s_mark(self) -> None:
        text = f'Pass: a\nmodule: "main"\n{self.body}\na: 1.5ms\n'
        trace = trace_of_text("".join(f"(W pid=1) {line}\n" for line in text.split("\n")))
        assert trace.text(0) == f'module: "main"\n{self.body}'.rstrip("\n")
        assert [(run.name, run.milliseconds) for run in trace.runs] == [("a", 1.5)]


SOURCES = [
    (GOLDEN / "cases/layout/16_worker_prefixed_crash_log.txt").read_bytes(),
    (GOLDEN / "cases/migraphx/11_compile_trace_n_plus_1.txt").read_bytes(),
    (GOLDEN / "cases/migraphx_formats/07_trace_eval.txt").read_bytes(),
    (GOLDEN / "cases/migraphx_formats/09_error_at_end.txt").read_bytes(),
    gzip.decompress((GOLDEN / "logs/mlir-22-both.log.gz").read_bytes()),
    gzip.decompress((GOLDEN / "logs/triton-3.9.0-failing-pass.log.gz").read_bytes()),
    (log("k1") + CRASH + "".join(f"(W pid=3) {line}\n" for line in log("k2").split("\n"))).encode(),
]


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(SOURCES), st.floats(0, 1), st.floats(0, 1),
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=20), st.floats(0, 1),
)  # fmt: skip
def test_any_damage_is_survived(
    source: bytes, low: float, high: float, flips: list[tuple[float, int]], newlines: float
) -> None:
    data = bytearray(source[int(low * len(source) / 2) : len(source) - int(high * len(source) / 2)])
    for place, byte in flips if data else []:
        data[int(place * len(data))] = byte
    rng = random.Random(len(data))
    kept = bytes(b for b in data if b != 10 or newlines < 0.7 or rng.random() > 0.2)
    text = kept.decode("utf-8", "surrogateescape")
    trace = trace_of_text(text)
    for number, snapshot in enumerate(trace.snapshots):
        assert snapshot.index == number
        assert 0 <= snapshot.start <= snapshot.end <= len(kept)
        trace.program(snapshot)
        trace.between(snapshot)
        line, column = trace.place(snapshot, len(trace.text(snapshot)))
        assert 1 <= line <= kept.count(b"\n") + 1
        assert column >= 1
    for number, run in enumerate(trace.runs):
        assert run.index == number
        assert all(side is None or 0 <= side < len(trace.snapshots) for side in (run.before, run.after))
        assert all(trace.snapshots[index].parent == number for index in run.nested)
        trace.changed(run)
    assert trace.facts is not None
