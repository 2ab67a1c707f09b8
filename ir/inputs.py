"""Opening what a person names: a file, a compressed file, standard input, a folder of dumps."""

from __future__ import annotations

import contextlib
import gzip
import mmap
import os
import re
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Final

from .errors import InputError
from .formats.logs_text import Data

_CHUNK: Final = 1 << 20
_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_CACHE_STAGES: Final = (".source", ".ttir", ".ttgir", ".llir", ".mlir")
_COUNTERS: Final = re.compile(r"^(\d+(?:_\d+)*)_(.+)$")


def open_data(path: str) -> Data:
    """The bytes of a file (`-` is standard input), mapped, decompressed to a temporary file if need be.

    Raises InputError for what cannot be read.
    """
    if path == "-":
        return _spool(sys.stdin.buffer, "<stdin>")
    try:
        with open(path, "rb") as file:
            head = file.read(4)
            file.seek(0)
            if head.startswith(_GZIP):
                with gzip.open(file) as inside:
                    return _spool(inside, path)
            if head == _ZSTD:
                return _spool_zstd(file, path)
            if not os.fstat(file.fileno()).st_size:
                raise InputError(f"{path} is empty: expected a dump, a pass log, IR text or an ONNX model")
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


def _spool(stream: IO[bytes] | gzip.GzipFile, name: str) -> Data:
    """Copy a stream to a temporary file and map that; what was read before a fault is kept."""
    with tempfile.TemporaryFile() as file:
        size = 0
        # `read1` gives out what has been unpacked so far, where `read` would lose it with the fault.
        read: Callable[[int], bytes] = getattr(stream, "read1", stream.read)
        with contextlib.suppress(EOFError, zlib.error, gzip.BadGzipFile):
            # A cut-off archive still holds everything in front of the cut.
            while chunk := read(_CHUNK):
                size += file.write(chunk)
        if not size:
            raise InputError(f"{name} holds nothing that can be read: expected a dump, a log or IR text")
        file.flush()
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _spool_zstd(file: IO[bytes], path: str) -> Data:
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd

            return _spool(zstd.open(file), path)
        import zstandard
    except ImportError as error:
        raise InputError(
            f"{path} is compressed with zstd: install it with `pip install zstandard`"
        ) from error
    try:
        with zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True) as stream:
            return _spool(stream, path)
    except zstandard.ZstdError as error:
        raise InputError(f"{path} is damaged: {error}") from error


def is_text(data: Data) -> bool:
    """Whether the beginning of the input reads as text: no zero bytes, few control characters."""
    head = bytes(data[:8192])
    control = sum(byte < 32 and byte not in b"\t\n\r\x0b\x0c\x1b" for byte in head)
    return b"\0" not in head and control * 50 <= len(head)


def files_of_folder(folder: str) -> list[str]:
    """The dumps in a folder in the order in which they were made.

    Knows `--mlir-print-ir-tree-dir` trees (counters in file names), Triton's cache and dump folders (stages
    of a kernel), and takes any other folder's IR files by name. Raises InputError if there is none.
    """
    names = [os.path.join(root, name) for root, _, files in sorted(os.walk(folder)) for name in files]
    if any(name.endswith(_CACHE_STAGES[:3]) for name in names):
        chosen = [name for name in names if name.endswith(_CACHE_STAGES)]
        chosen.sort(
            key=lambda name: (os.path.dirname(name), Path(name).stem, _CACHE_STAGES.index(Path(name).suffix))
        )
    else:
        wanted = (".mlir", ".log", ".txt", ".ttir", ".ttgir", ".onnx", ".gz", ".zst")
        chosen = sorted((name for name in names if name.endswith(wanted)), key=_tree_order)
    chosen = [name for name in chosen if os.path.getsize(name)]
    if not chosen:
        raise InputError(f"{folder} holds no dumps: expected .mlir, .ttir, .ttgir, .log, .txt or .onnx files")
    return chosen


def _tree_order(name: str) -> tuple[tuple[int, ...], str]:
    """`0_1_canonicalize.mlir` sorts by its counters, whichever folder of the tree it is in."""
    found = _COUNTERS.match(os.path.basename(name))
    counters = tuple(int(digits) for digits in found.group(1).split("_")) if found else ()
    return counters, name


def pass_of_file(name: str) -> str:
    """The pass that a file of a tree-dir folder was printed after, or ''."""
    found = _COUNTERS.match(Path(name).stem)
    return found.group(2) if found and name.endswith(".mlir") else ""


def lines_of(data: Data, limit: int) -> Iterator[bytes]:
    """The first lines of an input, at most `limit` bytes in all."""
    yield from bytes(data[:limit]).split(b"\n")
