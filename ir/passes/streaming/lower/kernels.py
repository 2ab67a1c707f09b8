"""Kernels out of groups of operators: a module of the operators, and a `gpu::code_object` for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Final

from .... import edit
from ....program import Block, Op, Region, Value
from ....types import ShapeType
from .graph import owner, shape_of

PRODUCTS: Final = frozenset({"convolution", "dot"})
"""What MLIR's kernels are made around."""
RESHAPES: Final = frozenset(
    {"reshape", "reshape_lazy", "transpose", "squeeze", "unsqueeze", "slice", "flatten", "contiguous"}
)
"""What such a kernel does to its inputs by itself."""
_UNNAMED: Final = frozenset({"contiguous", "multibroadcast", "broadcast"})
_SHORT: Final = {"reshape_lazy": "reshape"}
_OUTPUTS_A_THREAD: Final = 16
_FEWEST_OUTPUTS: Final = 6
_FEWEST_THREADS: Final = 4096
"""Small products are cut finer, so that there are this many threads, or half as many for tiny ones."""
_WAVE: Final = 64
_GROUP: Final = 1024


class Body:
    """The block of a kernel's module while it is filled; `inputs` are the values that its parameters take."""

    def __init__(self) -> None:
        self.region = Region()
        self.block = Block(self.region)
        self.region.blocks.append(self.block)
        self.inputs: list[Value] = []
        self._images: dict[Value, Value] = {}
        self._count = 0

    def add(self, op: Op) -> None:
        """An operator of the group, behind those that it reads."""
        made = self._create(op.name, [self.image(value) for value in op.operands], op)
        self._images[op.results[0]] = made

    def image(self, value: Value) -> Value:
        """What stands for a value inside: an operator's result, a number, or a parameter."""
        known = self._images.get(value)
        if known is None:
            known = self._number(value) or self._parameter(value)
            self._images[value] = known
        return known

    def reshaped(self, value: Value) -> None:
        """Have the reshapes between a value and the buffer that it lies in done inside."""
        chain: list[Op] = []
        at = value
        while at.op is not None and at.op.name in RESHAPES:
            chain.append(at.op)
            at = at.op.operands[0]
        for op in reversed(chain):
            if op.results[0] not in self._images:
                self.add(op)

    def finish(self, result: Value) -> None:
        """Return the value that stands for `result`."""
        edit.create("@return", [self._images[result]], block=self.block)

    def operators(self) -> list[str]:
        """The names of the operators inside, in order, as kernels are named by them."""
        return [
            _SHORT.get(op.name, op.name)
            for op in self.block.ops
            if not op.name.startswith("@") and op.name not in _UNNAMED
        ]

    def _number(self, value: Value) -> Value | None:
        """A literal of one element, spread over a shape or not, is written into the kernel."""
        spread = value.op if value.op is not None and value.op.name == "multibroadcast" else None
        source = owner(spread.operands[0]) if spread is not None else value.op
        if source is None or source.name != "@literal" or prod(shape_of(source.results[0]).lens) != 1:
            return None
        made = self._create("@literal", [], source)
        return self._create("multibroadcast", [made], spread) if spread is not None else made

    def _parameter(self, value: Value) -> Value:
        name = f"x{len(self.inputs)}"
        self.inputs.append(value)
        said = {"parameter": name}
        made = edit.create("@param", [], [value.type], said, names=[name])
        # Parameters come first, as MIGraphX prints them.
        edit.insert_at(self.block, len(self.inputs) - 1, made)
        return made.results[0]

    def _create(self, name: str, inputs: Sequence[Value], like: Op) -> Value:
        made = edit.create(
            name, inputs, [like.results[0].type], dict(like.attributes), block=self.block,
            names=[f"@{self._count}"],
        )  # fmt: skip
        self._count += 1
        return made.results[0]


def kernel_name(operators: Sequence[str]) -> str:
    """`mlir_convolution_add_relu` around a product, `add_relu_kernel` for anything else."""
    joined = "_".join(operators) or "contiguous"
    return f"mlir_{joined}" if PRODUCTS.intersection(operators) else f"{joined}_kernel"


def concat_name(parts: Iterable[Sequence[str]], behind: Sequence[str]) -> str:
    """The name of a kernel that joins what it computes: `add_relu_noop_concat_noop_kernel`.

    `parts` are the operators in front of each input, `behind` those on the result.
    """
    parts = [list(part) for part in parts]
    if not any(parts):
        return "_".join(["concat", *behind, "kernel"])
    front = [name for part in parts for name in part or ["noop"]]
    return "_".join([*front, "concat", *(behind or ["noop"]), "kernel"])


def launch(name: str, type: ShapeType, read: int) -> tuple[int, int]:
    """(threads in all, threads of a workgroup) as MIGraphX would choose them for such a kernel.

    `read` is how many elements the largest input has, which is what a reduction is launched for.
    """
    outputs = max(prod(type.lens), 1)
    if name.startswith("mlir_"):
        few = min(_FEWEST_THREADS, max(outputs // _FEWEST_OUTPUTS, _FEWEST_THREADS // 2))
        return _up(max(outputs // _OUTPUTS_A_THREAD, few), _WAVE), _WAVE
    if "reduce_" in name or name.startswith(("softmax", "logsoftmax")):
        rows = outputs if "reduce_" in name and outputs < read else max(outputs // max(type.lens[-1], 1), 1)
        return rows * _WAVE, _WAVE
    return (outputs // 2 if outputs % 2 == 0 else outputs), _GROUP


def _up(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple
