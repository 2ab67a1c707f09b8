"""ONNX nodes against the operators' own definitions, and whether a graph can be put in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import onnx
import onnx.defs

from ..program import Block, Op, Value, walk
from .onnx_attributes import KINDS, filled_kinds, kind_of, name_of
from .onnx_names import printed


@dataclass(slots=True)
class Schemas:
    """The operators' definitions at the versions that a model imports; looked up once each."""

    versions: Mapping[str, int]
    """Domain → opset version."""
    known: dict[tuple[str, str], onnx.defs.OpSchema | None] = field(default_factory=dict)

    def of(self, node: onnx.NodeProto) -> onnx.defs.OpSchema | None:
        """The definition of a node's operator; None for one that ONNX does not define."""
        domain = "" if node.domain == "ai.onnx" else node.domain
        key = (domain, node.op_type)
        if key not in self.known:
            self.known[key] = self._find(domain, node.op_type)
        return self.known[key]

    def _find(self, domain: str, kind: str) -> onnx.defs.OpSchema | None:
        # Names that are not UTF-8 come as bytes, or do not encode.
        if not isinstance(domain, str) or not isinstance(kind, str) or not (domain + kind).isascii():
            return None
        version = self.versions.get(domain, 0 if domain else 1)
        try:
            return onnx.defs.get_schema(kind, min(max(version, 1), 1 << 30), domain)
        except onnx.defs.SchemaError:
            return None


def node_faults(node: onnx.NodeProto, schema: onnx.defs.OpSchema | None) -> Iterator[tuple[str, str]]:
    """(code, text) of what is wrong with a node by itself: `attribute-type`, `missing-…`, `unknown-op`."""
    kind = printed(node.op_type)
    for attribute in node.attribute:
        yield from _attribute_faults(attribute, kind, schema)
    if schema is None:
        return
    for index, formal in enumerate(schema.inputs):
        if formal.option == onnx.defs.OpSchema.FormalParameterOption.Single and not (
            index < len(node.input) and node.input[index]
        ):
            yield "missing-input", f"{kind} lacks its input {index}, {formal.name}"
    given = {attribute.name for attribute in node.attribute}
    for name, wanted in schema.attributes.items():
        if wanted.required and name not in given:
            yield "missing-attribute", f"{kind} lacks its attribute {name}"


def _attribute_faults(
    attribute: onnx.AttributeProto, kind: str, schema: onnx.defs.OpSchema | None
) -> Iterator[tuple[str, str]]:
    if attribute.ref_attr_name:
        return
    own, filled = kind_of(attribute), filled_kinds(attribute)
    if filled and own not in filled:
        holds = ", ".join(sorted(_kind_name(k) for k in filled))
        yield "attribute-type", f"{name_of(attribute)} of {kind} is {_kind_name(own)} and holds {holds}"
    wanted = schema.attributes.get(attribute.name) if schema and isinstance(attribute.name, str) else None
    if wanted is not None and own and own != wanted.type.value:
        expected = _kind_name(wanted.type.value)
        yield "attribute-type", f"{name_of(attribute)} of {kind} is {_kind_name(own)}: expected {expected}"


def _kind_name(kind: int) -> str:
    known = kind in KINDS.AttributeType.values()
    return str(KINDS.AttributeType.Name(kind)) if known else f"of unknown kind {kind}"


def op_on_cycle(block: Block) -> Op | None:
    """An op of the block that needs its own result, directly or through others; None if there is none."""
    tops = {id(op): op for op in block.ops}
    waiting: dict[int, int] = {}
    users: dict[int, list[int]] = {}
    for op in block.ops:
        needs = {id(top) for inner in walk(op) for v in inner.operands if (top := _in_block(v, block, tops))}
        waiting[id(op)] = len(needs)
        for need in needs:
            users.setdefault(need, []).append(id(op))
    ready = [key for key, count in waiting.items() if not count]
    done = 0
    while ready:
        key = ready.pop()
        done += 1
        for user in users.get(key, ()):
            waiting[user] -= 1
            if not waiting[user]:
                ready.append(user)
    if done == len(waiting):
        return None
    # Follow needs backwards from any op that was never ready: the walk must come upon an op twice.
    op = next(op for op in block.ops if waiting[id(op)])
    seen: set[int] = set()
    while id(op) not in seen:
        seen.add(id(op))
        op = next(
            top
            for inner in walk(op)
            for v in inner.operands
            if (top := _in_block(v, block, tops)) and waiting[id(top)]
        )
    return op


def _in_block(value: Value, block: Block, tops: Mapping[int, Op]) -> Op | None:
    op = value.op
    return op if op is not None and op.block is block and id(op) in tops else None
