"""Putting passes together from the dumps around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..snapshot import PassRun, Snapshot
from .logs_kernels import INLINERS, Kernels
from .logs_mlir import Banner
from .logs_streams import Stream
from .logs_text import Data, Sweep

_FIRST: Final = 4096
"""Dumps looked at to tell whether a log prints before, after or around its passes."""


def read_passes(data: Data, stream: Stream, talks: Callable[[Snapshot], bool]) -> list[PassRun]:
    """The passes that ran, in the order in which they began.

    Before-only logs (Triton's) say what came out of a pass by the dump in front of the next one; in
    after-only logs the dump before a pass is the one behind the pass before it. Only dumps of one compile
    and of one scope (the whole module, or the same function) are linked, and only where no pass of the other
    scope ran between them: else a side is None. `talks(dump)` tells whether text stands behind a dump.
    """
    runs: list[PassRun] = []
    scopes: list[str] = []
    waiting: list[PassRun] = []
    counts: dict[tuple[str, str], int] = {}
    kernels = Kernels(data, stream.key, talks)
    paired = _is_paired(stream)
    before_only = True
    last: Snapshot | None = None
    sweep = Sweep(data)
    for snapshot, banner in zip(stream.snapshots, stream.banners, strict=True):
        if kernels.visit(snapshot, banner, last):
            waiting.clear()
        last = snapshot
        if snapshot.start > sweep.next:
            sweep.at(snapshot.start)
        snapshot.kernel = kernels.kernel
        if banner.internal:
            if runs:
                snapshot.parent = runs[-1].index
                runs[-1].nested.append(snapshot.index)
            continue
        after = banner.when == "after"
        before_only = before_only and (not after or banner.failed)
        if after and _close(waiting, snapshot, banner):
            continue
        key = (snapshot.kernel, banner.argument or banner.name)
        counts[key] = counts.get(key, 0) + 1
        run = PassRun(
            len(runs), banner.name, banner.argument, counts[key], snapshot.kernel, kernels.manager,
            None if after else snapshot.index, snapshot.index if after else None, None, banner.failed,
            options=banner.options,
        )  # fmt: skip
        run.depth = len(waiting) if paired else _depth(runs, banner, kernels.manager, kernels.scope)
        if not after:
            waiting.append(run)
        runs.append(run)
        scopes.append(kernels.scope)
    if before_only:
        _link_forward(runs, scopes)
    else:
        _link_back(runs, scopes)
    return runs


def _is_paired(stream: Stream) -> bool:
    """Whether passes are printed before and after."""
    whens = {b.when for b in stream.banners[:_FIRST] if not b.internal and not b.failed}
    return len(whens) == 2


def _depth(runs: list[PassRun], banner: Banner, manager: int, scope: str) -> int:
    """1 for the canonicalizer that the inliner runs on each function, else 0."""
    if not banner.name.startswith("Canonicalizer") or not runs or runs[-1].manager != manager:
        return 0
    if not scope and banner.op_name in ("", "builtin.module"):
        return 0
    return int(runs[-1].depth == 1 or runs[-1].name in INLINERS)


def _close(waiting: list[PassRun], snapshot: Snapshot, banner: Banner) -> bool:
    """Give an after-dump to the run whose before-dump is still waiting for it."""
    for index in range(len(waiting) - 1, -1, -1):
        run = waiting[index]
        if (run.name, run.argument) == (banner.name, banner.argument):
            run.after = snapshot.index
            run.failed = run.failed or banner.failed
            del waiting[index:]
            return True
    return False


def _link_forward(runs: list[PassRun], scopes: list[str]) -> None:
    """In a before-only log, what comes out of a run is what goes into the next one."""
    modules: dict[int, int] = {}
    functions: dict[str, int] = {}
    manager = -1
    for run in reversed(runs):
        if run.manager != manager:
            manager = run.manager
            modules.clear()
            functions.clear()
        scope = scopes[run.index]
        if scope:
            nearest = functions.get(scope)
            if not run.depth:
                modules.clear()
            functions[scope] = run.index
        else:
            nearest = min((modules[d] for d in range(run.depth + 1) if d in modules), default=None)
            functions.clear()
            modules[run.depth] = run.index
        if run.after is None and nearest is not None and not run.failed:
            run.after = runs[nearest].before


def _link_back(runs: list[PassRun], scopes: list[str]) -> None:
    """In a log of after-dumps, what goes into a run is what came out of the last one of its scope."""
    module: int | None = None
    functions: dict[str, int | None] = {}
    manager = -1
    for run in runs:
        if run.manager != manager:
            manager, module = run.manager, None
            functions.clear()
        scope = scopes[run.index]
        if scope:
            if run.before is None:
                run.before = functions.get(scope)
            functions[scope] = run.after
            if not run.depth:
                module = None
        else:
            if run.before is None:
                run.before = module
            module = run.after
            functions.clear()
