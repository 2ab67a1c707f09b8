"""Attribute values of ONNX nodes as text, and the texts of edited attributes as values."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, Final

import numpy as np
import onnx
import onnx.numpy_helper

from ..errors import InputError
from ..types import UNKNOWN, Type
from .onnx_names import decoded, encodable, quoted, unquoted
from .onnx_types import NUMBERS, element_name, element_total, parse_shape, shape_type, type_of

KINDS: Final = onnx.AttributeProto
_LONGEST_LIST: Final = 64
_LONGEST_DENSE: Final = 8
_LONGEST_STRING: Final = 2000
_HASHED_ELEMENTS: Final = 1 << 20
"""Tensors whose data is not raw bytes are fingerprinted up to this many elements."""
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*+"')
_ITEM: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|[^\s,]+')
_DENSE: Final = re.compile(r"dense<(.*)>(?:\s*:\s*(.+))?", re.S)
# Which field of an AttributeProto holds the value of which kind.
_FIELDS: Final = {
    "f": KINDS.FLOAT, "i": KINDS.INT, "s": KINDS.STRING, "t": KINDS.TENSOR, "g": KINDS.GRAPH,
    "sparse_tensor": KINDS.SPARSE_TENSOR, "tp": KINDS.TYPE_PROTO, "floats": KINDS.FLOATS,
    "ints": KINDS.INTS, "strings": KINDS.STRINGS, "tensors": KINDS.TENSORS, "graphs": KINDS.GRAPHS,
    "sparse_tensors": KINDS.SPARSE_TENSORS, "type_protos": KINDS.TYPE_PROTOS,
}  # fmt: skip


def kind_of(attribute: onnx.AttributeProto) -> int:
    """The attribute's kind; where it gives none (models of 2017), that of the field that is filled."""
    if attribute.type:
        return int(attribute.type)
    return next(iter(filled_kinds(attribute)), 0)


def filled_kinds(attribute: onnx.AttributeProto) -> set[int]:
    """The kinds whose fields hold something."""
    return {_FIELDS[field.name] for field, _ in attribute.ListFields() if field.name in _FIELDS}


def graphs_of(attribute: onnx.AttributeProto) -> list[onnx.GraphProto]:
    """The subgraphs that an attribute holds."""
    kind = kind_of(attribute)
    if kind == KINDS.GRAPH:
        return [attribute.g]
    return list(attribute.graphs) if kind == KINDS.GRAPHS else []


def tensors_of(attribute: onnx.AttributeProto) -> list[onnx.TensorProto]:
    """The tensors that an attribute holds, those of sparse ones too."""
    sparse = [attribute.sparse_tensor] if attribute.HasField("sparse_tensor") else []
    parts = [part for s in (*sparse, *attribute.sparse_tensors) for part in (s.values, s.indices)]
    return [*([attribute.t] if attribute.HasField("t") else []), *attribute.tensors, *parts]


def constant_type(node: onnx.NodeProto) -> Type:
    """The type of a Constant node's result as its attribute gives it; UNKNOWN for any other node."""
    if node.op_type != "Constant" or node.domain not in ("", "ai.onnx") or len(node.attribute) != 1:
        return UNKNOWN
    attribute = node.attribute[0]
    kind = kind_of(attribute)
    if kind == KINDS.TENSOR:
        return shape_type(element_name(attribute.t.data_type), list(attribute.t.dims))
    single = {KINDS.FLOAT: "f32", KINDS.INT: "i64", KINDS.STRING: "string"}
    several = {KINDS.FLOATS: attribute.floats, KINDS.INTS: attribute.ints, KINDS.STRINGS: attribute.strings}
    elements = {KINDS.FLOATS: "f32", KINDS.INTS: "i64", KINDS.STRINGS: "string"}
    if kind in single:
        return shape_type(single[kind], [])
    return shape_type(elements[kind], [len(several[kind])]) if kind in several else UNKNOWN


