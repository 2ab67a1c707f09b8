"""Lint on workers that die: nothing is lost, nothing is doubled."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import passlens.tui.linting as linting
import pytest
from passlens.tui.cli import main
from passlens.tui.linting import Job, Result

TEXT = (Path(__file__).parents[1] / "golden/cases/migraphx/01_raw_missing_wait.txt").read_text()


@pytest.fixture
def dumps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "dumps"
    folder.mkdir()
    for number in range(200):
        (folder / f"{number:03}.txt").write_text(
            TEXT.replace("offset=0,end=1024", f"offset=0,end={1024 - number}")
        )
    (folder / "none.mlir").write_bytes(b"\0\1\2" * 100)
    monkeypatch.chdir(tmp_path)
    return folder


def found(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["lint", "dumps", "--format", "json", *options]) == 1
    return capsys.readouterr().out


def killed_once(path: str, job: Job, real=linting.lint_file) -> Result:
    """Dies at one file, the first time that anybody comes to it."""
    if path.endswith("100.txt"):
        try:
            os.close(os.open("killed", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    return real(path, job)


def killed_always(path: str, job: Job, real=linting.lint_file) -> Result:
    if path.endswith("100.txt"):
        os.kill(os.getpid(), signal.SIGKILL)
    return real(path, job)


def test_a_process_killed_half_way(
    dumps: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = found(capsys, "--workers", "1")
    assert len(json.loads(alone)["findings"]) > 200
    monkeypatch.setattr(linting, "lint_file", killed_once)
    assert found(capsys, "--workers", "2") == alone
    assert Path("killed").exists()


def test_a_file_that_kills_each_process_is_named(
    dumps: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(linting, "lint_file", killed_always)
    assert main(["lint", "dumps", "--format", "json", "--workers", "2", "--select", "PS110"]) == 3
    said = json.loads(capsys.readouterr().out)["findings"]
    assert [each["file"] for each in said if each["rule"] == "PS399"] == ["dumps/100.txt"]
    assert len({each["file"] for each in said}) >= 199


def test_standard_input_beside_files_on_two_workers(dumps: Path) -> None:
    names = [str(path) for path in sorted(dumps.glob("00*.txt"))]
    command = [
        sys.executable,
        "-c",
        "from passlens.tui.cli import main; raise SystemExit(main())",
        "lint",
        "-",
        *names,
    ]
    done = subprocess.run(
        [*command, "--workers", "2", "--select", "PS110"],
        input=TEXT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1, done.stderr
    assert "PS390" not in done.stdout
    assert sum("PS110" in line for line in done.stdout.splitlines()) >= 11


def test_an_interrupt_ends_it_quietly(dumps: Path) -> None:
    code = (
        "import sys, time, passlens.tui.linting as l\n"
        "from passlens.tui.cli import main\n"
        "real = l.lint_file\n"
        "def slow(path, job):\n    time.sleep(0.2); return real(path, job)\n"
        "l.lint_file = slow\nsys.exit(main())\n"
    )
    Path("slow.py").write_text(code)
    run = subprocess.Popen(
        [sys.executable, "slow.py", "lint", "dumps", "--workers", "2", "-o", "out.json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    time.sleep(3)
    os.killpg(run.pid, signal.SIGINT)  # as a terminal does
    out, err = run.communicate(timeout=10)
    assert run.returncode == 130
    assert (out, err) == ("", "")
    assert not Path("out.json").exists()


@pytest.fixture
def cluster(dumps: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and two workers, each a process of its own."""
    pytest.importorskip("distributed")
    python = [sys.executable, "-m"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    file = dumps.parent / "scheduler.json"
    options = ["--no-dashboard", "--scheduler-file", str(file)]
    scheduler = subprocess.Popen(
        [*python, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", *options], **quiet
    )
    processes = [scheduler]
    try:
        for _ in range(200):
            if file.exists() and file.read_text().strip():
                break
            time.sleep(0.1)
        address = json.loads(file.read_text())["address"]
        for _ in range(2):
            # No nanny: who is killed stays dead. Elsewhere than here: paths must not depend on the folder.
            worker = [
                *python,
                "distributed.cli.dask_worker",
                address,
                "--nthreads",
                "1",
                "--no-nanny",
                "--no-dashboard",
            ]
            processes.append(subprocess.Popen(worker, cwd="/", **quiet))
        yield address, processes[1:]
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.slow
def test_a_cluster_of_which_one_worker_is_killed(
    dumps: Path, cluster: tuple[str, list[subprocess.Popen[bytes]]], capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    address, workers = cluster
    alone = found(capsys, "--workers", "1")
    assert found(capsys, "--scheduler", address) == alone
    # The second time one is killed when half of the results are here.
    seen = []

    def renamed(result: Result, path: str, real=linting._renamed) -> Result:
        seen.append(path)
        if len(seen) == 100:
            workers[0].kill()
        return real(result, path)

    monkeypatch.setattr(linting, "_renamed", renamed)
    assert found(capsys, "--scheduler", address) == alone
    assert workers[0].wait(timeout=5) == -signal.SIGKILL
    assert len(seen) == len(set(seen)) == 201


def test_a_scheduler_that_is_not_there(dumps: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed")
    done = []
    ask = threading.Thread(
        target=lambda: done.append(main(["lint", "dumps", "--scheduler", "tcp://127.0.0.1:9"]))
    )
    ask.start()
    ask.join(timeout=60)
    assert done == [2]
    assert "no scheduler answers" in capsys.readouterr().err
