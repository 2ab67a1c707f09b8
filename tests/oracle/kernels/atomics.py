"""Atomics: a spin lock around a reduction, and read-modify-write of several kinds."""

import triton
import triton.language as tl


@triton.jit
def locked_add(inp, out, lock, width, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = tl.arange(0, WIDTH)
    part = tl.sum(tl.load(inp + r[:, None] * width + at[None, :]), axis=0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    count = tl.load(lock + 1)
    if count == 0:
        tl.atomic_xchg(lock + 1, 1)
    else:
        part += tl.load(out + at)
    tl.store(out + at, part)
    tl.atomic_xchg(lock, 0)


@triton.jit
def atomic_kinds(inp, out, ints, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(inp + at)
    before = tl.atomic_add(out + at % 64, x)
    i = before.to(tl.int32)
    tl.atomic_max(ints + at % 32, i)
    tl.atomic_or(ints + at % 16, i, mask=i > 0)
    seen = tl.atomic_cas(ints + at, i, i + 1)
    tl.store(inp + at, seen.to(tl.float32))


KERNELS = {
    "locked_add": {
        "signature": {"inp": "*fp32", "out": "*fp32", "lock": "*i32", "width": "i32"},
        "constexprs": {"ROWS": 32, "WIDTH": 64},
        "divisible": ("inp", "out", "width"),
    },
    "atomic_kinds": {
        "signature": {"inp": "*fp32", "out": "*fp32", "ints": "*i32"},
        "constexprs": {"BLOCK": 512},
        "divisible": ("inp", "out", "ints"),
    },
}
