"""Makes the ops of an ONNX model and writes the listing beside them."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import onnx

from ..program import Block, Detail, Op, Program, Region, Value
from ..types import UNKNOWN, ShapeType, Type
from .onnx_attributes import attribute_text, constant_type, graphs_of, name_of, sparse_text, tensor_text
from .onnx_check import Schemas, op_on_cycle
from .onnx_external import ExternalFiles, external_data
from .onnx_faults import Faults
from .onnx_infer import infer_shapes, large_constant, types_of
from .onnx_names import decoded, printed, quoted, value_name
from .onnx_source import OnnxSource
from .onnx_types import element_name, literal_size, shape_type, type_of

Steps: TypeAlias = Generator["Steps", None, None]
"""Work that hands out the work inside it, so that nesting costs no Python stack."""
_DEFAULT_DOMAINS: Final = ("", "ai.onnx")


def run(work: Steps) -> None:
    """Do the work, and that which it hands out before it goes on."""
    stack = [work]
    while stack:
        inner = next(stack[-1], None)
        if inner is None:
            stack.pop()
        else:
            stack.append(inner)


@dataclass(slots=True)
class _Scope:
    """The names of one graph."""

    block: Block
    outer: _Scope | None
    coming: set[str]
    """What the graph's nodes make, sooner or later."""
    names: dict[str, Value] = field(default_factory=dict)
    forward: dict[str, Value] = field(default_factory=dict)
    """Values that were used before the node that makes them."""


