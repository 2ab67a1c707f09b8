"""The folds of a document: its regions, and the lines that only define locations."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..document import Document
from .fold import FoldModel


def fold_model(document: Document, folded: Collection[int], hide_locations: bool) -> FoldModel:
    """A model in which `folded` regions are folded, and runs of location aliases too if they are hidden."""
    locations = location_heads(document) if hide_locations else set()
    ranges = [*document.ranges, *(document.location_ranges if hide_locations else [])]
    model = FoldModel(len(document.lines), ranges)
    model.fold((set(folded) - location_heads(document)) | locations)
    return model


def location_heads(document: Document) -> set[int]:
    """The lines at which runs of location aliases begin."""
    return {head for head, _ in document.location_ranges}


def inner_heads(ranges: Mapping[int, int]) -> list[int]:
    """The folds that lie in at least two others (a module and a function); if none lies so deep, all."""
    heads: list[int] = []
    open_tails: list[int] = []
    for head, tail in sorted(ranges.items()):
        while open_tails and open_tails[-1] < head:
            open_tails.pop()
        if len(open_tails) >= 2:
            heads.append(head)
        open_tails.append(tail)
    return heads or list(ranges)
