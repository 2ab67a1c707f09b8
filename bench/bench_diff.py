"""Structural diff: time and reports against size and edits, beside `difflib` on the same texts.

    python bench/bench_diff.py [--sizes 1000,5000,20000,50000] [--quick]

Each pair is a program of n ops and the same after k random edits (insert, erase, move, other operand,
other attribute), printed so that all values after an inserted op are renumbered, as a compiler's dump is.
`difflib` compares the lines as they are, and with every `%name` made `%` (its best case); with its
defaults and with `autojunk=False`, both stopped after a time limit. Times are of one run and do
not include parsing, which is printed beside them.
"""

from __future__ import annotations

import argparse
import difflib
import multiprocessing
import random
import re
import sys
import time
from pathlib import Path

from passlens.ir import edit
from passlens.ir.diff.compare import compare
from passlens.ir.formats.mlir import parse_mlir
from passlens.ir.formats.mlir_print import print_mlir

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/ir/diff"))
from diff_programs import Mutation, source

LIMIT = 20.0


def pair(kind: str, n: int, k: int) -> tuple[str, str, int]:
    r = random.Random(f"{kind} {n} {k}")
    text = source(kind, n, r)
    mutation = Mutation(parse_mlir(text), r).edit(k)
    edit.rename_all(mutation.program, "")
    plain = parse_mlir(text)
    edit.rename_all(plain, "")
    return print_mlir(plain), print_mlir(mutation.program), mutation.allowed


def ours(a: str, b: str) -> tuple[float, float, int]:
    start = time.perf_counter()
    left, right = parse_mlir(a), parse_mlir(b)
    parsed = time.perf_counter()
    diff = compare(left, right)
    return parsed - start, time.perf_counter() - parsed, len(diff.changes)


def changed_lines(a: list[str], b: list[str], autojunk: bool) -> int:
    blocks = difflib.SequenceMatcher(None, a, b, autojunk=autojunk).get_matching_blocks()
    same = sum(block.size for block in blocks)
    return len(a) + len(b) - 2 * same


def theirs(a: list[str], b: list[str], autojunk: bool) -> str:
    """Changed lines and seconds, in a child process that is stopped at the limit."""
    start = time.perf_counter()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        try:
            lines = pool.apply_async(changed_lines, (a, b, autojunk)).get(LIMIT)
        except multiprocessing.TimeoutError:
            return f"> {LIMIT:.0f} s"
        return f"{lines:,} in {time.perf_counter() - start:.2f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="1000,2000,5000,10000,20000,50000")
    parser.add_argument("--quick", action="store_true", help="no difflib")
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.sizes.split(",")]
    print("20,000 ops, k edits (ops reported; the most that the edits explain)")
    for kind in ("random", "same", "chain", "constants", "memory", "loops"):
        for k in (1, 10, 100):
            row(kind, 20_000, k, difflib_too=kind in ("random", "same") and not arguments.quick)
    print("\n10 edits, by size")
    for n in sizes:
        row("random", n, 10, difflib_too=False)
    print("\nidentical but renumbered, and nothing in common")
    for n in sizes:
        text = source("random", n, random.Random(1))
        program = parse_mlir(text)
        edit.rename_all(program, "v")
        _, seconds, reports = ours(text, print_mlir(program))
        other = re.sub(r"x\.op", "y.op", source("random", n, random.Random(2)))
        _, unlike, all_new = ours(text, other)
        print(f"  {n:>6,} ops: same {seconds:.3f} s ({reports}); unlike {unlike:.3f} s ({all_new:,})")


def row(kind: str, n: int, k: int, difflib_too: bool) -> None:
    a, b, allowed = pair(kind, n, k)
    parse, seconds, reports = ours(a, b)
    each = 1e6 * seconds / (2 * n)
    line = f"  {kind:<10}{n:>7,} ops {k:>4} edits: {reports:>4} ({allowed}) in {seconds:.2f} s"
    print(f"{line}, {each:.1f} µs an op; parse {parse:.2f} s", flush=True)
    if difflib_too:
        lines_a, lines_b = a.split("\n"), b.split("\n")
        bare_a, bare_b = ([re.sub(r"%\w+", "%", x) for x in lines] for lines in (lines_a, lines_b))
        for what, x, y in (("as is", lines_a, lines_b), ("names out", bare_a, bare_b)):
            print(f"      difflib, {what}: {theirs(x, y, True)}; autojunk off {theirs(x, y, False)}")


if __name__ == "__main__":
    main()
