"""Building a program of operators: constants are computed at once, everything else becomes an op."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .... import edit
from ....evaluate.attributes import element_of, listed, standard
from ....evaluate.pointwise import BINARY, TERNARY
from ....evaluate.run import evaluate
from ....program import Block, Op, Value
from ....types import ShapeType
from .shapes import is_standard, result_shape

Array: TypeAlias = npt.NDArray[Any]
Tensor: TypeAlias = Value | Array
"""A value of the program, or a constant that is no literal yet."""


class Graph:
    """A main module being built. `data` holds the constants of its literals by name."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.data: dict[str, Array] = {}
        self.count = 0
        self._literals: dict[int, tuple[Array, Value]] = {}

    def op(self, name: str, inputs: Sequence[Tensor], attributes: Mapping[str, str] | None = None) -> Tensor:
        """One operator; its inputs have the lens that it wants. A constant, if all inputs are."""
        said = dict(attributes or {})
        shapes = [shape_of(each) for each in inputs]
        type = result_shape(name, said, shapes)
        arrays = [each for each in inputs if not isinstance(each, Value)]
        if len(arrays) == len(inputs):
            return evaluate(name, said, arrays, type)
        values = [self.value(each) for each in inputs]
        return self.create(name, values, type, said)

    def create(
        self, name: str, inputs: Sequence[Value], type: ShapeType, attributes: dict[str, str]
    ) -> Value:
        """An op at the end of the module."""
        made = edit.create(name, inputs, [type], attributes, block=self.block, names=[self.fresh()])
        return made.results[0]

    def fresh(self) -> str:
        """A name that nothing has yet."""
        self.count += 1
        return f"@{self.count - 1}"

    def value(self, tensor: Tensor) -> Value:
        """The tensor as a value; constants become literals, equal arrays one literal."""
        if isinstance(tensor, Value):
            return tensor
        known = self._literals.get(id(tensor))
        if known is None:
            array = np.ascontiguousarray(tensor)
            value = self.literal(array)
            known = self._literals[id(tensor)] = (tensor, value)
        return known[1]

    def literal(self, array: Array) -> Value:
        """A new literal with this data."""
        type = standard(element_of(array.dtype), array.shape)
        made = self.create("@literal", [], type, {"literal": literal_text(array)})
        self.data[made.name] = array.reshape(type.lens)
        return made

    def broadcast(self, tensor: Tensor, lens: Sequence[int]) -> Tensor:
        """The tensor with NumPy's broadcasting made explicit (constants stay small: they become literals)."""
        if shape_of(tensor).lens == tuple(lens) and (
            isinstance(tensor, Value) or tensor.shape == tuple(lens)
        ):
            return tensor
        value = self.value(tensor)
        said = {"out_lens": listed(lens)}
        return self.create(
            "multibroadcast", [value], result_shape("multibroadcast", said, [shape_of(value)]), said
        )

    def pointwise(
        self, name: str, inputs: Sequence[Tensor], attributes: Mapping[str, str] | None = None
    ) -> Tensor:
        """A pointwise operator with NumPy's broadcasting."""
        wanted = 3 if name in TERNARY else 2 if name in BINARY else 1
        if len(inputs) != wanted:
            raise ValueError(f"{len(inputs)} inputs for {name}, which takes {wanted}")
        if not any(isinstance(each, Value) for each in inputs):
            arrays = [each for each in inputs if not isinstance(each, Value)]
            lens = np.broadcast_shapes(*(each.shape for each in arrays))
            wide = [np.broadcast_to(each, lens) for each in arrays]
            type = result_shape(
                name, attributes or {}, [standard(element_of(each.dtype), lens) for each in wide]
            )
            return evaluate(name, attributes or {}, wide, type)
        lens = np.broadcast_shapes(*(_lens(each) for each in inputs))
        return self.op(name, [self.broadcast(each, lens) for each in inputs], attributes)

    def reshape(self, tensor: Tensor, lens: Sequence[int]) -> Tensor:
        """The same elements in other lens; what does not lie in order is copied first."""
        if not isinstance(tensor, Value):
            return tensor.reshape(tuple(lens))
        if shape_of(tensor).lens == tuple(lens):
            return tensor
        if not is_standard(shape_of(tensor)):
            tensor = self.op("contiguous", [tensor])
        return self.op("reshape_lazy", [tensor], {"dims": listed(lens)})

    def transpose(self, tensor: Tensor, order: Sequence[int]) -> Tensor:
        """The axes in another order."""
        if not isinstance(tensor, Value):
            return tensor.transpose(tuple(order))
        if list(order) == list(range(len(order))):
            return tensor
        return self.op("transpose", [tensor], {"permutation": listed(order)})


def shape_of(tensor: Tensor) -> ShapeType:
    """Shape of a value or constant."""
    if isinstance(tensor, Value):
        assert isinstance(tensor.type, ShapeType)
        return tensor.type
    return standard(element_of(tensor.dtype), tensor.shape)


def _lens(tensor: Tensor) -> tuple[int, ...]:
    return shape_of(tensor).lens if isinstance(tensor, Value) else tensor.shape


def literal_text(array: Array) -> str:
    """What the text of a literal says: up to ten elements, else an ellipsis."""
    if array.size > 10:
        return "..."
    return ", ".join(_number(each) for each in array.reshape(-1))


def _number(value: Any) -> str:
    if isinstance(value, np.bool_):
        return "1" if value else "0"
    if np.issubdtype(type(value), np.integer):
        return str(int(value))
    # The shortest text that gives the same number again, also in double precision.
    return repr(float(value))


def owner(value: Value) -> Op:
    """The op that makes a value."""
    op = value.op
    assert op is not None
    return op
