"""`passlens capture -- python kernel.py`: run a script and keep what its compilers print of their passes."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

from ...ir.errors import InputError
from ..files import put_in_place

HELP = "run a command and keep the passes that its compilers print"

# What makes each compiler print its passes; none needs a change of the script.
ENVIRONMENT = {
    "MLIR_ENABLE_DUMP": "1",
    "TRITON_ALWAYS_COMPILE": "1",  # a kernel found in Triton's cache prints nothing
    "MIGRAPHX_TRACE_COMPILE": "1",
    "MIGRAPHX_TIME_PASSES": "1",
}
LAYOUT_DEBUG = {
    "TRITON_ENABLE_LLVM_DEBUG": "",
    "TRITON_LLVM_DEBUG_ONLY": "tritongpu-remove-layout-conversions",
}
_BANNER = b"IR Dump "
_MODULE_PASS = b"Pass: "


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "-o", "--output", default="trace.log", metavar="FILE", help="where the log goes (trace.log)"
    )
    parser.add_argument(
        "--layout-debug",
        action="store_true",
        help="add the decisions of Triton's layout pass (wheels print them)",
    )
    parser.add_argument(
        "--kernel", metavar="NAME", help="only modules that hold this function (Triton 3.2 and later)"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, help="the command, behind --")


def run(args: argparse.Namespace) -> int:
    """Run the command; its exit status is ours. What it printed on standard error is in the log."""
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not command:
        raise InputError(
            "nothing to run: put the command behind --, as in `passlens capture -- python kernel.py`"
        )
    environment = {**os.environ, **ENVIRONMENT, **(LAYOUT_DEBUG if args.layout_debug else {})}
    if args.kernel:
        environment["MLIR_ENABLE_DUMP"] = args.kernel
    path = Path(args.output)
    if not path.parent.is_dir():
        raise InputError(f"{path.parent} is no folder to write {path.name} into")
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        status, dumps = _record(command, environment, file)
    put_in_place(file.name, args.output)
    print(f"passlens: {dumps} dumps in {path}; open them with `passlens {path}`", file=sys.stderr)
    return status


def _record(command: list[str], environment: dict[str, str], log: IO[bytes]) -> tuple[int, int]:
    """Copy the child's standard error to the log as it comes, with a count of the dumps so far."""
    try:
        child = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)
    except OSError as error:
        os.unlink(log.name)
        raise InputError(f"{command[0]} cannot be run: {error.strerror or error}") from error
    assert child.stderr is not None
    dumps = 0
    try:
        for line in child.stderr:
            log.write(line)
            if _BANNER in line or line.startswith(_MODULE_PASS):
                dumps += 1
                _count(dumps)
            elif not dumps:
                sys.stderr.buffer.write(line)  # what a script says before it compiles anything
    except KeyboardInterrupt:
        child.send_signal(signal.SIGINT)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return _status(child.wait()), dumps


def _count(dumps: int) -> None:
    if sys.stderr.isatty() and dumps % 10 == 1:
        print(f"\rpasslens: {dumps} dumps", end="", file=sys.stderr)


def _status(code: int) -> int:
    """A shell's exit status: a child that a signal ended has 128 and the signal."""
    return code if code >= 0 else 128 - code
