"""Whether a plan computes what its original computes: each kernel of one is a kernel of the other.

Every value gets a symbol, a number that two values share if and only if they denote the same thing: the same
literal (on the host, resident, copied alone or in a batch), the same parameter, the result of the kernel of
this name, the same view of the same thing. Buffers are all alike: where they are is no part of a result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from ..program import Op, Program, Value, symbol
from ..types import byte_size
from .hazards import shown
from .plan_places import BATCH_ALIGNMENT, BATCH_COPY, RESIDENT, VIEW_BYTES, Places, is_allocation, number_of
from .violation import Violation, ViolationKind

_SYNCS: Final = ("hip::sync_stream", "gpu::sync_stream")
_NOTES: Final = ("perf.", "schedule.", "eval.", "origin")
"""Attributes that say how a run went, and nothing about what is computed."""

Key = tuple[str, int]


class Literals:
    """Which literal of the original an instruction of either program is."""

    def __init__(self, original: list[Op]) -> None:
        self.by_name: dict[str, Op] = {}
        self.by_id: dict[str, Op] = {}
        self.by_number: dict[str, Op] = {}
        for op in original:
            if op.name in ("@literal", RESIDENT) and op.results:
                name = op.results[0].name
                self.by_name[name] = op
                if op.name == RESIDENT:
                    self.by_id[op.attributes.get("id", "")] = op
                else:
                    self.by_number[name.rpartition("@")[2]] = op

    def of(self, op: Op) -> Op | None:
        """The original's literal: a resident one by its id, which the runtime goes by; others by name."""
        if op.name != RESIDENT:
            return self.by_name.get(op.results[0].name)
        id = op.attributes.get("id", "")
        return self.by_id.get(id) or self.by_number.get(id.rpartition(":")[2])


class Symbols:
    """The symbols of one program's values; programs that share a `table` can be compared."""

    def __init__(self, places: Places, literals: Literals, table: dict[tuple[Any, ...], int]) -> None:
        self.places = places
        self.literals = literals
        self.table = table
        self.of: dict[Value, int] = {}
        self.batches: dict[Value, dict[int, Value]] = {}
        """Batch → the offset of each literal in it → the literal."""
        for op, key in zip(places.instructions, keys_of(places.instructions), strict=True):
            for value in op.results:
                self.of[value] = self._symbol(op, key, value)

    def get(self, value: Value) -> int:
        """The symbol of an operand; one that is not defined yet is like no other but those of its name."""
        known = self.of.get(value)
        return known if known is not None else self._intern("undefined", value.name)

    def _intern(self, *parts: Any) -> int:
        return self.table.setdefault(parts, len(self.table))

    def _symbol(self, op: Op, key: Key, value: Value) -> int:
        if op.name in ("@literal", RESIDENT):
            literal = self.literals.of(op)
            name = literal.results[0].name if literal is not None else f"? {value.name}"
            return self._intern("literal", name, value.type.text)
        if op.name == "load" or is_allocation(op):
            return self._intern("buffer", value.type.text)
        if op.name == "@param":
            return self._intern("parameter", value.name, value.type.text)
        if op.name == BATCH_COPY:
            self.batches[value] = batch_offsets(op)
            return self._intern("batch", key)
        if self.places.is_literal_copy(op):
            return self._retyped(self.get(op.operands[0]), op.operands[0], value)
        if self.places.is_work(op):
            return self._intern("kernel", key)
        return self._view(op, value)

    def _retyped(self, inner: int, source: Value, value: Value) -> int:
        same = source.type.text == value.type.text
        return inner if same else self._intern("retyped", inner, value.type.text)

    def _view(self, op: Op, value: Value) -> int:
        if not op.operands:
            return self._intern("other", op.name, attributes_of(op))
        if op.name in _SYNCS:
            return self.get(op.operands[0])
        if op.name == VIEW_BYTES:
            offset = number_of(op, "offset")
            held = self.batches.get(op.operands[0], {}).get(-1 if offset is None else offset)
            if held is not None:
                return self._retyped(self.get(held), held, value)
        operands = tuple(self.get(operand) for operand in op.operands)
        return self._intern(op.name, attributes_of(op), value.type.text, operands, self._pieces(op))

    def _pieces(self, view: Op) -> tuple[Any, ...]:
        """Where the pieces are that instructions wrote into a buffer, for a view that waits for them."""
        whole = self.places.get(view.operands[0])
        if whole.holds != "nothing":
            return ()
        parts = [self.places.get(value) for value in view.operands[1:]]
        return tuple(
            (part.start - whole.start, part.end - part.start) if part.memory is whole.memory else ()
            for part in parts
        )


def batch_offsets(batch: Op) -> dict[int, Value]:
    """Offset → literal, side by side, each rounded up to the alignment of batches."""
    offsets: dict[int, Value] = {}
    at = 0
    for value in batch.operands[:-1]:
        at += -at % BATCH_ALIGNMENT
        offsets[at] = value
        at += byte_size(value.type) or 0
    return offsets


