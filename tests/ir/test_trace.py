"""Opening things: files, archives, folders, standard input, and what no program can be read from."""

from __future__ import annotations

import gzip
import io
import random
import resource
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import zstandard
from passlens.ir.errors import InputError
from passlens.ir.trace import open_trace, trace_of_text

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
    half = len(raw) // 2
    frames = zstandard.compress(raw[:half]) + zstandard.compress(raw[half:])
    for name, packed in [("a.gz", gzip.compress(raw)), ("a.zst", zstandard.compress(raw)), ("b.zst", frames)]:
        (tmp_path / name).write_bytes(packed)
        trace = open_trace(str(tmp_path / name))
        assert trace.text(0) == open_trace(str(SEED)).text(0)


def test_a_cut_off_archive_gives_what_is_there(tmp_path: Path) -> None:
    packed = gzip.compress(SEED.read_bytes() * 40)
    (tmp_path / "a.gz").write_bytes(packed[: len(packed) // 2])
    trace = open_trace(str(tmp_path / "a.gz"))
    assert len(trace.snapshots) > 5
    assert [d.code for d in trace.diagnostics] == ["damaged-archive"]


def test_a_cut_off_zstd_archive_gives_what_is_there(tmp_path: Path) -> None:
    noise = random.Random(1)
    raw = b"".join(
        b"// " + noise.randbytes(1000).hex().encode() + b"\n" + SEED.read_bytes() for n in range(200)
    )
    packed = zstandard.compress(raw)
    (tmp_path / "a.zst").write_bytes(packed[: len(packed) // 2])
    trace = open_trace(str(tmp_path / "a.zst"))
    assert len(trace.snapshots) > 5
    assert [d.code for d in trace.diagnostics] == ["damaged-archive"]


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


def test_an_archive_on_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(SEED.read_bytes()))))
    assert open_trace("-").text(0) == open_trace(str(SEED)).text(0)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_what_a_shell_wrote_as_utf_16(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.log").write_bytes(("\ufeff" + SEED.read_text()).encode(encoding))
    assert open_trace(str(tmp_path / "a.log")).text(0) == open_trace(str(SEED)).text(0)


def test_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "a.mlir").write_bytes(b"\xef\xbb\xbfmodule {\n  x.y\n}\n")
    trace = open_trace(str(tmp_path / "a.mlir"))
    assert trace.text(0) == "module {\n  x.y\n}\n"
    assert trace.place(0, 0) == (1, 4)  # columns count bytes


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "does not exist"),
        (b"", "is empty"),
        (b"just a letter to a friend\n", "holds no program"),
        (b"\x7fELF\x00\x00\x01" * 100, "is binary"),
        (b"ML\xefR\x0dMLIR\x00" * 100, "is MLIR bytecode"),
        (b"\x1f\x8b\x08\x00rubbish", "nothing that can be read"),
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


def test_a_cache_folder_of_two_kernels_with_what_is_no_program(tmp_path: Path) -> None:
    for kernel in ("b", "a"):
        folder = tmp_path / f"HASH{kernel}"
        folder.mkdir()
        for stage in ("ttir", "ttgir"):
            text = f"module {{\n  tt.func public @{kernel}() {{\n    tt.return\n  }}\n}}\n"
            (folder / f"{kernel}.{stage}").write_text(text)
        (folder / f"{kernel}.llir").write_text("; ModuleID = 'LLVMDialectModule'\ndefine void @a() {\n}\n")
        (folder / f"{kernel}.cubin").write_bytes(b"\x7fELF\0\0")
    trace = open_trace(str(tmp_path))
    assert [snapshot.kernel for snapshot in trace.snapshots] == ["a", "a", "b", "b"]
    assert [(d.code, d.count) for d in trace.diagnostics] == [("no-program", 2)]


def test_a_folder_of_more_files_than_may_be_open(tmp_path: Path) -> None:
    for number in range(200):
        (tmp_path / f"k{number:03}.mlir").write_text(
            f"module {{\n  tt.func public @k{number}() {{\n  }}\n}}\n"
        )
    (tmp_path / "gone.mlir").symlink_to(tmp_path / "nowhere.mlir")
    (tmp_path / ".hidden.mlir").write_text("module {\n}\n")
    (tmp_path / "binary.mlir").write_bytes(b"\x7fELF\0\0" * 50)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, limit[1]))
    try:
        trace = open_trace(str(tmp_path))
        assert [trace.kernels[n] for n in (0, 199)] == ["k0", "k199"]
        assert "@k7(" in trace.text(7)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)
    assert [d.code for d in trace.diagnostics] == ["not-text"]


def test_facts_of_all_files_of_a_folder(tmp_path: Path) -> None:
    for number in (1, 2):
        text = f'Free memory: {number} status: 0\nmodule: "main"\n@0 = @literal{{1}} -> float_type, {{1}}, {{0}}\n'
        (tmp_path / f"{number}.log").write_text(text)
    assert open_trace(str(tmp_path)).facts.driver == {"free_memory": [1, 2]}


def test_facts_are_not_read_from_programs() -> None:
    text = 'module {\n  tt.assert %0, "f: error: Assertion `x\' failed" : i1\n  x.y {pipeline: "a(b)"}\n}\n'
    facts = trace_of_text(f"See:\n\n{text}\nThanks\n").facts
    assert (facts.crash, facts.errors, facts.reproducers) == ("", [], [])


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no dumps"):
        open_trace(str(tmp_path))


def test_places_are_lines_of_the_file() -> None:
    trace = open_trace(str(SEED))
    offset = trace.text(0).index("scf.while")
    line, column = trace.place(0, offset)
    assert SEED.read_text().split("\n")[line - 1][column - 1 :].startswith("scf.while")


def test_threads_get_the_same_program() -> None:
    trace = open_trace(str(SEED))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: trace.program(0), range(32)))
    assert all(program is found[0] for program in found)


def test_prose_full_of_words_of_ir_is_read_in_no_time(tmp_path: Path) -> None:
    line = b"12:00:00 INFO the module loader did func something and went on with it\n"
    program = b"module {\n  x.y\n}\n"
    (tmp_path / "a.txt").write_bytes(line * 100_000 + program + line * 100_000)
    since = time.perf_counter()
    trace = open_trace(str(tmp_path / "a.txt"))
    assert time.perf_counter() - since < 5
    assert [trace.text(s) for s in trace.snapshots] == [program.decode().rstrip()]


def test_programs_are_kept_within_bounds(tmp_path: Path) -> None:
    banner = "// -----// IR Dump After P (p) ('builtin.module' operation) //----- //\n"
    body = "  x.y {a = 1 : i32}\n" * 40_000
    (tmp_path / "big.log").write_text("".join(f"{banner}module {{\n  x.n{n}\n{body}}}\n" for n in range(12)))
    trace = open_trace(str(tmp_path / "big.log"))
    for snapshot in trace.snapshots:
        trace.program(snapshot)
    assert sum(len(p.text) for p in trace._programs.values()) < 6_000_000
