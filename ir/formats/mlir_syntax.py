"""What passlens knows of custom syntax, as data: the only place where op names of dialects matter.

Everything else in the MLIR reader is syntax-driven and works on dialects that are not named here.
"""

from __future__ import annotations

from typing import Final

# Words that may open a line as an op of the surrounding default dialect (MLIR lets a dialect's region
# drop the prefix of its ops) and the full name that they stand for.
BARE_OPS: Final[dict[str, str]] = {
    "module": "builtin.module",
    "func": "func.func",
    "return": "func.return",
    "call": "func.call",
    "call_indirect": "func.call_indirect",
    "br": "cf.br",
    "cond_br": "cf.cond_br",
    "switch": "cf.switch",
}

# Dialects whose region bodies may hold ops without prefix.
DEFAULT_DIALECTS: Final = frozenset({"pdl", "pdl_interp", "transform", "irdl", "spirv", "emitc", "smt"})

# Lines that begin with these words go on with the op above them.
CONTINUATIONS: Final = frozenset(
    {"else", "do", "attributes", "to", "step", "iter_args", "into", "case", "default"}
)

# Ops whose regions see no value from outside.
ISOLATED: Final = frozenset(
    {
        "builtin.module", "gpu.module", "spirv.module", "func.func", "tt.func", "llvm.func", "gpu.func",
        "emitc.func", "spirv.func", "async.func", "ml_program.func", "ml_program.subgraph", "pdl.pattern",
        "transform.named_sequence", "irdl.dialect", "ttg.warp_specialize.partitions",
    }
)  # fmt: skip

# Terminators that the printer leaves out when they carry nothing.
IMPLICIT_TERMINATORS: Final[dict[str, str]] = {
    "scf.for": "scf.yield",
    "scf.if": "scf.yield",
    "scf.parallel": "scf.reduce",
    "scf.forall": "scf.forall.in_parallel",
    "affine.for": "affine.yield",
    "affine.if": "affine.yield",
    "affine.parallel": "affine.yield",
    "memref.alloca_scope": "memref.alloca_scope.return",
}

# Result types where the printed type, if any, is not the result's.
FIXED_RESULTS: Final[dict[str, str]] = {
    "ttg.async_copy_global_to_local": "!ttg.async.token",
    "ttg.async_commit_group": "!ttg.async.token",
    "ttg.async_wait": "!ttg.async.token",
    "triton_gpu.async_copy_global_to_local": "!triton_gpu.async.token",
    "triton_gpu.async_commit_group": "!triton_gpu.async.token",
    "triton_gpu.async_wait": "!triton_gpu.async.token",
    "ttng.tmem_store": "!ttg.async.token",
    "ttng.tc_gen5_mma": "!ttg.async.token",
    "ttng.tc_gen5_mma_scaled": "!ttg.async.token",
    "amdg.buffer_load_to_local": "!ttg.async.token",
    "amdg.async_tdm_copy_global_to_local": "!ttg.async.token",
    "amdg.async_tdm_copy_local_to_global": "!ttg.async.token",
    "amdg.async_wait": "!ttg.async.token",
    "amdg.async_tdm_wait": "!ttg.async.token",
    "amdg.async_tdm_intrinsic_wait": "!ttg.async.token",
    "ttg.warp_id": "i32",
    "nvgpu.cluster_id": "i32",
    "amdgpu.buffer_load_to_local": "!ttg.async.token",
}
# Ops that print `<f16>, <128x64xf16>`: the types without the prefix that the op makes clear.
SHORT_TYPES: Final[dict[str, str]] = {
    "tt.make_tensor_descriptor": "!tt.tensordesc",
    "tt.make_tensor_ptr": "!tt.ptr",
    "tt.advance": "!tt.ptr",
    "rocdl.make.buffer.rsrc": "!llvm.ptr",
    "nvws.aref.create": "!nvws.aref",
}
# Ops with a last result, a token, whose type is not printed.
TRAILING_TOKEN: Final[dict[str, str]] = {"ttng.tmem_load": "!ttg.async.token"}
FIRST_TYPE: Final = frozenset({"tt.addptr"})
COMPARISONS: Final = frozenset({"arith.cmpi", "arith.cmpf", "llvm.icmp", "llvm.fcmp"})
POINTEE_OF_OPERAND: Final = frozenset({"tt.load"})
ELEMENT_OF_TYPE: Final = frozenset(
    {
        "memref.load", "tensor.extract", "vector.extractelement", "affine.load", "llvm.extractelement",
        "tt.unsplat",
    }
)  # fmt: skip

# Bare words that a custom form prints before or between its operands, as the attribute that they are.
LEADING_WORD: Final[dict[str, str]] = {
    "arith.cmpi": "predicate",
    "arith.cmpf": "predicate",
    "tt.get_program_id": "axis",
    "tt.get_num_programs": "axis",
    "tt.atomic_rmw": "atomic_rmw_op",
    "gpu.thread_id": "dimension",
    "gpu.block_id": "dimension",
    "gpu.block_dim": "dimension",
    "gpu.grid_dim": "dimension",
}


def is_function(name: str) -> bool:
    """Whether an op of this name declares arguments by name in its header, as functions do."""
    return name.endswith(".func") or name in ("func", "transform.named_sequence", "transform.sequence")


def is_isolated(name: str) -> bool:
    """Whether the regions of an op of this name start a new scope of SSA names."""
    return name in ISOLATED or is_function(name)
