"""The text of a MIGraphX program, and what can still be read out of it once its ops are made."""

from __future__ import annotations

import re
from typing import Final

from ..program import Detail, Op, Value
from ..types import UNKNOWN, Type
from .migraphx_line import Line, attributes_of
from .migraphx_shapes import is_shape, parse_shape

HEADER: Final = re.compile(r'module: "(?P<name>[^"\n]*)"\s*$')


class MigraphxSource:
    """The text of a MIGraphX program, with the parts of each instruction by its place in the text."""

    __slots__ = ("end", "lines", "notes", "shapes", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines: dict[int, Line] = {}
        self.notes: dict[int, dict[str, str]] = {}
        """Times that an evaluation trace prints below an instruction, by the instruction's place."""
        self.shapes: dict[str, Type] = {}
        self.end = 0
        """Where the last op that was read ends."""

    def detail(self, op: Op) -> Detail:
        """Attributes and shape of an instruction, or a module's name."""
        if op.name == "module":
            return Detail({"sym_name": f'"{self.header(op)}"'})
        line = self.lines.get(op.start)
        if line is None or not op.name:
            return Detail()
        types = [self.shape(line.shape)] if op.results else []
        return Detail(self.attributes(op), types, trailing=line.suffix)

    def header(self, module: Op) -> str:
        """A module's name as its header gives it; a listing without a header is the main module."""
        found = HEADER.match(self.text, module.start, self.line_end(module.start))
        return found["name"] if found else "main"

    def attributes(self, op: Op) -> dict[str, str]:
        """The attributes of an instruction as the text gives them, whatever has been edited since."""
        line = self.lines.get(op.start)
        return {**attributes_of(line), **self.notes.get(op.start, {})} if line is not None else {}

    def argument_type(self, value: Value) -> Type:
        """MIGraphX blocks have no arguments (parameters are instructions)."""
        return UNKNOWN

    def shape(self, text: str) -> Type:
        """The shape that a text denotes; equal texts give one object."""
        found = self.shapes.get(text)
        if found is None:
            found = self.shapes[text] = parse_shape(text)
        return found

    def line_end(self, pos: int) -> int:
        """The offset of the line end behind `pos`."""
        end = self.text.find("\n", pos)
        return len(self.text) if end < 0 else end

    def is_whole(self, line: Line) -> bool:
        """Whether an instruction needs no further text: its brackets close and its shape is one."""
        if not line.closed:
            return False
        return line.op == "@return" or is_shape(self.shape(line.shape))
