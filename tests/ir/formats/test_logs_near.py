"""Facts read from the few lines that may state any are the facts of the whole text."""

import gzip
import time
from pathlib import Path

import pytest
from passlens.ir.formats import logs_facts, logs_near
from passlens.ir.formats.logs_facts import LogFacts, facts_of_text
from passlens.ir.formats.logs_prefix import strip_marks
from passlens.ir.formats.logs_text import decode, plain

GOLDEN = Path(__file__).parents[2] / "golden"
FILES = sorted(
    path
    for folder in ("seeds", "logs", "cases/migraphx", "cases/migraphx_formats")
    for path in (GOLDEN / folder).iterdir()
    if path.is_file() and path.suffix in (".txt", ".mlir", ".gz", ".log")
)


def read_facts(data: bytes) -> LogFacts:
    return logs_facts.read_facts([(data, [(0, len(data))])])


def raw(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
@pytest.mark.parametrize("window", [8 << 20, 1000])
def test_the_facts_are_those_of_the_whole_text(
    path: Path, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs_near, "_WINDOW", window)
    monkeypatch.setattr(logs_near, "_READ_WHOLE", 0)
    data = raw(path)
    text = decode(data)
    assert read_facts(data) == facts_of_text(strip_marks(plain(text)))


def test_lines_with_workers_marks() -> None:
    data = (
        b"(Worker pid=12) hello\n(Worker pid=12) Free memory: 77 status: 0\n(Worker pid=9) Free memory: 1\n"
    )
    assert read_facts(data).driver == {"free_memory": [77, 1]}


def test_facts_at_both_ends_of_a_large_log_and_in_its_middle() -> None:
    body = b'    %1 = "tt.reduce"(%0) : (tensor<16xf32>) -> f32\n' * 200_000
    data = b"Free memory: 1\n" + body + b"Free memory: 2\n" + body + b"k: Assertion `x' failed.\n #0 0x12 f\n"
    since = time.perf_counter()
    facts = read_facts(data)
    assert time.perf_counter() - since < 2
    assert facts.driver == {"free_memory": [1, 2]}
    assert facts.crash == "k: Assertion `x' failed." and facts.back_trace == ["#0 0x12 f"]


@pytest.mark.parametrize("line", [b"a: error: b ", b"Value: ", b"#0 0x1 ", b"encoding:"])
def test_a_flood_of_facts_on_one_line_ends(line: bytes) -> None:
    since = time.perf_counter()
    read_facts(line * 300_000)
    assert time.perf_counter() - since < 5
