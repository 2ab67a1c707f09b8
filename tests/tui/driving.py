"""How the tests of the app drive it: open a file, wait for its threads, read what is on the screen."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from passlens.tui.app import PasslensApp
from passlens.tui.screens.trace import TraceScreen
from passlens.tui.widgets.bars import Bar
from passlens.tui.widgets.row_list import RowList
from textual.pilot import Pilot

ROOT = Path(__file__).parents[2]
SEEDS = ROOT / "tests" / "golden" / "seeds"


async def settle(pilot: Pilot[str]) -> None:
    """Wait until no thread is at work and all that they brought is shown."""
    for _ in range(2):
        await pilot.pause()
        await pilot.app.workers.wait_for_complete()
    await pilot.pause()


@asynccontextmanager
async def opened(path: Path | str, size: tuple[int, int] = (120, 34)) -> AsyncIterator[Pilot[str]]:
    """The app with a file open and at rest."""
    app = PasslensApp(str(path))
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        yield pilot


async def press(pilot: Pilot[str], *keys: str) -> None:
    """Press keys and wait for what they set going."""
    await pilot.press(*keys)
    await settle(pilot)


def trace_screen(pilot: Pilot[str]) -> TraceScreen:
    """The Trace screen."""
    screen = pilot.app.screen
    assert isinstance(screen, TraceScreen)
    return screen


def lines_of(widget: object) -> list[str]:
    """The lines that a widget draws."""
    height = widget.size.height  # type: ignore[attr-defined]
    return [widget.render_line(y).text.rstrip() for y in range(height)]  # type: ignore[attr-defined]


def rows_of(rows: RowList) -> list[str]:
    """Every row of a list, those out of sight too."""
    return [rows.row(index).text for index in range(rows.count)]


def bar(pilot: Pilot[str], name: str) -> str:
    """What a bar says."""
    return pilot.app.screen.query_one(f"#{name}", Bar).text
