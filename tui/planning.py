"""Plans for the Timeline screen: what is asked for, and the programs with their timelines side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from math import ceil, floor
from typing import Final, Literal

from ..ir.analysis.devices import Device, device
from ..ir.analysis.intervals import Interval
from ..ir.analysis.lives import Life, lives_of
from ..ir.analysis.migraphx_summary import main_body
from ..ir.analysis.timeline import Stall, Timeline, timeline
from ..ir.analysis.views import is_kernel
from ..ir.errors import InputError
from ..ir.passes.streaming.decisions import Wishes
from ..ir.passes.streaming.report import RUNS, Account, PlanReport, account, plan_report
from ..ir.program import Op, Program
from .commands.plan import size_of

Which = Literal["as it stands", "naive", "planned"]
WHICH: Final[tuple[Which, ...]] = ("planned", "as it stands", "naive")
STEP: Final = 5
"""Percent of all literals that one step of the budget slider is."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What the reader wants planned; `budget` as it is typed: `25%`, `50MB`, `auto`."""

    budget: str = "0%"
    limit: int | None = None
    """Bytes of GPU memory for everything, or None."""
    device: str = "h200"
    steady: bool = True


@dataclass(slots=True)
class Sight:
    """One program with its timeline, of which one run is shown."""

    which: Which
    account: Account
    timeline: Timeline
    lives: list[Life]
    slots: dict[int, int]
    """Identity of a kernel → its number in the order of issue, from 0."""
    begin_us: float
    end_us: float

    @property
    def span_us(self) -> float:
        """Microseconds of the run that is shown."""
        return self.end_us - self.begin_us

    @property
    def stalls(self) -> list[Stall]:
        """What kernels of the run that is shown stood still for."""
        return [
            stall
            for stall in self.timeline.stalls
            if stall.interval.kind == "kernel" and self.begin_us < stall.interval.start_us <= self.end_us
        ]

    def lanes(self) -> list[tuple[str, list[Interval]]]:
        """Copy engines, then the streams that have kernels, then the host, with what is on them."""
        found: dict[str, list[Interval]] = {}
        for interval in self.timeline.intervals:
            if interval.end_us > self.begin_us and interval.start_us < self.end_us:
                found.setdefault(interval.lane, []).append(interval)
        names = [lane for lane in self.timeline.lanes if lane != "host" and lane in found]
        if "host" in found:
            names.append("host")
        return [(name, found[name]) for name in names]


@dataclass(slots=True)
class Planned:
    """The answer to an `Ask`."""

    ask: Ask
    literals: int
    """Bytes of all literals."""
    sights: dict[Which, Sight]
    report: PlanReport | None
    """None where there is no plan, or none yet."""
    fault: str = ""
    """Why there is no plan; '' while it is being made."""


def budget_bytes(text: str, literals: int) -> int | None:
    """Bytes of a budget: a size, a share of all literals (`25%`), or None for `auto`.

    Raises:
        InputError: the text is none of these.
    """
    text = text.strip()
    if text == "auto":
        return None
    number = text[:-1].strip()
    if text.endswith("%") and len(number) <= 6 and number.replace(".", "", 1).isdecimal():
        return int(literals * float(number) / 100)
    try:
        return size_of(text, "budget")
    except InputError as error:
        raise InputError(f"{error}, a share such as 25%, or auto") from error


def stepped(ask: Ask, by: int, literals: int) -> Ask:
    """The budget moved to the next multiple of 5 % of all literals."""
    wanted = budget_bytes(ask.budget, literals)
    share = 100 if wanted is None else 100 * wanted / literals if literals else 0
    at = share / STEP
    number = floor(at + 1e-6) + 1 if by > 0 else ceil(at - 1e-6) - 1
    return replace(ask, budget=f"{min(max(number * STEP, 0), 100)}%")


def plans_for(read: Callable[[], Program], ask: Ask, free_memory: int | None = None) -> Iterator[Planned]:
    """The program as it stands; then beside its plan, or why there is none; then with the naive plan too.

    Each is there as soon as it can be. `free_memory` is what was free on the GPU, in bytes, as the input
    says; `auto` fills it.

    Raises:
        InputError: the program cannot be read, or the device is not known.
    """
    target = device(ask.device)
    original = read()
    before = account(original)
    now = timeline(main_body(original), target, runs=RUNS if ask.steady else 1)
    stands: dict[Which, Sight] = {"as it stands": _sight("as it stands", before, now)}
    yield Planned(ask, before.literals, stands, None)
    try:
        report = _report(read, ask, target, before.literals, free_memory, naive=False)
    except InputError as error:
        yield Planned(ask, before.literals, stands, None, str(error))
        return
    sights = {**stands, "planned": _sight("planned", report.after, report.timeline)}
    yield Planned(ask, before.literals, sights, report)
    with suppress(InputError):  # copies at first use keep no limit, so there may be no such plan
        naive = _report(read, ask, target, before.literals, free_memory, naive=True)
        sights = {**sights, "naive": _sight("naive", naive.after, naive.timeline)}
        yield Planned(ask, before.literals, sights, report)


def _report(
    read: Callable[[], Program],
    ask: Ask,
    target: Device,
    literals: int,
    free_memory: int | None,
    *,
    naive: bool,
) -> PlanReport:
    budget = budget_bytes(ask.budget, literals)
    limit = ask.limit
    if budget is None and limit is None:
        limit = free_memory if free_memory is not None else target.memory_bytes
    return plan_report(read, target, Wishes(budget, limit, ask.steady), naive=naive, curve=False)


def _sight(which: Which, memory: Account, found: Timeline) -> Sight:
    ends = [0.0, *found.ends_us]
    # Of several runs the last but one: what is copied for it, and for the next one, is all there.
    at = len(ends) - 2 if len(ends) > 3 else len(ends) - 1
    kernels: list[Op] = [op for op in found.instructions if is_kernel(op)]
    slots = {id(op): number for number, op in enumerate(kernels)}
    return Sight(which, memory, found, lives_of(found), slots, ends[at - 1] if at else 0.0, ends[at])
