"""The layout ledger: its sums are the counts of the programs, and its lives are whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from passlens.ir.passes.layout.ledger import contiguous, ledger, to_json
from passlens.ir.program import Program, walk
from passlens.ir.trace import open_trace
from passlens.ir.types import byte_size
from passlens.tui.cli import main

ROOT = Path(__file__).parents[4]
LOGS = [
    ROOT / "samples/two_kernels.hip-gfx942.log",
    ROOT / "samples/attention.cuda-90.log.gz",
    ROOT / "samples/layout_abort.triton-3.0.0.log",
    ROOT / "tests/golden/logs/triton-3.9.0-cuda-90-two-kernels.log.gz",
]


def converted(program: Program) -> int:
    return sum(
        byte_size(op.results[0].type) or 0 for op in walk(program) if op.name.endswith(".convert_layout")
    )


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_sums_are_the_counts_of_the_programs(path: Path) -> None:
    trace = open_trace(str(path))
    book = ledger(trace)
    assert book.rows
    for row in book.rows:
        run = trace.runs[row.run]
        assert run.before is not None
        assert run.after is not None
        assert row.converts_in == trace.counts(run.before)[1]
        assert row.converts_out == trace.counts(run.after)[1]
        assert row.bytes_in == converted(trace.program(run.before))
        assert row.bytes_out == converted(trace.program(run.after))
        assert row.converts_in + len(row.added) - len(row.removed) == row.converts_out
    for kernel in trace.kernels:
        rows = [row for row in book.rows if row.kernel == kernel]
        alive = [life for life in book.lives if life.kernel == kernel and life.died is None]
        if rows:
            assert len(alive) == rows[-1].converts_out


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_a_life_is_added_once_and_removed_once(path: Path) -> None:
    book = ledger(open_trace(str(path)))
    added = [number for row in book.rows for number in row.added]
    removed = [number for row in book.rows for number in row.removed]
    assert sorted(added) == [life.number for life in book.lives if life.born is not None]
    assert sorted(removed) == [life.number for life in book.lives if life.died is not None]
    for life in book.lives:
        assert life.kind in ("nothing", "registers", "shuffle", "shared", "cluster")
        assert life.born is None or life.died is None or life.born <= life.died


def test_two_kernels_by_hand() -> None:
    book = ledger(open_trace(str(LOGS[0])), "softmax_row")
    shown = [(row.name, row.ordinal, row.converts_in, row.converts_out) for row in book.rows]
    assert shown[:2] == [("tritongpu-coalesce", 1, 0, 7), ("tritongpu-remove-layout-conversions", 1, 7, 0)]


def test_a_store_that_lost_neighbours_is_told() -> None:
    book = ledger(open_trace(str(LOGS[0])), "persistent_matmul")
    (row,) = [row for row in book.rows if row.name == "tritonamdgpu-optimize-epilogue"]
    (access,) = row.accesses
    assert (access.op, access.old_contiguous, access.new_contiguous) == ("tt.store", 8, 4)


@pytest.mark.parametrize(
    ("size", "order", "neighbours"),
    [("[1, 4]", "[1, 0]", 4), ("[4, 1]", "[0, 1]", 4), ("[4, 4]", "[1, 0]", 4), ("[1, 1]", "[1, 0]", 1)],
)
def test_neighbours_in_a_thread(size: str, order: str, neighbours: int) -> None:
    text = f"#ttg.blocked<{{sizePerThread = {size}, threadsPerWarp = [4, 8], warpsPerCTA = [2, 2], order = {order}}}>"
    assert contiguous(text, (64, 64)) == neighbours


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ledger", str(LOGS[0])]) == 0
    out = capsys.readouterr().out
    assert out.startswith("softmax_row: 7 convert_layout in all, 0 left\n")
    assert main(["ledger", "--json", "--kernel", "softmax_row", str(LOGS[0])]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == to_json(ledger(open_trace(str(LOGS[0])), "softmax_row"))
    assert main(["ledger", "--kernel", "nobody", str(LOGS[0])]) == 2
    assert "the kernels are: softmax_row, persistent_matmul" in capsys.readouterr().err
    assert main(["ledger", str(ROOT / "samples/cnn_streamed.txt")]) == 2
    assert "holds no passes" in capsys.readouterr().err
