"""What is known of a GPU: its memory, rates and latencies, as JSON files beside this module or by path.

A profile is data, so that a user's own card needs no code. Every number says in `sources` where it is
from: a data sheet, a measurement, or an estimate.
"""

from __future__ import annotations

import difflib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from ..errors import InputError, Place, line_and_column
from ..types import ELEMENT_BITS

_PROFILES: Final = Path(__file__).with_name("devices")
_LARGEST_FILE: Final = 1 << 20
_LARGEST: Final = 1e30
_TRANSFER: Final = ("latency_us", "bytes_per_us")
_NUMBERS: Final = {
    "memory_bytes": "bytes of device memory",
    "bandwidth_bytes_per_us": "bytes of device memory read or written in a microsecond",
    "compute_units": "how many compute units (streaming multiprocessors) there are",
}
_TIMES: Final = {
    "launch_us": "microseconds that the host takes to launch a kernel or a copy",
    "event_us": "microseconds that the host takes to record an event or to wait for one",
    "kernel_us": "microseconds that the smallest kernel takes on the device",
}
_REQUIRED: Final = (
    "name", "memory_bytes", "flops_per_s", "bandwidth_bytes_per_us", "compute_units", "launch_us",
    "kernel_us", "pinned", "pageable", "copy_engines",
)  # fmt: skip
_OPTIONAL: Final = ("event_us", "efficiency", "sources")
_EVENT_US: Final = 1.0
"""What recording an event or waiting for one costs the host where a profile does not say."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """Copies between host and device in one direction: `latency_us + bytes / bytes_per_us` each.

    The latency is what one copy adds to a stream of copies, which is less than a copy takes by itself.
    """

    latency_us: float
    bytes_per_us: float

    def time_us(self, size: int) -> float:
        """Microseconds that a copy of `size` bytes keeps its copy engine."""
        return self.latency_us + size / self.bytes_per_us


@dataclass(frozen=True, slots=True)
class Efficiency:
    """Shares (0 to 1) of the peak rates that a kind of kernel reaches when it fills the device."""

    compute: float
    memory: float


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU as the cost model sees it; see `sources` for where each number is from."""

    name: str
    memory_bytes: int
    flops_per_s: Mapping[str, float]
    """Element type (a key of `ELEMENT_BITS`) → floating-point or integer operations in a second."""
    bandwidth_bytes_per_us: float
    compute_units: int
    launch_us: float
    """Microseconds of the host for each launch."""
    event_us: float
    kernel_us: float
    """Microseconds that the smallest kernel takes on the device."""
    pinned: Transfer
    pageable: Transfer
    copy_engines: int
    """Copies that may be under way at once in one direction; they share the bandwidth of the link."""
    efficiency: Mapping[str, Efficiency]
    """Kind of kernel → its own efficiency, where it is not the one of `efficiency.json`."""
    sources: Mapping[str, str]

    def transfer(self, pinned: bool = True) -> Transfer:
        """Copies from page-locked host memory, or from ordinary one."""
        return self.pinned if pinned else self.pageable


def device_names() -> list[str]:
    """The profiles that passlens ships, as `device` takes them."""
    return sorted(path.stem for path in _PROFILES.glob("*.json"))


def device(name_or_path: str | os.PathLike[str]) -> Device:
    """A profile by its name (`mi300x`, `RX 7900 XTX`) or by the path of a JSON file.

    Raises InputError for a name that is none, and for a file that cannot be read or is no profile: with
    the file, the key, what stands there and what was expected.
    """
    asked = os.fspath(name_or_path)
    plain = asked.casefold().replace(" ", "").replace("-", "").replace("_", "")
    if plain in device_names():
        return _read(_PROFILES / f"{plain}.json")
    if asked.casefold().endswith(".json") or os.sep in asked or os.path.isfile(asked):
        return _read(Path(asked))
    near = difflib.get_close_matches(plain, device_names(), 1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise InputError(
        f"no device is called {asked[:80]!r}; {hint}known are {', '.join(device_names())}; "
        "for another device, give the path of a JSON profile"
    )


def _read(path: Path) -> Device:
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST_FILE + 1)
    except (OSError, ValueError) as fault:
        why = getattr(fault, "strerror", None) or str(fault)
        raise InputError(f"{path}: the device profile cannot be read: {why}; expected a JSON file") from fault
    if len(data) > _LARGEST_FILE:
        raise InputError(f"{path}: more than 1 MB; expected a JSON device profile of a few lines")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise InputError(
            f"{path}: byte {fault.start} is no UTF-8; expected a JSON device profile; save it as UTF-8"
        ) from fault
    return parse_device(text, str(path))


