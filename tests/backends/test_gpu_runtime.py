"""Running on a GPU, without one: the calls that are made, what a failing call leaves, the kernels' source."""

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from passlens.backends.device import DeviceError, Properties
from passlens.backends.kernels.source import PRELUDE, body_of, kernel_of
from passlens.backends.reference import run_reference
from passlens.backends.replay import give_bodies, random_data, words_of
from passlens.backends.run import Executor, run_on
from passlens.ir.analysis.cost import kernel_us
from passlens.ir.analysis.devices import device
from passlens.ir.errors import InputError
from passlens.ir.formats.migraphx import parse_migraphx
from passlens.ir.formats.onnx import read_onnx
from passlens.ir.passes.step import Debugger
from passlens.ir.passes.streaming.decisions import Wishes
from passlens.ir.passes.streaming.lower.lower import lower
from passlens.ir.passes.streaming.passes import StreamingPass
from passlens.ir.program import symbol
from passlens.ir.trace import open_trace
from passlens.tui.cli import main

ROOT = Path(__file__).parents[2]
SEED = ROOT / "tests/golden/seeds/migraphx_streaming_resnet50.txt"
MODEL = str(ROOT / "samples/classifier.onnx")


class Recording:
    """A run time that writes calls down, copies host memory at once, and fails where it is told to."""

    def __init__(self, fail_at: int = -1) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.fail_at = fail_at
        self.held: dict[int, Any] = {}
        self.closed = 0

    def _note(self, *call: Any) -> None:
        if len(self.calls) == self.fail_at:
            self.fail_at = -1
            raise DeviceError(f"{call[0]} failed: planted")
        self.calls.append(call)

    def _memory(self, size: int) -> int:
        array = np.zeros(max(size, 1), np.uint8)
        self.held[array.ctypes.data] = array
        return array.ctypes.data

    def properties(self) -> Properties:
        return Properties("recording", 1 << 30, 1 << 30, "none")

    def allocate(self, size: int) -> int:
        self._note("allocate", size)
        return self._memory(size)

    def pin(self, size: int) -> int:
        self._note("pin", size)
        return self._memory(size)

    def upload(self, target: int, source: int, size: int, stream: Any) -> None:
        self._note("upload", target, size, stream)
        ctypes.memmove(target, source, size)

    def download(self, target: int, source: int, size: int, stream: Any) -> None:
        self._note("download", size)
        ctypes.memmove(target, source, size)

    def stream(self) -> Any:
        self._note("stream")
        return f"stream {sum(call[0] == 'stream' for call in self.calls)}"

    def event(self, timed: bool = False) -> Any:
        self._note("event", timed)
        return f"event {len(self.calls)}"

    def record(self, event: Any, stream: Any) -> None:
        self._note("record", event, stream)

    def wait(self, event: Any, stream: Any) -> None:
        self._note("wait", event, stream)

    def elapsed_us(self, start: Any, end: Any) -> float:
        return 1.0

    def synchronize(self) -> None:
        self._note("synchronize")

    def compile(self, source: str, names: Sequence[str]) -> dict[str, Any]:
        self._note("compile", len(names))
        assert all(f"void {name}(" in source for name in names)
        return {name: name for name in names}

    def launch(self, function: Any, grid: Any, block: int, arguments: Sequence[int], stream: Any) -> None:
        self._note("launch", function, stream)
        assert all(isinstance(each, int) for each in arguments)
        assert 0 < block <= 1024 and all(each > 0 for each in grid)

    def capture(self, stream: Any) -> None:
        self._note("capture", stream)

    def captured(self, stream: Any) -> Any:
        return "graph"

    def run_graph(self, graph: Any, stream: Any) -> None:
        self._note("graph", stream)

    def close(self) -> None:
        self.closed += 1
        self.held.clear()


