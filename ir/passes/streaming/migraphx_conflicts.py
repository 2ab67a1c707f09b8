"""Which instructions MIGraphX's scheduler says may run at the same time.

Two instructions do if they are on different streams and there is a place behind both where streams meet,
unless one of them lies on every way to that place. Each set of them is tied by an `identity` in front of the
last instruction, which keeps the buffers of all of them live and so apart.

Sets of instructions are numbers here, a bit for each position.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ... import edit
from ...errors import InputError
from ..step import Recorder, Step
from .migraphx_events import Flow
from .migraphx_graph import Graph, ScheduleModel

MOST_PAIRS: Final = 1_000_000
"""More pairs than this are not tied: the program would hold little else."""


def dominators(graph: Graph) -> list[int]:
    """The closest instruction on every way to each instruction, or -1.

    Ways begin at whatever has no inputs: where one input goes back to a literal or an allocation of its own,
    nothing is on every way.
    """
    up: list[list[int]] = []  # the dominators 1, 2, 4, … steps up
    depth: list[int] = []
    for at in range(len(graph.ops)):
        parent = -1
        for rank, each in enumerate(dict.fromkeys(graph.inputs[at])):
            parent = each if rank == 0 else _common(up, depth, parent, each)
            if parent < 0:
                break
        depth.append(depth[parent] + 1 if parent >= 0 else 0)
        jumps: list[int] = []
        while parent >= 0:
            jumps.append(parent)
            step = len(jumps) - 1
            parent = up[parent][step] if step < len(up[parent]) else -1
        up.append(jumps)
    return [jumps[0] if jumps else -1 for jumps in up]


def _common(up: list[list[int]], depth: list[int], one: int, other: int) -> int:
    """The deepest instruction that dominates both (or is one of them), or -1."""
    if depth[one] < depth[other]:
        one, other = other, one
    above, step = depth[one] - depth[other], 0
    while above:
        one = up[one][step] if above & 1 else one
        above, step = above >> 1, step + 1
    if one == other:
        return one
    for step in range(len(up[one]) - 1, -1, -1):
        if step < len(up[one]) and up[one][step] != up[other][step]:
            one, other = up[one][step], up[other][step]
    return up[one][0] if up[one] and up[one][0] == up[other][0] else -1


def _meeting_places(graph: Graph, streams: Flow) -> list[int]:
    """For each instruction the places behind it where streams meet, but those that it dominates."""
    above = dominators(graph)
    behind = [0] * len(graph.ops)
    below = [0] * len(graph.ops)
    for at in range(len(graph.ops) - 1, -1, -1):
        meets = 1 << at if len(streams.before[at]) > 1 else 0
        if above[at] >= 0:
            below[above[at]] |= below[at] | meets
        for user in graph.users[at]:
            behind[at] |= behind[user] | (1 << user if len(streams.before[user]) > 1 else 0)
        if len(streams.outward[at]) > 1:
            behind[at] &= ~below[at]
    return behind


def conflicts(
    graph: Graph, stream: dict[int, int], streams: Flow, model: ScheduleModel
) -> dict[int, list[int]]:
    """Instruction → later instructions that may run at the same time.

    Raises InputError where there are more than `MOST_PAIRS` pairs of them.
    """
    classes: dict[tuple[int, int], int] = {}
    member_of: list[set[tuple[int, int]]] = [set() for _ in graph.ops]
    for at, behind in enumerate(_meeting_places(graph, streams)):
        if not behind:
            continue
        idle = [each for each in graph.inputs[at] if _is_idle_memory(graph, stream, model, each)]
        for where in {stream[at]} if at in stream else streams.before[at]:
            for each in (at, *idle):
                classes[where, behind] = classes.get((where, behind), 0) | 1 << each
                member_of[each].add((where, behind))
    beside = {one: _beside(one, classes) for one in classes}
    found: dict[int, list[int]] = {}
    pairs = 0
    for at, mine in enumerate(member_of):
        bits = 0
        for key in mine:
            bits |= beside[key]
        bits >>= at + 1
        pairs += bits.bit_count()
        if pairs > MOST_PAIRS:
            raise InputError(
                f"more than {MOST_PAIRS:,} pairs of instructions may run at the same time, and MIGraphX ties "
                "each of them: step a smaller program, or ask for fewer streams"
            )
        if bits:
            found[at] = [at + 1 + each for each in _places(bits)]
    return found


def _beside(one: tuple[int, int], classes: dict[tuple[int, int], int]) -> int:
    """Whoever meets members of a class (a stream, and places where streams meet) from another stream."""
    where, behind = one
    found = 0
    for (other, places), members in classes.items():
        if other != where and places & behind:
            found |= members
    return found


def _is_idle_memory(graph: Graph, stream: dict[int, int], model: ScheduleModel, at: int) -> bool:
    """Whether an input has no stream and yet depends on the device: an allocation."""
    name = graph.ops[at].name
    return at not in stream and not name.startswith("@") and not model.context_free(name)


def _places(bits: int) -> Iterator[int]:
    """The places of the ones in a number, lowest first."""
    text = bin(bits)[:1:-1]
    at = text.find("1")
    while at >= 0:
        yield at
        at = text.find("1", at + 1)


def tie(graph: Graph, rows: dict[int, list[int]], recorder: Recorder) -> Iterator[Step]:
    """An `identity` for each instruction that later ones may run beside, in front of the last instruction."""
    last = graph.ops[-1]
    for at, others in rows.items():
        ops = [graph.ops[at], *(graph.ops[each] for each in others)]
        values = [op.results[0] for op in ops if op.results]
        if len(values) < 2:
            continue
        edit.insert_at(
            graph.block, len(graph.block.ops) - 1, edit.create("identity", values, (values[0].type,))
        )
        recorder.set("conflicts", ops[0], tuple(ops[1:]))
        names = ", ".join(graph.name(each) for each in others[:6]) + (" …" if len(others) > 6 else "")
        why = f"{graph.name(at)} may run beside {names}: an identity in front of {last.name} ties them"
        yield recorder.step("conflict", why, op=graph.ops[at])
