"""Finding the dumps of MLIR pass logs, writer by writer.

A banner is found by a plain byte search, and its line taken apart once for every distinct line, so that
a log of a gigabyte is indexed at the speed of the search.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from ..snapshot import Snapshot
from .logs_mlir import Banner, parse_banner
from .logs_prefix import banner_key
from .logs_text import Data, Sweep

_DUMP: Final = b"IR Dump "
_STARS: Final = b"*** "
_SLASHES: Final = b"// -----// "
_MARKER: Final = _SLASHES + _DUMP
"""What nearly all banners hold: the longer the text looked for, the faster it is found."""
_INTERNAL: Final = b" internal IR Dump "
_PRINT_INTERNALLY: Final = ("pipeline", "warp", "-ws")
"""Parts of the names of Triton's passes that print programs while they run."""
_LOOK_INTO_ALL: Final = 64 << 20
"""In a log of at most so many bytes all dumps are searched for internal ones; beyond, the likely ones."""
_WINDOW: Final = 1 << 20
_WINDOWS: Final = 16
_NEWLINE: Final = 10
_LIKE_IR: Final = (b"}", b"#", b"!")
_SAMPLES: Final = 2
_SMALL: Final = 1 << 20
_LONGEST_BANNER: Final = 65536
_LONGEST_PREFIX: Final = 400
_MOST_WRAPS: Final = 4
"""So many line breaks of a terminal a banner may have."""


@dataclass(slots=True)
class Stream:
    """The dumps of one writer; a log whose lines bear no marks has a single one."""

    key: str
    """The prefix of its lines, see `logs_prefix`."""
    snapshots: list[Snapshot] = field(default_factory=list)
    banners: list[Banner] = field(default_factory=list)
    """One for each snapshot."""
    loose: list[int] = field(default_factory=list)
    """Places in `snapshots` of dumps whose range ends in a line that is no IR."""


def streams(data: Data) -> list[Stream]:
    """The dumps of a log by writer, in order; a dump reaches to the line of its writer's next banner.

    Memory of the mapped file is let go behind what was searched.
    """
    found: dict[str, Stream] = {}
    sweep = Sweep(data)
    needle = _needle(data)
    at_line_starts = needle.startswith(b"\n")
    for place, end, banner in _banners(data, needle):
        begin, key = place, ""
        if not at_line_starts and place and data[place - 1] != _NEWLINE:
            begin = _line_start(data, place)
            key = banner_key(data, begin, place, end + 1) if begin < place else ""
        stream = found.get(key)
        if stream is None:
            stream = found[key] = Stream(key)
        elif stream.snapshots:
            _end(stream, data, begin)
        _add(stream, min(end + 1, len(data)), banner)
        if place > sweep.next:
            sweep.at(place)
    for stream in found.values():
        _end(stream, data, len(data))
    sweep.end()
    if _MARKER in needle:
        found = {key: _with_internal(data, stream) for key, stream in found.items()}
    return list(found.values())


def _needle(data: Data) -> bytes:
    """What to look for: the form of the first banner, or b"" where there is no banner."""
    first = data.find(_DUMP)
    while first >= 0:
        start = max(data.rfind(b"\n", max(first - 200, 0), first) + 1, first - 200, 0)
        before = bytes(data[start:first])
        if before.endswith(_SLASHES):
            return _MARKER if _any_inside_lines(data) else b"\n" + _MARKER
        if _SLASHES in before:
            return _SLASHES
        if before.endswith(_STARS):
            return _STARS + _DUMP
        first = data.find(_DUMP, first + len(_DUMP))
    return b""


def _any_inside_lines(data: Data) -> bool:
    """Whether banners stand behind something on their line; of a large log, some stretches are looked at."""
    size = len(data)
    step = _WINDOW if size <= _LOOK_INTO_ALL else size // _WINDOWS
    for low in range(0, size, step):
        high = min(low + _WINDOW + len(_MARKER), size)
        place = data.find(_MARKER, low, high)
        while place >= 0:
            if place and data[place - 1] != _NEWLINE:
                return True
            place = data.find(_MARKER, place + 1, high)
    return False


def _banners(data: Data, needle: bytes) -> Iterator[tuple[int, int, Banner]]:
    """Where banners begin (behind what stands in front on their line), where they end, and what they say."""
    known: dict[bytes, Banner | None] = {}
    find, size = data.find, len(data)
    skip = needle.startswith(b"\n")
    place = _first(data, needle)
    while place >= 0:
        end = find(b"\n", place, place + _LONGEST_BANNER)
        if end < 0:
            end = min(size, place + _LONGEST_BANNER)
        line = data[place:end]
        if line in known:
            banner = known[line]
        else:
            banner = known[line] = parse_banner(line.decode("utf-8", "replace").rstrip("\r"))
        if banner is None:
            end = place + 1
        else:
            if not banner.whole:
                banner, end = _unwrapped(data, place, end, banner)
            yield place, end, banner
        place = find(needle, end)
        place += skip and place >= 0


def _first(data: Data, needle: bytes) -> int:
    """Where the first banner is that `needle` finds; -1 for none."""
    if not needle.startswith(b"\n"):
        return data.find(needle) if needle else -1
    if bytes(data[: len(needle) - 1]) == needle[1:]:
        return 0  # no line ends in front of it
    place = data.find(needle)
    return place + 1 if place >= 0 else -1