def attribute_text(attribute: onnx.AttributeProto) -> str:
    """The value as text; what is long is cut and ends in a fingerprint of the whole."""
    if attribute.ref_attr_name:
        return f"@{quoted(attribute.ref_attr_name)}"
    kind = kind_of(attribute)
    write = _WRITERS.get(kind)
    return write(attribute) if write else f"kind<{kind}>"


def _float(value: float) -> str:
    return str(np.float32(value))


def _string(raw: str | bytes) -> str:
    if len(raw) <= _LONGEST_STRING:
        return quoted(raw)
    data = raw if isinstance(raw, bytes) else raw.encode("utf-8", "surrogateescape")
    return f"{quoted(raw[:_LONGEST_DENSE])}… {len(raw):,} bytes #{zlib.crc32(data):08x}"


def _listed(values: Any, write: Callable[[Any], str]) -> str:
    count = len(values)
    texts = [write(value) for value in islice(values, _LONGEST_LIST)]
    if count <= _LONGEST_LIST:
        return "[" + ", ".join(texts) + "]"
    digest = 0
    for value in values:
        digest = zlib.crc32(write(value).encode("utf-8", "surrogatepass") + b",", digest)
    return "[" + ", ".join(texts[:_LONGEST_DENSE]) + f", … {count - _LONGEST_DENSE:,} more #{digest:08x}]"


def tensor_text(tensor: onnx.TensorProto) -> str:
    """`dense<[1, 2]> : i64[2]` for a small tensor, `dense<… #fingerprint> : …` for a large one."""
    type = shape_type(element_name(tensor.data_type), list(tensor.dims))
    return f"dense<{_data(tensor)}> : {type.text}"


def sparse_text(tensor: onnx.SparseTensorProto) -> str:
    """The values and the indices of a sparse tensor, and the type of the dense one."""
    type = shape_type(element_name(tensor.values.data_type), list(tensor.dims))
    return f"sparse<{tensor_text(tensor.values)}, {tensor_text(tensor.indices)}> : {type.text}"


def _data(tensor: onnx.TensorProto) -> str:
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        return "external"
    try:
        if element_total(tensor) > _LONGEST_DENSE:
            return "… " + _fingerprint(tensor)
        values = onnx.numpy_helper.to_array(tensor).reshape(-1)
    except (TypeError, ValueError, KeyError, RuntimeError, AttributeError, OverflowError):
        return "?"
    return _listed([_element(value) for value in values], str)


def _element(value: Any) -> str:
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, bool):
        return "true" if plain else "false"
    return quoted(plain) if isinstance(plain, str | bytes) else str(value)


def _fingerprint(tensor: onnx.TensorProto) -> str:
    if tensor.HasField("raw_data"):
        return f"#{zlib.crc32(tensor.raw_data):08x}"
    if element_total(tensor) > _HASHED_ELEMENTS:
        return "large"
    return f"#{zlib.crc32(onnx.numpy_helper.to_array(tensor).tobytes()):08x}"


_WRITERS: Final[dict[int, Callable[[onnx.AttributeProto], str]]] = {
    KINDS.INT: lambda a: str(a.i),
    KINDS.FLOAT: lambda a: _float(a.f),
    KINDS.STRING: lambda a: _string(a.s),
    KINDS.INTS: lambda a: _listed(a.ints, str),
    KINDS.FLOATS: lambda a: _listed(a.floats, _float),
    KINDS.STRINGS: lambda a: _listed(a.strings, _string),
    KINDS.TENSOR: lambda a: tensor_text(a.t),
    KINDS.TENSORS: lambda a: _listed(a.tensors, tensor_text),
    KINDS.SPARSE_TENSOR: lambda a: sparse_text(a.sparse_tensor),
    KINDS.SPARSE_TENSORS: lambda a: _listed(a.sparse_tensors, sparse_text),
    KINDS.TYPE_PROTO: lambda a: f"type<{type_of(a.tp).text}>",
    KINDS.TYPE_PROTOS: lambda a: _listed(a.type_protos, lambda t: f"type<{type_of(t).text}>"),
}


