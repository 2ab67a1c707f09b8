"""Attributes in one spelling, so that an op's custom and generic forms say the same.

A custom form leaves out what has its default value and spells enumerations by name; the generic form
prints everything. The tables hold what MLIR's and Triton's printers do for the ops of Triton dumps and
of the common upstream dialects; for other ops the two forms may still differ in attributes.
"""

from __future__ import annotations

import re
from typing import Final

_INTEGER_PREDICATES: Final = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
_FLOAT_PREDICATES: Final = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une",
    "uno", "true",
)  # fmt: skip
_AXES: Final = ("x", "y", "z")
_READ_MODIFY_WRITE: Final = ("", "and", "or", "xor", "add", "fadd", "max", "min", "umax", "umin", "exch")
_SEMANTICS: Final = ("", "relaxed", "acquire", "release", "acq_rel")
_SCOPES: Final = ("", "gpu", "cta", "sys")

# (op name, attribute) → its words by number; the op name '' stands for any op.
ENUMERATIONS: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("arith.cmpi", "predicate"): _INTEGER_PREDICATES,
    ("arith.cmpf", "predicate"): _FLOAT_PREDICATES,
    ("llvm.icmp", "predicate"): ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"),
    ("tt.get_program_id", "axis"): _AXES,
    ("tt.get_num_programs", "axis"): _AXES,
    ("tt.atomic_rmw", "atomic_rmw_op"): _READ_MODIFY_WRITE,
    ("tt.atomic_rmw", "sem"): _SEMANTICS,
    ("tt.atomic_rmw", "scope"): _SCOPES,
    ("tt.atomic_cas", "sem"): _SEMANTICS,
    ("tt.atomic_cas", "scope"): _SCOPES,
}

# (op name, attribute) → the values that the custom form leaves out; '' stands for any op.
DEFAULTS: Final[dict[tuple[str, str], frozenset[str]]] = {
    ("", "overflowFlags"): frozenset({"#arith.overflow<none>", "#llvm.overflow<none>"}),
    ("", "fastmath"): frozenset({"#arith.fastmath<none>"}),
    ("", "fastmathFlags"): frozenset({"#llvm.fastmath<none>"}),
    ("tt.load", "cache"): frozenset({"1 : i32"}),
    ("tt.load", "evict"): frozenset({"1 : i32"}),
    ("tt.load", "isVolatile"): frozenset({"false"}),
    ("tt.load", "boundaryCheck"): frozenset({"array<i32>"}),
    ("tt.store", "cache"): frozenset({"1 : i32"}),
    ("tt.store", "evict"): frozenset({"1 : i32"}),
    ("tt.store", "boundaryCheck"): frozenset({"array<i32>"}),
    ("tt.dot", "inputPrecision"): frozenset({"2 : i32"}),
    ("tt.dot", "maxNumImpreciseAcc"): frozenset({"0 : i32"}),
    ("tt.func", "sym_visibility"): frozenset(),
}

# Attributes that only say how operands or results are cut into groups, or that types repeat.
STRUCTURAL: Final = frozenset(
    {"operandSegmentSizes", "operand_segment_sizes", "resultSegmentSizes", "result_segment_sizes"}
)

_NUMBER: Final = re.compile(r"(-?\d+)(?: : i\d+)?")
_BLANKS: Final = re.compile(r"\s+")


def normal_attributes(name: str, attributes: dict[str, str], ignored: frozenset[str]) -> dict[str, str]:
    """The attributes of an op called `name`, in one spelling and sorted by name; texts are resolved."""
    normal: dict[str, str] = {}
    for key in sorted(attributes):
        text = attributes[key]
        if key in ignored or key in STRUCTURAL:
            continue
        if "\n" in text or "  " in text:
            text = _BLANKS.sub(" ", text) if '"' not in text else text
        words = ENUMERATIONS.get((name, key))
        if words is not None:
            text = _word(text, words)
        if text in DEFAULTS.get((name, key), ()) or text in DEFAULTS.get(("", key), ()):
            continue
        normal[key] = text
    return normal


def _word(text: str, words: tuple[str, ...]) -> str:
    number = _NUMBER.fullmatch(text)
    if number is None or not 0 <= int(number.group(1)) < len(words):
        return text
    return words[int(number.group(1))] or text
