"""Encodings of the values of a program: text to data and back, one object for each encoding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ...errors import InputError
from ...formats.mlir_types import parse_type
from ...layouts import encodings as enc
from ...layouts.parse import parse_encoding
from ...layouts.to_text import Era, to_text
from ...program import Program, Value, walk
from ...types import TensorType, Type
from .rules import RuleSet


@dataclass(frozen=True, slots=True)
class Opaque:
    """An encoding that passlens cannot read; it is equal to itself and to nothing else."""

    text: str


Layout: TypeAlias = enc.Encoding | Opaque


class Tensors:
    """What the types of a program's tensors say, with every encoding as one object.

    Two aliases with equal bodies are one encoding here, as they are one attribute in the compiler.
    """

    def __init__(self, program: Program, rules: RuleSet) -> None:
        self.aliases = program.aliases
        self.dialect = dialect_of(program.text, rules.dialect)
        self.era: Era = "3.0" if self.dialect == "triton_gpu" else "3.6"
        self.prefix = f"#{self.dialect}."
        self._by_text: dict[str, Layout] = {}
        self._one: dict[Layout, Layout] = {}
        self._spelling: dict[Layout, str] = {}
        self._types: dict[tuple[str, Layout], TensorType] = {}
        self._cache: dict[str, Type] = {}
        for name in program.aliases:
            if name.startswith("#") and not name.startswith("#loc"):
                self._spelling.setdefault(self.parse(name), name)

    def parse(self, text: str) -> Layout:
        """The encoding of a text, which may name an alias."""
        known = self._by_text.get(text)
        if known is None:
            try:
                known = self.one(parse_encoding(text, self.aliases))
            except InputError:
                known = self.one(Opaque(text))
                self._spelling.setdefault(known, text)
            self._by_text[text] = known
        return known

    def one(self, layout: Layout) -> Layout:
        """The object that stands for all encodings equal to `layout`."""
        return self._one.setdefault(layout, layout)

    def of(self, value: Value) -> Layout | None:
        """The encoding of a value's type; None where it is no tensor or has no encoding."""
        return self.of_type(value.type)

    def of_type(self, type: Type) -> Layout | None:
        """The encoding of a type; None where it is no tensor or has no encoding."""
        if not isinstance(type, TensorType) or not type.encoding:
            return None
        return self._by_text.get(type.encoding) or self.parse(type.encoding)

    def with_encoding(self, type: Type, layout: Layout) -> TensorType:
        """The tensor type with this encoding; `type` must be a tensor."""
        assert isinstance(type, TensorType), type
        if self.of_type(type) == layout:
            return type
        key = (type.text, layout)
        known = self._types.get(key)
        if known is None:
            dims = "".join("?x" if n < 0 else f"{n}x" for n in type.lens)
            text = f"tensor<{dims}{type.element.text}, {self.text(layout)}>"
            parsed = parse_type(text, self.aliases, self._cache)
            assert isinstance(parsed, TensorType), text
            known = self._types[key] = parsed
        return known

    def same(self, a: Type, b: Type) -> bool:
        """Whether two types are one type, aliases looked through."""
        if a.text == b.text:
            return True
        if isinstance(a, TensorType) and isinstance(b, TensorType):
            return a.lens == b.lens and self.of_type(a) == self.of_type(b) and self.same(a.element, b.element)
        return False

    def text(self, layout: Layout) -> str:
        """How the program spells an encoding: its alias where it has one."""
        known = self._spelling.get(layout)
        if known is None:
            known = self._spelling[layout] = self._spell(layout)
        return known

    def _spell(self, layout: Layout) -> str:
        if isinstance(layout, Opaque):
            return layout.text
        if isinstance(layout, enc.Slice):
            return f"{self.prefix}slice<{{dim = {layout.dim}, parent = {self.text(layout.parent)}}}>"
        if isinstance(layout, enc.DotOperand):
            width = f", kWidth = {layout.k_width}" if layout.k_width else ""
            parent = self.text(layout.parent)
            return f"{self.prefix}dot_op<{{opIdx = {layout.op_idx}, parent = {parent}{width}}}>"
        return to_text(layout, self.era)

    def full(self, layout: Layout) -> str:
        """The encoding without aliases, as the compiler prints it in its debug output."""
        return layout.text if isinstance(layout, Opaque) else to_text(layout, self.era)


def dialect_of(text: str, default: str) -> str:
    """The prefix of a program's GPU ops, whatever rules are applied to it: `triton_gpu` or `ttg`."""
    if "triton_gpu." in text:
        return "triton_gpu"
    return "ttg" if "ttg." in text else default


def read_all_types(program: Program) -> None:
    """Have the type of every value read from the text, before edits could change what it is read from."""
    for op in walk(program):
        for result in op.results:
            _ = result.type
        for region in op.regions:
            for block in region.blocks:
                for arg in block.args:
                    _ = arg.type
