"""What is in an MLIR program: ops by dialect, functions, encodings, layout conversions."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ..formats.mlir_syntax import is_function
from ..formats.mlir_text import expand_aliases
from ..program import Op, Program, symbol, walk
from ..types import MemDescType, TensorType, byte_size


@dataclass(frozen=True, slots=True)
class Conversion:
    """One `convert_layout`: the value it makes, its encodings (aliases expanded), bytes of the tensor."""

    value: str
    source: str
    target: str
    bytes: int | None
    depth: int
    """How many loops are around it."""


@dataclass(slots=True)
class MlirSummary:
    """Counts over one program; `ops` leaves out text that no reader understood."""

    ops: int = 0
    by_op: Counter[str] = field(default_factory=Counter)
    by_dialect: Counter[str] = field(default_factory=Counter)
    functions: list[str] = field(default_factory=list)
    module_attributes: dict[str, str] = field(default_factory=dict)
    encodings: Counter[str] = field(default_factory=Counter)
    """Encoding with aliases expanded → how many values have it."""
    conversions: list[Conversion] = field(default_factory=list)


def summarize(program: Program) -> MlirSummary:
    """Count the ops, encodings and layout conversions of an MLIR program."""
    summary = MlirSummary()
    expanded: dict[str, str] = {}
    loops: dict[int, int] = {}
    for op in walk(program):
        if not op.name or op.implicit:
            continue
        summary.ops += 1
        summary.by_op[op.name] += 1
        summary.by_dialect[op.dialect] += 1
        parent = op.parent
        loops[id(op)] = (loops.get(id(parent), 0) + _is_loop(parent)) if parent is not None else 0
        if is_function(op.name):
            summary.functions.append(symbol(op))
        elif op.name == "builtin.module" and not summary.module_attributes:
            summary.module_attributes = dict(op.attributes)
        for result in op.results:
            encoding = _encoding(result.type, program, expanded)
            if encoding:
                summary.encodings[encoding] += 1
        if op.name.endswith(".convert_layout") and op.operands and op.results:
            summary.conversions.append(_conversion(op, program, expanded, loops[id(op)]))
    return summary


def to_json(summary: MlirSummary) -> dict[str, object]:
    """The summary as the `--json` output of `passlens info` gives it."""
    sizes = [conversion.bytes for conversion in summary.conversions]
    return {
        "ops": summary.ops,
        "by_dialect": dict(summary.by_dialect.most_common()),
        "by_op": dict(summary.by_op.most_common()),
        "functions": summary.functions,
        "module_attributes": summary.module_attributes,
        "encodings": dict(summary.encodings.most_common()),
        "convert_layouts": {
            "count": len(sizes),
            "bytes": sum(size for size in sizes if size is not None),
            "in_loops": sum(conversion.depth > 0 for conversion in summary.conversions),
            "list": [
                {"value": c.value, "source": c.source, "target": c.target, "bytes": c.bytes, "loops": c.depth}
                for c in summary.conversions
            ],
        },
    }


def _is_loop(op: Op | None) -> int:
    return int(op is not None and op.name in ("scf.for", "scf.while", "affine.for", "scf.parallel"))


def _encoding(type: object, program: Program, expanded: dict[str, str]) -> str:
    if not isinstance(type, TensorType | MemDescType) or not type.encoding:
        return ""
    text = type.encoding
    if text not in expanded:
        expanded[text] = expand_aliases(text, program.aliases)
    return expanded[text]


def _conversion(op: Op, program: Program, expanded: dict[str, str], depth: int) -> Conversion:
    result = op.results[0]
    return Conversion(
        result.name,
        _encoding(op.operands[0].type, program, expanded),
        _encoding(result.type, program, expanded),
        byte_size(result.type),
        depth,
    )
