"""Measure what a device profile says of copies and launches: plans for the machine at hand."""

from __future__ import annotations

import ctypes
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from ..ir.analysis.devices import Device
from .device import Runtime

_SIZES: Final = (4 << 10, 64 << 10, 512 << 10, 1 << 20, 16 << 20, 64 << 20)
_TOTAL: Final = 256 << 20
_ROUNDS: Final = 5
_EMPTY: Final = 'extern "C" __global__ void k_empty(float* x) { if (x == nullptr) return; }\n'


@dataclass(frozen=True, slots=True)
class Copies:
    """Measured copies to the device: size in bytes → microseconds of one in a stream of such copies."""

    times: dict[int, float]

    @property
    def bytes_per_us(self) -> float:
        """The rate that large copies reach: from the last two sizes, so that latency does not count."""
        (small, first), (large, second) = sorted(self.times.items())[-2:]
        return (large - small) / max(second - first, 1e-9)

    @property
    def latency_us(self) -> float:
        """What a copy costs beside its bytes: what the smallest takes, less its bytes."""
        size, us = min(self.times.items())
        return max(us - size / self.bytes_per_us, 0.0)


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured of one device; microseconds."""

    name: str
    memory: int
    pinned: Copies
    pageable: Copies
    launch_us: float
    kernel_us: float


def measure(runtime: Runtime, sizes: tuple[int, ...] = _SIZES) -> Measured:
    """Measure a device; takes some seconds. Gives back what it took."""
    try:
        found = runtime.properties()
        stream = runtime.stream()
        largest = max(sizes)
        target, pinned = runtime.allocate(largest), runtime.pin(largest)
        ordinary = ctypes.create_string_buffer(largest)
        ctypes.memset(pinned, 1, largest)
        ctypes.memset(ordinary, 1, largest)
        function = runtime.compile(_EMPTY, ["k_empty"])["k_empty"]

        def launch() -> None:
            runtime.launch(function, (1, 1, 1), 32, [target], stream)

        return Measured(
            found.name,
            found.memory,
            Copies({size: _copies(runtime, target, pinned, size, stream) for size in sizes}),
            Copies(
                {size: _copies(runtime, target, ctypes.addressof(ordinary), size, stream) for size in sizes}
            ),
            _host_us(runtime, launch, 500),
            _graph_us(runtime, launch, stream, 200),
        )
    finally:
        runtime.close()


def _copies(runtime: Runtime, target: int, source: int, size: int, stream: Any) -> float:
    count = max(3, min(400, _TOTAL // size))
    found = []
    for _ in range(_ROUNDS):
        runtime.synchronize()
        begin = time.perf_counter()
        for _ in range(count):
            runtime.upload(target, source, size, stream)
        runtime.synchronize()
        found.append(1e6 * (time.perf_counter() - begin) / count)
    return statistics.median(found)


def _host_us(runtime: Runtime, launch: Callable[[], None], count: int) -> float:
    found = []
    for _ in range(_ROUNDS):
        runtime.synchronize()
        begin = time.perf_counter()
        for _ in range(count):
            launch()
        found.append(1e6 * (time.perf_counter() - begin) / count)
    runtime.synchronize()
    return statistics.median(found)


def _graph_us(runtime: Runtime, launch: Callable[[], None], stream: Any, count: int) -> float:
    runtime.synchronize()
    runtime.capture(stream)
    for _ in range(count):
        launch()
    graph = runtime.captured(stream)
    start, end = runtime.event(timed=True), runtime.event(timed=True)
    found = []
    for _ in range(_ROUNDS):
        runtime.record(start, stream)
        runtime.run_graph(graph, stream)
        runtime.record(end, stream)
        runtime.synchronize()
        found.append(runtime.elapsed_us(start, end) / count)
    return statistics.median(found)


def profile_text(measured: Measured, base: Device) -> str:
    """A device profile with what was measured; rates of arithmetic and memory are those of `base`."""
    said = "measured by passlens calibrate"
    kept = f"of the profile {base.name}"
    data = {
        "name": measured.name,
        "memory_bytes": measured.memory,
        "flops_per_s": dict(base.flops_per_s),
        "bandwidth_bytes_per_us": base.bandwidth_bytes_per_us,
        "compute_units": base.compute_units,
        "launch_us": round(measured.launch_us, 3),
        "event_us": base.event_us,
        "kernel_us": round(measured.kernel_us, 3),
        "pinned": _transfer(measured.pinned),
        "pageable": _transfer(measured.pageable),
        "copy_engines": base.copy_engines,
        "sources": {
            "memory_bytes": said, "launch_us": f"{said}: from Python, so more than from C++",
            "kernel_us": f"{said}: an empty kernel of a captured graph",
            "pinned": _told(measured.pinned, said), "pageable": _told(measured.pageable, said),
            "flops_per_s": kept, "bandwidth_bytes_per_us": kept,
            "compute_units": kept, "event_us": kept, "copy_engines": kept,
        },
    }  # fmt: skip
    return json.dumps(data, indent=2) + "\n"


def _transfer(copies: Copies) -> dict[str, float]:
    return {"latency_us": round(copies.latency_us, 3), "bytes_per_us": round(copies.bytes_per_us, 1)}


def _told(copies: Copies, said: str) -> str:
    sizes = ", ".join(f"{size:,} bytes {us:.1f} us" for size, us in sorted(copies.times.items()))
    return f"{said}: {sizes}"
