"""The order of the copy stream.

With memory to spare, taking transfers in the order in which they are needed is never worse than another
order. Where memory is short it may be: a small literal that fits now may be copied while a large one that is
needed sooner still waits for room.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from .leads import OutOfMemoryError, soonest
from .pace import Transfer, pace

_WINDOW: Final = 3
"""How far a transfer is moved in one try."""
_WORTH: Final = 1e-9


def needed_in_order(transfers: list[Transfer]) -> list[Transfer]:
    """The transfers with the slots that they must be done by: those behind one must not come too late."""
    found = list(transfers)
    first = 1 << 60
    for index in range(len(found) - 1, -1, -1):
        first = min(first, found[index].first)
        if first < found[index].first:
            found[index] = replace(found[index], first=first)
    return found


def improved(
    us: list[float], transfers: list[Transfer], activations: list[int], limit: int, *, steady: bool
) -> list[int]:
    """Places of the transfers in a better order, found by moving one after the other while that helps."""
    size = max(len(us) + len(transfers), 1)
    left = 10_000 // size
    order = list(range(len(transfers)))

    def time(tried: list[int]) -> float:
        chosen = needed_in_order([transfers[index] for index in tried])
        try:
            issue = soonest(chosen, activations, limit, steady=steady)
        except OutOfMemoryError:
            return float("inf")
        return pace(us, chosen, issue, steady=steady).us

    best = time(order)
    least = max(sum(us), sum(transfer.us for transfer in transfers))
    moved = True
    while moved and best > least * (1 + _WORTH):
        moved = False
        for at in range(len(order)):
            for to in range(max(at - _WINDOW, 0), min(at + _WINDOW + 1, len(order))):
                if to == at or left <= 0:
                    continue
                tried = [*order[:at], *order[at + 1 :]]
                tried.insert(to, order[at])
                left -= 1
                found = time(tried)
                if found < best * (1 - _WORTH):
                    order, best, moved = tried, found, True
        if left <= 0:
            break
    return order
