"""Labels of ops that two programs share whatever their values are called.

* *upward*: what an op computes: its shape and, through and through, those of the ops it depends on;
* *downward*: how its results are used, through and through, up to where the uses end;
* *near*: its shape and those of the ops around it within two edges of the def-use graph;
* *local*: its shape and those of the ops that define its operands;
* *spaced*: its shape and how far above it in its block its operands are defined.

The first two find what an edit left alone upstream and downstream of it; the others hold between two
edits. Labels are hashes of tuples of integers, so they do not change from run to run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .index import ARGUMENT, Side

_MASK: Final = (1 << 61) - 1
_FAR: Final = 24


@dataclass(slots=True)
class Labels:
    """One label of each kind for each op of a program."""

    upward: list[int]
    downward: list[int]
    near: list[int]
    local: list[int]
    spaced: list[int]
    reach: list[int]
    """How many ops further up the furthest near definition is that `spaced` counts."""


def label(side: Side, shapes: list[int], names: list[int]) -> Labels:
    """Compute the labels of a program from its shape and name numbers; linear in ops and edges."""
    local = _local(side, shapes, names)
    return Labels(
        _upward(side, shapes),
        _downward(side, shapes),
        _near(side, local),
        local,
        *_spaced(side, shapes, local),
    )


def _upward(side: Side, shapes: list[int]) -> list[int]:
    """Block arguments stand for their place under the op that holds them (and for its own operands)."""
    of_value = [0] * len(side.values)
    for value in side.undefined:
        of_value[value] = 1
    labels: list[int] = []
    arguments, results, inner = side.arguments, side.results, side.inner
    for block in side.program.body.blocks:
        for index, value in enumerate(arguments[side.block_number[block]]):
            of_value[value] = hash((2, index))
    for here, operands in enumerate(side.operands):
        mine = hash((shapes[here], *[of_value[v] for v in operands])) if operands else hash((shapes[here], 3))
        labels.append(mine)
        for index, value in enumerate(results[here]):
            of_value[value] = mine + index
        for place, block_number in enumerate(inner[here]):
            for index, value in enumerate(arguments[block_number]):
                of_value[value] = hash((mine, place, index))
    return labels


def _downward(side: Side, shapes: list[int]) -> list[int]:
    """An op that ends a block passes on what becomes of the op around it."""
    of_value = [0] * len(side.values)
    around = [0] * len(side.ops)
    labels = [0] * len(side.ops)
    parent, results = side.parent, side.results
    last_of_block = {members[-1] for members in side.members if members}
    for here in _backwards(side):
        below = [of_value[v] for v in results[here]]
        if here in last_of_block and parent[here] >= 0:
            mine = hash((shapes[here], around[parent[here]], *below))
        else:
            mine = hash((shapes[here], *below)) if below else hash((shapes[here], 5))
        labels[here] = mine
        around[here] = mine
        for index, value in enumerate(side.operands[here]):
            of_value[value] = (of_value[value] + hash((mine, index))) & _MASK
    return labels


def _backwards(side: Side) -> list[int]:
    """Every op after those behind it in its block, and before the ops of its regions."""
    order: list[int] = []
    stack = [here for here in range(len(side.ops)) if side.parent[here] < 0]
    while stack:
        here = stack.pop()
        order.append(here)
        for block in side.inner[here]:
            stack.extend(side.members[block])
    return order


def _local(side: Side, shapes: list[int], names: list[int]) -> list[int]:
    """An operand that is a block argument counts by the name of the op around it, not by its place."""
    of_value = [0] * len(side.values)
    for value, definer in enumerate(side.definer):
        if definer >= 0:
            of_value[value] = hash((shapes[definer], side.result_index[value]))
        elif definer == ARGUMENT:
            owner = side.block_owner[side.value_block[value]]
            of_value[value] = hash((6, names[owner] if owner >= 0 else 0))
    return [
        hash((shapes[here], *[of_value[v] for v in operands])) if operands else shapes[here]
        for here, operands in enumerate(side.operands)
    ]


def _near(side: Side, local: list[int]) -> list[int]:
    of_value = [local[definer] if definer >= 0 else definer for definer in side.definer]
    users, results = side.users, side.results
    labels: list[int] = []
    for here, operands in enumerate(side.operands):
        below = 0
        for value in results[here]:
            for user in users[value]:
                below += local[user] ^ (local[user] >> 7)
        labels.append(hash((local[here], below & _MASK, *[of_value[v] for v in operands])))
    return labels


def _spaced(side: Side, shapes: list[int], local: list[int]) -> tuple[list[int], list[int]]:
    """In a run of equal ops the distances tell one from the next, and an edit spoils only a few of them.

    A definition further away than `_FAR`, or in another block, counts by its shape, so that an edit
    between does not reach what is below it.
    """
    definer, block_of = side.definer, side.block_of
    of_value = [
        hash((7, local[d])) if d >= 0 else hash((8, d, side.result_index[v])) for v, d in enumerate(definer)
    ]
    labels: list[int] = []
    reach: list[int] = []
    place = side.place
    for here, operands in enumerate(side.operands):
        block, at, furthest = block_of[here], place[here], 0
        mine = []
        for value in operands:
            source = definer[value]
            distance = at - place[source] if source >= 0 and block_of[source] == block else 0
            if 0 < distance < _FAR:
                mine.append(distance)
                furthest = max(furthest, distance)
            else:
                mine.append(of_value[value])
        labels.append(hash((shapes[here], *mine)) if mine else shapes[here])
        reach.append(furthest)
    return labels, reach
