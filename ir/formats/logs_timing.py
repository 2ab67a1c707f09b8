"""MLIR's execution time reports (`-mlir-timing`, `MLIR_ENABLE_TIMING=1`), joined with their passes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ..snapshot import PassRun

REPORT: Final = b"Execution time report"
_ENTRY: Final = re.compile(
    r"^ *(?:\d+\.\d+ \( *\d+\.\d+%\) +)*?(?P<seconds>\d{1,9}\.\d{1,9}) \( *\d+\.\d+%\)  "
    r"(?P<indent> *)(?P<name>\S.*?) *$"
)
_NO_PASS: Final = ("Rest", "Total")


@dataclass(frozen=True, slots=True)
class Timing:
    """One pass of a report."""

    name: str
    milliseconds: float


def read_report(text: str) -> list[Timing]:
    """The module passes of the reports in a text in order, with their wall time.

    Analyses, sums and pipelines on nested ops are left out: MLIR adds up what a pass took on each of them.
    """
    found: list[Timing] = []
    for line in text.split("\n"):
        entry = _ENTRY.match(line) if len(line) < 1000 else None
        if entry is None:
            continue
        name = entry["name"]
        if entry["indent"] or name in _NO_PASS or name.startswith("(A) ") or name.endswith(" Pipeline"):
            continue
        found.append(Timing(name, round(float(entry["seconds"]) * 1000, 4)))
    return found


def join(timings: Sequence[Timing], runs: Sequence[PassRun]) -> None:
    """Give module passes their milliseconds where a report has as many entries of a name as it has runs."""
    groups: dict[str, list[PassRun]] = {}
    for run in runs:
        groups.setdefault(run.name, []).append(run)
    times: dict[str, list[float]] = {}
    for timing in timings:
        times.setdefault(timing.name, []).append(timing.milliseconds)
    for name, group in groups.items():
        own = times.get(name, [])
        if len(own) == len(group):
            for run, milliseconds in zip(group, own, strict=True):
                run.milliseconds = milliseconds
