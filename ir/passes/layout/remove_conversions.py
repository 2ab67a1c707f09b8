"""The pass: its phases in their order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...program import Op, Program
from ..step import PASS, PHASE, Recorder, Step
from .canonicalize import convert_patterns
from .cleanup import last_patterns
from .greedy import greedy
from .hoist import hoist_all
from .liveness import drop_dead_arguments
from .order import order_dependent
from .propagate import anchor, propagate, resolve
from .remat import Rematerializer
from .rewrite_clone import CloneRewriter
from .rewrite_inplace import InPlaceRewriter, latent
from .rules import PASS_NAME, RuleSet
from .state import Run, begin


@dataclass(slots=True)
class RemoveLayoutConversions:
    """`tritongpu-remove-layout-conversions` under a rule set, as a generator of steps."""

    rules: RuleSet
    run: Run | None = None
    """The state of the last run, for those who explain it."""

    @property
    def name(self) -> str:
        """The pass with its rule set, as users type it."""
        return f"{PASS_NAME}@{self.rules.name}"

    def steps(self, program: Program) -> Iterator[Step]:
        """Run the pass on a program, which is edited."""
        recorder = Recorder()
        self.run = run = begin(program, self.rules, recorder)
        yield recorder.step("pass-begin", f"{self.name} begins", depth=PASS)
        for function in run.functions():
            if function.regions and function.regions[0].blocks:
                yield from self._forward(run, function)
        yield _after(run, "forward propagation is done")
        yield from self._fold(run)
        yield from self._backward(run)
        yield _phase(run, "hoist", "converts are moved to where they cost less")
        for function in run.functions():
            yield from hoist_all(run, function)
        yield _after(run, "hoisting is done")
        yield from self._last(run)
        yield recorder.step("pass-end", f"{self.name} ends", depth=PASS)

    def _forward(self, run: Run, function: Op) -> Iterator[Step]:
        for table in ("candidates", "origin", "pick", "mapping", "order_dependent"):
            run.recorder.clear(table)
        yield _phase(run, "propagate", "encodings are carried forward from the anchors")
        yield from anchor(run, function)
        yield from propagate(run)
        yield _phase(run, "resolve", "one encoding is picked for every value")
        yield from resolve(run)
        yield from _mark_order_dependent(run, function)
        yield _phase(run, "rewrite", "ops are given the encodings that were picked")
        if self.rules.rewrite == "clone":
            yield from CloneRewriter(run, function).steps()
        else:
            yield from latent(run, function)
            yield from InPlaceRewriter(run, function).steps()

    def _fold(self, run: Run) -> Iterator[Step]:
        yield _phase(run, "fold", "converts are folded into their neighbours")
        yield from greedy(run, convert_patterns(self.rules), "folding converts")
        yield _after(run, "canonicalizing is done")

    def _backward(self, run: Run) -> Iterator[Step]:
        changed = True
        while changed:
            changed = False
            yield _phase(run, "remat", "what is behind a convert is made in its encoding")
            for function in run.functions():
                rematerializer = Rematerializer(run, function)
                yield from rematerializer.backward()
                changed |= bool(rematerializer.removed)
            yield _after(run, "remat is done")
            if not self.rules.until_no_change:
                return
            yield from self._fold(run)

    def _last(self, run: Run) -> Iterator[Step]:
        yield _phase(run, "cleanup", "what is dead is taken away")
        if self.rules.dead_arguments == "liveness":
            yield from drop_dead_arguments(run)
        if self.rules.cleanup_in_two:
            yield from greedy(run, convert_patterns(self.rules), "folding converts")
        yield from greedy(run, last_patterns(self.rules), "the last clean-up")
        yield _after(run, "final cleanups are done")


def _mark_order_dependent(run: Run, function: Op) -> Iterator[Step]:
    found = order_dependent(run, function)
    for value in found:
        run.recorder.set("order_dependent", value, True)
    if found:
        names = ", ".join(value.name for value in found[:10]) + (" …" if len(found) > 10 else "")
        yield run.recorder.step(
            "order-dependent", f"picks that depend on the order of uses, which a text may not show: {names}"
        )


def _phase(run: Run, name: str, why: str) -> Step:
    run.recorder.phase = name
    return run.recorder.step("phase", why, depth=PHASE)


def _after(run: Run, what: str) -> Step:
    return run.recorder.step("module-after", what, depth=PHASE)