def planned(budget: float):
    lowered = lower(read_onnx(MODEL))
    target = device("h200")
    total = sum(array.nbytes for array in lowered.literals.values())
    wishes = Wishes(int(total * budget))
    Debugger(StreamingPass(lambda op: kernel_us(op, target), target.pinned, wishes), lowered.program).finish()
    _, inputs = random_data(lowered.program)
    return lowered, inputs


def test_a_plan_is_carried_out_as_it_says() -> None:
    lowered, inputs = planned(0.0)
    runtime = Recording()
    executor = Executor(runtime, lowered.program, lowered.literals, inputs)
    prepared = len(runtime.calls)
    executor.issue(runs=2)
    calls = runtime.calls[prepared:]
    assert len(calls) % 2 == 0
    assert calls[: len(calls) // 2] == calls[len(calls) // 2 :]  # the same in every run
    body = [op.name for op in executor.body]
    assert sum(c[0] == "upload" for c in calls) == 2 * sum(
        "copy" in name and "to_gpu" in name for name in body
    )
    assert sum(c[0] == "wait" for c in calls) == 2 * body.count("gpu::wait_event")
    assert {c[2] for c in calls if c[0] == "launch"} == {"stream 1"}
    assert {c[3] for c in calls if c[0] == "upload"} == {"stream 2"}
    assert executor.bytes["resident"] == 0
    arena = next(op for op in executor.body if op.name == "hip::hip_allocate_memory")
    assert f"{{{executor.bytes['arena']}}}" in arena.results[0].type.text


def test_resident_literals_are_uploaded_once() -> None:
    lowered, inputs = planned(1.0)
    runtime = Recording()
    executor = Executor(runtime, lowered.program, lowered.literals, inputs)
    prepared = len(runtime.calls)
    executor.issue(runs=3)
    assert not [call for call in runtime.calls[prepared:] if call[0] == "upload"]
    assert executor.bytes["resident"] == sum(
        array.nbytes for array in lowered.literals.values() if array.size > 1
    )


def test_a_first_run_waits_for_no_run_before_it() -> None:
    lowered, inputs = planned(0.0)
    runtime = Recording()
    executor = Executor(runtime, lowered.program, lowered.literals, inputs)
    prepared = len(runtime.calls)
    executor.times(1)
    seen: set[str] = set()
    for call in runtime.calls[prepared:]:
        if call[0] == "capture":
            seen.clear()
        elif call[0] == "record":
            seen.add(call[1])
        elif call[0] == "wait":
            assert call[1] in seen  # a wait in a capture for what is not in it would end the capture


def test_whatever_call_fails_everything_is_given_back() -> None:
    lowered, inputs = planned(0.5)
    whole = Recording()
    run_on(whole, lowered.program, lowered.literals, inputs, repeat=1)
    count = len(whole.calls)
    assert count > 50
    for number in range(0, count, 7):
        runtime = Recording(fail_at=number)
        with pytest.raises(DeviceError, match="planted"):
            run_on(runtime, lowered.program, lowered.literals, inputs, repeat=1)
        assert runtime.closed == 1
        assert not runtime.held
    # And the next run works.
    run_on(Recording(), lowered.program, lowered.literals, inputs)


def test_missing_inputs_are_named() -> None:
    lowered, _ = planned(0.5)
    with pytest.raises(InputError, match="input image is missing"):
        run_on(Recording(), lowered.program, lowered.literals, {})


def test_kernels_are_c_plus_plus(tmp_path: Path) -> None:
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler here")
    sources = {}
    for lowered in (lower(read_onnx(MODEL)),):
        modules = {symbol(op): op for op in lowered.program.ops}
        for op in modules["main"].regions[0].blocks[0].ops:
            if "modules" in op.attributes:
                body = body_of(modules[op.attributes["modules"]].regions[0].blocks[0])
                kernel = kernel_of(body, op.operands[-1].type)
                sources[kernel.name] = kernel.source
    shim = "\n".join(
        [
            "#include <math.h>", "#define __global__", "#define __device__", "#define __restrict__",
            "#define __shared__ static", "struct Three { int x, y, z; };",
            "static Three threadIdx, blockIdx, blockDim;", "inline void __syncthreads() {}",
        ]
    )  # fmt: skip
    text = tmp_path / "kernels.cpp"
    text.write_text(f"{shim}\n{PRELUDE}\n" + "\n".join(sources.values()))
    done = subprocess.run(
        [compiler, "-fsyntax-only", "-Wno-unknown-pragmas", str(text)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[:2000]
    assert {"acc" in s for s in sources.values()} == {True, False}


def test_calibration_writes_a_profile_that_plans_take() -> None:
    from passlens.backends.calibrate import Copies, measure, profile_text
    from passlens.ir.analysis.devices import parse_device

    copies = Copies({4096: 7.1, 65536: 8.2, 1 << 20: 26.0, 16 << 20: 310.0, 64 << 20: 1220.0})
    assert copies.bytes_per_us == pytest.approx((48 << 20) / 910.0)
    assert copies.latency_us == pytest.approx(7.0, abs=1.5)
    runtime = Recording()
    found = measure(runtime, (4096, 65536, 1 << 20))
    assert runtime.closed == 1
    profile = parse_device(profile_text(found, device("h200")))
    assert profile.name == "recording"
    assert profile.pinned.bytes_per_us > 0
    assert main(["calibrate", "-o", "unused.json", "--device", "tpu"]) == 2
    assert not Path("unused.json").exists()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mlir_convolution_add_relu", ["convolution", "add", "relu"]),
        ("add_relu_noop_concat_noop_kernel", ["add", "relu", "noop", "concat", "noop"]),
        ("mul_add_add_relu_mul_reduce_sum_kernel", ["mul", "add", "add", "relu", "mul", "reduce_sum"]),
        ("mlir_reshape_dot_add", ["reshape", "dot", "add"]),
    ],
)
def test_names_say_what_kernels_do(name: str, words: list[str]) -> None:
    assert words_of(name) == words


def test_a_name_that_says_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="what 'frobnicate' does is not known"):
        words_of("mlir_convolution_frobnicate")


