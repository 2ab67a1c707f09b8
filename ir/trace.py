"""A trace: what one input holds, as an index of snapshots over bytes that are parsed only when looked at."""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from .errors import Diagnostic, InputError
from .formats import parse
from .formats.logs import cut
from .formats.logs_end import dump_end
from .formats.logs_facts import LogFacts, read_facts
from .formats.logs_place import count_lines, place_of
from .formats.logs_prefix import strip_prefix
from .formats.logs_text import Data, decode, plain, release
from .inputs import InputFile, Pool, files_of_folder, is_protobuf, is_text, open_data, what_binary
from .program import Program, walk
from .snapshot import PassRun, Snapshot, When
from .tree import file_pass, link_files

_CACHED_TEXT: Final = 1 << 20
"""Programs of this many characters of text in all are kept; more are parsed again when asked for."""
_MANGLED: Final = "markdown-mangled"


@dataclass(slots=True)
class Trace:
    """The snapshots and passes of one input; `snapshots[i].file` says which of `files` an offset is in.

    Several threads may ask at a time.
    """

    name: str
    """What the person gave: a path, or `<stdin>`."""
    files: list[InputFile]
    snapshots: list[Snapshot]
    runs: list[PassRun]
    diagnostics: list[Diagnostic] = field(default_factory=list)
    _facts: LogFacts | None = None
    _programs: OrderedDict[bytes, Program] = field(default_factory=OrderedDict)
    _hashes: dict[int, bytes] = field(default_factory=dict)
    _counts: dict[bytes, tuple[int, int]] = field(default_factory=dict)
    _lines: dict[int, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def data(self) -> Data:
        """The bytes of the (first) file."""
        return self.files[0].data

    @property
    def size(self) -> int:
        """Bytes of the input in all, decompressed."""
        return sum(file.size for file in self.files)

    @property
    def kernels(self) -> list[str]:
        """The kernels that the snapshots are about, in order of appearance."""
        return [name for name in dict.fromkeys(snapshot.kernel for snapshot in self.snapshots) if name]

    @property
    def facts(self) -> LogFacts:
        """Driver lines, crash, reproducers, from the text between the programs; searched for on first use."""
        if self._facts is None:
            self._facts = read_facts([(file.data, file.gaps) for file in self.files if file.gaps])
        return self._facts

    def text(self, which: Snapshot | int) -> str:
        """The IR text of a snapshot: line prefixes, colours and what stands behind the IR taken out."""
        snapshot = self.snapshots[which] if isinstance(which, int) else which
        if snapshot.format == "onnx":
            return self.program(snapshot).text
        data = self.files[snapshot.file].data
        self._find_end(snapshot, data)
        text = plain(decode(bytes(data[snapshot.start : snapshot.end])))
        release(data, snapshot.start, snapshot.end)
        return strip_prefix(text, snapshot.prefix) if snapshot.prefix else text

    def between(self, which: Snapshot | int) -> str:
        """The text behind a snapshot's IR and in front of the next snapshot: warnings, timings, a crash."""
        snapshot = self.snapshots[which] if isinstance(which, int) else which
        if snapshot.format == "onnx":
            return ""
        data = self.files[snapshot.file].data
        self._find_end(snapshot, data)
        begin = snapshot.end
        following = self.snapshots[snapshot.index + 1 : snapshot.index + 2]
        end = len(data)
        if following and following[0].file == snapshot.file and following[0].start >= begin:
            # A dump begins behind its banner, which is no text between two dumps.
            banner = following[0].when != "whole" and following[0].format == "mlir"
            end = following[0].start - banner
            end = data.rfind(b"\n", begin, max(end, begin)) + 1 or begin
        text = plain(decode(bytes(data[begin : max(end, begin)])))
        return strip_prefix(text, snapshot.prefix) if snapshot.prefix else text

    def program(self, which: Snapshot | int) -> Program:
        """The parsed program of a snapshot; snapshots with equal text share one."""
        snapshot = self.snapshots[which] if isinstance(which, int) else which
        key = self._key(snapshot)
        with self._lock:
            known = self._programs.get(key)
            if known is not None:
                self._programs.move_to_end(key)
                return known
        program = self._parse(snapshot)
        with self._lock:
            # Another thread may have read it meanwhile: all must get the same one.
            program = self._programs.setdefault(key, program)
            kept = sum(len(p.text) for p in self._programs.values())
            while kept > _CACHED_TEXT and len(self._programs) > 2:
                _, dropped = self._programs.popitem(last=False)
                kept -= len(dropped.text)
        return program

    def fresh(self, which: Snapshot | int) -> Program:
        """A program of a snapshot that nobody else has: what is to be edited."""
        return self._parse(self.snapshots[which] if isinstance(which, int) else which)

    def content(self, which: Snapshot | int) -> bytes:
        """A hash of a snapshot's text: equal texts, equal programs."""
        return self._key(self.snapshots[which] if isinstance(which, int) else which)

    def counts(self, which: Snapshot | int) -> tuple[int, int]:
        """(ops, convert_layouts) of a snapshot's program; equal texts are counted once."""
        snapshot = self.snapshots[which] if isinstance(which, int) else which
        key = self._key(snapshot)
        if key not in self._counts:
            ops = [op.name for op in walk(self.program(snapshot)) if op.name and not op.implicit]
            self._counts[key] = len(ops), sum(name.endswith(".convert_layout") for name in ops)
        return self._counts[key]

    def changed(self, which: PassRun | int) -> bool | None:
        """Whether a pass changed the text of its program; None where one side is not in the input."""
        run = self.runs[which] if isinstance(which, int) else which
        if run.changed is None and run.before is not None and run.after is not None:
            run.changed = self._differs(self.snapshots[run.before], self.snapshots[run.after])
        return run.changed

    def place(self, which: Snapshot | int, offset: int) -> tuple[int, int]:
        """The 1-based line and column in the file of a character offset in a snapshot's text.

        The column counts bytes; it is exact where no colour was taken out of the line.
        """
        snapshot = self.snapshots[which] if isinstance(which, int) else which
        data = self.files[snapshot.file].data
        if snapshot.index not in self._lines:
            self._lines[snapshot.index] = count_lines(data, snapshot.start)
        return place_of(data, snapshot, self._lines[snapshot.index], self.text(snapshot), offset)

    def _find_end(self, snapshot: Snapshot, data: Data) -> None:
        if not snapshot.exact:
            snapshot.end = dump_end(data, snapshot.start, snapshot.end, snapshot.prefix)
            snapshot.exact = True

    def _differs(self, before: Snapshot, after: Snapshot) -> bool:
        return before is not after and self._key(before) != self._key(after)

    def _key(self, snapshot: Snapshot) -> bytes:
        if snapshot.index not in self._hashes:
            text = str(snapshot.file) if snapshot.format == "onnx" else self.text(snapshot)
            digest = hashlib.blake2b(text.strip().encode("utf-8", "surrogateescape"), digest_size=16)
            self._hashes[snapshot.index] = digest.digest()
        return self._hashes[snapshot.index]

    def _parse(self, snapshot: Snapshot) -> Program:
        path = self.files[snapshot.file].path
        if snapshot.format == "onnx":
            return parse("", "onnx", path, data=self.files[snapshot.file].data)
        program = parse(self.text(snapshot), snapshot.format, path)
        if snapshot.format == "migraphx" and any(d.code == _MANGLED for d in program.diagnostics):
            return self._with_intact(snapshot, program)
        return program

    def _with_intact(self, snapshot: Snapshot, mangled: Program) -> Program:
        """Fill a listing that lost its arguments from an intact one of the same program, if there is one.

        The nearest listing with as many ops is taken for the same program.
        """
        others = [s for s in self.snapshots if s.format == "migraphx" and s is not snapshot]
        size = sum(1 for _ in walk(mangled))
        for other in sorted(others, key=lambda s: abs(s.index - snapshot.index)):
            candidate = parse(self.text(other), "migraphx", self.name)
            if any(d.code == _MANGLED for d in candidate.diagnostics):
                continue
            if sum(1 for _ in walk(candidate)) == size:
                return parse(self.text(snapshot), "migraphx", self.name, intact=candidate)
        return mangled


def open_trace(path: str) -> Trace:
    """Open a file, a compressed file, `-` for standard input, or a folder of dumps.

    Raises InputError for what is missing, binary, empty, or holds no program and no fact.
    """
    if path != "-" and os.path.isdir(path):
        return _open_folder(path)
    if path != "-" and not os.path.exists(path):
        raise InputError(f"{path} does not exist")
    name = "<stdin>" if path == "-" else path
    notes: list[Diagnostic] = []
    data = open_data(path, notes)
    trace = _trace_of(name, [InputFile(name, len(data), held=data)], notes)
    if not trace.snapshots and not trace.facts.propagation and not trace.facts.crash:
        raise InputError(
            f"{name} holds no program: expected MLIR, a pass log, a MIGraphX listing or an ONNX model "
            f"(looked at {trace.size:,} bytes)"
        )
    return trace


def trace_of_text(text: str, name: str = "<text>") -> Trace:
    """A trace of text in memory; it may hold no snapshot."""
    data = text.encode("utf-8", "surrogateescape")
    return _trace_of(name, [InputFile(name, len(data), held=data)], [], known_text=True)


def _open_folder(path: str) -> Trace:
    pool = Pool()
    notes: list[Diagnostic] = []
    files: list[InputFile] = []
    for name in files_of_folder(path):
        try:
            files.append(InputFile(name, len(pool.open(name, notes)), pool=pool))
        except InputError as error:
            notes.append(Diagnostic("unreadable-file", str(error)))
    trace = _trace_of(path, files, notes)
    if not trace.snapshots:
        raise InputError(f"{path} holds no program: none of its {len(files)} files could be read as one")
    link_files(path, [file.path for file in files], trace.snapshots, trace.runs)
    return trace


def _trace_of(
    name: str, files: list[InputFile], notes: list[Diagnostic], *, known_text: bool = False
) -> Trace:
    snapshots: list[Snapshot] = []
    runs: list[PassRun] = []
    strange: list[str] = []
    for number, file in enumerate(files):
        data = file.data
        text = known_text or is_text(data)
        if not known_text and (file.path.endswith(".onnx") or (not text and is_protobuf(data))):
            found, passes = [Snapshot(0, 0, len(data), "onnx", exact=True)], list[PassRun]()
        elif not text:
            if len(files) == 1:
                raise InputError(f"{name} {what_binary(data)}")
            notes.append(Diagnostic("not-text", f"{file.path} {what_binary(data)}"))
            continue
        else:
            cuts = cut(data)
            found, passes, file.gaps = cuts.snapshots, cuts.runs, cuts.gaps
        if not found:
            strange.append(file.path)
        for snapshot in found:
            snapshot.title = snapshot.title or os.path.basename(file.path)
            if len(files) > 1:
                file_pass(snapshot, file.path)
        _append(snapshots, runs, found, passes, number)
    if strange and snapshots:
        first = os.path.basename(strange[0])
        notes.append(Diagnostic("no-program", f"no program was found in {first}", count=len(strange)))
    return Trace(name, files, snapshots, runs, notes)


def _append(
    snapshots: list[Snapshot], runs: list[PassRun], found: list[Snapshot], passes: list[PassRun], file: int
) -> None:
    """Add one file's snapshots and passes behind those of the files before it."""
    first, first_run = len(snapshots), len(runs)
    for snapshot in found if file else ():
        snapshot.index += first
        snapshot.file = file
        snapshot.parent = None if snapshot.parent is None else snapshot.parent + first_run
    for run in passes if file else ():
        run.index += first_run
        run.before = None if run.before is None else run.before + first
        run.after = None if run.after is None else run.after + first
        run.nested = [index + first for index in run.nested]
    snapshots.extend(found)
    runs.extend(passes)


__all__ = ["LogFacts", "PassRun", "Snapshot", "Trace", "When", "open_trace", "trace_of_text"]
