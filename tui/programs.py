"""The program of a snapshot in the form that streaming works on: a MIGraphX program."""

from __future__ import annotations

from collections.abc import Callable

from ..ir.errors import InputError
from ..ir.program import Program
from ..ir.snapshot import Snapshot
from ..ir.trace import Trace


def planning_source(trace: Trace, snapshot: Snapshot) -> Callable[[], Program]:
    """A function that gives the snapshot's program afresh at each call.

    Raises:
        InputError: the snapshot is of a format that has no weights to stream.
    """
    if snapshot.format == "migraphx":
        return lambda: trace.fresh(snapshot)
    raise InputError(
        f"{trace.name}: found {snapshot.format} IR, which carries no weights; expected a MIGraphX program "
        "or an ONNX model; `passlens info` lists what the file holds"
    )
