"""Writer of ONNX models: a program read from a model, edited or not, as a model again.

The model is copied and brought in line with the program, so that all that a program does not show
(documentation, metadata, custom fields) stays. Names of values that an edit made or changed are made
unique. Edits of the top-level ops' own attributes are not written, but for the graph's `sym_name`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import onnx
import onnx.defs

from ..errors import InputError
from ..program import Block, Op, Program, Region, Value, walk_blocks
from .onnx import program_of
from .onnx_attributes import KINDS, attribute_of, graphs_of, kind_of, name_of, tensor_of
from .onnx_build import Steps, run
from .onnx_names import decoded, encodable, raw_name, unquoted
from .onnx_source import OnnxSource
from .onnx_types import type_proto

_LITERALS: Final = ("onnx.initializer", "onnx.sparse_initializer")
_NO_NODES: Final = (*_LITERALS, "onnx.return", "onnx.none")


def write_onnx(program: Program) -> onnx.ModelProto:
    """The model that the program stands for; an unchanged program gives an equal model.

    Raises TypeError for a program that came from no model, and InputError for an attribute whose text is
    no value, or a use of a value that is not in the program.
    """
    source = program.source
    if not isinstance(source, OnnxSource):
        raise TypeError("only a program that was read from an ONNX model can be written as one")
    model = onnx.ModelProto()
    model.CopyFrom(source.model)
    if not is_edited(program):
        return model
    if not any(op.regions and source.graphs.get(op.regions[0]) is source.model.graph for op in program.ops):
        raise InputError("the graph itself was erased: a model needs its module op")
    functions = []
    for op in program.ops:
        original = source.graphs.get(op.regions[0]) if op.regions else None
        names = _Names(op, source)
        if original is source.model.graph:
            name = op.attributes.get("sym_name", "")
            if name != source.detail(op).attributes["sym_name"]:
                model.graph.name = encodable(unquoted(name))
            run(_Writer(source, names, model).graph(model.graph, op.regions[0]))
        elif isinstance(original, onnx.FunctionProto):
            copy = onnx.FunctionProto()
            copy.CopyFrom(original)
            run(_Writer(source, names, model).graph(copy, op.regions[0]))
            functions.append(copy)
    del model.functions[:]
    model.functions.extend(functions)
    return model


def print_onnx(program: Program) -> str:
    """The listing of a program; that of the model it is written as where it was edited."""
    if not is_edited(program):
        return program.text
    path = program.source.path if isinstance(program.source, OnnxSource) else "<model>"
    return program_of(write_onnx(program), path).source.text


def is_edited(program: Program) -> bool:
    """Whether anything in a program was changed since it was read."""
    return any(block.edited or any(op.edited for op in block.ops) for block in walk_blocks(program))


class _Names:
    """Names for the values under one top-level op: those that were read stay, new ones are unique."""

    def __init__(self, top: Op, source: OnnxSource) -> None:
        self.names: dict[Value, str] = {}
        self.taken: set[str] = set()
        fresh: list[Value] = []
        for value in _values(top):
            name, _ = source.originals.get(value, (None, None))
            if value in self.names:
                continue
            if name is not None and raw_name(value.name) == name:
                self.names[value] = encodable(name)
                self.taken.add(self.names[value])
            else:
                fresh.append(value)
        self.counts: dict[str, int] = {}
        for value in fresh:
            if value not in self.names:
                self.names[value] = self._unique(encodable(raw_name(value.name)) or "v")

    def __getitem__(self, value: Value) -> str:
        if value.op is not None and value.op.name == "onnx.none":
            return ""
        return self.names[value]

    def of_operand(self, value: Value, op: Op) -> str:
        """The name of a value that `op` uses; raises InputError for one that is not in the program."""
        if value not in self.names:
            raise InputError(
                f"{value.name} is used by {op.name} and is not in the program: erase the use first"
            )
        return self[value]

    def _unique(self, name: str) -> str:
        base, count = name, self.counts.get(name, 0)
        while name in self.taken:
            count += 1
            name = f"{base}_{count}"
        self.counts[base] = count
        self.taken.add(name)
        return name


def _values(top: Op) -> Iterator[Value]:
    for block in walk_blocks(top):
        yield from block.args
        for op in block.ops:
            yield from op.results
            yield from (value for value in op.operands if value.owner is None)


class _Writer:
    """Brings the copy of a model in line with the regions of a program."""

    def __init__(self, source: OnnxSource, names: _Names, model: onnx.ModelProto) -> None:
        self.source = source
        self.names = names
        self.versions = {o.domain: o.version for o in model.opset_import}

    def graph(self, graph: onnx.GraphProto | onnx.FunctionProto, region: Region) -> Steps:
        """Make a graph, a copy of the region's original or a new one, say what the region says."""
        original = self.source.graphs.get(region)
        block = region.blocks[0]
        nodes = [op for op in block.ops if op.name not in _NO_NODES]
        if isinstance(graph, onnx.GraphProto):
            self._literals(graph, original, block)
            self._inputs(graph, original, block)
        else:
            graph.input[:] = [self.names[value] for value in block.args]
        same = self._unmoved(nodes, self.source.nodes, original.node if original is not None else ())
        if not same:
            known = [self._known(op) for op in nodes]
            del graph.node[:]
            for message in known:
                graph.node.add().CopyFrom(message or onnx.NodeProto())
        for op, node in zip(nodes, graph.node, strict=True):
            if not same or op.edited or op.regions or self._renamed(op):
                yield self._node(node, op)
        self._outputs(graph, block)
        self._infos(graph, original, block)

    def _known(self, op: Op) -> onnx.NodeProto | None:
        source = op.source
        return source.nodes.get(op.start) if isinstance(source, OnnxSource) else None

    def _unmoved(self, ops: list[Op], held: dict[int, Any], originals: Sequence[Any]) -> bool:
        """Whether the ops are those of the original messages, in their order."""
        if len(ops) != len(originals):
            return False
        return all(
            op.source is self.source
            and op.start in held
            and self.source.order[op.start] == index
            and held[op.start] is originals[index]
            for index, op in enumerate(ops)
        )

    def _renamed(self, op: Op) -> bool:
        values = (*op.operands, *op.results)
        return any(self.source.originals.get(v, ("",))[0] != self.names.names.get(v) for v in values)

    # -- literals, inputs and outputs ----------------------------------------------------------------

    def _literals(self, graph: onnx.GraphProto, original: Any, block: Block) -> None:
        dense = [op for op in block.ops if op.name == _LITERALS[0]]
        sparse = [op for op in block.ops if op.name == _LITERALS[1]]
        if not self._unmoved(
            dense, self.source.tensors, original.initializer if original is not None else ()
        ):
            del graph.initializer[:]
            for op in dense:
                graph.initializer.add().CopyFrom(self._tensor(op))
        if not self._unmoved(
            sparse, self.source.sparse, original.sparse_initializer if original is not None else ()
        ):
            del graph.sparse_initializer[:]
            for op in sparse:
                if op.start not in self.source.sparse:
                    raise InputError(f"{op.name} cannot be made anew: clone one, or use onnx.initializer")
                graph.sparse_initializer.add().CopyFrom(self.source.sparse[op.start])
        for op, tensor in zip(dense, graph.initializer, strict=True):
            text = op.attributes.get("value", "")
            known = op.source.details.get(op.start) if isinstance(op.source, OnnxSource) else None
            if known is not None and op.edited and known.attributes.get("value", "") != text:
                tensor.CopyFrom(self._made(op))
            _set(tensor, "name", self.names[op.results[0]])
        for op, message in zip(sparse, graph.sparse_initializer, strict=True):
            _set(message.values, "name", self.names[op.results[0]])

    def _tensor(self, op: Op) -> onnx.TensorProto:
        source = op.source
        known = source.tensors.get(op.start) if isinstance(source, OnnxSource) else None
        return known if known is not None else self._made(op)

    def _made(self, op: Op) -> onnx.TensorProto:
        text = op.attributes.get("value", "")
        try:
            return tensor_of(text if " : " in text else f"{text} : {op.results[0].type.text}")
        except (ValueError, TypeError, OverflowError) as error:
            raise InputError(f"{op.results[0].name} has no value that can be written: {error}") from error

    def _inputs(self, graph: onnx.GraphProto, original: Any, block: Block) -> None:
        """Inputs in their order; those with a default (an initializer) stay where they are."""
        literals = {
            self.source.originals[v][0]: v
            for op in block.ops
            if op.name in _LITERALS and (v := op.results[0]) in self.source.originals
        }
        held = set()
        if original is not None:
            held = {t.name for t in original.initializer} | {
                s.values.name for s in original.sparse_initializer
            }
        wanted: list[onnx.ValueInfoProto] = []
        args = iter(block.args)
        for info in list(graph.input):
            if info.name in held:
                if decoded(info.name) in literals:
                    wanted.append(_named(info, self.names[literals[decoded(info.name)]]))
            elif (arg := next(args, None)) is not None:
                wanted.append(self._info(arg, self.source.infos.get(arg)))
        wanted.extend(self._info(arg, self.source.infos.get(arg)) for arg in args)
        _assign(graph.input, wanted)

    def _outputs(self, graph: onnx.GraphProto | onnx.FunctionProto, block: Block) -> None:
        last = block.ops[-1] if block.ops else None
        if last is None or last.name != "onnx.return":
            raise InputError("a graph must end in onnx.return, which names its outputs")
        if isinstance(graph, onnx.FunctionProto):
            graph.output[:] = [self.names.of_operand(value, last) for value in last.operands]
            return
        before = list(graph.output)
        wanted = []
        for index, value in enumerate(last.operands):
            name = self.names.of_operand(value, last)
            old = before[index] if index < len(before) else None
            known = self.source.originals.get(value)
            kept = old is not None and known is not None and encodable(known[0]) == _written(old.name)
            made = None if kept and not self._retyped(value) else type_proto(value.type)
            info = _named(old if old is not None and (kept or made is None) else onnx.ValueInfoProto(), name)
            if made is not None:
                info.type.CopyFrom(made)
            wanted.append(info)
        _assign(graph.output, wanted)

    def _info(self, value: Value, known: onnx.ValueInfoProto | None) -> onnx.ValueInfoProto:
        info = _named(known if known is not None else onnx.ValueInfoProto(), self.names[value])
        made = type_proto(value.type) if known is None or self._retyped(value) else None
        if made is not None:
            info.type.CopyFrom(made)
        return info

    def _retyped(self, value: Value) -> bool:
        known = self.source.originals.get(value)
        return known is None or value.type is not known[1]

    def _infos(self, graph: onnx.GraphProto | onnx.FunctionProto, original: Any, block: Block) -> None:
        """Types noted for inner values: renamed, changed or dropped as the values were."""
        if not graph.value_info:
            return
        now = {}
        for op in block.ops:
            for value in op.results:
                if value in self.source.originals:
                    now[encodable(self.source.originals[value][0])] = value
        made = {name for node in original.node for name in node.output} if original is not None else set()
        wanted = []
        for info in list(graph.value_info):
            value_or_none = now.get(_written(info.name))
            if value_or_none is not None:
                wanted.append(self._info(value_or_none, info))
            elif info.name not in made and original is not None:
                wanted.append(info)
        _assign(graph.value_info, wanted)

    # -- nodes ---------------------------------------------------------------------------------------

    def _node(self, node: onnx.NodeProto, op: Op) -> Steps:
        known = self._known(op)
        if known is None:
            domain, _, kind = _split(op.name)
            node.op_type, node.domain = encodable(kind), encodable(domain)
        _names_into(node.input, [self.names.of_operand(value, op) for value in op.operands])
        _names_into(node.output, [self.names[value] for value in op.results])
        if op.edited or known is None:
            self._attributes(node, op)
        regions = iter(op.regions)
        for attribute in node.attribute:
            for graph in graphs_of(attribute):
                region = next(regions, None)
                if region is not None:
                    yield self.graph(graph, region)

    def _attributes(self, node: onnx.NodeProto, op: Op) -> None:
        """Bring the node's attributes in line with the op's texts; regions take the places they name."""
        kinds = {
            name: attribute.type.value for name, attribute in _schema_attributes(node, self.versions).items()
        }
        texts = op.attributes
        known = op.source.detail(op).attributes if op.source is not None else {}
        wanted: list[onnx.AttributeProto] = []
        for attribute in node.attribute:
            name = name_of(attribute)
            if graphs_of(attribute) or texts.get(name) == known.get(name):
                wanted.append(attribute)
            elif name in texts:
                wanted.append(attribute_of(unquoted(name), texts[name], kind_of(attribute)))
        there = {name_of(attribute) for attribute in wanted}
        left = {name: text for name, text in texts.items() if name not in there}
        held = sum(len(graphs_of(attribute)) for attribute in wanted)
        free = op.regions[held:]
        for name, text in left.items():
            if text.startswith("region "):
                continue
            wanted.append(attribute_of(unquoted(name), text, kinds.get(name, 0)))
        for name, _ in zip(_region_names(op, left, kinds), free, strict=False):
            graph = onnx.GraphProto(name=name)
            wanted.append(onnx.AttributeProto(name=name, type=KINDS.GRAPH, g=graph))
        _assign(node.attribute, wanted)


