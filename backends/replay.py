"""Give the kernels of a dump bodies, so that it can be run: what they compute, told by names and shapes.

A dump from elsewhere says that a kernel is called `mlir_convolution_add_relu` and what shapes it reads and
writes. That is enough for the same amount of work on the same data paths, not for the same numbers: strides
and paddings are taken from the shapes, operands in the order in which the names come. What was assumed is
listed.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from math import prod
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..ir import edit
from ..ir.analysis.migraphx_summary import is_resident, main_body
from ..ir.analysis.views import is_kernel
from ..ir.errors import InputError
from ..ir.evaluate.attributes import NAMES, dtype_of, listed, standard
from ..ir.evaluate.pointwise import BINARY, POINTWISE, TERNARY
from ..ir.evaluate.structure import REDUCTIONS
from ..ir.program import Block, Op, Program, Region, Value, symbol
from ..ir.types import ShapeType

_SEED: Final = 11
_VIEWS: Final = (
    "reshape",
    "transpose",
    "squeeze",
    "unsqueeze",
    "slice",
    "contiguous",
    "broadcast",
    "multibroadcast",
)
_WORDS: Final = sorted(
    {*POINTWISE, *REDUCTIONS, *_VIEWS, "convolution", "dot", "concat", "noop"}, key=lambda w: -len(w)
)


@dataclass(frozen=True, slots=True)
class Assumption:
    """What was taken for granted about one kernel."""

    kernel: str
    text: str


def give_bodies(program: Program) -> list[Assumption]:
    """Add a module for every kernel of the main module that has none; returns what was assumed.

    Raises:
        InputError: what a kernel computes cannot be told; names it.
    """
    known = {symbol(op) for op in program.ops if op.name == "module"}
    found: list[Assumption] = []
    for op in main_body(program):
        if op.name != "gpu::code_object" or op.attributes.get("modules", "").strip() in known:
            continue
        name = op.attributes.get("symbol_name", "").strip('"')
        if not op.results or not op.operands:
            raise InputError(
                f"kernel {name} has {len(op.results)} results and {len(op.operands)} operands: expected one "
                "result, and the buffer that it writes as the last operand; the listing may be damaged"
            )
        label = f"main:{name}_{op.results[0].name.lstrip('@')}"
        block, text = _body(op, name)
        module = edit.create(
            "module", [], [], {"sym_name": f'"{label}"'}, regions=[block.parent] if block.parent else []
        )
        edit.append_op(program.body.blocks[0], module)
        edit.set_attribute(op, "modules", label)
        found.append(Assumption(f"{op.results[0].name} {name}", text))
    return found


def random_data(program: Program) -> tuple[dict[str, npt.NDArray[Any]], dict[str, npt.NDArray[Any]]]:
    """(literals, inputs) of random numbers, small enough that sums stay finite; the same in every run."""
    chance = np.random.default_rng(_SEED)
    literals: dict[str, npt.NDArray[Any]] = {}
    inputs: dict[str, npt.NDArray[Any]] = {}
    for op in main_body(program):
        if not op.results or not isinstance(op.results[0].type, ShapeType):
            continue
        type = _shape(op.results[0])
        name = op.results[0].name
        if op.name == "@literal" or is_resident(op):
            literals[name] = _random(chance, type)
        elif op.name == "@param" and not name.rpartition(":")[2].startswith(("#output", "scratch")):
            inputs[name] = _random(chance, type)
    return literals, inputs


def _random(chance: np.random.Generator, type: ShapeType) -> npt.NDArray[Any]:
    dtype = dtype_of(type.element)
    needed = prod(type.lens) * 8  # numbers are drawn in double precision
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > memory or min(type.lens, default=1) < 0:
        raise InputError(
            f"random data of shape {listed(type.lens)} takes {needed:,} bytes, and this machine has "
            f"{memory:,}: give smaller sizes (--dim, for an open dimension of an ONNX model)"
        )
    inside = max(prod(type.lens[1:]), 1) if len(type.lens) > 1 else 1
    if dtype.kind in "iub":
        return chance.integers(0, 2, type.lens).astype(dtype)
    made: npt.NDArray[Any] = (chance.standard_normal(type.lens) / inside**0.5).astype(dtype)
    return made


def words_of(name: str) -> list[str]:
    """The operators that a fused kernel's name lists, in order.

    Raises:
        InputError: the name holds something else.
    """
    rest = re.sub(r"_kernel(?:_\d+)?$", "", name.removeprefix("mlir_")).strip("_")
    found = []
    while rest:
        word = next((each for each in _WORDS if rest == each or rest.startswith(f"{each}_")), None)
        if word is None:
            raise InputError(
                f"kernel {name}: what {rest!r} does is not known, so that it cannot be replayed; expected "
                "operators joined by _"
            )
        found.append(word)
        rest = rest[len(word) :].lstrip("_")
    return found


class _Writer:
    """Builds the body of one kernel."""

    def __init__(self, op: Op, name: str) -> None:
        self.op = op
        self.name = name
        self.output = _shape(op.operands[-1])
        self.block = Block(Region())
        assert self.block.parent is not None
        self.block.parent.blocks.append(self.block)
        self.params = [self._param(n, value) for n, value in enumerate(op.operands[:-1])]
        self.free = list(self.params)
        self.count = 0
        self.said: list[str] = []

    def _param(self, number: int, value: Value) -> Value:
        name = f"x{number}"
        made = edit.create("@param", [], [_shape(value)], {"parameter": name}, block=self.block, names=[name])
        return made.results[0]

    def make(
        self, name: str, inputs: list[Value], lens: tuple[int, ...], said: dict[str, str] | None = None
    ) -> Value:
        type = standard(self.output.element, lens)
        made = edit.create(name, inputs, [type], said or {}, block=self.block, names=[f"@{self.count}"])
        self.count += 1
        return made.results[0]

    def take(self, lens: tuple[int, ...] | None = None) -> Value:
        """The next operand that is not used yet (and has these lens); if all are, the last one again."""
        fitting = [value for value in self.free if lens is None or _shape(value).lens == lens]
        if fitting:
            self.free.remove(fitting[0])
            return fitting[0]
        again = [value for value in self.params if lens is None or _shape(value).lens == lens]
        if not again:
            raise InputError(
                f"kernel {self.name} of {self.op.results[0].name}: no operand of shape {lens} is left"
            )
        self.said.append(f"{again[-1].name} is read twice")
        return again[-1]


def _shape(value: Value) -> ShapeType:
    if not isinstance(value.type, ShapeType):
        raise InputError(f"{value.name} has type {value.type.text}: expected a shape")
    if value.type.element not in NAMES:
        raise InputError(
            f"{value.name} has elements of type {value.type.element}, which cannot be computed here; "
            f"expected one of {', '.join(NAMES)}"
        )
    return value.type


def _body(op: Op, name: str) -> tuple[Block, str]:
    words = [word for word in words_of(name) if word not in _VIEWS]
    writer = _Writer(op, name)
    if "concat" in words:
        at = words.index("concat")
        current = _concat(writer, words[:at])
        current = _chain(writer, [word for word in words[at + 1 :] if word != "noop"], current)
    else:
        current = _chain(writer, [word for word in words if word != "noop"], None)
    lens = writer.output.lens
    if _shape(current).lens != lens:
        current = writer.make("reshape_lazy", [current], lens, {"dims": listed(lens)})
    edit.create("@return", [current], block=writer.block)
    if writer.free:
        writer.said.append(f"{', '.join(value.name for value in writer.free)} not read")
    return writer.block, "; ".join(["operands in the order of the name", *writer.said])


def _chain(writer: _Writer, words: list[str], current: Value | None) -> Value:
    """Operators one behind the other, each on the last one's result and the next operands."""
    full = _full_lens(writer)
    for word in words:
        if word == "convolution":
            current = _convolution(writer)
        elif word == "dot":
            current = _dot(writer)
        elif word in REDUCTIONS:
            current = _reduced(writer, word, current if current is not None else writer.take(full))
        else:
            current = _pointwise(writer, word, current, full)
    return current if current is not None else writer.make("contiguous", [writer.take(full)], full)


