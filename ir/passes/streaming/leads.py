"""When each copy is issued: early enough to be hidden, no earlier than memory allows.

The copy stream takes its transfers in a fixed order. So which of them have been issued before a slot is said
by their number alone, and so are the bytes that are live at the slot. As many as fit at a slot *and at all
later ones* may be issued before it; issuing each as early as that is the fastest that this order and this
memory allow. Then each is put off for as long as that costs no time, which frees memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .pace import Pace, Transfer, latest_starts, pace, slot_at

MARGIN: Final = 0.05
"""Share of a run's time by which a copy is issued earlier than the model asks for, where that makes no new
peak: costs are estimates."""


@dataclass(slots=True)
class Leads:
    """Issue slots of the transfers, and what they give."""

    issue: list[int]
    pace: Pace
    live: list[int]
    """Bytes live at each slot: activations, and literals from their issue on."""

    @property
    def peak(self) -> int:
        """The most bytes live at once."""
        return max(self.live, default=0)


class OutOfMemoryError(Exception):
    """What must be live at a slot, with every copy issued as late as can be, is more than the limit."""

    def __init__(self, slot: int, bytes: int) -> None:
        super().__init__(slot, bytes)
        self.slot = slot
        self.bytes = bytes


def choose(
    us: list[float],
    transfers: list[Transfer],
    activations: list[int],
    limit: int | None,
    *,
    steady: bool,
    margin: float = MARGIN,
) -> Leads:
    """Issue slots for least time within `limit` bytes of live arena; raises `OutOfMemoryError`.

    `transfers` are in the order of the copy stream; `margin` is a share of a run's time, see `MARGIN`.
    """
    issue = soonest(transfers, activations, limit, steady=steady)
    found = pace(us, transfers, issue, steady=steady)
    late = _put_off(transfers, found, issue, 0.0, steady)
    peak = max(live_with(activations, transfers, late), default=0)
    soon = soonest(transfers, activations, peak, steady=steady)
    wanted = _put_off(transfers, found, issue, margin * found.us, steady)
    best = in_order([max(a, b) for a, b in zip(soon, wanted, strict=True)], len(us))
    if pace(us, transfers, best, steady=steady).us > found.us * (1 + 1e-9):
        best = late
    return Leads(best, pace(us, transfers, best, steady=steady), live_with(activations, transfers, best))


def soonest(
    transfers: list[Transfer], activations: list[int], limit: int | None, *, steady: bool
) -> list[int]:
    """For each transfer the first slot at which memory allows it to be issued (and from there on).

    In a steady stream a slot may be negative: the transfer is issued during the run before.
    """
    slots, count = len(activations), len(transfers)
    if not count:
        return []
    allowed = _allowed(transfers, activations, limit, steady)
    # What is issued at a slot stays: no more may be issued than later slots have room for.
    for slot in range(2 * slots - 1 if steady else slots - 1, 0, -1):
        later = allowed[slot % slots] + count * (slot // slots)
        at = (slot - 1) % slots
        turn = count * ((slot - 1) // slots)
        allowed[at] = min(allowed[at], later - turn)
    issue = [0] * count
    slot = -slots if steady else 0
    for index in range(count):
        while _reached(allowed, slot, slots, count) <= index:
            slot += 1
        issue[index] = slot
    return issue


def _reached(allowed: list[int], slot: int, slots: int, count: int) -> int:
    return allowed[slot % slots] + count * (slot // slots)


def _allowed(transfers: list[Transfer], activations: list[int], limit: int | None, steady: bool) -> list[int]:
    """How many transfers, those of earlier runs aside, may have been issued before each slot ends.

    More than there are transfers: so many of the next run.
    """
    slots, count = len(activations), len(transfers)
    free = [0] * (slots + 1)
    allowed = []
    held = 0
    needed = issued = 0
    worst = (0, 0)
    for slot in range(slots):
        held -= free[slot]
        while issued < count and transfers[issued].first <= slot:
            needed = issued = issued + 1
            held += transfers[issued - 1].bytes
            free[transfers[issued - 1].last + 1] += transfers[issued - 1].bytes
        worst = max(worst, (activations[slot] + held, slot))
        allowed.append(_ahead(transfers, slot, needed, limit, activations[slot] + held, slots, steady))
    if limit is not None and worst[0] > limit:
        raise OutOfMemoryError(worst[1], worst[0])
    return allowed


def _ahead(
    transfers: list[Transfer], slot: int, needed: int, limit: int | None, live: int, slots: int, steady: bool
) -> int:
    """How far the copy stream may be ahead at a slot at which `needed` transfers must have been issued."""
    count = len(transfers)
    at = max(needed, count) if limit is None else needed
    while at < (2 * count if steady else count):
        transfer = transfers[at % count]
        # A literal's own buffer is in use until its last use in the run before.
        if at >= count and transfer.last >= slot:
            break
        # A transfer whose last use has passed by now is one of an order that nobody reads any more.
        live += transfer.bytes
        if limit is not None and live > limit:
            break
        at += 1
    return at


def latest(us: list[float], transfers: list[Transfer], activations: list[int], *, steady: bool) -> Leads:
    """Every copy issued in front of its first use: slowest, and no plan needs less memory."""
    issue = in_order([transfer.first for transfer in transfers], len(us))
    return Leads(issue, pace(us, transfers, issue, steady=steady), live_with(activations, transfers, issue))


def live_with(activations: list[int], transfers: list[Transfer], issue: list[int]) -> list[int]:
    """Bytes live at each slot, with the transfers' bytes live from their issue slot to their last use."""
    slots = len(activations)
    steps = [0] * (slots + 1)
    for transfer, slot in zip(transfers, issue, strict=True):
        steps[max(slot, 0)] += transfer.bytes
        steps[transfer.last + 1] -= transfer.bytes
        if slot < 0:
            steps[slot + slots] += transfer.bytes
            steps[slots] -= transfer.bytes
    total = 0
    live = []
    for here, step in zip(activations, steps[:slots], strict=True):
        total += step
        live.append(here + total)
    return live


def in_order(issue: list[int], slots: int) -> list[int]:
    """The same issue slots with the order of the copy stream counted in.

    No copy begins before the one in front of it, so that its bytes need not be free earlier.
    """
    latest = max(issue, default=0) - slots
    found = []
    for slot in issue:
        latest = max(latest, slot)
        found.append(latest)
    return found


def _put_off(
    transfers: list[Transfer], found: Pace, issue: list[int], margin: float, steady: bool
) -> list[int]:
    """The latest issue slots that keep `found`'s times, with `margin` microseconds to spare."""
    latest = latest_starts(transfers, found, steady=steady)
    slots = [slot_at(found, time - margin, steady=steady) for time in latest]
    put = [
        min(max(slot, low), transfer.first)
        for slot, low, transfer in zip(slots, issue, transfers, strict=True)
    ]
    return in_order(put, len(found.ends))
