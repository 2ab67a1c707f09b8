"""Damaged files of every format: opened, or refused with our own error; never anything else, never slow."""

from __future__ import annotations

import random
import time
from pathlib import Path

import onnx
import pytest
from passlens.ir.analysis.overview import overview
from passlens.ir.errors import InputError
from passlens.ir.formats import print_program
from passlens.ir.trace import open_trace
from passlens.tui.report.overview_text import overview_text

GOLDEN = Path(__file__).parents[1] / "golden"
SAMPLES = Path(__file__).parents[2] / "samples"
ONNX = Path(onnx.__file__).parent / "backend/test/data/light/light_squeezenet.onnx"
INPUTS = [
    GOLDEN / "seeds/triton_layout_assertion.txt",
    GOLDEN / "seeds/migraphx_streaming_resnet50.txt",
    GOLDEN / "cases/migraphx/11_compile_trace_n_plus_1.txt",
    GOLDEN / "cases/migraphx_formats/07_trace_eval.txt",
    GOLDEN / "cases/layout/16_worker_prefixed_crash_log.txt",
    GOLDEN / "logs/triton-3.0.0-cuda-90-abort.log.gz",
    SAMPLES / "attention.cuda-90.ttgir",
    ONNX,
]


def use(path: Path) -> None:
    """Open a file and look at everything that a command shows of it."""
    began = time.monotonic()
    try:
        trace = open_trace(str(path))
        for snapshot in trace.snapshots[:4]:
            program = trace.program(snapshot)
            assert print_program(program) == trace.text(snapshot)
        assert overview_text(overview(trace)).startswith(str(path))
    except InputError as error:
        assert path.name in str(error)
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.name)
@pytest.mark.parametrize("seed", range(6))
def test_damage(path: Path, seed: int, tmp_path: Path) -> None:
    rng = random.Random(f"{path.name}{seed}")
    raw = bytearray(path.read_bytes())
    if seed % 3 == 0:
        raw = raw[: rng.randrange(len(raw))]
    elif seed % 3 == 1:
        for _ in range(rng.randrange(1, 40)):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
    else:
        for _ in range(rng.randrange(1, 12)):
            low = rng.randrange(len(raw))
            del raw[low : low + rng.randrange(1, 200)]
    damaged = tmp_path / path.name
    damaged.write_bytes(bytes(raw))
    use(damaged)
