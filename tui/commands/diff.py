"""`passlens diff A B`: what really changed between two programs, two compiles or two folders.

A and B are files (`-` for standard input), `FILE@PASS`, or two folders whose files are paired by name.
PASS is a snapshot's number (`12`), `last`, or a pass (`NAME` or `NAME#K`): what the K-th run of the pass
got; with `+` behind it (`NAME#K+`) what it gave. One `FILE@PASS` by itself compares what the pass got with
what it gave. Two pass logs without `@` are compared pass by pass.

Names of values and aliases, and locations, are no difference unless asked for. Exit code 0: the same;
1: different; 2: an error. The data of `--json` are described in `ir/diff/json.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final, get_args

from ...ir.diff.compare import compare
from ...ir.diff.json import SCHEMA_VERSION, diff_data, trace_diff_data
from ...ir.diff.options import Options
from ...ir.diff.result import Diff, PartKind, Status
from ...ir.diff.traces import TraceDiff, compare_traces
from ...ir.errors import InputError
from ...ir.trace import Trace, open_trace
from ..report.diff_text import count_text, diff_text, divergence_rows, trace_diff_text
from ..safe import visible
from ..select import find_snapshot

HELP = "what really changed between two programs, two compiles or two folders"

_KINDS: Final = (*get_args(PartKind), *get_args(Status))


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "a", metavar="A", help="a file, FILE@PASS (NAME#K, NAME#K+, number, last), folder or -"
    )
    parser.add_argument(
        "b",
        metavar="B",
        nargs="?",
        help="what to compare with; left out: what came out of the pass that A names",
    )
    parser.add_argument("--format", choices=("text", "json", "html"), default="text", help="how to print")
    parser.add_argument("--json", action="store_const", const="json", dest="format", help="as --format json")
    parser.add_argument("--stat", action="store_true", help="only count, by op")
    parser.add_argument(
        "--first-divergence", action="store_true", help="only name the pass where two logs first part"
    )
    parser.add_argument(
        "--only", metavar="KIND,…", default="", help=f"report only these: {', '.join(_KINDS)}"
    )
    parser.add_argument(
        "--ignore", metavar="WHAT,…", default="", help="leave out loc, or attr:NAME for an attribute"
    )
    parser.add_argument("--names", action="store_true", help="other value names are a difference")
    parser.add_argument("--locs", action="store_true", help="other locations are a difference")
    parser.add_argument("--tui", action="store_true", help="show two programs side by side in the app")
    parser.add_argument(
        "-U", "--context", type=int, default=1, metavar="N", help="unchanged ops around a change (default 1)"
    )


def run(args: argparse.Namespace) -> int:
    """Compare and print; returns 0 for the same and 1 for different, and raises InputError."""
    options = _options(args)
    result = _compare(args, options)
    if args.tui:
        return _in_app(result)
    text = _printed(result, args)
    sys.stdout.write(text)
    for line in result.errors:
        print(f"passlens: {line}", file=sys.stderr)
    return 2 if result.errors else 0 if result.same else 1


def _in_app(result: _Result) -> int:
    """Show the Diff screen until it is closed."""
    if result.programs is None:
        raise InputError("--tui shows two programs: expected two files, or FILE@PASS for each log")
    if not sys.stdout.isatty() or not sys.stderr.isatty():
        raise InputError("--tui draws on a terminal, and there is none: leave it out for text")
    from ..app import PasslensApp
    from ..screens.diff import DiffScreen

    PasslensApp(first=DiffScreen(result.programs, result.names)).run()
    return 0 if result.same else 1


@dataclass(slots=True)
class _Result:
    """What was compared: two programs, two traces, or the pairs of two folders."""

    names: tuple[str, str]
    programs: Diff | None = None
    traces: TraceDiff | None = None
    files: list[_Result] = field(default_factory=list)
    only_a: list[str] = field(default_factory=list)
    only_b: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    first_lines: tuple[int, int] = (1, 1)
    """The lines of the files on which two programs begin."""

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        if self.programs is not None:
            return self.programs.same
        if self.traces is not None:
            return self.traces.same
        return not (self.only_a or self.only_b) and all(entry.same for entry in self.files)


def _options(args: argparse.Namespace) -> Options:
    attributes: set[str] = set()
    locations: bool = args.locs
    for what in filter(None, args.ignore.split(",")):
        if what == "loc":
            locations = False
        elif what.startswith("attr:") and len(what) > 5:
            attributes.add(what[5:])
        else:
            raise InputError(f"--ignore {what!r}: expected loc or attr:NAME")
    only = frozenset(filter(None, args.only.split(",")))
    unknown = sorted(only - set(_KINDS))
    if unknown:
        raise InputError(f"--only {unknown[0]!r}: expected one of {', '.join(_KINDS)}")
    if args.context < 0:
        raise InputError(f"--context {args.context}: expected 0 or more")
    return Options(args.names, locations, frozenset(attributes), only)


def _compare(args: argparse.Namespace, options: Options) -> _Result:
    if args.b is None:
        return _across_pass(args.a, options)
    if args.a == "-" and args.b == "-":
        raise InputError("standard input can be only one of the two")
    if os.path.isdir(args.a) and os.path.isdir(args.b):
        if args.first_divergence:
            return _traces(args.a, args.b, options)
        return _folders(args.a, args.b, options)
    if args.first_divergence:
        return _traces(args.a, args.b, options)
    return _pair(args.a, args.b, options)


def _pair(a: str, b: str, options: Options) -> _Result:
    (path_a, which_a), (path_b, which_b) = _split(a), _split(b)
    trace_a = open_trace(path_a)
    trace_b = trace_a if path_a == path_b else open_trace(path_b)
    if which_a is None and which_b is None and _is_log(trace_a) and _is_log(trace_b):
        return _Result((a, b), traces=compare_traces(trace_a, trace_b, options))
    return _programs((a, b), (trace_a, which_a), (trace_b, which_b), options)


def _is_log(trace: Trace) -> bool:
    """Whether a trace is a compile to follow, and not one dump with a pass's banner on it."""
    return bool(trace.runs) and len(trace.snapshots) > 1


