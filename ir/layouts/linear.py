"""Linear layouts: maps between index spaces of power-of-two sizes that are linear over GF(2).

A layout names its inputs (`register`, `lane`, `warp`, `block` for a tensor held in registers; `offset`,
`block` for one in shared memory) and its outputs (`dim0`, `dim1`, …). Each input index is read bit by bit;
every bit has a basis vector, and an index goes to the XOR of the vectors of its set bits. The theory is in
"Linear Layouts" (arXiv 2505.23819); the order of bases is the one that Triton 3.9 prints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

Basis: TypeAlias = tuple[int, ...]
"""Where one input bit goes: a coordinate for every output dimension, in the layout's output order."""


@dataclass(frozen=True, slots=True)
class LinearLayout:
    """A linear map; an input of b bases has 2^b indices, an output dimension a power-of-two size."""

    inputs: tuple[tuple[str, tuple[Basis, ...]], ...]
    outputs: tuple[tuple[str, int], ...]

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs, in order."""
        return tuple(name for name, _ in self.inputs)

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the output dimensions, in order."""
        return tuple(name for name, _ in self.outputs)

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the output dimensions, in order."""
        return tuple(size for _, size in self.outputs)

    def bases(self, name: str) -> tuple[Basis, ...]:
        """The basis vectors of an input; none for an input that the layout does not have."""
        return next((bases for each, bases in self.inputs if each == name), ())

    def input_size(self, name: str) -> int:
        """How many indices an input has."""
        return 1 << len(self.bases(name))

    def output_size(self, name: str) -> int:
        """The size of an output dimension; 1 for one that the layout does not have."""
        return next((size for each, size in self.outputs if each == name), 1)


def log2_exact(size: int, what: str = "a size") -> int:
    """The exponent of a power of two.

    Raises:
        ValueError: `size` is not a power of two; the message names `what`.
    """
    if size < 1 or size & (size - 1):
        raise ValueError(f"{what} must be a power of two, not {size}")
    return size.bit_length() - 1


EMPTY = LinearLayout((), ())
"""No inputs and no outputs: the unit of `product`."""


def dim_names(rank: int) -> tuple[str, ...]:
    """The names of a tensor's dimensions, `dim0`, `dim1` and so on."""
    return tuple(f"dim{i}" for i in range(rank))


def make(inputs: Mapping[str, Iterable[Sequence[int]]], outputs: Mapping[str, int]) -> LinearLayout:
    """A layout from plain lists of bases.

    Raises:
        ValueError: a basis has the wrong length or leaves the output, or a size is not a power of two.
    """
    sizes = tuple(outputs.items())
    for name, size in sizes:
        log2_exact(size, f"the size of {name}")
    packed = []
    for name, bases in inputs.items():
        rows = tuple(tuple(basis) for basis in bases)
        for row in rows:
            if len(row) != len(sizes):
                raise ValueError(
                    f"a basis of {name} has {len(row)} coordinates, but the rank is {len(sizes)}"
                )
            if any(not 0 <= x < size for x, (_, size) in zip(row, sizes, strict=True)):
                raise ValueError(f"basis {list(row)} of {name} is outside the shape {[s for _, s in sizes]}")
        packed.append((name, rows))
    return LinearLayout(tuple(packed), sizes)


def identity(size: int, source: str, target: str) -> LinearLayout:
    """Index i of `source` goes to coordinate i of `target`; size 0 gives the empty layout."""
    if size == 0:
        return EMPTY
    bits = log2_exact(size, f"the extent along {target}")
    return LinearLayout(((source, tuple((1 << i,) for i in range(bits))),), ((target, size),))


def zeros(size: int, source: str, target: str) -> LinearLayout:
    """Every index of `source` goes to coordinate 0 of `target`, which has size 1."""
    if size == 0:
        return EMPTY
    bits = log2_exact(size, f"the extent along {target}")
    return LinearLayout(((source, ((0,),) * bits),), ((target, 1),))


