"""Writer of ONNX models: a program read from a model, edited or not, as a model again."""

from __future__ import annotations

import json

import onnx

from ..program import Block, Op, Program, Region, Value
from .onnx import OnnxSource
from .onnx_types import attribute_text


def write_onnx(program: Program) -> onnx.ModelProto:
    """The model that the program stands for; raises TypeError for a program that came from no model.

    Nodes keep what the edit left alone; attributes that were set anew are read from their texts as JSON
    (numbers, strings and lists of them).
    """
    source = program.source
    if not isinstance(source, OnnxSource):
        raise TypeError("only a program that was read from an ONNX model can be written as one")
    model = onnx.ModelProto()
    model.CopyFrom(source.model)
    main = next(op for op in program.ops if op.name == "module")
    names = _names(program)
    _fill(model.graph, source.model.graph, main.regions[0], source, names)
    return model


def _fill(
    graph: onnx.GraphProto,
    original: onnx.GraphProto,
    region: Region,
    source: OnnxSource,
    names: dict[Value, str],
) -> None:
    """Replace a graph's nodes, initializers and outputs by those of the region."""
    del graph.node[:]
    del graph.initializer[:]
    for op in region.blocks[0].ops:
        if op.name == "onnx.return":
            _outputs(graph, original, op, names)
        elif op.name == "onnx.initializer":
            tensor = graph.initializer.add()
            tensor.CopyFrom(source.tensors[op.start])
            tensor.name = names[op.results[0]]
        else:
            graph.node.append(_node(op, source, names))
    kept = {tensor.name for tensor in original.initializer}
    inputs = [info for info in original.input if info.name not in kept]
    for info, value in zip(inputs, region.blocks[0].args, strict=False):
        for mine in graph.input:
            if mine.name == info.name:
                mine.name = names[value]


def _outputs(graph: onnx.GraphProto, original: onnx.GraphProto, op: Op, names: dict[Value, str]) -> None:
    infos = list(original.output)
    del graph.output[:]
    for index, value in enumerate(op.operands):
        info = graph.output.add()
        if index < len(infos):
            info.CopyFrom(infos[index])
        info.name = names[value]


def _node(op: Op, source: OnnxSource, names: dict[Value, str]) -> onnx.NodeProto:
    node = onnx.NodeProto()
    known = source.nodes.get(op.start) if op.source is source else None
    if known is not None:
        node.CopyFrom(known)
    else:
        domain, _, kind = op.name.rpartition(".")
        node.op_type, node.domain = kind, "" if domain == "onnx" else domain
    del node.input[:]
    del node.output[:]
    node.input.extend(names[value] if value.name != "%" else "" for value in op.operands)
    node.output.extend(names[value] for value in op.results)
    _attributes(node, op)
    graphs = [a for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]
    for attribute, region in zip(graphs, op.regions, strict=False):
        original = onnx.GraphProto()
        original.CopyFrom(attribute.g)
        _fill(attribute.g, original, region, source, names)
    return node


def _attributes(node: onnx.NodeProto, op: Op) -> None:
    """Bring the node's attributes in line with the op's texts."""
    printed = {a.name: attribute_text(a) for a in node.attribute if a.type != onnx.AttributeProto.GRAPH}
    if printed == op.attributes:
        return
    graphs = [a for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]
    same = [a for a in node.attribute if a.name in printed and op.attributes.get(a.name) == printed[a.name]]
    fresh = {name: text for name, text in op.attributes.items() if printed.get(name) != text}
    kept = []
    for attribute in (*same, *graphs):
        copy = onnx.AttributeProto()
        copy.CopyFrom(attribute)
        kept.append(copy)
    del node.attribute[:]
    node.attribute.extend(kept)
    for name, text in fresh.items():
        node.attribute.append(onnx.helper.make_attribute(name, json.loads(text)))


def _names(program: Program) -> dict[Value, str]:
    """A name for every value, without its `%`; values without one get a fresh name."""
    names: dict[Value, str] = {}
    taken: set[str] = set()
    fresh = 0
    for value in _values(program):
        name = value.name.removeprefix("%")
        if not name and value.uses:
            while f"v{fresh}" in taken:
                fresh += 1
            name = f"v{fresh}"
        names[value] = name
        taken.add(name)
    return names


def _values(program: Program) -> list[Value]:
    found: list[Value] = []
    work: list[Block] = list(program.body.blocks)
    while work:
        block = work.pop()
        found.extend(block.args)
        for op in block.ops:
            found.extend(op.results)
            found.extend(value for value in op.operands if value.owner is None)
            work.extend(inner for region in op.regions for inner in region.blocks)
    return found
