"""What a comparison of two programs says: for each op that is not the same, what became of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from ..program import Op, Program, Value
from .index import Side
from .options import Options

Status = Literal["changed", "added", "removed", "moved"]
PartKind = Literal[
    "name", "operand", "attribute", "type", "encoding", "argument", "result", "region", "successor",
    "location", "value name", "syntax",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """One part of an op that changed.

    `which` is the operand's, result's or argument's index (in the new op; in the old one where the part
    is gone) or the attribute's name. `old` or `new` is '' where the part was added or taken away. Types,
    encodings and attributes are texts with aliases resolved; operands are the values' names, and the
    values themselves stand beside them.
    """

    kind: PartKind
    which: str
    old: str
    new: str
    old_value: Value | None = None
    new_value: Value | None = None

    @property
    def gained(self) -> bool:
        """Whether the new op has a part that the old one had not."""
        return self.old == "" and self.new != ""

    @property
    def lost(self) -> bool:
        """Whether the old op had a part that the new one has not."""
        return self.new == "" and self.old != ""


@dataclass(slots=True)
class Change:
    """One op that is not the same in both programs.

    `moved` also holds for a changed op that stands elsewhere: in another block, or out of order among
    those that stayed. An op that is only moved has no parts.
    """

    status: Status
    a: Op | None
    b: Op | None
    index_a: int
    """The op's place in a walk over the first program, or -1."""
    index_b: int
    moved: bool = False
    parts: list[Part] = field(default_factory=list)

    @property
    def op(self) -> Op:
        """The op as it is now, or as it was if it is gone."""
        found = self.b or self.a
        assert found is not None
        return found


@dataclass(slots=True)
class Diff:
    """The comparison of two programs; `changes` is in walk order of b, removed ops where they were."""

    a: Side
    b: Side
    options: Options
    ops_a: list[int]
    """For each op of a its counterpart's number in b, or -1."""
    ops_b: list[int]
    values_a: list[int]
    values_b: list[int]
    blocks_a: list[int]
    blocks_b: list[int]
    changes: list[Change]

    @property
    def same(self) -> bool:
        """Whether nothing is to be reported."""
        return not self.changes

    @property
    def programs(self) -> tuple[Program, Program]:
        """The two programs that were compared."""
        return self.a.program, self.b.program

    def counterpart(self, op: Op) -> Op | None:
        """The op of the other program that `op`, of either program, is; None if it was added or removed."""
        here = self.a.number.get(op)
        if here is not None:
            there = self.ops_a[here]
            return self.b.ops[there] if there >= 0 else None
        there = self.ops_b[self.b.number[op]]
        return self.a.ops[there] if there >= 0 else None

    def counterpart_of_value(self, value: Value) -> Value | None:
        """The value of the other program that `value`, of either program, is; None if there is none."""
        here = self.a.value_number.get(value)
        if here is not None:
            there = self.values_a[here]
            return self.b.values[there] if there >= 0 else None
        there = self.values_b[self.b.value_number[value]]
        return self.a.values[there] if there >= 0 else None

    def counts(self) -> dict[str, int]:
        """How many ops were changed, added, removed and moved; an op changed and moved counts as changed."""
        found = Counter(change.status for change in self.changes)
        return {status: found[status] for status in ("changed", "added", "removed", "moved")}
