"""Choose a plan: what stays on the GPU, what is copied together, when, and where in the arena it lies.

The aim is the least time from run to run of a steady stream of inferences (or of one cold run), within a
budget of resident bytes and a limit on all device memory. Among plans of equal time the one that keeps more
resident within the budget is taken, then the one with the smaller arena.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Protocol

from ...errors import InputError
from .batches import Batch, batches_of, sizes_to_try
from .coloring import Coloring, Lifetime, color
from .leads import Leads, OutOfMemoryError, choose
from .pace import Transfer
from .residency import ResidentSet, frontier, saving_us
from .work import Buffer, Weight, Work

_HIDDEN: Final = 0.98
"""Batches need be no larger once copying takes at most this share of computing."""
_RETRIES: Final = 8
_SAME: Final = 1e-9
_ROUND: Final = 8
"""Rounder budgets are multiples of this part of all literals."""


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


def make_plan(work: Work, link: Link, wishes: Wishes) -> Plan:
    """The best plan found; deterministic.

    Raises:
        InputError: the memory limit cannot be kept, with what it would take.
    """
    sets = _sets(work, link)
    budget = _largest_that_fits(work, link, wishes, sets) if wishes.budget is None else wishes.budget
    best: Plan | None = None
    short: OutOfMemoryError | None = None
    for each in _candidates(sets, budget, work.literal_bytes):
        if best is not None and _least_us(work, link, each) >= best.period_us * (1 - _SAME):
            continue
        try:
            plan = _plan_for(work, link, wishes, each)
        except OutOfMemoryError as failure:
            short = failure if short is None or failure.bytes < short.bytes else short
            continue
        if best is None or plan.period_us < best.period_us * (1 - _SAME):
            best = plan
    if best is None:
        raise _too_little(work, wishes, short)
    return best


def _largest_that_fits(work: Work, link: Link, wishes: Wishes, sets: list[ResidentSet]) -> int:
    """Bytes of the largest resident set with which the memory limit can be kept: the budget `auto`."""
    if wishes.memory_limit is None:
        return work.literal_bytes
    low, high = 0, len(sets)
    while high - low > 1:
        middle = (low + high) // 2
        if _fits(work, link, wishes, sets[middle]):
            low = middle
        else:
            high = middle
    return sets[low].bytes


def _fits(work: Work, link: Link, wishes: Wishes, kept: ResidentSet) -> bool:
    try:
        _plan_for(work, link, wishes, kept)
    except OutOfMemoryError:
        return False
    return True


def _candidates(sets: list[ResidentSet], budget: int, total: int) -> list[ResidentSet]:
    """The largest set within the budget, then those of rounder and smaller budgets.

    These are the same for every budget, so that more budget is never slower than a rounder one below it,
    however well a memory limit suits the one or the other.
    """
    marks = [
        budget,
        *(total * part // _ROUND for part in range(_ROUND, -1, -1) if total * part < budget * _ROUND),
    ]
    found: list[ResidentSet] = []
    for mark in marks:
        each = max((s for s in sets if s.bytes <= mark), key=lambda s: s.bytes, default=None)
        if each is not None and each not in found:
            found.append(each)
    return found


def _sets(work: Work, link: Link) -> list[ResidentSet]:
    sizes = [weight.bytes for weight in work.weights]
    slots = len(work.slots)
    savings = [saving_us(w, slots, link.latency_us, link.bytes_per_us) for w in work.weights]
    return frontier(sizes, savings)


def _least_us(work: Work, link: Link, kept: ResidentSet) -> float:
    """A time that no plan with this resident set can beat: computing, or copying all in one transfer."""
    streamed = sum(w.bytes for i, w in enumerate(work.weights) if not kept.has(i))
    return max(work.compute_us, link.time_us(streamed) if streamed else 0.0)


def _plan_for(work: Work, link: Link, wishes: Wishes, kept: ResidentSet) -> Plan:
    streamed = [w for i, w in enumerate(work.weights) if not kept.has(i)]
    resident = [w for i, w in enumerate(work.weights) if kept.has(i)]
    room = None
    if wishes.memory_limit is not None:
        room = wishes.memory_limit - kept.bytes - work.parameters - work.code
    best: Plan | None = None
    failure: OutOfMemoryError | None = None
    for groups in _groupings(work, link, streamed, room):
        try:
            plan = _fitted(work, link, wishes, resident, groups, room)
        except OutOfMemoryError as error:
            failure = error
            continue
        if best is None or (plan.period_us, plan.arena) < (best.period_us * (1 - _SAME), best.arena):
            best = plan
    if best is None:
        assert failure is not None
        raise OutOfMemoryError(failure.slot, failure.bytes + kept.bytes)
    return best


def _groupings(work: Work, link: Link, streamed: list[Weight], room: int | None) -> list[list[Batch]]:
    """Ways to batch: with memory to spare the first that hides copying, else all of them."""
    ways: list[list[Batch]] = []
    for size in sizes_to_try(link.latency_us, link.bytes_per_us):
        groups = batches_of(streamed, size)
        if ways and len(ways[-1]) == len(groups):
            continue
        ways.append(groups)
        if room is None and sum(link.time_us(b.bytes) for b in groups) <= _HIDDEN * work.compute_us:
            return [groups]
    return ways if room is not None else ways[-1:]


def _fitted(
    work: Work, link: Link, wishes: Wishes, resident: list[Weight], groups: list[Batch], room: int | None
) -> Plan:
    """Issue slots and offsets; where placing needs more than is live, with less live than there is room."""
    transfers = [batch.transfer(link.time_us) for batch in groups]
    activations = work.live()
    limit = room
    for _ in range(_RETRIES):
        leads = choose(work.us, transfers, activations, limit, steady=wishes.steady)
        colors = colored(work, transfers, leads.issue, room)
        if room is None or colors.bytes <= room:
            return _plan(work, wishes, resident, groups, transfers, leads, colors)
        assert limit is not None
        limit = min(limit, leads.peak) - max((colors.bytes - room) // 2, work.alignment)
    raise OutOfMemoryError(0, colors.bytes)


def colored(work: Work, transfers: list[Transfer], issue: list[int], enough: int | None = None) -> Coloring:
    """Offsets of the activations, then of the transfers' buffers."""
    lives = [Lifetime(b.bytes, b.first, b.last) for b in work.buffers if b.used]
    lives += [Lifetime(t.bytes, slot, t.last) for t, slot in zip(transfers, issue, strict=True)]
    return color(lives, len(work.slots), work.alignment, enough=enough)


def _plan(
    work: Work,
    wishes: Wishes,
    resident: list[Weight],
    groups: list[Batch],
    transfers: list[Transfer],
    leads: Leads,
    colors: Coloring,
) -> Plan:
    return Plan(
        wishes,
        resident,
        [weight for batch in groups for weight in batch.weights],
        groups,
        leads.issue,
        [buffer for buffer in work.buffers if buffer.used],
        colors.offsets,
        colors.bytes,
        colors.bound,
        leads.pace.us,
        work.compute_us,
        sum(transfer.us for transfer in transfers),
    )


def _too_little(work: Work, wishes: Wishes, failure: OutOfMemoryError | None) -> InputError:
    needed = (failure.bytes if failure else 0) + work.parameters + work.code
    return InputError(
        f"a memory limit of {wishes.memory_limit or 0:,} bytes is too little: with as few literals resident "
        f"as can be, the program needs {needed:,} (arena {needed - work.parameters - work.code:,}, "
        f"parameters {work.parameters:,}, code objects {work.code:,}); give at least that with --memory-limit"
    )
