"""`passlens explain`: why the layout pass fails on a program, or what it would have cost.

Exit code 0: nothing is missing and nothing fails; 1: something is or does; 2: an error.
"""

from __future__ import annotations

import argparse
import dataclasses
import json

from ...ir.passes.layout.explain import explain, render
from ...ir.passes.layout.rules import PASS_NAME
from ...ir.trace import open_trace
from ..safe import visible
from .step import first_line_of, header_of, layout_snapshot, readable_program, rules_of

HELP = "why a mapping is missing in the layout pass, in sentences"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", help="a dump, a log or a .ttgir; - for standard input")
    parser.add_argument(
        "--pass", dest="which", default=PASS_NAME, metavar="NAME[@RULES]", help="the rule set, as for `step`"
    )
    parser.add_argument("--run", type=int, metavar="K", help="what the K-th run of the pass in the log got")
    parser.add_argument("--short", action="store_true", help="leave out how each candidate came there")
    parser.add_argument("--json", action="store_true", help="print the same as JSON")


def run(args: argparse.Namespace) -> int:
    """Explain and print; raises InputError for input that the pass could not run on."""
    trace = open_trace(args.file)
    snapshot = layout_snapshot(trace, args.run)
    text = trace.text(snapshot)
    rules = rules_of(args.which, text, header_of(trace, snapshot))
    readable_program(text, args.file)
    report = explain(text, rules, args.file, first_line_of(trace, snapshot))
    if args.json:
        data = {
            "rules": report.rules.name,
            "faults": [dataclasses.asdict(fault) for fault in report.faults],
            "latent": report.latent,
            "other_rules": report.others,
        }
        print(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        print("\n".join(visible(line) for line in render(report, full=not args.short).split("\n")))
    return 1 if report.faults else 0
