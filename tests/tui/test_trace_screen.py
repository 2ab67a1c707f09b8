"""The Trace screen, driven by keys and mouse as a reader would."""

from pathlib import Path

import pytest
from driving import ROOT, SEEDS, bar, lines_of, opened, press, rows_of, settle, trace_screen
from passlens.tui.widgets.ir_marks import line_marks

TRITON = SEEDS / "triton_layout_assertion.txt"
MIGRAPHX = SEEDS / "migraphx_streaming_resnet50.txt"

LOG = """\
// -----// IR Dump Before First (first) ('builtin.module' operation) //----- //
module {
  func.func @k(%a: i32) -> i32 {
    %0 = arith.addi %a, %a : i32
    %1 = arith.muli %0, %a : i32
    return %1 : i32
  }
}

// -----// IR Dump Before Second (second) ('builtin.module' operation) //----- //
module {
  func.func @k(%a: i32) -> i32 {
    %0 = arith.addi %a, %a : i32
    return %0 : i32
  }
}

// -----// IR Dump Before Third (third) ('builtin.module' operation) //----- //
module {
  func.func @k(%a: i32) -> i32 {
    %0 = arith.addi %a, %a : i32
    return %0 : i32
  }
}
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "three.log"
    path.write_text(LOG)
    return path


class TestOpening:
    async def test_the_numbers_that_people_come_for_are_on_the_first_screen(self) -> None:
        async with opened(MIGRAPHX, (200, 60)) as pilot:
            assert "574 instructions · 119 literals 105.4 MB · arena 31.2 MB" in bar(pilot, "title")
            said = " ".join(" ".join(rows_of(trace_screen(pilot).inspector)).split())
            assert "119 of 105,378,732 bytes" in said
            assert "8,028,160 without streamed literals" in said

    async def test_a_triton_seed_shows_its_passes_converts_and_crash(self) -> None:
        async with opened(TRITON) as pilot:
            screen = trace_screen(pilot)
            assert [row.split()[1] for row in rows_of(screen.passes)[1:]] == [
                "remove-layout-conversions⇄32", "remove-layout-conversions#2⇄32",
            ]  # fmt: skip
            assert "116 ops · 32 converts (12 in loops) · 12 encodings" in bar(pilot, "title")
            findings = rows_of(screen.findings)
            assert findings[0].startswith("✗ crash  ") and "rewrittenValue' failed" in findings[0]
            assert sum("undefined-alias" in row for row in findings) == 51

    async def test_facts_without_programs_are_shown_with_the_text_itself(self) -> None:
        async with opened(SEEDS / "triton_crash.txt", (160, 48)) as pilot:
            screen = trace_screen(pilot)
            assert "rewrittenValue" in rows_of(screen.findings)[0]
            assert any("Assertion" in line or "PrintStackTrace" in line for line in lines_of(screen.ir))

    async def test_a_file_that_cannot_be_used_ends_the_app_with_the_reason(self, tmp_path: Path) -> None:
        path = tmp_path / "x.txt"
        path.write_text("nothing of ours\n")
        async with opened(path) as pilot:
            pass
        assert pilot.app.return_code == 2
        assert "holds no program" in pilot.app.return_value


class TestPasses:
    async def test_badges_tell_change_and_op_delta(self, log: Path) -> None:
        async with opened(log) as pilot:
            rows = rows_of(trace_screen(pilot).passes)
            assert rows == ["▾ k3 ", " ● first−1 ", " · second", " ○ third"]

    async def test_moving_shows_the_program_after_the_pass_and_b_the_one_before(self, log: Path) -> None:
        async with opened(log) as pilot:
            screen = trace_screen(pilot)
            assert bar(pilot, "ir-title").startswith(" after first")
            assert "arith.muli" not in "".join(lines_of(screen.ir))
            await press(pilot, "b")
            assert bar(pilot, "ir-title").startswith(" before first")
            assert "arith.muli" in "".join(lines_of(screen.ir))
            await press(pilot, "b", "j")
            assert bar(pilot, "ir-title").startswith(" after second")

    async def test_changed_only_and_filter(self, log: Path) -> None:
        async with opened(log) as pilot:
            screen = trace_screen(pilot)
            await press(pilot, "c")
            assert rows_of(screen.passes) == ["▾ k3 ", " ● first−1 ", " ○ third"]
            await press(pilot, "c", "f", *"sec")
            assert rows_of(screen.passes) == ["▾ k3 ", " · second"]
            await press(pilot, "enter")
            assert bar(pilot, "ir-title").startswith(" after second")
            await press(pilot, "escape")
            assert len(rows_of(screen.passes)) == 4

    async def test_kernels_fold(self, log: Path) -> None:
        async with opened(log) as pilot:
            await press(pilot, "z")
            assert rows_of(trace_screen(pilot).passes) == ["▸ k3 "]
            await press(pilot, "enter")
            assert len(rows_of(trace_screen(pilot).passes)) == 4

    async def test_passes_are_stepped_from_the_ir(self, log: Path) -> None:
        async with opened(log) as pilot:
            await press(pilot, "2", "full_stop")
            assert bar(pilot, "ir-title").startswith(" after second")
            await press(pilot, "less_than_sign")
            assert bar(pilot, "ir-title").startswith(" after first")
            await press(pilot, "comma")
            assert bar(pilot, "ir-title").startswith(" after first")

    async def test_a_click_selects(self, log: Path) -> None:
        async with opened(log) as pilot:
            await pilot.click("#passes", offset=(5, 2))
            await settle(pilot)
            assert bar(pilot, "ir-title").startswith(" after second")


class TestValues:
    async def test_definition_uses_and_the_way_back(self, log: Path) -> None:
        async with opened(log) as pilot:
            ir = trace_screen(pilot).ir
            await press(pilot, "b", "2", "j", "j", "j")
            assert (ir.state.line, ir.state.token.text) == (3, "%1")
            await press(pilot, "l", "l")
            assert (ir.state.token.text, ir.state.value.name) == ("%a", "%a")
            await press(pilot, "g", "d")
            assert (ir.state.line, ir.state.token.text) == (1, "%a")
            await press(pilot, "asterisk")
            assert (ir.state.line, ir.state.column) == (2, len("    %0 = arith.addi "))
            await press(pilot, "number_sign")
            assert ir.state.line == 3
            await press(pilot, "left_square_bracket", "left_square_bracket", "left_square_bracket")
            assert (ir.state.line, ir.state.token.text) == (3, "%a")
            await press(pilot, "right_square_bracket")
            assert ir.state.line == 1

    async def test_the_way_back_leads_to_another_pass_too(self, log: Path) -> None:
        async with opened(log) as pilot:
            ir = trace_screen(pilot).ir
            await press(pilot, "b", "2", "colon", "5", "enter")
            assert ir.state.line == 4
            await press(pilot, "full_stop", "G", "left_square_bracket", "left_square_bracket")
            assert (ir.document.key, ir.state.line) == (0, 0)

    async def test_the_inspector_follows_the_cursor(self, log: Path) -> None:
        async with opened(log) as pilot:
            await press(pilot, "b", "2", "j", "j", "j")
            rows = rows_of(trace_screen(pilot).inspector)
            assert rows[0] == "arith.muliline 4"
            assert "%1  by arith.muli" in rows
            assert "0 %0 ← arith.addiline 3" in rows
            assert "  → func.returnline 5" in rows

    async def test_choosing_an_operand_goes_to_its_definition(self, log: Path) -> None:
        async with opened(log) as pilot:
            screen = trace_screen(pilot)
            await press(pilot, "b", "2", "j", "j", "j", "3")
            at = rows_of(screen.inspector).index("0 %0 ← arith.addiline 3")
            screen.inspector.move(at)
            await press(pilot, "enter")
            assert (screen.ir.state.line, screen.ir.state.token.text) == (2, "%0")
            assert screen.ir.has_focus

    async def test_every_occurrence_of_the_value_is_marked(self, log: Path) -> None:
        async with opened(log) as pilot:
            ir = trace_screen(pilot).ir
            await press(pilot, "b", "2", "j", "j")
            assert ir.state.token.text == "%0"
            marked = [line for line in range(7) if line_marks(ir.document, ir.state, line, (0, 80))]
            assert marked == [2, 3]

    async def test_a_double_click_goes_to_the_definition(self, log: Path) -> None:
        async with opened(log) as pilot:
            ir = trace_screen(pilot).ir
            await press(pilot, "b", "2")
            column = len("    %1 = arith.muli ") + ir._gutter
            await pilot.click("#ir", offset=(column, 3), times=2)
            await settle(pilot)
            assert (ir.state.line, ir.state.token.text) == (2, "%0")

    async def test_aliases_are_written_out_on_demand(self) -> None:
        async with opened(TRITON, (160, 48)) as pilot:
            screen = trace_screen(pilot)
            await press(pilot, "2", "colon", *"26", "enter")
            assert any("tensor<256xi32, #blocked3>" in row for row in rows_of(screen.inspector))
            await press(pilot, "a")
            said = " ".join(" ".join(rows_of(screen.inspector)).split())
            assert "tensor<256xi32, #triton_gpu.blocked<{sizePerThread = [1], threadsPerWarp = [64]," in said

    async def test_memory_of_a_migraphx_instruction(self) -> None:
        async with opened(MIGRAPHX) as pilot:
            screen = trace_screen(pilot)
            await press(pilot, "2", "colon", "5", "enter")
            said = rows_of(screen.inspector)
            assert "load" in said[0]
            assert "arena      7,062,272 … 10,273,536" in said
            assert "buffer     3,211,264 bytes" in said
            await press(pilot, "colon", "7", "enter")
            assert "literal    2 of 119" in rows_of(screen.inspector)


class TestText:
    async def test_search_counts_as_one_types_and_goes_around(self) -> None:
        async with opened(TRITON) as pilot:
            screen = trace_screen(pilot)
            await press(pilot, "2", "slash", *"scf.while")
            assert bar(pilot, "prompt-note") == "1 match "
            assert "scf.while" in screen.ir.document.lines.line(screen.ir.state.line)
            await press(pilot, "enter", "slash", *"convert_layout", "enter")
            first = screen.ir.state.line
            assert "28 of 32 “convert_layout”" in bar(pilot, "ir-title")
            await press(pilot, "n")
            assert screen.ir.state.line > first
            await press(pilot, "N")
            assert screen.ir.state.line == first
            await press(pilot, "escape")
            assert screen.ir.state.matches is None

    async def test_folding_hides_a_region_and_says_so(self, log: Path) -> None:
        async with opened(log) as pilot:
            ir = trace_screen(pilot).ir
            await press(pilot, "b", "2", "j", "z")
            assert [line.split("@k")[-1] for line in lines_of(ir)[1:3]] == [
                "(%a: i32) -> i32 { ··· 3 lines", " 6    }",
            ]  # fmt: skip
            await press(pilot, "enter")
            assert "arith.muli" in "".join(lines_of(ir))

    async def test_fold_all_keeps_functions_open(self) -> None:
        async with opened(TRITON) as pilot:
            ir = trace_screen(pilot).ir
            rows = ir.state.folds.rows
            await press(pilot, "2", "Z")
            assert ir.state.folds.rows < rows
            assert not ir.state.folds.hidden(20)
            await press(pilot, "Z")
            assert ir.state.folds.rows == rows

    async def test_locations_are_hidden_and_shown(self) -> None:
        async with opened(TRITON, (160, 48)) as pilot:
            ir = trace_screen(pilot).ir
            assert any("loc(#loc" in line for line in lines_of(ir))
            await press(pilot, "2", "L")
            assert not any("loc(#loc" in line for line in lines_of(ir))

    async def test_a_finding_leads_to_its_place(self) -> None:
        async with opened(TRITON) as pilot:
            screen = trace_screen(pilot)
            at = next(i for i, row in enumerate(rows_of(screen.findings)) if "undefined-alias" in row)
            screen.findings.move(at)
            await press(pilot, "4", "enter")
            assert screen.ir.state.line == 23
            assert screen.ir.has_focus
            assert lines_of(screen.ir)[23 - screen.ir.scroll_offset.y].startswith("●")


class TestPanes:
    async def test_a_small_screen_shows_the_inspector_in_place_of_the_passes(self) -> None:
        async with opened(TRITON, (80, 24)) as pilot:
            screen = trace_screen(pilot)
            shown = {
                name: screen.query_one(f"#{name}-side").display
                for name in ("passes", "inspector", "findings")
            }
            assert shown == {"passes": True, "inspector": False, "findings": False}
            await press(pilot, "i")
            assert screen.query_one("#inspector-side").display
            assert not screen.query_one("#passes-side").display
            assert screen.ir.size.width >= 40
            await press(pilot, "i", "m")
            assert screen.query_one("#findings-side").display
            await press(pilot, "1")
            assert screen.passes.has_focus

    async def test_w_goes_round_the_panes(self) -> None:
        async with opened(TRITON) as pilot:
            found = []
            for _ in range(5):
                await press(pilot, "w")
                found.append(pilot.app.focused.id)
            assert found == ["ir", "inspector", "findings", "passes", "ir"]

    async def test_overview_and_back(self) -> None:
        async with opened(MIGRAPHX) as pilot:
            screen = trace_screen(pilot)
            await press(pilot, "2")
            assert screen.mode == "op"
            await press(pilot, "o")
            assert any("119 of 105,378,732" in row for row in rows_of(screen.inspector))
            await press(pilot, "o")
            assert screen.mode == "op"

    async def test_every_action_is_in_the_palette_and_runs(self, log: Path) -> None:
        from passlens.tui.actions import ACTIONS

        async with opened(log) as pilot:
            commands = {c.title: c for c in pilot.app.get_system_commands(pilot.app.screen)}
            assert {action.title for action in ACTIONS} <= set(commands)
            commands["Fold"].callback()
            await settle(pilot)
            assert trace_screen(pilot).ir.state.folds.folded
            commands["Changed only"].callback()
            await settle(pilot)
            assert trace_screen(pilot).passes.changed_only

    async def test_help_lists_every_key(self, log: Path) -> None:
        from passlens.tui.actions import ACTIONS

        async with opened(log) as pilot:
            await press(pilot, "question_mark")
            said = "\n".join(rows_of(pilot.app.screen.query_one("#help-rows")))
            assert all(action.help in said for action in ACTIONS)
            await press(pilot, "escape")
            trace_screen(pilot)

    async def test_themes_change_the_colours(self, log: Path) -> None:
        async with opened(log) as pilot:
            ir = trace_screen(pilot).ir
            dark = ir.paint("value").color
            for theme in ("passlens-light", "textual-light", "nord"):
                pilot.app.theme = theme
                await settle(pilot)
                assert ir.paint("value").color is not None
            pilot.app.theme = "passlens-light"
            await settle(pilot)
            assert ir.paint("value").color != dark


class TestNumbers:
    async def test_the_title_has_the_numbers_of_the_pass_that_is_stepped_to(self, log: Path) -> None:
        async with opened(log) as pilot:
            await press(pilot, "b", "2")
            assert "│  5 ops" in bar(pilot, "title")
            await press(pilot, "full_stop")
            assert "│  4 ops" in bar(pilot, "title")
            assert not pilot.app._notifications

    async def test_a_finding_that_is_cut_off_can_be_read_in_full(self) -> None:
        async with opened(TRITON, (80, 24)) as pilot:
            await press(pilot, "4", "enter")
            said = "".join("".join(rows_of(trace_screen(pilot).inspector)).split())
            assert "getValueAs(Value,Attribute):Assertion`rewrittenValue'failed." in said

    async def test_what_is_wrong_stands_in_front_of_what_is_only_so(self) -> None:
        async with opened(MIGRAPHX) as pilot:
            await press(pilot, "full_stop")
            rows = rows_of(trace_screen(pilot).findings)
            assert rows[0].startswith("● markdown-mangled") and rows[1].startswith("● recovered-from-intact")
            assert any(row.startswith("· free memory: 421,527,552") for row in rows[2:])

    async def test_an_onnx_model_opens(self) -> None:
        async with opened(ROOT / "samples" / "classifier.onnx") as pilot:
            screen = trace_screen(pilot)
            assert "ONNX" in bar(pilot, "title")
            await press(pilot, "2", "j", "j")
            assert screen.ir.op is not None and len(rows_of(screen.inspector)) > 3
