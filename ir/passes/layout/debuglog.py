"""The pass's debug output in the compiler's own words, so that the two can be compared line by line.

The compiler prints with plain names: it numbers the values of the whole module afresh, whatever their names
in the text. An op with regions is printed whole there; here only its first line is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from ...formats.mlir_syntax import is_isolated
from ...formats.mlir_text import expand_aliases, without_location
from ...program import Block, Op, Program, Region, Value
from ...types import TensorType
from ..step import Step
from .names import kind
from .tensors import Layout, Opaque, Tensors

PREFIX: Final = "[tritongpu-remove-layout-conversions]: "
_REFERENCE: Final = re.compile(r'"(?:[^"\\\n]|\\.)*+"?|%[\w$.\-]*[\w$.](?:#\d+)?(?::\d+)?')
_INTEGER: Final = re.compile(r"-?\d+")

RESULT_NAMES: Final = {
    "tt.split": ("outLHS", "outRHS"),
    "ttng.tmem_load": ("result", "token", "red"),
    "ttng.tmem_alloc": ("result", "token"),
}
"""Ops whose definition names several results: each is printed under its own name."""


def plain_names(program: Program) -> dict[Value, str]:
    """The name that the compiler's printer would give each value (`%12#1`, `%arg3`, `%c8_i32`)."""
    names: dict[Value, str] = {}
    stack: list[_Scope | tuple[set[str], list[str]]] = [_Scope(program.body, set(), 0, 0, 0)]
    while stack:
        item = stack.pop()
        if isinstance(item, tuple):
            item[0].difference_update(item[1])
            continue
        namer = _Namer(names, item)
        for block in item.region.blocks:
            namer.arguments(block)
            for op in block.ops:
                namer.results(op)
        stack.append((item.used, namer.added))
        for block in item.region.blocks:
            for op in block.ops:
                stack.extend(namer.inside(op))
    return names


@dataclass(frozen=True, slots=True)
class _Scope:
    region: Region
    used: set[str]
    value_id: int
    arg_id: int
    conflict: int


class _Namer:
    def __init__(self, names: dict[Value, str], scope: _Scope) -> None:
        self.names = names
        self.used = scope.used
        self.value_id = scope.value_id
        self.arg_id = scope.arg_id
        self.conflict = scope.conflict
        self.added: list[str] = []

    def inside(self, op: Op) -> list[_Scope]:
        """The regions of an op of this region; those of an isolated op are numbered from 0 again."""
        if is_isolated(op.name):
            return [_Scope(region, set(), 0, 0, 0) for region in op.regions]
        return [_Scope(region, self.used, self.value_id, self.arg_id, self.conflict) for region in op.regions]

    def arguments(self, block: Block) -> None:
        for arg in block.args:
            self.names[arg] = "%" + self._unique(f"arg{self.arg_id}")
            self.arg_id += 1

    def results(self, op: Op) -> None:
        if not op.results:
            return
        own = RESULT_NAMES.get(kind(op))
        if own is not None:
            for result, name in zip(op.results, own, strict=False):
                self.names[result] = "%" + self._unique(name)
            return
        special = constant_name(op)
        if special:
            base = self._unique(special)
        else:
            base = str(self.value_id)
            self.value_id += 1
        many = len(op.results) > 1
        for index, result in enumerate(op.results):
            self.names[result] = f"%{base}#{index}" if many else f"%{base}"

    def _unique(self, name: str) -> str:
        made = name
        while made in self.used:
            made = f"{name}_{self.conflict}"
            self.conflict += 1
        self.used.add(made)
        self.added.append(made)
        return made


def constant_name(op: Op) -> str:
    """The name that a constant suggests for itself: `c8_i32`, `true`, `cst`; '' for other ops."""
    if op.name != "arith.constant" or not op.results:
        return ""
    type = op.results[0].type.text
    value = op.attributes.get("value", "").partition(" : ")[0].strip()
    if type == "i1":
        return "true" if value in ("true", "1", "-1") else "false"
    if type == "index" and _INTEGER.fullmatch(value):
        return f"c{value}"
    if re.fullmatch(r"i\d+", type) and _INTEGER.fullmatch(value):
        return f"c{value}_{type}"
    return "cst"


class DebugLog:
    """Formats values and steps as the compiler's debug output does."""

    def __init__(self, program: Program, tensors: Tensors) -> None:
        self.program = program
        self.tensors = tensors
        self.names = plain_names(program)

    def value(self, value: Value) -> str:
        """The first line of what the compiler prints for a value."""
        op = value.op
        if op is None:
            return f"<block argument> of type '{self.type(value)}' at index: {value.index}"
        return self.op(op)

    def type(self, value: Value) -> str:
        """The value's type without aliases."""
        type = value.type
        if isinstance(type, TensorType) and type.encoding:
            dims = "".join(f"{n}x" for n in type.lens)
            return f"tensor<{dims}{type.element.text}, {self.layout(self.tensors.parse(type.encoding))}>"
        return expand_aliases(type.text, self.program.aliases)

    def op(self, op: Op) -> str:
        """The first line of an op that was not edited, with plain names and without aliases."""
        own: dict[str, str] = {}
        for value in op.operands:
            own[value.name] = self.names.get(value, value.name)
        for region in op.regions[:1]:
            for block in region.blocks[:1]:
                for arg in block.args:
                    own[arg.name] = self.names.get(arg, arg.name)
        separate = kind(op) in RESULT_NAMES
        for result in op.results:
            if not separate:
                own[result.name.partition("#")[0]] = self.names[result].partition("#")[0]
        text = without_location(op.text).partition("\n")[0] if not op.regions else op.text.partition("\n")[0]
        text = expand_aliases(text, self.program.aliases)
        if separate:
            listed = ", ".join(self.names[result] for result in op.results)
            text = f"{listed} ={text.partition(' =')[2]}"
        return _REFERENCE.sub(lambda found: _renamed(found[0], own), text)

    def layout(self, layout: Layout) -> str:
        """An encoding without aliases."""
        return layout.text if isinstance(layout, Opaque) else self.tensors.full(layout)

    def propagation(self, steps: Iterable[Step], *, counts: bool) -> list[str]:
        """The lines for all `visit` steps; with `counts` (Triton 3.8 and later) how many values grew."""
        lines: list[str] = []
        grown: int | None = None
        for step in steps:
            if step.kind == "candidate" and grown is not None:
                grown += 1
            elif step.kind == "visit":
                if counts and grown is not None:
                    lines.append(f"{PREFIX}changed: {grown}")
                lines.extend(self.considering(step))
                grown = 0
        if counts and grown is not None:
            lines.append(f"{PREFIX}changed: {grown}")
        return lines

    def considering(self, step: Step) -> list[str]:
        """The lines for a `visit` step."""
        assert step.value is not None
        head = f"propagateLayout considering {self.value(step.value)}"
        if step.value.op is None or not step.value.op.regions:
            head += f", which has {len(step.encodings)} candidate encoding(s):"
        return [PREFIX + head, *(f"{PREFIX}  {self.layout(layout)}" for layout in step.encodings)]


def _renamed(found: str, own: dict[str, str]) -> str:
    if found[0] == '"':
        return found
    if found in own:
        return own[found]
    base, mark, rest = found.partition(":")
    return own[base] + mark + rest if base in own else found


def is_function(op: Op) -> bool:
    """Whether the pass runs on this op."""
    return kind(op) == "tt.func"
