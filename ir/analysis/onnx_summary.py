"""The numbers of an ONNX model: nodes, weights, inputs and outputs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from ..program import Op, Program, walk
from ..types import DynamicShapeType, Type, byte_size


@dataclass(slots=True)
class OnnxSummary:
    """Counts over a model; sizes in bytes, None where a shape is open."""

    nodes: int = 0
    by_op: Counter[str] = field(default_factory=Counter)
    literals: int = 0
    literal_bytes: int = 0
    external: int = 0
    parameters: dict[str, int | None] = field(default_factory=dict)
    outputs: dict[str, int | None] = field(default_factory=dict)
    subgraphs: int = 0
    functions: int = 0
    dynamic: list[str] = field(default_factory=list)
    """Symbols of open dimensions among the inputs."""
    header: dict[str, str] = field(default_factory=dict)


def summarize(program: Program) -> OnnxSummary:
    """Count what a model holds; literals are initializers and Constant nodes."""
    summary = OnnxSummary()
    modules = [op for op in program.ops if op.name == "module"]
    summary.functions = max(len(modules) - 1, 0)
    if modules:
        main = modules[0]
        keys = ("ir_version", "opset", "producer")
        summary.header = {key: main.attributes.get(key, "").strip('"') for key in keys}
        _ends(summary, main)
    for op in walk(program):
        _count(summary, op)
    return summary


def _ends(summary: OnnxSummary, main: Op) -> None:
    block = main.regions[0].blocks[0]
    for arg in block.args:
        summary.parameters[arg.name] = byte_size(arg.type)
        if isinstance(arg.type, DynamicShapeType):
            summary.dynamic += [dim for dim in arg.type.dims if isinstance(dim, str) and dim != "?"]
    for value in block.ops[-1].operands if block.ops else ():
        summary.outputs[value.name] = byte_size(value.type)
    summary.dynamic = sorted(set(summary.dynamic))


def _count(summary: OnnxSummary, op: Op) -> None:
    if op.name in ("module", "onnx.return"):
        return
    if op.name == "onnx.initializer":
        summary.literals += 1
        summary.literal_bytes += _bytes(op.results[0].type)
        summary.external += "external" in op.attributes
        return
    summary.nodes += 1
    summary.by_op[op.name] += 1
    summary.subgraphs += len(op.regions)
    if op.name == "onnx.Constant" and op.results:
        summary.literals += 1
        summary.literal_bytes += _bytes(op.results[0].type)


def _bytes(type: Type) -> int:
    return byte_size(type) or 0


def to_json(summary: OnnxSummary) -> dict[str, Any]:
    """The summary as `passlens info --json` gives it."""
    known = [size for size in summary.parameters.values() if size is not None]
    return {
        "nodes": summary.nodes,
        "by_op": dict(summary.by_op.most_common()),
        "literals": {"count": summary.literals, "bytes": summary.literal_bytes, "external": summary.external},
        "parameters": {"count": len(summary.parameters), "bytes": sum(known), "list": summary.parameters},
        "outputs": {"count": len(summary.outputs), "list": summary.outputs},
        "subgraphs": summary.subgraphs,
        "functions": summary.functions,
        "dynamic_dimensions": summary.dynamic,
        **summary.header,
    }
