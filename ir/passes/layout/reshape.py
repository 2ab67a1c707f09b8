"""The blocked encoding behind a reshape that keeps the order of elements, as Triton 3.0 to 3.2 found it.

There is one only where every thread holds, after the reshape, the elements it held before. Source and result
dimensions fall into groups that hold the same elements; inside a group the minor dimensions must be filled up
by elements, lanes and warps before the next one may be spread at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import TypeAlias

from ...layouts.encodings import Blocked

Group: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""Source dimensions and result dimensions that hold the same elements, major first."""


def reshaped(source: Sequence[int], layout: Blocked, target: Sequence[int]) -> Blocked | None:
    """The encoding of the result of `reshape: source → target` if it is blocked, else None."""
    if tuple(source) == tuple(target):
        return layout
    warps, lanes = prod(layout.warps_per_cta), prod(layout.threads_per_warp)
    if not layout.cga and layout == default_blocked(source, warps, lanes):
        return default_blocked(target, warps, lanes)
    if layout.cga:
        return None
    fields = (layout.size_per_thread, layout.threads_per_warp, layout.warps_per_cta)
    groups = reshape_groups(source, target)
    rank_in_order = {dim: place for place, dim in enumerate(layout.order)}
    for dims, _ in groups:
        places = [rank_in_order[d] for d in reversed(dims)]
        if any(b - a != 1 for a, b in pairwise(places)):
            return None
    if not all(_divides(source, field) for field in fields):
        return None
    if not all(_fills(source, dims, fields) for dims, _ in groups):
        return None
    left = list(target)
    made = [_spread(field, groups, left) for field in fields]
    groups.sort(key=lambda group: rank_in_order[group[0][0]])
    order = tuple(dim for _, dims in groups for dim in reversed(dims))
    return Blocked(tuple(made[0]), tuple(made[1]), tuple(made[2]), order)


def default_blocked(shape: Sequence[int], warps: int, lanes: int) -> Blocked:
    """The encoding of a tensor of which nothing is known: one element a thread, row major."""
    rank = len(shape)
    order = tuple(reversed(range(rank)))
    lanes_along, warps_along = [1] * rank, [1] * rank
    lanes_left, warps_left, threads_left = lanes, warps, lanes * warps
    for dim in order[:-1]:
        threads = min(threads_left, max(1, shape[dim]))
        lanes_along[dim] = max(1, min(threads, lanes_left))
        warps_along[dim] = max(1, min(threads // lanes_along[dim], warps_left))
        warps_left //= warps_along[dim]
        lanes_left //= lanes_along[dim]
        threads_left //= threads
    lanes_along[order[-1]] = lanes // prod(lanes_along)
    warps_along[order[-1]] = warps // prod(warps_along)
    return Blocked((1,) * rank, tuple(lanes_along), tuple(warps_along), order)


def reshape_groups(source: Sequence[int], target: Sequence[int]) -> list[Group]:
    """The smallest groups of dimensions with equal products, from the major end.

    Trailing dimensions of size 1 go to the group before them.
    """
    groups: list[Group] = []
    i = j = 0
    while i < len(source) and j < len(target):
        first_i, first_j = i, j
        left, right = source[i], target[j]
        i, j = i + 1, j + 1
        while left != right:
            if left < right:
                if i >= len(source):
                    break
                left *= source[i]
                i += 1
            else:
                if j >= len(target):
                    break
                right *= target[j]
                j += 1
        groups.append((tuple(range(first_i, i)), tuple(range(first_j, j))))
    if groups and (i < len(source) or j < len(target)):
        dims, other = groups[-1]
        groups[-1] = ((*dims, *range(i, len(source))), (*other, *range(j, len(target))))
    return groups


def _divides(shape: Sequence[int], field: Sequence[int]) -> bool:
    return all(size < part or size % part == 0 for size, part in zip(shape, field, strict=True))


def _fills(shape: Sequence[int], dims: Sequence[int], fields: Sequence[Sequence[int]]) -> bool:
    """Whether elements, lanes and warps fill the minor dimensions of a group before the major ones."""
    left = {d: shape[d] for d in dims}
    for field in fields:
        for at in reversed(range(len(dims))):
            dim = dims[at]
            if field[dim] == 1:
                continue
            if any(left[minor] != 1 for minor in dims[at + 1 :]):
                return False
            left[dim] = left[dim] // field[dim] if left[dim] >= field[dim] else 0
            if left[dim] == 0 and at != 0:
                return False
    return True


def _spread(field: Sequence[int], groups: Sequence[Group], left: list[int]) -> list[int]:
    """One field of the result; `left` is what of the result's shape is not yet covered."""
    made = [1] * len(left)
    for source_dims, dims in groups:
        rest = prod(field[d] for d in source_dims)
        for dim in reversed(dims):
            made[dim] = min(rest, left[dim])
            rest //= made[dim]
            left[dim] //= made[dim]
        made[dims[0]] *= rest
    return made
