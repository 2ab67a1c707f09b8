"""The rules of remove-layout-conversions as data, one set for each era of the compiler.

Sources: the behaviour of the released wheels (every rule below was seen in their debug output, or follows
from a difference between two of them) and the public history of the pass.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final, Literal

from ...errors import InputError

PASS_NAME: Final = "tritongpu-remove-layout-conversions"


@dataclass(frozen=True, slots=True)
class RuleSet:
    """What one era of the pass does. The defaults are those of Triton 3.0."""

    name: str
    releases: str
    """The releases that it describes, for people."""
    dialect: Literal["triton_gpu", "ttg"] = "triton_gpu"
    """The prefix of the ops in dumps of that era."""

    # Propagation
    while_yield: Literal["operand", "result", "argument"] = "operand"
    """Where the yield of a while's body carries its encodings beside the argument of the condition region:
    back to the loop's operand (#4178), to the result of the same number (#11558), or nowhere else."""
    wait_results: Literal["all", "own"] = "all"
    """Whether an operand of a wait for dots gives its encodings to all results or to its own."""
    mma_needs_convert: bool = True
    """Whether an anchor in an MMA encoding counts only if a later convert goes back to one."""
    block_pointer_is_expensive: bool = True
    descriptor_anchors: bool = False
    """Whether loads and stores through tensor descriptors are anchors."""
    gather_anchors: bool = False
    efficient_reshape_anchors: bool = False
    """Whether a reshape with an efficient layout is an anchor, which takes nothing from its operand."""
    upcast_anchors: bool = False
    """Whether AMD's scaled conversions to wider floats are anchors."""
    linear_inference: bool = False
    """Whether reshape, trans, join and split are inferred for every encoding, by linear layouts."""
    unit_reshape_is_slice: bool = False
    """Whether a reshape that takes one dimension of size 1 away gives a slice, and back."""
    reorder_reshape_inferred: bool = False
    """Whether a reshape that may reorder has an inferred encoding too."""

    # Rewriting
    rewrite: Literal["clone", "in-place"] = "clone"
    region_order: Literal["last-first", "first-first"] = "last-first"
    operand_pick_first: bool = False
    """Whether an op to be rewritten first looks for an operand whose pick infers what is wanted."""

    # Converts folded away
    split_dot_convert: bool = False
    """Whether convert(dot(a, b, convert(load))) becomes an addition of the load (3.0 and 3.1)."""
    later_folds: bool = False
    """Whether trans, gather, split and tmem_store take a convert in, too."""

    # Rematerialization
    slice_by_use: bool = False
    """Whether a backward slice is made of uses (so that one value may be reached twice)."""
    stop_at_wanted: bool = False
    """Whether a slice ends at a value that already has the wanted encoding."""
    equal_is_same: bool = False
    """Whether an encoding of the same meaning counts as the wanted one for the operand of a broadcast."""
    no_while_results: bool = False
    """Whether a slice fails at the result of a while, as at that of a for."""
    found_first: bool = True
    """Whether a value that is there already is taken before any slice is tried."""
    reuse_converts: bool = False
    """Whether a convert that stays is offered to later slices."""
    remat_by_blocks: bool = False
    """Whether the ops of a slice are made again in the order of the text, outer blocks first."""
    cost_model: bool = False
    until_no_change: bool = False
    hoist_into_conditionals: bool = False
    hoist_dot_operands: bool = False
    hoist_cost: bool = False
    dead_arguments: Literal["pattern", "liveness"] = "pattern"
    cleanup_in_two: bool = False
    """Whether the last clean-up folds converts first and loops and conditionals after, in two runs."""


TRITON_3_0: Final = RuleSet("triton-3.0", "3.0, 3.1", split_dot_convert=True)

TRITON_3_2: Final = replace(
    TRITON_3_0,
    name="triton-3.2",
    releases="3.2",
    while_yield="result",
    wait_results="own",
    mma_needs_convert=False,
    region_order="first-first",
    split_dot_convert=False,
)

TRITON_3_7: Final = replace(
    TRITON_3_2,
    name="triton-3.7",
    releases="3.3 to 3.7",
    dialect="ttg",
    block_pointer_is_expensive=False,
    descriptor_anchors=True,
    gather_anchors=True,
    linear_inference=True,
    operand_pick_first=True,
    later_folds=True,
    slice_by_use=True,
    stop_at_wanted=True,
    no_while_results=True,
    reuse_converts=True,
    cost_model=True,
    until_no_change=True,
    hoist_into_conditionals=True,
    hoist_dot_operands=True,
    hoist_cost=True,
)

TRITON_3_9: Final = replace(
    TRITON_3_7,
    name="triton-3.9",
    releases="3.9",
    while_yield="argument",
    rewrite="in-place",
    efficient_reshape_anchors=True,
    upcast_anchors=True,
    equal_is_same=True,
    unit_reshape_is_slice=True,
    found_first=False,
    remat_by_blocks=True,
    reorder_reshape_inferred=True,
    dead_arguments="liveness",
    cleanup_in_two=True,
)

TRITON_3_8: Final = replace(
    TRITON_3_9, name="triton-3.8", releases="3.8", while_yield="result", efficient_reshape_anchors=False
)

RULE_SETS: Final = {
    rules.name: rules for rules in (TRITON_3_0, TRITON_3_2, TRITON_3_7, TRITON_3_8, TRITON_3_9)
}
"""Every rule set by its name, the oldest first."""

_LATER_HEADER: Final = re.compile(r"IR Dump (?:Before|After) [\w ]+: [\w-]+")


def rules_named(name: str) -> RuleSet:
    """The rule set of a name, or of a release (`3.0.0`, `triton-3.4`).

    Raises:
        InputError: there is no such rule set.
    """
    if name in RULE_SETS:
        return RULE_SETS[name]
    release = re.fullmatch(r"(?:triton-)?v?3\.(\d+)(?:\.\d+)*", name)
    if release is None:
        raise InputError(f"there is no rule set {name!r}; there are {', '.join(RULE_SETS)}")
    minor = int(release[1])
    for last, rules in ((1, TRITON_3_0), (2, TRITON_3_2), (7, TRITON_3_7), (8, TRITON_3_8)):
        if minor <= last:
            return rules
    return TRITON_3_9


def pick_rules(text: str, header: str = "") -> RuleSet:
    """The rule set that fits a dump: by its dialect's prefix, then by the form of its header.

    3.2 prints as 3.0 does, and 3.8 as 3.9; the older and the newer of the two is taken.
    """
    head = header or text[: text.find("\n")]
    if "triton_gpu." in text and "#ttg." not in text:
        return TRITON_3_0
    if "IR Dump" in head and not _LATER_HEADER.search(head):
        return TRITON_3_7
    return TRITON_3_9
