"""Budgets: numbers of a program that must not get worse, by a bound or against a golden file.

A bound is written as `converts <= 12`; a golden file holds the numbers of an earlier run, by kernel. What is
better than either is reported as an improvement and fails nothing.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from ..analysis.devices import Device
from ..analysis.memory import arena_use
from ..analysis.migraphx_summary import main_body, summarize
from ..errors import InputError
from ..program import Program, walk
from .finding import Finding
from .rule import Rule

_BOUND: Final = re.compile(r"\s*(?P<name>\w+)\s*(?P<sign><=|>=|<|>|==)\s*(?P<number>-?\d+(?:\.\d+)?)\s*$")
_HOLDS: Final[dict[str, Callable[[float, float], bool]]] = {
    "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b, "<": lambda a, b: a < b, ">": lambda a, b: a > b,
    "==": lambda a, b: a == b,
}  # fmt: skip
MORE_IS_BETTER: Final = frozenset({"overlap"})

RULES: Final[tuple[Rule, ...]] = (
    Rule("PS401", "Budget not kept", "error", "budget", "What was promised does not hold any more.",
         "Find the pass or commit that changed it: `passlens diff --first-divergence`."),
    Rule("PS402", "Worse than the golden numbers", "error", "budget",
         "Something that was good got worse.", "Find what changed; or write new golden numbers on purpose."),
    Rule("PS403", "Better than the golden numbers", "note", "budget",
         "The golden numbers are out of date: a later loss down to them would not be seen.",
         "Write new golden numbers (--write-golden)."),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bound:
    """A number that a program's must hold; `kernel` is a pattern of kernel (or file) names."""

    kernel: str
    name: str
    sign: str
    number: float

    @property
    def text(self) -> str:
        """As it was written."""
        return f"{self.name} {self.sign} {self.number:g}"


def bound_of(text: str, kernel: str = "*") -> Bound:
    """A bound from its text.

    Raises:
        InputError: it is none.
    """
    found = _BOUND.match(text)
    if found is None or found["name"] not in NUMBERS:
        raise InputError(
            f"{text!r} is no budget: expected a name ({', '.join(NUMBERS)}), one of <= >= < > ==, "
            "and a number"
        )
    return Bound(kernel, found["name"], found["sign"], float(found["number"]))


NUMBERS: Final = (
    "ops", "converts", "converts_in_loops", "shared_bytes", "arena_bytes", "peak_live", "literal_bytes",
    "resident_bytes", "copies", "overlap", "kernels",
)  # fmt: skip
"""The numbers that there are; a program has those that make sense for its format."""


def numbers_of(program: Program, device: Device) -> dict[str, float]:
    """A program's numbers; bytes, counts, and the share of copy time under kernels on a device."""
    if program.format == "migraphx":
        return _migraphx(program, device)
    ops = [op for op in walk(program) if op.name and not op.implicit]
    found: dict[str, float] = {"ops": len(ops)}
    converts = [op for op in ops if op.name.endswith(".convert_layout")]
    if program.format == "mlir":
        from ..passes.layout.ledger import loops_around

        found["converts"] = len(converts)
        found["converts_in_loops"] = sum(loops_around(op) > 0 for op in converts)
        shared = re.search(r"(?:ttg|triton_gpu)\.shared\"? *= *(\d{1,12})", program.text)
        if shared:
            found["shared_bytes"] = int(shared[1])
    return found


def _migraphx(program: Program, device: Device) -> dict[str, float]:
    body = main_body(program)
    summary = summarize(program)
    use = arena_use(body)
    found: dict[str, float] = {
        "ops": len(body),
        "arena_bytes": use.bytes,
        "peak_live": use.peak_live,
        "literal_bytes": summary.literal_bytes,
        "resident_bytes": summary.resident_bytes,
        "copies": len(summary.copies),
        "kernels": summary.kernels,
    }
    if summary.copies:
        from ..analysis.timeline import timeline

        found["overlap"] = round(timeline(body, device, runs=2).overlap, 6)
    return found


def check_bounds(bounds: list[Bound], name: str, numbers: Mapping[str, float], file: str) -> list[Finding]:
    """Bounds that a program's numbers break; `name` is its kernel's or file's."""
    found = []
    for bound in bounds:
        value = numbers.get(bound.name)
        if value is None or not fnmatch.fnmatchcase(name, bound.kernel):
            continue
        if not _HOLDS[bound.sign](value, bound.number):
            message = f"{name}: {bound.name} is {value:g}, the budget says {bound.text}"
            found.append(_finding(RULES[0], message, file, name))
    return found


def check_golden(
    golden: Mapping[str, Mapping[str, float]], name: str, numbers: Mapping[str, float], file: str
) -> list[Finding]:
    """What is worse than the golden numbers, and what is better."""
    found = []
    for key, old in sorted(golden.get(name, {}).items()):
        new = numbers.get(key)
        if new is None or new == old:
            continue
        worse = new < old if key in MORE_IS_BETTER else new > old
        rule = RULES[1] if worse else RULES[2]
        message = f"{name}: {key} is {new:g}, the golden file says {old:g}"
        found.append(_finding(rule, message, file, name))
    return found


def _finding(rule: Rule, message: str, file: str, kernel: str) -> Finding:
    return Finding(
        rule.id, rule.severity, rule.title, message, file, 1, 1, rule.hazard, rule.mitigation, kernel
    )
