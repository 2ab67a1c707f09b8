"""The layout ledger: every `convert_layout` of a compile from its birth to its death, pass by pass.

Converts are followed by the structural match of the programs around each pass, so that renumbering and
moved code do not break a line. What a convert costs comes from the layouts themselves.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...diff.compare import compare
from ...diff.result import Diff
from ...errors import InputError
from ...formats.mlir_text import expand_aliases
from ...layouts.convert import convert
from ...layouts.encodings import Encoding
from ...layouts.parse import parse_encoding
from ...layouts.to_linear import to_linear
from ...program import Op, Program, ancestors, walk
from ...snapshot import PassRun
from ...trace import Trace
from ...types import TensorType, byte_size, element_bits

_ACCESSES = ("tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas")
LAYOUT_PASS = "tritongpu-remove-layout-conversions"
_LOOPS = ("scf.for", "scf.while")


@dataclass(slots=True)
class Life:
    """One convert; encodings with aliases expanded, bytes of the tensor."""

    number: int
    kernel: str
    value: str
    """The result's name in the snapshot where it was last seen."""
    source: str
    target: str
    bytes: int
    kind: str
    """What it does, as Triton 3.9 lowers it: nothing, registers, shuffle, shared, cluster; or unknown."""
    shared_bytes: int
    loops: int
    born: int | None = None
    """Index of the pass that made it; None if it was there in the first dump."""
    died: int | None = None
    """Index of the pass that removed it; None if it is there in the last dump."""
    events: list[tuple[int, str]] = field(default_factory=list)
    """(pass, what happened): moved into or out of loops, other encodings, became another op."""


@dataclass(slots=True)
class Access:
    """A load or store whose encoding a pass changed, with the contiguous elements a thread then has."""

    op: str
    value: str
    old: str
    new: str
    old_contiguous: int
    new_contiguous: int


@dataclass(slots=True)
class Row:
    """What one pass did to the converts of its kernel; bytes are those of the tensors converted."""

    run: int
    name: str
    ordinal: int
    kernel: str
    converts_in: int
    converts_out: int
    bytes_in: int
    bytes_out: int
    loops_out: int
    """How many of those that came out are in a loop."""
    added: list[int] = field(default_factory=list)
    removed: list[int] = field(default_factory=list)
    changed: list[int] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)


@dataclass(slots=True)
class Ledger:
    """The converts of a trace and the passes that touched them."""

    lives: list[Life]
    rows: list[Row]


def ledger(trace: Trace, kernel: str | None = None) -> Ledger:
    """Follow the converts of every kernel (or of one) through all passes that changed the program."""
    book = Ledger([], [])
    for name in trace.kernels if kernel is None else [kernel]:
        _Keeper(trace, name, book).keep()
    return book


class _Keeper:
    """Follows one kernel; `alive` says which life each convert of the present program is, by walk number."""

    def __init__(self, trace: Trace, kernel: str, book: Ledger) -> None:
        self.trace = trace
        self.kernel = kernel
        self.book = book
        self.alive: dict[int, Life] = {}
        self.present: int | None = None

    def keep(self) -> None:
        for run in self.trace.runs:
            if run.kernel != self.kernel or run.before is None or run.after is None:
                continue
            if not (self._has_converts(run.before) or self._has_converts(run.after)):
                continue
            if self.present is None:
                self._begin(self.trace.program(run.before))
            elif self._differs(self.present, run.before):
                self._step(self.present, run.before, None)
            self.present = run.before
            if self.trace.changed(run):
                self._step(run.before, run.after, run)
            elif run.argument == LAYOUT_PASS:
                self._row(run, [], [], [], [])
            self.present = run.after

    def _has_converts(self, snapshot: int) -> bool:
        return "convert_layout" in self.trace.text(snapshot)

    def _differs(self, one: int, other: int) -> bool:
        return one != other and self.trace.text(one).strip() != self.trace.text(other).strip()

    def _begin(self, program: Program) -> None:
        for number, op in _converts(program):
            self.alive[number] = self._new(op, program, None)

    def _new(self, op: Op, program: Program, run: int | None) -> Life:
        kind, shared = cost_of(op, program)
        source, target = encodings_of(op, program)
        size = byte_size(op.results[0].type) or 0
        life = Life(len(self.book.lives) + 1, self.kernel, op.results[0].name, source, target, size, kind,
                    shared, loops_around(op), run)  # fmt: skip
        self.book.lives.append(life)
        return life

    def _step(self, before: int, after: int, run: PassRun | None) -> None:
        old, new = self.trace.program(before), self.trace.program(after)
        diff = compare(old, new)
        index = run.index if run is not None else None
        was, self.alive = self.alive, {}
        counted = (len(was), sum(life.bytes for life in was.values()))
        added: list[int] = []
        changed: list[int] = []
        survivors: set[int] = set()
        for number, op in _converts(new):
            origin = diff.ops_b[number]
            life = was.get(origin) if origin >= 0 else None
            if life is None:
                life = self._new(op, new, index)
                added.append(life.number)
            else:
                survivors.add(origin)
                if self._update(life, op, new, index):
                    changed.append(life.number)
            self.alive[number] = life
        removed = [life.number for origin, life in was.items() if origin not in survivors]
        for origin, life in was.items():
            if origin not in survivors:
                life.died = index
                self._note_successor(life, diff, origin, index)
        accesses = list(_accesses(diff, old, new))
        if run is not None and (added or removed or changed or accesses or run.argument == LAYOUT_PASS):
            self._row(run, added, removed, changed, accesses, counted)

    def _update(self, life: Life, op: Op, program: Program, run: int | None) -> bool:
        source, target = encodings_of(op, program)
        loops = loops_around(op)
        notes = []
        if loops != life.loops:
            notes.append(f"moved {'into' if loops > life.loops else 'out of'} a loop")
        if (source, target) != (life.source, life.target):
            notes.append("converts between other encodings")
            life.kind, life.shared_bytes = cost_of(op, program)
        life.bytes = byte_size(op.results[0].type) or 0
        life.value, life.source, life.target, life.loops = op.results[0].name, source, target, loops
        if run is not None:
            life.events.extend((run, note) for note in notes)
        return bool(notes)

    def _note_successor(self, life: Life, diff: Diff, origin: int, run: int | None) -> None:
        there = diff.ops_a[origin]
        if there >= 0 and run is not None:
            life.events.append((run, f"became {diff.b.ops[there].name}"))

    def _row(
        self, run: PassRun, added: list[int], removed: list[int], changed: list[int], accesses: list[Access],
        before: tuple[int, int] | None = None,
    ) -> None:  # fmt: skip
        lives = list(self.alive.values())
        size = sum(life.bytes for life in lives)
        count_in, bytes_in = before if before is not None else (len(lives), size)
        self.book.rows.append(
            Row(run.index, run.argument or run.name, run.ordinal, run.kernel, count_in, len(lives), bytes_in,
                size, sum(life.loops > 0 for life in lives), added, removed, changed, accesses)
        )  # fmt: skip


