"""MIGraphX driver and compile logs: listings of programs, passes and their times, evaluation traces.

Listings are found by a byte search for their header; only the lines in front of a header are read one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from ..snapshot import PassRun, Snapshot
from .logs_migraphx_wrap import line_behind, rest_of_wrapped, whole_end
from .logs_prefix import key_of, mark_of
from .logs_prose import title_in_front
from .logs_text import Data, Sweep, decode

MODULE: Final = b'module: "'
_RUN: Final = b"Run instruction: "
_NAME: Final = re.compile(rb'module: "(?P<name>[^"\n]*)"[ \t\r]*$')
_PASS: Final = re.compile(
    rb"(?:Module: (?P<of>[^,\n]+), )?Pass: (?P<pass>[^\n]+?)[ \t\r]*$"
    rb"|(?P<timed>[A-Za-z_][\w:.\-]*): (?P<ms>\d[\d.]*(?:e[+\-]?\d+)?)ms[ \t\r]*$"
)
_COMPILE: Final = (b"Compiling ...", b"Reading: ", b"Running [ MIGraphX")
"""What the driver says before it compiles a program; what follows is no pass over the program before."""
_BARE: Final = re.compile(rb"(?m)^(?:\w[\w:]*:)?@\d+ = (?:@literal|@param|[\w:]+)[^\n]* -> \w+_type, \{")
_NUMBERED: Final = re.compile(rb"(?:^|[\s:])@\d+$")
_OPERATION: Final = re.compile(rb"[@A-Za-z_][\w:.]*")
_TRACE_LINE: Final = re.compile(
    rb"\s*(?:Run instruction: |Time: |Output has |Ou?t?put: |Ouput: |Min value: |Max value: |Mean: )"
)
_FACT: Final = re.compile(r"[^:]*: ?\d")
_LONGEST_LINE: Final = 4096
_MOST_LINES: Final = 2000
"""Lines in front of a header that are read backwards before the listing above is read forwards instead."""


@dataclass(slots=True)
class _Section:
    """A listing of one or more modules under one pass header."""

    pass_name: str
    manager: int
    start: int
    end: int
    prefix: str = ""
    title: str = ""
    modules: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Gap:
    """What stands between two listings."""

    end: int
    """Where the listing in front of it ends."""
    pass_name: str = ""
    blank: bool = True
    compiles: bool = False
    """Whether the driver says that it compiles another program."""
    times: list[tuple[str, float]] = field(default_factory=list)


@dataclass(slots=True)
class _Header:
    line: int
    """Where its line begins."""
    start: int
    """Where the header itself begins, behind a worker's mark."""
    end: int
    name: str


def looks_like(data: Data, begin: int, limit: int) -> bool:
    """Whether a stretch holds MIGraphX listings."""
    found = data.find(MODULE, begin, limit) >= 0 or data.find(_RUN, begin, limit) >= 0
    return found or _bare_listing(data, begin, limit) >= 0


def _bare_listing(data: Data, begin: int, limit: int) -> int:
    found = _BARE.search(data, begin, min(limit, begin + 65536))
    return found.start() if found else -1


def cut(data: Data, begin: int, limit: int) -> tuple[list[Snapshot], list[PassRun]]:
    """The whole programs of a stretch as snapshots, and its passes.

    A compile trace prints every sub-module under a pass, then the whole program: these sections are one
    run, whose snapshot is the whole program. Times of passes are in milliseconds. Each evaluation trace is a
    snapshot of its own.
    """
    sections, times = _sections(data, begin, limit)
    snapshots, runs = _passes(data, sections)
    _join_times(runs, snapshots, times)
    traces = list(_evaluations(data, begin, limit, [section.start for section in sections]))
    if not snapshots and not traces:
        start = _bare_listing(data, begin, limit)
        if start >= 0:
            end = _listing_end(data, start, limit)
            snapshots = [Snapshot(0, start, end, "migraphx", kernel="main", exact=True)]
    everything = _with_traces(snapshots, runs, traces)
    lone = [snapshot for snapshot in everything if not snapshot.title]
    for number, snapshot in enumerate(lone if len(everything) > 1 else [], 1):
        snapshot.title = f"program {number}" if len(lone) > 1 else "program"
    return everything, runs


def _passes(data: Data, sections: list[_Section]) -> tuple[list[Snapshot], list[PassRun]]:
    snapshots: list[Snapshot] = []
    runs: list[PassRun] = []
    counts: dict[str, int] = {}
    before: tuple[int, int] | None = None  # (manager, snapshot)
    for position, section in enumerate(sections):
        if _is_part(sections, position, data):
            continue
        snapshot = Snapshot(
            len(snapshots), section.start, section.end, "migraphx", pass_name=section.pass_name,
            argument=section.pass_name, when="after" if section.pass_name else "whole", kernel="main",
            title=section.pass_name or section.title, prefix=section.prefix, exact=True,
        )  # fmt: skip
        snapshots.append(snapshot)
        if section.pass_name:
            counts[section.pass_name] = counts.get(section.pass_name, 0) + 1
            known = before[1] if before is not None and before[0] == section.manager else None
            runs.append(
                PassRun(
                    len(runs), section.pass_name, section.pass_name, counts[section.pass_name], "main",
                    section.manager, known, snapshot.index, None,
                )
            )  # fmt: skip
        before = section.manager, snapshot.index
    return snapshots, runs


