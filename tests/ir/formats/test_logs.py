"""Cutting logs: banners of every release, passes from dumps, MIGraphX traces, prose, damage."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from passlens.ir.formats.logs import cut
from passlens.ir.formats.logs_facts import read_facts
from passlens.ir.formats.logs_mlir import parse_banner
from passlens.ir.trace import Trace, trace_of_text

GOLDEN = Path(__file__).parents[2] / "golden"
TWO_KERNELS = gzip.decompress((GOLDEN / "logs/triton-3.9.0-cuda-90-two-kernels.log.gz").read_bytes()).decode()
ABORT = gzip.decompress((GOLDEN / "logs/triton-3.0.0-cuda-90-abort.log.gz").read_bytes()).decode()
PAGE = (GOLDEN / "seeds/triton_layout_assertion.txt").read_text()


class TestBanners:
    @pytest.mark.parametrize(
        ("line", "parts"),
        [
            (
                "// -----// IR Dump After CSE (cse) ('func.func' operation: @f) //----- //",
                ("after", "CSE", "cse", "", False, "func.func", "f"),
            ),
            (
                "// -----// IR Dump Before TritonGPUPipeline: tritongpu-pipeline{dump-intermediate-steps=true num-stages=3} ('builtin.module' operation) //----- //",
                ("before", "TritonGPUPipeline", "tritongpu-pipeline", "dump-intermediate-steps=true num-stages=3", False, "builtin.module", ""),
            ),
            (
                "// -----// IR Dump Before InlinerPass: inline{default-pipeline=canonicalize{a=b} max-iterations=4 } ('builtin.module' operation) //----- //",
                ("before", "InlinerPass", "inline", "default-pipeline=canonicalize{a=b} max-iterations=4", False, "builtin.module", ""),
            ),
            (
                "// -----// IR Dump After TritonGPUPipeline Failed (tritongpu-pipeline) ('builtin.module' operation) //----- //",
                ("after", "TritonGPUPipeline", "tritongpu-pipeline", "", True, "builtin.module", ""),
            ),
            ("*** IR Dump After Canonicalizer ***", ("after", "Canonicalizer", "", "", False, "", "")),
            (
                "// -----// IR Dump Before Canonicalizer (canonicalize) ('tt.func' operation: @zeros____0cconstexpr_(constexpr_256_, constexpr_128_)__1cconstexpr_fp32_) //----- //",
                ("before", "Canonicalizer", "canonicalize", "", False, "tt.func", "zeros____0cconstexpr_(constexpr_256_, constexpr_128_)__1cconstexpr_fp32_"),
            ),
            (
                "(Worker pid=12) // -----// IR Dump Before CSEPass: cse ('builtin.module' operation) //----- //",
                ("before", "CSEPass", "cse", "", False, "builtin.module", ""),
            ),
        ],
    )  # fmt: skip
    def test_every_release(self, line: str, parts: tuple[object, ...]) -> None:
        banner = parse_banner(line)
        assert banner is not None
        assert not banner.internal
        found = (
            banner.when,
            banner.name,
            banner.argument,
            banner.options,
            banner.failed,
            banner.op_name,
            banner.symbol,
        )
        assert found == parts

    def test_an_internal_dump(self) -> None:
        banner = parse_banner("// -----// SoftwarePipeliner internal IR Dump After: LowerLoops")
        assert banner is not None
        assert banner.internal
        assert banner.name == "LowerLoops"

    def test_prose_is_no_banner(self) -> None:
        assert parse_banner("we looked at the IR Dump of it") is None


class TestTritonLog:
    trace: Trace = trace_of_text(TWO_KERNELS)

    def test_both_kernels_and_every_dump(self) -> None:
        assert self.trace.kernels == ["softmax_row", "matmul_bias"]
        assert len(self.trace.snapshots) == TWO_KERNELS.count("IR Dump ")
        assert sum(run.name == "InlinerPass" for run in self.trace.runs) == 2

    def test_what_comes_out_of_a_pass_is_the_next_dump_of_its_kernel(self) -> None:
        runs = self.trace.runs
        inliner = runs[0]
        assert inliner.after is not None
        assert (
            self.trace.snapshots[inliner.after].op_name == "builtin.module"
        )  # not the nested canonicalizer's
        lasts = [run for run in runs if run.after is None]
        assert [(run.kernel, run.argument) for run in lasts] == [
            ("softmax_row", "convert-scf-to-cf"),
            ("matmul_bias", "convert-scf-to-cf"),
        ]

    def test_runs_are_counted_by_kernel(self) -> None:
        layout = [r for r in self.trace.runs if r.argument == "tritongpu-remove-layout-conversions"]
        assert [(r.kernel, r.ordinal) for r in layout] == [
            (k, n) for k in self.trace.kernels for n in (1, 2, 3, 4)
        ]

    def test_internal_dumps_belong_to_the_pass_that_made_them(self) -> None:
        inside = [s for s in self.trace.snapshots if s.parent is not None]
        assert {s.pass_name for s in inside} >= {"LowerLoops", "ExpandLoops"}
        for snapshot in inside:
            assert self.trace.runs[snapshot.parent or 0].name == "TritonGPUPipeline"
            assert snapshot.index in self.trace.runs[snapshot.parent or 0].nested

    def test_the_inliner_s_canonicalizers_are_inside_it(self) -> None:
        assert [run.depth for run in self.trace.runs[:5]] == [0, 1, 1, 1, 1]

    def test_unchanged_passes_are_known_and_share_a_program(self) -> None:
        unchanged = [run for run in self.trace.runs if self.trace.changed(run) is False]
        assert len(unchanged) > 50
        run = unchanged[0]
        assert run.before is not None
        assert run.after is not None
        assert self.trace.program(run.before) is self.trace.program(run.after)

    def test_every_dump_is_read_without_a_note(self) -> None:
        for snapshot in self.trace.snapshots:
            assert self.trace.program(snapshot).diagnostics == []

    def test_text_ends_with_the_program(self) -> None:
        for snapshot in self.trace.snapshots:
            last = self.trace.text(snapshot).rstrip().split("\n")[-1]
            assert last.startswith(("}", "#"))


def test_an_abort_marks_the_pass_that_it_happened_in() -> None:
    trace = trace_of_text(ABORT)
    assert [run.failed for run in trace.runs] == [False, False, True]
    assert trace.runs[-1].argument == "tritongpu-remove-layout-conversions"
    assert "Assertion `rewrittenValue' failed." in trace.facts.crash
    assert trace.between(2).startswith("\n")
    assert "Assertion" in trace.between(2)


class TestPages:
    def test_a_bug_report_gives_its_two_dumps_with_their_headings(self) -> None:
        trace = trace_of_text(PAGE)
        titles = [snapshot.title for snapshot in trace.snapshots]
        assert titles == [
            "Reproducible: TritonGPURemoveLayoutConversions",
            "Fix 1: TritonGPURemoveLayoutConversions",
        ]
        assert [run.after for run in trace.runs] == [None, None]  # the second is no result of the first
        assert (
            trace.text(0)
            == (GOLDEN / "seeds/triton_reproducible.mlir").read_text().partition("\n")[2].rstrip()
        )

    def test_its_crash_and_its_propagation_dumps(self) -> None:
        facts = trace_of_text(PAGE).facts
        assert "RemoveLayoutConversions.cpp:517" in facts.crash
        assert "Assertion `rewrittenValue' failed." in facts.crash
        assert len(facts.back_trace) == 16
        assert len(facts.propagation) == 24
        assert facts.propagation[8].encodings[1].startswith("#triton_gpu.blocked<{sizePerThread = [4, 4]")

    def test_ir_in_a_markdown_fence(self) -> None:
        text = "# My bug\n\nIt fails on this:\n\n```mlir\n#a = #x.a\nmodule {\n  x.y {e = #a}\n}\n```\n\nThanks!\n"
        trace = trace_of_text(text)
        assert [(s.title, trace.text(s)) for s in trace.snapshots] == [
            ("It fails on this", "#a = #x.a\nmodule {\n  x.y {e = #a}\n}")
        ]

    def test_a_worker_s_prefix_is_taken_off(self) -> None:
        text = (GOLDEN / "cases/layout/16_worker_prefixed_crash_log.txt").read_text()
        trace = trace_of_text(text)
        (snapshot,) = trace.snapshots
        assert "pid=" not in trace.text(snapshot)
        program = trace.program(snapshot)
        assert not program.diagnostics
        assert program.resources.startswith("{-#")
        assert trace.facts.failing_pass == "TritonGPURemoveLayoutConversions"
        (pipeline,) = trace.facts.reproducers
        assert pipeline.count(",") >= 3
        assert "hoist-layout-conversion=true" in pipeline

    def test_two_workers_do_not_mix(self) -> None:
        lines = ["module {", "  x.y", "}"]
        banner = "// -----// IR Dump Before A (a) ('builtin.module' operation) //----- //"
        text = "".join(f"(W pid=1) {line}\n(W pid=2) other\n" for line in [banner, *lines])
        trace = trace_of_text(text)
        assert trace.text(0).split("\n")[:3] == lines

    def test_a_module_printed_behind_a_crash_is_a_snapshot_too(self) -> None:
        text = (
            ABORT
            + '\nmodule {\n  x.y\n}\n\n{-#\n  external_resources: {\n    mlir_reproducer: {\n      pipeline: "builtin.module(cse)"\n    }\n  }\n#-}\n'
        )
        trace = trace_of_text(text)
        assert len(trace.snapshots) == 4
        assert trace.snapshots[3].when == "whole"
        assert trace.facts.reproducers == ["builtin.module(cse)"]

    def test_files_split_by_dashes(self) -> None:
        trace = trace_of_text(
            "// a test\nfunc.func @a() {\n  return\n}\n// -----\nfunc.func @b() {\n  return\n}\n"
        )
        assert len(trace.snapshots) == 2
        assert trace.kernels == ["a", "b"]


class TestAfterOnly:
    text = "".join(
        f"// -----// IR Dump After {name} ({name.lower()}) ('{op}' operation{symbol}) //----- //\n{body}\n"
        for name, op, symbol, body in [
            ("A", "builtin.module", "", "module {\n  x.a\n}"),
            ("B", "func.func", ": @f", "func.func @f() {\n  return\n}"),
            ("B", "func.func", ": @g", "func.func @g() {\n  return\n}"),
            ("C", "func.func", ": @f", "func.func @f() {\n  x.c\n  return\n}"),
            ("D", "builtin.module", "", "module {\n  x.a\n}"),
        ]
    )

    def test_before_is_the_last_dump_of_the_same_scope(self) -> None:
        trace = trace_of_text(self.text)
        c = next(run for run in trace.runs if run.name == "C")
        assert c.after == 3
        assert c.before in (0, 1)
        assert [run.name for run in trace.runs] == ["A", "B", "B", "C", "D"]


class TestMigraphx:
    def test_sections_of_one_run_are_folded(self) -> None:
        trace = trace_of_text((GOLDEN / "cases/migraphx/11_compile_trace_n_plus_1.txt").read_text())
        assert [(run.name, run.milliseconds) for run in trace.runs] == [
            ("dead_code_elimination", None),
            ("fuse_pointwise", 0.42),
            ("lowering", None),
        ]
        assert [s.pass_name for s in trace.snapshots] == ["dead_code_elimination", "lowering"]
        assert trace.changed(2) is True

    def test_the_two_listings_of_the_report(self) -> None:
        trace = trace_of_text((GOLDEN / "seeds/migraphx_streaming_resnet50.txt").read_text())
        assert [s.format for s in trace.snapshots] == ["migraphx", "migraphx"]
        first, second = (trace.text(s) for s in trace.snapshots)
        assert first.startswith('module: "main"\n@0 = check_context')
        assert first.endswith("@573 = @return(@572)")
        assert second.endswith("@573 = @return(@572)")
        assert trace.facts.driver == {
            "free_memory": [421527552, 266338304, 266338304, 88080384, 85983232],
            "streaming_budget": [0],
            "scratch_size": [6422528],
            "total_literals": [105378732],
            "parameter_bytes": [606112],
        }

    def test_a_listing_ends_where_the_error_begins(self) -> None:
        trace = trace_of_text((GOLDEN / "cases/migraphx_formats/09_error_at_end.txt").read_text())
        assert trace.text(0).endswith("symbol_name=mlir_dot_add,glo")
        assert "Memory not available to allocate buffer: 41943040" in trace.facts.crash


@settings(max_examples=60, deadline=None)
@example(0, PAGE.index("IR Dump Before") + len("IR Dump Before"))
@given(st.integers(0, len(PAGE)), st.integers(0, len(PAGE)))
def test_any_stretch_of_a_page_can_be_cut(low: int, high: int) -> None:
    text = PAGE[min(low, high) : max(low, high)]
    trace = trace_of_text(text)
    for snapshot in trace.snapshots:
        assert 0 <= snapshot.start <= snapshot.end <= len(text.encode())
        trace.program(snapshot)
        trace.between(snapshot)
    assert trace.facts is not None


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(
    ["// -----// IR Dump Before A (a) ('m' operation) //----- //\n", "IR Dump After", 'module: "main"\n', "Pass: x\n",
     "module {\n", "}\n", "#a = #b\n", "Value: %a\n", " encoding:\n", "@0 = load[a](@1) -> float_type, {1}, {1}\n",
     "Run instruction: ", "{-#", "#-}", "(W pid=1) ", "\x1b[31m", "\r\n", "text\n", "func @f() {", "x: 1.5ms\n"]), max_size=40))  # fmt: skip
def test_any_mixture_can_be_cut(pieces: list[str]) -> None:
    data = "".join(pieces).encode()
    found = cut(data)
    assert all(0 <= s.start <= s.end <= len(data) for s in found.snapshots)
    read_facts([(data, [(0, len(data))])])


@pytest.mark.parametrize(
    "unit", ["IR Dump ", "module {", "#a = ", "Assertion ` ", "Value: ", "@1 = a ", 'module: "', " error: "]
)
def test_a_long_line_is_cut_in_linear_time(unit: str) -> None:
    data = (unit * (2_000_000 // len(unit))).encode()
    cut(data)
    read_facts([(data, [(0, len(data))])])
