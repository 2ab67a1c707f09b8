"""One number for what an op says about itself: equal numbers mean equal names, attributes and types.

Most ops of a dump are decided by their text alone: with the names of values and the locations taken out
and aliases resolved, equal text is equal meaning. Only texts that one of the two programs lacks are read
in detail, once each, so that a generic form, an edited op or other white space still meets its equal.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

from ..formats.mlir_detail import header_spans, is_synthetic
from ..formats.mlir_text import balanced_end
from ..program import Op
from .aliases import AliasTable
from .index import Side
from .options import Options
from .own import Own, own_of

_REFERENCE: Final = re.compile(r"[%^][\w$.\-]*[\w$.](?:#\d+)?")
_CAREFUL: Final = re.compile(r'"(?:[^"\\\n]|\\.)*+"|[%^][\w$.\-]*[\w$.](?:#\d+)?')
_SIMPLE_LOCATION: Final = re.compile(r" ?\bloc\((?:#\w+|unknown)\)")
_LOCATION: Final = re.compile(r'"(?:[^"\\\n]|\\.)*+"| ?\bloc\(')
_LABEL: Final = re.compile(r"\^[\w$.\-]+")
_WORD: Final = re.compile(r"[\w.]+")


@dataclass(slots=True)
class Shapes:
    """The shape numbers of two programs, and the parts behind each number."""

    options: Options
    aliases: tuple[AliasTable, AliasTable]
    ops: tuple[list[int], list[int]]
    blocks: tuple[list[int], list[int]]
    """Shape numbers of the blocks' labels: the types of their arguments."""
    swapped: bool
    """Whether the two programs were exchanged, so that a comparison is the mirror of its reverse."""
    _owns: dict[tuple[int, int], Own] = field(default_factory=dict)

    def own(self, which: int, side: Side, op: int) -> Own:
        """The parts of op `op` of program `which` (0 or 1); ops of one number share them."""
        key = (which, self.ops[which][op])
        shared = not self.options.names
        found = self._owns.get(key) if shared else None
        if found is None:
            found = self._owns[key] = own_of(side.ops[op], self.aliases[which], self.options)
        return found


def shape(a: Side, b: Side, options: Options) -> Shapes:
    """Number the ops and block labels of both programs.

    The two are taken in an order that their content decides (`Shapes.swapped`), not the caller's.
    """
    table = _Table(options)
    aliases = (AliasTable(a.program.aliases), AliasTable(b.program.aliases))
    ops = (table.number_ops(a, aliases[0]), table.number_ops(b, aliases[1]))
    swapped = _comes_later(a, b, ops, table.texts)
    if swapped:
        a, b, aliases, ops = b, a, (aliases[1], aliases[0]), (ops[1], ops[0])
    shapes = Shapes(options, aliases, ops, ([], []), swapped)
    _unify(a, b, shapes)
    labels: dict[object, int] = {}
    blocks = (_number_blocks(a, aliases[0], labels, options), _number_blocks(b, aliases[1], labels, options))
    shapes.blocks = blocks
    return shapes


def _comes_later(a: Side, b: Side, ops: tuple[list[int], list[int]], texts: list[str]) -> bool:
    """An order of programs by their content alone: by size, then by the first op that differs."""
    if len(a.ops) != len(b.ops):
        return len(a.ops) > len(b.ops)
    for i, (left, right) in enumerate(zip(*ops, strict=True)):
        if left != right:
            return texts[left] > texts[right]
        if a.operands[i] != b.operands[i]:
            return a.operands[i] > b.operands[i]
        if a.parent[i] != b.parent[i]:
            return a.parent[i] > b.parent[i]
    return False


class _Table:
    """Numbers for texts (and, for ops without text, for their parts), shared by both programs."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.numbers: dict[object, int] = {}
        self.texts: list[str] = []

    def number_ops(self, side: Side, aliases: AliasTable) -> list[int]:
        by_text = side.program.format == "mlir" and not self.options.ignored_attributes
        known: dict[tuple[str, int], int] = {}
        numbers: list[int] = []
        for op in side.ops:
            if not by_text or op.edited or not 0 <= op.start < op.end or is_synthetic(op):
                numbers.append(self._number_parts(op, aliases))
                continue
            text = own_text(op, self.options.locations)
            key = (text, len(op.results))
            number = known.get(key)
            if number is None or self.options.names:
                names = tuple(value.name for value in op.results) if self.options.names else ()
                number = self._number((aliases.resolve(text), len(op.results), op.name, names))
                known[key] = number
            numbers.append(number)
        return numbers

    def _number_parts(self, op: Op, aliases: AliasTable) -> int:
        own = own_of(op, aliases, self.options)
        return self._number((*own.key(), own.words, own.layout))

    def _number(self, key: tuple[object, ...]) -> int:
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.texts)
            self.texts.append(repr(key))
        return number


def own_text(op: Op, locations: bool) -> str:
    """The op's header with `%` for every value, and without `loc(…)` unless `locations`."""
    if op.source is None:
        return ""
    source = op.source.text
    if op.regions:
        text = "{}".join(source[start:end] for start, end in header_spans(op))
    else:
        text = source[op.start : op.end]
    if '"' in text:
        text = _without_names(text)
        if not locations:
            text = _without_locations(text)
    else:
        text = _REFERENCE.sub("%", text)
        if not locations and "loc(" in text:
            text = _SIMPLE_LOCATION.sub("", text)
            if "loc(" in text:
                text = _without_locations(text)
    if op.results:
        text = text[text.find("=") + 1 :].lstrip()
    return text


