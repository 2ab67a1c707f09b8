"""The Diff screen and the history of a value, driven as a reader does, and as pictures."""

from pathlib import Path

import pytest
from driving import ROOT, SEEDS, bar, opened, press, rows_of, settle, trace_screen
from passlens.ir.diff.compare import compare
from passlens.ir.formats.mlir import parse_mlir
from passlens.tui.app import PasslensApp
from passlens.tui.screens.diff import DiffScreen, SideBySide
from passlens.tui.screens.history import HistoryScreen
from passlens.tui.widgets.diff_rows import beside, side_rows
from passlens.tui.widgets.row_list import RowList

LOG = ROOT / "samples" / "two_kernels.hip-gfx942.log"


def seeds_rows(context: int = 1):
    texts = [(SEEDS / f"triton_{name}.mlir").read_text() for name in ("reproducible", "fix1")]
    return side_rows(compare(*map(parse_mlir, texts)), context)


def test_renamed_values_are_not_marked_and_changed_operands_are() -> None:
    rows = [row for row in seeds_rows() if row.mark == "changed"]
    outer, inner = rows
    assert [text for text, style in inner.left if style] == ["%cst_0"]
    assert [text for text, style in inner.right if style] == ["%68"]
    assert [text for text, style in outer.left if style] == []
    assert "iter_args" in "".join(text for text, style in outer.right if style)


def test_the_hunks_are_numbered_and_every_row_fits() -> None:
    rows = seeds_rows()
    numbers = [row.hunk for row in rows if row.hunk >= 0]
    assert numbers == sorted(numbers) and set(numbers) == set(range(max(numbers) + 1))
    for row in rows:
        if row.mark != "note":
            assert len(beside(row, 100).text) <= 100
    assert len(seeds_rows(1000)) > len(rows)
    assert not any(row.mark == "gap" for row in seeds_rows(1000))


async def test_d_shows_what_a_pass_changed(tmp_path: Path) -> None:
    async with opened(LOG) as pilot:
        screen = trace_screen(pilot)
        names = [run.argument for run in screen.session.trace.runs]  # type: ignore[union-attr]
        screen.passes.select("run", names.index("tritongpu-coalesce"))
        await press(pilot, "d")
        shown = pilot.app.screen
        assert isinstance(shown, DiffScreen)
        assert "added" in bar(pilot, "diff-title")
        assert "after tritongpu-coalesce" in bar(pilot, "diff-sides")
        rows = shown.query_one(SideBySide)
        first = rows.cursor
        assert rows.sides[first].hunk == 0
        await press(pilot, "]")
        assert rows.sides[rows.cursor].hunk == 1
        await press(pilot, "[")
        assert rows.cursor == first
        count = rows.count
        await press(pilot, "+")
        assert rows.count > count and rows.sides[rows.cursor].hunk == 0
        await press(pilot, "minus")
        assert rows.count == count
        await press(pilot, "escape")
        assert trace_screen(pilot)


async def test_a_program_without_another_says_so() -> None:
    async with opened(SEEDS / "triton_fix1.mlir") as pilot:
        screen = pilot.app.screen
        await press(pilot, "d")
        assert pilot.app.screen is screen


async def test_the_history_of_a_value_leads_to_its_passes() -> None:
    async with opened(LOG) as pilot:
        screen = trace_screen(pilot)
        names = [run.argument for run in screen.session.trace.runs]  # type: ignore[union-attr]
        screen.passes.select("run", names.index("tritongpu-coalesce"))
        await press(pilot, "enter")
        text = screen.ir.document.text
        screen.ir.go(text.index("ttg.convert_layout"))
        await press(pilot, "0", "l", "h", "H")
        shown = pilot.app.screen
        assert isinstance(shown, HistoryScreen)
        said = rows_of(shown.query_one(RowList))
        assert any("born" in row for row in said), said
        before = len(said)
        await press(pilot, "a")
        assert len(rows_of(shown.query_one(RowList))) >= before
        await press(pilot, "home", "enter")
        assert trace_screen(pilot).passes.has_focus


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
def test_the_diff_as_a_picture(snap_compare, size: tuple[int, int]) -> None:
    async def show(pilot) -> None:
        await settle(pilot)
        texts = [(SEEDS / f"triton_{name}.mlir").read_text() for name in ("reproducible", "fix1")]
        found = compare(*map(parse_mlir, texts))
        pilot.app.push_screen(DiffScreen(found, ("reproducible", "fix1")))
        await settle(pilot)

    app = PasslensApp(str(SEEDS / "triton_fix1.mlir"))
    assert snap_compare(app, terminal_size=size, run_before=show)
