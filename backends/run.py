"""Run a lowered program on a GPU as it says: arena, resident and streamed literals, streams and events."""

from __future__ import annotations

import ctypes
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..ir.analysis.migraphx_summary import main_body
from ..ir.analysis.views import is_copy_to_gpu, is_kernel
from ..ir.errors import InputError
from ..ir.evaluate.attributes import dtype_of, integer, integers
from ..ir.evaluate.run import literal_value
from ..ir.evaluate.structure import VIEWS
from ..ir.passes.streaming.detach import batch_offsets
from ..ir.program import Op, Program, Value, symbol
from ..ir.types import ShapeType, byte_size, element_bits
from .device import DeviceError, Runtime
from .kernels.emit import shape_of
from .kernels.source import Body, Kernel, body_of, kernel_of

Array = npt.NDArray[Any]

_ARENAS: Final = ("hip::hip_allocate_memory", "hip::allocate", "allocate")
_UNROLLED: Final = 8


@dataclass(slots=True)
class Times:
    """Measured microseconds, medians of several rounds."""

    period_us: float
    """From run to run of a steady stream."""
    first_us: float
    """Of one run by itself."""
    compute_us: float
    """The same kernels without any copy."""
    copy_us: float
    """The same copies without any kernel."""

    @property
    def bound_us(self) -> float:
        """No order of this work is faster."""
        return max(self.compute_us, self.copy_us)

    @property
    def overlap(self) -> float:
        """Share of copy time that does not show: from the three measured times, so free of observers."""
        if not self.copy_us:
            return 0.0
        hidden = self.compute_us + self.copy_us - self.period_us
        return min(max(hidden / self.copy_us, 0.0), 1.0)


@dataclass(slots=True)
class Outcome:
    """What a run gave."""

    outputs: list[Array]
    device: str
    bytes: dict[str, int]
    """Device memory taken, by what for: resident, arena, parameters."""
    times: Times | None = None
    kernels: int = 0
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Issue:
    """One instruction as it is given to the device."""

    kind: str
    """launch, copy, record, wait."""
    stream: int
    do: Callable[[Any], None]


