"""A trace: what one input holds, as an index of snapshots over bytes that are parsed only when looked at."""

from __future__ import annotations

import hashlib
import os
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from .errors import Diagnostic, InputError
from .formats import parse
from .formats.logs import cut, prefix_at
from .formats.logs_facts import LogFacts, read_facts
from .formats.logs_mlir import kernel_of
from .formats.logs_prose import dump_end
from .formats.logs_text import Data, clean, decode
from .inputs import files_of_folder, is_text, open_data, pass_of_file
from .program import Program, walk
from .snapshot import PassRun, Snapshot, When

_CACHED_TEXT: Final = 1 << 20
"""Programs of this many characters of text in all are kept; more are parsed again when asked for."""


@dataclass(slots=True)
class _File:
    path: str
    data: Data


@dataclass(slots=True)
class Trace:
    """The snapshots and passes of one input; `snapshots[i].file` says which of `files` an offset is in."""

    name: str
    """What the person gave: a path, or `<stdin>`."""
    files: list[_File]
    snapshots: list[Snapshot]
    runs: list[PassRun]
    diagnostics: list[Diagnostic] = field(default_factory=list)
    _facts: LogFacts | None = None
    _programs: OrderedDict[bytes, Program] = field(default_factory=OrderedDict)
    _hashes: dict[int, bytes] = field(default_factory=dict)
    _counts: dict[bytes, tuple[int, int]] = field(default_factory=dict)

    @property
    def data(self) -> Data:
        """The bytes of the (first) file."""
        return self.files[0].data

    @property
    def size(self) -> int:
        """Bytes of the input in all, decompressed."""
        return sum(len(file.data) for file in self.files)

    @property
    def kernels(self) -> list[str]:
        """The kernels that the snapshots are about, in order of appearance."""
        return [name for name in dict.fromkeys(snapshot.kernel for snapshot in self.snapshots) if name]

    @property
    def facts(self) -> LogFacts:
        """Driver lines, crash, reproducers; searched for on first use."""
        if self._facts is None:
            self._facts = LogFacts()
            texts = [file.data for file in self.files if is_text(file.data)]
            if texts:
                self._facts = read_facts(texts[0])
        return self._facts

    def text(self, which: Snapshot | int) -> str:
        """The IR text of a snapshot: line prefixes, colours and what stands behind the IR taken out."""
        snapshot = self.snapshots[which] if isinstance(which, int) else which
        if snapshot.format == "onnx":
            return self.program(snapshot).text
        data = self.files[snapshot.file].data
        if snapshot.format == "mlir" and snapshot.when != "whole":
            snapshot.end = dump_end(data, snapshot.start, snapshot.end)
        return clean(decode(bytes(data[snapshot.start : snapshot.end])), prefix_at(data, snapshot))

    def between(self, which: Snapshot | int) -> str:
        """The text behind a snapshot's IR and in front of the next snapshot: warnings, timings, a crash."""
        snapshot = self.snapshots[which] if isinstance(which, int) else which
        if snapshot.format == "onnx":
            return ""
        self.text(snapshot)
        data = self.files[snapshot.file].data
        following = self.snapshots[snapshot.index + 1 : snapshot.index + 2]
        same = [s for s in following if s.file == snapshot.file]
        end = data.rfind(b"\n", snapshot.end, max(same[0].start - 1, snapshot.end)) + 1 if same else len(data)
        return decode(bytes(data[snapshot.end : max(end, snapshot.end)]))

    def program(self, which: Snapshot | int) -> Program:
        """The parsed program of a snapshot; snapshots with equal text share one."""
        snapshot = self.snapshots[which] if isinstance(which, int) else which
        key = self._key(snapshot)
        known = self._programs.get(key)
        if known is not None:
            self._programs.move_to_end(key)
            return known
        program = self._parse(snapshot)
        self._programs[key] = program
        kept = sum(len(p.text) for p in self._programs.values())
        while kept > _CACHED_TEXT and len(self._programs) > 2:
            _, dropped = self._programs.popitem(last=False)
            kept -= len(dropped.text)
        return program

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

        Exact where no line prefix or colour was taken out of the snapshot's text.
        """
        snapshot = self.snapshots[which] if isinstance(which, int) else which
        data = self.files[snapshot.file].data
        before = self.text(snapshot)[: max(offset, 0)]
        at = snapshot.start + len(before.encode("utf-8", "surrogateescape"))
        line = bytes(data[:at]).count(b"\n") + 1
        return line, at - (data.rfind(b"\n", 0, at) + 1) + 1

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
        if snapshot.format == "migraphx" and any(d.code == "markdown-mangled" for d in program.diagnostics):
            return self._with_intact(snapshot, program)
        return program

    def _with_intact(self, snapshot: Snapshot, mangled: Program) -> Program:
        """Fill a listing that lost its arguments from an intact one of the same program, if there is one."""
        for other in self.snapshots:
            if other is snapshot or other.format != "migraphx":
                continue
            candidate = parse(self.text(other), "migraphx", self.name)
            if any(d.code == "markdown-mangled" for d in candidate.diagnostics):
                continue
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
    trace = _trace_of(name, [_File(name, open_data(path))])
    if not trace.snapshots and not trace.facts.propagation and not trace.facts.crash:
        raise InputError(
            f"{name} holds no program: expected MLIR, a pass log, a MIGraphX listing or an ONNX model "
            f"(looked at {trace.size:,} bytes)"
        )
    return trace


def trace_of_text(text: str, name: str = "<text>") -> Trace:
    """A trace of text in memory; it may hold no snapshot."""
    return _trace_of(name, [_File(name, text.encode("utf-8", "surrogateescape"))], known_text=True)


def _open_folder(path: str) -> Trace:
    files = [_File(name, open_data(name)) for name in files_of_folder(path)]
    trace = _trace_of(path, files)
    if not trace.snapshots:
        raise InputError(f"{path} holds no program: none of its {len(files)} files could be read as one")
    return trace


def _trace_of(name: str, files: list[_File], *, known_text: bool = False) -> Trace:
    snapshots: list[Snapshot] = []
    runs: list[PassRun] = []
    diagnostics: list[Diagnostic] = []
    for number, file in enumerate(files):
        text = known_text or is_text(file.data)
        if not known_text and (file.path.endswith(".onnx") or (not text and _is_protobuf(file.data))):
            found, passes = [Snapshot(0, 0, len(file.data), "onnx")], list[PassRun]()
        elif not text:
            diagnostics.append(Diagnostic("not-text", f"{file.path} is neither text nor an ONNX model"))
            continue
        else:
            cuts = cut(file.data)
            found, passes = cuts.snapshots, cuts.runs
        _append(snapshots, runs, found, passes, number)
        for snapshot in found:
            if snapshot.format == "mlir" and not snapshot.kernel:
                snapshot.kernel = kernel_of(file.data, snapshot.start, snapshot.end)
            snapshot.title = snapshot.title or os.path.basename(file.path)
            _note_file_pass(snapshot, file.path, len(files))
    if len(files) > 1 and not runs:
        runs = _runs_of_files(snapshots)
    if diagnostics and not snapshots and len(files) == 1:
        raise InputError(f"{name} is binary and no ONNX model: expected text, or a protobuf ONNX model")
    return Trace(name, files, snapshots, runs, diagnostics)


def _append(
    snapshots: list[Snapshot], runs: list[PassRun], found: list[Snapshot], passes: list[PassRun], file: int
) -> None:
    """Add one file's snapshots and passes behind those of the files before it."""
    first, first_run = len(snapshots), len(runs)
    for snapshot in found:
        snapshot.index += first
        snapshot.file = file
        snapshot.parent = None if snapshot.parent is None else snapshot.parent + first_run
    for run in passes:
        run.index += first_run
        run.before = None if run.before is None else run.before + first
        run.after = None if run.after is None else run.after + first
        run.nested = [index + first for index in run.nested]
    snapshots.extend(found)
    runs.extend(passes)


