"""Which operators share a kernel: groups with one result, grown from that result towards the inputs.

An operator joins a group if everything that reads it is in the group already. So no other kernel needs what
is inside, and no way leads out of a group and back into it: a group can run where its last operator stood.
The rules are MIGraphX's as far as dumps show them: pointwise operators by themselves, behind one convolution
or matrix product, before or behind reductions over the same axes, and around a concatenation.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from .... import edit
from ....evaluate.attributes import standard
from ....evaluate.pointwise import POINTWISE
from ....evaluate.structure import REDUCTIONS, VIEWS
from ....program import Block, Op, Program, Value
from ...step import Recorder, Step
from .graph import shape_of
from .kernels import PRODUCTS, Body, concat_name, kernel_name, launch

_FARTHEST: Final = 64
"""Operators that are looked at between a broadcast and the reduction that it may spread."""


@dataclass(slots=True)
class Group:
    """Operators that become one kernel; `root` makes its result."""

    root: Op
    members: set[Op] = field(default_factory=set)
    anchor: Op | None = None
    """The product or concatenation that the others are around."""
    lens: tuple[int, ...] = ()
    """What pointwise members make."""
    reduced: tuple[int, ...] = ()
    """What reductions over `lens` make; () while the group has none."""
    parts: dict[Op, int] = field(default_factory=dict)
    """Of a concatenation: the pointwise operators in front of it, and which input they are in front of."""


def fuse(program: Program, block: Block, recorder: Recorder) -> Iterator[Step]:
    """Make kernels of all operators of the main module, from the last to the first."""
    bodies: dict[Op, Body] = {}
    places = {op: index for index, op in enumerate(block.ops)}
    for op in reversed(list(block.ops)):
        if op.block is None or op.name.startswith(("@", "gpu::", "check_context")):
            continue
        if not op.results[0].uses:
            edit.erase(op)
            yield recorder.step("drop-unused", f"nothing reads what this {op.name} makes", op=op)
        elif op.name in VIEWS:
            continue
        elif op.name in ("pooling",):
            yield _library_call(op, recorder)
        else:
            kernel, why = _kernel(grow(op, places), places, bodies)
            yield recorder.step("fuse", why, op=kernel)
    yield from _drop_unused(block, recorder)
    yield from _number(program, block, bodies, recorder)


def grow(root: Op, places: Mapping[Op, int]) -> Group:
    """The largest group that ends in `root`; `places` gives each operator's place in the module."""
    lens = shape_of(root.operands[0] if root.name in REDUCTIONS else root.results[0]).lens
    group = Group(root, {root}, lens=lens)
    if root.name in PRODUCTS or root.name == "concat":
        group.anchor = root
    elif root.name in REDUCTIONS:
        group.reduced = shape_of(root.results[0]).lens
    elif root.name not in POINTWISE:
        return group
    if root.name == "concat":
        _front(group, root)
        return group
    waiting = _producers(root, places) if root.name not in PRODUCTS else []
    heapq.heapify(waiting)
    while waiting:
        _, _, op = heapq.heappop(waiting)
        if op in group.members or not _is_inside(op, group) or not _admit(op, group):
            continue
        group.members.add(op)
        if op.name == "concat":
            _front(group, op)
        elif op.name not in PRODUCTS:
            for each in _producers(op, places):
                heapq.heappush(waiting, each)
    return group


def _producers(op: Op, places: Mapping[Op, int]) -> list[tuple[int, int, Op]]:
    """What makes an operator's inputs, the latest first."""
    made = [value.op for value in op.operands]
    return [(-places[each], id(each), each) for each in made if each is not None and each in places]


def _is_inside(op: Op, group: Group) -> bool:
    """Whether only the group reads the result, and no product, whose inputs are not computed in it."""
    return all(user in group.members and user is not group.anchor for user, _ in op.results[0].uses)


def _admit(op: Op, group: Group) -> bool:
    """Whether an operator fits into the group; remembers what that decides."""
    lens = shape_of(op.results[0]).lens
    if op.name in POINTWISE:
        return lens == group.lens or (bool(group.reduced) and lens == group.reduced)
    if op.name in PRODUCTS or op.name == "concat":
        if group.anchor is not None or group.reduced or lens != group.lens:
            return False
        group.anchor = op
        return True
    if group.anchor is not None:
        return False
    if op.name in REDUCTIONS:
        return _admit_reduction(op, group)
    return op.name == "multibroadcast" and _admit_broadcast(op, group)


def _admit_reduction(op: Op, group: Group) -> bool:
    before, after = shape_of(op.operands[0]).lens, shape_of(op.results[0]).lens
    if not group.reduced and after == group.lens and shape_of(group.root.results[0]).lens == after:
        # So far all was pointwise, on what the reduction makes.
        group.lens, group.reduced = before, after
        return True
    return before == group.lens and after == group.reduced


def _admit_broadcast(op: Op, group: Group) -> bool:
    """A broadcast of what is computed from a reduction over the group's shape."""
    before, after = shape_of(op.operands[0]).lens, shape_of(op.results[0]).lens
    if after != group.lens or len(before) != len(after) or (group.reduced and before != group.reduced):
        return False
    if not _from_reduction(op.operands[0], after, before):
        return False
    group.reduced = before
    return True


