"""What running a program asks of a device: memory, streams, events, modules, launches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Properties:
    """What a device is. Bytes."""

    name: str
    memory: int
    free: int
    architecture: str


class Runtime(Protocol):
    """A GPU's run time. Handles are opaque; every call raises `DeviceError` where the driver fails."""

    def properties(self) -> Properties:
        """What the device is, and how much of its memory is free now."""

    def allocate(self, size: int) -> int:
        """Device memory; its address."""

    def pin(self, size: int) -> int:
        """Page-locked host memory; its address."""

    def upload(self, target: int, source: int, size: int, stream: Any) -> None:
        """Copy from page-locked host memory to the device, in the order of a stream."""

    def download(self, target: int, source: int, size: int, stream: Any) -> None:
        """Copy from the device to page-locked host memory, in the order of a stream."""

    def stream(self) -> Any:
        """A new stream, which waits for no other."""

    def event(self, timed: bool = False) -> Any:
        """A new event."""

    def record(self, event: Any, stream: Any) -> None:
        """Record an event behind what a stream has been given."""

    def wait(self, event: Any, stream: Any) -> None:
        """Have a stream wait for what an event was last recorded behind."""

    def elapsed_us(self, start: Any, end: Any) -> float:
        """Microseconds between two recorded, timed events."""

    def synchronize(self) -> None:
        """Wait until the device is idle."""

    def compile(self, source: str, names: Sequence[str]) -> dict[str, Any]:
        """Functions by name of a C++ source."""

    def launch(
        self, function: Any, grid: tuple[int, int, int], block: int, arguments: Sequence[int], stream: Any
    ) -> None:
        """Run a function whose arguments are addresses."""

    def capture(self, stream: Any) -> None:
        """Begin to record what is given to a stream, and to those that wait for it, as a graph."""

    def captured(self, stream: Any) -> Any:
        """The graph, ready to be launched."""

    def run_graph(self, graph: Any, stream: Any) -> None:
        """Launch a graph."""

    def close(self) -> None:
        """Give back everything that was taken."""


class DeviceError(Exception):
    """A call that the driver or the compiler refused, with its own words and what to do."""