def _converts(program: Program) -> Iterator[tuple[int, Op]]:
    for number, op in enumerate(walk(program)):
        if op.name.endswith(".convert_layout") and op.operands and op.results:
            yield number, op


def loops_around(op: Op) -> int:
    """How many loops an op is in."""
    return sum(parent.name in _LOOPS for parent in ancestors(op))


def encodings_of(op: Op, program: Program) -> tuple[str, str]:
    """The encodings that a convert goes from and to, aliases expanded."""
    types = (op.operands[0].type, op.results[0].type)
    source, target = (t.encoding if isinstance(t, TensorType) else "" for t in types)
    return expand_aliases(source, program.aliases), expand_aliases(target, program.aliases)


def cost_of(op: Op, program: Program) -> tuple[str, int]:
    """(class, bytes of shared memory a block) of a convert; `unknown` for layouts that cannot be decoded."""
    type = op.results[0].type
    if not isinstance(type, TensorType):
        return "unknown", 0
    try:
        source, target = (_parsed(text) for text in encodings_of(op, program))
        bits = element_bits(type) or 32
        found = convert(to_linear(source, type.lens), to_linear(target, type.lens), bits)
    except (InputError, ValueError):
        return "unknown", 0
    return found.kind, found.shared_bytes


def _parsed(text: str) -> Encoding:
    if not text:
        raise ValueError("a tensor without an encoding")
    return parse_encoding(text)


def _accesses(diff: Diff, old: Program, new: Program) -> Iterator[Access]:
    """Loads and stores that are in both programs and have another encoding in the second."""
    for number, op in enumerate(diff.b.ops):
        origin = diff.ops_b[number]
        if op.name not in _ACCESSES or origin < 0 or diff.a.ops[origin].name != op.name:
            continue
        before, after = _encoded(diff.a.ops[origin], old), _encoded(op, new)
        if before is None or after is None or before[0] == after[0]:
            continue
        name = op.results[0].name if op.results else op.operands[0].name
        yield Access(op.name, name, before[0], after[0], contiguous(*before), contiguous(*after))


def _encoded(op: Op, program: Program) -> tuple[str, tuple[int, ...]] | None:
    """The encoding, aliases expanded, and the shape of what a load or store points at."""
    type = op.operands[0].type if op.operands else None
    if not isinstance(type, TensorType) or not type.encoding:
        return None
    return expand_aliases(type.encoding, program.aliases), type.lens


def contiguous(encoding: str, lens: tuple[int, ...]) -> int:
    """Neighbouring elements along one dimension that a thread holds in a row of registers; 0 if unknown."""
    try:
        layout = to_linear(parse_encoding(encoding), lens)
    except (InputError, ValueError):
        return 0
    run = 1
    dimension = None
    for basis in layout.bases("register"):
        steps = [(dim, step) for dim, step in enumerate(basis) if step]
        if len(steps) != 1 or steps[0][1] != run or dimension not in (None, steps[0][0]):
            break
        dimension = steps[0][0]
        run *= 2
    return run


def to_json(book: Ledger) -> dict[str, Any]:
    """The ledger as `passlens ledger --json` gives it."""
    return {
        "schema": 1,
        "converts": [_life_json(life) for life in book.lives],
        "passes": [_row_json(row) for row in book.rows],
    }


def _life_json(life: Life) -> dict[str, Any]:
    return {
        "number": life.number, "kernel": life.kernel, "value": life.value, "source": life.source,
        "target": life.target, "bytes": life.bytes, "class": life.kind, "shared_bytes": life.shared_bytes,
        "loops": life.loops, "born": life.born, "died": life.died,
        "events": [{"pass": run, "what": what} for run, what in life.events],
    }  # fmt: skip


def _row_json(row: Row) -> dict[str, Any]:
    return {
        "pass": row.run, "name": row.name, "ordinal": row.ordinal, "kernel": row.kernel,
        "in": row.converts_in, "out": row.converts_out, "bytes_in": row.bytes_in,
        "bytes_out": row.bytes_out, "in_loops": row.loops_out, "added": row.added,
        "removed": row.removed, "changed": row.changed,
        "accesses": [dataclasses.asdict(access) for access in row.accesses],
    }  # fmt: skip