class Builder:
    """Reads one model; `build` may be called once."""

    def __init__(self, model: onnx.ModelProto, path: str) -> None:
        self.source = OnnxSource("", model, path)
        body = Region(None, 0, 0)
        self.top = Block(body, "", 0, 0)
        body.blocks.append(self.top)
        self.program = Program("onnx", self.source, body)
        self.parts: list[str] = []
        self.length = 0
        self.faults = Faults(self.program.diagnostics, ExternalFiles(os.path.dirname(path)))
        self.undefined: dict[str, Value] = {}
        self.none: Value | None = None

    def build(self) -> Program:
        """The program with its listing and its diagnostics."""
        model = self.source.model
        inferred, why = infer_shapes(model)
        if why:
            self.faults.say("shape-inference", f"shapes could not be inferred: {why}", -1)
        opsets = ", ".join(f"{decoded(o.domain) or 'ai.onnx'} {o.version}" for o in model.opset_import)
        producer = f"{decoded(model.producer_name)} {decoded(model.producer_version)}".strip()
        attributes = {
            "sym_name": quoted(model.graph.name or "graph"),
            "ir_version": str(model.ir_version),
            "opset": quoted(opsets),
            "producer": quoted(producer),
        }
        self._module(model.graph, inferred, attributes, model.opset_import)
        for function in model.functions:
            name = f"{decoded(function.domain)}.{decoded(function.name)}"
            name += f":{decoded(function.overload)}" if getattr(function, "overload", "") else ""
            named = {"sym_name": quoted(name), "function": "unit"}
            if function.attribute or function.attribute_proto:
                given = [decoded(a) for a in function.attribute]
                given += [f"{decoded(a.name)} = {attribute_text(a)}" for a in function.attribute_proto]
                named["parameters"] = quoted(", ".join(given))
            self._module(function, None, named, function.opset_import)
        self.faults.close()
        self.source.text = "".join(self.parts)
        self.program.body.end = self.top.end = self.length
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

    def _end(self, op: Op, detail: Detail) -> None:
        op.end = self.length
        self.source.details[op.start] = detail

    # -- graphs --------------------------------------------------------------------------------------

    def _module(
        self,
        graph: onnx.GraphProto | onnx.FunctionProto,
        inferred: onnx.GraphProto | None,
        attributes: dict[str, str],
        opsets: Iterable[onnx.OperatorSetIdProto],
    ) -> None:
        """The main graph or a function as a top-level op."""
        self.faults.schemas = Schemas({o.domain if o.domain != "ai.onnx" else "": o.version for o in opsets})
        self.undefined, self.none = {}, None
        op = self._begin("module", self.top, 0)
        shown = ", ".join(f"{key} = {text}" for key, text in attributes.items() if key != "sym_name")
        self._write(f"module @{attributes['sym_name']}" + (f" {{{shown}}}" if shown else ""))
        run(self._body(op, graph, inferred, None, 0))
        self._end(op, Detail(attributes))
        if self.none is not None and self.none.op is not None:
            self.none.op.block = op.regions[0].blocks[0]
            op.regions[0].blocks[0].ops.insert(0, self.none.op)
            self.none.op.start = self.none.op.end = self.none.op.lead = op.regions[0].start

    def _body(
        self,
        op: Op,
        graph: onnx.GraphProto | onnx.FunctionProto,
        inferred: onnx.GraphProto | None,
        outer: _Scope | None,
        depth: int,
    ) -> Steps:
        """One region: arguments, initializers, nodes, return; `inferred` is the graph with more types."""
        region = Region(op, self.length, self.length)
        op.regions.append(region)
        self.source.graphs[region] = graph
        entry = Block(region, "", self.length, self.length)
        region.blocks.append(entry)
        scope = _Scope(entry, outer, {decoded(name) for node in graph.node for name in node.output})
        types = types_of((graph, inferred))
        self._arguments(graph, scope, types)
        self._write(" {")
        region.start = self.length
        if isinstance(graph, onnx.GraphProto):
            for index, tensor in enumerate(graph.initializer):
                self._initializer(tensor, index, scope, depth + 1)
            for index, sparse in enumerate(graph.sparse_initializer):
                self._sparse_initializer(sparse, index, scope, depth + 1)
        shaped = iter(inferred.node if inferred is not None else ())
        for index, node in enumerate(graph.node):
            shown = outer is not None or large_constant(node) is None
            yield self._node(node, index, next(shaped, None) if shown else None, scope, types, depth + 1)
        self._order(scope)
        outputs = graph.output if isinstance(graph, onnx.FunctionProto) else [o.name for o in graph.output]
        self._return([decoded(name) for name in outputs], scope, depth + 1)
        self._write("\n" + "  " * depth)
        region.end = self.length
        self._write("}")

    def _arguments(
        self, graph: onnx.GraphProto | onnx.FunctionProto, scope: _Scope, types: dict[str, Type]
    ) -> None:
        entry = scope.block
        infos = [] if isinstance(graph, onnx.FunctionProto) else _arguments(graph)
        names = graph.input if isinstance(graph, onnx.FunctionProto) else [info.name for info in infos]
        for index, raw in enumerate(names):
            name = decoded(raw)
            type = type_of(infos[index].type) if infos else UNKNOWN
            type = types.get(name, UNKNOWN) if type is UNKNOWN else type
            self.faults.element(type, value_name(name), -1)
            value = Value(value_name(name), entry, index, type)
            entry.args.append(value)
            if infos:
                self.source.infos[value] = infos[index]
            self._enter(name, value, scope, "an input")
        self._write("(" + ", ".join(f"{a.name}: {a.type.text}" for a in entry.args) + ")")
        entry.end = self.length

    # -- literals ------------------------------------------------------------------------------------

    def _initializer(self, tensor: onnx.TensorProto, index: int, scope: _Scope, depth: int) -> None:
        op = self._begin("onnx.initializer", scope.block, depth)
        type = shape_type(element_name(tensor.data_type), list(tensor.dims))
        attributes = {"value": tensor_text(tensor).rpartition(" : ")[0]}
        data = external_data(tensor)
        if data is not None:
            attributes = {"external": quoted(data.location)}
            attributes |= {"offset": str(data.offset)} if data.offset else {}
        elif not isinstance(type, ShapeType) or type.element == "string":
            attributes["bytes"] = str(sum(len(text) for text in tensor.string_data))
        self.source.tensors[op.start] = tensor
        self.source.order[op.start] = index
        self._literal(op, decoded(tensor.name), attributes, type, scope)
        self.faults.tensor(tensor, op.results[0].name, op.start)

    def _sparse_initializer(
        self, sparse: onnx.SparseTensorProto, index: int, scope: _Scope, depth: int
    ) -> None:
        op = self._begin("onnx.sparse_initializer", scope.block, depth)
        type = shape_type(element_name(sparse.values.data_type), list(sparse.dims))
        sizes = [literal_size(part) or 0 for part in (sparse.values, sparse.indices)]
        attributes = {"value": sparse_text(sparse).rpartition(" : ")[0], "bytes": str(sum(sizes))}
        self.source.sparse[op.start] = sparse
        self.source.order[op.start] = index
        self._literal(op, decoded(sparse.values.name), attributes, type, scope)
        for part in (sparse.values, sparse.indices):
            self.faults.tensor(part, op.results[0].name, op.start)

    def _literal(self, op: Op, name: str, attributes: dict[str, str], type: Type, scope: _Scope) -> None:
        listed = ", ".join(f"{key} = {text}" for key, text in attributes.items())
        self._write(f"{value_name(name)} = {op.name} {{{listed}}} : {type.text}")
        self._end(op, Detail(attributes, [type]))
        self._define(op, name, scope, type)

    # -- nodes ---------------------------------------------------------------------------------------

    def _node(
        self,
        node: onnx.NodeProto,
        index: int,
        inferred: onnx.NodeProto | None,
        scope: _Scope,
        types: dict[str, Type],
        depth: int,
    ) -> Steps:
        domain = "onnx" if node.domain in _DEFAULT_DOMAINS else printed(node.domain)
        op = self._begin(f"{domain}.{printed(node.op_type)}", scope.block, depth)
        self.source.nodes[op.start] = node
        self.source.order[op.start] = index
        for raw in node.input:
            self._use(op, self._lookup(decoded(raw), op, scope))
        outputs = [decoded(raw) for raw in node.output]
        constant = constant_type(node)
        detail = Detail(
            {}, [types.get(name, constant) for name in outputs], quoted(node.name) * bool(node.name)
        )
        graphs = self._attributes(node, detail.attributes)
        results = ", ".join(map(value_name, outputs))
        inside = ", ".join(value_name(raw) for raw in node.input)
        inner = {name for name, _, _ in graphs}
        listed = ", ".join(f"{k} = {text}" for k, text in detail.attributes.items() if k not in inner)
        self._write(
            f"{results} = " * bool(results) + f"{op.name}({inside})" + f" {{{listed}}}" * bool(listed)
        )
        found = {a.name: graphs_of(a) for a in inferred.attribute} if inferred is not None else {}
        for name, raw, held in graphs:
            shapes = found.get(raw, [])
            for at, graph in enumerate(held):
                shape = shapes[at] if at < len(shapes) else None
                self._write(f" {name}")
                yield self._body(op, graph, shape, scope, depth)
        if outputs:
            self._write(" : " + ", ".join(type.text for type in detail.result_types))
        if detail.location:
            self._write(f" loc({detail.location})")
        self._end(op, detail)
        for name, type in zip(outputs, detail.result_types, strict=True):
            self.faults.element(type, value_name(name), op.start)
            self._define(op, name, scope, type)
        self.faults.node(node, op)

    def _attributes(
        self, node: onnx.NodeProto, into: dict[str, str]
    ) -> list[tuple[str, str, list[onnx.GraphProto]]]:
        """Fill in the texts of a node's attributes; returns those that hold graphs, with both their names."""
        graphs: list[tuple[str, str, list[onnx.GraphProto]]] = []
        count = 0
        for attribute in node.attribute:
            name, held = name_of(attribute), graphs_of(attribute)
            if held:
                last = count + len(held) - 1
                into[name] = f"region {count}" if last == count else f"regions {count} to {last}"
                graphs.append((name, attribute.name, held))
                count += len(held)
            else:
                into[name] = attribute_text(attribute)
        return graphs

    def _return(self, names: list[str], scope: _Scope, depth: int) -> None:
        op = self._begin("onnx.return", scope.block, depth)
        for name in names:
            self._use(op, self._lookup(name, op, scope))
        types = ", ".join(value.type.text for value in op.operands)
        self._write("onnx.return " + ", ".join(map(value_name, names)) + f" : {types}" * bool(types))
        self._end(op, Detail())

    # -- names ---------------------------------------------------------------------------------------

    @staticmethod
    def _use(op: Op, value: Value) -> None:
        value.uses.append((op, len(op.operands)))
        op.operands.append(value)

    def _lookup(self, name: str, op: Op, scope: _Scope) -> Value:
        """The value of a name that an op uses; made up, and told, where there is none."""
        if not name:
            return self._left_out()
        inner: _Scope | None = scope
        while inner is not None:
            if name in inner.names:
                return inner.names[name]
            inner = inner.outer
        inner = scope
        while inner is not None:
            if name in inner.coming:
                return inner.forward.setdefault(name, Value(value_name(name)))
            inner = inner.outer
        if name not in self.undefined:
            self.undefined[name] = Value(value_name(name))
            self.source.originals[self.undefined[name]] = (name, UNKNOWN)
            self.faults.say(
                "undefined-value", f"{value_name(name)} is used by {op.name} and never made", op.start
            )
        return self.undefined[name]

    def _left_out(self) -> Value:
        if self.none is None:
            op = Op("onnx.none", self.source, 0, 0)
            self.none = Value("%", op, 0, UNKNOWN)
            op.results.append(self.none)
            self.source.originals[self.none] = ("", UNKNOWN)
        return self.none

    def _define(self, op: Op, name: str, scope: _Scope, type: Type) -> None:
        value = scope.forward.get(name) if name not in scope.names else None
        if value is None:
            value = Value(value_name(name))
        value.owner, value.index, value.type = op, len(op.results), type
        op.results.append(value)
        self._enter(name, value, scope, op.name)

    def _enter(self, name: str, value: Value, scope: _Scope, maker: str) -> None:
        self.source.originals[value] = (name, value.type)
        if not name:
            return
        if name in scope.names:
            at = value.op.start if value.op is not None else -1
            self.faults.say("duplicate-name", f"{value_name(name)} is made again by {maker}", at)
        scope.names[name] = value

    def _order(self, scope: _Scope) -> None:
        """Tell of nodes that stand in front of those whose results they use."""
        if not scope.forward:
            return
        looped = op_on_cycle(scope.block)
        if looped is not None:
            made = ", ".join(value.name for value in looped.results)
            self.faults.say(
                "cyclic-graph", f"{looped.name}, which makes {made}, needs its own result", looped.start
            )
            return
        for value in scope.forward.values():
            user = value.uses[0][0]
            what = f"{value.name} is used by {user.name} in front of the node that makes it"
            self.faults.say("use-before-definition", what, user.start)


def _arguments(graph: onnx.GraphProto) -> list[onnx.ValueInfoProto]:
    """The inputs that have no initializer, which would make them inputs with a default."""
    held = {t.name for t in graph.initializer} | {s.values.name for s in graph.sparse_initializer}
    return [info for info in graph.input if info.name not in held]
