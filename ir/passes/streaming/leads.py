"""When each copy is issued: early enough to be hidden, no earlier than memory allows.

The copy stream takes the transfers in the order in which they are needed, which on one engine is never worse
than another order. How early each may begin (its issue slot) decides both how long kernels wait and how long
its bytes are occupied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .pace import Pace, Transfer, latest_starts, pace, slot_at

MARGIN: Final = 0.05
"""Share of a run's time by which a copy is issued earlier than the model asks for, where memory allows: costs
are estimates."""
_WORTH: Final = 1e-6


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
    us: list[float], transfers: list[Transfer], activations: list[int], limit: int | None, *, steady: bool
) -> Leads:
    """Issue slots for least time within `limit` bytes of live arena; raises `OutOfMemoryError`."""
    room = _Room(activations, transfers, limit, steady)
    free = [earliest(t, len(us), steady=steady) for t in transfers]
    best_pace = pace(us, transfers, free, steady=steady)
    wanted = _wanted(transfers, best_pace, free, 0.0, steady)
    issue = room.extend(wanted, range(len(transfers)))
    found = Leads(issue, pace(us, transfers, issue, steady=steady), room.live)
    if found.pace.us > best_pace.us * (1 + _WORTH):
        found = _improve(us, transfers, activations, limit, found, wanted, steady)
    return _with_margin(us, transfers, activations, found, free, steady)


def _with_margin(
    us: list[float],
    transfers: list[Transfer],
    activations: list[int],
    found: Leads,
    free: list[int],
    steady: bool,
) -> Leads:
    """Issue copies somewhat earlier still, where that makes no new peak."""
    room = _Room(activations, transfers, None, steady)
    for index, slot in enumerate(found.issue):
        room.set(index, slot)
    room.limit = found.peak
    wanted = _wanted(transfers, found.pace, free, MARGIN * found.pace.us, steady)
    issue = room.extend(wanted, range(len(transfers)))
    better = Leads(issue, pace(us, transfers, issue, steady=steady), room.live)
    best = better if better.pace.us <= found.pace.us else found
    best.issue = in_order(best.issue, len(us))
    best.live = live_with(activations, transfers, best.issue)
    return best


def in_order(issue: list[int], slots: int) -> list[int]:
    """The same issue slots with the order of the copy stream counted in: no copy begins before the one in
    front of it, so that its bytes need not be free earlier. Costs no time."""
    latest = max(issue, default=0) - slots
    found = []
    for slot in issue:
        latest = max(latest, slot)
        found.append(latest)
    return found


def earliest(transfer: Transfer, slots: int, *, steady: bool) -> int:
    """The first slot at which a transfer's bytes can be free: behind its own last use in the run before."""
    return max(transfer.last + 1 - slots, transfer.first - slots) if steady else 0


def live_with(activations: list[int], transfers: list[Transfer], issue: list[int]) -> list[int]:
    """Bytes live at each slot, with the transfers' bytes live from their issue slot to their last use."""
    room = _Room(activations, transfers, None, True)
    for index, slot in enumerate(issue):
        room.set(index, slot)
    return room.live


def _wanted(transfers: list[Transfer], best: Pace, free: list[int], margin: float, steady: bool) -> list[int]:
    """The latest issue slots that keep `best`'s times, with `margin` microseconds to spare."""
    latest = latest_starts(transfers, best, steady=steady)
    slots = [slot_at(best, time - margin, steady=steady) for time in latest]
    return [
        min(max(slot, low), transfer.first)
        for slot, low, transfer in zip(slots, free, transfers, strict=True)
    ]


