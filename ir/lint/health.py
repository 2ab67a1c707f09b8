"""Rules about the IR and the log themselves (PS3xx)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from ..program import walk
from ..snapshot import Snapshot
from ..trace import Trace
from .finding import Severity
from .rule import Found, Rule, Subject, problems

_ALL: Final = ("mlir", "migraphx", "onnx")
_OTHER_RULES: Final = frozenset({"undefined-value", "region-edge-type"})
_MOST: Final = 50
_WITHOUT_OPTIONS: Final = frozenset({
    "canonicalize", "cse", "inline", "loop-invariant-code-motion", "sccp", "symbol-dce", "triton-combine",
    "triton-reorder-broadcast", "tritongpu-coalesce", "tritongpu-optimize-thread-locality",
    "tritongpu-reduce-data-duplication", "tritongpu-remove-layout-conversions",
    "tritongpu-reorder-instructions",
})  # fmt: skip
"""Passes that are given nothing but the program. A dump's banner does not tell the options of the others: one
kernel compiled for 4 and for 8 warps differs rightly."""


def _diagnosed(number: str, code: str, title: str, severity: Severity, what: str) -> Rule:
    def check(subject: Subject) -> Iterator[Found]:
        held = [each for each in subject.program.diagnostics if each.code == code]
        if code == "undefined-alias" and held:
            names = ", ".join(each.message.split()[0] for each in held[:5])
            more = f" and {len(held) - 5} more" if len(held) > 5 else ""
            yield Found(f"used and never defined: {names}{more}", offset=held[0].offset)
            return
        for each in held:
            times = f" ({each.count} times)" if each.count > 1 else ""
            yield Found(f"{each.message}{times}", offset=each.offset)

    return Rule(
        number, title, severity, "health", what,
        "Dump the whole module; a part of a listing lacks what stands around it.",
        _ALL, check, only_final=False,
    )  # fmt: skip


def _failed(trace: Trace) -> Iterator[tuple[Snapshot | None, Found]]:
    for run in trace.runs:
        if run.failed:
            snapshot = trace.snapshots[run.before] if run.before is not None else None
            yield snapshot, Found(f"pass {run.argument or run.name} failed (run {run.ordinal})")
    facts = trace.facts
    if facts.crash and not any(run.failed for run in trace.runs):
        where = f" in {facts.failing_pass}" if facts.failing_pass else ""
        yield None, Found(f"the compiler gave up{where}: {facts.crash[:300]}")


def _reproducer(trace: Trace) -> Iterator[tuple[Snapshot | None, Found]]:
    for pipeline in trace.facts.reproducers:
        yield None, Found(f"the log holds a reproducer of {pipeline[:200]}: something failed")


def _broken(subject: Subject) -> Iterator[Found]:
    if any(each.code == "unparsed-text" for each in subject.program.diagnostics):
        return  # what is not understood cannot be verified
    other = {*_OTHER_RULES, "missing-terminator"} if subject.program.format == "migraphx" else _OTHER_RULES
    found = [each for each in subject.once(problems) if each.code not in other]
    for each in found[:_MOST]:
        yield Found(f"{each.code}: {each.message}", offset=each.offset)
    if len(found) > _MOST:
        yield Found(f"and {len(found) - _MOST} more of the kind")


def _truncated(subject: Subject) -> Iterator[Found]:
    """A module whose text ends while regions are still open, or without a return."""
    text = subject.program.text
    if subject.program.format == "migraphx":
        for each in subject.once(problems):
            if each.code == "missing-terminator":
                yield Found("the listing ends without @return: it was cut off here", offset=each.offset)
        return
    if subject.program.format != "mlir" or not text.strip():
        return
    if any(op.name.endswith("module") for op in walk(subject.program)) and text.count("{") > text.count("}"):
        open_regions = text.count("{") - text.count("}")
        yield Found(
            f"the text ends with {open_regions} braces open: the log was cut off here", offset=len(text) - 1
        )


def _unread(subject: Subject) -> Iterator[Found]:
    for each in subject.program.diagnostics:
        if each.code == "unparsed-text":
            yield Found(f"{each.message}", offset=each.offset)


def _not_deterministic(trace: Trace) -> Iterator[tuple[Snapshot | None, Found]]:
    """The same run of the same pass, in two compiles of one text, made different programs."""
    seen: dict[tuple[str, str, str, int, bytes], tuple[bytes, int]] = {}
    turns: Counter[tuple[int, str, str]] = Counter()  # a run's own number counts on from compile to compile
    for run in trace.runs:
        turn = run.manager, run.kernel, run.argument or run.name
        turns[turn] += 1
        if run.before is None or run.after is None or run.depth or run.failed:
            continue
        before, after = trace.snapshots[run.before], trace.snapshots[run.after]
        if before.format != "mlir" or not run.kernel or not (run.options or run.argument in _WITHOUT_OPTIONS):
            continue
        key = (run.kernel, run.argument or run.name, run.options, turns[turn], trace.content(before))
        made = trace.content(after)
        known = seen.setdefault(key, (made, run.manager))
        if known[0] != made and known[1] != run.manager:
            what = f"{run.argument or run.name} (run {run.ordinal})"
            yield after, Found(f"{what} made another program than in an earlier compile of the same text")


RULES: Final[tuple[Rule, ...]] = (
    _diagnosed("PS301", "undefined-value", "Use of a value that nothing defines", "error",
               "The program is not whole: what the op reads is unknown."),
    _diagnosed("PS302", "undefined-alias", "Alias that is not defined", "note",
               "Types or attributes are unknown where the alias stands."),
    Rule("PS303", "Pass that failed, or compiler that gave up", "error", "health",
         "There is no code.", "Open the log with passlens and look at the program in front of the pass.",
         over=_failed),
    Rule("PS304", "Truncated program", "error", "health",
         "What comes behind the cut is missing; rules see only a part.",
         "Flush and close the log before it is copied; check the disk.", ("mlir", "migraphx"),
         _truncated, only_final=False),
    Rule("PS305", "Program that does not verify", "error", "health",
         "A later pass may crash on it, or make wrong code of it.",
         "Run the pass in front of it alone (`passlens step --check`) and report it.", ("mlir", "migraphx"),
         _broken, only_final=False),
    Rule("PS306", "Reproducer in the log", "note", "health",
         "A pass pipeline failed and said how to repeat it.", "Open the log; `passlens explain` says why.",
         over=_reproducer),
    Rule("PS307", "Pass that is not deterministic", "warning", "health",
         "Two compiles of one kernel differ: caches miss, results cannot be compared.",
         "Look for an order that depends on addresses (hash sets of pointers) in the pass.",
         over=_not_deterministic),
    Rule("PS308", "Text that is not understood", "note", "health",
         "Rules do not see what is in it.", "Report the line if it is IR.", _ALL, _unread, only_final=False),
)  # fmt: skip
