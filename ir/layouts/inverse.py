"""Inverses and comparisons of linear layouts, by elimination over GF(2)."""

from __future__ import annotations

from collections.abc import Sequence

from . import gf2
from .linear import Basis, LinearLayout, log2_exact, reorder_outputs, sublayout


def widths(sizes: Sequence[int]) -> list[int]:
    """The number of bits of each size."""
    return [log2_exact(size) for size in sizes]


def flat(basis: Basis, shape: Sequence[int]) -> int:
    """A coordinate as one number, the first dimension lowest."""
    value, shift = 0, 0
    for x, width in zip(basis, widths(shape), strict=True):
        value |= x << shift
        shift += width
    return value


def flat_bases(layout: LinearLayout, name: str) -> list[int]:
    """The basis vectors of an input, each as one number (see `flat`)."""
    return [flat(basis, layout.shape) for basis in layout.bases(name)]


def flat_columns(layout: LinearLayout) -> list[int]:
    """The basis vectors of all inputs, in input order."""
    return [vector for name in layout.input_names for vector in flat_bases(layout, name)]


def output_bits(layout: LinearLayout) -> int:
    """The bits of all output dimensions together."""
    return sum(widths(layout.shape))


def is_surjective(layout: LinearLayout) -> bool:
    """Whether every coordinate is reached."""
    return gf2.rank(flat_columns(layout)) == output_bits(layout)


def is_injective(layout: LinearLayout) -> bool:
    """Whether no two indices go to one coordinate."""
    columns = flat_columns(layout)
    return gf2.rank(columns) == len(columns)


def invert(layout: LinearLayout) -> LinearLayout:
    """A right inverse: coordinate → the lowest index that holds it (inputs and outputs change places).

    For an injective layout it is the inverse.

    Raises:
        ValueError: some coordinate is not reached.
    """
    units = LinearLayout(
        tuple(
            (
                name,
                tuple(tuple(1 << i if d == e else 0 for e in range(len(layout.outputs))) for i in range(w)),
            )
            for d, (name, w) in enumerate(zip(layout.output_names, widths(layout.shape), strict=True))
        ),
        layout.outputs,
    )
    found = _divide(units, layout)
    if found is None:
        raise ValueError("some coordinates are not reached, so there is no inverse")
    return found


def _divide(goal: LinearLayout, through: LinearLayout) -> LinearLayout | None:
    """The map X with `through` after X = `goal`, preferring low bits; None if there is none."""
    goal = reorder_outputs(goal, through.output_names)
    answers = gf2.solve(flat_columns(through), flat_columns(goal))
    if answers is None:
        return None
    outputs = tuple((name, through.input_size(name)) for name in through.input_names)
    spans = widths([size for _, size in outputs])
    made, at = [], 0
    for name in goal.input_names:
        count = len(goal.bases(name))
        made.append((name, tuple(_spread(mask, spans) for mask in answers[at : at + count])))
        at += count
    return LinearLayout(tuple(made), outputs)


def _spread(mask: int, spans: Sequence[int]) -> Basis:
    parts = []
    for width in spans:
        parts.append(mask & ((1 << width) - 1))
        mask >>= width
    return tuple(parts)


def where_from(goal: LinearLayout, source: LinearLayout) -> LinearLayout:
    """For every index of `goal`, an index of `source` that holds the same coordinate.

    Both have the same outputs. Inputs that are alike in both map to themselves, which matters where they
    replicate: data that is already there does not move.

    Raises:
        ValueError: `source` does not hold everything that `goal` asks for.
    """
    alike = [
        name
        for name in goal.input_names
        if name in source.input_names and goal.bases(name) == _aligned(source, goal).bases(name)
    ]
    rest_goal = [n for n in goal.input_names if n not in alike]
    rest_source = [n for n in source.input_names if n not in alike]
    outputs = goal.output_names
    found = _divide(sublayout(goal, rest_goal, outputs), sublayout(source, rest_source, outputs))
    if found is None:
        found = _divide(goal, source)
        if found is None:
            raise ValueError("the source does not hold every element that the other layout needs")
        return found
    return _with_identities(found, alike, goal, source)


def _aligned(layout: LinearLayout, like: LinearLayout) -> LinearLayout:
    return reorder_outputs(layout, like.output_names)


def _with_identities(
    part: LinearLayout, alike: Sequence[str], goal: LinearLayout, source: LinearLayout
) -> LinearLayout:
    names = source.input_names
    at = {name: i for i, name in enumerate(part.output_names)}
    made = []
    for name in goal.input_names:
        if name in alike:
            rows = tuple(
                tuple(1 << i if n == name else 0 for n in names) for i in range(len(goal.bases(name)))
            )
        else:
            rows = tuple(tuple(basis[at[n]] if n in at else 0 for n in names) for basis in part.bases(name))
        made.append((name, rows))
    return LinearLayout(tuple(made), tuple((n, source.input_size(n)) for n in names))


def is_identity_over(layout: LinearLayout, name: str) -> bool:
    """Whether an input goes unchanged to the output of the same name, which nothing else touches."""
    if name not in layout.output_names:
        return not layout.bases(name)
    at = layout.output_names.index(name)
    if layout.output_size(name) != layout.input_size(name):
        return False
    for source, bases in layout.inputs:
        for i, basis in enumerate(bases):
            if source == name:
                if basis != tuple(1 << i if d == at else 0 for d in range(len(basis))):
                    return False
            elif basis[at]:
                return False
    return True
