"""`passlens ledger`: every layout conversion of a compile, from its birth to its death."""

from __future__ import annotations

import argparse
import json
import sys

from ...ir.errors import InputError
from ...ir.passes.layout.ledger import Ledger, ledger, to_json
from ...ir.trace import open_trace
from ..report.ledger_text import ledger_text

HELP = "every layout conversion of a compile, from its birth to its death"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", help="a pass log (Triton's MLIR_ENABLE_DUMP=1); - for standard input")
    parser.add_argument("--kernel", metavar="NAME", help="only this kernel")
    parser.add_argument("--converts", action="store_true", help="list every convert with its life")
    parser.add_argument("--json", action="store_true", help="everything as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the ledger; raises InputError where the input has no passes or not that kernel."""
    trace = open_trace(args.file)
    if not trace.runs:
        raise InputError(f"{trace.name} holds no passes: the ledger wants a pass log")
    if args.kernel and args.kernel not in trace.kernels:
        known = ", ".join(trace.kernels) or "none"
        raise InputError(f"there is no kernel {args.kernel!r} here; the kernels are: {known}")
    book: Ledger = ledger(trace, args.kernel)
    if args.json:
        json.dump(to_json(book), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        sys.stdout.write(ledger_text(book, everything=args.converts))
    return 0
