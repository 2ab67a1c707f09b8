"""From a place in a program's text to the op and the value there, and back."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from ...ir.program import Block, Op, Program, Value, walk, walk_blocks
from .ir_lines import LineIndex

_NAMES: Final = {
    "mlir": re.compile(r"%[\w$.\-]*[\w$](?:#\d+)?"),
    "onnx": re.compile(r'%(?:"(?:[^"\\]|\\.)*"|[\w./:$@+\-]*[\w./$@+\-])'),
    "migraphx": re.compile(r"(?:[\w.]+:)*@\d+|[A-Za-z_][\w.:/\-]*"),
}
_BACKWARDS: Final = 8192
"""Characters looked through for the token in front of a place on a very long line."""


@dataclass(frozen=True, slots=True)
class Token:
    """A name of a value in the text."""

    start: int
    end: int
    text: str


@dataclass(slots=True)
class ProgramIndex:
    """Ops by where they begin and values by name, for one parsed program."""

    program: Program
    ops: list[Op] = field(default_factory=list)
    """Ops that have text, in the order of the text."""
    starts: list[int] = field(default_factory=list)
    values: dict[str, Value | list[Value]] = field(default_factory=dict)
    """Values by printed name and, for `%3#1`, by the group's name `%3` too; a list where several share it."""
    number: dict[int, int] = field(default_factory=dict)
    """id(op) → its ordinal among the ops that are printed, from 1."""

    def op_at(self, offset: int) -> Op | None:
        """The innermost op whose text holds the offset; the op in front where none does."""
        at = bisect_right(self.starts, offset) - 1
        if at < 0:
            return None
        op: Op | None = self.ops[at]
        while op is not None and offset >= max(op.end, op.start + 1):
            op = op.parent
        return op or self.ops[at]

    def value_at(self, token: Token) -> Value | None:
        """The value that a name at this place stands for; None if the program knows none."""
        known = self.values.get(token.text)
        if known is None:
            return None
        candidates = known if isinstance(known, list) else [known]
        for value in candidates:
            if isinstance(value.owner, Block) and value.owner.start <= token.start < value.owner.end:
                return value
        op = self.op_at(token.start)
        for value in candidates:
            if op is not None and _belongs(value, op):
                return value
        return candidates[0] if self.program.format != "migraphx" and len(candidates) == 1 else None

    def same(self, value: Value, token: Token) -> bool:
        """Whether a name stands for `value`, or for the group of results that `value` is one of."""
        found = self.value_at(token)
        if found is value:
            return True
        grouped = found is not None and value.op is not None and found.op is value.op
        return grouped and ("#" not in token.text or "#" not in value.name)


def index_program(program: Program) -> ProgramIndex:
    """Index a program's ops and values."""
    index = ProgramIndex(program)
    for op in walk(program):
        if op.name and not op.implicit:
            index.number[id(op)] = len(index.number) + 1
        if 0 <= op.start < op.end:
            index.ops.append(op)
        for value in op.results:
            _enter(index.values, value)
        for value in op.operands:
            if value.owner is None:
                _enter(index.values, value)
    index.ops.sort(key=lambda op: op.start)
    index.starts = [op.start for op in index.ops]
    for block in walk_blocks(program):
        for value in block.args:
            _enter(index.values, value)
    return index


def tokens(text: str, start: int, end: int, format: str, index: ProgramIndex | None) -> Iterator[Token]:
    """The names of values in `text[start:end]`, in order."""
    pattern = _NAMES.get(format, _NAMES["migraphx"])
    if format == "migraphx" and index is None:
        return
    for found in pattern.finditer(text, start, end):
        token = Token(found.start(), found.end(), found.group())
        if index is None or format != "migraphx" or index.value_at(token) is not None:
            yield token


def token_before(text: str, pos: int, start: int, format: str, index: ProgramIndex | None) -> Token | None:
    """The last name that ends at or in front of `pos` and not in front of `start`."""
    last = None
    for token in tokens(text, max(start, pos - _BACKWARDS), pos, format, index):
        last = token
    return last


def token_at(lines: LineIndex, offset: int, format: str, index: ProgramIndex | None) -> Token | None:
    """The name that holds the offset, if one does."""
    start, end = lines.span(lines.line_of(offset))
    low, high = max(start, offset - 512), min(end, offset + 512)
    for token in tokens(lines.text, low, high, format, index):
        if token.start <= offset < token.end:
            return token
    return None


def definition(value: Value) -> int:
    """The offset of the name of `value` where it is defined; -1 where it never is."""
    owner = value.owner
    if isinstance(owner, Op):
        return _find(owner.text, owner.start, value.name, 0) if owner.start >= 0 else -1
    if isinstance(owner, Block):
        parent = owner.parent.parent if owner.parent else None
        if owner.end > owner.start >= 0 and parent is not None and parent.source is not None:
            return _find(parent.source.text[owner.start : owner.end], owner.start, value.name, 0)
        if parent is not None and parent.start >= 0:
            return _find(parent.text, parent.start, value.name, 0)
    return -1


def uses(value: Value) -> list[tuple[Op, int]]:
    """The users of a value that have text, each with the offset of the name in it, in text order."""
    found = []
    for op, _ in value.uses:
        if op.start >= 0:
            results = len(op.text.partition("=")[0]) if op.results else 0
            found.append((op, _find(op.text, op.start, value.name, results)))
    seen = dict.fromkeys(sorted(found, key=lambda use: use[1]))
    return list(seen)


def region_ranges(program: Program, lines: LineIndex) -> list[tuple[int, int]]:
    """For every region of more than two lines: the line of its `{` and the last line in front of its `}`."""
    ranges = []
    for op in walk(program):
        for region in op.regions:
            if 0 <= region.start < region.end:
                head, tail = lines.line_of(region.start), lines.line_of(region.end) - 1
                if tail > head:
                    ranges.append((head, tail))
    return ranges


def _enter(values: dict[str, Value | list[Value]], value: Value) -> None:
    name = value.name
    group = name.partition("#")[0]
    for key in (name,) if group == name else (name, group):
        known = values.setdefault(key, value)
        if isinstance(known, list):
            if known[-1] is not value:
                known.append(value)
        elif known is not value:
            values[key] = [known, value]


def _belongs(value: Value, op: Op) -> bool:
    """Whether a name in the text of `op`, outside block labels, may stand for `value`."""
    owner = value.owner
    if owner is op or any(operand is value for operand in op.operands):
        return True
    if isinstance(owner, Block) and owner.parent is not None:
        return owner.parent.parent is op
    return False


def _find(text: str, base: int, name: str, begin: int) -> int:
    """Where a name stands in an op's text: the name itself, else its group, else the op's beginning."""
    for wanted in dict.fromkeys((name, name.partition("#")[0])):
        pattern = re.compile(rf"(?<![\w$.%@:\-]){re.escape(wanted)}(?![\w$.\-])")
        found = pattern.search(text, begin) or pattern.search(text)
        if found:
            return base + found.start()
    return base
