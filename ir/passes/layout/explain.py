"""What went wrong in a run of the pass, in sentences: which value, who asked, who should have made it."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...errors import line_and_column
from ...formats.mlir import parse_mlir
from ...program import Op, Program, Value
from ..step import Step
from .missing import Hop, Missing
from .propagate import choose
from .remove_conversions import RemoveLayoutConversions
from .rules import RULE_SETS, RuleSet
from .state import Run, role
from .tensors import Layout

FATAL = (
    "missing-mapping", "unexpected-op", "no-operand-encoding", "still-used", "out-of-range", "no-convergence",
)  # fmt: skip
"""Kinds of steps at which the compiler aborts, or its pass fails."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates of one value, and the pick."""

    value: str
    role: str
    encodings: tuple[str, ...]
    pick: str
    reason: str


@dataclass(frozen=True, slots=True)
class Way:
    """How a candidate came to a value: sentences from the anchor on."""

    value: str
    encoding: str
    hops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """One fault of a run."""

    kind: str
    """One of `FATAL`."""
    summary: str
    value: str = ""
    wanted: str = ""
    asked_by: str = ""
    owner: str = ""
    why: str = ""
    candidates: tuple[Candidates, ...] = ()
    ways: tuple[Way, ...] = ()
    visits: tuple[str, ...] = ()


@dataclass(slots=True)
class Report:
    """What one rule set does to a program, and what the others do."""

    rules: RuleSet
    faults: list[Explanation] = field(default_factory=list)
    latent: list[str] = field(default_factory=list)
    """Sentences about tied values that picked different encodings without a fault."""
    others: dict[str, str] = field(default_factory=dict)
    """Rule set → what comes of the same program under it."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Where ops stand: their program, and the line of the file on which its text begins."""

    program: Program
    first: int = 1

    def place(self, op: Op | None) -> str:
        """` (line 93)`; '' for an op that was made and not read."""
        if op is None or op.start < 0 or op.source is not self.program.source:
            return ""
        return f" (line {line_and_column(self.program.text, op.start)[0] + self.first - 1})"

    def name(self, op: Op) -> str:
        """`scf.for %67 (line 93)`."""
        names = ", ".join(dict.fromkeys(result.name.partition("#")[0] for result in op.results))
        return f"{op.name}{' ' + names if names else ''}{self.place(op)}"


def explain(text: str, rules: RuleSet, file: str = "<text>", first_line: int = 1) -> Report:
    """Run the pass on a text and explain every fault; the other rule sets are run for comparison.

    `first_line` is the line of the file on which the text begins.
    """
    program = parse_mlir(text, file)
    report = Report(rules)
    pass_ = RemoveLayoutConversions(rules)
    for step in pass_.steps(program):
        assert pass_.run is not None
        if step.kind in FATAL:
            report.faults.append(explain_step(pass_.run, program, step, first_line))
        elif step.kind == "latent":
            report.latent.append(step.why)
    for other in RULE_SETS.values():
        if other is not rules:
            report.others[other.name] = _outcome(text, other, file)
    return report


def _outcome(text: str, rules: RuleSet, file: str) -> str:
    kinds = [step.kind for step in RemoveLayoutConversions(rules).steps(parse_mlir(text, file))]
    fatal = [kind for kind in kinds if kind in FATAL]
    if fatal:
        return f"fails: {fatal[0]}" + (f" and {len(fatal) - 1} more" if len(fatal) > 1 else "")
    latent = kinds.count("latent")
    return f"runs, with {latent} disagreement(s) of tied values" if latent else "runs, nothing is missing"


def explain_step(run: Run, program: Program, step: Step, first_line: int = 1) -> Explanation:
    """Explain one step of a kind in `FATAL`, while the run stands at it."""
    lines = Lines(program, first_line)
    found = run.recorder.get("missing", (step.value, step.encodings[0])) if step.encodings else None
    if step.kind == "missing-mapping" and isinstance(found, Missing):
        return _missing(run, lines, found)
    place = lines.place(step.op)
    return Explanation(
        step.kind,
        step.why,
        value=step.value.name if step.value is not None else "",
        asked_by=f"{step.op.name}{place}" if step.op is not None else "",
    )


