"""What a plan is asked for, and what it decides."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from .batches import Batch
from .work import Buffer, Weight


class Link(Protocol):
    """Copies from the host; `ir.analysis.devices.Transfer` is one."""

    @property
    def latency_us(self) -> float:
        """Microseconds that each copy costs beside its bytes."""

    @property
    def bytes_per_us(self) -> float:
        """Bytes copied in a microsecond."""

    def time_us(self, size: int) -> float:
        """Microseconds that a copy of `size` bytes takes."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the user asks for. Bytes; None means no limit."""

    budget: int | None = 0
    """Bytes of literals that may stay resident; None: as many as memory allows."""
    memory_limit: int | None = None
    """Bytes of device memory for everything: literals, arena, parameters, code objects."""
    steady: bool = True
    """Plan for a stream of inferences; False: for one cold run."""


@dataclass(slots=True)
class Plan:
    """Decisions about one program. Slots are places of the compute stream (see `work.Work`)."""

    wishes: Wishes
    resident: list[Weight]
    streamed: list[Weight]
    batches: list[Batch]
    issue: list[int]
    """For each batch the slot before which it is issued; negative: during the run before."""
    buffers: list[Buffer]
    """Activations that have a place in the arena."""
    offsets: list[int]
    """Offsets in the arena: of `buffers`, then of `batches`."""
    arena: int
    live_bound: int
    """The largest sum of bytes live at once: the least that an arena could have."""
    period_us: float
    compute_us: float
    copy_us: float
    notes: list[str] = field(default_factory=list)

    @property
    def bound_us(self) -> float:
        """No plan with these transfers takes less time from run to run."""
        return max(self.compute_us, self.copy_us)

    @property
    def resident_bytes(self) -> int:
        """Bytes of literals that stay."""
        return sum(weight.bytes for weight in self.resident)
