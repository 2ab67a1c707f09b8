"""Naming a snapshot of a trace on the command line: `12`, `canonicalize`, `NAME#2`, `NAME#2+`, `last`."""

from __future__ import annotations

import re

from ..ir.analysis.overview import main_snapshot
from ..ir.errors import InputError
from ..ir.snapshot import PassRun, Snapshot
from ..ir.trace import Trace

_NAMED = re.compile(r"(?P<name>.+?)(?:#(?P<ordinal>\d+))?(?P<after>\+)?$")


def find_snapshot(trace: Trace, which: str | None) -> Snapshot:
    """The snapshot that `which` names; without it the main program.

    A number is a snapshot's index, `last` the last one; a name is a pass (its name or its argument, any
    part of either that fits one pass only), `#K` its K-th run, `+` behind it what came out instead of what
    went in. Raises InputError with the names that there are.
    """
    if not trace.snapshots:
        raise InputError(f"{trace.name} holds no program to show")
    if which is None:
        main = main_snapshot(trace)
        return main or trace.snapshots[0]
    if which.lstrip("#").isdecimal():
        index = int(which.lstrip("#")[:9])
        if index >= len(trace.snapshots):
            raise InputError(
                f"there is no snapshot {index}: {trace.name} has 0 to {len(trace.snapshots) - 1}"
            )
        return trace.snapshots[index]
    if which == "last":
        return trace.snapshots[-1]
    return _by_pass(trace, which)


def _by_pass(trace: Trace, which: str) -> Snapshot:
    found = _NAMED.match(which)
    name = found["name"] if found else which
    runs = find_runs(trace, name)
    if not runs:
        titled = [s for s in trace.snapshots if s.title == which]
        if titled:
            return titled[0]
        known = ", ".join(dict.fromkeys(run.argument or run.name for run in trace.runs)) or "none"
        raise InputError(f"no pass is named {name!r}; the passes are: {known}")
    ordinal = int(found["ordinal"][:9]) if found and found["ordinal"] else 1
    if not 1 <= ordinal <= len(runs):
        raise InputError(f"{name} ran {len(runs)} time(s): there is no #{ordinal}")
    run = runs[ordinal - 1]
    wants_after = bool(found and found["after"])
    side = run.after if wants_after or run.before is None else run.before
    if side is None:
        raise InputError(
            f"the program {'after' if wants_after else 'before'} {name}#{ordinal} is not in the input"
        )
    return trace.snapshots[side]


def find_runs(trace: Trace, name: str) -> list[PassRun]:
    """The runs of the pass that `name` names: exactly, or else as part of one pass's name or argument."""
    exact = [run for run in trace.runs if name in (run.name, run.argument)]
    if exact:
        return exact
    folded = name.lower()
    partial = [run for run in trace.runs if folded in run.name.lower() or folded in run.argument.lower()]
    names = list(dict.fromkeys(run.argument or run.name for run in partial))
    if len(names) > 1:
        raise InputError(f"{name!r} could be any of: {', '.join(names)}")
    return partial
