"""The Timeline screen, driven as a reader does, and as pictures."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from driving import ROOT, SEEDS, bar, lines_of, opened, press, rows_of, settle, trace_screen
from passlens.ir.analysis.devices import device
from passlens.ir.analysis.lives import lives_of
from passlens.ir.analysis.memory import arena_use
from passlens.ir.analysis.migraphx_summary import main_body
from passlens.ir.analysis.timeline import timeline
from passlens.ir.errors import InputError
from passlens.ir.formats.migraphx import parse_migraphx
from passlens.ir.trace import Trace, open_trace
from passlens.tui.app import PasslensApp
from passlens.tui.jobs import Stale
from passlens.tui.planning import Ask, Planned, budget_bytes, plans_for, stepped
from passlens.tui.screens.help import HelpScreen
from passlens.tui.screens.timeline import TimelineScreen
from passlens.tui.widgets.timeline_lanes import lane_line
from passlens.tui.widgets.timeline_picture import Scale, TimelinePicture
from rich.cells import cell_len
from textual.pilot import Pilot

SEED = SEEDS / "migraphx_streaming_resnet50.txt"
CNN = ROOT / "samples" / "cnn_streamed.txt"
SIZES = [(80, 24), (200, 60)]
BARE = """main:@0 = check_context::migraphx::gpu::context -> float_type, {}, {}
main:@1 = hip::hip_allocate_memory[shape=int8_type, {256}, {1},id=main:scratch] -> int8_type, {256}, {1}
main:@2 = load[offset=0,end=256](main:@1) -> float_type, {64}, {1}
main:x = @param:x -> float_type, {64}, {1}
main:@4 = gpu::code_object[code_object=8,symbol_name=relu_kernel,global=64,local=64,](main:x,main:@2) -> float_type, {64}, {1}
main:@5 = @return(main:@4)
"""


def planned_for(trace: Trace, ask: Ask) -> Planned:
    """The last that there is to see of a plan."""
    return list(plans_for(lambda: trace.fresh(0), ask))[-1]


def screen(pilot: Pilot[str]) -> TimelineScreen:
    found = pilot.app.screen
    assert isinstance(found, TimelineScreen)
    return found


def words(pilot: Pilot[str]) -> str:
    return " ".join(rows_of(screen(pilot).query_one("#time-words"))).replace("  ", " ")  # type: ignore[arg-type]


def picture(pilot: Pilot[str]) -> list[str]:
    return lines_of(screen(pilot).picture)


@pytest.mark.parametrize("theme", ["passlens-dark", "passlens-light"])
@pytest.mark.parametrize("path", [SEED, CNN], ids=lambda path: path.stem)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_how_it_looks(
    snap_compare: Callable[..., bool],
    size: tuple[int, int],
    path: Path,
    theme: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("NO_COLOR", raising=False)

    async def to_the_timeline(pilot: Pilot[str]) -> None:
        await settle(pilot)
        # The light pictures are of the program as it stands, at its second stall, zoomed in.
        await press(
            pilot,
            "T",
            *(
                "j"
                if theme.endswith("dark")
                else ["n", "plus", "right_square_bracket", "right_square_bracket"]
            ),
        )

    app = PasslensApp(str(path.relative_to(ROOT)), theme=theme)
    assert snap_compare(app, terminal_size=size, run_before=to_the_timeline)


class TestAtAGlance:
    @pytest.mark.parametrize("size", SIZES)
    async def test_nothing_overlaps_as_it_stands_and_the_plan_hides_all(self, size: tuple[int, int]) -> None:
        async with opened(SEED, size) as pilot:
            await press(pilot, "T")
            lines = picture(pilot)
            before = next(line for line in lines if line.startswith(" as it stands"))
            after = next(line for line in lines if line.startswith(" planned"))
            assert "4.97 ms a run, 32.4 MB on GPU; no copy (░) overlaps a kernel" in before
            assert "every copy (▓) hides under kernels" in after
            copies = [line for line in lines if line.strip().startswith("copy")]
            assert "░" in copies[0] and "▓" not in copies[0]
            assert "▓" in copies[1] and "░" not in copies[1]
            assert "✓ plan verified" in bar(pilot, "time-title")
            assert all(cell_len(line) <= size[0] for line in lines)
            for name in ("time-budget", "time-memory", "time-times"):
                assert cell_len(bar(pilot, name)) <= 80

    async def test_memory_of_both(self) -> None:
        async with opened(SEED) as pilot:
            await press(pilot, "T")
            assert "32.4 MB, arena 31.2 MB → planned" in bar(pilot, "time-memory")


class TestTheBudget:
    async def test_the_slider_plans_again(self) -> None:
        async with opened(SEED) as pilot:
            await press(pilot, "T")
            first = screen(pilot).planned
            await press(pilot, "greater_than_sign", "greater_than_sign")
            second = screen(pilot).planned
            assert first is not None and second is not None
            assert second.ask.budget == "10%"
            assert first.report is not None and second.report is not None
            assert first.report.plan.resident_bytes == 0
            assert 0 < second.report.plan.resident_bytes <= 10_537_873
            assert "10% = 10.5 MB" in bar(pilot, "time-budget")
            await press(pilot, "less_than_sign")
            assert screen(pilot).ask.budget == "5%"

    async def test_a_typed_budget_limit_and_device(self) -> None:
        async with opened(SEED) as pilot:
            await press(pilot, "T", "b", "backspace", "backspace", *"50MB", "enter")
            planned = screen(pilot).planned
            assert planned is not None and planned.report is not None
            assert planned.report.wishes.budget == 50_000_000
            await press(pilot, "b", *["backspace"] * 4, *"lots", "enter")
            assert screen(pilot).ask.budget == "50MB"
            await press(pilot, "M", *["backspace"] * 9, *"90MB", "enter", "v", "c")
            planned = screen(pilot).planned
            assert planned is not None
            assert planned.ask == Ask("50MB", 90_000_000, "laptop", steady=False)

    async def test_a_limit_that_cannot_be_kept_says_so_beside_the_program_as_it_stands(self) -> None:
        async with opened(SEED) as pilot:
            await press(pilot, "T", "M", *["backspace"] * 9, *"1MB", "enter")
            assert "no plan" in bar(pilot, "time-title")
            assert "memory" in words(pilot)
            assert any(line.startswith(" as it stands") for line in picture(pilot))
            await press(pilot, "n", "o")  # nothing to turn to, nothing to write
            assert screen(pilot).picture.which == "as it stands"

    async def test_within_the_memory_of_the_program_as_it_stands(self) -> None:
        async with opened(SEED) as pilot:
            await press(pilot, "T", "M", "enter")
            planned = screen(pilot).planned
            assert planned is not None and planned.report is not None
            assert planned.ask.limit == 32_386_480
            assert planned.report.after.total <= 32_386_480
            assert planned.report.period_us < 0.6 * planned.report.before_us
            await press(pilot, "M", *["backspace"] * 9, "enter")
            assert screen(pilot).ask.limit is None

    async def test_stale_plans_are_dropped(self) -> None:
        async with opened(SEED) as pilot:
            await press(pilot, "T")
            now = screen(pilot)
            old = now.planned
            assert old is not None
            late = replace(old, ask=Ask("35%"))
            now.show_plan(late)
            assert now.planned is old

    async def test_the_program_as_it_stands_is_there_before_its_plan(self) -> None:
        trace = open_trace(str(CNN))
        seen = [[*found.sights] for found in plans_for(lambda: trace.fresh(0), Ask())]
        assert seen == [
            ["as it stands"],
            ["as it stands", "planned"],
            ["as it stands", "planned", "naive"],
        ]
        async with opened(CNN) as pilot:
            await press(pilot, "T")
            now = screen(pilot)
            whole = now.planned
            assert whole is not None
            unfinished = replace(whole, report=None)
            now.show_plan(unfinished)
            assert now.planned is whole
            now.planned = None
            now.show_plan(unfinished)
            assert "planning" in bar(pilot, "time-title")

    async def test_the_screen_answers_while_a_plan_is_made(self) -> None:
        async with opened(SEED) as pilot:
            await press(pilot, "T")
            now = screen(pilot)
            gate, asked = threading.Event(), []
            plan = now.work._work

            def slowly(ask: Ask, stale: Stale) -> None:
                asked.append(ask.budget)
                gate.wait(20)
                plan(ask, stale)

            now.work._work = slowly
            try:
                await pilot.press("greater_than_sign", "greater_than_sign", "greater_than_sign")
                await pilot.press("plus", "right")
                assert now.picture.span_us < now.picture.longest_us
                assert "planning" in bar(pilot, "time-title")
            finally:
                gate.set()
            await settle(pilot)
            assert gc.isenabled()
            assert asked == ["5%", "15%"]  # what came between was never begun
            assert now.planned is not None and now.planned.ask.budget == "15%"

    def test_steps_of_the_slider(self) -> None:
        for budget, down, up in [
            ("0%", "0%", "5%"),
            ("100%", "95%", "100%"),
            ("7MB", "5%", "10%"),
            ("auto", "95%", "100%"),
            ("15%", "10%", "20%"),
        ]:
            asked = Ask(budget)
            assert stepped(asked, -1, 100_000_000).budget == down
            assert stepped(asked, 1, 100_000_000).budget == up

    @pytest.mark.parametrize("text", ["", "%", "-5%", "many", "5.5.5%", "1e9"])
    def test_what_is_no_budget(self, text: str) -> None:
        with pytest.raises(InputError, match="expected"):
            budget_bytes(text, 100)


class TestMoving:
    async def test_the_cursor_names_what_is_under_it(self) -> None:
        async with opened(SEED) as pilot:
            await press(pilot, "T")
            assert "copy of" in words(pilot)
            await press(pilot, "j")
            assert "the kernel mul_kernel of @11, slot 0: starts at 0.0 µs" in words(pilot)
            await press(pilot, "full_stop")
            assert "slot 1" in words(pilot)
            await press(pilot, "comma")
            assert "slot 0" in words(pilot)
            await press(pilot, "j", "right", "right", "right", "right")
            said = words(pilot)
            assert "bytes at offset" in said and "slot" in said

    async def test_zoom_and_pan(self) -> None:
        async with opened(SEED) as pilot:
            await press(pilot, "T", "plus", "plus", "plus")
            shown = screen(pilot).picture
            assert shown.span_us == pytest.approx(shown.longest_us / 8)
            before = shown.begin_us
            await press(pilot, "end")
            assert shown.begin_us > before
            assert shown.begin_us <= shown.at_us < shown.begin_us + shown.span_us
            await press(pilot, *["minus"] * 5)
            assert (shown.begin_us, shown.span_us) == (0.0, shown.longest_us)

    async def test_from_stall_to_stall(self) -> None:
        async with opened(CNN) as pilot:
            await press(pilot, "T", "n", "right_square_bracket")
            assert screen(pilot).picture.which == "as it stands"
            first = words(pilot)
            assert "stands still for" in first and "on the same stream" in first
            await press(pilot, "right_square_bracket")
            assert words(pilot) != first
            await press(pilot, "left_square_bracket")
            assert words(pilot) == first
            assert any(line.strip().startswith("stalls") and "▲" in line for line in picture(pilot))

    async def test_naive_is_shown_too(self) -> None:
        async with opened(CNN) as pilot:
            await press(pilot, "T", "n", "n")
            assert any(line.startswith(" naive") for line in picture(pilot))
            await press(pilot, "n")
            assert screen(pilot).picture.which == "planned"

    @pytest.mark.parametrize("keys", [("j",), ("n", "j", "full_stop"), ()])
    async def test_enter_goes_to_the_op(self, keys: tuple[str, ...]) -> None:
        async with opened(SEED) as pilot:
            await press(pilot, "T", *keys)
            interval = screen(pilot).picture.interval
            assert interval is not None
            wanted = {value.name for value in (*interval.op.results, *interval.op.operands[:1])}
            await press(pilot, "enter")
            op = trace_screen(pilot).ir.op
            assert op is not None and op.results[0].name in wanted

    async def test_help_and_close(self) -> None:
        async with opened(CNN) as pilot:
            await press(pilot, "T", "question_mark")
            assert isinstance(pilot.app.screen, HelpScreen)
            await press(pilot, "escape", "q")
            trace_screen(pilot)

    @pytest.mark.parametrize("size", [(20, 5), (40, 12), (300, 90)])
    async def test_any_size_of_terminal(self, size: tuple[int, int]) -> None:
        async with opened(CNN, size) as pilot:
            await press(pilot, "T", "j", "j", "j", "right", "plus", "end", "n", "right_square_bracket")
            assert all(cell_len(line) <= size[0] for line in picture(pilot))
            await press(pilot, "enter")
            trace_screen(pilot)


class TestWriting:
    async def test_the_plan_is_written_and_read_back(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with opened(CNN) as pilot:
            monkeypatch.chdir(tmp_path)
            await press(pilot, "T", "o", "enter")
            written = tmp_path / "cnn_streamed.plan.txt"
            program = open_trace(str(written)).program(0)
            assert "hip::copy_batch_to_gpu" in {op.name for op in main_body(program)}
            was = written.read_bytes()
            await press(pilot, "o", *["backspace"] * 40, *"cnn_streamed.plan.txt", "enter")
            assert written.read_bytes() == was  # a file that is there is never written over
            await press(pilot, "o", *["backspace"] * 40, *"gone/x.txt", "enter")
            assert not (tmp_path / "gone").exists()


class TestWhatCannotBePlanned:
    async def test_an_mlir_program_says_why_not(self) -> None:
        async with opened(SEEDS / "triton_reproducible.mlir") as pilot:
            before = pilot.app.screen
            await press(pilot, "T")
            assert pilot.app.screen is before
            (said,) = [note.message for note in pilot.app._notifications]
            assert "no weights to stream in mlir IR" in said

    @pytest.mark.parametrize("size", SIZES)
    async def test_a_program_without_literals(self, tmp_path: Path, size: tuple[int, int]) -> None:
        path = tmp_path / "bare.txt"
        path.write_text(BARE)
        async with opened(path, size) as pilot:
            await press(pilot, "T")
            assert "no copies" in " ".join(picture(pilot))
            await press(pilot, "greater_than_sign", "n", "j", "j", "right_square_bracket", "enter")
            trace_screen(pilot)

    async def test_names_are_never_markup(self, tmp_path: Path) -> None:
        path = tmp_path / "[bold]x[.txt"
        path.write_text(BARE.replace("relu_kernel", "[red]k[/red"))
        async with opened(path) as pilot:
            await press(pilot, "T")
            assert "[red]k[/red" in words(pilot)

    async def test_an_onnx_model_is_lowered(self) -> None:
        async with opened(ROOT / "samples" / "classifier.onnx") as pilot:
            await press(pilot, "T")
            assert "✓ plan verified" in bar(pilot, "time-title")
            await press(pilot, "enter")  # the lowered op is not in the model's text: it stays there
            trace_screen(pilot)


class TestLives:
    def test_they_are_those_of_the_arena(self) -> None:
        """In program order on one stream the most bytes of lives at once are the peak of the arena."""
        trace = open_trace(str(SEED))
        body = main_body(trace.program(0))
        found = timeline(body, device("h200"))
        lives = lives_of(found)
        use = arena_use(body)
        assert len(lives) == sum(bool(buffer.writers) for buffer in use.buffers)
        steps = sorted(
            [(life.start_us + 1e-6, life.buffer.bytes) for life in lives]
            + [(life.end_us - 1e-6, -life.buffer.bytes) for life in lives]
        )
        total = peak = 0
        for _, size in steps:
            total += size
            peak = max(peak, total)
        assert 0.95 * use.peak_live <= peak <= use.peak_live

    def test_no_two_lives_of_a_plan_share_bytes(self) -> None:
        trace = open_trace(str(CNN))
        planned = planned_for(trace, Ask("25%"))
        for sight in planned.sights.values():
            ordered = sight.lives
            for at, life in enumerate(ordered):
                for other in ordered[at + 1 :]:
                    if other.start_us >= life.end_us - 1e-6:
                        continue
                    apart = other.buffer.start >= life.buffer.end or life.buffer.start >= other.buffer.end
                    assert apart, (sight.which, life.buffer.load.results[0].name)

    def test_lanes_keep_to_the_run_that_is_shown(self) -> None:
        trace = open_trace(str(CNN))
        sight = planned_for(trace, Ask()).sights["planned"]
        scale = Scale(sight.begin_us, sight.begin_us + 2 * sight.span_us, 40)
        for name, intervals in sight.lanes():
            line = lane_line(sight, intervals, scale)
            assert len(line) == 40, name
            assert line[20:].strip() == ""
            assert line[:20].strip() != ""


def test_a_picture_that_was_never_filled_draws_nothing() -> None:
    empty = TimelinePicture()
    assert (empty.interval, empty.life, empty.here, empty.places) == (None, None, None, [])
    assert parse_migraphx(BARE, "bare").ops
