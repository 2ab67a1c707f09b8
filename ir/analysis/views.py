"""Which MIGraphX instructions make no buffer of their own: views, and kernels that write into a given one."""

from __future__ import annotations

from typing import Final

from ..program import Op, Value, symbol

# Ops whose result is another look at the bytes of their first operand.
VIEWS: Final = frozenset(
    {
        "multibroadcast", "broadcast", "broadcast_with_dims", "reshape_lazy", "reshape", "transpose", "slice",
        "squeeze", "unsqueeze", "flatten", "step", "as_shape", "scalar", "identity", "get_tuple_elem",
        "bit_cast", "nonpacked_reshape", "unpack",
        # One weight within a batch that was copied by one transfer (see passes/streaming).
        "hip::view_bytes",
        # These wait for the stream and hand on what they were given.
        "hip::sync_stream", "gpu::sync_stream",
    }
)  # fmt: skip
# `load` cuts a buffer out of an arena; these make, or stand for, memory of their own.
_SOURCES: Final = frozenset(
    {
        "@param", "@literal", "@return", "load", "hip::hip_allocate_memory", "hip::allocate", "allocate",
        "hip::hip_copy_literal", "hip::hip_load_memory", "hip::load_literal", "check_context",
    }
)  # fmt: skip
_COPIES_TO_GPU: Final = frozenset({"hip::copy_to_gpu", "hip::hip_copy_to_gpu", "hip::copy_batch_to_gpu"})
_DEEPEST_CUT: Final = 16
"""Buffers are looked for through so many cuts out of one another."""
_NO_WORK: Final = frozenset(
    {
        "gpu::set_stream", "gpu::record_event", "gpu::wait_event", "hip::sync_device", "hip::set_stream",
        "undefined",
    }
)  # fmt: skip


def is_view(op: Op) -> bool:
    """Whether the op only looks at its first operand's bytes in another way."""
    return op.name in VIEWS


def is_copy_to_gpu(op: Op) -> bool:
    """Whether the op copies from the host into a device buffer (its last operand)."""
    return op.name in _COPIES_TO_GPU


def is_kernel(op: Op) -> bool:
    """Whether the op launches work on the GPU's compute units.

    Code objects, library calls (`gpu::convolution`, `gpu::gemm`, `gpu::pooling`, …) and any other op of the
    `gpu::` or `hip::` dialects that is no copy, allocation, view or stream instruction.
    """
    name = op.name
    if not name.startswith(("gpu::", "hip::")) or name in _SOURCES or name in _NO_WORK or name in VIEWS:
        return False
    return "copy" not in name and "allocate" not in name and not name.startswith("hip::hip_")


def written_operand(op: Op) -> int | None:
    """The operand whose buffer the op writes and hands on as its result, or None.

    `output_arg=N` names it; otherwise it is the last one, for kernels and copies that were given a buffer.
    """
    if not op.operands or op.name in _SOURCES or is_view(op) or op.name in _NO_WORK:
        return None
    named = op.attributes.get("output_arg", "")
    if named.isdecimal() and int(named[:6]) < len(op.operands):
        return int(named[:6])
    if is_copy_to_gpu(op) and len(op.operands) == 1:
        return None  # it makes the buffer that it copies into
    if is_kernel(op) or is_copy_to_gpu(op) or op.name.startswith("hip::"):
        return len(op.operands) - 1
    return None


def aliased_operand(op: Op) -> int | None:
    """The operand whose bytes the op's result shares: a view's first, the written one of a kernel or copy."""
    if is_view(op):
        return 0 if op.operands else None
    return written_operand(op)


Roots = dict[int, Value]
"""What `buffer_of` found so far, by the identity of the value asked for."""


def buffer_of(value: Value, known: Roots | None = None) -> Value:
    """The value that made the bytes: followed through views, kernels and copies to a `load` or parameter.

    `known` keeps the answers for all values on the way, so that asking for each value of a long chain takes
    no longer than the chain.
    """
    seen: set[int] = set()
    known = {} if known is None else known
    while id(value) not in seen:
        if id(value) in known:
            value = known[id(value)]
            break
        seen.add(id(value))
        op = value.op
        index = aliased_operand(op) if op is not None else None
        if op is None or index is None:
            break
        value = op.operands[index]
    known.update(dict.fromkeys(seen, value))
    return value


def outer_load(load: Op, known: Roots | None = None) -> tuple[Op, int]:
    """The `load` of an arena that a `load` is cut out of (usually itself), and where in that it begins.

    The pieces of a concatenation are cut out of one buffer, which is cut out of the arena. The place is in
    bytes from the beginning of that buffer.
    """
    offset = 0
    for _ in range(_DEEPEST_CUT):
        base = buffer_of(load.operands[0], known).op if load.operands else None
        if base is None or base.name != "load":
            break
        text = load.attributes.get("offset", "")
        offset += int(text) if text.isdecimal() and len(text) < 20 else 0
        load = base
    return load, offset


def captured(op: Op) -> list[Value]:
    """Values from outside that the modules which an instruction calls (`if`, `loop`) read."""
    names = [name.strip() for name in op.attributes.get("modules", "").split(",") if name.strip()]
    here = op.parent
    # A code object is machine code: it reads what it is given and nothing else.
    if not names or here is None or here.block is None or op.name == "gpu::code_object":
        return []
    modules = {symbol(each): each for each in here.block.ops if each.name == "module"}
    found: dict[int, Value] = {}
    seen: set[str] = set()
    while names:
        name = names.pop()
        module = modules.get(name)
        if name in seen or module is None:
            continue
        seen.add(name)
        for inner in _body(module):
            names += [each.strip() for each in inner.attributes.get("modules", "").split(",") if each.strip()]
            for value in inner.operands:
                owner = value.op
                if owner is not None and owner.parent is here:
                    found[id(value)] = value
    return list(found.values())


def _body(module: Op) -> list[Op]:
    return [op for region in module.regions for block in region.blocks for op in block.ops]
