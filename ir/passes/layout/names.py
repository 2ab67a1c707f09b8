"""Names and traits of the ops that the pass tells apart, in the spelling of Triton 3.3 and later.

`kind(op)` gives that spelling for ops of older dumps too, so that everything else here names an op once.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from ...program import Op

_PREFIXES: Final = {
    "triton_gpu.": "ttg.",
    "triton_nvidia_gpu.": "ttng.",
    "nvidia_gpu.": "ttng.",
    "amdgpu.": "amdg.",
}
_RENAMED: Final = {
    "ttng.dot_async": "ttng.warp_group_dot",
    "ttng.dot_wait": "ttng.warp_group_dot_wait",
    "tt.experimental_descriptor_load": "tt.descriptor_load",
    "tt.experimental_descriptor_store": "tt.descriptor_store",
}


@lru_cache(maxsize=4096)
def _kind(name: str) -> str:
    for old, new in _PREFIXES.items():
        if name.startswith(old):
            name = new + name[len(old) :]
            break
    return _RENAMED.get(name, name)


def kind(op: Op) -> str:
    """The op's name as Triton 3.3 and later spell it."""
    return _kind(op.name)


CONVERT: Final = "ttg.convert_layout"
MEMORY: Final = frozenset({"tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas"})
ATOMICS: Final = frozenset({"tt.atomic_rmw", "tt.atomic_cas"})
DOTS: Final = frozenset({"tt.dot", "tt.dot_scaled", "ttng.warp_group_dot"})
DOT_INTERFACE: Final = DOTS | {"ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled", "ttng.tcgen5_mma"}
WAIT: Final = "ttng.warp_group_dot_wait"
DESCRIPTOR_LOADS: Final = frozenset({"tt.descriptor_load", "tt.descriptor_gather"})
DESCRIPTOR_OPS: Final = DESCRIPTOR_LOADS | {
    "tt.descriptor_store",
    "tt.descriptor_scatter",
    "tt.descriptor_reduce",
}
VIEWS: Final = frozenset({"tt.expand_dims", "tt.reshape", "tt.trans", "tt.join", "tt.split"})
UPCASTS: Final = frozenset({"amdg.scaled_upcast_fp4", "amdg.scaled_upcast_fp8"})

_ELEMENTWISE_TT: Final = frozenset(
    {
        "tt.int_to_ptr", "tt.ptr_to_int", "tt.bitcast", "tt.fp_to_fp", "tt.clampf", "tt.precise_sqrt",
        "tt.precise_divf", "tt.mulhiui", "tt.addptr", "tt.extern_elementwise", "tt.pure_extern_elementwise",
        "tt.impure_extern_elementwise", "tt.elementwise_inline_asm", "tt.map_elementwise",
    }
)  # fmt: skip
LOAD_STORE: Final = frozenset({"tt.load", "tt.store", "amdg.buffer_load", "amdg.buffer_store"})
"""Ops that keep the encoding of pointers, values and masks one, but hand none on."""
_SAME_ENCODING: Final = frozenset(
    {"tt.broadcast", "tt.scan", "tt.atomic_rmw", "tt.atomic_cas", "tt.addptr", "tt.cat"}
) - {"tt.cat"}


@lru_cache(maxsize=4096)
def is_elementwise(name: str) -> bool:
    """Whether ops of this kind have MLIR's Elementwise trait."""
    if name.startswith(("arith.", "math.")):
        return name != "arith.constant"
    return name in _ELEMENTWISE_TT


@lru_cache(maxsize=4096)
def keeps_encoding(name: str) -> bool:
    """Whether the encodings of operands and results of such an op are one (by either trait)."""
    return name in _SAME_ENCODING or is_elementwise(name)


HANDS_ON: Final = VIEWS | {"tt.reduce", CONVERT}
"""Ops without such a trait whose results get an encoding from their operand by a rule of their own."""

REWRITABLE: Final = HANDS_ON | {"tt.gather", WAIT}

LOOPS_AND_BRANCHES: Final = frozenset({"scf.for", "scf.while", "scf.if"})
TERMINATORS: Final = frozenset(
    {"scf.yield", "scf.condition", "tt.return", "tt.reduce.return", "tt.scan.return",
     "tt.map_elementwise.return", "ttg.warp_yield", "ttg.warp_return", "cf.br", "cf.cond_br",
     "ttg.mask.return"}
)  # fmt: skip

# Ops without effects that matter to dead code: nothing, or only reads and fresh allocations.
_REMOVABLE_TT: Final = frozenset(
    {
        "tt.splat", "tt.make_range", "tt.broadcast", "tt.expand_dims", "tt.reshape", "tt.trans", "tt.join",
        "tt.split", "tt.cat", "tt.reduce", "tt.scan", "tt.dot", "tt.dot_scaled", "tt.histogram", "tt.gather",
        "tt.get_program_id", "tt.get_num_programs", "tt.make_tensor_ptr", "tt.advance", "tt.unsplat",
        "tt.make_tensor_descriptor", "tt.descriptor_load", "tt.descriptor_gather",
        "tt.reinterpret_tensor_descriptor", "tt.pure_extern_elementwise", "tt.map_elementwise",
        CONVERT, "ttg.local_load", "ttg.memdesc_subview", "ttg.memdesc_index", "ttg.memdesc_subslice",
        "ttg.memdesc_trans", "ttg.memdesc_reshape", "ttg.memdesc_reinterpret", "ttg.fp4_to_fp",
        "ttng.tmem_load", "ttng.tmem_subslice", "gpu.thread_id", "gpu.block_id", "gpu.block_dim", "ub.poison",
        "ttg.warp_id", "ttng.reinterpret_tensor_descriptor", "amdg.scaled_upcast_fp4",
        "amdg.scaled_upcast_fp8", "amdg.in_thread_transpose", "amdg.extract_slice", "amdg.concat",
        "amdg.buffer_load",
    }
)  # fmt: skip


@lru_cache(maxsize=4096)
def _has_no_effect(name: str) -> bool:
    if name.startswith(("arith.", "math.")):
        return True
    if name in _ELEMENTWISE_TT:
        return name not in (
            "tt.elementwise_inline_asm", "tt.extern_elementwise", "tt.impure_extern_elementwise"
        )  # fmt: skip
    return name in _REMOVABLE_TT


def is_removable(op: Op) -> bool:
    """Whether an op without uses may be erased; the ops of its regions are not looked at."""
    name = kind(op)
    if _has_no_effect(name):
        return True
    if name == "tt.load":
        return op.attributes.get("isVolatile", "false") != "true"
    if name in ("tt.elementwise_inline_asm", "tt.extern_elementwise"):
        return op.attributes.get("pure", "false") == "true"
    if name == "ttg.local_alloc":
        return not op.results or "mutable" not in op.results[0].type.text
    return False


HAS_BODY_EFFECTS: Final = LOOPS_AND_BRANCHES
"""Ops that have the effects of the ops in their regions and none of their own."""
