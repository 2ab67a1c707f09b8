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
_PRECISIONS: Final = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")
_SCALED: Final = ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1", "bf16", "fp16")
_REDUCTIONS: Final = ("", "add", "min", "max", "inc", "dec", "and", "or", "xor")

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
    ("tt.dot", "inputPrecision"): _PRECISIONS,
    ("tt.dot_scaled", "a_elem_type"): _SCALED,
    ("tt.dot_scaled", "b_elem_type"): _SCALED,
    ("tt.descriptor_reduce", "kind"): _REDUCTIONS,
    ("ttg.barrier", "addrSpace"): (*("",) * 31, "all"),
}

# What the bare words, strings and numbers of a custom form are called in the generic form, in order.
POSITIONAL: Final[dict[str, tuple[str, ...]]] = {
    "tt.atomic_rmw": ("atomic_rmw_op", "sem", "scope"),
    "tt.atomic_cas": ("sem", "scope"),
    "tt.assert": ("message", "file", "func", "line"),
    "tt.print": ("prefix",),
    "tt.elementwise_inline_asm": ("asm_string",),
    "tt.descriptor_reduce": ("kind",),
    "ttg.barrier": ("addrSpace",),
}

# Words that only say which operands or regions stand there; that operands came or went is said of them.
GRAMMAR: Final = frozenset(
    {
        "to", "step", "iter_args", "else", "do", "from", "into", "in", "mask", "other", "token", "tokens",
        "deps", "scale", "default", "attributes", "outs", "ins", "init", "shared_outs",
    }
)  # fmt: skip

# (op name, attribute in the custom form) → its name in the generic form.
RENAMED: Final[dict[tuple[str, str], str]] = {
    ("tt.dot_scaled", "lhs"): "a_elem_type",
    ("tt.dot_scaled", "rhs"): "b_elem_type",
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
    ("tt.dot", "inputPrecision"): frozenset({"ieee"}),
    ("tt.dot_scaled", "lhs_k_pack"): frozenset({"true"}),
    ("tt.dot_scaled", "rhs_k_pack"): frozenset({"true"}),
    ("tt.make_tensor_descriptor", "padding"): frozenset({"1 : i32"}),
    ("tt.dot", "maxNumImpreciseAcc"): frozenset({"0 : i32"}),
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
    named = {RENAMED.get((name, key), key): text for key, text in attributes.items()}
    for key in sorted(named):
        text = named[key]
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
