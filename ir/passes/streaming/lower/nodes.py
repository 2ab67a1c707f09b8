"""ONNX nodes with their attributes read, and where a handler of an operator is found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np
import onnx

from ....errors import InputError
from ....formats.onnx_source import OnnxSource, literal_array
from ....program import Op
from .graph import Array, Graph, Tensor, shape_of

_MOST_ELEMENTS: Final = 1 << 29


@dataclass(slots=True)
class Node:
    """An ONNX node about to be lowered."""

    op: Op
    kind: str
    """The operator without its domain."""
    inputs: list[Tensor | None]
    """None for an optional input that is left out."""
    attributes: dict[str, Any]
    opset: int
    graph: Graph

    @property
    def name(self) -> str:
        """What the node makes, for messages."""
        return self.op.results[0].name if self.op.results else self.kind

    def input(self, index: int) -> Tensor:
        """An input that must be there.

        Raises:
            InputError: it is left out.
        """
        found = self.optional(index)
        if found is None:
            raise self.error(f"input {index} is left out; expected a tensor")
        return found

    def optional(self, index: int) -> Tensor | None:
        """An input that may be left out."""
        return self.inputs[index] if index < len(self.inputs) else None

    def constant(self, index: int, attribute: str = "") -> Array | None:
        """A constant input, or the attribute that older versions of the operator have in its place.

        Raises:
            InputError: the input is there and not constant.
        """
        found = self.optional(index)
        if found is None:
            held = self.attributes.get(attribute) if attribute else None
            return None if held is None else np.asarray(held)
        if isinstance(found, np.ndarray):
            return found
        raise self.error(f"input {index} is computed at run time; expected a constant")

    def integers(self, attribute: str, otherwise: Sequence[int] = ()) -> list[int]:
        """A list of whole numbers."""
        return [int(each) for each in self.attributes.get(attribute, otherwise)]

    def integer(self, attribute: str, otherwise: int = 0) -> int:
        """One whole number."""
        return int(self.attributes.get(attribute, otherwise))

    def number(self, attribute: str, otherwise: float = 0.0) -> float:
        """One number."""
        return float(self.attributes.get(attribute, otherwise))

    def text(self, attribute: str, otherwise: str = "") -> str:
        """A string."""
        return str(self.attributes.get(attribute, otherwise))

    def axis(self, index: int, rank: int) -> int:
        """An axis, counted from the end where it is negative.

        Raises:
            InputError: there is no such axis.
        """
        if not -rank <= index < rank:
            raise self.error(f"axis {index} of a tensor with {rank} axes; expected {-rank} to {rank - 1}")
        return index % rank

    def lens(self, index: int) -> tuple[int, ...]:
        """The lens of an input (of a scalar: none)."""
        found = self.input(index)
        return found.shape if isinstance(found, np.ndarray) else shape_of(found).lens

    def sized(self, lens: Sequence[int]) -> None:
        """Refuse a constant that is larger than any model has.

        Raises:
            InputError: it is.
        """
        if any(length < 0 for length in lens) or prod(int(length) for length in lens) > _MOST_ELEMENTS:
            raise self.error(
                f"a constant of {' × '.join(str(length) for length in lens)} elements; expected at most "
                f"{_MOST_ELEMENTS:,}"
            )

    def error(self, what: str) -> InputError:
        """An error that names the operator and the node."""
        return InputError(f"the {self.kind} that makes {self.name} cannot be lowered: {what}")


Handler: TypeAlias = Callable[[Node], list[Tensor]]


def attributes_of(op: Op) -> dict[str, Any]:
    """The node's attributes as Python values; a tensor as an array, subgraphs are left out."""
    source = op.source
    node = source.nodes.get(op.start) if isinstance(source, OnnxSource) else None
    found: dict[str, Any] = {}
    for attribute in node.attribute if node is not None else ():
        value = onnx.helper.get_attribute_value(attribute)
        if isinstance(value, onnx.TensorProto):
            found[attribute.name] = literal_array(op)
        elif not isinstance(value, onnx.GraphProto):
            found[attribute.name] = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return found
