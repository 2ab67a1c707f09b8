"""`passlens show`: print the IR of a snapshot, highlighted on a terminal, plain in a pipe."""

from __future__ import annotations

import argparse
import re
import sys

from ...ir.errors import InputError
from ...ir.program import Op, Program, symbol, walk
from ...ir.trace import Trace, open_trace
from ..select import find_snapshot

HELP = "print the IR of a snapshot"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", help="a dump, log, model or folder; - for standard input")
    parser.add_argument(
        "--pass",
        dest="which",
        metavar="N|NAME[#K]",
        help="a snapshot by number, or what the K-th run of a pass got (NAME#K+: what came out of it)",
    )
    parser.add_argument("--op", metavar="REGEX", help="only ops whose name matches, each with its place")
    parser.add_argument("--func", metavar="NAME", help="only this function (or MIGraphX module)")
    parser.add_argument("--no-loc", action="store_true", help="leave out loc(…) of MLIR")


def run(args: argparse.Namespace) -> int:
    """Print the text; raises InputError for what cannot be found."""
    trace = open_trace(args.file)
    snapshot = find_snapshot(trace, args.which)
    if args.op or args.func:
        program = trace.program(snapshot)
        text = (
            _matching(trace, program, snapshot.index, args) if args.op else function_text(program, args.func)
        )
    else:
        text = trace.text(snapshot)
    if args.no_loc and snapshot.format == "mlir":
        text = without_locations(text)
    text = text.strip("\n") + "\n"
    if sys.stdout.isatty():
        from ..report.terminal import print_ir

        print_ir(text, snapshot.format)
    else:
        sys.stdout.write(text.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
    return 0


def _matching(trace: Trace, program: Program, index: int, args: argparse.Namespace) -> str:
    try:
        pattern = re.compile(args.op)
    except re.error as error:
        raise InputError(f"--op {args.op!r} is no regular expression: {error}") from error
    inside = {id(op) for op in walk(_function(program, args.func))} if args.func else None
    lines = []
    for op in walk(program):
        if op.name and pattern.search(op.name) and not op.implicit and (inside is None or id(op) in inside):
            line, _ = trace.place(index, op.start)
            first = op.text.partition("\n")[0]
            lines.append(f"{line}: {first}")
    if not lines:
        raise InputError(f"no op of snapshot {index} has a name that matches {args.op!r}")
    return "\n".join(lines)


def function_text(program: Program, name: str) -> str:
    """The text of one function (or MIGraphX module); raises InputError where there is none of that name."""
    return _function(program, name).text


def _function(program: Program, name: str) -> Op:
    named = [op for op in walk(program) if op.regions and symbol(op)]
    for op in named:
        if symbol(op) == name.lstrip("@"):
            return op
    known = ", ".join(symbol(op) for op in named[:20]) or "none"
    raise InputError(f"there is no function {name!r} here; the functions are: {known}")


_LOCATION = re.compile(r" loc\(")


def without_locations(text: str) -> str:
    """MLIR text without its ` loc(…)` and its `#loc = …` lines."""
    from ...ir.formats.mlir_text import balanced_end

    text = re.sub(r"(?m)^#loc\d* = .*\n?", "", text)
    parts: list[str] = []
    pos = 0
    for found in _LOCATION.finditer(text):
        if found.start() < pos:
            continue
        parts.append(text[pos : found.start()])
        pos = balanced_end(text, found.end() - 1)
    parts.append(text[pos:])
    return "".join(parts)
