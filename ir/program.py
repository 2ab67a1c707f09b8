"""One model of a program for every format: ops, values, blocks, regions.

The words are MLIR's; a MIGraphX *instruction* is an op, a MIGraphX *module* or an ONNX graph is the
region of a top-level op named `module`. Def-use chains are complete once a reader is done; what is
costly to read and rarely asked for (attributes, types, location, the pieces of an op's custom
syntax) is computed by the program's `Source` when it is first looked at, from the op's own text.

Nothing here edits a program: `edit.py` does, and keeps the chains right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, Union

from .errors import Diagnostic
from .types import UNKNOWN, Type

Use: TypeAlias = tuple["Op", int]
"""One use of a value: the op and the index of the operand."""

Owner: TypeAlias = Union["Op", "Block", None]


class Value:
    """A result of an op or an argument of a block; `owner` None means used and never defined."""

    __slots__ = ("_type", "index", "name", "owner", "uses")

    def __init__(self, name: str, owner: Owner = None, index: int = 0, type: Type | None = None) -> None:
        self.name = name
        """As printed (`%3#1`, `@4`, `data`), not an identity: names change from snapshot to snapshot."""
        self.owner = owner
        self.index = index
        """Which result of the op, or which argument of the block."""
        self.uses: list[Use] = []
        """Oldest first, in the order in which the text makes them."""
        self._type = type

    @property
    def type(self) -> Type:
        """The value's type, read from the text on first use; `UNKNOWN` where the text does not say."""
        if self._type is None:
            owner = self.owner
            if isinstance(owner, Op):
                types = owner.detail.result_types
                self._type = types[self.index] if self.index < len(types) else UNKNOWN
            elif isinstance(owner, Block) and owner.parent is not None and owner.parent.parent is not None:
                op = owner.parent.parent
                self._type = op.source.argument_type(self) if op.source else UNKNOWN
            else:
                return UNKNOWN
        return self._type

    @type.setter
    def type(self, new: Type) -> None:
        self._type = new

    @property
    def op(self) -> Op | None:
        """The op that defines this value; None for a block argument or an undefined value."""
        return self.owner if isinstance(self.owner, Op) else None

    def __repr__(self) -> str:
        return f"<Value {self.name}>"


@dataclass(slots=True)
class Detail:
    """What an op's own text says beyond its operands; texts are as written, aliases unexpanded."""

    attributes: dict[str, str] = field(default_factory=dict)
    """Name → text of the value; a unit attribute has the text `unit`."""
    result_types: list[Type] = field(default_factory=list)
    location: str = ""
    """The inside of `loc(…)`, or ''."""
    trailing: str = ""
    """Text that belongs to the op and fits nothing above (a comment, a time), kept for people."""
    retyped: bool = False
    """True once a value that the op defines or uses was given another type than its text says."""


class Op:
    """One operation; `start:end` is its span in the source text (regions included)."""

    __slots__ = (
        "_detail", "block", "edited", "end", "lead", "name", "operands", "regions", "results", "source",
        "start", "successors",
    )  # fmt: skip

    def __init__(self, name: str, source: Source | None = None, start: int = -1, end: int = -1) -> None:
        self.name = name
        """The full name with its dialect (`scf.for`, `hip::copy_to_gpu`); '' for text that no reader
        understood, which stays in the program as an op of its own."""
        self.operands: list[Value] = []
        self.results: list[Value] = []
        self.regions: list[Region] = []
        self.successors: list[Block] = []
        self.block: Block | None = None
        self.source = source
        self.lead = start
        """Where the white space and comments in front of the op begin."""
        self.start = start
        """-1 for an op that was made and not read."""
        self.end = end
        self.edited = False
        """True once the op's own text no longer says what the op is."""
        self._detail: Detail | None = None

    @property
    def detail(self) -> Detail:
        """Attributes, result types and location, read from the op's text on first use."""
        if self._detail is None:
            self._detail = self.source.detail(self) if self.source else Detail()
        return self._detail

    @property
    def attributes(self) -> dict[str, str]:
        """Attribute name → its text; see `Detail`. Edit through `edit.set_attribute` only."""
        return self.detail.attributes

    @property
    def location(self) -> str:
        """The inside of the op's `loc(…)`, aliases unexpanded; '' where there is none."""
        return self.detail.location

    @property
    def dialect(self) -> str:
        """The part of the name before the first dot; '' for a name without one."""
        return self.name.partition(".")[0] if "." in self.name else ""

    @property
    def text(self) -> str:
        """The op's own source text, regions included; '' for an op that was made and not read."""
        return self.source.text[self.start : self.end] if self.source and self.start >= 0 else ""

    @property
    def implicit(self) -> bool:
        """Whether the op is a terminator that the printed form leaves out: it has a place and no text."""
        return 0 <= self.start == self.end and not self.edited

    @property
    def parent(self) -> Op | None:
        """The op whose region holds this one, or None at the top."""
        return self.block.parent.parent if self.block and self.block.parent else None

    def __repr__(self) -> str:
        return f"<Op {self.name} {','.join(v.name for v in self.results)}>"


