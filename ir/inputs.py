"""Opening what a person names: a file, a compressed file, standard input, a folder of dumps."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import mmap
import os
import re
import sys
import tempfile
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from .errors import Diagnostic, InputError
from .formats.logs_text import Data

_CHUNK: Final = 1 << 20
_PACKED: Final = 1 << 16
_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_UTF16: Final = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_BYTECODE: Final = b"ML\xefR"
_CACHE_STAGES: Final = (".source", ".ttir", ".ttgir", ".llir", ".mlir")
_DUMPS: Final = (".mlir", ".log", ".txt", ".ttir", ".ttgir", ".onnx", ".gz", ".zst")
_COUNTERS: Final = re.compile(r"^(\d+(?:_\d+)*)_(.+)$")
_OPEN: Final = 32
"""Files of a folder that are open at a time; the others are opened again when they are looked at."""


@dataclass(slots=True)
class InputFile:
    """One file of an input; its bytes are opened when they are asked for."""

    path: str
    size: int
    """Bytes, decompressed."""
    gaps: list[tuple[int, int]] = field(default_factory=list)
    """The stretches between its programs, where facts are looked for."""
    held: Data | None = None
    """Its bytes, where they are kept for good (a single file, standard input)."""
    pool: Pool | None = None

    @property
    def data(self) -> Data:
        """The bytes; raises InputError if the file has gone."""
        if self.held is not None:
            return self.held
        assert self.pool is not None, "a file is held, or it is in a pool"
        return self.pool.open(self.path)


class Pool:
    """The files of a folder of which some are open: a process may not open tens of thousands at once."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, Data] = OrderedDict()

    def open(self, path: str, notes: list[Diagnostic] | None = None) -> Data:
        """The bytes of a file, as `open_data` gives them."""
        data = self._open.get(path)
        if data is None:
            data = self._open[path] = open_data(path, notes)
            while len(self._open) > _OPEN:
                self._open.pop(next(iter(self._open)), None)
        return data


def open_data(path: str, notes: list[Diagnostic] | None = None) -> Data:
    """The bytes of a file (`-` is standard input), mapped, decompressed to a temporary file if need be.

    UTF-16 text (what some shells write) becomes UTF-8. `notes` is told of an archive that is cut off or
    damaged, of which the beginning is given. Raises InputError for what cannot be read.
    """
    name = "<stdin>" if path == "-" else path
    try:
        if path == "-":
            with tempfile.TemporaryFile() as spooled:
                _copy(iter(lambda: sys.stdin.buffer.read(_CHUNK), b""), spooled, name)
                return _unpacked(spooled, name, notes)
        with open(path, "rb") as file:
            return _unpacked(file, name, notes)
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror or error}") from error


def _unpacked(file: IO[bytes], name: str, notes: list[Diagnostic] | None) -> Data:
    file.seek(0)
    head = file.read(4)
    file.seek(0)
    if head.startswith(_GZIP):
        with gzip.open(file) as inside:
            return _spool(_gzip_chunks(inside), name, notes)
    if head == _ZSTD:
        return _spool(_zstd_chunks(file, name), name, notes)
    encoding = _UTF16.get(head[:2])
    if encoding is not None:
        return _spool(_utf8_chunks(file, encoding), name, notes)
    return _mapped(file, name)


def _mapped(file: IO[bytes], name: str) -> Data:
    file.flush()
    if not os.fstat(file.fileno()).st_size:
        raise InputError(f"{name} is empty: expected a dump, a pass log, IR text or an ONNX model")
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _copy(chunks: Iterator[bytes], file: IO[bytes], name: str) -> None:
    try:
        for chunk in chunks:
            file.write(chunk)
    except OSError as error:
        if isinstance(error, gzip.BadGzipFile):
            raise
        raise InputError(
            f"{name} cannot be copied to {tempfile.gettempdir()}: {error.strerror or error}; "
            "set TMPDIR to a folder with more room"
        ) from error


def _spool(chunks: Iterator[bytes], name: str, notes: list[Diagnostic] | None) -> Data:
    """Copy what chunks give to a temporary file and map that; what was read before a fault is kept."""
    with tempfile.TemporaryFile() as file:
        fault = ""
        try:
            _copy(chunks, file, name)
        except _FAULTS as error:
            fault = str(error) or type(error).__name__
        if not file.tell():
            why = f" ({fault})" if fault else ""
            raise InputError(f"{name} holds nothing that can be read{why}: expected a dump, a log or IR text")
        if fault and notes is not None:
            read = f"its first {file.tell():,} bytes were read"
            notes.append(Diagnostic("damaged-archive", f"{name} is cut off or damaged ({fault}); {read}"))
        return _mapped(file, name)


