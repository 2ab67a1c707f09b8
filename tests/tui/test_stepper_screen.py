"""The Stepper: the missing mapping on screen, back to the start, breakpoints, and where rule sets part."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from driving import ROOT, SEEDS, bar, lines_of, opened, press, rows_of, settle
from passlens.ir.errors import InputError
from passlens.ir.formats.migraphx_print import print_migraphx
from passlens.ir.formats.mlir_print import print_mlir
from passlens.tui.app import PasslensApp
from passlens.tui.screens.stepper import StepLog, StepperScreen, ValueTable
from passlens.tui.screens.timeline import TimelineScreen
from passlens.tui.stepping import Stepping, breakpoint_of, next_rules, parting
from passlens.tui.stream_stepping import StreamStepping
from passlens.tui.widgets.step_rows import cell_row
from textual.pilot import Pilot

BROKEN = (SEEDS / "triton_reproducible.mlir").read_text().partition("\n")[2].rstrip()


def screen(pilot: Pilot[str]) -> StepperScreen:
    found = pilot.app.screen
    assert isinstance(found, StepperScreen)
    return found


def table(pilot: Pilot[str]) -> list[str]:
    return rows_of(screen(pilot).query_one(ValueTable))


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_the_missing_mapping_is_on_screen_after_two_keys(size: tuple[int, int]) -> None:
    async with opened(SEEDS / "triton_reproducible.mlir", size) as pilot:
        await press(pilot, "S", "m")
        shown = lines_of(screen(pilot).query_one(ValueTable))
        assert any("%arg12" in line and "MISSING in #blocked7" in line for line in shown)
        why = " ".join(rows_of(screen(pilot).query_one("#step-why")))  # type: ignore[arg-type]  # a RowList
        assert "%arg12 (iter arg #0 of scf.for) has no rewritten value in #blocked7" in why
        assert "scf.for was kept" in why
        assert "1 missing mapping" in bar(pilot, "step-title")
        (result,) = [row for row in table(pilot) if row.strip(" ▶").startswith("%67#0")]
        assert "✓#blocked1 #blocked7" in result  # the loop's result picked another one of its two
        pane = screen(pilot).query_one("#step-ir")
        assert any("triton_gpu.conv" in line and "▶" in line for line in lines_of(pane))


async def test_a_program_without_passes_is_stepped_as_it_is() -> None:
    async with opened(
        ROOT / "tests" / "golden" / "cases" / "layout" / "01_for_feeds_while_missing_mapping.mlir"
    ) as pilot:
        await press(pilot, "S")
        assert screen(pilot).stepping.step is not None


async def test_what_is_neither_is_not_stepped() -> None:
    async with opened(ROOT / "samples" / "classifier.onnx") as pilot:
        before = pilot.app.screen
        await press(pilot, "S")
        assert pilot.app.screen is before


@pytest.mark.parametrize("theme", ["passlens-dark", "passlens-light"])
@pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_moment_the_mapping_goes_missing(
    snap_compare: Callable[..., bool], size: tuple[int, int], theme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("NO_COLOR", raising=False)

    async def to_the_missing_mapping(pilot: Pilot[str]) -> None:
        await settle(pilot)
        await press(pilot, "S", "m")

    app = PasslensApp("tests/golden/seeds/triton_reproducible.mlir", theme=theme)
    assert snap_compare(app, terminal_size=size, run_before=to_the_missing_mapping)


async def test_forwards_and_backwards() -> None:
    async with opened(SEEDS / "triton_reproducible.mlir") as pilot:
        await press(pilot, "S")
        assert "step 1 of 1+" in bar(pilot, "step-title")
        await press(pilot, "n", "n", "full_stop")
        assert "step 4 of 4+" in bar(pilot, "step-title")
        await press(pilot, "p", "comma")
        assert "step 2 of 4+" in bar(pilot, "step-title")
        await press(pilot, "E")
        stepping = screen(pilot).stepping
        assert stepping.debugger.finished
        assert print_mlir(stepping.program) != BROKEN
        await press(pilot, "B")
        assert "step 1 of" in bar(pilot, "step-title")
        assert print_mlir(stepping.program) == BROKEN
        assert table(pilot) == []
        await press(pilot, "q")
        assert not isinstance(pilot.app.screen, StepperScreen)


async def test_a_breakpoint_is_typed() -> None:
    async with opened(SEEDS / "triton_reproducible.mlir") as pilot:
        await press(pilot, "S", "b", *["backspace"] * 7, *"kind=pick value=%69", "enter")
        step = screen(pilot).stepping.step
        assert step is not None
        assert (step.kind, step.value and step.value.name) == ("pick", "%69")
        position = screen(pilot).stepping.debugger.position
        await press(pilot, "c")
        assert screen(pilot).stepping.debugger.position == position  # met once only: it stays
        await press(pilot, "b", *["backspace"] * 30, *"nonsense", "enter")
        assert screen(pilot).stop == "kind=pick value=%69"


async def test_another_rule_set_parts_at_the_loop_in_front_of_the_while() -> None:
    async with opened(SEEDS / "triton_reproducible.mlir") as pilot:
        await press(pilot, "S", "r")
        said = bar(pilot, "step-title")
        assert "@triton-3.2" in said
        assert "parts from @triton-3.0 at step" in said
        await press(pilot, "E")
        assert screen(pilot).stepping.missing() == []


async def test_a_step_is_chosen_in_the_log() -> None:
    async with opened(SEEDS / "triton_reproducible.mlir") as pilot:
        await press(pilot, "S", "E")
        log = screen(pilot).query_one(StepLog)
        log.move(9)
        await press(pilot, "enter")
        assert screen(pilot).stepping.debugger.position == 10


class TestThePlannerOfStreaming:
    async def test_from_issue_to_issue(self) -> None:
        async with opened(SEEDS / "migraphx_streaming_resnet50.txt") as pilot:
            await press(pilot, "S", "m", "m")
            step = screen(pilot).stepping.step
            assert step is not None and (step.kind, step.phase) == ("issue", "schedule")
            (here,) = [row for row in table(pilot) if row.startswith("▶")]
            assert "issue" in here and step.op is not None and step.op.results[0].name in here
            why = rows_of(screen(pilot).query_one("#step-why"))  # type: ignore[arg-type]  # a RowList
            assert "ahead of its first use" in " ".join(why)
            pane = screen(pilot).query_one("#step-ir")
            (shown,) = [line for line in lines_of(pane) if "▶" in line]
            assert "copy_batch_to_gpu" in shown

    async def test_forwards_and_backwards(self) -> None:
        async with opened(ROOT / "samples" / "cnn_streamed.txt") as pilot:
            await press(pilot, "S")
            stepping = screen(pilot).stepping
            assert isinstance(stepping, StreamStepping)
            text = print_migraphx(stepping.program)
            await press(pilot, "E")
            tables = {cell.table for cell in stepping.cells}
            assert tables == {"residency", "copy", "issue", "offset", "event"}
            assert print_migraphx(stepping.program) != text
            await press(pilot, "B")
            assert print_migraphx(stepping.program) == text
            assert table(pilot) == []

    async def test_the_next_budget_keeps_some_weights(self) -> None:
        async with opened(ROOT / "samples" / "cnn_streamed.txt") as pilot:
            await press(pilot, "S", "r")
            assert "@budget 25%" in bar(pilot, "step-title")
            await press(pilot, "E")
            assert any("resident" in row for row in table(pilot))

    async def test_a_breakpoint_on_a_literal(self) -> None:
        async with opened(ROOT / "samples" / "cnn_streamed.txt") as pilot:
            await press(pilot, "S", "b", *["backspace"] * 12, *"kind=stream value=@5", "enter")
            first = screen(pilot).stepping.step
            await press(pilot, "b", *["backspace"] * 30, *"kind=copy", "enter")
            assert screen(pilot).stepping.step is not first

    async def test_what_cannot_be_planned_is_the_last_step(self, tmp_path: Path) -> None:
        path = tmp_path / "stream_read.txt"
        path.write_text(
            """main:@0 = gpu::set_stream[stream=1] -> float_type, {}, {}
