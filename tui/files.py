"""Files that commands write: whole or not at all."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ..ir.errors import InputError


def write_whole(path: str, text: str) -> None:
    """Write a file so that nobody ever finds a part of it.

    Raises:
        InputError: it cannot be written.
    """
    with whole_file(path) as file:
        file.write(text)


@contextmanager
def whole_file(path: str) -> Iterator[IO[str]]:
    """A text file that is put in place when the block ends well, and thrown away otherwise.

    Raises:
        InputError: it cannot be written.
    """
    place = os.path.realpath(path)  # a link is written through, not replaced
    special = is_special(path)
    try:
        if not path:
            raise InputError("the path to write to is empty: give the path of a file")
        if path == "-":
            raise InputError("- is no path to write to here: standard output has the report; give a file")
        if os.path.isdir(place):
            raise InputError(f"{path} cannot be written: it is a folder; give the path of a file")
        folder = None if special else os.path.dirname(place)
        handle, name = tempfile.mkstemp(prefix=f".{Path(place).name[:100]}.", dir=folder)
    except OSError as fault:
        raise InputError(
            f"{path} cannot be written: {fault.strerror}; give a path in a folder of yours"
        ) from fault
    try:
        with open(handle, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            yield file
        put_in_place(name, path)
    except OSError as fault:
        raise InputError(f"{path} cannot be written: {fault.strerror}; give another path") from fault
    finally:
        Path(name).unlink(missing_ok=True)


def put_in_place(name: str, path: str) -> None:
    """Make the file `name` the content of `path`; a device or a pipe is written to, and never replaced.

    A new file has the mode that the umask leaves, an old one keeps its own.
    """
    if is_special(path):
        with open(name, "rb") as source, open(path, "wb") as target:
            shutil.copyfileobj(source, target)
        Path(name).unlink()
        return
    place = os.path.realpath(path)
    try:
        mode = stat.S_IMODE(os.stat(place).st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        mode = 0o666 & ~mask
    os.chmod(name, mode)
    os.replace(name, place)


def is_special(path: str) -> bool:
    """Whether a path is there and neither a file nor a folder: a device, a pipe, a socket."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def refuse_input(option: str, path: str, source: str) -> None:
    """Refuse to write over the file that is read.

    Raises:
        InputError: both paths are of one file.
    """
    try:
        same = os.path.samefile(path, source)
    except OSError:
        return
    if same and not is_special(path):
        raise InputError(f"{option} {path} is the input itself, which would be lost; give another path")