def _programs(
    names: tuple[str, str], a: tuple[Trace, str | None], b: tuple[Trace, str | None], options: Options
) -> _Result:
    left, right = find_snapshot(*a), find_snapshot(*b)
    if left.format != right.format:
        raise InputError(
            f"{names[0]} is {left.format} and {names[1]} is {right.format}: "
            "expected two programs of one format"
        )
    lines = (a[0].place(left, 0)[0], b[0].place(right, 0)[0])
    diff = compare(a[0].program(left), b[0].program(right), options)
    return _Result(names, programs=diff, first_lines=lines)


def _across_pass(a: str, options: Options) -> _Result:
    path, which = _split(a)
    if which is None or which.isdecimal() or which == "last" or which.endswith("+"):
        raise InputError(f"{a} by itself: expected FILE@NAME or FILE@NAME#K, a pass to compare across")
    trace = open_trace(path)
    return _programs((a, f"{a}+"), (trace, which), (trace, f"{which}+"), options)


def _traces(a: str, b: str, options: Options) -> _Result:
    traces = [open_trace(path) for path in (a, b)]
    for trace, name in zip(traces, (a, b), strict=True):
        if not trace.runs:
            raise InputError(f"{name} holds no pass log: --first-divergence wants two logs of passes")
    return _Result((a, b), traces=compare_traces(traces[0], traces[1], options))


def _split(text: str) -> tuple[str, str | None]:
    """`FILE@PASS` → (FILE, PASS); a file may have an `@` in its name."""
    if text == "-" or os.path.exists(text) or "@" not in text:
        return text, None
    path, _, which = text.rpartition("@")
    return path, which


def _folders(a: str, b: str, options: Options) -> _Result:
    left, right = _files_under(a), _files_under(b)
    result = _Result((a, b))
    result.only_a = sorted(set(left) - set(right))
    result.only_b = sorted(set(right) - set(left))
    for name in sorted(set(left) & set(right)):
        paths = os.path.join(a, name), os.path.join(b, name)
        if _same_bytes(*paths):
            result.files.append(_Result((name, name), traces=TraceDiff([], [], [], [])))
            continue
        try:
            entry = _pair(paths[0], paths[1], options)
        except InputError as error:
            result.errors.append(f"{name}: {error}")
            continue
        entry.names = (name, name)
        result.files.append(entry)
    return result


def _files_under(folder: str) -> list[str]:
    found: list[str] = []
    for where, folders, files in os.walk(folder):
        folders.sort()
        found.extend(os.path.relpath(os.path.join(where, name), folder) for name in sorted(files))
    return found


