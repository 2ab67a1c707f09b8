"""An edit script: what to do to the first program, in order, to get the second one.

Ops, values and blocks are named by program and number in a walk (`index.index`), so that a script can be
kept, printed and applied to another reading of the same text. Texts have their aliases resolved, since
the two programs name them differently.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ..types import Type
from .aliases import AliasTable
from .index import Side
from .own import stated_attributes
from .result import Diff
from .retype import resolved_type

_OWN_KINDS: Final = ("name", "attribute", "location", "syntax")

Ref: TypeAlias = tuple[Literal["a", "b"], int]
"""Which program and which op, value or block of it; `b` stands for something the script made."""


@dataclass(frozen=True, slots=True)
class NewBlock:
    """A block to make: its number in b, and its arguments' numbers and types."""

    block: int
    arguments: tuple[tuple[int, Type], ...]


@dataclass(frozen=True, slots=True)
class Insert:
    """Make an op without operands, and put it before another one or at the end of a block."""

    op: int
    name: str
    results: tuple[tuple[int, Type], ...]
    attributes: tuple[tuple[str, str], ...]
    words: str
    regions: tuple[tuple[NewBlock, ...], ...]
    block: Ref
    before: Ref | None


@dataclass(frozen=True, slots=True)
class Move:
    """Put an op of a before another one or at the end of a block."""

    op: int
    block: Ref
    before: Ref | None


@dataclass(frozen=True, slots=True)
class SetOwn:
    """Give an op of a another name, other attributes and location."""

    op: int
    name: str
    attributes: tuple[tuple[str, str], ...]
    location: str
    words: str
    """Keywords of the custom form that are no attribute of a known name."""


@dataclass(frozen=True, slots=True)
class SetTypes:
    """Give values of a other types."""

    types: tuple[tuple[int, Type], ...]


@dataclass(frozen=True, slots=True)
class AddValues:
    """Add results to an op or arguments to a block: (index, number in b, type), ascending."""

    owner: Literal["op", "block"]
    number: int
    values: tuple[tuple[int, int, Type], ...]


@dataclass(frozen=True, slots=True)
class AddBlocks:
    """Add blocks, and the regions they are in where there are none, to an op of a."""

    op: int
    blocks: tuple[tuple[int, int, NewBlock], ...]
    """(region, place, block), ascending."""


@dataclass(frozen=True, slots=True)
class SetOperands:
    """Make an op use these values."""

    op: Ref
    operands: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class SetSuccessors:
    """Make an op branch to these blocks."""

    op: Ref
    blocks: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class Erase:
    """Take ops of a away, last first, whose results nothing that stays uses any more."""

    ops: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Trim:
    """Take values and blocks of a away and put those that stay in b's order."""

    owner: Literal["op", "block", "region"]
    number: int
    order: tuple[Ref, ...]
    """The results, arguments or blocks that the op, block or op's regions end with."""
    regions: tuple[int, ...] = ()
    """For `region`: how many of the blocks each region takes."""


Edit: TypeAlias = (
    Insert | Move | SetOwn | SetTypes | AddValues | AddBlocks | SetOperands | SetSuccessors | Erase | Trim
)


def script(diff: Diff) -> list[Edit]:
    """The edits that turn the first program of a comparison into the second."""
    maker = _Maker(diff)
    edits: list[Edit] = []
    edits.extend(maker.values_and_blocks())
    edits.extend(maker.places())
    edits.extend(maker.owns())
    edits.extend(maker.links())
    removed = tuple(i for i in range(len(diff.ops_a) - 1, -1, -1) if diff.ops_a[i] < 0)
    if removed:
        edits.append(Erase(removed))
    edits.extend(maker.trims())
    return edits


