"""Programs with much repetition, random edits of them, and a comparison that knows nothing of ours."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from passlens.ir import edit
from passlens.ir.diff.aliases import AliasTable
from passlens.ir.program import Op, Program, Value, walk
from passlens.ir.types import ScalarType

I32 = ScalarType("i32", "i32")
KINDS = ("random", "same", "chain", "flat", "constants", "periodic", "barriers", "memory", "loops")


class _Text:
    """The function being written, with the values that may be used."""

    def __init__(self, r: random.Random) -> None:
        self.r = r
        self.values = ["%a0", "%a1"]
        self.lines = ["func.func @f(%a0: i32, %a1: i32) {"]

    def new(self, text: str, values: list[str] | None = None) -> None:
        name = f"%{len(self.lines)}"
        self.lines.append(f"  {name} = {text} : i32")
        (self.values if values is None else values).append(name)

    def recent(self, count: int) -> str:
        return self.r.choice(self.values[-count:])

    def random(self, i: int) -> None:
        operands = f"{self.recent(20)}, {self.recent(20)}"
        self.new(f"x.op{self.r.randrange(6)} {operands} {{k = {self.r.randrange(4)} : i32}}")

    def same(self, i: int) -> None:
        self.new(f"x.add {self.recent(8)}, {self.recent(8)}")

    def chain(self, i: int) -> None:
        self.new(f"x.add {self.values[-1]}, {self.values[-1]}")

    def flat(self, i: int) -> None:
        self.new("x.add %a0, %a1")

    def constants(self, i: int) -> None:
        self.new(f"x.add {self.values[-1]}, {self.recent(6)}" if i % 2 else "arith.constant 0")

    def periodic(self, i: int) -> None:
        self.new(f"x.{'ab'[i % 2]} {self.values[-1]}, {self.values[-2]}")

    def barriers(self, i: int) -> None:
        if i % 3:
            self.new(f"x.add {self.recent(6)}, {self.recent(6)}")
        else:
            self.lines.append("  gpu.barrier")

    def memory(self, i: int) -> None:
        if i % 3:
            self.new(f"x.load {self.recent(6)}")
        else:
            self.lines.append(f"  x.store {self.values[-1]}, {self.recent(6)} : i32")

    def loops(self, i: int) -> None:
        if i % 11:
            return
        self.lines.append(f"  scf.for %i{i} = %a0 to %a1 step %a0  : i32 {{")
        inner = [*self.values, f"%i{i}"]
        for _ in range(8):
            self.new(f"x.add {self.r.choice(inner[-4:])}, {self.r.choice(inner[-4:])}", inner)
        self.lines.extend([f"    x.store {inner[-1]} : i32", "  }"])
        self.new(f"x.next {self.values[-1]}")


def source(kind: str, n: int, r: random.Random) -> str:
    """About `n` ops of MLIR; all kinds but the first hold thousands of ops that read alike."""
    text = _Text(r)
    add = getattr(text, kind)
    for i in range(n):
        add(i)
    return "\n".join([*text.lines, "  return", "}", ""])


@dataclass
class Mutation:
    """Random edits of a program; `allowed` is how many ops a comparison may report for them."""

    program: Program
    r: random.Random
    allowed: int = 0
    ops: list[Op] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ops = [
            op for op in walk(self.program) if op.parent is not None and op.name not in ("func.return", "scf.yield")
        ]  # fmt: skip

    def edit(self, count: int) -> Mutation:
        for _ in range(count):
            op = self.r.choice(self.ops)
            while op.block is None or op.implicit:
                op = self.r.choice(self.ops)
            kind = self.r.choice((self.insert, self.erase, self.move, self.reoperand, self.mark))
            kind(op)
        return self

    def near(self, op: Op) -> list[Value]:
        """Values that `op` may use."""
        seen: list[Value] = []
        at: Op | None = op
        while at is not None and at.block is not None:
            before = at.block.ops[: at.block.ops.index(at)]
            seen.extend(value for other in before[-200:] for value in other.results)
            seen.extend(at.block.args)
            if at.parent is not None and at.parent.name == "func.func":
                break
            at = at.parent
        return seen[-10:] if self.r.random() < 0.7 else seen

    def insert(self, op: Op) -> None:
        self.allowed += 1
        values = self.near(op)
        like = op.name if len(op.results) == 1 and not op.regions and self.r.random() < 0.7 else "x.add"
        attributes = dict(op.attributes) if like == op.name and op.name != "x.add" else {}
        operands = [self.r.choice(values) for _ in range(2)]
        self.ops.append(edit.create(like, operands, [I32], attributes, before=op))

    def erase(self, op: Op) -> None:
        if op.regions:
            return
        self.allowed += 1 + len({id(user) for value in op.results for user, _ in value.uses})
        other = self.r.choice(self.near(op))
        for value in op.results:
            edit.replace_all_uses(value, other)
        edit.erase(op)

    def move(self, op: Op) -> None:
        block = op.block
        assert block is not None
        if op.regions:
            return
        at = low = high = block.ops.index(op)
        above = {id(value.op) for value in op.operands}
        below: set[int] = set()
        for value in op.results:
            for user, _ in value.uses:
                holder: Op | None = user
                while holder is not None and holder.block is not block:
                    holder = holder.parent
                below.add(id(holder))
        while low > 0 and at - low < 100 and id(block.ops[low - 1]) not in above:
            low -= 1
        while high + 2 < len(block.ops) and high - at < 100 and id(block.ops[high + 1]) not in below:
            high += 1
        to = self.r.randint(low, high)
        if to != at:
            self.allowed += 1
            edit.move(op, before=block.ops[to] if to < at else block.ops[to + 1])

    def reoperand(self, op: Op) -> None:
        if op.operands and not op.regions:
            self.allowed += 1
            edit.set_operand(op, self.r.randrange(len(op.operands)), self.r.choice(self.near(op)))

    def mark(self, op: Op) -> None:
        if not op.regions:
            self.allowed += 1
            edit.set_attribute(op, "mark", str(self.r.randrange(3)))


def canonical(program: Program) -> list[tuple[object, ...]]:
    """A program as data in which names are gone: equal for programs that are structurally the same."""
    aliases = AliasTable(program.aliases)
    numbers: dict[object, int] = {}

    def number(thing: object) -> int:
        return numbers.setdefault(thing, len(numbers))

    ops = list(walk(program))
    for block in program.body.blocks:
        number(block)
    for op in ops:
        for value in op.results:
            number(value)
        for region in op.regions:
            for block in region.blocks:
                number(block)
                for value in block.args:
                    number(value)
    return [
        (
            op.name,
            number(op.block),
            [number(value) for value in op.operands],
            [aliases.resolve(value.type.text) for value in op.results],
            sorted((name, aliases.resolve(text)) for name, text in op.attributes.items()),
            [
                [(number(b), [aliases.resolve(value.type.text) for value in b.args]) for b in region.blocks]
                for region in op.regions
            ],
            [number(block) for block in op.successors],
        )
        for op in ops
    ]
