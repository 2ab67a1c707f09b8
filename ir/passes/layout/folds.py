"""The folds of ops that a greedy run also makes: identities, and splat constants through shape changes."""

from __future__ import annotations

import re
from typing import Final

from ...program import Op
from .attributes import order_of
from .greedy import Pattern, Rewriter
from .names import kind

_SPLAT: Final = re.compile(r"dense<(?!\[)(?!\")([^>]*)>")


def _constant_of(op: Op) -> str | None:
    """The one value of the constant at operand 0, as text without type; None if there is none."""
    maker = op.operands[0].op if op.operands else None
    if maker is None or maker.name != "arith.constant":
        return None
    value = maker.attributes.get("value", "")
    found = _SPLAT.match(value)
    if found:
        return found[1]
    return None if value.startswith("dense") else value.partition(" : ")[0]


def _as_constant(rewriter: Rewriter, op: Op) -> str | None:
    value = _constant_of(op)
    if value is None:
        return None
    type = op.results[0].type
    made = rewriter.create(op, "arith.constant", [], [type], {"value": f"dense<{value}> : {type.text}"})
    rewriter.replace(op, made.results)
    return f"{op.results[0].name} is the constant {value} throughout"


def fold_splat(rewriter: Rewriter, op: Op) -> str | None:
    """A splat of a constant is a constant."""
    return _as_constant(rewriter, op)


def fold_shape(rewriter: Rewriter, op: Op) -> str | None:
    """A change of shape that changes none, or of a constant."""
    if kind(op) != "tt.trans" and rewriter.run.tensors.same(op.operands[0].type, op.results[0].type):
        rewriter.replace(op, [op.operands[0]])
        return f"{op.name} has the type of its operand"
    return _as_constant(rewriter, op)


def fold_trans(rewriter: Rewriter, op: Op) -> str | None:
    """A transposition that keeps the order of dimensions and the type, or of a constant."""
    order = order_of(op)
    if order == tuple(range(len(order))) and rewriter.run.tensors.same(
        op.operands[0].type, op.results[0].type
    ):
        rewriter.replace(op, [op.operands[0]])
        return f"{op.name} keeps the order of dimensions"
    return _as_constant(rewriter, op)


FOLDS: Final[dict[str, Pattern]] = {
    "tt.splat": fold_splat,
    "tt.broadcast": fold_shape,
    "tt.expand_dims": fold_shape,
    "tt.reshape": fold_shape,
    "tt.trans": fold_trans,
}
