"""How the app holds up on a large log: first paint, memory, paging, searching, and how long anything stalls.

    python bench/bench_tui.py [LOG] [--megabytes N]

Without LOG, one of N megabytes (1000) is made by repeating a sample with changed kernel names. Prints each
figure beside its budget (docs: design budgets); exits with 1 if one is missed. `stall` is the longest time
that the screen's own loop had to wait for its turn: what a key press would have waited at worst.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from passlens.tui.app import PasslensApp
from passlens.tui.screens.trace import TraceScreen
from textual.pilot import Pilot

SAMPLE = Path(__file__).parents[1] / "samples" / "two_kernels.hip-gfx942.log"
SIZE = (200, 60)
misses: list[str] = []


def report(what: str, value: float, unit: str, budget: float | None = None) -> None:
    verdict = ""
    if budget is not None:
        verdict = f"budget {budget:g} {unit}: {'ok' if value <= budget else 'MISSED'}"
        if value > budget:
            misses.append(what)
    print(f"{what:<52}{value:>10.1f} {unit:<3} {verdict}", flush=True)


def make_log(folder: str, megabytes: int) -> Path:
    """A log of other kernels each time, so that no two texts are equal."""
    path = Path(folder) / "large.log"
    text = SAMPLE.read_text()
    size = number = 0
    with path.open("w") as file:
        while size < megabytes * 10**6:
            part = text.replace("softmax_row", f"softmax_{number}").replace(
                "persistent_matmul", f"mm_{number}"
            )
            size += file.write(part)
            number += 1
    return path


def memory(kind: str) -> float:
    """Megabytes of this process: `RssAnon` is its own, `RssFile` mapped files that the kernel may drop."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(kind):
            return int(line.split()[1]) / 1000
    return float("nan")


