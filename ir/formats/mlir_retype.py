"""Which stretches of an op's text are types, whose types they are, and what they must say now."""

from __future__ import annotations

from typing import TypeAlias

from ..program import Op, Value
from .mlir_detail import MlirSource, header_tokens
from .mlir_syntax import FIXED_RESULTS, is_function
from .mlir_text import Token, split_top

Mark: TypeAlias = tuple[int, int, str]
"""Offsets in the source text, and the text that goes there."""


def type_marks(op: Op, source: MlirSource) -> list[Mark] | None:
    """Replacements that make the header print the present types of the op's values.

    Only for ops whose values were given other types since they were read; None where the header does not
    say plainly which of its types is whose.
    """
    if op._detail is None or not op._detail.retyped:
        return []
    if is_function(op.name):
        return _signature_marks(op, source)
    left, right = _sections(header_tokens(source.text, op))
    wanted = _owners(op, left, right)
    if wanted is None:
        return None
    return [
        (start, end, value.type.text)
        for (start, end), value in zip(left + right, wanted, strict=True)
        if source.text[start:end] != value.type.text
    ]


def _sections(found: list[Token]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The spans of the types left and right of the arrow; without an arrow all are left."""
    arrow = max((i for i, token in enumerate(found) if token.kind == "arrow"), default=None)
    if arrow is None:
        colons = [i for i, token in enumerate(found) if token.text == ":"]
        return _spans(found[colons[-1] + 1 :]) if colons else [], []
    colons = [i for i, token in enumerate(found[:arrow]) if token.text == ":"]
    left = _spans(found[colons[-1] + 1 : arrow]) if colons else []
    return left, _spans(found[arrow + 1 :])


def _spans(found: list[Token]) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for token in found:
        if token.kind in ("region", "loc") or token.text == ":":
            break
        if token.kind == "group" and token.text[0] == "(":
            pos = token.start + 1
            for part in split_top(token.text[1:-1]):
                blank = len(part) - len(part.lstrip())
                spans.append((pos + blank, pos + len(part.rstrip())))
                pos += len(part) + 1
        elif token.kind == "name" and token.text not in ("to", "into", "x"):
            spans.append((token.start, token.end))
    return spans


def _owners(op: Op, left: list[tuple[int, int]], right: list[tuple[int, int]]) -> list[Value] | None:
    """The value whose type each span prints."""
    if op.name in ("amdg.buffer_store", "amdgpu.buffer_store") and len(left) == len(right) == 1:
        return [op.operands[1], op.operands[0]]
    if op.name == "scf.condition":
        return op.operands[1:] if len(left) == len(op.operands) - 1 else None  # the i1 is not printed
    if op.name == "tt.dot_scaled":
        # printed: a, its scale if any, b, its scale if any; held: a, b, the accumulator, the scales
        if len(left) != len(op.operands) - 1 or len(left) == 3:
            return None
        a, b, _, *scales = op.operands
        return [a, *scales[:1], b, *scales[1:], *op.results]
    if right and (not op.results or op.name in FIXED_RESULTS):
        owners = op.operands
    elif right:
        if len(right) != len(op.results) or len(left) > len(op.operands):
            return None
        owners = [*op.operands[: len(left)], *op.results]
    else:
        owners = _without_arrow(op, len(left))
    return owners if len(owners) == len(left) + len(right) else None


def _without_arrow(op: Op, count: int) -> list[Value]:
    """The owners of the types that a header lists behind its colon and without an arrow."""
    same = bool(op.results) and op.name not in ("tt.load", "arith.cmpi", "arith.cmpf", "tt.addptr")
    if count == len(op.operands) and (count > 1 or not same):
        return op.operands  # a yield, a store of several, addptr
    if count == 1:
        return op.results[:1] if same else op.operands[:1]
    if count == 2 and op.results:
        return [op.operands[0], op.results[0]] if op.operands else []  # `A to B`, `select`
    return []


def _signature_marks(op: Op, source: MlirSource) -> list[Mark] | None:
    """The argument types of a function, each behind its name."""
    text = source.text
    block = op.regions[0].blocks[0] if op.regions and op.regions[0].blocks else None
    if block is None or block.start < block.end:
        return []
    marks: list[Mark] = []
    at = op.start
    for arg, old in zip(block.args, source.argument_types(block, op), strict=False):
        name = text.find(f"{arg.name}:", at, op.regions[0].start)
        place = text.find(old.text, name, op.regions[0].start) if name >= 0 else -1
        if place < 0:
            return None
        at = place + len(old.text)
        if old.text != arg.type.text:
            marks.append((place, at, arg.type.text))
    return marks
