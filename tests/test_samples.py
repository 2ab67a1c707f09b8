"""The samples are what their README says, valid, and made by the scripts beside them."""

from __future__ import annotations

import gzip
import itertools
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import onnx
import pytest
from passlens.ir.formats.mlir import parse_mlir, print_mlir
from passlens.ir.verify import verify

SAMPLES = Path(__file__).parents[1] / "samples"
LOGS = sorted([*SAMPLES.glob("*.log"), *SAMPLES.glob("*.log.gz")])
PROGRAMS = sorted(SAMPLES.glob("cnn_*.txt"))
BANNER = "// -----// IR Dump "


def read(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()


def modules(log: str) -> list[str]:
    """The module of each dump: from the line after its banner to the last line that belongs to MLIR."""
    found = []
    for piece in log.split(BANNER)[1:]:
        lines = piece.splitlines(keepends=True)[1:]
        close = max(i for i, line in enumerate(lines) if line.startswith("}"))
        last = close + 1
        while last < len(lines) and (lines[last].startswith("#") or not lines[last].strip()):
            last += 1
        found.append("".join(lines[:last]))
    return found


def test_the_readme_names_every_file_and_no_other() -> None:
    table = re.findall(r"^\| (`.*?`) \|", (SAMPLES / "README.md").read_text(), re.MULTILINE)
    named = {name for cell in table for name in re.findall(r"`([^`]+)`", cell)}
    files = {p.name for p in SAMPLES.iterdir() if p.is_file()}
    assert named == {name for name in files if not name.startswith("make_")} - {"README.md"}


def test_the_folder_is_small_and_says_nothing_about_the_machine_it_was_made_on() -> None:
    files = [p for p in SAMPLES.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    assert sum(p.stat().st_size for p in files) < 3_000_000
    for path in LOGS:
        names = set(re.findall(r'loc\("([^"]+)":\d', read(path)))
        assert names
        assert {name for name in names if name.startswith(("/", "..")) or "site-packages" in name} == set()


def test_the_logs_hold_what_the_readme_says() -> None:
    two = read(SAMPLES / "two_kernels.hip-gfx942.log")
    assert set(re.findall(r"tt\.func public @(\w+)", two)) == {"softmax_row", "persistent_matmul"}
    assert 'ttg.target = "hip:gfx942"' in two
    assert 'ttg.target = "cuda:90"' in read(SAMPLES / "attention.cuda-90.log.gz")
    abort = read(SAMPLES / "layout_abort.triton-3.0.0.log")
    assert abort.rstrip().endswith("Assertion `rewrittenValue' failed.")
    assert abort.rpartition(BANNER)[2].startswith("Before TritonGPURemoveLayoutConversions")


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_every_module_of_a_log_reads_and_writes(path: Path) -> None:
    texts = dict.fromkeys(modules(read(path)))
    assert len(texts) > 8
    for text in texts:
        program = parse_mlir(text)
        assert print_mlir(program) == text
        assert [*program.diagnostics, *verify(program)] == []


def test_the_onnx_model_is_what_its_script_makes(tmp_path: Path) -> None:
    path = SAMPLES / "classifier.onnx"
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    assert path.stat().st_size < 300_000
    assert len(model.graph.initializer) == 12
    subprocess.run([sys.executable, SAMPLES / "make_onnx.py", tmp_path], check=True, timeout=60)
    assert onnx.load(tmp_path / path.name) == model


def test_the_migraphx_programs_are_what_their_script_makes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, SAMPLES / "make_migraphx.py", tmp_path], check=True, timeout=60)
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {p.name: p.read_text() for p in PROGRAMS}
    assert len(PROGRAMS) == 2


# A small reading of MIGraphX text of its own, so that the samples are checked by something else than the
# reader that they are samples for.


@dataclass
class Access:
    """One instruction that touches the arena, and what had happened for sure when it ran."""

    name: str
    stream: int
    at: int
    reads: list[tuple[int, int, str]] = field(default_factory=list)  # first byte, end, writer
    writes: list[tuple[int, int]] = field(default_factory=list)
    seen: tuple[int, ...] = ()  # how far each stream had come


def accesses(text: str) -> tuple[list[Access], int]:
    ranges: dict[str, tuple[int, int, str]] = {}  # value -> bytes, and the instruction that wrote them
    clocks = [[0, 0], [0, 0]]
    events: dict[str, list[int]] = {}
    stream, arena, found = 0, 0, []
    for line in text.splitlines()[1:]:
        name, _, rest = line.partition(" = ")
        op = re.split(r"[\[({ ]", rest, maxsplit=1)[0]
        inside = re.search(r"\(([^()]*)\)(?: ->|$)", rest)
        operands = inside.group(1).split(",") if inside else []
        if op == "hip::hip_allocate_memory":
            arena = int(re.findall(r"\{(\d+)\}", rest)[0])
        elif op == "gpu::set_stream":
            stream = int(re.findall(r"stream=(\d+)", rest)[0])
        elif op == "gpu::record_event":
            events[re.findall(r"event=(\d+)", rest)[0]] = list(clocks[stream])
        elif op == "gpu::wait_event":
            known = events[re.findall(r"event=(\d+)", rest)[0]]
            clocks[stream] = [max(a, b) for a, b in zip(clocks[stream], known, strict=True)]
        elif op == "load":
            begin, end = map(int, re.findall(r"=(\d+)", rest)[:2])
            ranges[name] = (begin, end, "")
        elif op in ("multibroadcast", "reshape_lazy"):
            ranges[name] = ranges[operands[0]]
        elif op in ("hip::copy_to_gpu", "gpu::code_object"):
            clocks[stream][stream] += 1
            access = Access(name, stream, clocks[stream][stream], seen=tuple(clocks[stream]))
            access.reads = [ranges[o] for o in operands[:-1] if o in ranges]
            access.writes = [ranges[o][:2] for o in operands[-1:] if o in ranges]
            found.append(access)
            if access.writes:
                ranges[name] = (*access.writes[0], name)
    return found, arena


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_every_byte_read_was_last_written_by_the_instruction_that_is_named(path: Path) -> None:
    found, arena = accesses(path.read_text())
    writer = [""] * arena
    for access in found:
        for begin, end, name in access.reads:
            assert set(writer[begin:end]) == {name}, access.name
        for begin, end in access.writes:
            assert end <= arena
            writer[begin:end] = [access.name] * (end - begin)
    assert arena - len([name for name in writer if name]) < 4096, "nearly every byte of the arena is used"


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_accesses_on_two_streams_are_ordered_by_events(path: Path) -> None:
    found, _ = accesses(path.read_text())
    pairs = 0
    for first, second in itertools.combinations(found, 2):
        if first.stream == second.stream:
            continue
        one = [*first.writes, *(r[:2] for r in first.reads)]
        two = [*second.writes, *(r[:2] for r in second.reads)]
        meet = any(
            a < d and c < b and ((a, b) in first.writes or (c, d) in second.writes)
            for a, b in one
            for c, d in two
        )
        if meet:
            pairs += 1
            assert second.seen[first.stream] >= first.at, f"{first.name} and {second.name}"
    assert (pairs > 0) == ("prefetch" in path.name)


def test_the_prefetching_program_copies_while_a_kernel_runs() -> None:
    found, _ = accesses((SAMPLES / "cnn_streamed_prefetch.txt").read_text())
    kernels = [a for a in found if a.stream == 0]
    copies = [a for a in found if a.stream == 1]
    free = [(k, c) for k in kernels for c in copies if c.seen[0] < k.at and k.seen[1] < c.at]
    assert len({k.name for k, _ in free}) >= len(kernels) - 3
