"""An op's own text as a template: which stretches are fixed, and where values, types and attributes stand."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, TypeAlias

from ..program import Detail, Op, Region, Value
from .mlir_detail import (
    MlirSource,
    attribute_entries,
    header_spans,
    header_tokens,
    partitions_of,
    textual_regions,
)
from .mlir_header import ADJACENT, DEFINES, PLAIN, SPACED
from .mlir_orders import operand_order
from .mlir_retype import type_marks
from .mlir_syntax import is_function

_REFERENCE: Final = re.compile(r'"(?:[^"\\\n]|\\.)*+"?|//[^\n]*+|(%[\w$.\-]*[\w$.](?:#\d+)?)')
_AFTER: Final = re.compile(r"(\s*=(?!=))|(:(?!:))|(\s+:(?!:))")
_RESULTS: Final = re.compile(r'(?:%[\w$.\-]+(?::\d+)?\s*,?\s*)+=\s*(?=["A-Za-z_])')
_NAME: Final = re.compile(r"[A-Za-z_][\w$.]*")

Piece: TypeAlias = "str | Value | Region"


@dataclass(frozen=True, slots=True)
class Template:
    """The op's text behind its results: fixed text, values whose names go in, regions."""

    pieces: list[Piece]


@dataclass(frozen=True, slots=True)
class _Reference:
    name: str
    start: int
    end: int
    follows: int
    segment: int


def template_of(op: Op, source: MlirSource) -> Template | None:
    """The template, with types and attributes as they are now; None where the op outgrew its text."""
    text = source.text
    read = source.detail(op)
    replacements = _replacements(op, source, read)
    slots = _slots(op, text)
    if replacements is None or slots is None or [b.label for b in op.successors] != _labels(text, op):
        return None
    pieces: list[Piece] = []
    regions = textual_regions(op)
    if not all(region.blocks for region in regions):
        return None  # a region was emptied, which the custom form may have no way to say
    for index, (start, end) in enumerate(header_spans(op)):
        if index:
            pieces.extend(("{", regions[index - 1], "}"))
        if index == 0 and op.results:
            results = _RESULTS.match(text, start, end)
            start = results.end() if results else start
        marks: list[tuple[int, int, Piece]] = [mark for mark in slots if start <= mark[0] < end]
        marks += [mark for mark in replacements if start <= mark[0] < end]
        for low, high, piece in sorted(marks, key=lambda mark: mark[0]):
            pieces.append(text[start:low])
            pieces.append(piece)
            start = high
        pieces.append(text[start:end])
    return Template(pieces)


def _labels(text: str, op: Op) -> list[str]:
    labels = []
    for start, end in header_spans(op):
        labels += re.findall(r"\^[\w$.\-]+", text[start:end]) if "^" in text[start:end] else []
    return labels


# -- values --------------------------------------------------------------------------------------------


def _slots(op: Op, text: str) -> list[tuple[int, int, Piece]] | None:
    """Where the header names a value, and which value that is now; None if the counts disagree."""
    references = _references(op, text)
    regions = textual_regions(op)
    slots: list[tuple[int, int, Piece]] = []
    printed: list[_Reference] = []
    for segment in range(len(regions) + 1):
        own = [reference for reference in references if reference.segment == segment]
        arguments: list[Value] = []
        if segment < len(regions) and regions[segment].blocks and not regions[segment].blocks[0].label:
            arguments = regions[segment].blocks[0].args
        defining = _defining(op, own, len(arguments))
        if defining is None:
            return None
        for reference, value in zip(defining, arguments, strict=True):
            slots.append((reference.start, reference.end, value))
        printed.extend(reference for reference in own if reference not in defining)
    inner = partitions_of(op)
    operands = op.operands if inner is None else inner.operands
    if len(printed) != len(operands):
        return None
    order = operand_order(op.name, _body(op, text))
    for place, reference in enumerate(printed):
        held = order[place] if order else place
        slots.append((reference.start, reference.end, operands[held]))
    return slots


def _body(op: Op, text: str) -> str:
    """The op's text behind its name; '' for the generic form, whose operands stand as they are held."""
    results = _RESULTS.match(text, op.start, op.end) if op.results else None
    name = _NAME.match(text, results.end() if results else op.start, op.end)
    return text[name.end() : op.end] if name else ""


def _defining(op: Op, own: list[_Reference], count: int) -> list[_Reference] | None:
    """The references of one stretch of header that name the arguments of the region behind it."""
    if count == 0:
        return []
    wanted = (ADJACENT, SPACED) if is_function(op.name) else (DEFINES,)
    chosen = [reference for reference in own if reference.follows in wanted]
    if len(chosen) != count:
        chosen = [reference for reference in own if reference.follows in (DEFINES, ADJACENT)]
    if len(chosen) != count:
        chosen = [reference for reference in own if reference.follows == PLAIN][:count]
    return chosen if len(chosen) == count else None


def _references(op: Op, text: str) -> list[_Reference]:
    found = []
    for segment, (start, end) in enumerate(header_spans(op)):
        if segment == 0 and op.results:
            results = _RESULTS.match(text, start, end)
            start = results.end() if results else start
        for match in _REFERENCE.finditer(text, start, end):
            if match.group(1):
                after = _AFTER.match(text, match.end())
                follows = PLAIN
                if after:
                    follows = DEFINES if after.group(1) else ADJACENT if after.group(2) else SPACED
                found.append(_Reference(match.group(1), match.start(1), match.end(1), follows, segment))
    return found


# -- types and attributes ------------------------------------------------------------------------------


def _replacements(op: Op, source: MlirSource, read: Detail) -> list[tuple[int, int, Piece]] | None:
    """Stretches of the header to be replaced by new types and a new attribute dictionary."""
    if op._detail is None:
        return []
    marks: list[tuple[int, int, Piece]] = []
    if op.attributes != read.attributes:
        changed = _attribute_marks(op, source, read)
        if changed is None:
            return None
        marks += changed
    types = type_marks(op, source)
    return None if types is None else [*marks, *types]


def _attribute_marks(op: Op, source: MlirSource, read: Detail) -> list[tuple[int, int, Piece]] | None:
    """The attribute dictionary of the text, rewritten; None if an attribute outside it changed."""
    groups = [t for t in header_tokens(source.text, op) if t.kind == "group" and t.text[0] == "{"]
    printed = attribute_entries(groups[-1].text) if groups else {}
    outside = {name: text for name, text in read.attributes.items() if name not in printed}
    if not groups or any(op.attributes.get(name) != text for name, text in outside.items()):
        return None
    inside = {name: text for name, text in op.attributes.items() if name not in outside}
    listed = ", ".join(name if text == "unit" else f"{name} = {text}" for name, text in inside.items())
    return [(groups[-1].start, groups[-1].end, f"{{{listed}}}")]
