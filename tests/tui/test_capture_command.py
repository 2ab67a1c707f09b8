"""`passlens capture`: the log, the exit status, interruption, and commands that are not there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from passlens.ir.trace import open_trace
from passlens.tui.cli import main

CHILD = """
import os, sys
print("to stdout")
print("starting", file=sys.stderr)
if os.environ.get("MLIR_ENABLE_DUMP"):
    for name in ("A", "B"):
        print(f"// -----// IR Dump Before {name} ({name.lower()}) ('builtin.module' operation) //----- //", file=sys.stderr)
        print("module {\\n  tt.func public @k() {\\n    tt.return\\n  }\\n}\\n", file=sys.stderr)
sys.exit(int(sys.argv[1]))
"""


def capture(tmp_path: Path, *args: str) -> int:
    script = tmp_path / "script.py"
    script.write_text(CHILD)
    return main(["capture", "-o", str(tmp_path / "t.log"), *args, "--", sys.executable, str(script), "3"])


def test_the_log_opens_and_the_status_is_the_child_s(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert capture(tmp_path) == 3
    out, err = capfd.readouterr()
    assert out == "to stdout\n"
    assert err.startswith("starting\n")
    assert "2 dumps in" in err
    trace = open_trace(str(tmp_path / "t.log"))
    assert [run.name for run in trace.runs] == ["A", "B"]
    assert list(tmp_path.glob(".*")) == []


def test_one_kernel_only(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script = "import os; print(os.environ['MLIR_ENABLE_DUMP'], os.environ['TRITON_LLVM_DEBUG_ONLY'])"
    options = ["-o", str(tmp_path / "t.log"), "--kernel", "k", "--layout-debug"]
    assert main(["capture", *options, "--", sys.executable, "-c", script]) == 0
    assert capfd.readouterr().out == "k tritongpu-remove-layout-conversions\n"


def test_a_command_that_is_killed(tmp_path: Path) -> None:
    code = main(
        ["capture", "-o", str(tmp_path / "t.log"), "--", sys.executable, "-c", "import os; os.abort()"]
    )
    assert code == 134


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "nothing to run"),
        (["--", "/no/such/command"], "/no/such/command cannot be run"),
        (["-o", "/no/such/folder/t.log", "--", "true"], "/no/such/folder is no folder"),
    ],
)
def test_what_cannot_be_done(
    args: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["capture", *args]) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