def identity_nd(source: str, shape: Sequence[int], order: Sequence[int]) -> LinearLayout:
    """`source` walks a box of this shape, dimensions (and so the outputs) in `order`, fastest first."""
    names = dim_names(len(shape))
    return product(*(identity(shape[d], source, names[d]) for d in order))


def product(*factors: LinearLayout) -> LinearLayout:
    """The tensor product: later factors take the higher bits of the inputs and outputs that they share."""
    return reduce(_product, factors, EMPTY)


def _product(low: LinearLayout, high: LinearLayout) -> LinearLayout:
    names = list(low.output_names) + [n for n in high.output_names if n not in low.output_names]
    low_size, high_size = dict(low.outputs), dict(high.outputs)
    outputs = tuple((n, low_size.get(n, 1) * high_size.get(n, 1)) for n in names)
    low_at = {n: i for i, n in enumerate(low.output_names)}
    high_at = {n: i for i, n in enumerate(high.output_names)}

    def raised(basis: Basis) -> Basis:
        return tuple(basis[high_at[n]] * low_size.get(n, 1) if n in high_at else 0 for n in names)

    def padded(basis: Basis) -> Basis:
        return tuple(basis[low_at[n]] if n in low_at else 0 for n in names)

    merged: dict[str, list[Basis]] = {n: [padded(b) for b in bases] for n, bases in low.inputs}
    for name, bases in high.inputs:
        merged.setdefault(name, []).extend(raised(b) for b in bases)
    return LinearLayout(tuple((n, tuple(bases)) for n, bases in merged.items()), outputs)


def reorder_outputs(layout: LinearLayout, names: Sequence[str]) -> LinearLayout:
    """The same map with its output dimensions in another order.

    Raises:
        ValueError: `names` are not the layout's output dimensions.
    """
    if sorted(names) != sorted(layout.output_names):
        raise ValueError(f"the output dimensions are {list(layout.output_names)}, not {list(names)}")
    if tuple(names) == layout.output_names:
        return layout
    at = [layout.output_names.index(n) for n in names]
    inputs = tuple((n, tuple(tuple(b[i] for i in at) for b in bases)) for n, bases in layout.inputs)
    return LinearLayout(inputs, tuple(layout.outputs[i] for i in at))


def with_inputs(layout: LinearLayout, names: Sequence[str]) -> LinearLayout:
    """The same map with exactly these inputs, in this order; one that it lacks has no bits.

    Raises:
        ValueError: an input that is left out has bits.
    """
    lost = [n for n, bases in layout.inputs if n not in names and bases]
    if lost:
        raise ValueError(f"input {lost[0]} cannot be left out: it has bits")
    return LinearLayout(tuple((n, layout.bases(n)) for n in names), layout.outputs)


def reshape_outputs(layout: LinearLayout, outputs: Sequence[tuple[str, int]]) -> LinearLayout:
    """Flatten the outputs (the first one fastest) and cut them up again into other dimensions.

    Raises:
        ValueError: the sizes do not multiply to the same number.
    """
    old, new = [size for _, size in layout.outputs], [size for _, size in outputs]
    if _volume(old) != _volume(new):
        raise ValueError(f"{old} and {new} hold different numbers of elements")
    inputs = tuple((n, tuple(_unflatten(_flatten(b, old), new) for b in bases)) for n, bases in layout.inputs)
    return LinearLayout(inputs, tuple(outputs))


def _volume(sizes: Iterable[int]) -> int:
    return reduce(lambda a, b: a * b, sizes, 1)


def _flatten(coordinates: Sequence[int], sizes: Sequence[int]) -> int:
    flat, stride = 0, 1
    for x, size in zip(coordinates, sizes, strict=True):
        flat += x * stride
        stride *= size
    return flat


def _unflatten(flat: int, sizes: Sequence[int]) -> Basis:
    out = []
    for size in sizes:
        out.append(flat % size)
        flat //= size
    return tuple(out)


