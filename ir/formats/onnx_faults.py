"""The diagnostics of one ONNX model: each kind is told a few times, and counted from there on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import onnx

from ..errors import Diagnostic
from ..program import Op
from ..types import Type
from .onnx_attributes import name_of, tensors_of
from .onnx_check import Schemas, node_faults
from .onnx_external import ExternalFiles, external_data
from .onnx_types import ELEMENTS, element_total, literal_size

_TOLD: Final = 50
"""Diagnostics of one code that are given each."""


@dataclass(slots=True)
class Faults:
    """Where the reader tells what it noticed; offsets are into the listing."""

    diagnostics: list[Diagnostic]
    files: ExternalFiles
    schemas: Schemas = field(default_factory=lambda: Schemas({}))
    told: dict[str, int] = field(default_factory=dict)

    def say(self, code: str, message: str, offset: int) -> None:
        """Tell of one thing."""
        self.told[code] = self.told.get(code, 0) + 1
        if self.told[code] <= _TOLD:
            self.diagnostics.append(Diagnostic(code, message, offset))

    def close(self) -> None:
        """Count what was not told."""
        for code, count in self.told.items():
            if count > _TOLD:
                rest = count - _TOLD
                self.diagnostics.append(Diagnostic(code, f"{rest:,} more of this kind", -1, rest))

    def node(self, node: onnx.NodeProto, op: Op) -> None:
        """Look at a node's inputs and attributes, and at the tensors among them."""
        for code, message in node_faults(node, self.schemas.of(node)):
            self.say(code, message, op.start)
        for attribute in node.attribute:
            for tensor in tensors_of(attribute):
                self.tensor(tensor, f"{name_of(attribute)} of {op.name}", op.start)

    def element(self, type: Type, name: str, offset: int) -> None:
        """Look at the element type of a value."""
        if "element<" in type.text:
            self.say("unknown-element-type", f"{name} is of unknown type {type.text}", offset)

    def tensor(self, tensor: onnx.TensorProto, name: str, offset: int) -> None:
        """Look at a literal: its element type, its sizes, its data or where that lies."""
        if tensor.data_type not in ELEMENTS:
            what = f"{name} has elements of unknown type {tensor.data_type}"
            self.say("unknown-element-type", what, offset)
        if any(n < 0 for n in tensor.dims):
            self.say("tensor-size", f"{name} has a negative dimension: {list(tensor.dims)[:8]}", offset)
        needed = literal_size(tensor)
        data = external_data(tensor)
        if data is not None:
            code, message = self.files.fault(data, needed)
            if code:
                self.say(code, f"{name}: {message}", offset)
        elif needed is not None and tensor.HasField("raw_data") and len(tensor.raw_data) != needed:
            what = f"{name} holds {len(tensor.raw_data):,} bytes: its {element_total(tensor):,} elements"
            self.say("tensor-size", f"{what} take {needed:,}", offset)