def _same_bytes(a: str, b: str) -> bool:
    if os.path.getsize(a) != os.path.getsize(b):
        return False
    with open(a, "rb") as left, open(b, "rb") as right:
        while True:
            chunk = left.read(1 << 20)
            if chunk != right.read(1 << 20):
                return False
            if not chunk:
                return True


# -- printing ------------------------------------------------------------------------------------------


def _printed(result: _Result, args: argparse.Namespace) -> str:
    if args.format == "json":
        return json.dumps(_data(result), indent=2, ensure_ascii=True) + "\n"
    if args.format == "html":
        return _html(result, args.context)
    if args.first_divergence and result.traces is not None:
        rows = divergence_rows(result.traces)
        return "".join(f"{row}\n" for row in rows)
    if args.stat:
        return _stat(result)
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return _text(result, args.context, colour)


def _text(result: _Result, context: int, colour: bool) -> str:
    if result.programs is not None:
        return diff_text(result.programs, result.names, context=context, colour=colour)
    if result.traces is not None:
        return trace_diff_text(result.traces, result.names, colour=colour)
    parts = [_text(entry, context, colour) for entry in result.files if not entry.same]
    parts.extend(f"only in {visible(result.names[0])}: {visible(name)}\n" for name in result.only_a)
    parts.extend(f"only in {visible(result.names[1])}: {visible(name)}\n" for name in result.only_b)
    return "".join(parts)


def _stat(result: _Result) -> str:
    names = " → ".join(dict.fromkeys(visible(name) for name in result.names))
    if result.programs is not None:
        rows = [f"{names}: {count_text(result.programs.counts(), len(result.programs.b.ops))}"]
        rows.extend(_stat_rows(result.programs))
    elif result.traces is not None:
        changed = sum(pair.verdict not in ("same", "unknown") for pair in result.traces.pairs)
        rows = [f"{names}: {changed} of {len(result.traces.pairs)} passes gave another program"]
        rows.extend(f"  {row}" for row in divergence_rows(result.traces))
        if result.same:
            rows = [f"{names}: same"]
    else:
        rows = [_stat(entry).rstrip("\n") for entry in result.files]
        rows.extend(f"only in {visible(result.names[0])}: {visible(name)}" for name in result.only_a)
        rows.extend(f"only in {visible(result.names[1])}: {visible(name)}" for name in result.only_b)
        differing = sum(not entry.same for entry in result.files)
        rows.append(f"{differing} of {len(result.files)} files differ")
    return "\n".join(rows) + "\n"


def _stat_rows(diff: Diff) -> list[str]:
    """For each op name how many were changed (in what), added, removed and moved."""
    counts: dict[str, Counter[str]] = {}
    parts: dict[str, Counter[str]] = {}
    for change in diff.changes:
        counts.setdefault(change.op.name, Counter())[change.status] += 1
        parts.setdefault(change.op.name, Counter()).update({part.kind for part in change.parts})
    rows = []
    for name in sorted(counts, key=lambda n: (-sum(counts[n].values()), n)):
        what = ", ".join(f"{kind} {n}" for kind, n in sorted(parts[name].items()))
        rows.append(
            f"  {visible(name) or '(text)'}: {count_text(counts[name])}{f' ({what})' if what else ''}"
        )
    return rows


def _html(result: _Result, context: int) -> str:
    from ..report.diff_html import diff_html, folder_html, trace_diff_html

    if result.programs is not None:
        return diff_html(result.programs, result.names, context=context)
    if result.traces is not None:
        return trace_diff_html(result.traces, result.names)
    entries = [(entry.names[0], entry.programs, entry.traces) for entry in result.files]
    return folder_html(result.names, entries, (result.only_a, result.only_b), result.errors, context=context)


def _data(result: _Result) -> dict[str, Any]:
    if result.programs is not None:
        return diff_data(result.programs, *result.names, result.first_lines)
    if result.traces is not None:
        return trace_diff_data(result.traces, *result.names)
    return {
        "schema": SCHEMA_VERSION,
        "kind": "folders",
        "a": result.names[0],
        "b": result.names[1],
        "same": result.same and not result.errors,
        "files": [{"name": entry.names[0], "diff": _data(entry)} for entry in result.files],
        "only_in_a": result.only_a,
        "only_in_b": result.only_b,
        "errors": result.errors,
    }
