"""Backward slices: what would have to be computed again for a value to exist in another encoding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from ...layouts import encodings as enc
from ...program import Block, Op, Use, Value
from .anchors import is_expensive
from .attributes import is_efficient, lens_of
from .convert_cost import reorders_registers
from .folding import takes_result_encoding
from .linear_inference import equal_by_meaning
from .names import ATOMICS, CONVERT, DOTS, UPCASTS, kind
from .state import Run, body_of, describe, role
from .tensors import Layout

Stop: TypeAlias = Callable[[Op], bool]
Existing: TypeAlias = Callable[[Use, Layout, "Slice"], Value | None]


@dataclass(slots=True)
class Slice:
    """Values to be made again, in the order found, with the encoding for each; `failed` says why not."""

    values: dict[Value, None] = field(default_factory=dict)
    layouts: dict[Value, Layout] = field(default_factory=dict)
    existing: dict[tuple[Value, Layout], Value | None] = field(default_factory=dict)
    """What is already there in that encoding: None where it is, but not for every use."""
    failed: str = ""
    at: Value | None = None
    """The value at which the slice failed."""

    def copy(self) -> Slice:
        """An independent copy."""
        return Slice(dict(self.values), dict(self.layouts), dict(self.existing))

    def is_there(self, value: Value) -> bool:
        """Whether a value exists in its encoding, so that it does not have to be made."""
        return self.existing.get((value, self.layouts[value])) is not None

    def fail(self, value: Value | None, why: str) -> Slice:
        """The slice, marked as failed."""
        self.failed, self.at = why, value
        return self


def backward_slice(
    run: Run,
    root: Use,
    layout: Layout,
    slice_: Slice,
    stop: Stop | None = None,
    existing: Existing | None = None,
) -> Slice:
    """Extend `slice_` by what `root` needs to be in `layout`."""
    if run.rules.slice_by_use:
        return _by_use(run, root, layout, slice_, stop, existing)
    return _by_value(run, root, layout, slice_, stop)


def rematerializable(
    run: Run,
    root: Use,
    layout: Layout,
    slice_: Slice,
    stop: Stop | None = None,
    existing: Existing | None = None,
) -> Slice:
    """As `backward_slice`, and failed unless every op of it may be computed again."""
    grown = backward_slice(run, root, layout, slice_, stop, existing)
    if grown.failed:
        return grown
    if not grown.values:
        return grown.fail(None, "there is nothing to make again")
    for value in grown.values:
        if grown.is_there(value):
            continue
        if value.op is not None and not can_be_made_again(run, value.op):
            return grown.fail(value, f"{value.op.name} is too dear, or must not be done twice")
    return grown


def can_be_made_again(run: Run, op: Op) -> bool:
    """Whether an op may be duplicated."""
    name = kind(op)
    if name in ("tt.load", "tt.store"):
        return not is_expensive(run, op)
    if name in ATOMICS or name in UPCASTS or name == "tt.dot" or name in ("scf.while", "scf.condition"):
        return False
    if name == "tt.gather" and run.rules.gather_anchors:
        return not is_efficient(op)
    if name == "tt.reshape" and run.rules.efficient_reshape_anchors:
        return not is_efficient(op)
    return True


def _yields(op: Op) -> list[Op]:
    """The yields of both branches of an scf.if."""
    return [region.blocks[-1].ops[-1] for region in op.regions if region.blocks and region.blocks[-1].ops]


def _loop_sources(value: Value) -> list[Use] | None:
    """The init and yielded operands behind the iter arg of an scf.for; None for any other argument."""
    owner = value.owner
    parent = owner.parent.parent if isinstance(owner, Block) and owner.parent is not None else None
    body = body_of(parent) if parent is not None and parent.name == "scf.for" else None
    if parent is None or body is None or value.index == 0 or not body.ops:
        return None
    return [(parent, value.index + 2), (body.ops[-1], value.index - 1)]


# -- by value: Triton 3.0 to 3.2 -----------------------------------------------------------------------


def _by_value(run: Run, root: Use, layout: Layout, slice_: Slice, stop: Stop | None) -> Slice:
    visited: set[Value] = set()
    stack: list[tuple[Value, Layout]] = [(root[0].operands[root[1]], layout)]
    while stack:
        value, wanted = stack.pop()
        if value in visited:
            continue
        visited.add(value)
        if run.tensors.of(value) is None:
            continue
        op = value.op
        if op is not None and op.name == "scf.for":
            return slice_.fail(value, "results of loops are not followed")
        slice_.values[value] = None
        if slice_.layouts.setdefault(value, wanted) != wanted:
            return slice_.fail(value, f"{describe(value)} would be needed in two encodings")
        if op is not None and op.name == "scf.if":
            stack.extend((last.operands[value.index], wanted) for last in _yields(op))
            continue
        if op is None:
            sources = _loop_sources(value)
            if sources is None:
                return slice_.fail(value, f"{role(value)} comes from elsewhere")
            stack.extend((user.operands[index], wanted) for user, index in sources)
            continue
        why = _through_op(run, op, value, wanted, slice_, stop, stack)
        if why:
            return slice_.fail(value, why)
    return slice_


def _through_op(
    run: Run,
    op: Op,
    value: Value,
    wanted: Layout,
    slice_: Slice,
    stop: Stop | None,
    stack: list[tuple[Value, Layout]],
) -> str:
    for result in op.results:
        if result is value or run.tensors.of(result) is None:
            continue
        if slice_.layouts.setdefault(result, wanted) != wanted:
            return f"another result of {op.name} is needed in another encoding"
    if not _is_free(run, op) and takes_result_encoding(run, op, wanted):
        return ""
    if stop is not None and stop(op):
        return ""
    if kind(op) == "tt.cat":
        return "a cat cannot be followed"
    for operand in op.operands:
        source = run.infer.operand(op, wanted)
        if source is None:
            return f"no operand encoding of {op.name} gives {run.show(wanted)}"
        if operand not in slice_.values:
            stack.append((operand, source))
    return ""


def _is_free(run: Run, op: Op) -> bool:
    """Whether a convert costs nothing, so that a slice goes on through it."""
    if kind(op) != CONVERT:
        return False
    source, target = run.tensors.of(op.operands[0]), run.tensors.of(op.results[0])
    if source is None or target is None:
        return False
    if run.rules.linear_inference:
        return reorders_registers(source, target, lens_of(op.results[0].type))
    return all(
        isinstance(side, enc.NvidiaMma) and side.version_major == 3 and side.warps_per_cta[1] == 1
        for side in (source, target)
    )


# -- by use: Triton 3.3 and later ----------------------------------------------------------------------


def _by_use(
    run: Run, root: Use, layout: Layout, slice_: Slice, stop: Stop | None, existing: Existing | None
) -> Slice:
    seen: set[tuple[Op, int, Layout]] = {(*root, layout)}
    stack: list[tuple[Use, Layout]] = [(root, layout)]
    while stack:
        use, wanted = stack.pop()
        value = use[0].operands[use[1]]
        held = run.tensors.of(value)
        if held is None:
            continue
        op = value.op
        if op is not None and _ends_at(run, op):
            return slice_.fail(value, f"results of {op.name} are not followed")
        if slice_.layouts.setdefault(value, wanted) != wanted:
            return slice_.fail(value, f"{describe(value)} would be needed in two encodings")
        if _is_there(run, use, held, wanted):
            continue
        slice_.values[value] = None
        if existing is not None and existing(use, wanted, slice_) is not None:
            continue
        following, why = _behind(run, value, wanted, slice_, stop)
        if why:
            return slice_.fail(value, why)
        for further in following:
            key = (*further[0], further[1])
            if key not in seen:
                seen.add(key)
                stack.append(further)
    return slice_


def _is_there(run: Run, use: Use, held: Layout, wanted: Layout) -> bool:
    """Whether an operand has the wanted encoding, or one of the same meaning where the op takes that."""
    if not run.rules.stop_at_wanted or held == wanted:
        return run.rules.stop_at_wanted
    if not run.rules.equal_is_same or kind(use[0]) != "tt.broadcast":
        return False
    return equal_by_meaning(lens_of(use[0].operands[use[1]].type), held, wanted)


def _ends_at(run: Run, op: Op) -> bool:
    if op.name == "scf.for":
        return True
    return run.rules.no_while_results and kind(op) in ("scf.while", "ttg.warp_specialize")


def _behind(
    run: Run, value: Value, wanted: Layout, slice_: Slice, stop: Stop | None
) -> tuple[list[tuple[Use, Layout]], str]:
    """The uses to follow behind a value, and why it cannot be followed ('' if it can)."""
    op = value.op
    if op is None:
        sources = _loop_sources(value)
        if sources is None:
            return [], f"{role(value)} comes from elsewhere"
        return [(use, wanted) for use in sources], ""
    if op.name == "scf.if":
        if stop is not None and stop(op):
            return [], ""
        return [((last, value.index), wanted) for last in _yields(op)], ""
    for result in op.results:
        if result is value or run.tensors.of(result) is None:
            continue
        if slice_.layouts.setdefault(result, wanted) != wanted:
            return [], f"another result of {op.name} is needed in another encoding"
        slice_.values[result] = None
    if _is_free(run, op):
        return [((op, 0), wanted)], ""
    if takes_result_encoding(run, op, wanted) or (stop is not None and stop(op)):
        return [], ""
    return _operands(run, op, wanted)


def _operands(run: Run, op: Op, wanted: Layout) -> tuple[list[tuple[Use, Layout]], str]:
    name = kind(op)
    if name == "tt.cat":
        return [], "a cat cannot be followed"
    if name in UPCASTS:
        found = [(index, run.infer.widened(op, index, wanted)) for index in range(len(op.operands))]
        if any(layout is None for _, layout in found):
            return [], f"no operand encoding of {op.name} gives {run.show(wanted)}"
        return [((op, index), layout) for index, layout in found if layout is not None], ""
    indices = [1] if name == "tt.gather" else range(len(op.operands))
    source = run.infer.operand(op, wanted) if op.operands else None
    if source is None and op.operands:
        return [], f"no operand encoding of {op.name} gives {run.show(wanted)}"
    assert source is not None or not op.operands
    return [((op, index), source) for index in indices if source is not None], ""


def is_dot_like(op: Op) -> bool:
    """Whether an op multiplies matrices."""
    return kind(op) in DOTS