def _join_times(
    runs: list[PassRun], snapshots: list[Snapshot], times: list[tuple[str, float, int, int]]
) -> None:
    """Give timed passes their milliseconds; a timed pass without a dump is a run of its own, in its place."""
    if not runs:
        return
    ends = [snapshots[run.after].start if run.after is not None else 0 for run in runs]
    merged: list[PassRun] = []
    place = 0
    counts: dict[str, int] = {}
    for name, milliseconds, offset, manager in times:
        while place < len(runs) and ends[place] <= offset:
            merged.append(runs[place])
            place += 1
        owner = merged[-1] if merged else None
        if owner is not None and owner.name == name and owner.milliseconds is None:
            owner.milliseconds = milliseconds
        else:
            merged.append(
                PassRun(0, name, name, 1, "main", manager, None, None, None, milliseconds=milliseconds)
            )
    runs[:] = [*merged, *runs[place:]]
    for index, run in enumerate(runs):
        run.index = index
        run.ordinal = counts[run.name] = counts.get(run.name, 0) + 1


def _is_part(sections: list[_Section], position: int, data: Data) -> bool:
    """Whether a section only repeats part of what the next section, of the same run, shows whole."""
    section = sections[position]
    if position + 1 >= len(sections) or not section.pass_name:
        return False
    following = sections[position + 1]
    if following.pass_name != section.pass_name or following.manager != section.manager:
        return False
    if "main" not in section.modules:
        return True
    if following.modules[: len(section.modules)] != section.modules:
        return False
    own = bytes(data[section.start : section.end]).strip()
    return bytes(data[following.start : following.start + len(own)]) == own


def _headers(data: Data, begin: int, limit: int) -> Iterator[_Header]:
    place = data.find(MODULE, begin, limit)
    sweep = Sweep(data, begin)
    while place >= 0:
        sweep.at(place)
        floor = max(begin, place - 400)
        line = max(data.rfind(b"\n", floor, place) + 1, floor)
        end = data.find(b"\n", place, min(limit, place + _LONGEST_LINE))
        end = min(limit, place + _LONGEST_LINE) if end < 0 else end
        found = _NAME.match(data[place:end])
        if found and _is_prefix(data, line, place):
            yield _Header(line, place, end, found["name"].decode("utf-8", "replace"))
        place = data.find(MODULE, max(end, place + 1), limit)


def _is_prefix(data: Data, line: int, place: int) -> bool:
    """Whether nothing but a mark stands in front of a header on its line."""
    before = decode(bytes(data[line:place]))
    key = key_of(before)
    return not key.strip(" \t>\0") or mark_of(before) == key


def _sections(data: Data, begin: int, limit: int) -> tuple[list[_Section], list[tuple[str, float, int, int]]]:
    """The listings, and the timing lines as (pass, milliseconds, where, manager)."""
    sections: list[_Section] = []
    times: list[tuple[str, float, int, int]] = []
    manager = 0
    before: _Header | None = None
    for header in _headers(data, begin, limit):
        gap = _gap_in_front(data, header, before, begin, limit)
        if before is not None:
            sections[-1].end = gap.end
        manager += gap.compiles and bool(sections)
        times.extend((name, milliseconds, header.line - 1, manager) for name, milliseconds in gap.times)
        if not sections or not gap.blank or header.name in sections[-1].modules:
            # Behind a mark, a listing begins at its line, so that its mark can be taken off like all others.
            own = key_of(decode(bytes(data[header.line : header.start])))
            start = header.line if own else header.start
            title = title_in_front(data, header.line, gap.end)
            title = "" if _FACT.match(title) else title
            sections.append(_Section(gap.pass_name, manager, start, header.end, own, title))
        sections[-1].modules.append(header.name)
        before = header
    if before is not None:
        end = _listing_end(data, before.end + 1, limit)
        sections[-1].end = max(end, before.end)
        times.extend((name, ms, end, manager) for name, ms in _timesline_behind(data, end, limit))
    return sections, times


def _gap_in_front(data: Data, header: _Header, before: _Header | None, begin: int, limit: int) -> _Gap:
    """The lines between a header and the listing above it, read backwards."""
    floor = before.end if before is not None else begin
    lines: list[bytes] = []
    pos = header.line
    while pos > floor and len(lines) < _MOST_LINES:
        above = max(data.rfind(b"\n", floor, pos - 1) + 1, floor)
        line = bytes(data[above : min(pos, above + _LONGEST_LINE)]).strip()
        if before is not None and line and (_is_instruction(line) or above <= floor):
            rest = rest_of_wrapped(data, above, floor, header.line) if lines and lines[-1] else 0
            del lines[len(lines) - rest :]
            pos = line_behind(data, pos, rest)
            break
        lines.append(line)
        pos = above
    end = pos - 1
    if before is not None and len(lines) == _MOST_LINES:
        end = _listing_end(data, before.end + 1, limit)
    return _gap(max(end, floor), list(reversed(lines)))


