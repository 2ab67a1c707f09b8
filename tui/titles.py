"""How passes, snapshots and sizes are written on the screens."""

from __future__ import annotations

from typing import Final

from ..ir.snapshot import PassRun, Snapshot
from ..ir.trace import Trace

_FAMILIES: Final = (
    "tritonamdgpu-", "tritonnvidiagpu-", "triton-nvidia-gpu-", "triton-nvidia-", "tritongpu-", "triton-gpu-",
    "tritoninstrument-", "triton-", "nvgpu-", "nvws-", "gpu::", "migraphx-",
)  # fmt: skip


def run_title(run: PassRun) -> str:
    """`tritongpu-coalesce`, `canonicalize#3`: the pass and, from the second run on, which run it is."""
    return (run.argument or run.name) + (f"#{run.ordinal}" if run.ordinal > 1 else "")


def short_title(run: PassRun) -> str:
    """The title without the family of passes that it belongs to, for a narrow list."""
    title = run_title(run)
    for family in _FAMILIES:
        if title.startswith(family) and len(title) > len(family):
            return title[len(family) :]
    return title


def snapshot_title(snapshot: Snapshot) -> str:
    """What a snapshot shows: `before canonicalize`, or the name of a program that stands by itself."""
    name = snapshot.argument or snapshot.pass_name or snapshot.title
    return name if snapshot.when == "whole" else f"{snapshot.when} {name}"


def size_text(count: int) -> str:
    """Bytes for people: `602,112 bytes`, `30.1 MB` (decimal units, as the tools that print them use)."""
    for limit, unit in ((10**9, "GB"), (10**6, "MB"), (10**4, "kB")):
        if count >= limit:
            return f"{count / (10**3 if unit == 'kB' else limit):.1f} {unit}"
    return f"{count:,} byte{'s' * (count != 1)}"


def plural(count: int, word: str) -> str:
    """`1 pass`, `2 passes`, `3 ops`."""
    ending = "" if count == 1 else "es" if word.endswith("s") else "s"
    return f"{count:,} {word}{ending}"


def headline(trace: Trace) -> str:
    """The input in a few words: `MIGraphX · 107.6 kB · 2 programs`."""
    formats = {"mlir": "MLIR", "migraphx": "MIGraphX", "onnx": "ONNX"}
    kinds = dict.fromkeys(formats.get(s.format, s.format) for s in trace.snapshots[:1000])
    parts = [" + ".join(kinds) or "no program", size_text(trace.size)]
    if trace.runs:
        parts.append(plural(len(trace.runs), "pass"))
    else:
        parts.append(plural(len(trace.snapshots), "program"))
    kernels = trace.kernels if trace.runs else []
    if kernels:
        parts.append(plural(len(kernels), "kernel"))
    return " · ".join(parts)
