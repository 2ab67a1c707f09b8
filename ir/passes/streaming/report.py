"""A plan with everything that is said about it: memory, times, what a larger budget would buy, its proof."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ...analysis.cost import kernel_us
from ...analysis.devices import Device
from ...analysis.memory import arena_use
from ...analysis.migraphx_summary import copies_of, is_resident, main_body
from ...analysis.timeline import Timeline, timeline
from ...analysis.verify_plan import plan_memory, verify_plan
from ...analysis.violation import Violation
from ...errors import InputError
from ...program import Program
from ...types import Type, byte_size
from ..step import Debugger
from .decisions import Plan, Wishes
from .passes import StreamingPass
from .planner import make_plan
from .work import Weight, Work

RUNS: Final = 6
"""Runs that are simulated to see a steady stream."""
_CURVE: Final = (0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
_CLOSE: Final = 0.05


@dataclass(frozen=True, slots=True)
class Account:
    """Bytes of GPU memory that a program needs."""

    literals: int
    """Of all literals, wherever they are."""
    resident: int
    arena: int
    peak_live: int
    """The most bytes of arena buffers live at once, in the order of the program."""
    everything_but_literals: int
    """The same without what literals are copied into."""
    parameters: int
    code: int
    other: int

    @property
    def total(self) -> int:
        """What the GPU must hold while the program runs."""
        return self.resident + self.arena + self.parameters + self.code + self.other


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """What a budget would give: bytes resident at most, time from run to run, bytes on the GPU in all."""

    budget: int
    period_us: float
    total: int


@dataclass(slots=True)
class PlanReport:
    """Before and after, and why to believe it."""

    device: Device
    wishes: Wishes
    before: Account
    after: Account
    before_timeline: Timeline
    timeline: Timeline
    naive_us: float
    """Time from run to run with the same literals copied where they are used, on the kernels' stream."""
    plan: Plan
    work: Work
    program: Program
    """The planned program."""
    copies_before: int
    hidden_by_nothing: int
    """Copies of the original with no kernel between them and their first use."""
    violations: list[Violation]
    same_memory: CurvePoint | None = None
    """What a plan gives within the memory that the program takes as it stands, where the plan takes more."""
    curve: list[CurvePoint] = field(default_factory=list)
    gap_reason: str = ""
    """Why the plan takes more than 5 % over its bound; '' if it does not."""

    @property
    def before_us(self) -> float:
        """Time from run to run of the original."""
        return self.before_timeline.period_us

    @property
    def period_us(self) -> float:
        """Time from run to run of the plan (of one cold run, where that was asked for)."""
        return self.timeline.period_us if self.wishes.steady else self.timeline.makespan_us

    @property
    def gap(self) -> float:
        """How much longer than the bound the plan takes, as a share."""
        bound = self.plan.bound_us
        return self.period_us / bound - 1.0 if bound > 0 else 0.0


def plan_report(
    read: Callable[[], Program],
    device: Device,
    wishes: Wishes,
    *,
    naive: bool = False,
    pinned: bool = True,
    curve: bool = True,
) -> PlanReport:
    """Plan a program; `read` gives it afresh each time it is called.

    Raises:
        InputError: the program is none that can be planned, or the memory limit cannot be kept.
    """
    original, program = read(), read()
    link = device.transfer(pinned)
    streaming = StreamingPass(lambda op: kernel_us(op, device), link, wishes, naive)
    Debugger(streaming, program).finish()
    plan, work = streaming.plan, streaming.work
    assert plan is not None and work is not None
    before, after = main_body(original), main_body(program)
    runs = RUNS if wishes.steady else 1
    copies = copies_of(before)
    report = PlanReport(
        device,
        wishes,
        account(original),
        account(program),
        timeline(before, device, runs=runs, pinned=pinned),
        timeline(after, device, runs=runs, pinned=pinned),
        work.compute_us + sum(link.time_us(weight.bytes) for weight in plan.streamed),
        plan,
        work,
        program,
        len(copies),
        sum(copy.distance == 0 for copy in copies),
        verify_plan(
            program, original, budget=wishes.budget, memory_limit=wishes.memory_limit, steady=wishes.steady
        ),
    )
    report.gap_reason = _why_slower(report)
    if curve:
        report.curve = _curve(work, report, device, pinned)
        if report.after.total > report.before.total:
            limit = report.before.total
            report.same_memory = _point(work, report, device, pinned, replace(wishes, memory_limit=limit))
    return report


def account(program: Program) -> Account:
    """The bytes that a program needs on the GPU."""
    instructions = main_body(program)
    memory = plan_memory(instructions)
    use = arena_use(instructions)
    literals = sum(
        _bytes(op.results[0].type)
        for op in instructions
        if op.results and (op.name == "@literal" or is_resident(op))
    )
    return Account(
        literals,
        memory["resident"],
        memory["arena"],
        use.peak_live,
        use.peak_live_without_streamed,
        memory["parameters"],
        memory["code"],
        memory["other"],
    )