def _missing(run: Run, lines: Lines, found: Missing) -> Explanation:
    value = found.value
    wanted = run.show(found.wanted)
    owner = found.owner
    owner_name = lines.name(owner) if owner is not None else "nothing"
    place = role(value)
    summary = f"{value.name}, {place} of {owner_name}, has no rewritten value in {wanted}"
    asked = lines.name(found.asked_by)
    if found.in_encoding is not None:
        asked += f", which then wants it in {run.show(found.in_encoding)}"
    listed = [(value, found.candidates, found.wanted), *found.tied]
    return Explanation(
        "missing-mapping",
        summary,
        value.name,
        wanted,
        asked,
        owner_name,
        _why(run, found),
        tuple(_candidates(run, *entry) for entry in listed),
        tuple(_way(run, lines, *entry) for entry in found.paths),
        tuple(
            f"{lines.name(visit.op)} ({'made anew' if visit.rewritten else 'kept'})" for visit in found.visits
        ),
    )


def _why(run: Run, found: Missing) -> str:
    owner = found.owner
    if owner is None:
        return "the value has no owner"
    if found.reason == "not-yet":
        return f"{owner.name} had not been come to when the value was asked for"
    tied = [(other, pick) for other, _, pick in found.tied if other.op is owner and pick is not None]
    picks = ", ".join(f"{other.name} picked {run.show(pick)}" for other, pick in tied)
    if found.reason == "other-encoding":
        return (
            f"{owner.name} was made anew, but goes by its result's pick ({picks}) and registered the value "
            f"under that, not under {run.show(found.wanted)}"
        )
    if not picks:
        return f"{owner.name} was kept: no result of it was picked another encoding than it has"
    return f"{owner.name} was kept: {picks}, which is the type it has, and no other result has to change"


def _candidates(run: Run, value: Value, held: tuple[Layout, ...], pick: Layout | None) -> Candidates:
    reason = ""
    if len(held) > 1:
        chosen, why = choose(value, held)
        reason = why if chosen == pick else ""
    return Candidates(
        value.name,
        role(value),
        tuple(run.show(layout) for layout in held),
        run.show(pick) if pick is not None else "",
        reason,
    )


def _way(run: Run, lines: Lines, value: Value, layout: Layout, hops: tuple[Hop, ...]) -> Way:
    return Way(value.name, run.show(layout), tuple(_hop(run, lines, hop) for hop in hops))


def _hop(run: Run, lines: Lines, hop: Hop) -> str:
    shown = run.show(hop.layout)
    if hop.operand < 0:
        return f"{hop.value.name} is an anchor in {shown}: {lines.name(hop.op)}"
    where = f"{role(hop.value)} {hop.value.name}" if hop.value.op is None else hop.value.name
    text = f"{lines.name(hop.op)} hands operand #{hop.operand} on to {where}"
    parent = hop.op.parent
    if hop.op.name == "scf.yield" and parent is not None and parent.name == "scf.while":
        backward = hop.value in parent.operands
        text += ", the operand of the loop (backward!)" if backward else f", {role(hop.value)} of the loop"
    return text + f" as {shown}"


# -- text ----------------------------------------------------------------------------------------------


def render(report: Report, *, full: bool = True) -> str:
    """The report as text; `full` adds how each candidate came there and what was visited before."""
    lines: list[str] = []
    for fault in report.faults:
        lines.extend(_render_fault(fault, full))
    if not report.faults:
        lines.append(f"Under {report.rules.name} nothing is missing and nothing fails.")
    lines.extend(f"latent: {sentence}" for sentence in report.latent)
    lines.append("")
    lines.append(f"Rule sets ({report.rules.name} is shown above; it describes {report.rules.releases}):")
    for name, outcome in report.others.items():
        lines.append(f"  {name:<11} {outcome}")
    return "\n".join(lines)


def _render_fault(fault: Explanation, full: bool) -> list[str]:
    lines = [f"{fault.kind}: {fault.summary}"]
    for label, what in (
        ("asked for by", fault.asked_by),
        ("to be made by", fault.owner),
        ("it was not", fault.why),
    ):
        if what:
            lines.append(f"  {label:<14} {what}")
    if fault.candidates:
        lines.append("  candidates")
    for each in fault.candidates:
        picked = f" → {each.pick}" + (f" ({each.reason})" if each.reason else "")
        lines.append(f"    {each.value:<8} {each.role:<18} {', '.join(each.encodings)}{picked}")
    if full:
        for way in fault.ways:
            lines.append(f"  how {way.encoding} came to {way.value}")
            lines.extend(f"    {hop}" for hop in way.hops)
        if fault.visits:
            lines.append("  loops and branches come to before, in this order")
            lines.extend(f"    {visit}" for visit in fault.visits)
    return lines
