"""Evaluate one operator, or a module of operators, on NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..program import Op, Value
from ..types import ShapeType, Type
from .attributes import dtype_of, integer
from .pointwise import POINTWISE, pointwise
from .structure import (
    REDUCTIONS,
    VIEWS,
    argument,
    dot,
    gather,
    pad,
    prefix_sum,
    reduce,
    resize,
    softmax,
    view,
)
from .windows import convolution, lrn, pooling

Array = npt.NDArray[Any]

_OTHERS: Final[dict[str, Callable[[list[Array], Mapping[str, str], Type], Array]]] = {
    "convolution": lambda given, said, _: convolution(given[0], given[1], said),
    "dot": lambda given, said, _: dot(given[0], given[1]),
    "pooling": lambda given, said, _: pooling(given[0], said),
    "softmax": lambda given, said, _: softmax(given[0], said),
    "logsoftmax": lambda given, said, _: softmax(given[0], said, log=True),
    "gather": lambda given, said, _: gather(given[0], given[1], said),
    "concat": lambda given, said, _: np.concatenate(given, axis=integer(said, "axis")),
    "pad": lambda given, said, _: pad(given[0], said),
    "prefix_scan_sum": lambda given, said, _: prefix_sum(given[0], said),
    "lrn": lambda given, said, _: lrn(given[0], said),
    "argmax": lambda given, said, _: argument(given[0], said, largest=True),
    "argmin": lambda given, said, _: argument(given[0], said, largest=False),
    "resize": lambda given, said, type: resize(given[0], _lens(type)),
}
KNOWN: Final = frozenset({*POINTWISE, *REDUCTIONS, *VIEWS, *_OTHERS})
"""Every operator that `evaluate` knows."""


def _lens(type: Type) -> tuple[int, ...]:
    return type.lens if isinstance(type, ShapeType) else ()


def evaluate(name: str, attributes: Mapping[str, str], inputs: Sequence[Array], type: Type) -> Array:
    """What an operator makes of its inputs, as an array of the type's elements.

    Raises:
        InputError: the operator is not known.
    """
    with np.errstate(all="ignore"):  # infinities and NaN are results like any other
        made = _evaluate(name, attributes, list(inputs), type)
    if isinstance(type, ShapeType) and type.element:
        dtype = dtype_of(type.element)
        return made if made.dtype == dtype else made.astype(dtype)
    return made


def _evaluate(name: str, attributes: Mapping[str, str], inputs: list[Array], type: Type) -> Array:
    if name in POINTWISE:
        return pointwise(name, attributes, inputs)
    if name in VIEWS:
        return view(name, inputs[0], attributes)
    if name in REDUCTIONS:
        return reduce(name, inputs[0], attributes)
    if name in _OTHERS:
        return _OTHERS[name](inputs, attributes, type)
    raise InputError(
        f"{name} cannot be evaluated; expected one of the operators that models are lowered to "
        f"({', '.join(sorted(KNOWN))})"
    )


def literal_value(op: Op) -> Array:
    """The data of a `@literal` whose text gives all of it.

    Raises:
        InputError: the text leaves the data out.
    """
    type = op.results[0].type
    text = op.attributes.get("literal", "").strip().strip("{}").strip()
    if not isinstance(type, ShapeType) or "..." in text or not text:
        raise InputError(
            f"{op.results[0].name} is a literal without its data: give the data beside the program"
        )
    values = [_number(each) for each in text.split(",")]
    return np.array(values).astype(dtype_of(type.element)).reshape(type.lens)


def _number(text: str) -> float | int:
    text = text.strip()
    return int(text) if text.lstrip("-").isdecimal() else float(text)


def run_module(module: Op, inputs: Sequence[Array]) -> list[Array]:
    """What a module returns; its parameters take `inputs` in order.

    Raises:
        InputError: it holds an operator that is not known, or too few inputs were given.
    """
    known: dict[Value, Array] = {}
    given = iter(inputs)
    for op in module.regions[0].blocks[0].ops:
        if op.name == "@return":
            return [known[value] for value in op.operands]
        if op.name == "@param":
            taken = next(given, None)
            if taken is None:
                raise InputError(f"{module.attributes.get('sym_name')} takes more inputs than it was given")
            known[op.results[0]] = taken
        elif op.name == "@literal":
            known[op.results[0]] = literal_value(op)
        elif op.results:
            arguments = [known[value] for value in op.operands]
            known[op.results[0]] = evaluate(op.name, op.attributes, arguments, op.results[0].type)
    return []


__all__ = ["KNOWN", "evaluate", "literal_value", "run_module"]