main:@1 = hip::hip_allocate_memory[shape=int8_type, {256}, {1},id=main:scratch] -> int8_type, {256}, {1}
main:@2 = load[offset=0,end=256](main:@1) -> float_type, {64}, {1}
main:@3 = gpu::code_object[code_object=8,symbol_name=k,global=64,local=64](main:@0,main:@2) -> float_type, {64}, {1}
main:@4 = @return(main:@3)
"""
        )
        async with opened(path) as pilot:
            await press(pilot, "S", "E")
            why = rows_of(screen(pilot).query_one("#step-why"))  # type: ignore[arg-type]  # a RowList
            assert "this cannot be planned: main:@0 of gpu::set_stream" in " ".join(why)
            await press(pilot, "p", "B", "q", "T")
            assert isinstance(pilot.app.screen, TimelineScreen)
            assert "no plan" in bar(pilot, "time-title")

    async def test_a_literal_chosen_in_the_table(self) -> None:
        async with opened(ROOT / "samples" / "cnn_streamed.txt") as pilot:
            await press(pilot, "S", "m")
            values = screen(pilot).query_one(ValueTable)
            name = values.values[0].name
            values.focus()
            values.move(0)
            await press(pilot, "enter")
            assert screen(pilot).stop == f"value={name}"


class TestWithoutAScreen:
    def test_cells_follow_the_facts(self) -> None:
        stepping = Stepping(BROKEN, "triton-3.0")
        assert stepping.values == []
        stepping.debugger.until(breakpoint_of("missing"))
        cells = {cell.value.name: cell for cell in map(stepping.cell, stepping.values)}
        assert cells["%arg12"].missing == "#blocked7"
        assert cells["%67#0"].pick == "#blocked1"
        assert cell_row(cells["%arg12"], True).text.startswith("▶ %arg12")
        stepping.debugger.go_to(0)
        assert stepping.values == []

    def test_breakpoints(self) -> None:
        for text in ("", "kind", "colour=red", "missing and"):
            with pytest.raises(InputError, match=r"expected|wants"):
                breakpoint_of(text)

    def test_rule_sets_go_around(self) -> None:
        seen = ["triton-3.0"]
        while (following := next_rules(seen[-1])) != seen[0]:
            seen.append(following)
        assert seen[-1] == "triton-3.9"
        assert next_rules("triton-3.0", -1) == "triton-3.9"

    def test_a_rule_set_does_not_part_from_itself(self) -> None:
        assert parting(BROKEN, "triton-3.0", "triton-3.0") is None
        found = parting(BROKEN, "triton-3.0", "triton-3.2")
        assert found is not None
        assert "before-argument #0" in found.left
        assert "result #0 %68#0" in found.right
