"""A streaming plan as text: memory, times, the timeline, what a larger budget buys, and the proof."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...ir.analysis.stalls import bytes_in_words, percent, time_in_words, verdict
from ...ir.passes.streaming.report import Account, PlanReport, residency
from ..safe import visible
from .timeline_text import lane_lines, marks_for, stall_lines, terminal_width

_MOST_ROWS: Final = 12
_BAR: Final = 24


def plan_text(
    report: PlanReport, *, every: bool = False, width: int | None = None, encoding: str | None = "utf-8"
) -> str:
    """The report; `every` lists all literals and stalls. Ends with a line feed."""
    width = max(40, terminal_width() if width is None else width)
    lines = [
        *_verdict(report),
        "",
        *_memory(report),
        "",
        *_times(report),
        "",
        *_timeline(report, width, encoding, every),
        "",
        *_residency(report, every),
        *_curve(report),
        "",
        *_proof(report),
    ]
    return "\n".join(visible(line) for line in lines) + "\n"


def _verdict(report: PlanReport) -> Iterator[str]:
    ratio = report.before_us / report.period_us if report.period_us else 1.0
    per = "an inference" if report.wishes.steady else "the first inference"
    planned, stands = time_in_words(report.period_us), time_in_words(report.before_us)
    faster = f" ({ratio:.2f} times faster)" if ratio >= 1.005 else ""
    yield f"{report.device.name}: {planned} {per} as planned, {stands} as it stands{faster}"
    for line in verdict(report.before_timeline):
        yield f"as it stands: {line}"
    if report.copies_before:
        yield (
            f"as it stands: {report.hidden_by_nothing} of {report.copies_before} copies have no kernel "
            "between them and their first use"
        )


def _memory(report: PlanReport) -> Iterator[str]:
    before, after = report.before, report.after
    yield f"{'memory on the GPU, bytes':<34}{'as it stands':>16}{'planned':>16}"
    rows = [
        ("literals resident", before.resident, after.resident),
        ("arena", before.arena, after.arena),
        ("parameters (inputs and outputs)", before.parameters, after.parameters),
        ("code objects", before.code, after.code),
        ("other", before.other, after.other),
        ("in all", before.total, after.total),
    ]
    for label, old, new in rows:
        if label != "other" or old or new:
            yield f"  {label:<32}{old:>16,}{new:>16,}"
    yield f"  {'live in the arena at most':<32}{before.peak_live:>16,}{report.plan.live_bound:>16,}"
    needs = _without_literals(before)
    yield (
        f"  everything but the {before.literals:,} bytes of literals needs {needs:,}: live activations "
        f"{before.everything_but_literals:,}, parameters, code objects"
    )
    if report.wishes.memory_limit is not None:
        room = report.wishes.memory_limit - after.total
        yield f"  the limit is {report.wishes.memory_limit:,}; {room:,} are left"


def _without_literals(account: Account) -> int:
    return account.everything_but_literals + account.parameters + account.code


def _times(report: PlanReport) -> Iterator[str]:
    plan = report.plan
    rows = [
        ("as it stands", report.before_us, f"copies hidden: {percent(report.before_timeline.overlap)}"),
        ("copied at first use, one stream", report.naive_us, "copies hidden: 0 %"),
        ("planned", report.period_us, f"copies hidden: {percent(report.timeline.overlap)}"),
        ("bound: the larger of", plan.bound_us, ""),
        ("  computing", plan.compute_us, f"{len(report.work.slots)} kernels"),
        (
            "  copying",
            plan.copy_us,
            f"{len(plan.streamed)} literals in {len(plan.batches)} transfers, "
            f"{bytes_in_words(sum(weight.bytes for weight in plan.streamed))}",
        ),
    ]
    what = "time from inference to inference" if report.wishes.steady else "time of one cold inference"
    yield what
    for label, us, said in rows:
        yield f"  {label:<34}{time_in_words(us):>10}  {said}".rstrip()
    if report.same_memory is not None:
        same, limit = report.same_memory, report.before.total
        told = f"with --memory-limit {limit}, which is what it takes as it stands"
        yield f"  {'planned within the same memory':<34}{time_in_words(same.period_us):>10}  {told}"
    gap = f"  the plan takes {max(100 * report.gap, 0.0):.1f} % over its bound"
    yield f"{gap}: {report.gap_reason}" if report.gap_reason else gap


def _timeline(report: PlanReport, width: int, encoding: str | None, every: bool) -> Iterator[str]:
    found = report.timeline
    marks = marks_for(encoding)
    ends = [0.0, *found.ends_us]
    # The last run of a steady stream; the first ones fill the pipeline.
    yield "the timeline of " + ("one inference of a steady stream" if len(ends) > 2 else "the inference")
    yield from lane_lines(found, width, marks, ends[-2], ends[-1])
    if every:
        yield from stall_lines(found, 1 << 30)


def _residency(report: PlanReport, every: bool) -> Iterator[str]:
    rows = residency(report)
    kept = sum(stays for _, stays in rows)
    budget = report.wishes.budget
    asked = "auto" if budget is None else f"{budget:,} bytes"
    yield (
        f"{kept} of {len(rows)} literals stay resident, {report.plan.resident_bytes:,} bytes (budget {asked})"
    )
    if not rows:
        return
    place = {
        id(weight): (number, issue)
        for number, (batch, issue) in enumerate(zip(report.plan.batches, report.plan.issue, strict=True))
        for weight in batch.weights
    }
    shown = rows if every else sorted(rows, key=lambda row: -row[0].bytes)[:_MOST_ROWS]
    yield f"  {'literal':<16}{'bytes':>12}  {'first use':>9}  plan"
    for weight, stays in sorted(shown, key=lambda row: row[0].first):
        number, issue = place.get(id(weight), (0, 0))
        run = f"{issue}" if issue >= 0 else f"{issue + len(report.work.slots)} of the run before"
        what = "resident" if stays else f"transfer {number}, issued at slot {run}"
        yield f"  {visible(weight.name):<16}{weight.bytes:>12,}  {'slot ' + str(weight.first):>9}  {what}"
    if len(shown) < len(rows):
        yield f"  and {len(rows) - len(shown)} smaller ones (--all lists them)"


def _curve(report: PlanReport) -> Iterator[str]:
    if not report.curve:
        return
    yield ""
    yield "what a budget buys (bytes resident at most, time, bytes on the GPU in all)"
    most = max(point.period_us for point in report.curve)
    for point in report.curve:
        bar = "#" * max(1, round(_BAR * point.period_us / most)) if most else ""
        yield f"  {point.budget:>14,}  {time_in_words(point.period_us):>9}  {point.total:>14,}  {bar}"


def _proof(report: PlanReport) -> Iterator[str]:
    if not report.violations:
        yield (
            "verified: within budget and arena, every literal copied before it is read, nothing overwritten "
            "while it is in use, the same kernels with the same operands"
        )
        return
    yield f"NOT VALID: {len(report.violations)} violations"
    for each in report.violations:
        yield f"  {each.kind}: {each.message}"