class _Room:
    """Bytes live at each slot while issue slots are being chosen."""

    def __init__(
        self, activations: list[int], transfers: list[Transfer], limit: int | None, steady: bool
    ) -> None:
        self.live = list(activations)
        self.transfers = transfers
        self.limit = limit
        self.steady = steady
        self.issue = [t.first for t in transfers]
        for transfer in transfers:
            for slot in range(transfer.first, transfer.last + 1):
                self.live[slot] += transfer.bytes
        if limit is not None and self.live and max(self.live) > limit:
            worst = max(range(len(self.live)), key=self.live.__getitem__)
            raise OutOfMemoryError(worst, self.live[worst])

    def extend(self, wanted: list[int], order: range | list[int]) -> list[int]:
        """Move each transfer's issue slot back towards the wanted one while there is room."""
        for index in order:
            while self.issue[index] > wanted[index] and self.earlier(index):
                pass
        return list(self.issue)

    def earlier(self, index: int) -> bool:
        """Move a transfer's issue slot back by one, if there is room at that slot."""
        slot, size, slots = self.issue[index] - 1, self.transfers[index].bytes, len(self.live)
        if slot < earliest(self.transfers[index], slots, steady=self.steady):
            return False
        if self.limit is not None and self.live[slot % slots] + size > self.limit:
            return False
        self.live[slot % slots] += size
        self.issue[index] = slot
        return True

    def set(self, index: int, slot: int) -> None:
        """Put a transfer's issue slot where it is to be, whatever the room."""
        slots = len(self.live)
        for at in range(slot, self.issue[index]):
            self.live[at % slots] += self.transfers[index].bytes
        for at in range(self.issue[index], slot):
            self.live[at % slots] -= self.transfers[index].bytes
        self.issue[index] = slot


def _improve(
    us: list[float],
    transfers: list[Transfer],
    activations: list[int],
    limit: int | None,
    found: Leads,
    wanted: list[int],
    steady: bool,
) -> Leads:
    """Other ways to share the room out: more for later transfers first, or where slots wait the longest."""
    count = len(transfers)
    orders = [
        list(range(count - 1, -1, -1)),
        sorted(range(count), key=lambda i: (transfers[i].bytes, i)),
        sorted(range(count), key=lambda i: (-transfers[i].us, i)),
    ]
    for order in orders:
        room = _Room(activations, transfers, limit, steady)
        issue = room.extend(wanted, order)
        found = _better(found, Leads(issue, pace(us, transfers, issue, steady=steady), room.live))
    room = _Room(activations, transfers, limit, steady)
    found = _better(found, _by_stalls(us, transfers, room, steady))
    return _exchange(us, transfers, activations, limit, found, steady)


def _better(old: Leads, new: Leads) -> Leads:
    if new.pace.us < old.pace.us * (1 - _WORTH):
        return new
    return new if new.pace.us <= old.pace.us and new.peak < old.peak else old


def _by_stalls(us: list[float], transfers: list[Transfer], room: _Room, steady: bool) -> Leads:
    """Give room slot by slot to the transfers that the longest stall waits for."""
    current = pace(us, transfers, room.issue, steady=steady)
    for _ in range(_moves(len(us), len(transfers))):
        moved = False
        for slot in sorted(range(len(us)), key=lambda k: -current.stalls[k]):
            if current.stalls[slot] <= 0:
                break
            waited = [i for i, t in enumerate(transfers) if t.first <= slot]
            # The stall ends with the last of the transfers that are needed here; those in front of it on
            # the copy stream push it back as well.
            if any(room.earlier(index) for index in reversed(waited[-4:])):
                moved = True
                break
        if not moved:
            break
        current = pace(us, transfers, room.issue, steady=steady)
    return Leads(list(room.issue), current, list(room.live))


def _exchange(
    us: list[float],
    transfers: list[Transfer],
    activations: list[int],
    limit: int | None,
    found: Leads,
    steady: bool,
) -> Leads:
    """Take one transfer's lead away and let the others have the room, while that helps (small programs)."""
    count = len(transfers)
    left = _moves(len(us), count) // 4
    improved = True
    while improved and left > 0:
        improved = False
        for index in range(count):
            for later in range(found.issue[index] + 1, transfers[index].first + 1):
                left -= 1
                tried = _without(us, transfers, activations, limit, found, index, later, steady)
                if tried.pace.us < found.pace.us * (1 - _WORTH):
                    found, improved = tried, True
                    break
                if left <= 0:
                    return found
    return found


def _without(
    us: list[float],
    transfers: list[Transfer],
    activations: list[int],
    limit: int | None,
    found: Leads,
    index: int,
    later: int,
    steady: bool,
) -> Leads:
    room = _Room(activations, transfers, limit, steady)
    for other, slot in enumerate(found.issue):
        room.set(other, later if other == index else slot)
    lowest = [earliest(t, len(us), steady=steady) for t in transfers]
    issue = room.extend(lowest, [i for i in range(len(transfers)) if i != index])
    return Leads(issue, pace(us, transfers, issue, steady=steady), room.live)


def _moves(slots: int, transfers: int) -> int:
    """How many simulations are worth making: small programs can be searched, large ones cannot."""
    return max(24, min(1500, 120_000 // max(slots + transfers, 1)))