def _curve(work: Work, report: PlanReport, device: Device, pinned: bool) -> list[CurvePoint]:
    """The plans of other budgets, by the planner's own times."""
    budgets = [work.literal_bytes * percent // 100 for percent in _CURVE]
    points = [_point(work, report, device, pinned, replace(report.wishes, budget=each)) for each in budgets]
    return [point for point in points if point is not None]


def _point(work: Work, report: PlanReport, device: Device, pinned: bool, wishes: Wishes) -> CurvePoint | None:
    """What the planner makes of other wishes; None where they cannot be met."""
    try:
        plan = make_plan(work, device.transfer(pinned), wishes)
    except InputError:
        return None
    total = plan.resident_bytes + plan.arena + work.parameters + work.code
    return CurvePoint(wishes.budget or 0, plan.period_us, total)


def _why_slower(report: PlanReport) -> str:
    """The reason for a gap of more than 5 %, by what would take it away."""
    plan, period = report.plan, report.period_us
    if report.gap <= _CLOSE:
        return ""
    host = report.timeline.host_us
    if host > plan.bound_us and host >= 0.9 * period:
        return f"the host needs {host:,.0f} us to issue a run, more than the GPU needs for it"
    if period > plan.period_us * (1 + _CLOSE):
        return "launches: the host issues kernels and copies later than the GPU could begin them"
    if report.wishes.memory_limit is not None:
        free = make_plan(report.work, report.device.transfer(report.timeline.pinned), replace(
            report.wishes, memory_limit=None, budget=plan.resident_bytes))  # fmt: skip
        if free.period_us < period * (1 - _CLOSE / 5):
            need = free.resident_bytes + free.arena + report.work.parameters + report.work.code
            return (
                f"the memory limit: {free.period_us:,.0f} us are possible with {need:,} bytes; within "
                f"{report.wishes.memory_limit:,} copies must wait for memory"
            )
    if not report.wishes.steady:
        return "a cold run: nothing runs yet under which the first copies could hide"
    return "kernels wait for copies that cannot begin earlier: their bytes are in use until then"


def report_json(report: PlanReport) -> dict[str, Any]:
    """The report as `passlens plan --json` gives it; the schema is docs/plan-schema.json."""
    plan = report.plan
    return {
        "device": report.device.name,
        "objective": "steady" if report.wishes.steady else "cold",
        "budget": report.wishes.budget,
        "memory_limit": report.wishes.memory_limit,
        "before": _account_json(report.before),
        "after": _account_json(report.after),
        "times_us": {
            "before": report.before_us,
            "naive": report.naive_us,
            "planned": report.period_us,
            "compute": plan.compute_us,
            "copies": plan.copy_us,
            "bound": plan.bound_us,
        },
        "gap": round(report.gap, 6),
        "gap_reason": report.gap_reason or None,
        "overlap": {"before": report.before_timeline.overlap, "planned": report.timeline.overlap},
        "copies": {
            "before": report.copies_before,
            "without_kernel_before_use": report.hidden_by_nothing,
            "transfers": len(plan.batches),
            "literals": len(plan.streamed),
            "bytes": sum(weight.bytes for weight in plan.streamed),
        },
        "residency": [
            {"literal": weight.name, "bytes": weight.bytes, "resident": kept, "first_slot": weight.first}
            for weight, kept in residency(report)
        ],
        "transfers": [
            {
                "literals": [weight.name for weight in batch.weights],
                "bytes": batch.bytes,
                "issue_slot": issue,
                "first_use": batch.first,
                "offset": offset,
            }
            for batch, issue, offset in zip(
                plan.batches, plan.issue, plan.offsets[len(plan.buffers) :], strict=True
            )
        ],
        "arena": {"bytes": plan.arena, "live_bound": plan.live_bound},
        "same_memory": None
        if report.same_memory is None
        else {"period_us": report.same_memory.period_us, "total": report.same_memory.total},
        "curve": [
            {"budget": point.budget, "period_us": point.period_us, "total": point.total}
            for point in report.curve
        ],
        "violations": [{"kind": each.kind, "message": each.message} for each in report.violations],
    }


def residency(report: PlanReport) -> list[tuple[Weight, bool]]:
    """(weight, whether it stays) in the order of first use."""
    kept = [(weight, True) for weight in report.plan.resident]
    return sorted(
        [*kept, *((weight, False) for weight in report.plan.streamed)], key=lambda each: each[0].first
    )


def _account_json(account: Account) -> dict[str, int]:
    return {
        "literals": account.literals,
        "resident": account.resident,
        "arena": account.arena,
        "peak_live": account.peak_live,
        "everything_but_literals": account.everything_but_literals,
        "parameters": account.parameters,
        "code": account.code,
        "other": account.other,
        "total": account.total,
    }


def _bytes(type: Type) -> int:
    return byte_size(type) or 0