class Executor:
    """A program made ready on a device: memory taken, kernels compiled, weights uploaded or pinned."""

    def __init__(
        self, runtime: Runtime, program: Program, literals: Mapping[str, Array], inputs: Mapping[str, Array]
    ) -> None:
        self.runtime = runtime
        self.body = [op for op in main_body(program) if op.name]
        self.modules = {symbol(op): op for op in program.ops if op.name == "module"}
        self.literals = literals
        self.inputs = inputs
        self.bytes = {"resident": 0, "arena": 0, "parameters": 0}
        self.places: dict[Value, int] = {}
        self.streams: dict[int, Any] = {}
        self.events: dict[str, Any] = {}
        self.kernels = self._kernels()
        self.functions = self._compiled()
        self._main = runtime.stream()
        self.streams[0] = self._main
        self.issues = self._prepare()
        runtime.synchronize()

    # kernels

    def _kernels(self) -> dict[int, Kernel]:
        found = {}
        for op in self.body:
            if is_kernel(op):
                found[id(op)] = kernel_of(self._body(op), shape_of(op.operands[-1]))
        return found

    def _body(self, op: Op) -> Body:
        name = op.attributes.get("modules", "").strip()
        if name in self.modules:
            body = body_of(self.modules[name].regions[0].blocks[0])
        elif op.name in ("gpu::pooling", "gpu::convolution", "gpu::gemm"):
            body = _single(op)
        else:
            raise InputError(
                f"{op.results[0].name} ({op.attributes.get('symbol_name', op.name)}) has no module of "
                "operators in "
                "the program, so that what it computes is not known: only programs lowered from a model "
                "can be run"
            )
        for param, value in zip(body.params, op.operands, strict=False):
            param.type = value.type
        return body

    def _compiled(self) -> dict[str, Any]:
        sources = {kernel.name: kernel.source for kernel in self.kernels.values()}
        return self.runtime.compile("\n".join(sources.values()), list(sources)) if sources else {}

    # memory

    def _prepare(self) -> list[_Issue]:
        issues: list[_Issue] = []
        stream = 0
        for op in self.body:
            if op.name == "gpu::set_stream":
                stream = integer(op.attributes, "stream")
                if stream not in self.streams:
                    self.streams[stream] = self.runtime.stream()
            elif op.name in ("gpu::record_event", "gpu::wait_event"):
                issues.append(self._event(op, stream))
            elif is_copy_to_gpu(op):
                issues.append(self._copy(op, stream))
            elif is_kernel(op):
                issues.append(self._launch(op, stream))
            elif op.results:
                self._place(op)
        return issues

    def _event(self, op: Op, stream: int) -> _Issue:
        name = op.attributes["event"]
        event = self.events.setdefault(name, self.runtime.event())
        if op.name == "gpu::record_event":
            return _Issue("record", stream, lambda on: self.runtime.record(event, on))
        return _Issue("wait", stream, lambda on: self.runtime.wait(event, on))

    def _place(self, op: Op) -> None:
        value = op.results[0]
        size = byte_size(value.type) or 0
        if op.name in _ARENAS:
            self.places[value] = self.runtime.allocate(size)
            self.bytes["arena"] += size
        elif op.name == "@param":
            self.places[value] = self._parameter(op, size)
        elif op.name == "hip::hip_copy_literal":
            data = self._data(op)
            self.places[value] = self._uploaded(data)
            self.bytes["resident"] += data.nbytes
        elif op.name in ("load", "hip::view_bytes"):
            self.places[value] = self.places[op.operands[0]] + integer(op.attributes, "offset")
        elif op.name in VIEWS:
            self.places[value] = self.places[op.operands[0]] + _moved(op)
        elif op.name.endswith("sync_stream"):
            self.places[value] = self.places[op.operands[0]]

    def _parameter(self, op: Op, size: int) -> int:
        name = op.results[0].name
        self.bytes["parameters"] += size
        if name.rpartition(":")[2].startswith("#output"):
            return self.runtime.allocate(size)
        given = self.inputs.get(name)
        type = shape_of(op.results[0])
        if given is None:
            raise InputError(f"input {name} is missing: given are {', '.join(sorted(self.inputs)) or 'none'}")
        data = np.asarray(given).astype(dtype_of(type.element)).reshape(type.lens)
        return self._uploaded(np.ascontiguousarray(data))

    def _data(self, op: Op) -> Array:
        type = shape_of(op.results[0])
        held = self.literals.get(op.results[0].name)
        data = literal_value(op) if held is None else np.asarray(held)
        return np.ascontiguousarray(data.astype(dtype_of(type.element)).reshape(type.lens))

    def _uploaded(self, data: Array) -> int:
        place = self.runtime.allocate(data.nbytes)
        host = self._pinned([data])
        self.runtime.upload(place, host, data.nbytes, 0)
        self.runtime.synchronize()
        return place

    def _pinned(self, parts: list[Array]) -> int:
        offsets = batch_offsets([part.nbytes for part in parts])
        size = offsets[-1] + parts[-1].nbytes if parts else 0
        host = self.runtime.pin(size)
        for part, offset in zip(parts, offsets, strict=True):
            ctypes.memmove(host + offset, part.ctypes.data, part.nbytes)
        return host

    def _copy(self, op: Op, stream: int) -> _Issue:
        parts = [self._data(_owner(value)) for value in op.operands[:-1]]
        host = self._pinned(parts)
        size = byte_size(op.results[0].type) or 0
        place = self.places[op.operands[-1]]
        self.places[op.results[0]] = place
        return _Issue("copy", stream, lambda on: self.runtime.upload(place, host, size, on))

    def _launch(self, op: Op, stream: int) -> _Issue:
        kernel = self.kernels[id(op)]
        function = self.functions[kernel.name]
        given = [self.places[value] for value in op.operands]
        self.places[op.results[0]] = self.places[op.operands[-1]]
        return _Issue(
            "launch", stream, lambda on: self.runtime.launch(function, kernel.grid, kernel.block, given, on)
        )

    # running

    def issue(self, kinds: tuple[str, ...] = ("launch", "copy", "record", "wait"), runs: int = 1) -> None:
        """Give the device one or several runs, or only some of their instructions."""
        for _ in range(runs):
            for each in self.issues:
                if each.kind in kinds:
                    each.do(self.streams[each.stream])

    def outputs(self) -> list[Array]:
        """What the main module returns, downloaded."""
        back = next(op for op in self.body if op.name == "@return")
        return [self._downloaded(value) for value in back.operands]

    def _downloaded(self, value: Value) -> Array:
        type = shape_of(value)
        size = byte_size(type) or 0
        host = self.runtime.pin(size)
        self.runtime.synchronize()
        self.runtime.download(host, self.places[value], size, self._main)
        self.runtime.synchronize()
        dtype = dtype_of(type.element)
        flat = np.frombuffer(ctypes.string_at(host, size), dtype=dtype)
        return np.lib.stride_tricks.as_strided(
            flat, type.lens, [stride * dtype.itemsize for stride in type.strides]
        ).copy()

    def times(self, repeat: int) -> Times:
        """Measure; medians of `repeat` rounds."""
        everything = ("launch", "copy", "record", "wait")
        return Times(
            self._measured(everything, repeat),
            self._measured(everything, repeat, runs=1),
            self._measured(("launch",), repeat),
            self._measured(("copy",), repeat),
        )

    def _measured(self, kinds: tuple[str, ...], repeat: int, runs: int = _UNROLLED) -> float:
        """Microseconds a run, of a captured graph of several runs so that the host counts for nothing."""
        if not any(each.kind in kinds and each.kind in ("launch", "copy") for each in self.issues):
            return 0.0
        graph = self._graph(kinds, runs)
        start, end = self.runtime.event(timed=True), self.runtime.event(timed=True)
        found = []
        for number in range(repeat + 3):
            self.runtime.record(start, self._main)
            self.runtime.run_graph(graph, self._main)
            self.runtime.record(end, self._main)
            self.runtime.synchronize()
            if number >= 3:
                found.append(self.runtime.elapsed_us(start, end) / runs)
        return statistics.median(found)

    def _graph(self, kinds: tuple[str, ...], runs: int) -> Any:
        """Capture: all streams begin with the main one and join it again at the end.

        A wait for the run before is left out in the first run: nothing was recorded yet.
        """
        runtime = self.runtime
        self.runtime.synchronize()
        fork, ends = runtime.event(), {number: runtime.event() for number in self.streams if number}
        events = {name: runtime.event() for name in self.events}
        runtime.capture(self._main)
        runtime.record(fork, self._main)
        for number in ends:
            runtime.wait(fork, self.streams[number])
        recorded: set[str] = set()
        for _ in range(runs):
            for op, each in zip(self._issued(), self.issues, strict=True):
                if each.kind not in kinds:
                    continue
                name = op.attributes.get("event", "") if each.kind in ("record", "wait") else ""
                if each.kind == "record":
                    runtime.record(events[name], self.streams[each.stream])
                    recorded.add(name)
                elif each.kind == "wait":
                    if name in recorded:
                        runtime.wait(events[name], self.streams[each.stream])
                else:
                    each.do(self.streams[each.stream])
        for number, event in ends.items():
            runtime.record(event, self.streams[number])
            runtime.wait(event, self._main)
        return runtime.captured(self._main)

    def _issued(self) -> list[Op]:
        return [
            op
            for op in self.body
            if op.name in ("gpu::record_event", "gpu::wait_event") or is_copy_to_gpu(op) or is_kernel(op)
        ]


