"""`passlens lint`: rate, start-up and memory, each in a fresh process.

    python bench/bench_lint.py [--files 20000] [--log LOG] [--runs 5]

The folder holds distinct small programs (so that none is folded into another), one of eight with its hazards.
LOG is a large pass log (bench_index.py tells how to make one). Peer: `python -c pass` for start-up,
reading the same files for the rate. Peaks are of the largest process, as the kernel counts them.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CASES = Path(__file__).parents[1] / "tests/golden/cases"
CODE = "import sys; from passlens.tui.cli import main; sys.exit(main())"
LINT = [sys.executable, "-c", CODE, "lint"]
PEAK = (
    "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL);"
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--log")
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYTHONPYCACHEPREFIX"] = f"{folder}/bytecode"  # as an installed package has it
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        start_up(args.runs)
        for count in sorted({args.files // 10, args.files}):
            dumps = Path(folder) / f"dumps{count}"
            size = make(dumps, count)
            began = time.perf_counter()
            for path in dumps.iterdir():
                path.read_bytes()
            print(f"{count:,} files, {size / 1e6:.1f} MB; read in {time.perf_counter() - began:.2f} s")
            for workers in (1, 2):
                rate([str(dumps), "--workers", str(workers)], size, count, f"{workers} worker(s)")
    if args.log:
        size = os.path.getsize(args.log)
        rate([args.log, "--workers", "1"], size, 1, f"log of {size / 1e9:.2f} GB")


def start_up(runs: int) -> None:
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "lint --help": [*LINT, "--help"],
        "lint, MIGraphX": [*LINT, str(CASES / "migraphx/02_raw_with_event.txt")],
        "lint, MLIR": [*LINT, str(CASES / "layout/14_if_yield_type_mismatch_invalid.mlir")],
    }
    for name, command in commands.items():
        wall, used = [], []
        for _ in range(runs + 1):  # the first one writes the bytecode
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            began = time.perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
            wall.append(time.perf_counter() - began)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        times = (
            f"{1000 * statistics.median(wall[1:]):5.0f} ms, CPU {1000 * statistics.median(used[1:]):5.0f} ms"
        )
        print(f"{name:<16} {times}")


def make(folder: Path, count: int) -> int:
    """Distinct programs; returns their bytes."""
    folder.mkdir()
    names = ("01_raw_missing_wait", "02_raw_with_event")
    texts = [(CASES / f"migraphx/{name}.txt").read_text() for name in names]
    size = 0
    for number in range(count):
        text = texts[number % 8 != 0].replace("code_object=", f"code_object={number + 1}")
        (folder / f"{number:06}.txt").write_text(text)
        size += len(text)
    return size


def rate(options: list[str], size: int, count: int, name: str) -> None:
    with tempfile.NamedTemporaryFile() as report:
        began = time.perf_counter()
        command = [*LINT, *options, "--format", "json", "-o", report.name]
        done = subprocess.run(
            [sys.executable, "-c", PEAK, *command], capture_output=True, text=True, check=True
        )
        took = time.perf_counter() - began
    speed = f"{size / 1e6 / took:7.2f} MB/s {count / took:8.1f} files/s"
    print(f"  {name:<18} {took:7.2f} s  {speed}  peak {int(done.stdout) / 1024:,.0f} MiB")


if __name__ == "__main__":
    main()
