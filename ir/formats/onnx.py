"""Reader of ONNX models: a graph as a program, with a listing of our own as its text.

The top-level op `module` is the graph (attribute `sym_name`): its block's arguments are the graph's inputs,
its ops the initializers (`onnx.initializer`), the nodes (`onnx.Conv`; another domain stands in front of the
name) and a last `onnx.return` of the outputs. Subgraphs are regions of their node and see the values
around them. An optional input that is left out is the value `%`, which nothing defines.

Weights are not read from external files, only listed; the files they name must lie in the model's folder.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Final

import google.protobuf.message
import onnx
import onnx.numpy_helper
import onnx.shape_inference

from ..errors import Diagnostic, InputError
from ..program import Block, Detail, Op, Program, Region, Value
from ..types import UNKNOWN, Type
from .onnx_types import attribute_text, element_name, quoted, shape_type, type_of

_SMALL: Final = 4096
"""Initializers of at most so many bytes keep their data for shape inference (shapes, axes, …)."""
_DEFAULT_DOMAINS: Final = ("", "ai.onnx")


@dataclass(slots=True)
class OnnxSource:
    """The listing of a model, and the protobuf messages that its ops stand for."""

    text: str
    model: onnx.ModelProto
    path: str
    details: dict[int, Detail] = field(default_factory=dict)
    nodes: dict[int, onnx.NodeProto] = field(default_factory=dict)
    tensors: dict[int, onnx.TensorProto] = field(default_factory=dict)
    graphs: dict[int, onnx.GraphProto] = field(default_factory=dict)

    def detail(self, op: Op) -> Detail:
        """Attributes and types as the model gives them."""
        return self.details.get(op.start, Detail())

    def argument_type(self, value: Value) -> Type:
        """Graph inputs have their types from the start."""
        return UNKNOWN


def read_onnx(path: str) -> Program:
    """Read a model into a program.

    Raises InputError for a file that is no ONNX model. Diagnostics: `undefined-value`, `duplicate-name`,
    `cyclic-graph`, `external-data-missing`, `external-data-outside`, `shape-inference`.
    """
    try:
        model = onnx.load(path, load_external_data=False)
    except (google.protobuf.message.DecodeError, ValueError, TypeError) as error:
        raise InputError(f"{path} is no ONNX model that can be read: {_first_line(error)}") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    if not model.HasField("graph") or not (model.graph.node or model.graph.output or model.graph.input):
        raise InputError(f"{path} holds no graph: expected an ONNX ModelProto")
    return _Builder(model, path).build()


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:300] or type(error).__name__


class _Builder:
    """Writes the listing and makes the ops beside it."""

    def __init__(self, model: onnx.ModelProto, path: str) -> None:
        self.source = OnnxSource("", model, path)
        body = Region(None, 0, 0)
        block = Block(body, "", 0, 0)
        body.blocks.append(block)
        self.program = Program("onnx", self.source, body)
        self.top = block
        self.parts: list[str] = []
        self.length = 0
        self.types: dict[str, Type] = {}
        self.absent = Value("%")

    def build(self) -> Program:
        model = self.source.model
        self.types = self._infer(model)
        opsets = ", ".join(f"{o.domain or 'ai.onnx'} {o.version}" for o in model.opset_import)
        attributes = {
            "sym_name": f'"{model.graph.name or "graph"}"',
            "ir_version": str(model.ir_version),
            "opset": quoted(opsets.encode()),
            "producer": quoted(f"{model.producer_name} {model.producer_version}".strip().encode()),
        }
        self._graph(model.graph, self.top, {}, 0, attributes)
        for function in model.functions:
            self._function(function)
        self._check_external(model)
        self.source.text = "".join(self.parts)
        self.program.body.end = self.length
        return self.program

    # -- text ----------------------------------------------------------------------------------------

    def _write(self, text: str) -> None:
        self.parts.append(text)
        self.length += len(text)

    def _begin(self, name: str, block: Block, depth: int) -> Op:
        lead = self.length
        self._write("\n" * (self.length > 0) + "  " * depth)
        op = Op(name, self.source, self.length, self.length)
        op.lead = lead
        op.block = block
        block.ops.append(op)
        return op

    # -- graphs --------------------------------------------------------------------------------------

    def _graph(
        self,
        graph: onnx.GraphProto,
        block: Block,
        outer: dict[str, Value],
        depth: int,
        attributes: dict[str, str],
    ) -> None:
        op = self._begin("module", block, depth)
        self.source.graphs[op.start] = graph
        self.source.details[op.start] = Detail(attributes)
        head = ", ".join(f"{key} = {text}" for key, text in attributes.items() if key != "sym_name")
        self._write(f"module @{attributes['sym_name']}" + (f" {{{head}}}" if head else ""))
        initializers = {tensor.name for tensor in graph.initializer}
        inputs = [info for info in graph.input if info.name not in initializers]
        self._body(op, graph, inputs, outer, depth)
        op.end = self.length

    def _body(
        self,
        op: Op,
        graph: onnx.GraphProto,
        inputs: list[onnx.ValueInfoProto],
        outer: dict[str, Value],
        depth: int,
    ) -> None:
        """One region: arguments, initializers, nodes, return."""
        scope = dict(outer)
        region = Region(op, self.length, self.length)
        op.regions.append(region)
        entry = Block(region, "", self.length, self.length)
        region.blocks.append(entry)
        for info in inputs:
            value = Value(f"%{info.name}", entry, len(entry.args), type_of(info.type))
            entry.args.append(value)
            scope[info.name] = value
        self._write("(" + ", ".join(f"{a.name}: {a.type.text}" for a in entry.args) + ") {")
        region.start = self.length
        for tensor in graph.initializer:
            self._initializer(tensor, entry, scope, depth + 1)
        for sparse in graph.sparse_initializer:
            self._initializer(sparse.values, entry, scope, depth + 1)
        self._nodes(list(graph.node), entry, scope, depth + 1)
        self._return([output.name for output in graph.output], entry, scope, depth + 1)
        self._write("\n" + "  " * depth)
        region.end = self.length
        self._write("}")

    def _initializer(
        self, tensor: onnx.TensorProto, block: Block, scope: dict[str, Value], depth: int
    ) -> None:
        op = self._begin("onnx.initializer", block, depth)
        type = shape_type(element_name(tensor.data_type), list(tensor.dims))
        attributes = {}
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            location = next((e.value for e in tensor.external_data if e.key == "location"), "")
            attributes["external"] = quoted(location.encode())
        self.source.details[op.start] = Detail(attributes, [type])
        self.source.tensors[op.start] = tensor
        self._define(op, tensor.name, scope, type)
        shown = f" {{external = {attributes['external']}}}" if attributes else ""
        self._write(f"%{tensor.name} = onnx.initializer{shown} : {type.text}")
        op.end = self.length

    def _nodes(self, nodes: list[onnx.NodeProto], block: Block, scope: dict[str, Value], depth: int) -> None:
        made = [self._node(node, block, scope, depth) for node in nodes]
        # Operands are bound when every name of the graph is known: a use in front of its definition is
        # then told as such, and not taken for an undefined value.
        late: set[str] = set()
        for op, node, own in made:
            for name in node.input:
                value = self.absent if not name else own.get(name) or scope.get(name)
                if value is None:
                    value = self._undefined(name, op, scope)
                elif name and name not in own and value.owner is not None:
                    late.add(name)
                value.uses.append((op, len(op.operands)))
                op.operands.append(value)
        for name in sorted(late):
            self._say("cyclic-graph", f"%{name} is used before the node that makes it", -1)

    def _node(
        self, node: onnx.NodeProto, block: Block, scope: dict[str, Value], depth: int
    ) -> tuple[Op, onnx.NodeProto, dict[str, Value]]:
        domain = "onnx" if node.domain in _DEFAULT_DOMAINS else node.domain
        op = self._begin(f"{domain}.{node.op_type}", block, depth)
        own = {name: scope[name] for name in node.input if name in scope}
        graphs = [a for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]
        attributes = {a.name: attribute_text(a) for a in node.attribute if a not in graphs}
        types = [self.types.get(name, UNKNOWN) for name in node.output]
        self.source.details[op.start] = Detail(
            attributes, types, quoted(node.name.encode()) if node.name else ""
        )
        self.source.nodes[op.start] = node
        results = ", ".join(f"%{name}" for name in node.output)
        listed = ", ".join(f"{key} = {text}" for key, text in attributes.items())
        self._write(f"{results} = " * bool(results) + f"{op.name}({', '.join(f'%{n}' for n in node.input)})")
        self._write(f" {{{listed}}}" * bool(listed))
        for attribute in graphs:
            self._write(f" {attribute.name}")
            self._body(op, attribute.g, list(attribute.g.input), scope, depth)
        if types:
            self._write(" : " + ", ".join(type.text for type in types))
        if node.name:
            self._write(f" loc({quoted(node.name.encode())})")
        op.end = self.length
        for index, name in enumerate(node.output):
            self._define(op, name, scope, types[index])
        return op, node, own

    def _return(self, names: list[str], block: Block, scope: dict[str, Value], depth: int) -> None:
        op = self._begin("onnx.return", block, depth)
        self._write("onnx.return " + ", ".join(f"%{name}" for name in names))
        op.end = self.length
        self.source.details[op.start] = Detail()
        for index, name in enumerate(names):
            value = scope.get(name) or self._undefined(name, op, scope)
            value.uses.append((op, index))
            op.operands.append(value)

    def _function(self, function: onnx.FunctionProto) -> None:
        graph = onnx.GraphProto(name=f"{function.domain}.{function.name}")
        graph.node.extend(function.node)
        graph.input.extend(onnx.ValueInfoProto(name=name) for name in function.input)
        graph.output.extend(onnx.ValueInfoProto(name=name) for name in function.output)
        self._graph(graph, self.top, {}, 0, {"sym_name": f'"{graph.name}"', "function": "unit"})

    # -- names ---------------------------------------------------------------------------------------

    def _define(self, op: Op, name: str, scope: dict[str, Value], type: Type) -> None:
        value = Value(f"%{name}", op, len(op.results), type)
        op.results.append(value)
        if not name:
            return
        if name in scope and scope[name].owner is not None and _block_of(scope[name]) is op.block:
            self._say("duplicate-name", f"%{name} is made again by {op.name}", op.start)
        scope[name] = value

    def _undefined(self, name: str, op: Op, scope: dict[str, Value]) -> Value:
        value = scope[name] = Value(f"%{name}")
        self._say("undefined-value", f"%{name} is used by {op.name} and never made", op.start)
        return value

    def _say(self, code: str, message: str, offset: int) -> None:
        self.program.diagnostics.append(Diagnostic(code, message, offset))

    # -- types and files -----------------------------------------------------------------------------

    def _infer(self, model: onnx.ModelProto) -> dict[str, Type]:
        """Types of all values by name: the model's own, and what shape inference adds to them."""
        graphs = [model.graph]
        try:
            graphs.append(onnx.shape_inference.infer_shapes(_without_weights(model), data_prop=True).graph)
        except Exception as error:  # inference raises whatever its C++ throws, and is only a help
            self._say("shape-inference", f"shapes could not be inferred: {_first_line(error)}", -1)
        types: dict[str, Type] = {}
        for graph in graphs:
            for info in (*graph.input, *graph.value_info, *graph.output):
                found = type_of(info.type)
                if found is not UNKNOWN and not (info.name in types and "[*]" in found.text):
                    types[info.name] = found
        return types

    def _check_external(self, model: onnx.ModelProto) -> None:
        folder = os.path.realpath(os.path.dirname(self.source.path) or ".")
        for tensor in model.graph.initializer:
            if tensor.data_location != onnx.TensorProto.EXTERNAL:
                continue
            location = next((e.value for e in tensor.external_data if e.key == "location"), "")
            target = os.path.realpath(os.path.join(folder, location))
            if os.path.isabs(location) or os.path.commonpath([folder, target]) != folder or not location:
                what = f"%{tensor.name} names data outside the model's folder ({location!r}): not followed"
                self._say("external-data-outside", what, -1)
            elif not os.path.isfile(target):
                self._say("external-data-missing", f"%{tensor.name}: {location!r} is not there", -1)


def _block_of(value: Value) -> Block | None:
    return value.owner.block if isinstance(value.owner, Op) else value.owner


def _without_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model for shape inference: large initializers become inputs, so that no weight is copied."""
    lean = onnx.ModelProto(ir_version=model.ir_version)
    lean.opset_import.extend(model.opset_import)
    lean.functions.extend(model.functions)
    graph = lean.graph
    graph.name = model.graph.name
    graph.node.extend(model.graph.node)
    graph.input.extend(model.graph.input)
    graph.output.extend(model.graph.output)
    graph.value_info.extend(model.graph.value_info)
    known = {info.name for info in model.graph.input}
    for tensor in model.graph.initializer:
        small = tensor.ByteSize() <= _SMALL and tensor.data_location != onnx.TensorProto.EXTERNAL
        if small:
            graph.initializer.append(tensor)
        elif tensor.name not in known:
            graph.input.append(
                onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
            )
    return lean
