"""Files that commands write: whole or not at all."""

from __future__ import annotations

import os
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
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as fault:
        raise InputError(
            f"{path} cannot be written: {fault.strerror}; give a path in a folder of yours"
        ) from fault
    try:
        with open(handle, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            yield file
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, path)
    except OSError as fault:
        Path(name).unlink(missing_ok=True)
        raise InputError(f"{path} cannot be written: {fault.strerror}; give another path") from fault
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