def parse_device(text: str, file: str = "<profile>") -> Device:
    """A profile from its JSON text; raises InputError as `device` does, naming `file`."""
    try:
        data = json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as fault:
        place = Place(file, fault.lineno, fault.colno)
        raise InputError(f"the device profile is no JSON: {fault.msg}", place) from fault
    except RecursionError as fault:
        raise InputError(f"{file}: nested too deeply; expected the keys {', '.join(_REQUIRED)}") from fault
    except ValueError as fault:  # a key twice, or an integer of thousands of digits
        raise InputError(f"{file}: {fault}; expected a JSON device profile") from fault
    return _Reader(file, text).device(data)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"key {key[:80]!r} stands there twice")
        found[key] = value
    return found


class _Reader:
    """Takes the parsed JSON apart and complains with the place of the key."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text

    def device(self, data: Any) -> Device:
        if not isinstance(data, dict):
            raise self.fault("", data, f"an object with the keys {', '.join(_REQUIRED)}")
        self.keys(data, "", _REQUIRED, _OPTIONAL)
        return Device(
            name=self.word(data["name"], "name"),
            memory_bytes=self.count(data["memory_bytes"], "memory_bytes", _NUMBERS["memory_bytes"]),
            flops_per_s=self.rates(data["flops_per_s"]),
            bandwidth_bytes_per_us=self.positive(
                data["bandwidth_bytes_per_us"], "bandwidth_bytes_per_us", _NUMBERS["bandwidth_bytes_per_us"]
            ),
            compute_units=self.count(data["compute_units"], "compute_units", _NUMBERS["compute_units"]),
            launch_us=self.number(data["launch_us"], "launch_us", _TIMES["launch_us"]),
            event_us=self.number(data.get("event_us", _EVENT_US), "event_us", _TIMES["event_us"]),
            kernel_us=self.number(data["kernel_us"], "kernel_us", _TIMES["kernel_us"]),
            pinned=self.transfer(data["pinned"], "pinned"),
            pageable=self.transfer(data["pageable"], "pageable"),
            copy_engines=self.count(data["copy_engines"], "copy_engines", "how many copies run at once"),
            efficiency=self.efficiency(data.get("efficiency", {})),
            sources=self.sources(data.get("sources", {})),
        )

    def keys(self, data: dict[str, Any], inside: str, needed: tuple[str, ...], more: tuple[str, ...]) -> None:
        for key in needed:
            if key not in data:
                name = f"{inside}.{key}" if inside else key
                raise InputError(f"{self.file}: the key {name} is missing; expected {_meaning(name)}")
        for key in data:
            if key not in needed and key not in more:
                near = difflib.get_close_matches(key, [*needed, *more], 1)
                hint = f"did you mean {near[0]}?" if near else f"known are {', '.join((*needed, *more))}"
                raise InputError(f"there is no key {key[:80]!r} in a device profile; {hint}", self.place(key))

    def fault(self, key: str, found: Any, expected: str) -> InputError:
        what = f"`{key}` is" if key else "the profile is"
        shown = json.dumps(found)
        shown = shown if len(shown) <= 60 else shown[:57] + "..."
        return InputError(f"{what} {shown}; expected {expected}", self.place(key))

    def place(self, key: str) -> Place:
        """Where a dotted key stands in the text, or its beginning."""
        at = 0
        for part in key.split("."):
            found = self.text.find(json.dumps(part, ensure_ascii=False), at)
            at = found if found >= 0 else at
        return Place(self.file, *line_and_column(self.text, at))

    def word(self, value: Any, key: str) -> str:
        if not isinstance(value, str) or not value.strip():
            raise self.fault(key, value, "a text")
        return value

    def number(self, value: Any, key: str, meaning: str, *, least: str = "0 or more") -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.fault(key, value, f"a number, {least}: {meaning}")
        if not math.isfinite(value) or not 0 <= value <= _LARGEST:
            raise self.fault(key, value, f"a number, {least}: {meaning}")
        return float(value)

    def positive(self, value: Any, key: str, meaning: str) -> float:
        number = self.number(value, key, meaning, least="more than 0")
        if number < 1e-9:
            raise self.fault(key, value, f"a number, more than 0: {meaning}")
        return number

    def count(self, value: Any, key: str, meaning: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= 1 << 60:
            raise self.fault(key, value, f"a whole number, 1 or more: {meaning}")
        return value

    def transfer(self, value: Any, key: str) -> Transfer:
        if not isinstance(value, dict):
            raise self.fault(key, value, 'an object {"latency_us": …, "bytes_per_us": …}')
        self.keys(value, key, _TRANSFER, ())
        return Transfer(
            self.number(value["latency_us"], f"{key}.latency_us", _meaning("latency_us")),
            self.positive(value["bytes_per_us"], f"{key}.bytes_per_us", _meaning("bytes_per_us")),
        )

    def rates(self, value: Any) -> Mapping[str, float]:
        if not isinstance(value, dict) or "f32" not in value:
            raise self.fault(
                "flops_per_s", value, 'an object {"f32": operations in a second, …}, f32 at least'
            )
        for name in value:
            if name not in ELEMENT_BITS:
                raise self.fault(f"flops_per_s.{name}", value[name], "an element type such as f32, f16, i8")
        rates = {
            name: self.positive(rate, f"flops_per_s.{name}", _meaning("flops_per_s"))
            for name, rate in value.items()
        }
        return MappingProxyType(rates)

    def efficiency(self, value: Any) -> Mapping[str, Efficiency]:
        expected = 'an object {"convolution": {"compute": 0.5, "memory": 0.7}, …}'
        if not isinstance(value, dict):
            raise self.fault("efficiency", value, expected)
        found = {}
        for kind, shares in value.items():
            if not isinstance(shares, dict) or set(shares) != {"compute", "memory"}:
                raise self.fault(f"efficiency.{kind}", shares, expected)
            found[kind] = Efficiency(
                self.share(shares["compute"], f"efficiency.{kind}.compute"),
                self.share(shares["memory"], f"efficiency.{kind}.memory"),
            )
        return MappingProxyType(found)

    def share(self, value: Any, key: str) -> float:
        number = self.positive(value, key, "a share of the peak rate, at most 1")
        if number > 1:
            raise self.fault(key, value, "a share of the peak rate, more than 0 and at most 1")
        return number

    def sources(self, value: Any) -> Mapping[str, str]:
        if not isinstance(value, dict):
            raise self.fault("sources", value, 'an object {"pinned": "where the number is from", …}')
        return MappingProxyType({key: self.word(text, f"sources.{key}") for key, text in value.items()})


def _meaning(key: str) -> str:
    """What a key holds, for a person who left it out."""
    known = {
        **_NUMBERS,
        **_TIMES,
        "name": "the device's name",
        "flops_per_s": "operations in a second for each element type",
        "pinned": 'copies from page-locked memory: {"latency_us": …, "bytes_per_us": …}',
        "pageable": 'copies from ordinary memory: {"latency_us": …, "bytes_per_us": …}',
        "copy_engines": "how many copies run at once in one direction",
        "latency_us": "microseconds that one copy adds to a stream of copies",
        "bytes_per_us": "bytes that are copied in a microsecond",
    }
    return known.get(key.rpartition(".")[2], "a value")
