"""Attributes for the generic form, where a custom form spells them in another way."""

from __future__ import annotations

from typing import Final

from ..program import Op

_INTEGER_PREDICATES: Final = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
_FLOAT_PREDICATES: Final = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une",
    "uno", "true",
)  # fmt: skip
_AXES: Final = ("x", "y", "z")


def generic_attributes(op: Op) -> dict[str, str]:
    """The op's attributes as its generic form spells them: enumerations by number, segment sizes added."""
    attributes = dict(op.attributes)
    if op.name == "arith.cmpi":
        _number(attributes, "predicate", _INTEGER_PREDICATES, "i64")
    elif op.name == "arith.cmpf":
        _number(attributes, "predicate", _FLOAT_PREDICATES, "i64")
    elif op.name in ("tt.get_program_id", "tt.get_num_programs"):
        _number(attributes, "axis", _AXES, "i32")
    elif op.name == "tt.load" and "operandSegmentSizes" not in attributes:
        sizes = ", ".join("1" if k < len(op.operands) else "0" for k in range(3))
        attributes["operandSegmentSizes"] = f"array<i32: {sizes}>"
    return attributes


def _number(attributes: dict[str, str], key: str, words: tuple[str, ...], type: str) -> None:
    text = attributes.get(key, "")
    if text in words:
        attributes[key] = f"{words.index(text)} : {type}"