def _gap(end: int, lines: list[bytes]) -> _Gap:
    gap = _Gap(end)
    for line in lines:
        if not line:
            continue
        gap.blank = False
        mark = mark_of(decode(line))
        found = _PASS.search(line) if mark else _PASS.match(line)
        if found and found["pass"]:
            gap.pass_name = found["pass"].decode("utf-8", "replace").strip()
        elif found and _number(found["ms"]) is not None:
            gap.times.append((found["timed"].decode(), _number(found["ms"]) or 0.0))
            gap.pass_name = ""
        elif any(words in line for words in _COMPILE):
            gap.compiles = True
    return gap


def _timesline_behind(data: Data, start: int, limit: int) -> list[tuple[str, float]]:
    """The timing lines behind the last listing."""
    lines = bytes(data[start : min(limit, start + (1 << 20))]).split(b"\n")
    return _gap(start, [line.strip() for line in lines]).times


def _number(text: bytes) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _listing_end(data: Data, pos: int, limit: int) -> int:
    """Where the instructions that begin at `pos` end: in front of the first line that is none."""
    end = pos
    last = -1
    while pos < limit:
        line_end = data.find(b"\n", pos, limit)
        line_end = limit if line_end < 0 else line_end
        line = bytes(data[pos : min(line_end, pos + _LONGEST_LINE)])
        if MODULE in line:
            break
        if line.strip() and _is_instruction(line):
            last, end = pos, line_end
        elif line.strip():
            whole = whole_end(data, last, limit) if last >= 0 and end == pos - 1 else -1
            if whole <= end:
                break
            end = line_end = whole
        pos = line_end + 1
    return min(end, limit)


def _is_instruction(line: bytes) -> bool:
    """Whether a line is an instruction, or the wrapped rest of one."""
    if line.startswith((b"#", b"!")):  # an alias of MLIR
        return False
    head, equals, rest = line.partition(b" = ")
    if line.lstrip().startswith(b"%") and b"_type" not in rest:  # an op of MLIR
        return False
    if equals and head.strip() and _OPERATION.match(rest) and _RUN not in head:
        return rest.startswith(b"@") or b"-> " in rest or _NUMBERED.search(head) is not None
    return (b"-> " in line and b"_type" in line and _RUN not in head) or line.lstrip().startswith(b"@return")


def _evaluations(data: Data, begin: int, limit: int, listings: list[int]) -> Iterator[Snapshot]:
    """Evaluation traces: listings with times and values between their lines, one for each time it ran."""
    first = data.find(_RUN, begin, limit)
    if first < 0:
        return
    equals = data.find(b" = ", first, first + _LONGEST_LINE)
    needle = bytes(data[first:equals]) + b" = " if equals >= 0 else _RUN
    starts = []
    place = first
    while place >= 0:
        floor = max(begin, place - 400)
        line = max(data.rfind(b"\n", floor, place) + 1, floor)
        starts.append(line if _is_prefix(data, line, place) else place)
        place = data.find(needle, place + len(needle), limit) if needle != _RUN else -1
    for number, start in enumerate(starts):
        bounds = [*(other for other in listings if other > start), *starts[number + 1 : number + 2], limit]
        stop = min(bounds)
        last = data.rfind(_RUN, start, stop)
        end = _trace_end(data, last, stop)
        prefix = key_of(decode(bytes(data[start : data.find(_RUN, start, stop)])))
        title = f"evaluation {number + 1}" if len(starts) > 1 else "evaluation"
        yield Snapshot(0, start, end, "migraphx", kernel="main", title=title, prefix=prefix, exact=True)


def _trace_end(data: Data, pos: int, limit: int) -> int:
    """Where an evaluation trace ends whose last instruction begins at `pos`."""
    end = whole_end(data, pos, limit)
    pos = end + 1
    while pos < limit:
        line_end = data.find(b"\n", pos, limit)
        line_end = limit if line_end < 0 else line_end
        line = bytes(data[pos : min(line_end, pos + _LONGEST_LINE)])
        mark = mark_of(decode(line)) if line.strip() else ""
        if line.strip() and not (_TRACE_LINE.match(line) or (mark and _TRACE_LINE.search(line))):
            break
        end = line_end if line.strip() else end
        pos = line_end + 1
    return min(end, limit)


def _with_traces(snapshots: list[Snapshot], runs: list[PassRun], traces: list[Snapshot]) -> list[Snapshot]:
    """One list of listings and evaluation traces in the order of the text."""
    if traces:
        moved = {}
        ordered = sorted([*snapshots, *traces], key=lambda found: found.start)
        own = {id(snapshot): snapshot.index for snapshot in snapshots}
        for place, snapshot in enumerate(ordered):
            if id(snapshot) in own:
                moved[own[id(snapshot)]] = place
            snapshot.index = place
        for run in runs:
            run.before = None if run.before is None else moved[run.before]
            run.after = None if run.after is None else moved[run.after]
        return ordered
    return snapshots
