"""Choose a plan: what stays on the GPU, what is copied together, when, and where in the arena it lies.

The aim is the least time from run to run of a steady stream of inferences (or of one cold run), within a
budget of resident bytes and a limit on all device memory. Among plans of equal time the one that keeps more
resident within the budget is taken, then the one with the smaller arena.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...errors import InputError
from .decisions import Link, Plan, Wishes
from .fitting import Fitter, least_arena
from .residency import ResidentSet, frontier, saving_us, search
from .work import Work

_SAME: Final = 1e-9
_ROUND: Final = 8
"""Rounder budgets are multiples of this part of all literals."""
_GOOD: Final = 1e-3
"""A plan this close to what its budget allows at best is not improved upon."""
_FEW: Final = 8
"""Of so few literals every set is tried where the first is not good."""
_TRIES: Final = 40_000
"""Guesses for a search, times the size of the program."""
_PLANNED: Final = 160
"""Of the guesses so many are planned in full, divided by the size of the program."""


def make_plan(work: Work, link: Link, wishes: Wishes) -> Plan:
    """The best plan found; deterministic.

    Plans of rounder budgets below the one given are looked at too, and these are the same for every budget:
    so more budget is never slower than a rounder one below it.

    Raises:
        InputError: the memory limit cannot be kept, with what it would take.
    """
    sets = _sets(work, link)
    fitter = Fitter(work, link, wishes)
    budget = _largest_that_fits(fitter, sets) if wishes.budget is None else wishes.budget
    total = work.literal_bytes
    rounder = (total * part // _ROUND for part in range(_ROUND, -1, -1) if total * part < budget * _ROUND)
    marks = (budget, *rounder)
    if wishes.memory_limit is None and wishes.steady:
        # As a rule nothing holds a copy back, so that the time is known without a plan.
        chosen = min((_largest(sets, mark) for mark in marks), key=fitter.unhindered_us)
        plan = fitter.plan(chosen)
        if plan is not None and plan.period_us <= fitter.unhindered_us(chosen) * (1 + _SAME):
            return plan
    best: Plan | None = None
    for mark in marks:
        if best is None or fitter.least_us(mark) < best.period_us * (1 - _SAME):
            best = _better(best, _within(fitter, sets, mark))
    if best is None:
        raise _too_little(work, wishes)
    return best


def _better(old: Plan | None, new: Plan | None) -> Plan | None:
    if old is None or (new is not None and new.period_us < old.period_us * (1 - _SAME)):
        return new
    return old


def _within(fitter: Fitter, sets: list[ResidentSet], budget: int) -> Plan | None:
    """The best plan found with at most `budget` bytes resident."""
    first = _largest(sets, budget)
    best = fitter.plan(first)
    target = fitter.least_us(budget)
    if best is not None and best.period_us <= target * (1 + _GOOD):
        return best
    for each in _others(fitter, first, budget):
        if best is None or fitter.least_us(each.bytes) < best.period_us * (1 - _SAME):
            best = _better(best, fitter.plan(each))
    return best


def _largest(sets: list[ResidentSet], budget: int) -> ResidentSet:
    return max((each for each in sets if each.bytes <= budget), key=lambda each: each.bytes)


def _others(fitter: Fitter, first: ResidentSet, budget: int) -> Iterator[ResidentSet]:
    """Other resident sets that are worth a plan: all of them for few literals, else what a search finds."""
    sizes = [weight.bytes for weight in fitter.work.weights]
    if len(sizes) <= _FEW:
        sets = [bits for bits in range(1 << len(sizes)) if _size(bits, sizes) <= budget]
        yield from (_set(bits, sizes) for bits in sorted(sets, key=lambda bits: (-_size(bits, sizes), bits)))
        return
    size = max(len(fitter.work.slots) + len(sizes), 1)
    guessed = search(fitter.guess_us, sizes, budget, [first.bits, 0], _TRIES // size)
    for bits in guessed[: max(2, _PLANNED // size)]:
        yield _set(bits, sizes)


def _set(bits: int, sizes: list[int]) -> ResidentSet:
    return ResidentSet(bits, _size(bits, sizes), 0.0)


def _size(bits: int, sizes: list[int]) -> int:
    return sum(size for index, size in enumerate(sizes) if bits >> index & 1)


def _largest_that_fits(fitter: Fitter, sets: list[ResidentSet]) -> int:
    """Bytes of the largest resident set with which the memory limit can be kept: the budget `auto`."""
    if fitter.wishes.memory_limit is None:
        return fitter.work.literal_bytes
    low, high = 0, len(sets)
    while high - low > 1:
        middle = (low + high) // 2
        if fitter.plan(sets[middle]) is not None:
            low = middle
        else:
            high = middle
    return sets[low].bytes


def _sets(work: Work, link: Link) -> list[ResidentSet]:
    sizes = [weight.bytes for weight in work.weights]
    slots = len(work.slots)
    savings = [saving_us(w, slots, link.latency_us, link.bytes_per_us) for w in work.weights]
    return frontier(sizes, savings)


def _too_little(work: Work, wishes: Wishes) -> InputError:
    arena = least_arena(work, work.weights)
    needed = arena + work.parameters + work.code
    return InputError(
        f"a memory limit of {wishes.memory_limit or 0:,} bytes is too little: even with no literal resident "
        f"the program needs {needed:,} (arena {arena:,}, parameters {work.parameters:,}, code objects "
        f"{work.code:,}); give at least that with --memory-limit"
    )