def _without_names(text: str) -> str:
    return _CAREFUL.sub(lambda found: found.group() if found.group()[0] == '"' else "%", text)


def _without_locations(text: str) -> str:
    pieces: list[str] = []
    pos = 0
    for found in _LOCATION.finditer(text):
        if found.start() < pos or found.group()[0] == '"':
            continue
        pieces.append(text[pos : found.start()])
        pos = balanced_end(text, found.end() - 1)
    pieces.append(text[pos:])
    return "".join(pieces)


def _number_blocks(
    side: Side, aliases: AliasTable, numbers: dict[object, int], options: Options
) -> list[int]:
    found: list[int] = []
    for block in side.blocks:
        key = (
            tuple(aliases.resolve(value.type.text) for value in block.args),
            tuple(value.name for value in block.args) if options.names else (),
        )
        found.append(numbers.setdefault(key, len(numbers)))
    return found


def _unify(a: Side, b: Side, shapes: Shapes) -> None:
    """Give one number to numbers that mean the same.

    Where all ops of a name were read from custom forms, only numbers that one program lacks can be such;
    where one was not (a generic form, an edited op), any number may be another spelling of it.
    """
    common = set(shapes.ops[0]) & set(shapes.ops[1])
    found_a, found_b = _examples(a, shapes.ops[0]), _examples(b, shapes.ops[1])
    renamed: dict[int, int] = {}
    for name, listed in found_b.items():
        others = found_a.get(name)
        if not others:
            continue
        if all(_is_custom(a.ops[i]) for i in others) and all(_is_custom(b.ops[i]) for i in listed):
            others = [i for i in others if shapes.ops[0][i] not in common]
            listed = [i for i in listed if shapes.ops[1][i] not in common]
            if others and listed:
                others, listed = _similar(a, b, others, listed, shapes.aliases)
        _unify_group(a, b, others, listed, shapes, renamed)
    for numbers in shapes.ops if renamed else ():
        numbers[:] = [renamed.get(number, number) for number in numbers]


def _unify_group(
    a: Side, b: Side, left: list[int], right: list[int], shapes: Shapes, renamed: dict[int, int]
) -> None:
    owns = {shapes.ops[0][i]: shapes.own(0, a, i) for i in left}
    owns.update({shapes.ops[1][i]: shapes.own(1, b, i) for i in right})
    by_key: dict[tuple[object, ...], list[int]] = defaultdict(list)
    # Those of which most is known come first, so that two that differ are never one by way of a third.
    for number in sorted(owns, key=lambda n: (owns[n].words is None, owns[n].layout is None, n)):
        own = owns[number]
        likes = by_key[own.key()]
        for other in likes:
            if own.agrees(owns[other]):
                renamed[number] = other
                break
        else:
            likes.append(number)


def _examples(side: Side, numbers: list[int]) -> dict[str, list[int]]:
    """By op name, one op for each number."""
    groups: dict[str, list[int]] = defaultdict(list)
    seen: set[int] = set()
    for i, number in enumerate(numbers):
        if number not in seen:
            seen.add(number)
            groups[side.ops[i].name].append(i)
    return groups


def _is_custom(op: Op) -> bool:
    """Whether the op was read from a custom form and says what it said then."""
    if op.edited or op.source is None or not 0 <= op.start < op.end:
        return False
    text = op.source.text
    at = text.find("=", op.start, op.end) + 1 if op.results else op.start
    while at < op.end and text[at] in " \t\r\n":
        at += 1
    return at < op.end and text[at] != '"'


def _similar(
    a: Side, b: Side, left: list[int], right: list[int], aliases: tuple[AliasTable, AliasTable]
) -> tuple[list[int], list[int]]:
    """Those whose texts hold the same words in any order: two prints of one op differ in no word."""
    left_words = {i: _bag(a.ops[i], aliases[0]) for i in left}
    right_words = {i: _bag(b.ops[i], aliases[1]) for i in right}
    shared = set(left_words.values()) & set(right_words.values())
    return (
        [i for i in left if left_words[i] in shared],
        [i for i in right if right_words[i] in shared],
    )


def _bag(op: Op, aliases: AliasTable) -> tuple[str, ...]:
    return tuple(sorted(_WORD.findall(aliases.resolve(own_text(op, False)))))