def _pointwise(writer: _Writer, word: str, current: Value | None, lens: tuple[int, ...]) -> Value:
    lens = _shape(current).lens if current is not None else lens
    current = current if current is not None else writer.take(lens)
    more = 1 if word in BINARY else 2 if word in TERNARY else 0
    return writer.make(word, [current, *(writer.take(lens) for _ in range(more))], lens)


def _reduced(writer: _Writer, word: str, given: Value) -> Value:
    pairs = list(zip(_shape(given).lens, writer.output.lens, strict=True))
    axes = [axis for axis, (old, new) in enumerate(pairs) if old != new]
    return writer.make(
        word, [given], tuple(old if old == new else 1 for old, new in pairs), {"axes": listed(axes)}
    )


def _concat(writer: _Writer, front: list[str]) -> Value:
    """Parts side by side: operands, or what the operators in front make; `noop` is an operand by itself."""
    out = writer.output.lens
    partial = [v for v in writer.params if len(_shape(v).lens) == len(out) and _shape(v).lens != out]
    axes = {a for v in partial for a, (n, m) in enumerate(zip(_shape(v).lens, out, strict=True)) if n != m}
    if len(axes) != 1:
        where = writer.op.results[0].name
        raise InputError(
            f"kernel {writer.name} of {where}: no axis of {out} at which operands could be joined"
        )
    axis = axes.pop()
    parts: list[Value] = []
    group: list[str] = []
    for word in [*front, "noop"] if front and front[-1] != "noop" else front:
        if word != "noop":
            group.append(word)
            continue
        if group:
            parts.append(_part(writer, group, partial))
            group = []
        if sum(_shape(v).lens[axis] for v in parts) < out[axis]:
            parts.append(writer.take(_next(writer, partial)))
    while sum(_shape(value).lens[axis] for value in parts) < out[axis]:
        parts.append(writer.take(_next(writer, partial)))
    if sum(_shape(value).lens[axis] for value in parts) != out[axis]:
        where = writer.op.results[0].name
        raise InputError(
            f"kernel {writer.name} of {where}: its operands do not add up to {out} at axis {axis}"
        )
    writer.said.append(f"{len(parts)} parts joined at axis {axis}")
    return writer.make("concat", parts, out, {"axis": str(axis)})


