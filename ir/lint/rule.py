"""What a rule is: a check of one program or one trace, with everything that is said about what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar

from ..errors import Diagnostic
from ..program import Op, Program
from ..snapshot import PassRun, Snapshot
from ..trace import Trace
from ..verify import verify
from .finding import Severity

Made = TypeVar("Made")

Family = Literal["streaming", "layout", "health", "budget"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Numbers that some rules compare with; bytes."""

    memory: int | None = None
    """GPU memory that programs may need in all."""
    shared: int | None = None
    """Shared memory of a block; None: by the target that the program names."""
    arena_slack: float = 0.10
    """How much larger than its live peak an arena may be, as a share."""
    small_copy: int = 64 * 1024
    """Copies of fewer bytes are small."""


@dataclass(slots=True)
class Subject:
    """One program that rules look at."""

    trace: Trace
    snapshot: Snapshot
    program: Program
    limits: Limits
    final: bool = True
    """Whether it is the last program of its kernel in the trace: what would run."""
    run: PassRun | None = None
    """The layout pass that was given this program."""
    _held: dict[Any, Any] = field(default_factory=dict, repr=False)

    def once(self, make: Callable[[Subject], Made]) -> Made:
        """What `make` makes of this subject, made once for all the rules that ask for it."""
        if make not in self._held:
            self._held[make] = make(self)
        made: Made = self._held[make]
        return made


@dataclass(frozen=True, slots=True)
class Found:
    """What a check found, before it is placed in its file."""

    message: str
    op: Op | None = None
    offset: int = -1
    """A character offset in the program's text, where no op of the program itself is meant."""


ProgramCheck: TypeAlias = Callable[[Subject], Iterable[Found]]
TraceCheck: TypeAlias = Callable[[Trace], Iterable[tuple[Snapshot | None, Found]]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule with a stable id. `check` looks at programs of `formats`, `over` at whole traces."""

    id: str
    title: str
    severity: Severity
    family: Family
    hazard: str
    """What happens if nothing is done."""
    mitigation: str
    formats: tuple[str, ...] = ()
    check: ProgramCheck | None = None
    over: TraceCheck | None = None
    only_final: bool = True
    """Whether only the last program of a kernel is looked at."""
    before_layout: bool = False
    """Whether it looks at what a layout pass is given."""


def problems(subject: Subject) -> list[Diagnostic]:
    """What the verifier finds in a subject's program; for `Subject.once`."""
    return verify(subject.program)
