"""The best plan for one set of resident literals: how to batch the others, when to issue, where to put."""

from __future__ import annotations

from typing import Final

from .batches import Batch, batches_of, sizes_to_try
from .coloring import Coloring, Lifetime, color
from .decisions import Link, Plan, Wishes
from .leads import MARGIN, Leads, OutOfMemoryError, choose, latest, soonest
from .order import improved, needed_in_order
from .pace import Transfer, pace
from .residency import ResidentSet
from .work import Weight, Work

_HIDDEN: Final = 0.98
"""Batches need be no larger once copying takes at most this share of computing."""
_RETRIES: Final = 8
_CLOSE: Final = 0.005
_SAME: Final = 1e-9
_LOOSE: Final = 1.01
"""An arena this much larger than what is live is worth another try."""


class Fitter:
    """Plans for resident sets of one program, each made once."""

    def __init__(self, work: Work, link: Link, wishes: Wishes) -> None:
        self.work = work
        self.link = link
        self.wishes = wishes
        self._known: dict[int, Plan | None] = {}
        self._guessed: dict[int, float] = {}
        self._live = work.live()

    def plan(self, kept: ResidentSet) -> Plan | None:
        """The best plan found with these literals resident; None if it does not fit in memory."""
        if kept.bits not in self._known:
            try:
                self._known[kept.bits] = _plan_for(self.work, self.link, self.wishes, kept)
            except OutOfMemoryError:
                self._known[kept.bits] = None
        return self._known[kept.bits]

    def guess_us(self, bits: int) -> float:
        """About what a plan with these literals resident takes: no batches, copies in the order of use.

        Infinite where even that does not fit. Much cheaper than a plan.
        """
        if bits in self._guessed:
            return self._guessed[bits]
        weights = [w for index, w in enumerate(self.work.weights) if not bits >> index & 1]
        transfers = [Transfer(self.link.time_us(w.bytes), w.first, w.last, w.bytes) for w in weights]
        limit = None
        if self.wishes.memory_limit is not None:
            streamed = sum(weight.bytes for weight in weights)
            resident = sum(weight.bytes for weight in self.work.weights) - streamed
            limit = self.wishes.memory_limit - resident - self.work.parameters - self.work.code
        try:
            issue = soonest(transfers, self._live, limit, steady=self.wishes.steady)
            guess = pace(self.work.us, transfers, issue, steady=self.wishes.steady).us
        except OutOfMemoryError:
            guess = float("inf")
        self._guessed[bits] = guess
        return guess

    def unhindered_us(self, kept: ResidentSet) -> float:
        """What a plan with these literals resident takes in a steady stream without a limit on memory."""
        streamed = [w for index, w in enumerate(self.work.weights) if not kept.has(index)]
        groups = _groupings(self.work, self.link, streamed, None)[-1]
        return max(self.work.compute_us, sum(self.link.time_us(batch.bytes) for batch in groups))

    def least_us(self, resident: int) -> float:
        """A time that no plan with so many bytes resident can beat: computing, or one copy of the rest."""
        streamed = sum(weight.bytes for weight in self.work.weights) - resident
        return max(self.work.compute_us, self.link.time_us(streamed) if streamed > 0 else 0.0)


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
    """Issue slots and offsets.

    Placing may need more than what is live. Then less is allowed to be live, found by halving between what
    could be placed and what could not.
    """
    transfers = [batch.transfer(link.time_us) for batch in groups]
    activations = work.live()
    if room is not None:
        order = improved(work.us, transfers, activations, room, steady=wishes.steady)
        groups = [groups[index] for index in order]
        transfers = needed_in_order([transfers[index] for index in order])
    best: Plan | None = None
    low, high = 0, room or 0
    limit = room
    for _ in range(_RETRIES):
        try:
            leads = choose(work.us, transfers, activations, limit, steady=wishes.steady)
        except OutOfMemoryError:
            if limit == room:
                raise
            low = max(low, limit or 0)
        else:
            leads, colors = _placed(work, transfers, leads, room, wishes.steady)
            if room is None or colors.bytes <= room:
                plan = _plan(work, wishes, resident, groups, transfers, leads, colors)
                if best is None or plan.period_us < best.period_us:
                    best = plan
                if limit == room:
                    return plan
                low = max(low, limit or 0)
            else:
                high = min(high, leads.peak - 1)
                low = max(low, high - 2 * (colors.bytes - room)) if best is None else low
        limit = (low + high) // 2
        if high - low <= _CLOSE * (room or 0) and best is not None:
            break
    if best is not None:
        return best
    leads = latest(work.us, transfers, activations, steady=wishes.steady)
    colors = colored(work, transfers, leads.issue, room)
    if room is not None and colors.bytes > room:
        raise OutOfMemoryError(0, colors.bytes)
    return _plan(work, wishes, resident, groups, transfers, leads, colors)


def _placed(
    work: Work, transfers: list[Transfer], leads: Leads, room: int | None, steady: bool
) -> tuple[Leads, Coloring]:
    colors = colored(work, transfers, leads.issue, room)
    if room is None and colors.bytes > colors.bound * _LOOSE:
        return _tighter(work, transfers, leads, colors, steady)
    return leads, colors


def _tighter(
    work: Work, transfers: list[Transfer], leads: Leads, colors: Coloring, steady: bool
) -> tuple[Leads, Coloring]:
    """Copies issued with less to spare, where that makes the arena smaller.

    Buffers that are live around the end of a run may leave no placement near what is live at any one slot.
    """
    for margin in (MARGIN / 2, MARGIN / 5, 0.0):
        tried = choose(work.us, transfers, work.live(), None, steady=steady, margin=margin)
        found = colored(work, transfers, tried.issue)
        if found.bytes < colors.bytes and tried.pace.us <= leads.pace.us * (1 + _SAME):
            leads, colors = tried, found
        if colors.bytes <= colors.bound * _LOOSE:
            break
    return leads, colors


def least_arena(work: Work, weights: list[Weight]) -> int:
    """Bytes of an arena that surely does, with these weights streamed and each copied where it is used."""
    transfers = [Transfer(0.0, weight.first, weight.last, weight.bytes) for weight in weights]
    return colored(work, transfers, [transfer.first for transfer in transfers]).bytes


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
