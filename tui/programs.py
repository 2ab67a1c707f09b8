"""The program of a snapshot in the form that streaming works on: a MIGraphX program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..ir.errors import InputError
from ..ir.program import Program
from ..ir.snapshot import Snapshot
from ..ir.trace import Trace


def planning_source(
    trace: Trace, snapshot: Snapshot, dims: Mapping[str, int] | None = None
) -> Callable[[], Program]:
    """A function that gives the snapshot's program afresh at each call; an ONNX model is lowered for it.

    `dims` are the sizes of a model's open dimensions by name; those that are not in it are 1.

    Raises:
        InputError: the snapshot is of a format that has no weights to stream, or a model that cannot be
            lowered, or that has no dimension of a name in `dims`.
    """
    if snapshot.format == "onnx":
        from ..ir.formats.migraphx import parse_migraphx, print_migraphx
        from ..ir.passes.streaming.lower.lower import lower

        text = print_migraphx(lower(trace.fresh(snapshot), dims, streamed=True).program)
        return lambda: parse_migraphx(text, trace.name)
    if dims:
        raise InputError(f"{trace.name} is no ONNX model: --dim {next(iter(dims))} has nothing to set")
    if snapshot.format == "migraphx":
        return lambda: trace.fresh(snapshot)
    raise InputError(
        f"{trace.name}: found {snapshot.format} IR, which carries no weights; expected a MIGraphX program "
        "or an ONNX model; `passlens info` lists what the file holds"
    )


def dims_of(texts: Sequence[str]) -> dict[str, int]:
    """Sizes of open dimensions from `name=size` texts.

    Raises:
        InputError: a text is none, or its size is not 1 or more.
    """
    dims: dict[str, int] = {}
    for text in texts:
        name, _, size = text.rpartition("=")
        if not name or not size.isdecimal() or len(size) > 9 or int(size) < 1:
            raise InputError(f"--dim {text}: expected NAME=SIZE, such as batch=8")
        dims[name] = int(size)
    return dims
