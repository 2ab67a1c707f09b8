"""ONNX element and value types as our types, and back."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final

import onnx

from ..types import UNKNOWN, DynamicShapeType, ShapeType, Type, byte_size
from .onnx_names import printed, unquoted

# By name, since an older onnx package lacks the newest; a number that is not among them is unknown.
_BY_NAME: Final[dict[str, str]] = {
    "FLOAT": "f32", "UINT8": "ui8", "INT8": "i8", "UINT16": "ui16", "INT16": "i16", "INT32": "i32",
    "INT64": "i64", "STRING": "string", "BOOL": "i1", "FLOAT16": "f16", "DOUBLE": "f64", "UINT32": "ui32",
    "UINT64": "ui64", "COMPLEX64": "complex<f32>", "COMPLEX128": "complex<f64>", "BFLOAT16": "bf16",
    "FLOAT8E4M3FN": "f8E4M3FN", "FLOAT8E4M3FNUZ": "f8E4M3FNUZ", "FLOAT8E5M2": "f8E5M2",
    "FLOAT8E5M2FNUZ": "f8E5M2FNUZ", "UINT4": "ui4", "INT4": "i4", "FLOAT4E2M1": "f4E2M1FN",
    "FLOAT8E8M0": "f8E8M0FNU", "UINT2": "ui2", "INT2": "i2", "FLOAT6E2M3": "f6E2M3FN",
    "FLOAT6E3M2": "f6E3M2FN",
}  # fmt: skip
ELEMENTS: Final[dict[int, str]] = {
    number: _BY_NAME[name] for name, number in onnx.TensorProto.DataType.items() if name in _BY_NAME
}
NUMBERS: Final[dict[str, int]] = {name: number for number, name in ELEMENTS.items()}
_MOST_DIMS: Final = 64
"""A tensor of more dimensions is damage: its sizes are not multiplied."""
_RANKED: Final = re.compile(r"([\w<>]+)\[([0-9x]*)\]")


def element_name(number: int) -> str:
    """The name of an ONNX element type; `element<N>` for one that is not known here."""
    return ELEMENTS.get(number, f"element<{number}>")


def shape_type(element: str, lens: Sequence[int]) -> Type:
    """A dense tensor of these sizes; only a text where they can be no sizes."""
    if len(lens) > _MOST_DIMS:
        return Type(f"{element}[{len(lens)} dimensions]")
    text = f"{element}[{'x'.join(map(str, lens))}]"
    if any(n < 0 for n in lens):
        return Type(text)
    strides = [1] * len(lens)
    for i in range(len(lens) - 2, -1, -1):
        strides[i] = strides[i + 1] * lens[i + 1]
    return ShapeType(text, element, tuple(lens), tuple(strides))


def parse_shape(text: str) -> ShapeType | None:
    """The type that `shape_type` printed as `text`; None for any other text."""
    found = _RANKED.fullmatch(text.strip())
    lens = found.group(2).split("x") if found and found.group(2) else []
    if not found or not all(n.isdecimal() for n in lens):
        return None
    type = shape_type(found.group(1), [int(n) for n in lens])
    return type if isinstance(type, ShapeType) else None


def type_of(proto: onnx.TypeProto) -> Type:
    """The type of a value_info: a tensor's shape, or the text of a sequence, map, optional or sparse one."""
    around: list[str] = []
    while True:
        kind = proto.WhichOneof("value")
        if kind == "sequence_type":
            around.append("seq")
            proto = proto.sequence_type.elem_type
        elif kind == "optional_type":
            around.append("optional")
            proto = proto.optional_type.elem_type
        elif kind == "map_type":
            around.append(f"map<{element_name(proto.map_type.key_type)}>")
            proto = proto.map_type.value_type
        else:
            break
    inner = _innermost(proto, kind)
    if not around:
        return inner
    return Type("".join(f"{word}(" for word in around) + inner.text + ")" * len(around))


def _innermost(proto: onnx.TypeProto, kind: str | None) -> Type:
    if kind == "tensor_type":
        return _tensor_type(proto.tensor_type)
    if kind == "sparse_tensor_type":
        return Type(f"sparse({_tensor_type(proto.sparse_tensor_type).text})")
    return UNKNOWN if kind is None else Type(kind.removesuffix("_type"))


def _tensor_type(tensor: onnx.TypeProto.Tensor | onnx.TypeProto.SparseTensor) -> Type:
    element = element_name(tensor.elem_type)
    if not tensor.HasField("shape"):
        return Type(f"{element}[*]")
    dims: list[tuple[int, int] | str] = []
    for dim in tensor.shape.dim:
        if dim.HasField("dim_value") and dim.dim_value >= 0:
            dims.append((dim.dim_value, dim.dim_value))
        else:
            dims.append(printed(dim.dim_param) or "?")
    fixed = [dim[0] for dim in dims if not isinstance(dim, str)]
    if len(fixed) == len(dims):
        return shape_type(element, fixed)
    text = "x".join(dim if isinstance(dim, str) else str(dim[0]) for dim in dims)
    return DynamicShapeType(f"{element}[{text}]", element, tuple(dims))


def type_proto(type: Type) -> onnx.TypeProto | None:
    """The ONNX type of a tensor's type; None where the type does not determine one."""
    proto = onnx.TypeProto()
    if isinstance(type, ShapeType | DynamicShapeType):
        if type.element not in NUMBERS:
            return None
        proto.tensor_type.elem_type = NUMBERS[type.element]
        proto.tensor_type.shape.SetInParent()
        for size in type.lens if isinstance(type, ShapeType) else type.dims:
            _add_dim(proto.tensor_type.shape.dim.add(), size)
        return proto
    element = type.text.removesuffix("[*]")
    if element == type.text or element not in NUMBERS:
        return None
    proto.tensor_type.elem_type = NUMBERS[element]
    return proto


def _add_dim(dim: onnx.TensorShapeProto.Dimension, size: int | tuple[int, int] | str) -> None:
    if isinstance(size, int):
        dim.dim_value = size
    elif isinstance(size, tuple):
        if size[0] == size[1]:
            dim.dim_value = size[0]
    elif size != "?":
        dim.dim_param = unquoted(size)


def literal_size(tensor: onnx.TensorProto) -> int | None:
    """Bytes that a tensor's data takes by its dimensions; None where they or the element do not say."""
    return byte_size(shape_type(element_name(tensor.data_type), list(tensor.dims)))


def element_total(tensor: onnx.TensorProto) -> int:
    """How many elements a tensor has by its dimensions; 0 where they can be no sizes."""
    dims = tensor.dims
    return 0 if len(dims) > _MOST_DIMS or any(n < 0 for n in dims) else math.prod(dims)
