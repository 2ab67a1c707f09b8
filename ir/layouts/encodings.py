"""What an encoding's text says, as data: one class for every kind of layout attribute since Triton 2.1.

Every kind that spreads over the blocks of a cluster keeps that part as `cga`: one basis for every bit of the
block index (the `CGALayout` of Triton 3.6 and later). The older `CTAsPerCGA`, `CTASplitNum`, `CTAOrder` are
turned into it when read. Sizes are in elements unless said otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from .linear import Basis

Bases: TypeAlias = tuple[Basis, ...]


@dataclass(frozen=True, slots=True)
class Blocked:
    """A tile of `size_per_thread` elements a thread, repeated over lanes, then warps, then registers."""

    size_per_thread: tuple[int, ...]
    threads_per_warp: tuple[int, ...]
    warps_per_cta: tuple[int, ...]
    order: tuple[int, ...]
    """Dimensions, the fastest first."""
    cga: Bases = ()


@dataclass(frozen=True, slots=True)
class Slice:
    """The layout of what is left of `parent` once dimension `dim` is reduced away."""

    dim: int
    parent: Distributed


@dataclass(frozen=True, slots=True)
class DotOperand:
    """An operand (0: A, 1: B) of a dot whose result is laid out as `parent`."""

    op_idx: int
    parent: Distributed
    k_width: int = 0
    """Consecutive elements along K that a thread holds; 0 where it is not printed."""


@dataclass(frozen=True, slots=True)
class NvidiaMma:
    """The accumulator of a tensor core instruction of NVIDIA (version 2: Ampere, 3: Hopper)."""

    version_major: int
    version_minor: int
    warps_per_cta: tuple[int, ...]
    instr_shape: tuple[int, ...]
    """M, N[, K] of the instruction; empty where an old dump does not print it."""
    cga: Bases = ()


@dataclass(frozen=True, slots=True)
class AmdMfma:
    """The accumulator of an MFMA instruction of AMD's CDNA."""

    version: int
    warps_per_cta: tuple[int, ...]
    instr_shape: tuple[int, ...]
    """M, N[, K] of the instruction."""
    is_transposed: bool
    tiles_per_warp: tuple[int, ...] = ()
    """Empty: one tile."""
    element_bit_width: int = 32
    cga: Bases = ()


@dataclass(frozen=True, slots=True)
class AmdWmma:
    """The accumulator of a WMMA instruction of AMD's RDNA (versions 1, 2) or gfx1250 (3)."""

    version: int
    is_transposed: bool
    register_bases: Bases
    """Repetitions inside a warp, in units of the instruction's tile."""
    warp_bases: Bases
    """Placement of the warps, in units of the instruction's tile."""
    instr_shape: tuple[int, ...] = (16, 16, 16)
    cga: Bases = ()


@dataclass(frozen=True, slots=True)
class Linear:
    """A distributed layout given by its bases; `generic` for the kind that need not be a permutation."""

    register: Bases
    lane: Bases
    warp: Bases
    block: Bases
    rank: int
    generic: bool = False


@dataclass(frozen=True, slots=True)
class SwizzledShared:
    """Rows of shared memory whose groups of `vec` elements are exchanged by an XOR with the row's phase."""

    vec: int
    per_phase: int
    max_phase: int
    order: tuple[int, ...]
    cga: Bases = ()
    has_leading_offset: bool = False
    """The form of Triton 3.2 and before for what is now `NvmmaShared`."""


@dataclass(frozen=True, slots=True)
class AmdRotatingShared:
    """As `SwizzledShared`, the phase also rotating from block of rows to block of rows."""

    vec: int
    per_phase: int
    max_phase: int
    order: tuple[int, ...]
    cga: Bases = ()


@dataclass(frozen=True, slots=True)
class NvmmaShared:
    """The shared memory tiles that TMA writes and NVIDIA's tensor cores read."""

    swizzling_byte_width: int
    """0 (no swizzling), 32, 64 or 128 bytes."""
    transposed: bool
    element_bit_width: int
    fp4_padded: bool = False
    cga: Bases = ()
    rank: int = 2


@dataclass(frozen=True, slots=True)
class PaddedShared:
    """Shared memory with padding: after every `interval` elements, `padding` elements are left out."""

    intervals: tuple[tuple[int, int], ...]
    """(interval, padding) pairs, both in elements."""
    order: tuple[int, ...] = ()
    """With `shape`, the short form: an identity in this order. Empty where bases are given."""
    shape: tuple[int, ...] = ()
    offset: Bases = ()
    block: Bases = ()


@dataclass(frozen=True, slots=True)
class SharedLinear:
    """A shared memory layout given by its bases; `alignment` is in bytes."""

    offset: Bases
    block: Bases
    alignment: int
    rank: int


@dataclass(frozen=True, slots=True)
class PartitionedShared:
    """A tensor cut along `partition_dim` into pieces that lie in different partitions of shared memory."""

    num_partitions: int
    num_groups: int
    partition_dim: int
    partition_layout: Shared


@dataclass(frozen=True, slots=True)
class TensorMemory:
    """Blackwell's tensor memory: 128 rows by columns of 32 bits."""

    block_m: int
    block_n: int
    col_stride: int
    cga: Bases = ()
    two_ctas: bool = False
    fp4_padded: bool = False


@dataclass(frozen=True, slots=True)
class TensorMemoryScales:
    """The scale factors of a scaled dot in tensor memory."""

    cga: Bases = ()
    block_rep_order: str = ""


Distributed: TypeAlias = Blocked | Slice | DotOperand | NvidiaMma | AmdMfma | AmdWmma | Linear
"""Encodings of tensors in registers."""

Shared: TypeAlias = (
    SwizzledShared | AmdRotatingShared | NvmmaShared | PaddedShared | SharedLinear | PartitionedShared
)
"""Encodings of buffers in shared memory."""

Encoding: TypeAlias = Distributed | Shared | TensorMemory | TensorMemoryScales


def rank_of(encoding: Encoding) -> int | None:
    """The rank of the tensors that an encoding is for; None where its text does not say."""
    if isinstance(encoding, Slice):
        inner = rank_of(encoding.parent)
        return None if inner is None else inner - 1
    if isinstance(encoding, DotOperand):
        return rank_of(encoding.parent)
    if isinstance(encoding, Blocked | SwizzledShared | AmdRotatingShared):
        return len(encoding.order)
    if isinstance(encoding, NvidiaMma | AmdMfma):
        return len(encoding.warps_per_cta)
    if isinstance(encoding, AmdWmma):
        known = encoding.warp_bases or encoding.register_bases
        return len(known[0]) if known else None
    if isinstance(encoding, Linear | SharedLinear | NvmmaShared):
        return encoding.rank
    if isinstance(encoding, PaddedShared):
        return len(encoding.order) or (len(encoding.offset[0]) if encoding.offset else None)
    if isinstance(encoding, PartitionedShared):
        return rank_of(encoding.partition_layout)
    return 2
