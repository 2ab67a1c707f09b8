"""The first phase of lowering: ONNX nodes become operators, constants are computed at once."""

from __future__ import annotations

import difflib
import re
from collections.abc import Generator, Iterator, Mapping
from typing import Final

import numpy as np

from ....errors import InputError
from ....evaluate.attributes import DTYPES, element_of, standard
from ....formats.onnx_source import OnnxSource, literal_array
from ....program import Block, Op, Program, Value
from ....types import DynamicShapeType, ShapeType, Type
from ...step import OP, Recorder, Step
from .constants import computed
from .contractions import CONTRACTIONS
from .elementwise import ELEMENTWISE
from .graph import Array, Graph, Tensor, shape_of
from .movements import MOVEMENTS
from .nodes import Handler, Node, attributes_of

HANDLERS: Final[dict[str, Handler]] = {**ELEMENTWISE, **CONTRACTIONS, **MOVEMENTS}
_PLAIN: Final = re.compile(r"[^\w./\-#]+")
_FAULTS: Final = (
    ValueError, LookupError, AssertionError, TypeError, ArithmeticError, AttributeError, MemoryError,
    RuntimeError,
)  # fmt: skip
"""What NumPy and our own rules raise for inputs that do not fit together."""
_RANDOM: Final = ("Random", "Bernoulli", "Multinomial")
_ELEMENTS: Final = frozenset(DTYPES) | {"bf16"}


