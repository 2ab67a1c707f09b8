"""`passlens [FILE]`: the app on a terminal, text elsewhere."""

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SEEDS = ROOT / "tests" / "golden" / "seeds"
MAIN = [sys.executable, "-c", "import sys; from passlens.tui.cli import main; sys.exit(main())"]


def passlens(*args: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*MAIN, *args], capture_output=True, text=True, timeout=60, **options)  # type: ignore[call-overload]


def test_without_a_terminal_the_overview_is_that_of_info() -> None:
    path = str(SEEDS / "migraphx_streaming_resnet50.txt")
    plain, info = passlens(path), passlens("info", path)
    assert plain.returncode == 0 and plain.stdout == info.stdout
    assert "574 instructions" in plain.stdout


def test_without_a_terminal_and_a_file_a_usage_and_exit_code_2() -> None:
    done = passlens()
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("usage: passlens [FILE]")


def test_a_pipe_as_input() -> None:
    done = passlens("-", input="module {\n  func.func @f() {\n    return\n  }\n}\n")
    assert done.returncode == 0 and "MLIR" in done.stdout


@pytest.mark.parametrize("command", ["import passlens.tui.cli", "import passlens.tui.commands.open"])
def test_importing_the_command_line_loads_no_screen(command: str) -> None:
    code = f"{command}\nimport sys\nprint([m for m in sys.modules if m.split('.')[0] in ('textual', 'rich')])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


def test_a_file_as_text_loads_no_screen() -> None:
    path = str(SEEDS / "triton_fix1.mlir")
    code = (
        f"from passlens.tui.cli import main\nmain([{path!r}])\nimport sys\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('textual', 'rich')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "[]"


class Terminal:
    """A process on a terminal of its own."""

    def __init__(self, *args: str, stdin: int | None = None, env: dict[str, str] | None = None) -> None:
        self.master, slave = pty.openpty()
        os.set_blocking(self.master, False)
        self.process = subprocess.Popen(
            [*MAIN, *args],
            stdin=slave if stdin is None else stdin,
            stdout=slave,
            stderr=slave,
            env={**os.environ, "TERM": "xterm-256color", "LINES": "40", "COLUMNS": "120", **(env or {})},
            start_new_session=True,
            preexec_fn=lambda: os.close(os.open(os.ttyname(1), os.O_RDWR)),  # makes it the session's terminal
        )
        os.close(slave)
        self.said = ""

    def until(self, text: str, limit: float = 30) -> None:
        deadline = time.monotonic() + limit
        while text not in self.said:
            assert time.monotonic() < deadline, self.said[-2000:]
            if select.select([self.master], [], [], 0.2)[0]:
                try:
                    self.said += os.read(self.master, 65536).decode("utf-8", "replace")
                except OSError:
                    break
        assert text in self.said, self.said[-2000:]

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def end(self) -> int:
        deadline = time.monotonic() + 30
        while self.process.poll() is None and time.monotonic() < deadline:
            if select.select([self.master], [], [], 0.1)[0]:
                try:
                    self.said += os.read(self.master, 65536).decode("utf-8", "replace")
                except OSError:
                    break
        return self.process.wait(10)


def test_on_a_terminal_the_app_opens_and_q_leaves() -> None:
    terminal = Terminal(str(SEEDS / "triton_fix1.mlir"))
    terminal.until("tritongpu-remove-layout-conversions")
    terminal.press("q")
    assert terminal.end() == 0


def test_a_pipe_is_read_while_keys_come_from_the_terminal() -> None:
    with (SEEDS / "triton_fix1.mlir").open() as file:
        cat = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
    assert cat.stdout is not None
    terminal = Terminal("-", stdin=cat.stdout.fileno())
    terminal.until("tritongpu-remove-layout-conversions")
    terminal.press("q")
    assert terminal.end() == 0
    cat.wait(10)


def test_a_missing_or_useless_file_gives_a_message_and_exit_code_2(tmp_path: Path) -> None:
    terminal = Terminal(str(tmp_path / "none.mlir"))
    assert terminal.end() == 2 and "does not exist" in terminal.said
    useless = tmp_path / "useless.txt"
    useless.write_text("nothing of ours\n")
    terminal = Terminal(str(useless))
    assert terminal.end() == 2
    assert "holds no program" in terminal.said


def test_leaving_does_not_wait_for_what_is_still_being_read(tmp_path: Path) -> None:
    path = tmp_path / "large.mlir"
    body = " ".join(f"%{n} = arith.addi %{n - 1}, %a : i32" for n in range(1, 120_000))
    path.write_text(f"func.func @f(%a: i32, %0: i32) {{ {body} return }}")
    terminal = Terminal(str(path))
    terminal.until("@f")
    terminal.press("q")
    since = time.monotonic()
    assert terminal.end() == 0
    assert time.monotonic() - since < 2.5


def test_no_color_draws_without_colours() -> None:
    terminal = Terminal(str(SEEDS / "triton_fix1.mlir"), env={"NO_COLOR": "1", "COLORTERM": "truecolor"})
    terminal.until("tritongpu-remove-layout-conversions")
    terminal.press("q")
    terminal.end()
    import re

    for red, green, blue in re.findall(r"[34]8;2;(\d+);(\d+);(\d+)", terminal.said):
        assert max(int(red), int(green), int(blue)) - min(int(red), int(green), int(blue)) <= 1