class _DamagedError(Exception):
    """A fault of an archive that has no common base with the others."""


_FAULTS: Final = (EOFError, zlib.error, gzip.BadGzipFile, _DamagedError)


def _gzip_chunks(inside: gzip.GzipFile) -> Iterator[bytes]:
    # `read1` gives out what has been unpacked so far, where `read` would lose it with the fault.
    while chunk := inside.read1(_CHUNK):
        yield chunk


def _zstd_chunks(file: IO[bytes], name: str) -> Iterator[bytes]:
    """What the frames of a file hold, one behind the other."""
    fault, new = _zstd(name)
    frame = new()
    packed = file.read(_PACKED)
    while packed:
        try:
            yield frame.decompress(packed)
        except (fault, EOFError) as error:
            raise _DamagedError(str(error)) from error
        packed = (frame.unused_data if frame.eof else b"") or file.read(_PACKED)
        if frame.eof and packed:
            frame = new()
    if not frame.eof:
        raise _DamagedError("its end is missing")


def _zstd(name: str) -> tuple[type[Exception], Callable[[], Any]]:
    """The error that the library raises, and what makes an unpacker of one frame."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd

            return zstd.ZstdError, zstd.ZstdDecompressor
        import zstandard
    except ImportError as error:
        raise InputError(f"{name} is compressed with zstd: `pip install zstandard` to read it") from error
    return zstandard.ZstdError, lambda: zstandard.ZstdDecompressor().decompressobj()


def _utf8_chunks(file: IO[bytes], encoding: str) -> Iterator[bytes]:
    file.seek(2)
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    while chunk := file.read(_CHUNK):
        yield decoder.decode(chunk).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def is_text(data: Data) -> bool:
    """Whether the beginning of the input reads as text: no zero bytes, few control characters."""
    head = bytes(data[:8192])
    control = sum(byte < 32 and byte not in b"\t\n\r\x0b\x0c\x1b" for byte in head)
    return b"\0" not in head and control * 50 <= len(head)


def what_binary(data: Data) -> str:
    """What to say of an input that is no text."""
    if bytes(data[:4]) == _BYTECODE:
        return "is MLIR bytecode: print it as text first (`mlir-opt FILE`, `triton-opt FILE`)"
    return "is binary and no ONNX model: expected text, or a protobuf ONNX model"


def is_protobuf(data: Data) -> bool:
    """Whether the bytes begin as an ONNX ModelProto does: field 1 (ir_version) as a small varint."""
    head = bytes(data[:2])
    return len(head) == 2 and head[0] == 0x08 and head[1] < 0x20


def files_of_folder(folder: str) -> list[str]:
    """The dumps in a folder in the order in which they were made.

    Knows `--mlir-print-ir-tree-dir` trees (counters in file names), Triton's cache and dump folders (stages
    of a kernel), and takes any other folder's IR files by name. Raises InputError if there is none.
    """
    names: list[str] = []
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        names.extend(os.path.join(root, name) for name in sorted(files) if not name.startswith("."))
    if any(name.endswith(_CACHE_STAGES[:3]) for name in names):
        chosen = [name for name in names if name.endswith(_CACHE_STAGES)]
        chosen.sort(
            key=lambda name: (os.path.dirname(name), Path(name).stem, _CACHE_STAGES.index(Path(name).suffix))
        )
    else:
        chosen = sorted((name for name in names if name.endswith(_DUMPS)), key=_tree_order)
    chosen = [name for name in chosen if _has_content(name)]
    if not chosen:
        raise InputError(f"{folder} holds no dumps: expected .mlir, .ttir, .ttgir, .log, .txt or .onnx files")
    return chosen


def _has_content(name: str) -> bool:
    """Whether a file is there (a link may point nowhere) and not empty."""
    with contextlib.suppress(OSError):
        return os.path.isfile(name) and os.path.getsize(name) > 0
    return False


def _tree_order(name: str) -> tuple[tuple[int, ...], str]:
    """`0_1_canonicalize.mlir` sorts by its counters, whichever folder of the tree it is in."""
    found = _COUNTERS.match(os.path.basename(name))
    counters = tuple(int(digits[:9]) for digits in found.group(1).split("_")) if found else ()
    return counters, name


def pass_of_file(name: str) -> str:
    """The pass that a file of a tree-dir folder was printed after, or ''."""
    found = _COUNTERS.match(Path(name).stem)
    return found.group(2) if found and name.endswith(".mlir") else ""
