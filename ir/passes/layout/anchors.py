"""Anchors: the ops whose encodings the pass wants to keep, and from which it propagates."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod

from ...layouts import encodings as enc
from ...program import Op, Value
from ...types import PointerType, TensorType
from .attributes import allows_reorder, is_efficient, lens_of, num_warps_at
from .names import ATOMICS, CONVERT, DESCRIPTOR_OPS, DOTS, UPCASTS, kind
from .state import Run
from .tensors import Layout

MMA = (enc.NvidiaMma, enc.AmdMfma, enc.AmdWmma)
"""The encodings that the compiler calls MMA ones: accumulators, not their slices or dot operands."""


def is_expensive(run: Run, op: Op) -> bool:
    """Whether a load or store touches so much memory that its encoding matters.

    Not so for a scalar, a tensor of one element, and a tensor smaller than the number of threads.
    """
    if not op.operands:
        return False
    type = op.operands[0].type
    if isinstance(type, PointerType) and isinstance(type.pointee, TensorType):
        return run.rules.block_pointer_is_expensive
    if not isinstance(type, TensorType) or prod(type.lens) == 1:
        return False
    warps = run.warps if run.rules.block_pointer_is_expensive else num_warps_at(op, run.warps)
    return prod(type.lens) >= warps * run.lanes


def is_anchor(run: Run, op: Op) -> bool:
    """Whether the encodings of this op's results are to be kept if possible."""
    name = kind(op)
    rules = run.rules
    if name in ("tt.load", "tt.store"):
        return is_expensive(run, op)
    if name in DOTS:
        return name != "tt.dot_scaled" or rules.linear_inference
    if name in ATOMICS:
        return True
    if name in UPCASTS:
        return rules.upcast_anchors
    if name == "ttng.tmem_load":
        return rules.linear_inference
    if name == "tt.gather":
        return rules.gather_anchors and is_efficient(op)
    if name == "tt.reshape":
        return allows_reorder(op) or (rules.efficient_reshape_anchors and is_efficient(op))
    return rules.descriptor_anchors and name in DESCRIPTOR_OPS


def goes_back_to_mma(run: Run, op: Op, layout: Layout) -> bool:
    """Whether some convert further down wants an MMA encoding (rule of Triton 3.0 and 3.1).

    Follows all users, through yields into results of branches and arguments of loops; the first op that
    decides does so.
    """
    queue: list[Value] = list(op.results[:1])
    slice_: dict[Op, None] = {}
    seen: set[Value] = set()
    while queue:
        current = queue.pop()
        slice_ = forward_slice(current, slice_, lambda value: [use[0] for use in run.newest_first(value)])
        for user in slice_:
            decided = _decides(run, user, layout)
            if decided is not None:
                return decided
            if user.name == "scf.yield":
                queue.extend(_where_yields_go(user, slice_, current, seen))
    return False


def _decides(run: Run, op: Op, layout: Layout) -> bool | None:
    name = kind(op)
    version = layout.version_major if isinstance(layout, enc.NvidiaMma) else 0
    if name == "tt.reduce" and isinstance(layout, enc.NvidiaMma):
        held = run.tensors.of(op.operands[0])
        lens = lens_of(op.operands[0].type)
        tile = layout.instr_shape
        if isinstance(held, enc.NvidiaMma) and (lens[-2] < tile[0] or lens[-1] < tile[1]):
            return False
    if name == CONVERT:
        target = run.tensors.of(op.results[0])
        if isinstance(target, enc.NvidiaMma):
            return target.version_major > 1 or target == layout
        if isinstance(target, enc.AmdMfma | enc.AmdWmma):
            return True
        if isinstance(target, enc.DotOperand) and isinstance(target.parent, MMA):
            return version > 1 if version else True
    if version == 3 and name in ("ttg.local_alloc", "ttg.local_store"):
        return True
    return None


def _where_yields_go(op: Op, slice_: dict[Op, None], current: Value, seen: set[Value]) -> Iterable[Value]:
    parent = op.parent
    if parent is None or parent.name not in ("scf.if", "scf.for"):
        return
    for index, value in enumerate(op.operands):
        if value.op is None or (value.op not in slice_ and value is not current) or value in seen:
            continue
        seen.add(value)
        if parent.name == "scf.if":
            yield parent.results[index]
        else:
            yield parent.regions[0].blocks[0].args[index + 1]


def forward_slice(root: Value, found: dict[Op, None], users: Callable[[Value], list[Op]]) -> dict[Op, None]:
    """All ops that depend on `root`, added to those found before, in the order in which MLIR lists them."""
    for user in users(root):
        if user in found:
            continue
        entered = {user}
        stack = [(user, iter(_successors(user, users)))]
        while stack:
            op, rest = stack[-1]
            following = next((o for o in rest if o not in found and o not in entered), None)
            if following is None:
                found[op] = None
                stack.pop()
            else:
                entered.add(following)
                stack.append((following, iter(_successors(following, users))))
    return dict.fromkeys(reversed(found))


def _successors(op: Op, users: Callable[[Value], list[Op]]) -> Iterable[Op]:
    for region in op.regions:
        for block in region.blocks:
            yield from block.ops
    for result in op.results:
        yield from users(result)


def anchor_values(run: Run, function: Op) -> Iterable[tuple[Value, Op, Layout]]:
    """The tensors of a function from which propagation begins, with their op and encoding."""
    if function.regions and function.regions[0].blocks:
        for arg in function.regions[0].blocks[0].args:
            layout = run.tensors.of(arg)
            if layout is not None:
                yield arg, function, layout
    for op in sorted(_inside(function), key=lambda o: run.post_index[o]):
        if not op.results or not is_anchor(run, op):
            continue
        for result in op.results:
            layout = run.tensors.of(result)
            if layout is None:
                continue
            if (
                run.rules.mma_needs_convert
                and isinstance(layout, MMA)
                and not goes_back_to_mma(run, op, layout)
            ):
                continue
            yield result, op, layout


def _inside(function: Op) -> Iterable[Op]:
    stack = [block for region in function.regions for block in region.blocks]
    while stack:
        block = stack.pop()
        for op in block.ops:
            yield op
            stack.extend(inner for region in op.regions for inner in region.blocks)
