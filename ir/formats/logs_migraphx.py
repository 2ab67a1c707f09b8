"""MIGraphX driver and compile logs: listings of programs, passes and their times."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ..snapshot import PassRun, Snapshot
from .logs_text import Data

MODULE: Final = b'module: "'
_HEADER: Final = re.compile(
    rb'(?m)^(?P<prefix>[^\n"]*?)(?:(?P<module>module: "(?P<name>[^"\n]*)")'
    rb"|Pass: (?P<pass>[^\n]+?)|Module: (?P<of>[^,\n]+), Pass: (?P<old>[^\n]+?)"
    rb"|(?P<timed>[A-Za-z_][\w:.\-]*): (?P<ms>[\d.]+)ms)[ \t\r]*$"
)
_RUN: Final = re.compile(rb"(?m)^[^\n]*?Run instruction: ")
_OPERATION: Final = re.compile(rb"[@A-Za-z_][\w:.]*")
_TRACE_LINE: Final = re.compile(
    rb"\s*(?:Run instruction: |Time: |Output has |Ou?t?put: |Ouput: |Min value: |Max value: |Mean: )"
)


@dataclass(slots=True)
class _Section:
    """A listing of one or more modules under one pass header."""

    pass_name: str
    modules: list[str]
    start: int
    end: int


def looks_like(data: Data) -> bool:
    """Whether the input holds MIGraphX listings."""
    return data.find(MODULE) >= 0 or data.find(b"Run instruction: ") >= 0 or _bare_listing(data) >= 0


def _bare_listing(data: Data) -> int:
    head = bytes(data[:65536])
    found = re.search(rb"(?m)^(?:\w[\w:]*:)?@\d+ = (?:@literal|@param|[\w:]+)[^\n]* -> \w+_type, \{", head)
    return found.start() if found else -1


def cut(data: Data) -> tuple[list[Snapshot], list[PassRun]]:
    """The whole programs of a log as snapshots, and its passes.

    A compile trace prints every sub-module under a pass, then the whole program: these sections are one
    run, whose snapshot is the whole program. Times of passes are in milliseconds.
    """
    evaluation = _evaluation(data)
    if evaluation:
        return evaluation, []
    sections, times = _sections(data)
    if not sections:
        start = _bare_listing(data)
        sections = [_Section("", ["main"], start, _listing_end(data, start))] if start >= 0 else []
    snapshots: list[Snapshot] = []
    runs: list[PassRun] = []
    counts: dict[str, int] = {}
    for position, section in enumerate(sections):
        if _is_part(sections, position, data):
            continue
        snapshot = Snapshot(
            len(snapshots), section.start, section.end, "migraphx", pass_name=section.pass_name,
            when="after" if section.pass_name else "whole", kernel="main", title=section.pass_name,
        )  # fmt: skip
        snapshots.append(snapshot)
        if not section.pass_name:
            continue
        counts[section.pass_name] = counts.get(section.pass_name, 0) + 1
        before = snapshots[-2].index if len(snapshots) > 1 else None
        runs.append(
            PassRun(
                len(runs), section.pass_name, section.pass_name, counts[section.pass_name], "main", 0,
                before=before, after=snapshot.index, changed=None,
            )
        )  # fmt: skip
    _join_times(runs, snapshots, times, counts)
    return snapshots, runs


def _join_times(
    runs: list[PassRun],
    snapshots: list[Snapshot],
    times: list[tuple[str, float, int]],
    counts: dict[str, int],
) -> None:
    """Give timed passes their milliseconds; a timed pass without a dump is a run of its own, in its place."""
    waiting = {(run.name, run.ordinal): run for run in runs}
    seen: dict[str, int] = {}
    for name, milliseconds, place in times:
        seen[name] = seen.get(name, 0) + 1
        run = waiting.get((name, seen[name]))
        if run is not None:
            run.milliseconds = milliseconds
        elif runs and name not in counts:
            extra = PassRun(0, name, name, seen[name], "main", 0, None, None, None, milliseconds=milliseconds)
            behind = (
                i for i, r in enumerate(runs) if r.after is not None and snapshots[r.after].start > place
            )
            runs.insert(next(behind, len(runs)), extra)
    for index, run in enumerate(runs):
        run.index = index


def _is_part(sections: list[_Section], position: int, data: Data) -> bool:
    """Whether a section only repeats part of what a later section of the same run shows whole."""
    section = sections[position]
    if position + 1 >= len(sections):
        return False
    following = sections[position + 1]
    if not section.pass_name or following.pass_name != section.pass_name:
        return False
    if "main" not in section.modules:
        return True
    own = bytes(data[section.start : section.end]).strip()
    return bytes(data[following.start : following.end]).strip().startswith(own)


def _sections(data: Data) -> tuple[list[_Section], list[tuple[str, float, int]]]:
    sections: list[_Section] = []
    times: list[tuple[str, float, int]] = []
    pass_name = ""
    fresh = True  # a new section begins at the next module header
    end = 0
    for found in _HEADER.finditer(data):
        if found["timed"]:
            if _number(found["ms"]) is not None and found.start() >= end:
                times.append((found["timed"].decode(), _number(found["ms"]) or 0.0, found.start()))
                pass_name, fresh = "", True
        elif found["pass"] or found["old"]:
            pass_name = (found["pass"] or found["old"]).decode("utf-8", "replace").strip()
            fresh = True
        elif found["module"]:
            name = found["name"].decode("utf-8", "replace")
            again = bool(sections) and name in sections[-1].modules
            gap = bool(sections) and bytes(data[end : found.start()]).strip() != b""
            if fresh or again or gap:
                own = pass_name if fresh else ""
                start = found.start() + (len(found["prefix"]) if found["prefix"].strip() else 0)
                sections.append(_Section(own, [], start, found.end()))
            sections[-1].modules.append(name)
            end = _listing_end(data, found.end() + 1)
            sections[-1].end = end
            fresh = False
    return sections, times


def _number(text: bytes) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _listing_end(data: Data, pos: int) -> int:
    """Where the instructions that begin at `pos` end: in front of the first line that is none."""
    size = len(data)
    end = pos
    while pos < size:
        line_end = data.find(b"\n", pos)
        line_end = size if line_end < 0 else line_end
        line = bytes(data[pos : min(line_end, pos + 4096)])
        if line.strip():
            if MODULE in line or not _is_instruction(line):
                break
            end = line_end
        pos = line_end + 1
    return min(end, size)


def _is_instruction(line: bytes) -> bool:
    """Whether a line is an instruction, or the wrapped rest of one."""
    head, equals, rest = line.partition(b" = ")
    if equals and head.strip() and _OPERATION.match(rest) and not line.startswith(b"Run instruction"):
        return True
    return (b"-> " in line and b"_type" in line) or line.lstrip().startswith(b"@return")


def _evaluation(data: Data) -> list[Snapshot]:
    """The stretch of a `Run instruction:` trace, which is a listing with times between its lines."""
    if data.find(b"Run instruction: ") < 0:
        return []
    first = _RUN.search(data)
    if first is None:
        return []
    pos = end = first.start()
    while pos < len(data):
        line_end = data.find(b"\n", pos)
        line_end = len(data) if line_end < 0 else line_end
        line = bytes(data[pos : min(line_end, pos + 4096)])
        if line.strip() and not _TRACE_LINE.match(line):
            break
        end = line_end
        pos = line_end + 1
    return [Snapshot(0, first.start(), min(end, len(data)), "migraphx", kernel="main", title="evaluation")]
