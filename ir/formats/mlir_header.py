"""The header of an op that is more than one line: where it ends, where its regions begin, what it names.

A header is the op's text outside its regions. It is scanned token by token with an explicit stack of
brackets; when a region begins the scan returns, and is taken up again behind the region's `}`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ..program import Block, Op, Region, Value
from .mlir_syntax import CONTINUATIONS, is_function

_NAME = r"%[\w$.\-]*[\w$.]"
_TOKEN: Final = re.compile(rf'"(?:[^"\\\n]|\\.)*+"?|//[^\n]*+|{_NAME}(?:#\d+)?|\^[\w$.\-]+|[{{}}()\[\]\n]')
_TRIVIA: Final = re.compile(r"(?:[ \t\r\n]++|//[^\n]*+)*+")
_NEW_OP: Final = re.compile(
    rf"{_NAME}(?::\d+)?(?:[ \t]*,[ \t]*{_NAME}(?::\d+)?)*[ \t]*=\s*"
    r"(?:\"[^\"\n]+\"[ \t]*\(|[A-Za-z_][\w$]*\.[a-z_])"
)
_AFTER_NAME: Final = re.compile(r"(\s*=(?!=))|(:(?!:))|(\s+:(?!:))")
_GROUP: Final = re.compile(r"\([^(){}\n]*\)\s*(?:=|in)\s*\(")
_WORD: Final = re.compile(r"([A-Za-z_][\w$.\-]*)(\s*)(=(?!=)|,|\}|:|)")
OPENS_ATTRIBUTES: Final = re.compile(r"(?:[A-Za-z_][\w$.\-]*|\"(?:[^\"\\\n]|\\.)*+\")\s*(?:=(?!=)|,)")
_LABEL: Final = re.compile(r"\^[\w$.\-]+\s*[:(]")
_DOTTED: Final = re.compile(r"[A-Za-z_][\w$]*\.[a-z_]|\"[^\"\\\n]+\"\s*\(")
_BARE: Final = re.compile(r"[A-Za-z_][\w$]*")
_PARTITION: Final = re.compile(r"partition\d+")
_ALIAS: Final = re.compile(r"[#!][A-Za-z_][\w$.\-]*\s*=")
_BLANKS: Final = re.compile(r"[ \t]*")

DEFINES, ADJACENT, SPACED, PLAIN = range(4)
"""What follows a name in a header: `=`, `:` at once, ` :`, or neither."""


@dataclass(slots=True)
class Frame:
    """What the reader puts aside while it is inside a region."""

    header: Header
    opened: int
    block: Block
    names: dict[str, Value]
    pending: dict[str, Value]
    log: list[tuple[str, Value | None]]
    successors: list[tuple[Op, list[str]]]
    isolated: bool


class Header:
    """The scan of one op's header; see the module."""

    __slots__ = (
        "_arguments", "_braces", "_brackets", "_group_end", "_references", "_squares", "generic",
        "in_partition", "name_end", "op", "results", "successors",
    )  # fmt: skip

    def __init__(self, op: Op, generic: bool, results: str, name_end: int) -> None:
        self.op = op
        self.generic = generic
        self.results = results
        self.name_end = name_end
        self.successors: list[str] = []
        self.in_partition = False
        self._brackets: list[str] = []
        self._braces = 0  # how many of the brackets are `{`, and how many `[`
        self._squares = 0
        self._references: list[tuple[str, int, bool]] = []
        self._arguments: list[str] = []
        self._group_end = -1

    def scan(self, text: str, pos: int) -> tuple[int, bool]:
        """Scan from `pos`; returns (position, True) behind a region's `{`, or (end of the op, False)."""
        for found in _TOKEN.finditer(text, pos):
            start, end = found.span()
            first = text[start]
            if first == "%":
                if self._braces:
                    continue
                if not self._brackets and self._starts_op(text, start):
                    return _stripped(text, pos, start), False
                self._refer(text, found.group(), end)
            elif first == "\n":
                if self._ends_at(text, end):
                    return _stripped(text, pos, start), False
            elif first == "}" and not self._braces:
                return _stripped(text, pos, start), False
            elif first == "{" and self._is_region(text, start):
                self.in_partition = self.op.name.endswith("warp_specialize") and bool(self.op.regions)
                return end, True
            elif first == "^":
                if not self._braces:
                    self.successors.append(found.group())
            elif first in "([{)]}":
                self._bracket(text, start, first)
        return _stripped(text, pos, len(text)), False

    @staticmethod
    def _starts_op(text: str, start: int) -> bool:
        """Whether `%a, %b = dialect.op` begins here; looked for once a list of names, at its first."""
        before = start - 1
        while before >= 0 and text[before] in " \t":
            before -= 1
        return text[before] != "," and bool(_NEW_OP.match(text, start))

    def _bracket(self, text: str, start: int, bracket: str) -> None:
        brackets = self._brackets
        if bracket == "}":
            self._close_brace()
        elif bracket in ")]":
            if brackets and brackets[-1] == ("(" if bracket == ")" else "["):
                self._squares -= brackets.pop() == "["
        else:
            brackets.append(bracket)
            self._squares += bracket == "["
            self._braces += bracket == "{"
            if bracket == "(" and _GROUP.match(text, start):
                self._group_end = text.find(")", start)

    def take_references(self, names: dict[str, Value], before_region: bool) -> list[str]:
        """The operands named since the last call, in text order; `take_arguments` gives the other names."""
        operands = []
        function = is_function(self.op.name) and not self.generic
        for name, follows, grouped in self._references:
            if function and (follows in (ADJACENT, SPACED)):
                if before_region:
                    self._arguments.append(name)
            elif before_region and not self.generic and self._declares(name, follows, grouped, names):
                self._arguments.append(name)
            else:
                operands.append(name)
        self._references.clear()
        return operands

    def take_arguments(self) -> list[str]:
        """The names that the header gave to the arguments of the region that begins now."""
        names, self._arguments = self._arguments, []
        return names

    def restructure(self) -> None:
        """Give `ttg.warp_specialize` the shape it has in memory: its partitions are regions of an inner op.

        The printed form shows `default { … } partition0(…) { … }`; in memory the default region is the
        op's first, and its second holds one `ttg.warp_specialize.partitions` with a region a partition, which
        also holds the captures as its operands.
        """
        op = self.op
        if self.generic or not op.name.endswith(".warp_specialize") or len(op.regions) < 2:
            return
        partitions = op.regions[1:]
        inner = Op(f"{op.name}.partitions", op.source, partitions[0].start - 1, partitions[-1].end + 1)
        inner.regions = partitions
        for region in partitions:
            region.parent = inner
        holder = Region(op, inner.start, inner.end)
        block = Block(holder, "", inner.start, inner.start)
        holder.blocks.append(block)
        block.ops.append(inner)
        inner.block = block
        op.regions[1:] = [holder]
        for index, value in enumerate(op.operands):
            value.uses[value.uses.index((op, index))] = (inner, index)
        inner.operands, op.operands = op.operands, []

    @staticmethod
    def arguments_of_label(text: str, pos: int, names: list[str]) -> int:
        """Append the argument names of a block label to `names`; `pos` is at its `(` or `:`."""
        depth = 0
        end = pos
        for found in _TOKEN.finditer(text, pos) if text[pos] == "(" else ():
            token = found.group()
            if token in ("(", "[", "{"):
                depth += 1
            elif token in (")", "]", "}"):
                depth -= 1
                if depth == 0:
                    end = found.end()
                    break
            elif token[0] == "%" and depth == 1:
                names.append(token)
            elif token == "\n" and _starts_definition(text, found.end()):
                return found.start()  # a bracket is missing: the label ends with its line
        else:
            if text[pos] == "(":
                return _stripped(text, pos, len(text))
        trivia = _TRIVIA.match(text, end)
        after = trivia.end() if trivia else end
        return after + 1 if after < len(text) and text[after] == ":" else end

    @staticmethod
    def end_of_value(text: str, pos: int) -> int:
        """Where the value of an alias definition ends: the line's end outside brackets."""
        depth = 0
        for found in _TOKEN.finditer(text, pos):
            token = found.group()
            if token in ("(", "[", "{"):
                depth += 1
            elif token in (")", "]", "}"):
                depth -= 1
            elif token == "\n" and (depth <= 0 or _starts_definition(text, found.end())):
                return found.start()
            elif token.startswith("//"):
                return _stripped(text, pos, found.start())
        return len(text)

    def _refer(self, text: str, name: str, end: int) -> None:
        after = _AFTER_NAME.match(text, end)
        follows = PLAIN
        if after:
            follows = DEFINES if after.group(1) else ADJACENT if after.group(2) else SPACED
        self._references.append((name, follows, end <= self._group_end))

    def _close_brace(self) -> None:
        """Take brackets away up to the innermost `{`; what was open inside it was never closed."""
        while True:
            bracket = self._brackets.pop()
            self._squares -= bracket == "["
            if bracket == "{":
                self._braces -= 1
                return

    def _declares(self, name: str, follows: int, grouped: bool, names: dict[str, Value]) -> bool:
        if follows == DEFINES:
            return True
        if follows == ADJACENT:
            return name not in names or self.in_partition
        return grouped and name not in names

    def _is_region(self, text: str, brace: int) -> bool:
        """Whether the `{` at `brace` opens a region and not an attribute dictionary or properties."""
        if self._braces or self._squares or (brace and text[brace - 1] in "<="):
            return False
        trivia = _TRIVIA.match(text, brace + 1)
        inside = trivia.end() if trivia else brace + 1
        if inside >= len(text):
            return True
        first = text[inside]
        if first == "}":
            return True
        if OPENS_ATTRIBUTES.match(text, inside):
            return False
        if first in '%^"#!':
            return True
        word = _WORD.match(text, inside)
        if not word:
            return False
        if word.group(3) == "}":
            # `{unit}` is an attribute, `{\n return\n}` a region: printers break the line in regions only
            return "\n" in text[brace:inside]
        return word.group(3) != ":"

    def _ends_at(self, text: str, line: int) -> bool:
        """Whether the op ends in front of the line that begins at `line`."""
        if self._brackets:
            if not _starts_definition(text, line):
                return False
            self._brackets.clear()  # a bracket was never closed; do not lose the ops behind it
            self._braces = self._squares = 0
            return True
        return next_starts_op(text, line, self.op.start)