def _note_file_pass(snapshot: Snapshot, path: str, files: int) -> None:
    pass_name = pass_of_file(path) if files > 1 and not snapshot.pass_name else ""
    if pass_name:
        snapshot.pass_name = snapshot.argument = snapshot.title = pass_name
        snapshot.when = "after"


def _runs_of_files(snapshots: list[Snapshot]) -> list[PassRun]:
    """The passes of a tree-dir folder: one a file, after-dumps, linked within one folder of the tree."""
    runs: list[PassRun] = []
    counts: dict[str, int] = {}
    before: int | None = None
    for snapshot in snapshots:
        if not snapshot.pass_name:
            continue
        counts[snapshot.pass_name] = counts.get(snapshot.pass_name, 0) + 1
        runs.append(
            PassRun(
                len(runs), snapshot.pass_name, snapshot.pass_name, counts[snapshot.pass_name],
                snapshot.kernel, 0, before, snapshot.index, None,
            )
        )  # fmt: skip
        before = snapshot.index
    return runs


def _is_protobuf(data: Data) -> bool:
    """Whether the bytes begin as an ONNX ModelProto does: field 1 (ir_version) as a small varint."""
    head = bytes(data[:2])
    return len(head) == 2 and head[0] == 0x08 and head[1] < 0x20


__all__ = ["LogFacts", "PassRun", "Snapshot", "Trace", "When", "open_trace", "trace_of_text"]