class Pulse:
    """Ticks on the app's loop and remembers the longest pause between two ticks."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._task = asyncio.get_running_loop().create_task(self._tick())

    async def _tick(self) -> None:
        while True:
            since = time.perf_counter()
            await asyncio.sleep(0.005)
            self.longest = max(self.longest, time.perf_counter() - since - 0.005)

    def take(self) -> float:
        """Milliseconds of the longest pause since the last call."""
        longest, self.longest = self.longest, 0.0
        return longest * 1000

    def stop(self) -> None:
        self._task.cancel()


async def until(condition: object, limit: float = 120) -> float:
    """Seconds until a condition holds, looked at every few milliseconds."""
    since = time.perf_counter()
    while not condition():  # type: ignore[operator]
        if time.perf_counter() - since > limit:
            raise TimeoutError
        await asyncio.sleep(0.003)
    return time.perf_counter() - since


async def key_times(pilot: Pilot[str], screen: TraceScreen, action: object, count: int) -> list[float]:
    """Milliseconds from an action to the repainted screen, `count` times."""
    times = []
    for _ in range(count):
        since = time.perf_counter()
        action()  # type: ignore[operator]
        painted = asyncio.get_running_loop().create_future()
        screen.call_after_refresh(lambda done=painted: done.done() or done.set_result(None))
        await painted
        times.append((time.perf_counter() - since) * 1000)
    return times


async def run(path: Path) -> None:
    megabytes = path.stat().st_size / 1e6
    print(f"{path} of {megabytes:,.0f} MB")
    base = memory("RssAnon")
    app = PasslensApp()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        pulse = Pulse()
        up = memory("RssAnon")
        since = time.perf_counter()
        screen = TraceScreen(str(path))
        await app.push_screen(screen)
        await until(lambda: screen.passes.count > 0 and screen.ir.document.text)
        report("first paint: list and IR on the screen", (time.perf_counter() - since) * 1000, "ms", 500)
        await until(lambda: screen.session is not None and not screen.jobs.open.busy)
        report("whole log listed", (time.perf_counter() - since) * 1000, "ms")
        print(f"  {screen.passes.count:,} rows")
        await asyncio.sleep(1)
        report("longest stall while opening", pulse.take(), "ms", 150)
        await until(lambda: not app.workers or all(w.is_finished for w in app.workers))
        report("stall while facts and numbers are read", pulse.take(), "ms", 150)
        report("own memory, Textual and Python included", memory("RssAnon"), "MB", 150)
        mapped = memory("RssFile")
        print(f"  before Textual {base:.0f} MB, with Textual {up:.0f} MB; mapped file pages {mapped:.0f} MB")

        screen.passes.focus()
        times = await key_times(pilot, screen, lambda: screen.passes.action_page(1), 60)
        report("page down in the passes, median", median(times), "ms", 50)
        report("page down in the passes, worst", max(times), "ms")
        await until(lambda: not screen.jobs.documents.busy)
        screen.ir.focus()
        times = await key_times(pilot, screen, lambda: screen.ir.action_page(1), 60)
        report("page down in the IR, median", median(times), "ms", 50)
        report("page down in the IR, worst", max(times), "ms")
        pulse.take()
        since = time.perf_counter()
        before = screen.ir.document.key
        screen.passes.action_edge(1)
        await until(lambda: screen.ir.document.key != before and screen.ir.document.index)
        report("jump to the last pass, parsed", (time.perf_counter() - since) * 1000, "ms", 200)
        since = time.perf_counter()
        screen.passes.words = "remove-layout"
        screen.passes.refilter()
        report("filter all passes", (time.perf_counter() - since) * 1000, "ms", 200)
        screen.passes.words = ""
        screen.passes.refilter()
        report("stall meanwhile", pulse.take(), "ms")
        report("own memory at the end", memory("RssAnon"), "MB", 150)
        pulse.stop()


async def run_text(megabytes: int) -> None:
    """One program of many megabytes: a text that is all lines, and one that is a single line."""
    body = "".join(f"    %{i} = arith.addi %{i - 1}, %a : i32\n" for i in range(1, megabytes * 27_000))
    lines = "func.func @f(%a: i32, %0: i32) {\n" + body + "    return\n}\n"
    for name, text in (("lines", lines), ("one line", lines.replace("\n", " "))):
        with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
            file.write(text)
            file.flush()
            print(f"one program of {len(text) / 1e6:.0f} MB, {name}")
            await run_program(PasslensApp(file.name), 1 if name == "lines" else 0)


async def run_program(app: PasslensApp, down: int) -> None:
    """Open, page (downwards, or else sideways) and search in one large program."""
    async with app.run_test(size=SIZE) as pilot:
        pulse = Pulse()
        since = time.perf_counter()
        await until(lambda: isinstance(app.screen, TraceScreen) and app.screen.ir.document.text)
        screen = app.screen
        assert isinstance(screen, TraceScreen)
        report("text on the screen", (time.perf_counter() - since) * 1000, "ms", 1000)
        await until(lambda: screen.ir.document.index is not None)
        report("parsed", (time.perf_counter() - since) * 1000, "ms")
        report("longest stall", pulse.take(), "ms", 150)
        await until(lambda: all(worker.is_finished for worker in app.workers))
        report("longest stall while counting", pulse.take(), "ms", 150)
        screen.ir.focus()
        action = (lambda: screen.ir.action_page(1)) if down else (lambda: screen.ir.action_pan(1))
        times = await key_times(pilot, screen, action, 40)
        report("page, median", median(times), "ms", 50)
        pulse.take()
        since = time.perf_counter()
        screen.jobs.search.ask((screen.ir.document, "%77777 "))
        await until(lambda: screen.ir.state.matches is not None)
        report("search the whole text", (time.perf_counter() - since) * 1000, "ms", 1000)
        report("longest stall meanwhile", pulse.take(), "ms", 150)
        pulse.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the app on a large log.")
    parser.add_argument("log", nargs="?", type=Path)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--program", type=int, default=10, help="megabytes of the single program")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(args.log or make_log(folder, args.megabytes)))
    asyncio.run(run_text(args.program))
    print("missed: " + ", ".join(misses) if misses else "all budgets held")
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
