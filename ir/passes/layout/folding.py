"""Which ops can take another encoding for their result as they are, so that no convert is needed."""

from __future__ import annotations

from math import prod
from typing import Final

from ...errors import InputError
from ...layouts import encodings as enc
from ...layouts.to_linear import to_linear
from ...program import Op
from ...types import Type
from .attributes import allows_reorder, is_efficient, lens_of
from .names import CONVERT, kind
from .state import Run
from .tensors import Layout

_ANY: Final = frozenset(
    {"arith.constant", "tt.make_range", "tt.splat", "tt.histogram", "ttg.local_alloc", "ttg.local_store"}
)


def takes_result_encoding(run: Run, op: Op, layout: Layout) -> bool:
    """Whether `op` could produce its result in `layout` without any other change to its operands."""
    name = kind(op)
    if name == "tt.cat":
        return is_legal_cat(run, op, layout)
    if name == CONVERT:
        return not isinstance(layout, enc.NvidiaMma) or run.tensors.of(op.operands[0]) == layout
    if name == "tt.reshape":
        if not allows_reorder(op) or is_efficient(op):
            return False
        return not is_expensive_view(run, op.operands[0].type, op.results[0].type, layout)
    if name == "ttg.local_load":
        return run.rules.linear_inference
    return name in _ANY


def elements_per_thread(run: Run, layout: Layout | None, lens: tuple[int, ...]) -> int | None:
    """How many elements of such a tensor a thread holds, repetitions counted; None if unknown."""
    if not isinstance(layout, enc.Distributed) or not lens:
        return None
    if isinstance(layout, enc.Blocked):
        return _blocked_elements(layout, lens)
    try:
        return to_linear(layout, lens).input_size("register")
    except InputError:
        return None


def _blocked_elements(layout: enc.Blocked, lens: tuple[int, ...]) -> int:
    """The count as the older compilers make it: what a thread holds may reach beyond the tensor."""
    fields = (layout.size_per_thread, layout.threads_per_warp, layout.warps_per_cta)
    tiles = [a * b * c for a, b, c in zip(*fields, strict=True)]
    return prod(
        max(1, -(-size // tile)) * own
        for size, tile, own in zip(lens, tiles, layout.size_per_thread, strict=True)
    )


def is_expensive_view(run: Run, source: Type, target: Type, layout: Layout) -> bool:
    """Whether a reshape to `layout` would need data moved: threads would hold other numbers of elements."""
    before = elements_per_thread(run, run.tensors.of_type(source), lens_of(source))
    return before != elements_per_thread(run, layout, lens_of(target))


def is_legal_cat(run: Run, op: Op, layout: Layout) -> bool:
    """Whether a cat can have `layout`: its threads must hold as many elements as those of both operands."""
    own = run.tensors.of(op.operands[0])
    before = elements_per_thread(run, own, lens_of(op.operands[0].type))
    after = elements_per_thread(run, layout, lens_of(op.results[0].type))
    return before is not None and after is not None and after >= 2 * before
