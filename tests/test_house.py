"""The rules of the house that a reader would check by hand: imports point one way, the wheel is whole."""

from __future__ import annotations

import ast
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("ir", "backends", "tui")
MODULES = sorted(path.relative_to(ROOT) for room in ROOMS for path in (ROOT / room).rglob("*.py"))
# What the rooms of `ir` may import of each other: design.md §3.
INSIDE_IR = {
    "formats": {"formats"},
    "layouts": {"layouts", "formats"},
    "analysis": {"analysis", "formats", "layouts"},
    "diff": {"diff", "formats", "analysis"},
    "passes": {"passes", "formats", "layouts", "analysis", "diff"},
    "lint": {"lint", "passes", "formats", "layouts", "analysis", "diff"},
}
FORBIDDEN_IN_IR = {"textual", "rich", "triton", "torch", "cuda", "hip", "curses"}


def imports(path: Path) -> list[tuple[str, int]]:
    """(what, line) of each import; our own modules as dotted paths from the root, wherever they stand."""
    found = []
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level == 0:
                found.append((node.module or "", node.lineno))
            else:
                base = list(path.parent.parts[: len(path.parent.parts) - node.level + 1])
                target = ".".join(["", *base, *(node.module or "").split(".")]).rstrip(".")
                found += [(f"{target}.{alias.name}", node.lineno) for alias in node.names]
    return found


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_our_own_imports_are_relative_and_point_one_way(path: Path) -> None:
    allowed = ROOMS[: ROOMS.index(path.parts[0]) + 1]
    for name, line in imports(path):
        if not name.startswith("."):
            assert name.split(".")[0] != "passlens", f"{path}:{line}: import our own modules relatively"
            continue
        parts = name[1:].split(".")
        if parts[0] in ROOMS:
            assert parts[0] in allowed, f"{path}:{line}: {path.parts[0]} must not import {parts[0]}"
        if path.parts[0] == "ir" and len(path.parts) > 2 and parts[0] == "ir":
            room = path.parts[1]
            if len(parts) > 2 and parts[1] in INSIDE_IR and room in INSIDE_IR:
                assert parts[1] in INSIDE_IR[room], f"{path}:{line}: ir/{room} must not import ir/{parts[1]}"


@pytest.mark.parametrize("path", [p for p in MODULES if p.parts[0] == "ir"], ids=str)
def test_nothing_in_ir_knows_a_screen_or_a_device(path: Path) -> None:
    for name, line in imports(path):
        assert name.split(".")[0] not in FORBIDDEN_IN_IR, f"{path}:{line}: ir must not import {name}"


@pytest.mark.parametrize("command", [["--help"], ["info", "--help"], ["show", "--help"], ["diff", "--help"]])
def test_headless_commands_load_no_screen(command: list[str]) -> None:
    code = (
        "import sys\nfrom passlens.tui.cli import main\n"
        f"try:\n    main({command!r})\nexcept SystemExit:\n    pass\n"
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('textual', 'rich', 'onnx', 'numpy')), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr.strip() == "[]"


def test_the_wheel_holds_every_module_and_no_test(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(ROOT)],
        capture_output=True,
        text=True,
        check=True,
        timeout=200,
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {f"passlens/{path.as_posix()}" for path in MODULES} <= names
    assert {"passlens/__init__.py", "passlens/py.typed"} <= names
    assert {f"passlens/{p.relative_to(ROOT).as_posix()}" for p in (ROOT / "tui").rglob("*.tcss")} <= names
    data = {f"passlens/{p.relative_to(ROOT).as_posix()}" for p in (ROOT / "ir").rglob("*.json")}
    assert len(data) > 6
    assert data <= names
    assert not [name for name in names if "tests/" in name or "bench/" in name or name.endswith("setup.py")]
