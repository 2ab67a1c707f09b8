"""ONNX element types, tensor types and attribute values as text and as our types."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import onnx

from ..types import UNKNOWN, DynamicShapeType, ShapeType, Type

ELEMENTS: Final[dict[int, str]] = {
    onnx.TensorProto.FLOAT: "f32", onnx.TensorProto.UINT8: "ui8", onnx.TensorProto.INT8: "i8",
    onnx.TensorProto.UINT16: "ui16", onnx.TensorProto.INT16: "i16", onnx.TensorProto.INT32: "i32",
    onnx.TensorProto.INT64: "i64", onnx.TensorProto.BOOL: "i1", onnx.TensorProto.FLOAT16: "f16",
    onnx.TensorProto.DOUBLE: "f64", onnx.TensorProto.UINT32: "ui32", onnx.TensorProto.UINT64: "ui64",
    onnx.TensorProto.COMPLEX64: "complex<f32>", onnx.TensorProto.COMPLEX128: "complex<f64>",
    onnx.TensorProto.BFLOAT16: "bf16", onnx.TensorProto.FLOAT8E4M3FN: "f8E4M3FN",
    onnx.TensorProto.FLOAT8E4M3FNUZ: "f8E4M3FNUZ", onnx.TensorProto.FLOAT8E5M2: "f8E5M2",
    onnx.TensorProto.FLOAT8E5M2FNUZ: "f8E5M2FNUZ", onnx.TensorProto.UINT4: "ui4",
    onnx.TensorProto.INT4: "i4", onnx.TensorProto.STRING: "string",
}  # fmt: skip
_LONGEST_LIST: Final = 16


def element_name(number: int) -> str:
    """The name of an ONNX element type; `element<N>` for one that is not known here."""
    return ELEMENTS.get(number, f"element<{number}>")


def shape_type(element: str, lens: Sequence[int]) -> ShapeType:
    """A dense tensor of these sizes."""
    strides = [math.prod(lens[i + 1 :]) for i in range(len(lens))]
    return ShapeType(f"{element}[{'x'.join(map(str, lens))}]", element, tuple(lens), tuple(strides))


def type_of(proto: onnx.TypeProto) -> Type:
    """The type of a value_info; tensors only, anything else by its kind's name."""
    kind = proto.WhichOneof("value")
    if kind is None:
        return UNKNOWN
    if kind != "tensor_type":
        return Type(kind.removesuffix("_type"))
    tensor = proto.tensor_type
    element = element_name(tensor.elem_type)
    if not tensor.HasField("shape"):
        return Type(f"{element}[*]")
    dims: list[tuple[int, int] | str] = []
    for dim in tensor.shape.dim:
        if dim.HasField("dim_value"):
            dims.append((dim.dim_value, dim.dim_value))
        else:
            dims.append(dim.dim_param or "?")
    fixed = [dim[0] for dim in dims if not isinstance(dim, str)]
    if len(fixed) == len(dims) and all(n >= 0 for n in fixed):
        return shape_type(element, fixed)
    text = "x".join(dim if isinstance(dim, str) else str(dim[0]) for dim in dims)
    return DynamicShapeType(f"{element}[{text}]", element, tuple(dims))


def attribute_text(attribute: onnx.AttributeProto) -> str:
    """An attribute's value as text; tensors by type, size and first values, graphs as `graph`."""
    kinds = onnx.AttributeProto
    if attribute.ref_attr_name:
        return f"@{attribute.ref_attr_name}"
    if attribute.type == kinds.INT:
        return str(attribute.i)
    if attribute.type == kinds.FLOAT:
        return f"{attribute.f!r}"
    if attribute.type == kinds.STRING:
        return quoted(attribute.s)
    if attribute.type == kinds.INTS:
        return _listed([str(i) for i in attribute.ints])
    if attribute.type == kinds.FLOATS:
        return _listed([repr(f) for f in attribute.floats])
    if attribute.type == kinds.STRINGS:
        return _listed([quoted(s) for s in attribute.strings])
    if attribute.type == kinds.TENSOR:
        return tensor_text(attribute.t)
    if attribute.type == kinds.TENSORS:
        return _listed([tensor_text(t) for t in attribute.tensors])
    return kinds.AttributeType.Name(attribute.type).lower() if attribute.type else "unknown"


def quoted(raw: bytes) -> str:
    """Bytes as a quoted string in which nothing is left that could end a line."""
    text = raw.decode("utf-8", "backslashreplace")
    return (
        '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r") + '"'
    )


def tensor_text(tensor: onnx.TensorProto) -> str:
    """`dense<[1, 2]> : i64[2]` for a small tensor, `dense<…>` for a large or external one."""
    type = shape_type(element_name(tensor.data_type), list(tensor.dims))
    count = math.prod(tensor.dims)
    if count > _LONGEST_LIST or tensor.data_location == onnx.TensorProto.EXTERNAL:
        return f"dense<…> : {type.text}"
    try:
        values = onnx.numpy_helper.to_array(tensor).reshape(-1).tolist()
    except (TypeError, ValueError, KeyError, RuntimeError):
        return f"dense<?> : {type.text}"
    return f"dense<{_listed([str(v) for v in values])}> : {type.text}"


def _listed(texts: list[str]) -> str:
    shown = texts[:_LONGEST_LIST]
    more = [f"… {len(texts) - len(shown)} more"] if len(texts) > len(shown) else []
    return "[" + ", ".join([*shown, *more]) + "]"