def attribute_of(name: str, text: str, kind: int = 0) -> onnx.AttributeProto:
    """The attribute that a text stands for: a number, a string, a list of either, or `dense<[…]> : type`.

    `kind` is the one that the op wants (0: told by the text). Raises InputError for any other text.
    """
    try:
        value, found = _value(text.strip(), kind)
        attribute = onnx.AttributeProto(name=encodable(name), type=kind or found)
        field = next(field for field, number in _FIELDS.items() if number == attribute.type)
        if isinstance(value, list):
            getattr(attribute, field).extend(value)
        elif isinstance(value, onnx.TensorProto):
            getattr(attribute, field).CopyFrom(value)
        else:
            setattr(attribute, field, value)
    except (ValueError, TypeError, AttributeError, OverflowError, StopIteration) as error:
        wanted = KINDS.AttributeType.Name(kind) if kind else "a number, a string, a list or `dense<[…]>`"
        raise InputError(f"attribute {name} = {text[:80]} cannot be written: expected {wanted}") from error
    return attribute


def tensor_of(text: str) -> onnx.TensorProto:
    """The tensor of a text `dense<[1, 2]> : i64[2]`; raises ValueError for one that is not given whole."""
    found = _DENSE.fullmatch(text.strip())
    type = parse_shape(found.group(2) or "") if found else None
    if found is None or type is None or type.element not in NUMBERS:
        raise ValueError(f"expected `dense<[…]> : element[sizes]`, found {text[:80]}")
    inside = found.group(1).strip()
    items = _items(inside[1:-1] if inside[:1] == "[" else inside)
    if type.element == "string":
        strings = [unquoted(item).encode("utf-8", "surrogateescape") for item in items]
        return onnx.helper.make_tensor("", NUMBERS["string"], type.lens, strings)
    words: dict[str, Any] = {"true": 1, "false": 0}
    read: Callable[[str], Any] = (
        complex if "complex" in type.element else float if "f" in type.element else int
    )
    values = [words[item] if item in words else read(item) for item in items]
    return onnx.helper.make_tensor("", NUMBERS[type.element], type.lens, values)


def _items(inside: str) -> list[str]:
    return _ITEM.findall(inside)


def _value(text: str, kind: int) -> tuple[Any, int]:
    """The value of a text, of the kind wanted if there is one, and the kind that the text itself shows."""
    if text.startswith("dense<"):
        return tensor_of(text), KINDS.TENSOR
    if text.startswith("["):
        if not text.endswith("]"):
            raise ValueError("a list without its end")
        return _list(_items(text[1:-1]), kind)
    if text.startswith('"'):
        if not _STRING.fullmatch(text):
            raise ValueError("a string without its end")
        return unquoted(text).encode("utf-8", "surrogateescape"), KINDS.STRING
    if kind == KINDS.FLOAT or (not kind and not _whole([text])):
        return float(text), KINDS.FLOAT
    return _integer(text), KINDS.INT


def _list(items: list[str], kind: int) -> tuple[list[Any], int]:
    if kind == KINDS.STRINGS or (items and items[0].startswith('"')):
        return [unquoted(item).encode("utf-8", "surrogateescape") for item in items], KINDS.STRINGS
    if kind == KINDS.FLOATS or (not kind and not _whole(items)):
        return [float(item) for item in items], KINDS.FLOATS
    return [_integer(item) for item in items], KINDS.INTS


def _integer(text: str) -> int:
    return {"true": 1, "false": 0}[text] if text in ("true", "false") else int(text)


def _whole(texts: Iterable[str]) -> bool:
    return all(text in ("true", "false") or re.fullmatch(r"[+-]?\d+", text) for text in texts)


def name_of(attribute: onnx.AttributeProto) -> str:
    """The attribute's name as it stands in the listing."""
    text = decoded(attribute.name)
    return text if text.isidentifier() else quoted(text)
