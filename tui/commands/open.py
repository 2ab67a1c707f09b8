"""`passlens [FILE]`: the app on a terminal, the overview as text anywhere else."""

from __future__ import annotations

import argparse
import os
import sys
import threading

from ...ir.errors import InputError

HELP = "open a file in the app; without a terminal, print what it holds"
_USAGE = """usage: passlens [FILE] | passlens COMMAND [-h] …

Without a terminal passlens needs a FILE: a dump, a pass log, IR text, an ONNX model, or a folder of dumps.
`passlens --help` lists the commands."""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", nargs="?", help="a dump, log, model or folder to open; - for standard input")


def run(args: argparse.Namespace) -> int:
    """Open the app if a person can see it; else print the overview, or a usage without a file."""
    path: str | None = args.file
    if _on_terminal():
        return _app(path)
    if path is None:
        print(_USAGE, file=sys.stderr)
        return 2
    from .info import run as info

    return info(argparse.Namespace(file=path, json=False, which=None))


def _on_terminal() -> bool:
    """Whether the app can be drawn; Textual draws on standard error."""
    return sys.stdout.isatty() and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _app(path: str | None) -> int:
    if path == "-":
        _keep_keys()
    elif path is not None and not os.path.exists(path):
        raise InputError(f"{path} does not exist")
    from ..app import PasslensApp

    app = PasslensApp(path)
    reason = app.run()
    if reason:
        print(f"passlens: {reason}", file=sys.stderr)
    code = app.return_code or 0
    if _still_at_work():
        # Python would wait for a thread that is still parsing; nothing that it does is wanted any more.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _still_at_work() -> bool:
    """Whether a thread of the app goes on after a moment in which idle ones end."""
    ours = [thread for thread in threading.enumerate() if thread.name.startswith("passlens")]
    for thread in ours:
        thread.join(0.1)
    return any(thread.is_alive() for thread in ours)


def _keep_keys() -> None:
    """Let the app read keys from the terminal while the data come from what was standard input."""
    if os.isatty(0):
        raise InputError("standard input is the terminal: pipe a dump into `passlens -`, or name a file")
    data = os.dup(0)
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY)
    except OSError as error:
        raise InputError("there is no terminal to read keys from: use `passlens info -`") from error
    os.dup2(terminal, 0)
    os.close(terminal)
    sys.stdin = os.fdopen(data, encoding="utf-8", errors="surrogateescape")
