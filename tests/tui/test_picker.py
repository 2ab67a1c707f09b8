"""The file picker and what opening from it does."""

from pathlib import Path

import pytest
from driving import SEEDS, bar, opened, press, rows_of, settle, trace_screen
from passlens.tui.app import PasslensApp
from passlens.tui.screens.picker import PickerScreen
from passlens.tui.screens.trace import TraceScreen
from passlens.tui.widgets.files import folder_choices, picker_rows
from passlens.tui.widgets.row_list import RowList

MODULE = "module {\n  func.func @f() {\n    return\n  }\n}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "inner.mlir").write_text(MODULE)
    (tmp_path / "a.mlir").write_text(MODULE)
    (tmp_path / "bad.txt").write_text("nothing\n")
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8")
    (tmp_path / ".hidden.mlir").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def listed(app: PasslensApp) -> list[str]:
    return rows_of(app.screen.query_one("#files", RowList))


def test_what_a_folder_offers(folder: Path) -> None:
    assert [choice.name for choice in folder_choices(str(folder))] == ["sub", "a.mlir", "bad.txt"]
    assert folder_choices(str(folder / "none")) == []
    rows = picker_rows([], str(folder), folder_choices(str(folder)), "mlir")
    assert [row.left[1][0] for row in rows[1:]] == ["a.mlir"]


async def test_samples_first_then_the_folder_and_choosing_opens(folder: Path) -> None:
    app = PasslensApp()
    async with app.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        rows = listed(app)
        assert rows[0] == " Samples" and any("cnn_streamed.txt" in row for row in rows)
        await press(pilot, "slash", *"a.mlir", "enter")
        assert isinstance(app.screen, TraceScreen)
        assert "a.mlir" in bar(pilot, "title")


async def test_folders_are_entered_and_left(folder: Path) -> None:
    app = PasslensApp()
    async with app.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        at = next(i for i, row in enumerate(listed(app)) if "sub/" in row)
        app.screen.query_one("#files", RowList).move(at)
        await press(pilot, "enter")
        assert any("inner.mlir" in row for row in listed(app))
        await press(pilot, "backspace")
        assert any("a.mlir" in row for row in listed(app))


async def test_a_file_that_is_refused_leads_back_with_the_reason(folder: Path) -> None:
    app = PasslensApp()
    async with app.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "slash", *"bad", "enter")
        await settle(pilot)
        assert isinstance(app.screen, PickerScreen)
        assert "holds no program" in bar(pilot, "complaint")


async def test_another_file_from_an_open_trace(folder: Path) -> None:
    async with opened(SEEDS / "triton_fix1.mlir") as pilot:
        await press(pilot, "O")
        assert isinstance(pilot.app.screen, PickerScreen)
        await press(pilot, "escape")
        assert "triton_fix1" in bar(pilot, "title")
        await press(pilot, "O", "slash", *"a.mlir", "enter")
        assert trace_screen(pilot).path.endswith("a.mlir")
        assert len(pilot.app.screen_stack) == 2
