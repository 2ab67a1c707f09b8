"""`passlens lint`: findings that a CI job can trust.

Exit code 0: nothing at or above `--fail-on`; 1: findings; 2: bad input (options, configuration, paths); 3: an
internal error of passlens on some file (reported as PS399; the other files are done).
"""

from __future__ import annotations

import argparse

from ...ir.lint.finding import SEVERITIES

HELP = "findings about memory, streams, layouts and the IR itself, for people and for CI"
_FORMATS = ("text", "json", "sarif", "junit", "github")


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    option = parser.add_argument
    option("paths", nargs="*", metavar="PATH", help="files, folders, patterns; - for standard input")
    option("--format", choices=_FORMATS, default="text")
    option("-o", "--output", metavar="FILE", help="write there instead of to standard output")
    option("--select", action="append", default=[], metavar="RULES", help="only these: PS1,PS201,…")
    option("--ignore", action="append", default=[], metavar="RULES", help="not these")
    option("--severity", choices=SEVERITIES, default="note", help="report from this severity on")
    option("--fail-on", choices=(*SEVERITIES, "never"), help="exit 1 from this severity on (warning)")
    option("--config", metavar="FILE", help="instead of passlens.toml or pyproject.toml in this folder")
    option("--baseline", metavar="FILE", help="findings that it knows stay quiet")
    option("--write-baseline", metavar="FILE", help="write what is found as a baseline, and exit 0")
    option(
        "--budget",
        action="append",
        default=[],
        metavar="BOUND",
        help="such as 'converts <= 12'; may be repeated",
    )
    option("--golden", metavar="FILE", help="numbers of an earlier run: worse fails, better is reported")
    option("--write-golden", metavar="FILE", help="write the numbers of this run")
    option("--memory-limit", type=int, metavar="BYTES", help="of GPU memory (PS117)")
    option("--workers", type=int, metavar="N", help="processes (as many as there are cores)")
    option("--shard", metavar="I/N", help="only every N-th file, from the I-th on")
    option("--scheduler", metavar="ADDRESS", help="a Dask scheduler: tcp://…")
    option("--rules", action="store_true", help="list the rules and exit")


def run(args: argparse.Namespace) -> int:
    """Lint and report; see the module for exit codes."""
    from ..lint_run import run_lint  # the rules: --help and bad options need none of them

    return run_lint(args)
