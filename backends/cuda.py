"""NVIDIA GPUs through `cuda-bindings`: the driver API and NVRTC."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from typing import Any, Final

from .device import DeviceError, Properties
from .kernels.source import PRELUDE

_INSTALL: Final = "pip install 'passlens[cuda]'"
_PROBE_S: Final = 20.0


def missing() -> str:
    """Why no CUDA device can be used, in one line; '' if one can.

    Asked in a process of its own with a time limit: some calls never return where there is no driver.
    """
    try:
        import cuda.bindings.driver  # noqa: F401  (only whether it is there)
    except ImportError:
        return f"the package cuda-bindings is not installed: {_INSTALL}"
    context = multiprocessing.get_context("spawn")
    queue: Any = context.Queue()
    child = context.Process(target=_probe, args=(queue,), daemon=True)
    child.start()
    try:
        found = str(queue.get(timeout=_PROBE_S))
    except Exception:  # the child died or never answered
        found = "the CUDA driver does not answer"
    if child.is_alive():
        child.terminate()
    return found


def _probe(queue: Any) -> None:
    try:
        from cuda.bindings import driver

        (status,) = driver.cuInit(0)
        if int(status) != 0:
            queue.put(f"the CUDA driver cannot be initialised: {status.name}")
            return
        status, count = driver.cuDeviceGetCount()
        queue.put("" if int(status) == 0 and count else "there is no CUDA device")
    except Exception as error:
        queue.put(f"no CUDA driver was found ({type(error).__name__}); install NVIDIA's driver")


class Cuda:
    """One device; see `device.Runtime`. Made only after `missing` has said that there is one."""

    def __init__(self, number: int = 0) -> None:
        try:
            from cuda.bindings import driver, nvrtc
        except ImportError as error:
            raise DeviceError(f"the package cuda-bindings is not installed: {_INSTALL}") from error
        self._driver: Any = driver
        self._nvrtc: Any = nvrtc
        self._memory: list[int] = []
        self._pinned: list[int] = []
        self._modules: list[Any] = []
        self._arrays: list[Any] = []
        self._call("cuInit", 0)
        count = self._call("cuDeviceGetCount")
        if number >= count:
            raise DeviceError(f"there is no device cuda:{number}: the driver has {count}")
        self._device = self._call("cuDeviceGet", number)
        self._context = self._call("cuDevicePrimaryCtxRetain", self._device)
        self._call("cuCtxSetCurrent", self._context)

    def _call(self, name: str, *arguments: Any) -> Any:
        status, *values = getattr(self._driver, name)(*arguments)
        if int(status) != 0:
            _, text = self._driver.cuGetErrorString(status)
            said = text.decode() if isinstance(text, bytes) else str(status)
            raise DeviceError(f"{name} failed: {said}")
        return values[0] if len(values) == 1 else tuple(values)

    def properties(self) -> Properties:
        """What the device is, and how much of its memory is free now."""
        name = self._call("cuDeviceGetName", 128, self._device).split(b"\0")[0].decode()
        free, total = self._call("cuMemGetInfo")
        return Properties(name, int(total), int(free), self._architecture())

    def _architecture(self) -> str:
        kinds = self._driver.CUdevice_attribute
        major = self._call(
            "cuDeviceGetAttribute", kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, self._device
        )
        minor = self._call(
            "cuDeviceGetAttribute", kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, self._device
        )
        return f"compute_{major}{minor}"

    def allocate(self, size: int) -> int:
        """Device memory; its address."""
        address = int(self._call("cuMemAlloc", max(size, 1)))
        self._memory.append(address)
        return address

    def pin(self, size: int) -> int:
        """Page-locked host memory; its address."""
        address = int(self._call("cuMemHostAlloc", max(size, 1), 0))
        self._pinned.append(address)
        return address

    def upload(self, target: int, source: int, size: int, stream: Any) -> None:
        """Copy from page-locked host memory to the device, in the order of a stream."""
        self._call("cuMemcpyHtoDAsync", target, source, size, stream)

    def download(self, target: int, source: int, size: int, stream: Any) -> None:
        """Copy from the device to page-locked host memory, in the order of a stream."""
        self._call("cuMemcpyDtoHAsync", target, source, size, stream)

    def stream(self) -> Any:
        """A new stream, which waits for no other."""
        return self._call("cuStreamCreate", 1)

    def event(self, timed: bool = False) -> Any:
        """A new event."""
        return self._call("cuEventCreate", 0 if timed else 2)

    def record(self, event: Any, stream: Any) -> None:
        """Record an event behind what a stream has been given."""
        self._call("cuEventRecord", event, stream)

    def wait(self, event: Any, stream: Any) -> None:
        """Have a stream wait for what an event was last recorded behind."""
        self._call("cuStreamWaitEvent", stream, event, 0)

    def elapsed_us(self, start: Any, end: Any) -> float:
        """Microseconds between two recorded, timed events."""
        return float(self._call("cuEventElapsedTime", start, end)) * 1000.0

    def synchronize(self) -> None:
        """Wait until the device is idle."""
        self._call("cuCtxSynchronize")

    def compile(self, source: str, names: Sequence[str]) -> dict[str, Any]:
        """Functions by name of a C++ source."""
        nvrtc = self._nvrtc
        status, program = nvrtc.nvrtcCreateProgram((PRELUDE + source).encode(), b"passlens.cu", 0, [], [])
        options = [
            f"--gpu-architecture={self._architecture().replace('compute', 'sm')}".encode(),
            b"--fmad=true",
        ]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if int(status) != 0:
            _, size = nvrtc.nvrtcGetProgramLogSize(program)
            log = b" " * size
            nvrtc.nvrtcGetProgramLog(program, log)
            raise DeviceError(f"NVRTC refused a kernel: {log.decode(errors='replace')[:2000]}")
        _, size = nvrtc.nvrtcGetCUBINSize(program)
        binary = b" " * size
        nvrtc.nvrtcGetCUBIN(program, binary)
        nvrtc.nvrtcDestroyProgram(program)
        module = self._call("cuModuleLoadData", binary)
        self._modules.append(module)
        return {name: self._call("cuModuleGetFunction", module, name.encode()) for name in names}

    def launch(
        self, function: Any, grid: tuple[int, int, int], block: int, arguments: Sequence[int], stream: Any
    ) -> None:
        """Run a function whose arguments are addresses."""
        import ctypes

        values = tuple(arguments)
        packed = (values, (ctypes.c_void_p,) * len(values))
        self._call("cuLaunchKernel", function, *grid, block, 1, 1, 0, stream, packed, 0)

    def capture(self, stream: Any) -> None:
        """Begin to record what is given to a stream, and to those that wait for it, as a graph."""
        mode = self._driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        self._call("cuStreamBeginCapture", stream, mode)

    def captured(self, stream: Any) -> Any:
        """The graph, ready to be launched."""
        graph = self._call("cuStreamEndCapture", stream)
        return self._call("cuGraphInstantiate", graph, 0)

    def run_graph(self, graph: Any, stream: Any) -> None:
        """Launch a graph."""
        self._call("cuGraphLaunch", graph, stream)

    def close(self) -> None:
        """Give back everything that was taken; goes on past failures, as after a lost context."""
        held_by = (
            ("cuMemFree", self._memory),
            ("cuMemFreeHost", self._pinned),
            ("cuModuleUnload", self._modules),
        )
        for name, held in held_by:
            for each in held:
                getattr(self._driver, name)(each)
            held.clear()
        self._driver.cuDevicePrimaryCtxRelease(self._device)
