"""What a convert costs in the compiler's own model."""

from __future__ import annotations

from functools import lru_cache

from ...errors import InputError
from ...layouts import encodings as enc
from ...layouts.convert import nearest
from ...layouts.to_linear import to_linear
from .tensors import Layout


@lru_cache(maxsize=4096)
def reorders_registers(source: Layout, target: Layout, lens: tuple[int, ...]) -> bool:
    """Whether a convert moves no element to another lane, warp or block."""
    if source == target:
        return True
    if not isinstance(source, enc.Distributed) or not isinstance(target, enc.Distributed):
        return False
    try:
        return nearest(to_linear(source, lens), to_linear(target, lens)) in ("", "register")
    except InputError:
        return False


@lru_cache(maxsize=4096)
def unique_elements(layout: Layout, lens: tuple[int, ...]) -> int:
    """How many different elements a thread holds; 1 if unknown."""
    if not isinstance(layout, enc.Distributed):
        return 1
    try:
        bases = to_linear(layout, lens).bases("register")
    except InputError:
        return 1
    return 1 << sum(any(basis) for basis in bases)
