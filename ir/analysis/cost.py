"""How long instructions take on a device: a roofline for kernels, latency and bandwidth for copies.

A kernel takes the device's smallest kernel time and, on top, the longer of two: its operations at the rate
that its kind reaches, its bytes at the memory's. Both rates shrink with the share of the device that the
launch's threads can fill, which is what makes small batches slow. Where a perf listing gives the time that
an instruction took (`perf.ms`), a kernel takes that; copies follow the profile, so that plans which cut
them otherwise stay comparable.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from ..program import Op
from ..types import ELEMENT_BITS, byte_size
from .devices import Device, Efficiency
from .views import is_copy_to_gpu, is_kernel
from .workload import Workload, modules_of, workload

Work = Literal["kernel", "copy", "none"]

_FROM_GPU: Final = frozenset({"hip::copy_from_gpu", "hip::hip_copy_from_gpu"})
_ON_GPU: Final = frozenset({"hip::copy", "gpu::copy", "hip::hip_copy", "gpu::contiguous", "hip::fill"})
_CALLS: Final = frozenset({"if", "loop"})
_MOST_MS: Final = 1e9
_MOST_BYTES: Final = 10**30


@dataclass(frozen=True, slots=True)
class _Factors:
    compute_threads: int
    """Threads that keep the arithmetic of one compute unit busy."""
    memory_threads: int
    """Threads of one compute unit that keep its share of the memory busy."""
    kinds: Mapping[str, Efficiency]


@functools.cache
def _factors() -> _Factors:
    data = json.loads(Path(__file__).with_name("efficiency.json").read_text(encoding="utf-8"))
    kinds = {kind: Efficiency(each["compute"], each["memory"]) for kind, each in data["kinds"].items()}
    threads = data["threads_per_unit"]
    return _Factors(threads["compute"], threads["memory"], kinds)


def work_of(op: Op) -> Work:
    """What an instruction gives the device to do: compute units, a copy engine, or neither.

    Copies are those between host and device; a copy within the device is done by compute units.
    """
    if is_copy_to_gpu(op) or op.name in _FROM_GPU:
        return "copy"
    if calls_modules(op):
        return "none"
    return "kernel" if is_kernel(op) or op.name in _ON_GPU else "none"


def calls_modules(op: Op) -> bool:
    """Whether the host runs modules for an instruction (`if`, `loop`): what they do is not counted."""
    return op.name.rpartition("::")[2] in _CALLS and "modules" in op.attributes


def copies_back(op: Op) -> bool:
    """Whether a copy goes from the device to the host."""
    return op.name in _FROM_GPU


def copy_bytes(op: Op) -> int:
    """Bytes that a copy moves: those of its result, padding of a batch included."""
    type = op.results[0].type if op.results else op.operands[-1].type if op.operands else None
    return min(max(0, (byte_size(type) or 0) if type is not None else 0), _MOST_BYTES)


def copy_us(op: Op, device: Device, *, pinned: bool = True) -> float:
    """Microseconds that a copy keeps its copy engine; `pinned` says what host memory it reads."""
    return device.transfer(pinned).time_us(copy_bytes(op))


def kernel_us(op: Op, device: Device, modules: Mapping[str, Op] | None = None) -> float:
    """Microseconds that a kernel takes when it has the device to itself.

    `modules` are the program's modules by name; give them (`workload.modules_of`) when asking for many.
    """
    measured = measured_us(op)
    return roofline_us(workload(op, modules), device) if measured is None else measured


def measured_us(op: Op) -> float | None:
    """Microseconds that a perf listing gives for an instruction, or None."""
    text = op.attributes.get("perf.ms")
    if text is None:
        return None
    try:
        milliseconds = float(text)
    except ValueError:
        return None
    return milliseconds * 1e3 if math.isfinite(milliseconds) and 0 <= milliseconds <= _MOST_MS else None


def roofline_us(work: Workload, device: Device) -> float:
    """Microseconds for so much work: see the head of this module."""
    factors = _factors()
    reached = device.efficiency.get(work.kind) or factors.kinds.get(work.kind) or factors.kinds["other"]
    threads = work.threads / device.compute_units
    computing = reached.compute * min(1.0, threads / factors.compute_threads)
    moving = reached.memory * min(1.0, threads / factors.memory_threads)
    flops_per_us = rate(device, work.element) * 1e-6 * computing
    bytes_per_us = device.bandwidth_bytes_per_us * moving
    return device.kernel_us + max(work.flops / flops_per_us, work.bytes / bytes_per_us)


def rate(device: Device, element: str) -> float:
    """Operations in a second for an element type; for one that the profile lacks, a close one's.

    The rate of the narrowest type in the profile that is at least as wide, else of f32.
    """
    known = device.flops_per_s.get(element)
    if known is not None:
        return known
    bits = ELEMENT_BITS.get(element, 32)
    wide = [
        (ELEMENT_BITS[name], -per) for name, per in device.flops_per_s.items() if ELEMENT_BITS[name] >= bits
    ]
    return -min(wide)[1] if wide else device.flops_per_s["f32"]


def cost_us(op: Op, device: Device, *, pinned: bool = True, modules: Mapping[str, Op] | None = None) -> float:
    """Microseconds that an instruction keeps the device busy; 0 for views, literals, allocations, events."""
    work = work_of(op)
    if work == "copy":
        return copy_us(op, device, pinned=pinned)
    return kernel_us(op, device, modules) if work == "kernel" else 0.0


__all__ = [
    "Work", "calls_modules", "copies_back", "copy_bytes", "copy_us", "cost_us", "kernel_us", "measured_us",
    "modules_of", "rate", "roofline_us", "work_of",
]  # fmt: skip
