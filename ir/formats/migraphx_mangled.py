"""Instructions that markdown has taken for links: `load[offset=0,end=4](@1)` → `loadoffset=0,end=4`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

# Ops whose attribute list loses its brackets, with the name of the first attribute: where no other listing
# and no other instruction shows it, what stands between the two is all that tells them apart.
FIRST_ATTRIBUTE: Final[dict[str, tuple[str, ...]]] = {
    "load": ("offset",), "multibroadcast": ("out_lens",), "broadcast": ("axis",), "step": ("axes",),
    "gpu::code_object": ("code_object",), "gpu::pooling": ("mode",), "gpu::convolution": ("op",),
    "gpu::gemm": ("alpha",), "reshape": ("dims",), "reshape_lazy": ("dims",), "transpose": ("permutation",),
    "slice": ("axes",), "squeeze": ("axes",), "unsqueeze": ("axes",), "flatten": ("axis",),
    "convert": ("target_type",), "get_tuple_elem": ("index",), "gather": ("axis",), "concat": ("axis",),
    "gpu::set_stream": ("stream",), "gpu::record_event": ("event",), "gpu::wait_event": ("event",),
    "hip::hip_copy_literal": ("id",), "hip::copy_to_gpu": ("shape",), "hip::hip_allocate_memory": ("shape",),
    "hip::allocate": ("shape",), "allocate": ("shape",), "gpu::precompile_op": ("op",), "pad": ("pads",),
    "softmax": ("axis",), "reduce_sum": ("axes",), "reduce_mean": ("axes",), "reduce_max": ("axes",),
}  # fmt: skip

_GLUED: Final = re.compile(
    "|".join(
        f"(?:{re.escape(op)}(?=(?:{'|'.join(FIRST_ATTRIBUTE[op])})=))"
        for op in sorted(FIRST_ATTRIBUTE, key=len, reverse=True)
    )
)


def split_glued(text: str) -> tuple[str, str]:
    """Op and attributes of `loadoffset=0,end=4`.

    An op that is not known keeps the name of its first attribute: nothing says where the one ends.
    """
    found = _GLUED.match(text)
    if found:
        return found.group(), text[found.end() :]
    op, _, attributes = text.partition("=")
    return op, attributes


def glued_heads(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """What instructions with their brackets teach: `loadoffset` → `load`.

    `pairs` are ops with the text of their attributes. A head that two ops could give is left out.
    """
    heads: dict[str, str] = {}
    doubtful: set[str] = set()
    for op, attributes in pairs:
        key, equals, _ = attributes.partition("=")
        head = op + key
        if equals and heads.setdefault(head, op) != op:
            doubtful.add(head)
    return {head: op for head, op in heads.items() if head not in doubtful}