def next_starts_op(text: str, line: int, op_start: int) -> bool:
    """Whether what stands behind `line` begins something new, and does not go on with the op above it."""
    trivia = _TRIVIA.match(text, line)
    start = trivia.end() if trivia else line
    if start >= len(text) or text[start] == "}":
        return True
    first = text[start]
    if first == "%":
        return bool(_NEW_OP.match(text, start))
    if first == "^":
        return bool(_LABEL.match(text, start))
    if first in "#!":
        return bool(_ALIAS.match(text, start))
    if first == "{":
        return text.startswith("{-#", start)
    if _DOTTED.match(text, start):
        return True
    bare = _BARE.match(text, start)
    if bare is None:
        return first not in ":-,()[]<>=*"
    if bare.group() in CONTINUATIONS or _PARTITION.fullmatch(bare.group()):
        return False
    return _indent(text, start) <= _indent(text, op_start)


def _starts_definition(text: str, line: int) -> bool:
    trivia = _TRIVIA.match(text, line)
    start = trivia.end() if trivia else line
    return bool(_NEW_OP.match(text, start) or _ALIAS.match(text, start) or _LABEL.match(text, start))


def _indent(text: str, pos: int) -> int:
    begin = text.rfind("\n", 0, pos) + 1
    blanks = _BLANKS.match(text, begin)
    return blanks.end() - begin if blanks else 0


def _stripped(text: str, low: int, high: int) -> int:
    """The end of `text[low:high]` without its trailing white space."""
    while high > low and text[high - 1] in " \t\r\n":
        high -= 1
    return high
