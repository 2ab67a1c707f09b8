"""The numbers of an ONNX model: nodes, weights, inputs and outputs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from ..formats.onnx_names import unquoted
from ..program import Op, Program, walk
from ..types import DynamicShapeType, byte_size


@dataclass(slots=True)
class OnnxSummary:
    """Counts over a model; sizes in bytes, None where a shape is open or its elements have no size."""

    nodes: int = 0
    """Nodes of the graph and its subgraphs."""
    by_op: Counter[str] = field(default_factory=Counter)
    literals: int = 0
    """Initializers and Constant nodes, those of functions too."""
    literal_bytes: int = 0
    """What their data takes: of a sparse one its values and indices, of strings their UTF-8."""
    unsized: int = 0
    """Literals whose size is not known; they are not in `literal_bytes`."""
    external: int = 0
    """Literals whose data lies in another file."""
    parameters: dict[str, int | None] = field(default_factory=dict)
    """The graph's inputs without those that an initializer gives a default."""
    outputs: dict[str, int | None] = field(default_factory=dict)
    subgraphs: int = 0
    functions: int = 0
    function_nodes: int = 0
    dynamic: list[str] = field(default_factory=list)
    """Symbols of open dimensions among the inputs; `?` for those without a symbol."""
    header: dict[str, str] = field(default_factory=dict)
    """`ir_version`, `opset` and `producer` as the model gives them."""


def summarize(program: Program) -> OnnxSummary:
    """Count what a model holds."""
    summary = OnnxSummary()
    modules = [op for op in program.ops if op.name == "module"]
    summary.functions = max(len(modules) - 1, 0)
    if modules:
        main = modules[0]
        keys = ("ir_version", "opset", "producer")
        summary.header = {key: unquoted(main.attributes.get(key, "")) for key in keys}
        _ends(summary, main)
    for number, module in enumerate(modules):
        for op in walk(module):
            _count(summary, op, number == 0)
    return summary


def _ends(summary: OnnxSummary, main: Op) -> None:
    block = main.regions[0].blocks[0]
    for arg in block.args:
        summary.parameters[arg.name] = byte_size(arg.type)
        if isinstance(arg.type, DynamicShapeType):
            summary.dynamic += [dim for dim in arg.type.dims if isinstance(dim, str)]
    for value in block.ops[-1].operands if block.ops else ():
        summary.outputs[value.name] = byte_size(value.type)
    summary.dynamic = sorted(set(summary.dynamic))


def _count(summary: OnnxSummary, op: Op, main: bool) -> None:
    if op.name in ("module", "onnx.return", "onnx.none"):
        return
    if op.name in ("onnx.initializer", "onnx.sparse_initializer"):
        _literal(summary, op)
        return
    if main:
        summary.nodes += 1
        summary.by_op[op.name] += 1
    else:
        summary.function_nodes += 1
    summary.subgraphs += len(op.regions)
    if op.name == "onnx.Constant":
        _literal(summary, op)


def _literal(summary: OnnxSummary, op: Op) -> None:
    noted = op.attributes.get("bytes", "")
    size = int(noted) if noted.isdecimal() else byte_size(op.results[0].type) if op.results else None
    summary.literals += 1
    summary.literal_bytes += size or 0
    summary.unsized += size is None
    summary.external += "external" in op.attributes or op.attributes.get("value", "").startswith(
        "dense<external>"
    )


def to_json(summary: OnnxSummary) -> dict[str, Any]:
    """The summary as `passlens info --json` gives it."""
    known = [size for size in summary.parameters.values() if size is not None]
    return {
        "nodes": summary.nodes,
        "by_op": dict(summary.by_op.most_common()),
        "literals": {
            "count": summary.literals,
            "bytes": summary.literal_bytes,
            "external": summary.external,
            "unsized": summary.unsized,
        },
        "parameters": {"count": len(summary.parameters), "bytes": sum(known), "list": summary.parameters},
        "outputs": {"count": len(summary.outputs), "list": summary.outputs},
        "subgraphs": summary.subgraphs,
        "functions": summary.functions,
        "function_nodes": summary.function_nodes,
        "dynamic_dimensions": summary.dynamic,
        **summary.header,
    }
