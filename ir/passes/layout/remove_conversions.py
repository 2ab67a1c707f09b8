"""The pass: its phases in their order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...program import Program
from ..step import PASS, PHASE, Recorder, Step
from .canonicalize import convert_patterns
from .cleanup import last_patterns
from .greedy import greedy
from .hoist import hoist_all
from .propagate import anchor, propagate, resolve
from .remat import Rematerializer
from .rewrite_clone import CloneRewriter
from .rules import RuleSet
from .state import Run, begin

PASS_NAME = "tritongpu-remove-layout-conversions"


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
        recorder.phase = "propagate"
        for function in run.functions():
            yield recorder.step("phase", f"forward propagation in {function.name}", op=function, depth=PHASE)
            for table in ("candidates", "origin", "pick", "mapping"):
                recorder.clear(table)
            if not function.regions or not function.regions[0].blocks:
                continue
            recorder.phase = "propagate"
            yield from anchor(run, function)
            yield from propagate(run)
            recorder.phase = "resolve"
            yield from resolve(run)
            recorder.phase = "rewrite"
            yield from CloneRewriter(run, function).steps()
        yield recorder.step("module-after", "forward propagation is done", depth=PHASE)
        recorder.phase = "fold"
        yield recorder.step("phase", "converts are folded into their neighbours", depth=PHASE)
        yield from greedy(run, convert_patterns(self.rules), "folding converts")
        yield recorder.step("module-after", "canonicalizing is done", depth=PHASE)
        recorder.phase = "remat"
        yield recorder.step("phase", "converts are done without where that is possible", depth=PHASE)
        for function in run.functions():
            yield from Rematerializer(run, function).backward()
        yield recorder.step("module-after", "remat is done", depth=PHASE)
        recorder.phase = "hoist"
        yield recorder.step("phase", "converts are moved to where they cost less", depth=PHASE)
        for function in run.functions():
            yield from hoist_all(run, function)
        yield recorder.step("module-after", "hoisting is done", depth=PHASE)
        recorder.phase = "cleanup"
        yield recorder.step("phase", "what is dead is taken away", depth=PHASE)
        yield from greedy(run, last_patterns(self.rules), "the last clean-up")
        yield recorder.step("module-after", "final cleanups are done", depth=PHASE)
        yield recorder.step("pass-end", f"{self.name} ends", depth=PASS)
