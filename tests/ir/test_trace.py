"""Opening things: files, archives, folders, standard input, and what no program can be read from."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pytest
import zstandard
from passlens.ir.errors import InputError
from passlens.ir.trace import open_trace

GOLDEN = Path(__file__).parents[1] / "golden"
SEED = GOLDEN / "seeds/triton_reproducible.mlir"


def test_a_file() -> None:
    trace = open_trace(str(SEED))
    (snapshot,) = trace.snapshots
    assert (snapshot.when, snapshot.argument) == ("before", "tritongpu-remove-layout-conversions")
    assert trace.kernels == ["kernel"]
    assert trace.size == SEED.stat().st_size


def test_archives(tmp_path: Path) -> None:
    raw = SEED.read_bytes()
    for name, packed in [("a.gz", gzip.compress(raw)), ("a.zst", zstandard.compress(raw))]:
        (tmp_path / name).write_bytes(packed)
        trace = open_trace(str(tmp_path / name))
        assert trace.text(0) == open_trace(str(SEED)).text(0)


def test_a_cut_off_archive_gives_what_is_there(tmp_path: Path) -> None:
    packed = gzip.compress(SEED.read_bytes() * 40)
    (tmp_path / "a.gz").write_bytes(packed[: len(packed) // 2])
    assert len(open_trace(str(tmp_path / "a.gz")).snapshots) > 5


def test_a_damaged_zstd_archive(tmp_path: Path) -> None:
    (tmp_path / "a.zst").write_bytes(b"\x28\xb5\x2f\xfd" + b"\xff" * 50)
    with pytest.raises(InputError, match=r"a\.zst"):
        open_trace(str(tmp_path / "a.zst"))


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(SEED.read_bytes()))
    monkeypatch.setattr(sys, "stdin", stream)
    trace = open_trace("-")
    assert trace.name == "<stdin>"
    assert len(trace.snapshots) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "does not exist"),
        (b"", "is empty"),
        (b"just a letter to a friend\n", "holds no program"),
        (b"\x7fELF\x00\x00\x01" * 100, "is binary"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "x.log"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=message) as told:
        open_trace(str(path))
    assert "x.log" in str(told.value)


def test_a_tree_of_passes(tmp_path: Path) -> None:
    folder = tmp_path / "builtin_module_no-symbol-name"
    folder.mkdir()
    for name, body in [("0_canonicalize", "x.a"), ("1_cse", "x.a"), ("2_lower", "x.b"), ("10_late", "x.c")]:
        (folder / f"{name}.mlir").write_text(f"module {{\n  {body}\n}}\n")
    trace = open_trace(str(tmp_path))
    assert [run.name for run in trace.runs] == ["canonicalize", "cse", "lower", "late"]
    assert [trace.changed(run) for run in trace.runs] == [None, False, True, True]


def test_a_cache_folder(tmp_path: Path) -> None:
    for stage in ("llir", "ttgir", "ttir"):
        (tmp_path / f"k.{stage}").write_text("module {\n  tt.func public @k() {\n    tt.return\n  }\n}\n")
    (tmp_path / "k.json").write_text("{}")
    trace = open_trace(str(tmp_path))
    assert [Path(trace.files[s.file].path).suffix for s in trace.snapshots] == [".ttir", ".ttgir", ".llir"]
    assert trace.kernels == ["k"]


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no dumps"):
        open_trace(str(tmp_path))


def test_places_are_lines_of_the_file() -> None:
    trace = open_trace(str(SEED))
    offset = trace.text(0).index("scf.while")
    line, column = trace.place(0, offset)
    assert SEED.read_text().split("\n")[line - 1][column - 1 :].startswith("scf.while")


def test_programs_are_kept_within_bounds(tmp_path: Path) -> None:
    banner = "// -----// IR Dump After P (p) ('builtin.module' operation) //----- //\n"
    body = "  x.y {a = 1 : i32}\n" * 40_000
    (tmp_path / "big.log").write_text("".join(f"{banner}module {{\n  x.n{n}\n{body}}}\n" for n in range(12)))
    trace = open_trace(str(tmp_path / "big.log"))
    for snapshot in trace.snapshots:
        trace.program(snapshot)
    assert sum(len(p.text) for p in trace._programs.values()) < 6_000_000