def _region_names(op: Op, left: dict[str, str], kinds: dict[str, int]) -> Iterator[str]:
    """Names for the regions that no attribute of the original holds: as the op says, else as ONNX defines."""
    said = sorted((text, name) for name, text in left.items() if text.startswith("region "))
    yield from (name for _, name in said)
    defined = [name for name, kind in kinds.items() if kind == KINDS.GRAPH]
    given = {name for _, name in said}
    yield from (name for name in sorted(defined, reverse=True) if name not in given)
    yield from (f"body_{index}" for index in range(len(op.regions)))


def _schema_attributes(node: onnx.NodeProto, versions: dict[str, int]) -> dict[str, Any]:
    try:
        schema = onnx.defs.get_schema(node.op_type, max(versions.get(node.domain, 1), 1), node.domain)
    except (onnx.defs.SchemaError, UnicodeError, TypeError):
        return {}
    return dict(schema.attributes)


def _split(name: str) -> tuple[str, str, str]:
    """(domain, '.', type) of an op's name, either of which may be quoted."""
    if name.endswith('"'):
        at = name.find('."')
        domain, kind = (name[:at], name[at + 1 :]) if at > 0 else ("", name)
    else:
        domain, _, kind = name.rpartition(".")
    return ("" if domain == "onnx" else unquoted(domain)), ".", unquoted(kind)


def _written(raw: str | bytes) -> str:
    """A protobuf string as the writer would write it."""
    return encodable(decoded(raw))


def _set(message: Any, field: str, name: str) -> None:
    if decoded(getattr(message, field)) != name:
        setattr(message, field, name)


def _named(info: onnx.ValueInfoProto, name: str) -> onnx.ValueInfoProto:
    copy = onnx.ValueInfoProto()
    copy.CopyFrom(info)
    _set(copy, "name", name)
    return copy


def _names_into(field: Any, names: Iterable[str]) -> None:
    wanted = list(names)
    if [decoded(name) for name in field] != wanted:
        field[:] = wanted


def _assign(field: Any, wanted: list[Any]) -> None:
    """Make a repeated message field hold these messages, if it does not yet."""
    if list(field) != wanted:
        copies = [type(message)() for message in wanted]
        for copy, message in zip(copies, wanted, strict=True):
            copy.CopyFrom(message)
        del field[:]
        field.extend(copies)
