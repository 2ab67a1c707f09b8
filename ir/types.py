"""Types of values, whatever the format: element types, shapes, byte sizes.

A type keeps the text it was read from (aliases unexpanded) beside what that text means. Sizes are in
bytes and follow the strided rule: the offset of the last element plus one, times the element size, so
that a broadcast shape (stride 0) is as small as what it reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# Bits that one element takes in memory. Sub-byte MLIR integers are stored as their own width; i1 tensors
# take a byte an element in both Triton and MIGraphX.
ELEMENT_BITS: Final[dict[str, int]] = {
    "f64": 64, "f32": 32, "tf32": 32, "f16": 16, "bf16": 16, "f80": 80, "f128": 128,
    "f8E4M3FN": 8, "f8E4M3FNUZ": 8, "f8E5M2": 8, "f8E5M2FNUZ": 8, "f8E4M3B11FNUZ": 8, "f8E4M3": 8,
    "f8E3M4": 8, "f8E8M0FNU": 8, "f6E2M3FN": 6, "f6E3M2FN": 6, "f4E2M1FN": 4,
    "i1": 8, "i2": 2, "i4": 4, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "i128": 128, "index": 64,
    "ui2": 2, "ui4": 4, "ui8": 8, "ui16": 16, "ui32": 32, "ui64": 64,
    "fp4x2": 8, "complex<f32>": 64, "complex<f64>": 128,
}  # fmt: skip

# MIGraphX's own names, as printed, for the same elements.
MIGRAPHX_ELEMENTS: Final[dict[str, str]] = {
    "bool_type": "i1", "half_type": "f16", "bf16_type": "bf16", "float_type": "f32", "double_type": "f64",
    "uint8_type": "ui8", "int8_type": "i8", "uint16_type": "ui16", "int16_type": "i16",
    "int32_type": "i32", "int64_type": "i64", "uint32_type": "ui32", "uint64_type": "ui64",
    "fp8e4m3fn_type": "f8E4M3FN", "fp8e4m3fnuz_type": "f8E4M3FNUZ", "fp8e5m2_type": "f8E5M2",
    "fp8e5m2fnuz_type": "f8E5M2FNUZ", "fp4x2_type": "fp4x2", "int4_type": "i4", "uint4_type": "ui4",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Type:
    """Any type; by itself, one whose text is all that is known."""

    text: str

    def __str__(self) -> str:
        return self.text


UNKNOWN: Final = Type("?")
"""The type of a value whose text does not give one."""


@dataclass(frozen=True, slots=True)
class ScalarType(Type):
    """A number by itself: `i32`, `f16`, `index`; `name` is a key of `ELEMENT_BITS` if the size is known."""

    name: str


@dataclass(frozen=True, slots=True)
class PointerType(Type):
    """`!tt.ptr<f16>` or `!llvm.ptr<3>`; `pointee` is None for an opaque pointer."""

    pointee: Type | None
    space: int


@dataclass(frozen=True, slots=True)
class TensorType(Type):
    """`tensor<16x?xf32, #enc>`; a dynamic dimension is -1; `encoding` is '' or the text as written."""

    lens: tuple[int, ...]
    element: Type
    encoding: str


@dataclass(frozen=True, slots=True)
class MemDescType(Type):
    """`!ttg.memdesc<2x64xf16, #shared, #smem, mutable>`: a buffer in shared or tensor memory."""

    lens: tuple[int, ...]
    element: Type
    encoding: str
    space: str
    mutable: bool


@dataclass(frozen=True, slots=True)
class ShapeType(Type):
    """A MIGraphX shape: `float_type, {2, 3}, {3, 1}`; lens and strides are in elements."""

    element: str
    """A key of `ELEMENT_BITS`."""
    lens: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DynamicShapeType(Type):
    """A MIGraphX or ONNX shape with open dimensions: `(low, high)` each (high -1: unbounded), or a symbol."""

    element: str
    dims: tuple[tuple[int, int] | str, ...]


@dataclass(frozen=True, slots=True)
class TupleType(Type):
    """Several types as one value (MIGraphX `[a, b]`, MLIR `tuple<a, b>`)."""

    members: tuple[Type, ...]


def element_bits(type: Type) -> int | None:
    """Bits of one element of a scalar, tensor, memdesc or shape (a pointer takes 64); None if unknown."""
    if isinstance(type, PointerType):
        return 64
    if isinstance(type, TensorType | MemDescType):
        return element_bits(type.element)
    if isinstance(type, ShapeType | DynamicShapeType):
        return ELEMENT_BITS.get(type.element)
    if isinstance(type, ScalarType):
        return ELEMENT_BITS.get(type.name) or _integer_bits(type.name)
    return None


def _integer_bits(name: str) -> int | None:
    digits = name.lstrip("uis")
    return max(8, int(digits)) if name[:1] in "uis" and digits.isdecimal() and len(digits) < 6 else None


def element_count(type: Type) -> int | None:
    """How many elements a value holds (1 for a scalar, the sum for a tuple); None if unknown."""
    if isinstance(type, TupleType):
        counts = [element_count(member) for member in type.members]
        return None if None in counts else sum(c for c in counts if c is not None)
    if isinstance(type, ScalarType | PointerType):
        return 1
    if isinstance(type, TensorType | MemDescType | ShapeType):
        total = 1
        for n in type.lens:
            if n < 0:
                return None
            total *= n
        return total
    return None


def byte_size(type: Type) -> int | None:
    """Bytes that a value takes by the strided rule; None where the type does not determine it."""
    if isinstance(type, TupleType):
        sizes = [byte_size(member) for member in type.members]
        return None if None in sizes else sum(s for s in sizes if s is not None)
    bits = element_bits(type)
    if bits is None:
        return None
    if isinstance(type, ShapeType):
        if 0 in type.lens:
            return 0
        span = 1 + sum((n - 1) * s for n, s in zip(type.lens, type.strides, strict=False))
        return (span * bits + 7) // 8
    count = element_count(type)
    return None if count is None else (count * bits + 7) // 8