def run_on(
    runtime: Runtime,
    program: Program,
    literals: Mapping[str, Array],
    inputs: Mapping[str, Array],
    *,
    runs: int = 2,
    repeat: int = 0,
) -> Outcome:
    """Run a program `runs` times without waiting in between, and measure it if `repeat` is not 0.

    Raises:
        InputError: data is missing, or an operator has no kernel.
        DeviceError: the driver refused something; what was taken is given back.
    """
    try:
        executor = Executor(runtime, program, literals, inputs)
        executor.issue(runs=runs)
        outputs = executor.outputs()
        times = executor.times(repeat) if repeat else None
        return Outcome(outputs, runtime.properties().name, executor.bytes, times, len(executor.kernels))
    finally:
        runtime.close()


def _single(op: Op) -> Body:
    """The body of a library call: the operator itself over its operands."""
    from ..ir import edit
    from ..ir.program import Block, Region

    block = Block(Region())
    params = [
        edit.create("@param", [], [value.type], {}, block=block, names=[f"x{n}"]).results[0]
        for n, value in enumerate(op.operands[:-1])
    ]
    name = {"gpu::gemm": "dot"}.get(op.name, op.name.removeprefix("gpu::"))
    made = edit.create(name, params, [op.results[0].type], dict(op.attributes), block=block, names=["@0"])
    return Body(params, made.results[0], [made])


def _moved(op: Op) -> int:
    """Bytes by which a view begins behind its source: what a slice leaves out."""
    if op.name != "slice":
        return 0
    type = op.operands[0].type
    assert isinstance(type, ShapeType)
    starts = integers(op.attributes, "starts")
    steps = [type.strides[axis] for axis in integers(op.attributes, "axes")]
    return sum(a * b for a, b in zip(starts, steps, strict=True)) * ((element_bits(type) or 8) // 8)


def _owner(value: Value) -> Op:
    if value.op is None:
        raise InputError(f"{value.name} is made by nothing")
    return value.op


__all__ = ["DeviceError", "Executor", "Outcome", "Times", "run_on"]