def _part(writer: _Writer, words: list[str], partial: list[Value]) -> Value:
    lens = _next(writer, partial)
    current: Value | None = None
    for word in words:
        current = _pointwise(writer, word, current, lens)
    assert current is not None
    return current


def _next(writer: _Writer, partial: list[Value]) -> tuple[int, ...]:
    """The lens of the next operand that is a part."""
    for value in writer.free:
        if value in partial:
            return _shape(value).lens
    raise InputError(f"kernel {writer.name} of {writer.op.results[0].name}: too few operands to join")


def _full_lens(writer: _Writer) -> tuple[int, ...]:
    """The lens over which pointwise operators in front of a reduction run: those of most operands."""
    same = [_shape(v).lens for v in writer.params if len(_shape(v).lens) == len(writer.output.lens)]
    return max(same, key=prod, default=writer.output.lens)


def _convolution(writer: _Writer) -> Value:
    out = writer.output.lens
    for x in writer.params:
        for weight in writer.params:
            a, w = _shape(x).lens, _shape(weight).lens
            if x is weight or len(a) != len(out) or len(w) != len(out) or len(out) < 3:
                continue
            if a[0] != out[0] or w[0] != out[1] or not w[1] or a[1] % w[1] or out[1] % (a[1] // w[1]):
                continue
            window = [_window(i, k, o) for i, k, o in zip(a[2:], w[2:], out[2:], strict=True)]
            if any(each is None for each in window):
                continue
            places = [each for each in window if each is not None]
            writer.free = [v for v in writer.free if v is not x and v is not weight]
            stride, padding = [s for s, _ in places], [p for _, p in places]
            writer.said.append(
                f"{x.name} by {weight.name}, stride {listed(stride)}, padding {listed(padding)}"
            )
            said = {
                "padding": listed(padding), "stride": listed(stride), "dilation": listed([1] * len(stride)),
                "group": str(a[1] // w[1]), "padding_mode": "0",
            }  # fmt: skip
            return writer.make("convolution", [x, weight], out, said)
    raise InputError(
        f"kernel {writer.name} of {writer.op.results[0].name}: no two operands fit a convolution to {out}"
    )


def _window(size: int, kernel: int, out: int) -> tuple[int, int] | None:
    """(stride, padding) that makes `out` places of `size` ones, the padding the same on both sides."""
    for stride in sorted({max(round(size / max(out, 1)), 1), 1, 2, 3, 4}):
        for padding in sorted(range(kernel), key=lambda p: abs(p - (kernel - 1) // 2)):
            if size + 2 * padding >= kernel and (size + 2 * padding - kernel) // stride + 1 == out:
                return stride, padding
    return None


def _dot(writer: _Writer) -> Value:
    out = writer.output.lens
    for x in writer.params:
        for weight in writer.params:
            w = _shape(weight).lens
            if x is weight or len(w) < 2 or w[-1] != out[-1]:
                continue
            rows = prod(out[:-1]) // max(prod(w[:-2]), 1)
            if prod(_shape(x).lens) != prod(w[:-2]) * rows * w[-2]:
                continue
            writer.free = [v for v in writer.free if v is not x and v is not weight]
            lens = (*out[:-1], w[-2])
            left = (
                x
                if _shape(x).lens == lens
                else writer.make("reshape_lazy", [x], lens, {"dims": listed(lens)})
            )
            if len(w) != len(out):
                wide = (*out[:-2], *w[-2:])
                weight = writer.make("multibroadcast", [weight], wide, {"out_lens": listed(wide)})
            writer.said.append(f"{x.name} by {weight.name}")
            return writer.make("dot", [left, weight], out)
    raise InputError(
        f"kernel {writer.name} of {writer.op.results[0].name}: no two operands fit a product to {out}"
    )


def kernels_without_bodies(program: Program) -> int:
    """How many kernels of the main module have no module."""
    known = {symbol(op) for op in program.ops if op.name == "module"}
    return sum(
        op.name == "gpu::code_object" and op.attributes.get("modules", "").strip() not in known
        for op in main_body(program)
        if is_kernel(op)
    )