def batch_bytes(batch: Op) -> int:
    """Bytes that a batched copy writes."""
    offsets = batch_offsets(batch)
    return max((at + (byte_size(value.type) or 0) for at, value in offsets.items()), default=0)


def keys_of(instructions: list[Op]) -> list[Key]:
    """A key for each instruction: its result's name (or its op or text), and how often that came before."""
    counts: Counter[str] = Counter()
    keys = []
    for op in instructions:
        name = op.results[0].name if op.results else op.name or op.text
        keys.append((name, counts[name]))
        counts[name] += 1
    return keys


def attributes_of(op: Op) -> tuple[tuple[str, str], ...]:
    """What an op computes beside its operands, in an order of its own."""
    return tuple(sorted((key, text) for key, text in op.attributes.items() if not key.startswith(_NOTES)))


def changed_results(plan: Places, original: Places) -> Iterator[Violation]:
    """Everything in which the two main modules compute different things."""
    literals = Literals(original.instructions)
    table: dict[tuple[Any, ...], int] = {}
    new, old = Symbols(plan, literals, table), Symbols(original, literals, table)
    yield from _literals(plan.instructions, literals)
    wanted = _kept(original)
    for key, op in _kept(plan).items():
        before = wanted.pop(key, None)
        if before is None:
            kind: ViolationKind = "parameter" if op.name == "@param" else "kernel"
            yield Violation(kind, f"{shown(op)} ({op.name}) is not in the original program", (op,))
        else:
            yield from _changed_op(op, before, new, old)
    for (name, _), gone in wanted.items():
        if gone.name == "@param":
            yield Violation("parameter", f"the parameter {name} of the original program is gone")
        else:
            yield Violation("kernel", f"{name} ({gone.name}) of the original program is gone")


def _kept(places: Places) -> dict[Key, Op]:
    keyed = zip(keys_of(places.instructions), places.instructions, strict=True)
    return {key: op for key, op in keyed if _is_input(op) or places.is_work(op)}


def _is_input(op: Op) -> bool:
    return op.name == "@param" and not is_allocation(op)


def _literals(plan: list[Op], literals: Literals) -> Iterator[Violation]:
    for op in plan:
        if op.name not in ("@literal", RESIDENT) or not op.results:
            continue
        before = literals.of(op)
        name = op.results[0].name
        if before is None:
            yield Violation("literal", f"{name} is no literal of the original program", (op,))
        elif before.results[0].type.text != op.results[0].type.text:
            old, new = before.results[0].type.text, op.results[0].type.text
            yield Violation("literal", f"the literal {name} is {new}; the original has {old}", (op,))
        elif op.name == "@literal" and before.attributes.get("literal") != op.attributes.get("literal"):
            yield Violation("literal", f"the literal {name} has other data than the original's", (op,))


def _changed_op(op: Op, before: Op, new: Symbols, old: Symbols) -> Iterator[Violation]:
    name = shown(op)
    if op.name == "@param":
        if op.results[0].type.text != before.results[0].type.text:
            yield Violation("parameter", f"the parameter {name} has another shape than the original's", (op,))
        return
    if op.name != before.name or attributes_of(op) != attributes_of(before):
        yield Violation("kernel", f"{name} ({op.name}) does not do what the original's {name} does", (op,))
    if [value.type.text for value in op.results] != [value.type.text for value in before.results]:
        yield Violation("kernel", f"{name} has another shape than the original's", (op,))
    if len(op.operands) != len(before.operands):
        counts = f"{len(op.operands)} operands; the original's has {len(before.operands)}"
        yield Violation("operand", f"{name} has {counts}", (op,))
        return
    for index, (mine, theirs) in enumerate(zip(op.operands, before.operands, strict=True)):
        if new.get(mine) != old.get(theirs) or mine.type.text != theirs.type.text:
            what = f"operand {index} of {name} is {mine.name}, which is not the original's {theirs.name}"
            yield Violation("operand", what, (op,))


def changed_modules(plan: Program, original: Program) -> Iterator[Violation]:
    """Modules beside main (bodies of kernels, branches) that are gone, new, or other than they were."""
    new, old = _modules(plan), _modules(original)
    for name in dict.fromkeys([*old, *new]):
        if name not in old or name not in new:
            what = "is gone" if name in old else "is not in the original program"
            yield Violation("module", f"the module {name} {what}")
        elif new[name] != old[name]:
            yield Violation("module", f"the module {name} is not as it was in the original program")


def _modules(program: Program) -> dict[str, list[tuple[Any, ...]]]:
    modules = [op for op in program.ops if op.name == "module"]
    main = next((op for op in modules if symbol(op) == "main"), modules[0] if modules else None)
    return {symbol(op): _outline(op) for op in modules if op is not main}


def _outline(module: Op) -> list[tuple[Any, ...]]:
    return [
        (
            op.name,
            attributes_of(op),
            tuple((value.name, value.type.text) for value in op.results),
            tuple(value.name for value in op.operands),
        )
        for region in module.regions
        for block in region.blocks
        for op in block.ops
    ]
