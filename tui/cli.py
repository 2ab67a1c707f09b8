"""The command line: `passlens FILE`, or `passlens COMMAND …`.

A command is a module of `tui/commands/` with `HELP` (a line), `add(parser)` and `run(args) -> int`; it is
imported only when it is asked for, so that one command's start-up does not pay for another's imports.
"""

from __future__ import annotations

import argparse
import codecs
import errno
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from ..ir.errors import InputError

# name → what it does; kept here so that --help imports no command
COMMANDS: dict[str, str] = {
    "info": "what is in a file: snapshots, passes, memory, copies, converts",
    "show": "print the IR of a snapshot",
    "diff": "what really changed between two programs or two traces",
    "layout": "decode an encoding: which thread holds which element",
    "step": "run a pass step by step: Triton's layout pass, or MIGraphX's scheduling and colouring",
    "explain": "why a mapping is missing in the layout pass, in sentences",
    "ledger": "every layout conversion of a compile, from its birth to its death",
    "replay": "the layout pass as the compiler told it, step by step",
    "lint": "findings about memory, streams, layouts and the IR itself, for people and for CI",
    "plan": "which weights stay on the GPU, when the others are copied, and what that gives",
    "run": "execute a program on a device (reference, simulate, cuda:0), measure it, check its results",
    "devices": "which devices were found, and which profiles there are for plans",
    "calibrate": "measure the GPU at hand and write a device profile for plans",
    "capture": "run a command and keep the passes that its compilers print",
}

_PLAIN = {
    "µ": "u", "…": "...", "·": ".", "→": "->", "←": "<-", "×": "x", "–": "-", "≥": ">=", "≤": "<=",
}  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code (0 done, 1 findings, 2 bad input)."""
    args = list(sys.argv[1:] if argv is None else argv)
    _spell_plainly()
    try:
        return _dispatch_and_flush(args)
    except InputError as error:
        print(f"passlens: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader (`head`, a pager) has gone; keep Python from complaining again when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        return 130
    except OSError as fault:
        if fault.filename is None and fault.errno in (errno.ENOSPC, errno.EIO, errno.EDQUOT):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        named = f"{fault.filename}: " if fault.filename else "standard output or input: "
        print(f"passlens: {named}{fault.strerror or fault}", file=sys.stderr)
        return 2


def _spell_plainly() -> None:
    """Let characters that the terminal's encoding lacks come out in other letters, not as an error."""
    codecs.register_error("passlens-plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="passlens-plain")


def _plain(fault: UnicodeError) -> tuple[str, int]:
    """The error handler of `_spell_plainly`: it gets the text and where it cannot go on."""
    assert isinstance(fault, UnicodeEncodeError)
    wrong = fault.object[fault.start : fault.end]
    return "".join(
        _PLAIN.get(each) or each.encode("ascii", "backslashreplace").decode() for each in wrong
    ), fault.end


def _dispatch_and_flush(args: list[str]) -> int:
    code = _dispatch(args)
    sys.stdout.flush()  # here, where a full disk or a closed pipe can still be told
    return code


def _dispatch(args: list[str]) -> int:
    if args and args[0] in COMMANDS:
        module = import_module(f".commands.{args[0]}", __package__)
        parser = argparse.ArgumentParser(prog=f"passlens {args[0]}", description=module.HELP)
        module.add(parser)
        return int(module.run(parser.parse_args(args[1:])))
    options = _top_parser().parse_args(args)
    module = import_module(".commands.open", __package__)
    return int(module.run(options))


def _top_parser() -> argparse.ArgumentParser:
    listing = "\n".join(f"  {name:<10}{what}" for name, what in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="passlens",
        usage="passlens [FILE] | passlens COMMAND [-h] …",
        description="A debugger for the programs that GPU machine-learning compilers make.",
        epilog=f"commands:\n{listing}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", nargs="?", help="a dump, log, model or folder to open; - for standard input")
    parser.add_argument("--version", action="version", version=f"passlens {_version()}")
    return parser


def _version() -> str:
    from .. import __version__

    return __version__
