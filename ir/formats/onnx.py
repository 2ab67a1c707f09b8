"""Reader of ONNX models: a graph as a program, with a listing of our own as its text.

The first top-level op, `module`, is the graph: its block's arguments are the graph's inputs, its ops the
initializers (`onnx.initializer`, `onnx.sparse_initializer`), the nodes (`onnx.Conv`; another domain stands
in front of the name) and a last `onnx.return` of the outputs. The model's functions are further `module`
ops with the attribute `function`. Subgraphs are regions of their node and see the values around them; the
attribute that held one has the text `region 0`. An optional input that is left out is the value `%`, the
result of an op `onnx.none` that is in front of the others and has no text.

Weights are not read from external files, only listed; the files they name must lie in the model's folder.
"""

from __future__ import annotations

import mmap
import os
import stat
from typing import Final

import google.protobuf.message
import onnx

from ..errors import InputError
from ..program import Program
from .onnx_build import Builder
from .onnx_source import OnnxSource, absent, literal_array

_MOST_BYTES: Final = (1 << 31) - 1
"""No protobuf message is larger."""


def read_onnx(path: str, data: bytes | mmap.mmap | None = None) -> Program:
    """Read a model into a program; `data` is its content where that is not what the file `path` holds.

    Raises InputError for what is no ONNX model. Diagnostics: `undefined-value`, `duplicate-name`,
    `use-before-definition`, `cyclic-graph`, `missing-input`, `missing-attribute`, `attribute-type`,
    `unknown-element-type`, `tensor-size`, `external-data-missing`, `external-data-outside`,
    `external-data-range`, `shape-inference`.
    """
    model = onnx.ModelProto()
    try:
        content = _content(path) if data is None else data
        if len(content) > _MOST_BYTES:
            raise InputError(
                f"{path} has {len(content):,} bytes: a protobuf model has at most 2 GiB, {_KEEP}"
            )
        model.ParseFromString(content if isinstance(content, bytes) else bytes(content))
    except google.protobuf.message.DecodeError as error:
        raise InputError(f"{path} is no ONNX model that can be read: {_reason(str(error))}") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    graph = model.graph
    if not model.HasField("graph") or not (graph.node or graph.output or graph.input or graph.initializer):
        raise InputError(f"{path} holds no graph: expected an ONNX ModelProto")
    return program_of(model, path)


def program_of(model: onnx.ModelProto, path: str = "<model>") -> Program:
    """A model in memory as a program; external data is looked for in the folder of `path`."""
    return Builder(model, path).build()


_KEEP: Final = "keep the weights in a file beside it (onnx.save with save_as_external_data=True)"


def _content(path: str) -> bytes:
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"{path} is no file: expected an ONNX model")
    if found.st_size > _MOST_BYTES:
        raise InputError(f"{path} has {found.st_size:,} bytes: a protobuf model has at most 2 GiB, {_KEEP}")
    with open(path, "rb") as file:
        return file.read()


def _reason(said: str) -> str:
    if "MaxDepth" in said or "ecursion" in said:
        return "its messages are nested deeper than protobuf reads (100 levels, some 30 subgraphs)"
    said = said.rpartition(": ")[2].partition("\n")[0][:200]
    # Some versions of protobuf give no reason.
    other = "nested deeper than protobuf reads (100 levels), or something else"
    return f"{said or 'not a protobuf message'}; it is cut off, damaged, {other}"


__all__ = ["OnnxSource", "absent", "literal_array", "program_of", "read_onnx"]
