"""What the Timeline screen says in words: memory, times, and what is under the cursor."""

from __future__ import annotations

from typing import Final

from ...ir.analysis.intervals import Interval
from ...ir.analysis.lives import Life
from ...ir.analysis.stalls import bytes_in_words, described, percent, sentence, time_in_words, why
from ..planning import Planned, Sight, budget_bytes
from .rows import Pieces

_SLIDER: Final = 20


def sight_title(sight: Sight) -> str:
    """A program's name with its time and what is hidden, above its lanes."""
    found = sight.timeline
    copies = [each for each in found.intervals if each.kind == "copy"]
    if not copies:
        hidden = "no copies"
    elif found.overlap <= 0:
        hidden = "no copy (░) overlaps a kernel"
    elif found.overlap >= 0.9995:
        hidden = "every copy (▓) hides under kernels"
    else:
        hidden = f"{percent(found.overlap)} of copying hides (▓), the rest not (░)"
    memory = bytes_in_words(sight.account.total)
    return f" {sight.which}: {time_in_words(sight.span_us)} a run, {memory} on GPU; {hidden}"


def arena_title(sight: Sight) -> str:
    """What the picture of the arena shows."""
    size = sight.account.arena
    if not size:
        return f" no arena in the program {sight.which}"
    signs = "▓ weight  ▒ activation  · free"
    return f" arena {sight.which}: {bytes_in_words(size)}, offsets down   {signs}"


def budget_pieces(planned: Planned | None, budget: str, limit: int | None) -> Pieces:
    """The slider, with what it stands for."""
    literals = planned.literals if planned is not None else 0
    wanted = budget_bytes(budget, literals)
    share = 1.0 if wanted is None or not literals else min(wanted / literals, 1.0)
    share = 0.0 if not literals and wanted is not None else share
    full = round(share * _SLIDER)
    said = "auto" if wanted is None else f"{budget} = {bytes_in_words(wanted)}" if literals else budget
    if planned is not None and planned.report is not None:
        said += f", {bytes_in_words(planned.report.plan.resident_bytes)} stay"
    kept = f"  limit {bytes_in_words(limit)}" if limit is not None else "  no limit"
    return (
        (" budget ", "dim"), ("< ", "key"), ("■" * full, "accent"), ("□" * (_SLIDER - full), "dim"),
        (" > ", "key"), (said, "heading"), (kept, "dim"),
    )  # fmt: skip


def memory_pieces(planned: Planned) -> Pieces:
    """How much memory each program needs."""
    pieces: list[tuple[str, str]] = [(" memory ", "dim")]
    for number, sight in enumerate(_ordered(planned)):
        use = sight.account
        pieces += [
            (f" → {sight.which} " if number else " ", "dim"), (bytes_in_words(use.total), "heading"),
            (f", arena {bytes_in_words(use.arena)}", "dim"),
            (f", weights {bytes_in_words(use.resident)}" if use.resident else "", "dim"),
        ]  # fmt: skip
    return tuple(pieces)


def time_pieces(planned: Planned) -> Pieces:
    """How long each program takes, and the bound."""
    pieces: list[tuple[str, str]] = [(" time    ", "dim")]
    for number, sight in enumerate(_ordered(planned)):
        share = percent(sight.timeline.overlap)
        pieces += [
            (f" → {sight.which} " if number else "", "dim"), (time_in_words(sight.span_us), "heading"),
            (f", {share}" if number else f", {share} hidden", "dim"),
        ]  # fmt: skip
    report = planned.report
    if report is not None:
        if report.period_us > 0:
            pieces += [(" · ", "dim"), (f"{report.before_us / report.period_us:.2f}×", "accent")]
        pieces.append((f" · bound {time_in_words(report.plan.bound_us)}", "dim"))
    return tuple(pieces)


def _ordered(planned: Planned) -> list[Sight]:
    return [planned.sights[which] for which in ("as it stands", "planned") if which in planned.sights]


def proof_pieces(planned: Planned | None) -> Pieces:
    """The verifier's verdict in a word."""
    if planned is None or (planned.report is None and not planned.fault):
        return ((" planning… ", "warn"),)
    if planned.report is None:
        return ((" ✗ no plan ", "bad"),)
    broken = len(planned.report.violations)
    if broken:
        return ((f" ✗ NOT VALID: {broken} violation{'s' * (broken != 1)} ", "bad"),)
    return ((" ✓ plan verified ", "good"),)


def interval_words(sight: Sight, interval: Interval) -> list[str]:
    """What an interval is and why it began no earlier."""
    slot = sight.slots.get(id(interval.op))
    where = f", slot {slot}" if slot is not None else ""
    start = interval.start_us - sight.begin_us
    begins = f"starts at {time_in_words(start)}" if start >= 0 else f"started {time_in_words(-start)} before"
    rate = ""
    if interval.kind == "copy" and interval.us > 0:
        rate = f" ({interval.bytes:,} bytes, {interval.bytes / interval.us / 1e3:.1f} GB/s)"
    name = interval.op.results[0].name if interval.op.results else interval.op.name
    what = described(interval)
    kind = "" if name in what else f" into {name}"
    said = f"{what}{kind}{where}: {begins}, takes {time_in_words(interval.us)}{rate}"
    stall = next((each for each in sight.timeline.stalls if each.interval is interval), None)
    if stall is not None and interval.kind == "kernel":
        # Who stands still is in the line above; of the sentence only the cause is new.
        told, cause = sentence(stall), why(interval)
        return [
            said,
            f"▲ {interval.lane} stands still for {time_in_words(stall.us)}: {told[told.find(cause) :]}",
        ]
    return [said, f"began no earlier because {why(interval)}"]


def life_words(sight: Sight, life: Life) -> list[str]:
    """What lies in a cell of the arena."""
    buffer = life.buffer
    name = buffer.load.results[0].name
    first, last = sight.slots.get(id(life.first.op)), sight.slots.get(id(life.last.op))
    if life.streamed:
        sources = [value.name for value in life.first.op.operands[:-1]]
        shown = ", ".join(sources[:4]) + (f" and {len(sources) - 4} more" if len(sources) > 4 else "")
        what = f"streamed weight{'s' * (len(sources) != 1)} {shown} in {name}"
    else:
        what = f"activation {name}, written by {described(life.first)}"
    slots = f"slot {first} to {last}" if first is not None else f"from its copy to slot {last}"
    return [
        f"{what}: {buffer.bytes:,} bytes at offset {buffer.start:,} to {buffer.end:,}",
        f"in use {slots}, for {time_in_words(life.end_us - life.start_us)}; last read by "
        f"{described(life.last)}",
    ]