def test_the_seed_is_replayed_the_same_however_it_is_planned() -> None:
    text = open_trace(str(SEED)).text(0)
    plain = parse_migraphx(text)
    assumed = give_bodies(plain)
    assert len(assumed) == 70
    assert "stride {2, 2}, padding {3, 3}" in assumed[1].text
    literals, inputs = random_data(plain)
    (wanted,) = run_reference(plain, literals, {key: value.copy() for key, value in inputs.items()})
    assert np.isfinite(wanted).all()
    other = parse_migraphx(text)
    give_bodies(other)
    target = device("h200")
    Debugger(StreamingPass(lambda op: kernel_us(op, target), target.pinned, Wishes(0)), other).finish()
    (given,) = run_reference(other, literals, inputs, order=3, runs=2)
    np.testing.assert_allclose(given, wanted, rtol=1e-4, atol=1e-4 * float(np.abs(wanted).max()))


def test_run_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", MODEL, "--device", "reference", "--budget", "0", "--check"]) == 0
    assert "output 0" in capsys.readouterr().out
    assert main(["run", str(SEED), "--device", "simulate", "--json"]) == 0
    assert '"overlap": 0.0' in capsys.readouterr().out
    assert main(["run", MODEL, "--device", "tpu:0"]) == 2
    assert "there is no device 'tpu:0'" in capsys.readouterr().err
    assert main(["run", MODEL, "--naive"]) == 2
    assert main(["run", str(ROOT / "samples/attention.cuda-90.ttgir"), "--device", "reference"]) == 2
    assert "expected an ONNX model or a MIGraphX program" in capsys.readouterr().err


def test_no_gpu_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    from passlens.backends.cuda import missing

    why = missing()
    if not why:
        pytest.skip("there is a GPU here")
    assert main(["run", MODEL, "--device", "cuda:0"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert why in said
    assert main(["devices"]) == 0
    assert "not here" in capsys.readouterr().out
