"""Ops whose custom form prints operands in another order than they hold them.

The orders were read off libtriton 3.0 and 3.9, which give the operands of a parsed op by index.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_REFERENCE: Final = re.compile(r'"(?:[^"\\\n]|\\.)*+"|(%[\w$.\-]*[\w$.](?:#\d+)?)')


def _value_first(gaps: list[str]) -> list[int]:
    """`%value, %container[…]`: held the other way round."""
    return [1, 0, *range(2, len(gaps))]


def _indices_before_source(gaps: list[str]) -> list[int]:
    """`%descriptor[%i…], %source`: held descriptor, source, indices."""
    return [0, *range(2, len(gaps)), 1]


def _scales_last(gaps: list[str]) -> list[int]:
    """`%a scale %as, %b scale %bs, %c`: held a, b, c, then the scales."""
    plain = [place for place, gap in enumerate(gaps) if "scale" not in gap]
    scaled = [place for place, gap in enumerate(gaps) if "scale" in gap]
    return _places([*plain, *scaled])


def _source_behind_target(gaps: list[str]) -> list[int]:
    """`%source, %target[%dep]?, %pred`: held target, dep, source, pred."""
    return [1, 0, 2] if len(gaps) == 3 else [2, 0, 1, *range(3, len(gaps))]


def _barrier_before_result(gaps: list[str]) -> list[int]:
    """`%descriptor[%i…] %result, %barrier, %pred`: held … barrier, result, pred."""
    count = len(gaps)
    return [*range(count - 3), count - 2, count - 3, count - 1] if count >= 4 else list(range(count))


def _barriers_before_predicates(gaps: list[str]) -> list[int]:
    """`%a, %b, %d[%dep]?, …, %use, %pred, %bar[%p], …`: held …, the barriers, then their predicates.

    A barrier's predicate stands in brackets behind it; so does the dependency behind the third operand.
    """
    bracketed = [place for place, gap in enumerate(gaps) if gap.rstrip().endswith("[") and place > 3]
    if not bracketed:
        return list(range(len(gaps)))
    first = bracketed[0] - 1
    rest = [place for place in range(first, len(gaps)) if place not in bracketed]
    return _places([*range(first), *rest, *bracketed])


def _value_behind_place(gaps: list[str]) -> list[int]:
    """`%value, %pointer[%offsets], …`: held pointer, offsets, value, …."""
    return [2, 0, 1, *range(3, len(gaps))] if len(gaps) >= 3 else list(range(len(gaps)))


def _target_first(gaps: list[str]) -> list[int]:
    """`%pointer[…] … into %target`: held target first."""
    return [*range(1, len(gaps)), 0]


def _stage_last(gaps: list[str]) -> list[int]:
    """`%aref[%stage], %token`: held aref, token, stage."""
    return [0, 2, 1] if len(gaps) == 3 else list(range(len(gaps)))


def _places(held: list[int]) -> list[int]:
    """From "held k is printed held[k]" to "printed k is held …[k]"."""
    places = [0] * len(held)
    for index, printed in enumerate(held):
        places[printed] = index
    return places


_ORDERS: Final[dict[str, Callable[[list[str]], list[int]]]] = {
    "llvm.insertvalue": _value_first,
    "llvm.insertelement": _value_first,
    "tt.descriptor_store": _indices_before_source,
    "tt.descriptor_reduce": _indices_before_source,
    "tt.experimental_descriptor_store": _indices_before_source,
    "tt.dot_scaled": _scales_last,
    "ttng.tmem_store": _source_behind_target,
    "ttng.async_tma_copy_global_to_local": _barrier_before_result,
    "ttng.async_tma_gather": _barrier_before_result,
    "ttng.tc_gen5_mma": _barriers_before_predicates,
    "ttng.tc_gen5_mma_scaled": _barriers_before_predicates,
    "amdg.buffer_atomic_rmw": _value_behind_place,
    "amdgpu.buffer_atomic_rmw": _value_behind_place,
    "amdg.buffer_load_to_local": _target_first,
    "amdgpu.buffer_load_to_local": _target_first,
    "nvws.aref.put.exit": _stage_last,
    "nvws.aref.get.exit": _stage_last,
}
REORDERED: Final = frozenset(_ORDERS)


def operand_order(name: str, body: str) -> list[int] | None:
    """For each operand in the order of the text, its index in the op; None if the orders agree.

    `body` is the text of a custom form behind the op's name.
    """
    rule = _ORDERS.get(name)
    if rule is None:
        return None
    gaps: list[str] = []
    end = 0
    for found in _REFERENCE.finditer(body):
        if found.group(1):
            gaps.append(body[end : found.start()])
            end = found.end()
    return rule(gaps) if len(gaps) > 1 else None
