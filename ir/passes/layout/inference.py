"""Which encoding a result gets from an operand's, and an operand from a result's.

None means "not this way": propagation does not go on, a slice fails. Encodings that nothing is known of are
handed on only by ops that keep any encoding.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ...layouts import encodings as enc
from ...layouts.tile import k_dimension
from ...program import Op
from ...types import Type
from . import reshape
from .attributes import allows_reorder, axis_of, lens_of, order_of
from .linear_inference import (
    joined_linear,
    keeps_elements,
    reshaped_linear,
    split_linear,
    transposed_linear,
)
from .names import LOAD_STORE, UPCASTS, WAIT, keeps_encoding, kind
from .rules import RuleSet
from .tensors import Layout, Opaque, Tensors

_THROUGH: Final = frozenset({"scf.while", "scf.yield", "scf.condition", WAIT})


class Inference:
    """The two maps for one program under one rule set, remembered."""

    def __init__(self, tensors: Tensors, rules: RuleSet) -> None:
        self.tensors = tensors
        self.rules = rules

    def result(self, op: Op, layout: Layout) -> Layout | None:
        """The encoding of the results of `op` if its operand had `layout`."""
        return self._keep(self._result(op, layout))

    def operand(self, op: Op, layout: Layout) -> Layout | None:
        """The encoding of the operands of `op` that gives its results `layout`."""
        return self._keep(self._operand(op, layout))

    def widened(self, op: Op, index: int, layout: Layout) -> Layout | None:
        """The encoding of one operand of a scaled conversion whose result is to have `layout`.

        The scales have the result's own; packed 4-bit numbers that of half as many elements along the axis.
        """
        if index or kind(op) != "amdg.scaled_upcast_fp4":
            return layout
        return self._keep(_halved(layout, axis_of(op)))

    def _keep(self, layout: Layout | None) -> Layout | None:
        return None if layout is None else self.tensors.one(layout)

    def _result(self, op: Op, layout: Layout) -> Layout | None:
        name = kind(op)
        plain = _plain(name, layout, forward=True)
        if plain is not _ASK:
            return plain
        if name == "tt.reduce":
            return _sliced(axis_of(op), layout)
        if name == "tt.expand_dims":
            return _parent(axis_of(op), layout)
        if name == "tt.join":
            return self._joined(op.operands[0].type, layout) if op.operands else None
        if name == "tt.split":
            return self._split(op.operands[0].type, layout) if op.operands else None
        if name == "tt.trans":
            return self._transposed(lens_of(op.operands[0].type), order_of(op), layout)
        if name == "tt.reshape":
            return self._reshaped(op, op.operands[0].type, op.results[0].type, layout)
        return layout if name == "tt.gather" else None

    def _operand(self, op: Op, layout: Layout) -> Layout | None:
        name = kind(op)
        plain = _plain(name, layout, forward=False)
        if plain is not _ASK:
            return plain
        if name == "tt.reduce":
            return _parent(axis_of(op), layout)
        if name == "tt.expand_dims":
            return _sliced(axis_of(op), layout)
        if name == "tt.join":
            return self._split(op.results[0].type, layout)
        if name == "tt.split":
            return self._joined(op.results[0].type, layout)
        if name == "tt.trans":
            order = order_of(op)
            inverse = tuple(order.index(i) for i in range(len(order)))
            return self._transposed(lens_of(op.results[0].type), inverse, layout)
        if name == "tt.reshape":
            return self._reshaped(op, op.results[0].type, op.operands[0].type, layout)
        return layout if name == "tt.gather" else None

    def _reshaped(self, op: Op, source: Type, target: Type, layout: Layout) -> Layout | None:
        from_lens, to_lens = lens_of(source), lens_of(target)
        if allows_reorder(op) and not self.rules.reorder_reshape_inferred:
            return None
        if self.rules.unit_reshape_is_slice:
            unit = _through_unit(from_lens, to_lens, layout)
            if unit is not None and keeps_elements(from_lens, layout, to_lens, unit):
                return unit
        made = reshape.reshaped(from_lens, layout, to_lens) if isinstance(layout, enc.Blocked) else None
        if made is None and self.rules.linear_inference:
            return reshaped_linear(from_lens, layout, to_lens)
        return made

    def _transposed(self, lens: tuple[int, ...], order: tuple[int, ...], layout: Layout) -> Layout | None:
        if isinstance(layout, enc.Blocked) and len(order) == len(layout.order):
            return _permuted(layout, order)
        return transposed_linear(lens, layout, order) if self.rules.linear_inference else None

    def _joined(self, type: Type, layout: Layout) -> Layout | None:
        if isinstance(layout, enc.Blocked):
            return _with_pair(layout)
        return joined_linear(lens_of(type), layout) if self.rules.linear_inference else None

    def _split(self, type: Type, layout: Layout) -> Layout | None:
        if isinstance(layout, enc.Blocked):
            made = _without_pair(layout)
            if made is not None or not self.rules.linear_inference:
                return made
        return split_linear(lens_of(type), layout) if self.rules.linear_inference else None


_ASK: Final = Opaque("?")


def _plain(name: str, layout: Layout, *, forward: bool) -> Layout | None:
    """The answer for ops with one encoding throughout; `_ASK` where the op has a rule of its own."""
    if name == "tt.scan" and not isinstance(layout, enc.Blocked):
        return None
    if name in UPCASTS:
        return None
    if keeps_encoding(name) or name in _THROUGH or name in LOAD_STORE:
        return layout
    if name == "scf.for":
        return layout if forward else None
    return _ASK


def _through_unit(source: tuple[int, ...], target: tuple[int, ...], layout: Layout) -> Layout | None:
    """The encoding of a reshape that adds or takes away one dimension of size 1; None for another."""
    if len(target) == len(source) - 1 and not isinstance(layout, enc.Linear):
        for dim in range(len(source)):
            if source[dim] == 1 and source[:dim] + source[dim + 1 :] == target:
                return _sliced(dim, layout)
    if len(target) == len(source) + 1 and isinstance(layout, enc.Slice):
        dim = layout.dim
        if dim < len(target) and target[dim] == 1 and target[:dim] + target[dim + 1 :] == source:
            return layout.parent
    return None


def _sliced(axis: int, layout: Layout) -> Layout | None:
    if not isinstance(layout, enc.Distributed):
        return None
    rank = enc.rank_of(layout)
    return None if rank is not None and rank < 2 else enc.Slice(axis, layout)


def _parent(axis: int, layout: Layout) -> Layout | None:
    return layout.parent if isinstance(layout, enc.Slice) and layout.dim == axis else None


def _halved(layout: Layout, axis: int) -> Layout | None:
    """The encoding of pairs of neighbours along `axis`, if every thread holds both."""
    if isinstance(layout, enc.Blocked):
        size = list(layout.size_per_thread)
        if axis < 0 or size[axis] < 2:
            return None
        size[axis] //= 2
        return replace(layout, size_per_thread=tuple(size))
    if isinstance(layout, enc.DotOperand) and layout.k_width > 1:
        rank = enc.rank_of(layout) or 2
        return (
            replace(layout, k_width=layout.k_width // 2) if axis == k_dimension(layout.op_idx, rank) else None
        )
    return None


def _permuted(layout: enc.Blocked, order: tuple[int, ...]) -> enc.Blocked:
    inverse = tuple(order.index(i) for i in range(len(order)))
    return enc.Blocked(
        tuple(layout.size_per_thread[d] for d in order),
        tuple(layout.threads_per_warp[d] for d in order),
        tuple(layout.warps_per_cta[d] for d in order),
        tuple(inverse[d] for d in layout.order),
        tuple(tuple(basis[d] for d in order) for basis in layout.cga),
    )


def _with_pair(layout: enc.Blocked) -> enc.Blocked:
    """The encoding with one more, minor-most dimension, whose two elements lie in one thread."""
    return enc.Blocked(
        (*layout.size_per_thread, 2),
        (*layout.threads_per_warp, 1),
        (*layout.warps_per_cta, 1),
        (len(layout.order), *layout.order),
        tuple((*basis, 0) for basis in layout.cga),
    )


def _without_pair(layout: enc.Blocked) -> enc.Blocked | None:
    """The encoding without its last dimension, if a thread holds both elements of it."""
    last = len(layout.order) - 1
    apart = layout.threads_per_warp[last] != 1 or layout.warps_per_cta[last] != 1
    if last < 1 or layout.size_per_thread[last] != 2 or apart:
        return None
    return enc.Blocked(
        layout.size_per_thread[:-1],
        layout.threads_per_warp[:-1],
        layout.warps_per_cta[:-1],
        tuple(d for d in layout.order if d != last),
        tuple(basis[:-1] for basis in layout.cga),
    )
