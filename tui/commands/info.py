"""`passlens info`: what is in a file, as text for people or as JSON for scripts."""

from __future__ import annotations

import argparse
import json
import sys

from ...ir.analysis.overview import overview
from ...ir.trace import open_trace
from ..report.overview_text import overview_text
from ..select import find_snapshot

HELP = "what is in a file: snapshots, passes, memory, copies, converts"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", help="a dump, log, model or folder; - for standard input")
    parser.add_argument("--json", action="store_true", help="everything as JSON (docs/info-schema.json)")
    parser.add_argument(
        "--pass", dest="which", metavar="N|NAME[#K]", help="the snapshot that the numbers are about"
    )


def run(args: argparse.Namespace) -> int:
    """Print the overview of a file."""
    trace = open_trace(args.file)
    chosen = find_snapshot(trace, args.which) if args.which else None
    said = overview(trace, chosen)
    if args.json:
        json.dump(said, sys.stdout, indent=2, ensure_ascii=True)
        sys.stdout.write("\n")
    else:
        sys.stdout.write(overview_text(said))
    return 0