class Block:
    """A list of ops with arguments; `label` is `^bb0`, or '' for an entry block without one.

    `start:end` is the span of the label with its arguments and colon (empty where there is no label).
    """

    __slots__ = ("args", "edited", "end", "label", "ops", "parent", "start")

    def __init__(self, parent: Region | None = None, label: str = "", start: int = -1, end: int = -1) -> None:
        self.args: list[Value] = []
        self.ops: list[Op] = []
        self.parent = parent
        self.label = label
        self.start = start
        self.end = end
        self.edited = False
        """True once ops were added to, taken from or moved inside the block, or arguments changed."""

    def __repr__(self) -> str:
        return f"<Block {self.label or '(entry)'} of {len(self.ops)} ops>"


class Region:
    """Blocks owned by an op; `start:end` is the text between its braces."""

    __slots__ = ("blocks", "end", "parent", "start")

    def __init__(self, parent: Op | None = None, start: int = -1, end: int = -1) -> None:
        self.blocks: list[Block] = []
        self.parent = parent
        self.start = start
        self.end = end

    def __repr__(self) -> str:
        return f"<Region of {len(self.blocks)} blocks>"


class Source(Protocol):
    """The text a program was read from, and how to read more out of it."""

    text: str

    def detail(self, op: Op) -> Detail:
        """Attributes, result types and location of an op of this text."""

    def argument_type(self, value: Value) -> Type:
        """The type of a block argument of this text."""


@dataclass(slots=True)
class Program:
    """The parsed IR of one snapshot. `body` has no parent op; its one block holds the top-level ops."""

    format: str
    """`mlir`, `migraphx` or `onnx`."""
    source: Source
    body: Region
    aliases: dict[str, str] = field(default_factory=dict)
    """Attribute, type and location aliases (`#blocked`, `!t`, `#loc3`) → the text they stand for."""
    diagnostics: list[Diagnostic] = field(default_factory=list)
    resources: str = ""
    """The text of the `{-# … #-}` section of an MLIR file, or ''."""

    @property
    def text(self) -> str:
        """The text as it was read."""
        return self.source.text

    @property
    def ops(self) -> list[Op]:
        """The top-level ops."""
        return self.body.blocks[0].ops if self.body.blocks else []


def walk(root: Program | Op | Region | Block) -> Iterator[Op]:
    """Every op under `root` in text order, an op before the ops of its regions; never recurses.

    An op given as root comes first itself. The ops may be edited while walking only by collecting
    them first.
    """
    stack: list[Op] = []
    if isinstance(root, Program):
        root = root.body
    if isinstance(root, Op):
        stack.append(root)
    elif isinstance(root, Block):
        stack.extend(reversed(root.ops))
    else:
        for block in reversed(root.blocks):
            stack.extend(reversed(block.ops))
    while stack:
        op = stack.pop()
        yield op
        for region in reversed(op.regions):
            for block in reversed(region.blocks):
                stack.extend(reversed(block.ops))


def walk_post(root: Program | Op) -> Iterator[Op]:
    """Every op under `root`, the ops of its regions before an op (MLIR's post-order walk)."""
    tops = [root] if isinstance(root, Op) else [op for b in root.body.blocks for op in b.ops]
    stack: list[tuple[Op, bool]] = [(op, False) for op in reversed(tops)]
    while stack:
        op, seen = stack.pop()
        if seen or not op.regions:
            yield op
            continue
        stack.append((op, True))
        inner = [o for region in op.regions for block in region.blocks for o in block.ops]
        stack.extend((o, False) for o in reversed(inner))


def walk_blocks(root: Program | Op) -> Iterator[Block]:
    """Every block under `root`, outer blocks first."""
    if isinstance(root, Program):
        yield from root.body.blocks
    for op in walk(root):
        for region in op.regions:
            yield from region.blocks


def ancestors(op: Op) -> Iterator[Op]:
    """The ops around `op`, innermost first."""
    parent = op.parent
    while parent is not None:
        yield parent
        parent = parent.parent


def symbol(op: Op) -> str:
    """The op's symbol name without `@` (a function's or module's name), or ''."""
    return op.attributes.get("sym_name", "").strip('"')
