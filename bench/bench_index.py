"""Index rate and memory on a large log, beside a bare byte search of the same file in the same run.

    python bench/bench_index.py LOG [--gigabytes 1] [--runs 3]

LOG is a real pass log (`MLIR_ENABLE_DUMP=1`), complete with its LLVM dumps; it is repeated with other kernel
names up to the wanted size in a temporary file. Each run opens it in a fresh process. The peer is one
`mmap.find` of a needle that is not there. Budget (docs: design, section 5): 2 GB/s on a warm cache; resident
memory under 150 MB.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from passlens.ir.inputs import open_data

CHILD = """
import json, mmap, sys, time
path = sys.argv[1]
def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith(sys.argv[2]))
with open(path, "rb") as file:
    data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    began = time.perf_counter(); data.find(b"no such needle"); search = time.perf_counter() - began
    data.close()
from passlens.ir.trace import open_trace
base = resident()
began = time.perf_counter(); trace = open_trace(path); opened = time.perf_counter() - began
began = time.perf_counter(); text = trace.text(len(trace.snapshots) // 2); first = time.perf_counter() - began
print(json.dumps([search, opened, first, base, resident(), len(trace.snapshots), len(trace.kernels)]))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("log")
    parser.add_argument("--gigabytes", type=float, default=1)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        big = Path(folder) / "big.log"
        size = repeat(args.log, big, args.gigabytes)
        rows = [run(big) for _ in range(args.runs + 1)][1:]  # the first one warms the page cache
    columns = zip(*rows, strict=True)
    search, opened, first, base, resident, dumps, kernels = (statistics.median(c) for c in columns)
    gigabytes = size / 1e9
    print(f"{gigabytes:.2f} GB, {dumps:,.0f} dumps of {kernels:,.0f} kernels")
    print(f"bare search      {search:7.3f} s  {gigabytes / search:6.2f} GB/s")
    rate = gigabytes / opened
    print(f"passlens opens   {opened:7.3f} s  {rate:6.2f} GB/s  {opened / search:.2f} x the bare search")
    print(f"one dump's text  {first * 1000:7.2f} ms")
    print(f"resident         {resident:7.1f} MB ({base:.1f} MB before opening)")
    verdicts = ("met" if rate >= 2 else "MISSED", "met" if resident < 150 else "MISSED")
    print("budget: 2 GB/s {}, 150 MB {}".format(*verdicts))


def repeat(log: str, big: Path, gigabytes: float) -> int:
    text = bytes(open_data(log)[:])
    found = re.search(rb"public @(\w+)\(", text)
    name = found.group(1) if found else b""
    size = number = 0
    with big.open("wb") as out:
        while size < gigabytes * 1e9:
            size += out.write(text.replace(b"@" + name, b"@" + name + b"_%d" % number) if name else text)
            number += 1
    return size


def run(path: Path) -> list[float]:
    done = subprocess.run([sys.executable, "-c", CHILD, str(path), "VmRSS:"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    row: list[float] = json.loads(done.stdout)
    return row


if __name__ == "__main__":
    main()
