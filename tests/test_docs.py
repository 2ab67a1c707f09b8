"""Every command that the documentation shows is run, and prints what the documentation says it prints.

In a ```console block, a line that begins with `$ ` is a command, what follows its output. `…` in an output
line stands for any text, a line that is only `…` for any lines; `[exit N]` ends the output of a command that
does not succeed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```console\n(.*?)^```", re.M | re.S)


def commands(page: Path) -> list[tuple[str, str, int]]:
    found = []
    for block in BLOCK.findall(page.read_text()):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            code = re.search(r"^\[exit (\d+)\]\n?\Z", output, re.M)
            found.append(
                (command, output[: code.start()] if code else output, int(code.group(1)) if code else 0)
            )
    return found


ALL = [(page, *entry) for page in PAGES for entry in commands(page)]


def matches(expected: str, printed: str) -> bool:
    lines = [
        r"(?:.*\n)*?"
        if line.strip() == "…"
        else ".*".join(re.escape(piece) for piece in line.split("…")) + r"\s*\n"
        for line in expected.splitlines()
    ]
    return re.fullmatch("".join(lines), printed) is not None


@pytest.mark.parametrize(
    ("page", "command", "output", "code"), ALL, ids=[f"{entry[0].name}:{entry[1][:60]}" for entry in ALL]
)
def test_a_command_does_what_the_page_says(page: Path, command: str, output: str, code: int) -> None:
    folder = os.path.dirname(sys.executable)
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}
    done = subprocess.run(
        command,
        shell=True,
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )
    printed = done.stdout + done.stderr
    assert done.returncode == code, printed[-2000:]
    assert matches(output, printed), printed[:4000]


def test_the_readme_s_two_commands_are_what_ci_runs() -> None:
    readme = (ROOT / "README.md").read_text()
    assert "pip install -e '.[test]' && pytest" in readme
    assert "pip install -e '.[test]' && pytest" in (ROOT / ".ci/run").read_text()


def test_links_and_pictures_are_there() -> None:
    for page in PAGES:
        prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)  # IR has brackets, too
        for target in re.findall(r"\]\(([^)#:]+)\)", prose):
            assert (page.parent / target).exists(), f"{page.name} names {target}"
