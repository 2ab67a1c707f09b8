"""Two compiles side by side: their passes aligned by name and order, and where they first part.

A pass is *diverging* when it got the same program in both traces and gave different ones. What a compile
does before its passes differ (another input) or a pass that only one of them ran is named as such.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ..trace import PassRun, Trace
from .compare import compare
from .options import DEFAULT, Options
from .sequence import align

Verdict = Literal["same", "changed", "only-a", "only-b", "unknown"]
"""Of what came out of a pair of passes; `unknown` where one of the two programs is not in the input."""


@dataclass(slots=True)
class PassPair:
    """One pass of each trace that are the same step of the two compiles; None where one has no such."""

    kernel: str
    a: PassRun | None
    b: PassRun | None
    verdict: Verdict
    same_input: bool | None
    counts: dict[str, int]
    """Changed, added, removed and moved ops between the two outputs; empty unless `changed`."""

    @property
    def run(self) -> PassRun:
        """The pass, of the second trace if it has it."""
        found = self.b or self.a
        assert found is not None
        return found

    @property
    def title(self) -> str:
        """The pass's name with its ordinal, and the other trace's where that differs."""
        titles = [f"{run.argument or run.name}#{run.ordinal}" for run in (self.a, self.b) if run]
        return " / ".join(dict.fromkeys(titles))


@dataclass(slots=True)
class Divergence:
    """Where the compiles of one kernel first part.

    `pair` is the diverging pass; `reason` is `pass` where it got the same program in both, `input` where
    the programs differ before the first pass, `extra` where only one trace has this pass.
    """

    kernel: str
    pair: PassPair | None
    reason: Literal["pass", "input", "extra"]


@dataclass(slots=True)
class TraceDiff:
    """The comparison of two traces, kernel by kernel."""

    pairs: list[PassPair]
    divergences: list[Divergence]
    """One for each kernel whose compiles part."""
    only_a: list[str]
    only_b: list[str]
    """Kernels that one trace lacks."""

    @property
    def same(self) -> bool:
        """Whether all passes of both gave the same programs."""
        return not (self.divergences or self.only_a or self.only_b) and all(
            pair.verdict in ("same", "unknown") for pair in self.pairs
        )


def compare_traces(a: Trace, b: Trace, options: Options = DEFAULT) -> TraceDiff:
    """Align the passes of two traces and compare what went in and came out of each pair."""
    judge = _Judge(a, b, options)
    kernels, only_a, only_b = _pair_kernels(a, b)
    pairs: list[PassPair] = []
    divergences: list[Divergence] = []
    for kernel_a, kernel_b in kernels:
        runs_a = [run for run in a.runs if run.kernel == kernel_a]
        runs_b = [run for run in b.runs if run.kernel == kernel_b]
        found = [judge.pair(kernel_b, left, right) for left, right in _align_runs(runs_a, runs_b)]
        pairs.extend(found)
        parting = _first_divergence(kernel_b, found, a, b)
        if parting is not None:
            divergences.append(parting)
    return TraceDiff(pairs, divergences, only_a, only_b)


def _pair_kernels(a: Trace, b: Trace) -> tuple[list[tuple[str, str]], list[str], list[str]]:
    """Kernels of one name; where each trace is left with one, those two (a kernel may be renamed)."""
    left = list(dict.fromkeys(run.kernel for run in a.runs))
    right = list(dict.fromkeys(run.kernel for run in b.runs))
    pairs = [(name, name) for name in left if name in right]
    lone_a = [name for name in left if name not in right]
    lone_b = [name for name in right if name not in left]
    if len(lone_a) == 1 and len(lone_b) == 1:
        return [*pairs, (lone_a[0], lone_b[0])], [], []
    return pairs, lone_a, lone_b


def _align_runs(left: list[PassRun], right: list[PassRun]) -> Iterator[tuple[PassRun | None, PassRun | None]]:
    numbers: dict[tuple[str, int], int] = {}

    def number(run: PassRun) -> int:
        return numbers.setdefault((_family(run), run.depth), len(numbers))

    at_a = at_b = 0
    pairs = align([number(run) for run in left], [number(run) for run in right])
    for i, j in [*pairs, (len(left), len(right))]:
        yield from ((run, None) for run in left[at_a:i])
        yield from ((None, run) for run in right[at_b:j])
        if i < len(left):
            yield left[i], right[j]
        at_a, at_b = i + 1, j + 1


def _family(run: PassRun) -> str:
    """The pass's name whatever release printed it: newer ones add `Pass` to upstream names."""
    return run.argument or run.name.removesuffix("Pass")


class _Judge:
    """Compares snapshots of two traces, each pair of texts once."""

    def __init__(self, a: Trace, b: Trace, options: Options) -> None:
        self.a = a
        self.b = b
        self.options = options
        self._known: dict[tuple[int, int], dict[str, int]] = {}

    def pair(self, kernel: str, left: PassRun | None, right: PassRun | None) -> PassPair:
        if left is None or right is None:
            return PassPair(kernel, left, right, "only-b" if left is None else "only-a", None, {})
        before = self._counts(left.before, right.before)
        after = self._counts(left.after, right.after)
        same_input = None if before is None else not any(before.values())
        if after is None:
            return PassPair(kernel, left, right, "unknown", same_input, {})
        if any(after.values()):
            return PassPair(kernel, left, right, "changed", same_input, after)
        return PassPair(kernel, left, right, "same", same_input, {})

    def _counts(self, left: int | None, right: int | None) -> dict[str, int] | None:
        if left is None or right is None:
            return None
        found = self._known.get((left, right))
        if found is None:
            found = compare(self.a.program(left), self.b.program(right), self.options).counts()
            self._known[left, right] = found
        return found


def _first_divergence(kernel: str, pairs: list[PassPair], a: Trace, b: Trace) -> Divergence | None:
    extra: PassPair | None = None
    first = True
    for pair in pairs:
        if pair.a is None or pair.b is None:
            trace = a if pair.b is None else b
            if trace.changed(pair.run) is not False:
                extra = pair
            continue
        if pair.same_input is False:
            return Divergence(kernel, extra, "extra") if extra else Divergence(kernel, pair, "input")
        if pair.same_input:
            extra = None
        if pair.verdict == "changed" and (pair.same_input or first):
            return Divergence(kernel, pair, "pass")
        first = False
    return Divergence(kernel, extra, "extra") if extra else None