def apply(layout: LinearLayout, indices: Mapping[str, int]) -> tuple[int, ...]:
    """The coordinates that an index of the inputs goes to (0 for inputs not given)."""
    total = [0] * len(layout.outputs)
    for name, bases in layout.inputs:
        index = indices.get(name, 0)
        for bit, basis in enumerate(bases):
            if index >> bit & 1:
                for d, x in enumerate(basis):
                    total[d] ^= x
    return tuple(total)


def compose(inner: LinearLayout, outer: LinearLayout) -> LinearLayout:
    """First `inner`, then `outer`, whose inputs are named like `inner`'s outputs and at least as large.

    Raises:
        ValueError: the names differ, or an output of `inner` does not fit the input of `outer`.
    """
    if set(inner.output_names) != set(outer.input_names):
        raise ValueError(f"{list(inner.output_names)} do not feed {list(outer.input_names)}")
    for name, size in inner.outputs:
        if size > outer.input_size(name):
            raise ValueError(f"{name} has {size} coordinates inside and {outer.input_size(name)} outside")
    names = inner.output_names
    inputs = tuple(
        (n, tuple(apply(outer, dict(zip(names, b, strict=True))) for b in bases)) for n, bases in inner.inputs
    )
    return LinearLayout(inputs, outer.outputs)


def sublayout(layout: LinearLayout, inputs: Sequence[str], outputs: Sequence[str]) -> LinearLayout:
    """The part of a layout that these inputs have on these outputs."""
    at = [i for i, n in enumerate(layout.output_names) if n in outputs]
    kept = tuple(
        (n, tuple(tuple(b[i] for i in at) for b in bases)) for n, bases in layout.inputs if n in inputs
    )
    return LinearLayout(kept, tuple(layout.outputs[i] for i in at))


def without_zero_bases(layout: LinearLayout, name: str) -> LinearLayout:
    """The layout with the bits of one input dropped that do not move the output."""
    inputs = tuple(
        (n, tuple(b for b in bases if any(b)) if n == name else bases) for n, bases in layout.inputs
    )
    return LinearLayout(inputs, layout.outputs)


def free_bits(layout: LinearLayout, name: str) -> int:
    """A mask of the bits of one input whose basis is zero."""
    return sum(1 << i for i, basis in enumerate(layout.bases(name)) if not any(basis))


def same(a: LinearLayout, b: LinearLayout) -> bool:
    """Whether two layouts are the same map; an input without bits is the same as no such input."""
    if dict(a.outputs) != dict(b.outputs):
        return False
    b = reorder_outputs(b, a.output_names)
    return {n: v for n, v in a.inputs if v} == {n: v for n, v in b.inputs if v}


def grown(layout: LinearLayout, shape: Mapping[str, int], source: str) -> LinearLayout:
    """Repeat a tile until it covers `shape`: bits are added to input `source`, dimensions in output order."""
    out = layout
    for name, size in layout.outputs:
        if shape[name] > size:
            out = product(out, identity(shape[name] // size, source, name))
    return reorder_outputs(out, layout.output_names)


def shrunk(layout: LinearLayout, shape: Mapping[str, int], dropped: str | None = None) -> LinearLayout:
    """Cut a tile down to `shape`: the widest bits of a too long dimension go to 0, so that they replicate.

    Bits of the input `dropped` are taken away instead of going to 0.
    """
    table = {n: [list(b) for b in bases] for n, bases in layout.inputs}
    gone: set[int] = set()
    for at, (name, size) in enumerate(layout.outputs):
        widest = sorted(
            ((b[at], n, i) for n, bases in table.items() for i, b in enumerate(bases) if b[at]),
            key=lambda entry: -entry[0],
        )
        for value, source, i in widest:
            if size <= shape[name]:
                break
            if value < size // 2:
                raise ValueError(f"the layout does not reach half of {name}")
            if source == dropped:
                gone.add(i)
            table[source][i][at] = 0
            size //= 2
    inputs = tuple(
        (n, tuple(tuple(b) for i, b in enumerate(bases) if n != dropped or i not in gone))
        for n, bases in table.items()
    )
    outputs = tuple((n, min(size, shape[n])) for n, size in layout.outputs)
    return LinearLayout(inputs, outputs)