def _line_start(data: Data, place: int) -> int:
    """Where the line that holds `place` begins; `place` itself if that is too far away for a prefix."""
    floor = max(0, place - _LONGEST_PREFIX)
    newline = data.rfind(b"\n", floor, place)
    if newline < 0:
        return 0 if floor == 0 else place
    return newline + 1


def _unwrapped(data: Data, place: int, end: int, banner: Banner) -> tuple[Banner, int]:
    """A banner that goes on in the next lines, and where it ends; as it is if these are none of it."""
    line, following = bytes(data[place:end]).rstrip(b"\r"), end
    for _ in range(_MOST_WRAPS):
        begin = following + 1
        following = data.find(b"\n", begin, begin + _LONGEST_PREFIX)
        if following < 0:
            break
        line += bytes(data[begin:following]).rstrip(b"\r")
        joined = parse_banner(line.decode("utf-8", "replace"))
        if joined is not None and joined.whole:
            return joined, following
    return banner, end


def _add(stream: Stream, body: int, banner: Banner, end: int = 0) -> None:
    """A further dump of a writer."""
    stream.snapshots.append(
        Snapshot(
            len(stream.snapshots), body, max(end, body), "mlir", banner.name, banner.argument,
            banner.options, banner.when, banner.failed, banner.op_name, banner.symbol,
            title=banner.name, prefix=stream.key,
        )
    )  # fmt: skip
    stream.banners.append(banner)


def _end(stream: Stream, data: Data, end: int) -> None:
    """Set the end of the last dump, and note whether other text than IR stands in front of it."""
    last = stream.snapshots[-1]
    start = last.start
    last.end = end = end if end > start else start
    tail = data[end - 160 if end - 160 > start else start : end].rstrip()
    if not tail.startswith(_LIKE_IR, tail.rfind(b"\n") + 1):
        _look_again(stream, data, end)


def _look_again(stream: Stream, data: Data, end: int) -> None:
    """The same for a dump whose last line is long, or no IR."""
    last = stream.snapshots[-1]
    tail = data[max(end - 4000, last.start) : end].rstrip()
    if not tail.startswith(_LIKE_IR, tail.rfind(b"\n") + 1):
        stream.loose.append(last.index)


def _with_internal(data: Data, stream: Stream) -> Stream:
    """The stream with the dumps that passes printed while they ran, which reach into the ranges of others."""
    inside: dict[int, list[tuple[int, int, Banner]]] = {}
    sweep = Sweep(data)
    for place in _likely(data, stream):
        sweep.at(stream.snapshots[place].start)
        found = _internal(data, stream, place)
        if found:
            inside[place] = found
    sweep.end()
    if not inside:
        return stream
    made = Stream(stream.key)
    sweep = Sweep(data)
    loose = set(stream.loose)
    for place, (snapshot, banner) in enumerate(zip(stream.snapshots, stream.banners, strict=True)):
        limit = snapshot.end
        snapshot.index = len(made.snapshots)
        made.snapshots.append(snapshot)
        made.banners.append(banner)
        if place not in inside:
            if place in loose:
                made.loose.append(snapshot.index)
            continue
        sweep.at(snapshot.start)
        for begin, body, inner in inside[place]:
            _end(made, data, begin)
            _add(made, body, inner)
        _end(made, data, limit)
    sweep.end()
    return made


def _likely(data: Data, stream: Stream) -> list[int]:
    """The places of the dumps in which there may be internal ones, in order."""
    snapshots = stream.snapshots
    if len(data) <= _LOOK_INTO_ALL:
        return list(range(len(snapshots)))
    by_pass: dict[str, list[int]] = {}
    for snapshot in snapshots:
        by_pass.setdefault(snapshot.argument or snapshot.pass_name, []).append(snapshot.index)
    wanted: list[int] = []
    for name, places in by_pass.items():
        lowered = name.lower()
        samples = (snapshots[place] for place in places[:_SAMPLES])
        named = "llvm" not in lowered and any(part in lowered for part in _PRINT_INTERNALLY)
        if named or any(
            data.find(_INTERNAL, sample.start, sample.end) >= 0
            for sample in samples
            if sample.end - sample.start < _SMALL
        ):
            wanted.extend(places)
    return sorted(wanted)


def _internal(data: Data, stream: Stream, place: int) -> list[tuple[int, int, Banner]]:
    """(line, end of the line, banner) of the internal dumps in a dump's range."""
    snapshot = stream.snapshots[place]
    found: list[tuple[int, int, Banner]] = []
    pos = data.find(_INTERNAL, snapshot.start, snapshot.end)
    while pos >= 0:
        begin = max(_line_start(data, pos), snapshot.start)
        end = data.find(b"\n", pos, snapshot.end)
        end = snapshot.end if end < 0 else end
        line = bytes(data[begin : min(end, begin + _LONGEST_BANNER)])
        banner = parse_banner(line.decode("utf-8", "replace").rstrip("\r"))
        marker = begin + line.find(_SLASHES)
        if banner is None or not banner.internal or marker < begin:
            pass  # other text that holds these words
        elif banner_key(data, begin, marker, end + 1) == stream.key:
            found.append((begin, min(end + 1, len(data)), banner))
        pos = data.find(_INTERNAL, max(end, pos + 1), snapshot.end)
    return found
