"""How the screens look, at the smallest and at a large size, dark and light.

After a change that is meant: `pytest tests/tui/test_snapshots.py --snapshot-update`, and look at the SVGs.
"""

from collections.abc import Callable

import pytest
from driving import ROOT, settle
from passlens.tui.app import PasslensApp
from passlens.tui.screens import picker
from passlens.tui.widgets.files import Choice
from textual.pilot import Pilot

SIZES = [(80, 24), (200, 60)]
THEMES = ["passlens-dark", "passlens-light"]
SEEDS = "tests/golden/seeds"
Compare = Callable[..., bool]


@pytest.fixture(autouse=True)
def plain_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(
        picker,
        "sample_choices",
        lambda: [
            Choice("s/cnn.txt", "cnn.txt", 30_000, False, True),
            Choice("s/k.log.gz", "k.log.gz", 9, False, True),
        ],
    )
    monkeypatch.setattr(
        picker,
        "folder_choices",
        lambda folder: [
            Choice("d/old", "old", 0, True, False),
            Choice("d/a.ttgir", "a.ttgir", 14_714, False, True),
        ],
    )
    monkeypatch.setattr("os.getcwd", lambda: "/dumps")


def pressing(*keys: str) -> Callable[[Pilot[str]], object]:
    async def run(pilot: Pilot[str]) -> None:
        await settle(pilot)
        for key in keys:
            await pilot.press(key)
        await settle(pilot)

    return run


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
class TestScreens:
    def test_triton(self, snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
        app = PasslensApp(f"{SEEDS}/triton_layout_assertion.txt", theme=theme)
        keys = ("2", "colon", "8", "4", "enter", "l", "l")
        assert snap_compare(app, terminal_size=size, run_before=pressing(*keys))

    def test_migraphx(self, snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
        app = PasslensApp(f"{SEEDS}/migraphx_streaming_resnet50.txt", theme=theme)
        assert snap_compare(app, terminal_size=size, run_before=pressing())

    def test_help(self, snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
        app = PasslensApp(f"{SEEDS}/triton_fix1.mlir", theme=theme)
        assert snap_compare(app, terminal_size=size, run_before=pressing("question_mark"))

    def test_picker(self, snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
        assert snap_compare(PasslensApp(theme=theme), terminal_size=size, run_before=pressing())


def test_search_at_80x24(snap_compare: Compare) -> None:
    app = PasslensApp(f"{SEEDS}/triton_layout_assertion.txt")
    keys = ("2", "slash", *"convert", "enter", "i")
    assert snap_compare(app, terminal_size=(80, 24), run_before=pressing(*keys))
