"""The order in which the ops of a slice are made again: operands and ops around first."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from ...program import Op, walk_blocks


def topological_order(wanted: dict[Op, None]) -> list[Op]:
    """The ops of `wanted`, each behind those of them that it needs.

    Walks from every op up to what it needs and down to what becomes ready by it, as Triton's own sort does,
    which decides the order of ops that do not depend on each other.
    """
    counts: list[Op] = []
    seen: set[Op] = set()
    for root in wanted:
        found: list[Op] = []
        queue: deque[Op] = deque([root])
        listed = {root}
        while queue:
            ready: list[Op] = []
            _visit(queue.popleft(), seen, queue, listed, ready)
            while ready:
                op = ready.pop()
                if op in seen:
                    continue
                seen.add(op)
                found.append(op)
                for following in _followers(op):
                    _visit(following, seen, queue, listed, ready)
        counts.extend(op for op in reversed(found) if op in wanted)
    return list(dict.fromkeys(reversed(counts)))


def block_order(wanted: dict[Op, None], function: Op) -> list[Op]:
    """The ops of `wanted` by blocks, outer ones first, and inside a block as they stand."""
    return [op for block in walk_blocks(function) for op in block.ops if op in wanted]


def _visit(op: Op, seen: set[Op], queue: deque[Op], listed: set[Op], ready: list[Op]) -> None:
    """Put an op on the ready list, or what it waits for on the queue."""
    waits = [operand.op for operand in op.operands if operand.op is not None and operand.op not in seen]
    parent = op.parent
    while parent is not None:
        if parent not in seen:
            waits.append(parent)
        parent = parent.parent
    if not waits:
        ready.append(op)
    for other in waits:
        if other not in listed:
            listed.add(other)
            queue.append(other)


def _followers(op: Op) -> Iterable[Op]:
    for result in op.results:
        for user, _ in reversed(result.uses):
            yield user
    for region in op.regions:
        for block in region.blocks:
            yield from block.ops
