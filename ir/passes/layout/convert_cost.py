"""What a convert costs in the compiler's own model."""

from __future__ import annotations

from functools import lru_cache

from ...layouts.convert import nearest
from .linear_inference import linear_of
from .tensors import Layout


@lru_cache(maxsize=4096)
def reorders_registers(source: Layout, target: Layout, lens: tuple[int, ...]) -> bool:
    """Whether a convert moves no element to another lane, warp or block."""
    if source == target:
        return True
    from_, to = linear_of(lens, source), linear_of(lens, target)
    return from_ is not None and to is not None and nearest(from_, to) in ("", "register")


@lru_cache(maxsize=4096)
def unique_elements(layout: Layout, lens: tuple[int, ...]) -> int:
    """How many different elements a thread holds; 1 if unknown."""
    linear = linear_of(lens, layout)
    if linear is None:
        return 1
    bases = linear.bases("register")
    return 1 << sum(any(basis) for basis in bases)