class _Maker:
    def __init__(self, diff: Diff) -> None:
        self.diff = diff
        self.a: Side = diff.a
        self.b: Side = diff.b
        self.aliases = AliasTable(diff.b.program.aliases)
        self.changed = {c.index_a for c in diff.changes if c.status == "changed"}
        self.moved = {c.index_a for c in diff.changes if c.moved}
        self.restated = {
            c.index_a
            for c in diff.changes
            if c.status == "changed" and any(part.kind in _OWN_KINDS for part in c.parts)
        }
        self.mine = AliasTable(diff.a.program.aliases)

    # -- references ----------------------------------------------------------------------------------

    def op(self, j: int) -> Ref:
        i = self.diff.ops_b[j]
        return ("a", i) if i >= 0 else ("b", j)

    def value(self, y: int) -> Ref:
        x = self.diff.values_b[y]
        return ("a", x) if x >= 0 else ("b", y)

    def block(self, number: int) -> Ref:
        other = self.diff.blocks_b[number]
        return ("a", other) if other >= 0 else ("b", number)

    def type(self, y: int) -> Type:
        return resolved_type(self.b.values[y].type, self.aliases)

    def new_block(self, number: int) -> NewBlock:
        return NewBlock(number, tuple((y, self.type(y)) for y in self.b.arguments[number]))

    # -- edits ---------------------------------------------------------------------------------------

    def values_and_blocks(self) -> list[Edit]:
        """What the ops that stay gain: blocks, arguments, results."""
        edits: list[Edit] = []
        for i in sorted(self.changed):
            j = self.diff.ops_a[i]
            fresh = []
            for region, place, number in self._blocks_of(j):
                if self.diff.blocks_b[number] < 0:
                    fresh.append((region, place, self.new_block(number)))
                else:
                    values = self._new_values(self.b.arguments[number])
                    if values:
                        edits.append(AddValues("block", self.diff.blocks_b[number], values))
            if fresh:
                edits.append(AddBlocks(i, tuple(fresh)))
            values = self._new_values(self.b.results[j])
            if values:
                edits.append(AddValues("op", i, values))
        return edits

    def _blocks_of(self, j: int) -> list[tuple[int, int, int]]:
        found: list[tuple[int, int, int]] = []
        at = 0
        for region, count in enumerate(self.b.regions[j]):
            found.extend((region, place, self.b.inner[j][at + place]) for place in range(count))
            at += count
        return found

    def _new_values(self, values: tuple[int, ...]) -> tuple[tuple[int, int, Type], ...]:
        return tuple((k, y, self.type(y)) for k, y in enumerate(values) if self.diff.values_b[y] < 0)

    def places(self) -> list[Edit]:
        """Insertions and moves, block by block from outside in, each block from its end to its start."""
        edits: list[Edit] = []
        for number, members in enumerate(self.b.members):
            before: Ref | None = None
            for j in reversed(members):
                i = self.diff.ops_b[j]
                if i < 0:
                    edits.append(self._insert(j, self.block(number), before))
                elif i in self.moved:
                    edits.append(Move(i, self.block(number), before))
                before = self.op(j)
        return edits

    def _insert(self, j: int, block: Ref, before: Ref | None) -> Insert:
        op = self.b.ops[j]
        regions: list[list[NewBlock]] = [[] for _ in op.regions]
        for region, _, number in self._blocks_of(j):
            regions[region].append(self.new_block(number))
        return Insert(
            j,
            op.name,
            tuple((y, self.type(y)) for y in self.b.results[j]),
            self._attributes(j),
            op.detail.trailing,
            tuple(tuple(blocks) for blocks in regions),
            block,
            before,
        )

    def _attributes(self, j: int) -> tuple[tuple[str, str], ...]:
        """The attributes of a new op, those that its custom form gives by position among them."""
        found = stated_attributes(self.b.ops[j])
        return tuple((name, self.aliases.resolve(text)) for name, text in found.items())

    def _new_attributes(self, i: int, j: int) -> tuple[tuple[str, str], ...]:
        """The attributes that an op of a ends with; what its text gives by position stays in its text."""
        plain, stated = self.b.ops[j].attributes, stated_attributes(self.b.ops[j])
        before = stated_attributes(self.a.ops[i])
        return tuple(
            (name, self.aliases.resolve(text))
            for name, text in stated.items()
            if name in plain or self.mine.resolve(before.get(name, "")) != self.aliases.resolve(text)
        )

    def owns(self) -> list[Edit]:
        """Names, attributes and types of the ops that changed."""
        edits: list[Edit] = []
        retyped: list[tuple[int, Type]] = []
        for i in sorted(self.changed):
            j = self.diff.ops_a[i]
            if i in self.restated:
                location = self.aliases.resolve(self.b.ops[j].location)
                words = self.b.ops[j].detail.trailing
                attributes = self._new_attributes(i, j)
                edits.append(SetOwn(i, self.b.ops[j].name, attributes, location, words))
            kept = list(self.b.results[j])
            for number in self.b.inner[j]:
                kept.extend(self.b.arguments[number])
            for y in kept:
                x = self.diff.values_b[y]
                if x >= 0 and self.mine.resolve(self.a.values[x].type.text) != self.type(y).text:
                    retyped.append((x, self.type(y)))
        if retyped:
            edits.append(SetTypes(tuple(retyped)))
        return edits

    def links(self) -> list[Edit]:
        """Operands and successors of the ops that changed or are new."""
        edits: list[Edit] = []
        for j, op in enumerate(self.b.ops):
            i = self.diff.ops_b[j]
            if i >= 0 and i not in self.changed:
                continue
            operands = tuple(self.value(y) for y in self.b.operands[j])
            if i < 0 or operands != tuple(("a", x) for x in self.a.operands[i]):
                edits.append(SetOperands(self.op(j), operands))
            if op.successors or (i >= 0 and self.a.ops[i].successors):
                blocks = tuple(self.block(self.b.block_number[s]) for s in op.successors)
                edits.append(SetSuccessors(self.op(j), blocks))
        return edits

    def trims(self) -> list[Edit]:
        """Results, arguments and blocks that are gone, and the order of the rest."""
        edits: list[Edit] = []
        for i in sorted(self.changed):
            j = self.diff.ops_a[i]
            results = tuple(self.value(y) for y in self.b.results[j])
            if results != tuple(("a", x) for x in self.a.results[i]):
                edits.append(Trim("op", i, results))
            for number in self.b.inner[j]:
                block_a = self.diff.blocks_b[number]
                if block_a < 0:
                    continue
                arguments = tuple(self.value(y) for y in self.b.arguments[number])
                if arguments != tuple(("a", x) for x in self.a.arguments[block_a]):
                    edits.append(Trim("block", block_a, arguments))
            blocks = tuple(self.block(number) for number in self.b.inner[j])
            if blocks != tuple(("a", x) for x in self.a.inner[i]) or self.a.regions[i] != self.b.regions[j]:
                edits.append(Trim("region", i, blocks, self.b.regions[j]))
        return edits