def _from_reduction(value: Value, full: tuple[int, ...], reduced: tuple[int, ...]) -> bool:
    waiting = [value.op]
    seen: set[Op] = set()
    while waiting and len(seen) < _FARTHEST:
        op = waiting.pop()
        if op is None or op in seen or shape_of(op.results[0]).lens != reduced:
            continue
        seen.add(op)
        if op.name in REDUCTIONS and shape_of(op.operands[0]).lens == full:
            return True
        if op.name in POINTWISE:
            waiting.extend(each.op for each in op.operands)
    return False


def _front(group: Group, concat: Op) -> None:
    """Pointwise operators in front of a concatenation, of each input those that nothing else reads."""
    for index, value in enumerate(concat.operands):
        waiting = [value.op] if len(value.uses) == 1 else []
        while waiting:
            op = waiting.pop()
            if op is None or op.name not in POINTWISE or shape_of(op.results[0]).lens != shape_of(value).lens:
                continue
            readers = {user for user, _ in op.results[0].uses}
            if all(user is concat or group.parts.get(user) == index for user in readers):
                group.parts[op] = index
                group.members.add(op)
                waiting.extend(each.op for each in op.operands)


def _kernel(group: Group, places: dict[Op, int], bodies: dict[Op, Body]) -> tuple[Op, str]:
    """Put a kernel in the place of a group's operators."""
    # The product comes first, so that the name begins with it; nothing in the group is in front of it.
    members = sorted(group.members, key=lambda op: (op is not group.anchor, places[op]))
    if group.parts:
        members.sort(key=lambda op: places[op])
    root = group.root
    body = Body()
    for op in members:
        if op.name in PRODUCTS:
            for value in op.operands:
                body.reshaped(value)
        body.add(op)
    body.finish(root.results[0])
    name = _name(group, members, body)
    type = shape_of(root.results[0])
    read = max((_count(shape_of(value).lens) for value in body.inputs), default=0)
    threads, local = launch(name, type, read)
    said = {"code_object": "0", "symbol_name": name, "global": str(threads), "local": str(local)}
    kernel = edit.create(
        "gpu::code_object", body.inputs, [type], said, before=root, names=[root.results[0].name]
    )
    places[kernel] = places[root]
    edit.replace_all_uses(root.results[0], kernel.results[0])
    for op in reversed(members):
        edit.erase(op)
    bodies[kernel] = body
    count = len(members)
    what = "1 operator becomes" if count == 1 else f"{count} operators become"
    return kernel, f"{what} {name}"


def kernel_of(program: Program, operator: str, value: Value, name: str) -> Op:
    """A detached kernel of one pointwise operator on `value`; its module is added to the program."""
    type = shape_of(value)
    wide = standard(type.element, type.lens)
    body = Body()
    inner = edit.create(operator, [value], [wide], names=["@0"])
    body.add(inner)
    body.finish(inner.results[0])
    edit.erase_operand(inner, 0)
    symbol_name = kernel_name(body.operators())
    threads, local = launch(symbol_name, wide, 0)
    modules = [op for op in program.ops if op.name == "module"]
    module = f"main:{symbol_name}_{len(modules) - 1}"
    said = {"sym_name": f'"{module}"'}
    edit.create("module", [], [], said, block=program.body.blocks[0], regions=[body.region])
    said = {"code_object": "0", "symbol_name": symbol_name, "global": str(threads), "local": str(local),
            "modules": module}  # fmt: skip
    return edit.create("gpu::code_object", body.inputs, [wide], said, names=[name])


def _name(group: Group, members: list[Op], body: Body) -> str:
    anchor = group.anchor
    if anchor is None or anchor.name != "concat":
        return kernel_name(body.operators())
    parts: list[list[str]] = [[] for _ in anchor.operands]
    behind = []
    for op in members:
        if op is anchor or op.name == "contiguous":
            continue
        if op in group.parts:
            parts[group.parts[op]].append(op.name)
        else:
            behind.append(op.name)
    return concat_name(parts, behind)


def _count(lens: tuple[int, ...]) -> int:
    count = 1
    for each in lens:
        count *= each
    return count


def _library_call(op: Op, recorder: Recorder) -> Step:
    """An operator that a library does: no kernel of our own making."""
    type = shape_of(op.results[0])
    made = edit.create(
        f"gpu::{op.name}", op.operands, [type], dict(op.attributes), before=op, names=[op.results[0].name]
    )
    edit.replace_all_uses(op.results[0], made.results[0])
    edit.erase(op)
    return recorder.step("library", f"{op.name} is a call of the library", op=made)


def _drop_unused(block: Block, recorder: Recorder) -> Iterator[Step]:
    """Views and literals that only kernels' operators read, which have them inside now."""
    for op in reversed(list(block.ops)):
        if op.results and not op.results[0].uses and not op.name.startswith(("@param", "check_context")):
            edit.erase(op)
            yield recorder.step("drop-unused", f"nothing reads what this {op.name} makes", op=op)


def _number(program: Program, block: Block, bodies: dict[Op, Body], recorder: Recorder) -> Iterator[Step]:
    """Give every kernel its module, in the order of the program."""
    count = 0
    for op in block.ops:
        body = bodies.get(op)
        if body is None:
            continue
        name = f"main:{op.attributes['symbol_name']}_{count}"
        count += 1
        said = {"sym_name": f'"{name}"'}
        edit.create("module", [], [], said, block=program.body.blocks[0], regions=[body.region])
        edit.set_attribute(op, "modules", name)
        yield recorder.step("module", f"{name} holds the kernel's operators", op=op)
