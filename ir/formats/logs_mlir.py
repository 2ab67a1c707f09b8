"""MLIR pass logs: finding the banners of dumps, and putting passes together from them.

A banner is found by a plain byte search, and its line taken apart once for every distinct line, so that
a log of a gigabyte is indexed at the speed of the search.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from ..snapshot import PassRun, Snapshot, When
from .logs_text import RELEASE_EVERY, Data, release

NEEDLE: Final = b"IR Dump "
_BANNER: Final = re.compile(
    r"(?P<prefix>.*?)(?:// -----// |\*\*\* )(?P<inner>\S.*? internal )?IR Dump (?P<when>Before|After):? ?"
    r"(?P<rest>.*?)\s*(?://----- //|\*\*\*)?\s*$"
)
_SCOPE: Final = re.compile(r"\s*\('(?P<op>[^']+)' operation(?::\s*@(?P<symbol>.*))?\)$")
_OLD: Final = re.compile(r"(?P<name>.*?)\s*\((?P<argument>[^()']+)\)$")
_NEW: Final = re.compile(r"(?P<name>[^:{]+): (?P<argument>[^{\s]*)(?:\{(?P<options>.*)\})?$")
_KERNEL: Final = re.compile(rb"func\b[^@\n]{0,80}@(\"[^\"\n]*\"|[\w$.\-]+)")
_INLINER: Final = ("Inliner", "InlinerPass")
_LONGEST_BANNER: Final = 4000
_NEAR: Final = 16384


@dataclass(frozen=True, slots=True)
class Banner:
    """One banner line, taken apart."""

    prefix: str
    when: When
    internal: bool
    name: str
    argument: str
    options: str
    failed: bool
    op_name: str
    symbol: str


def parse_banner(line: str) -> Banner | None:
    """The parts of a banner line of any MLIR or Triton release; None for a line that is no banner."""
    found = _BANNER.match(line)
    if found is None:
        return None
    rest = found["rest"]
    op_name = symbol = ""
    scope = _SCOPE.search(rest)
    if scope:
        op_name, symbol = scope["op"], scope["symbol"] or ""
        rest = rest[: scope.start()]
    rest = rest.removesuffix(" (invalidated)")
    failed = False
    new = _NEW.match(rest)
    old = None if new else _OLD.match(rest.removesuffix(" Failed"))
    if new:
        name, argument, options = new["name"], new["argument"], (new["options"] or "").strip()
    elif old:
        name, argument, options = old["name"], old["argument"], ""
    else:
        name, argument, options = rest, "", ""
    if rest.endswith(" Failed") or name.endswith(" Failed") or argument.endswith(" Failed"):
        failed = True
    name, argument = name.removesuffix(" Failed").strip(), argument.removesuffix(" Failed").strip()
    when: When = "before" if found["when"] == "Before" else "after"
    internal = found["inner"] is not None
    return Banner(found["prefix"], when, internal, name, argument, options, failed, op_name, symbol)


def index(data: Data) -> Iterator[tuple[Snapshot, Banner]]:
    """The dumps of a log with their banners, in order; a dump reaches to the next banner's line.

    Memory of the mapped file is let go behind the dump that was given out last.
    """
    known: dict[bytes, Banner | None] = {}
    find, rfind, size = data.find, data.rfind, len(data)
    held: tuple[int, Banner] | None = None
    number = released = 0
    place = find(NEEDLE)
    while place >= 0:
        begin = rfind(b"\n", max(0, place - 400), place) + 1
        end = find(b"\n", place, place + _LONGEST_BANNER)
        end = size if end < 0 else end
        line = data[begin:end]
        if line in known:
            banner = known[line]
        else:
            banner = known[line] = parse_banner(line.decode("utf-8", "replace").rstrip("\r"))
        if banner is not None:
            if held is not None:
                yield _dump(number, held[0], begin, held[1]), held[1]
                number += 1
                if held[0] - released > RELEASE_EVERY:
                    release(data, released, held[0])
                    released = held[0]
            held = min(end + 1, size), banner
        place = find(NEEDLE, end)
    if held is not None:
        yield _dump(number, held[0], size, held[1]), held[1]
    release(data, released, size)


def _dump(number: int, start: int, end: int, banner: Banner) -> Snapshot:
    return Snapshot(
        number, start, end, "mlir", banner.name, banner.argument, banner.options, banner.when,
        banner.failed, banner.op_name, banner.symbol, title=banner.name,
    )  # fmt: skip


def kernel_of(data: Data, start: int, end: int) -> str:
    """The symbol of the first public function in a stretch of text, else of the first function, else ''."""
    window = bytes(data[start : min(end, start + 400_000)])
    first = ""
    for found in _KERNEL.finditer(window):
        name = found.group(1).decode("utf-8", "replace").strip('"')
        if b" public " in found.group(0):
            return name
        first = first or name
    return first


def read_log(data: Data, gap: Callable[[Snapshot], bool]) -> tuple[list[Snapshot], list[PassRun]]:
    """The dumps of a log and the passes that ran, from the dumps around them.

    Before-only logs (Triton's) say what came out of a pass by the dump in front of the next one; in
    after-only logs the dump before a pass is the one behind the pass before it. `gap(dump)` tells whether
    prose stands behind a dump: then nothing links it with the next one.
    """
    snapshots: list[Snapshot] = []
    runs: list[PassRun] = []
    open_runs: list[PassRun] = []
    counts: dict[tuple[str, str], int] = {}
    tracker = _Kernels(data, gap)
    before_only = True
    for snapshot, banner in index(data):
        if tracker.visit(snapshot, banner, snapshots[-1] if snapshots else None):
            open_runs.clear()
        snapshots.append(snapshot)
        snapshot.kernel = tracker.kernel
        if banner.internal:
            if runs:
                snapshot.parent = runs[-1].index
                runs[-1].nested.append(snapshot.index)
            continue
        before_only = before_only and (banner.when == "before" or banner.failed)
        if banner.when == "after" and _close(open_runs, snapshot, banner):
            continue
        key = (snapshot.kernel, banner.argument or banner.name)
        counts[key] = counts.get(key, 0) + 1
        run = PassRun(
            len(runs), banner.name, banner.argument, counts[key], snapshot.kernel, tracker.manager,
            before=None, after=None, changed=None, failed=banner.failed, options=banner.options,
        )  # fmt: skip
        run.depth = _depth(runs, banner, tracker.manager)
        if banner.when == "before":
            run.before = snapshot.index
            open_runs.append(run)
        else:
            run.after = snapshot.index
        runs.append(run)
    _link(runs, snapshots, before_only)
    return snapshots, runs


class _Kernels:
    """Which kernel and which pass manager the log is in."""

    def __init__(self, data: Data, gap: Callable[[Snapshot], bool]) -> None:
        self.data = data
        self.gap = gap
        self.kernel = ""
        self.mark = b""
        self.manager = 0
        self.first: Banner | None = None

    def visit(self, snapshot: Snapshot, banner: Banner, before: Snapshot | None) -> bool:
        """Move on to a dump; True if it belongs to another kernel or to a new start of the pipeline."""
        if self.first is None or before is None:
            self.first = banner
            self._enter(self._read(snapshot, banner))
            return False
        restart = (banner.name, banner.op_name) == (self.first.name, self.first.op_name)
        again = restart and (banner.name in _INLINER or self.gap(before))
        if not again and (not self.mark or self._mentions(snapshot)):
            return False
        kernel = self._read(snapshot, banner)
        if kernel == self.kernel and not again:
            return False
        self._enter(kernel)
        self.manager += 1
        return True

    def _enter(self, kernel: str) -> None:
        self.kernel = kernel
        self.mark = b"@" + kernel.encode() if kernel else b""

    def _mentions(self, snapshot: Snapshot) -> bool:
        near = min(snapshot.end, snapshot.start + _NEAR)
        return (
            self.data.find(self.mark, snapshot.start, near) >= 0
            or self.data.find(self.mark, near, snapshot.end) >= 0
        )

    def _read(self, snapshot: Snapshot, banner: Banner) -> str:
        found = kernel_of(self.data, snapshot.start, snapshot.end)
        return found or banner.symbol


def _depth(runs: list[PassRun], banner: Banner, manager: int) -> int:
    """1 for the canonicalizer that the inliner runs on each function, else 0."""
    if banner.op_name in ("", "builtin.module") or not runs or runs[-1].manager != manager:
        return 0
    return int(runs[-1].depth == 1 or runs[-1].name in _INLINER)


def _close(open_runs: list[PassRun], snapshot: Snapshot, banner: Banner) -> bool:
    """Give an after-dump to the run whose before-dump is still waiting for it."""
    for index in range(len(open_runs) - 1, -1, -1):
        run = open_runs[index]
        if (run.name, run.argument) == (banner.name, banner.argument):
            run.after = snapshot.index
            run.failed = run.failed or banner.failed
            del open_runs[index:]
            return True
    return False


def _link(runs: list[PassRun], snapshots: list[Snapshot], before_only: bool) -> None:
    """Fill in the missing side of each run from its neighbour in the same manager and scope."""
    following: dict[int, int | None] = {}
    if before_only:
        for run in reversed(runs):
            depths = [following.get(depth) for depth in range(run.depth + 1)]
            nearest = [i for i in depths if i is not None and runs[i].manager == run.manager]
            if run.after is None and nearest:
                run.after = runs[min(nearest)].before
            following[run.depth] = run.index
        return
    latest: dict[tuple[int, str], int] = {}
    for run in runs:
        shown = run.after if run.after is not None else run.before
        scope = snapshots[shown].symbol if shown is not None else ""
        if run.before is None:
            run.before = latest.get((run.manager, scope), latest.get((run.manager, "")))
        if run.after is not None:
            latest[run.manager, scope] = run.after
