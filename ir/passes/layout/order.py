"""Picks that depend on the order of uses, which text does not carry.

A compiler that made a program in memory visits the uses of a value in the order in which it made them; one
that reads a text visits them in the order of the text. Where propagation with every order turned around
would pick another encoding, the pick is marked.
"""

from __future__ import annotations

from ...program import Op, Value
from .anchors import anchor_values
from .names import CONVERT, kind
from .propagate import OutOfRangeError, choose, targets
from .state import Run
from .tensors import Layout


def order_dependent(run: Run, function: Op) -> list[Value]:
    """The values whose pick would change if uses were visited the oldest first."""
    held = _propagate_oldest_first(run, function)
    pick = run.recorder.table("pick")
    return [
        value
        for value, chosen in pick.items()
        if isinstance(value, Value) and value in held and choose(value, held[value])[0] != chosen
    ]


def _propagate_oldest_first(run: Run, function: Op) -> dict[Value, tuple[Layout, ...]]:
    held: dict[Value, tuple[Layout, ...]] = {
        value: (layout,) for value, _, layout in anchor_values(run, function)
    }
    stack = list(held)
    while stack:
        value = stack.pop()
        own = held[value]
        for use in reversed(run.newest_first(value)):
            try:
                receivers = targets(run, use)
            except OutOfRangeError:
                continue
            stack.extend(
                target
                for target in receivers
                if run.tensors.of(target) is not None and _add(run, held, use[0], own, target)
            )
    return held


def _add(
    run: Run,
    held: dict[Value, tuple[Layout, ...]],
    op: Op,
    layouts: tuple[Layout, ...],
    target: Value,
) -> bool:
    before = held.get(target, ())
    after = before
    for layout in layouts:
        made = layout if kind(op) == CONVERT else run.infer.result(op, layout)
        if made is not None and made not in after:
            after = (*after, made)
    if len(after) == len(before):
        return False
    held[target] = after
    return True
