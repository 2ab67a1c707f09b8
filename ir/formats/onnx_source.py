"""What a program keeps of the model it was read from, so that it can be shown in full and written back."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import numpy as np
import onnx
import onnx.numpy_helper

from ..errors import InputError
from ..program import Detail, Op, Program, Region, Value
from ..types import UNKNOWN, Type
from .onnx_external import ExternalFiles, external_data


@dataclass(slots=True)
class OnnxSource:
    """The listing of a model, and the protobuf messages that its ops stand for.

    Ops are known by where their text begins, so that a clone of an op finds the message of the original.
    """

    text: str
    model: onnx.ModelProto
    path: str
    details: dict[int, Detail] = field(default_factory=dict)
    nodes: dict[int, onnx.NodeProto] = field(default_factory=dict)
    tensors: dict[int, onnx.TensorProto] = field(default_factory=dict)
    sparse: dict[int, onnx.SparseTensorProto] = field(default_factory=dict)
    order: dict[int, int] = field(default_factory=dict)
    """Which node, initializer or sparse initializer of its graph an op is."""
    graphs: dict[Region, onnx.GraphProto | onnx.FunctionProto] = field(default_factory=dict)
    infos: dict[Value, onnx.ValueInfoProto] = field(default_factory=dict)
    """The declarations of graph inputs."""
    originals: dict[Value, tuple[str, Type]] = field(default_factory=dict)
    """Every value's name in the model and type, as they were read."""

    def detail(self, op: Op) -> Detail:
        """Attributes and types as the model gives them; the op's own, to be edited."""
        known = self.details.get(op.start)
        if known is None:
            return Detail()
        return Detail(dict(known.attributes), list(known.result_types), known.location)

    def argument_type(self, value: Value) -> Type:
        """Graph inputs have their types from the start; those of functions have none."""
        return UNKNOWN


def absent(program: Program) -> Value | None:
    """The value that stands for a left-out optional input of the main graph; None where none is left out."""
    for op in program.ops[0].regions[0].blocks[0].ops[:1] if program.ops else ():
        if op.name == "onnx.none":
            return op.results[0]
    return None


def literal_array(op: Op) -> np.ndarray:
    """The data of an initializer or a Constant node, read from its file where it lies in one.

    Raises InputError for an op without a tensor, and for data that is damaged, missing or outside the
    model's folder. A large external tensor is mapped, not loaded.
    """
    source = op.source
    tensor = _tensor(source, op) if isinstance(source, OnnxSource) else None
    if tensor is None or not isinstance(source, OnnxSource):
        raise InputError(f"{op.name} holds no tensor: expected an initializer or a Constant with a value")
    name = op.results[0].name if op.results else op.name
    data = external_data(tensor)
    try:
        if data is None:
            held: np.ndarray = onnx.numpy_helper.to_array(tensor)
            return held
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type))
        count = int(np.prod(tensor.dims, dtype=object))
        files = ExternalFiles(os.path.dirname(source.path))
        packed = tensor.data_type in _PACKED
        needed = None if packed else count * dtype.itemsize
        fault = files.fault(data, needed)[1] or ("its elements are packed: not supported" if packed else "")
        if fault:
            raise InputError(f"{name}: {fault}")
        mapped = np.memmap(files.path(data.location), dtype, "r", data.offset, (count,))
        return mapped.reshape(tuple(tensor.dims))
    except (TypeError, ValueError, KeyError, RuntimeError, OSError, OverflowError) as error:
        raise InputError(f"{name} of {source.path} cannot be read: {error}") from error


_PACKED = frozenset(
    number for name, number in onnx.TensorProto.DataType.items() if name.endswith(("INT4", "INT2", "4E2M1"))
)


def _tensor(source: OnnxSource, op: Op) -> onnx.TensorProto | None:
    if op.start in source.tensors:
        return source.tensors[op.start]
    node = source.nodes.get(op.start)
    held = [a.t for a in node.attribute if a.name == "value" and a.HasField("t")] if node is not None else []
    return held[0] if held else None
