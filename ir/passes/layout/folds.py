"""The folds of ops that a greedy run also makes: identities, and splat constants through shape changes."""

from __future__ import annotations

import re
from typing import Final

from ... import edit
from ...program import Op
from .attributes import order_of
from .greedy import Pattern, Rewriter
from .names import kind

_SPLAT: Final = re.compile(r"dense<(?!\[)(?!\")([^>]*)>")


def _constant_of(op: Op) -> str | None:
    """The one value of the constant at operand 0, as text without type; None if there is none."""
    return _value_of(op.operands[0].op) if op.operands else None


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
    inner = op.operands[0].op
    if inner is not None and kind(inner) == "tt.trans":
        first = order_of(inner)
        edit.set_attribute(op, "order", f"array<i32: {', '.join(str(first[d]) for d in order)}>")
        rewriter.set_operand(op, 0, inner.operands[0])
        return f"{op.name} of {inner.results[0].name}: the two are one"
    if order == tuple(range(len(order))) and rewriter.run.tensors.same(
        op.operands[0].type, op.results[0].type
    ):
        rewriter.replace(op, [op.operands[0]])
        return f"{op.name} keeps the order of dimensions"
    return _as_constant(rewriter, op)


_SAME_OPERANDS: Final = frozenset(
    f"arith.{name}"
    for name in (
        "maxnumf",
        "minnumf",
        "maximumf",
        "minimumf",
        "andi",
        "ori",
        "maxsi",
        "minsi",
        "maxui",
        "minui",
    )
)
_NEUTRAL: Final = {
    "arith.addi": "0", "arith.subi": "0", "arith.muli": "1", "arith.ori": "0", "arith.xori": "0",
    "arith.divsi": "1", "arith.divui": "1", "arith.shli": "0", "arith.shrsi": "0", "arith.shrui": "0",
    "arith.mulf": "1.000000e+00", "arith.divf": "1.000000e+00", "arith.subf": "0.000000e+00",
    "arith.addf": "-0.000000e+00",
}  # fmt: skip
"""Op → the constant on its right that changes nothing."""


def fold_arithmetic(rewriter: Rewriter, op: Op) -> str | None:
    """An operation of a value with itself or with a neutral constant, which is the value."""
    if len(op.operands) == 3:
        return _select(rewriter, op)
    left, right = op.operands
    if left is right and op.name in _SAME_OPERANDS:
        rewriter.replace(op, [left])
        return f"{op.name} of {left.name} with itself"
    if _value_of(right.op) == _NEUTRAL.get(op.name, "none"):
        rewriter.replace(op, [left])
        return f"{op.name} of {left.name} with {_NEUTRAL[op.name]}"
    return None


def _select(rewriter: Rewriter, op: Op) -> str | None:
    _, yes, no = op.operands
    if yes is not no:
        return None
    rewriter.replace(op, [yes])
    return f"{op.name} of {yes.name} or itself"


def _value_of(maker: Op | None) -> str | None:
    """The one value of a constant, as text without type."""
    if maker is None or maker.name != "arith.constant":
        return None
    value = maker.attributes.get("value", "")
    found = _SPLAT.match(value)
    if found:
        return found[1]
    return None if value.startswith("dense") else value.partition(" : ")[0]


FOLDS: Final[dict[str, Pattern]] = {
    "tt.splat": fold_splat,
    "tt.broadcast": fold_shape,
    "tt.expand_dims": fold_shape,
    "tt.reshape": fold_shape,
    "tt.trans": fold_trans,
    "arith.select": fold_arithmetic,
    **dict.fromkeys((*_SAME_OPERANDS, *_NEUTRAL), fold_arithmetic),
}
