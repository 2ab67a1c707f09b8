"""Logs of real compilers: what upstream MLIR prints in each mode, failing passes, debug output, time reports."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from passlens.ir.snapshot import PassRun
from passlens.ir.trace import Trace, open_trace, trace_of_text

LOGS = Path(__file__).parents[2] / "golden/logs"
PASSES = ["CSE", "Canonicalizer"] * 3 + ["Canonicalizer"] * 4


def opened(name: str) -> Trace:
    return trace_of_text(gzip.decompress((LOGS / f"{name}.log.gz").read_bytes()).decode())


def runs(trace: Trace, name: str, kernel: str = "") -> list[PassRun]:
    return [run for run in trace.runs if run.name == name and kernel in ("", run.kernel)]


class TestUpstreamMlir:
    """Functions f and g, and h, which is inlined into g: cse and canonicalize change f and g, not h."""

    @pytest.mark.parametrize("mode", ["before", "after", "both", "module"])
    def test_every_pass_is_seen_and_one_compile(self, mode: str) -> None:
        trace = opened(f"mlir-22-{mode}")
        assert len(trace.runs) == 16
        assert {run.manager for run in trace.runs} == {0}
        assert sum(run.name == "Canonicalizer" for run in trace.runs) == 8
        for snapshot in trace.snapshots:
            assert trace.program(snapshot).diagnostics == []

    @pytest.mark.parametrize("mode", ["before", "after", "both"])
    def test_functions_are_not_compared_with_each_other(self, mode: str) -> None:
        trace = opened(f"mlir-22-{mode}")
        for run in trace.runs:
            if run.before is not None and run.after is not None:
                before, after = (trace.snapshots[side] for side in (run.before, run.after))
                assert before.symbol == after.symbol
        known = [(run.kernel, trace.changed(run)) for run in runs(trace, "CSE")]
        if mode != "after":
            assert known == [("f", True), ("h", False), ("g", True)]

    def test_around_passes_nested_ones_are_inside(self) -> None:
        trace = opened("mlir-22-both")
        (inliner,) = runs(trace, "Inliner")
        inside = trace.runs[inliner.index + 1 : inliner.index + 5]
        assert [run.depth for run in inside] == [1] * 4
        assert trace.changed(inliner) is True
        assert trace.runs[inliner.index + 5].depth == 0

    def test_before_passes_what_the_inliner_made_is_the_next_module(self) -> None:
        trace = opened("mlir-22-before")
        (inliner,) = runs(trace, "Inliner")
        assert inliner.after == runs(trace, "SymbolDCE")[0].before
        assert trace.changed(inliner) is True

    def test_a_module_behind_passes_on_functions_is_not_compared_with_an_old_one(self) -> None:
        trace = opened("mlir-22-after")
        (lowering,) = runs(trace, "ConvertFuncToLLVMPass")
        assert lowering.before is None
        assert trace.changed(lowering) is None

    def test_at_module_scope_all_dumps_are_linked(self) -> None:
        trace = opened("mlir-22-module")
        assert [run.before for run in trace.runs] == [None, *range(15)]

    def test_after_changes_only_changes_are_there(self) -> None:
        trace = opened("mlir-22-change")
        assert len(trace.runs) == 7
        assert all(trace.changed(run) is not False for run in trace.runs)

    def test_the_result_behind_the_last_dump_is_a_program(self) -> None:
        trace = opened("mlir-22-after")
        assert trace.snapshots[-1].when == "whole"
        assert trace.text(-1 % len(trace.snapshots)).startswith("module {\n  llvm.func @f")

    def test_the_time_report_gives_module_passes_their_milliseconds(self) -> None:
        trace = opened("mlir-22-both")
        assert runs(trace, "Inliner")[0].milliseconds == 0.8
        # MLIR adds up what a pass on functions took on all of them.
        assert all(run.milliseconds is None for run in runs(trace, "CSE"))

    def test_a_tree_of_files(self) -> None:
        trace = open_trace(str(LOGS / "mlir-22-tree"))
        assert len(trace.runs) == 16
        assert [run.name for run in trace.runs[:3]] == ["CSE"] * 3
        by_function = [run for run in trace.runs if run.kernel == "g"]
        assert [trace.changed(run) for run in by_function] == [None, True, False, True, None]
        (inliner,) = runs(trace, "Inliner")
        assert inliner.before is None  # no file says what the module was before
        assert trace.changed(runs(trace, "SymbolDCE")[0]) is False


class TestAFailingPass:
    trace = opened("triton-3.9.0-failing-pass")

    def test_the_pass_is_marked(self) -> None:
        assert [(run.name, run.failed) for run in self.trace.runs] == [
            ("CSEPass", False),
            ("TritonGPURemoveLayoutConversions", False),
            ("TritonGPUAccelerateMatmul", True),
        ]
        assert self.trace.facts.failing_pass == "TritonGPUAccelerateMatmul"
        assert "Assertion `" in self.trace.facts.crash

    def test_the_module_printed_twice_is_two_programs_with_their_reproducers(self) -> None:
        crashed = [s for s in self.trace.snapshots if s.when == "whole"]
        assert len(crashed) == 2
        for snapshot in crashed:
            program = self.trace.program(snapshot)
            assert program.diagnostics == []
            assert "mlir_reproducer" in program.resources
        (pipeline,) = self.trace.facts.reproducers
        assert pipeline.startswith("builtin.module(cse, tritongpu-remove-layout-conversions{")

    def test_a_line_that_an_error_quotes_is_no_program(self) -> None:
        for snapshot in self.trace.snapshots:
            assert "\n^" not in self.trace.text(snapshot)


def test_programs_that_debug_output_prints_are_inside_their_pass() -> None:
    trace = opened("triton-3.9.0-debug-only")
    assert [run.name for run in trace.runs][1] == "TritonGPURemoveLayoutConversions"
    layout = trace.runs[1]
    titles = [trace.snapshots[index].title for index in layout.nested]
    assert len(titles) == 10
    assert titles[0] == "Module after propagating layouts forward"
    assert titles[-1] == "Module after final cleanups"
    assert all(trace.snapshots[index].parent == 1 for index in layout.nested)
    assert trace.changed(layout) is True
    assert trace.program(layout.nested[-1]).diagnostics == []


def test_times_of_tritons_passes() -> None:
    trace = opened("triton-3.9.0-timing")
    assert [(run.name, run.milliseconds) for run in trace.runs if run.depth == 0] == [
        ("InlinerPass", 19.2),
        ("CanonicalizerPass", 0.2),
        ("TritonCombineOps", 0.2),
        ("TritonReorderBroadcast", 1.2),
        ("CSEPass", 0.1),
        ("SymbolDCEPass", 0.1),
        ("TritonLoopUnroll", 0.1),
    ]
    assert all(run.milliseconds is None for run in trace.runs if run.depth)