class Importer:
    """Reads the graph of an ONNX program into a `Graph`."""

    def __init__(self, source: Program, graph: Graph, dims: Mapping[str, int]) -> None:
        if source.format != "onnx" or not isinstance(source.source, OnnxSource):
            raise InputError(f"found a program of format {source.format}: expected an ONNX model")
        self.source = source.source
        self.path = self.source.path
        self.block = source.ops[0].regions[0].blocks[0]
        self.graph = graph
        self.dims = dims
        self.known: dict[Value, Tensor | None] = {}
        self.inputs: dict[str, str] = {}
        """Name in the model → name of the parameter."""
        self.outputs: list[tuple[str, Tensor]] = []
        self.fixed: dict[str, int] = {}
        """Open dimensions and what they were taken for."""
        model = source.source.model
        self.opset = max(
            (each.version for each in model.opset_import if each.domain in ("", "ai.onnx")), default=1
        )

    def steps(self, recorder: Recorder) -> Iterator[Step]:
        """Read everything; a step for each node."""
        initialized = {op.results[0].name for op in self.block.ops if op.name == "onnx.initializer"}
        for value in self.block.args:
            if value.name not in initialized:
                self._parameter(value)
                yield recorder.step("parameter", f"{value.name} is an input", value=value)
        for name in self.dims:
            if name not in self.fixed:
                raise InputError(
                    f"{self.path} has no open dimension {name}: "
                    f"{', '.join(self.fixed) or 'all sizes of its inputs are fixed'}"
                )
        returned = yield from self._read(self.block, recorder)
        self.outputs = [(self._own_name(value), self._tensor(value)) for value in returned]

    def _read(self, block: Block, recorder: Recorder) -> Generator[Step, None, list[Value]]:
        """Read the nodes of a graph or branch; what it returns. Models nest no deeper than protobuf reads."""
        returned: list[Value] = []
        for op in block.ops:
            if op.name == "onnx.return":
                returned = list(op.operands)
            elif op.name == "onnx.none":
                self.known[op.results[0]] = None
            elif op.name.endswith("initializer"):
                if op.name != "onnx.initializer":
                    raise InputError(
                        f"{self.path}: {op.results[0].name} is sparse: expected dense initializers"
                    )
                self.known[op.results[0]] = self._constant(literal_array(op), op)
            elif op.name == "onnx.If":
                yield from self._branches(op, recorder)
            else:
                before = len(self.graph.block.ops)
                self._node(op)
                made = [each.name for each in self.graph.block.ops[before:] if each.name != "@literal"]
                what = " ".join(made) if made else "a constant"
                yield recorder.step("lower", f"{op.name} becomes {what}", op=op, depth=OP)
        return returned

    def _branches(self, op: Op, recorder: Recorder) -> Iterator[Step]:
        """The branch that a constant condition takes; else both, and the condition picks elements."""
        condition = self._tensor(op.operands[0])
        regions = {name: op.attributes.get(name, "") for name in ("then_branch", "else_branch")}
        if set(regions.values()) != {"region 0", "region 1"}:
            raise InputError(f"{self.path}: the If that makes {op.results[0].name} lacks a branch")
        blocks = {name: op.regions[int(text[-1])].blocks[0] for name, text in regions.items()}
        if isinstance(condition, np.ndarray):
            taken = "then_branch" if condition.reshape(-1)[:1].any() else "else_branch"
            returned = yield from self._read(blocks[taken], recorder)
            for result, value in zip(op.results, returned, strict=False):
                self.known[result] = self._tensor(value)
            yield recorder.step("branch", f"the condition is constant: {taken} is taken", op=op)
            return
        ends = []
        for name in ("then_branch", "else_branch"):
            returned = yield from self._read(blocks[name], recorder)
            ends.append([self._tensor(value) for value in returned])
        for result, first, second in zip(op.results, *ends, strict=False):
            one, other = shape_of(first), shape_of(second)
            if (one.lens, one.element) != (other.lens, other.element):
                raise InputError(
                    f"{self.path}: the If that makes {result.name} is decided at run time and its branches "
                    f"make {one.text} and {other.text}: expected equal shapes"
                )
            self.known[result] = self.graph.pointwise("where", [condition, first, second])
        yield recorder.step("branch", "the condition is not constant: both branches are computed", op=op)

    def _parameter(self, value: Value) -> None:
        lens, element = self._lens(value.type, value.name)
        name = _PLAIN.sub("_", value.name.lstrip("%")) or "input"
        # `scratch` is what MIGraphX calls an arena that it is given.
        while name in self.inputs.values() or name in ("scratch", "context"):
            name += "_"
        self.inputs[self._own_name(value)] = name
        made = self.graph.create("@param", [], standard(element, lens), {"parameter": name})
        made.name = name
        self.known[value] = made

    def _own_name(self, value: Value) -> str:
        """What the model itself calls a value."""
        return self.source.originals[value][0] if value in self.source.originals else value.name.lstrip("%")

    def _lens(self, type: Type, name: str) -> tuple[list[int], str]:
        """Lens and element type of an input; open dimensions as the caller fixed them, else 1."""
        if isinstance(type, ShapeType) and type.element in _ELEMENTS:
            return list(type.lens if type.strides else ()), type.element
        if isinstance(type, DynamicShapeType) and type.element in _ELEMENTS:
            return [self._dim(each) for each in type.dims], type.element
        raise InputError(f"{self.path}: input {name} has type {type.text}: expected a tensor of numbers")

    def _dim(self, dim: tuple[int, int] | str) -> int:
        if isinstance(dim, str):
            self.fixed[dim] = self.dims.get(dim, 1)
            return self.fixed[dim]
        return dim[0] if dim[0] == dim[1] else max(dim[0], 1)

    def _tensor(self, value: Value) -> Tensor:
        found = self.known.get(value)
        if found is None:
            raise InputError(f"{self.path}: {value.name} is used before anything makes it; repair the model")
        return found

    def _constant(self, array: Array, op: Op) -> Array:
        try:
            element_of(array.dtype)
        except KeyError as error:
            what = f"{op.results[0].name} holds {array.dtype}"
            raise InputError(f"{self.path}: {what}: expected numbers") from error
        return array

    def _node(self, op: Op) -> None:
        kind = op.name.removeprefix("onnx.").removeprefix("ai.onnx.").removeprefix("com.microsoft.")
        handler = HANDLERS.get(kind)
        made = op.results[0].name if op.results else "?"
        inputs = [self.known.get(value) for value in op.operands]
        if (
            handler is None
            and not kind.startswith(_RANDOM)
            and all(isinstance(each, np.ndarray) for each in inputs)
        ):
            # Whatever the operator is: what it makes of constants is a constant.
            handler = computed
        if handler is None:
            name = op.name.removeprefix("onnx.")
            near = difflib.get_close_matches(kind, HANDLERS, 3)
            like = f" (like {', '.join(near)})" if near else ""
            raise InputError(
                f"{self.path}: the operator {name} (which makes {made}) cannot be lowered: expected one of "
                f"the {len(HANDLERS)} that docs/lowering.md lists{like}; export the model without it"
            )
        for value, found in zip(op.operands, inputs, strict=True):
            if found is None and value not in self.known:
                raise InputError(f"{self.path}: {op.name} reads {value.name}, which nothing makes")
        try:
            node = Node(op, kind, inputs, attributes_of(op), self.opset, self.graph)
            with np.errstate(all="ignore"):  # what is no number is a result like any other
                made_values = handler(node)
        except InputError as error:
            raise InputError(f"{self.path}: {error}") from error
        except _FAULTS as error:
            raise InputError(
                f"{self.path}: the {kind} that makes {made} does not fit "
                f"its inputs: {error}; check the model with onnx.checker"
            ) from error
        for result, tensor in zip(op.results, made_values, strict=False):
            # NumPy makes a scalar of an array without axes wherever it can.
            made_now = np.asarray(tensor) if isinstance(tensor, np.generic) else tensor
            self.known[result] = (
                self._constant(made_now, op) if isinstance(made_now, np.ndarray) else made_now
            )
