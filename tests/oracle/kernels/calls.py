"""Functions that are not inlined, inline assembly, printing and assertions."""

import triton
import triton.language as tl


@triton.jit(noinline=True)
def _smooth(x, y):
    return tl.where(x > y, x * 0.9 + y * 0.1, y)


@triton.jit
def checked_update(inp, out, length, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < length
    x = tl.load(inp + at, mask=keep, other=0.0)
    y = tl.load(out + at, mask=keep, other=0.0)
    tl.device_assert(x < 1.0e9, "too large")
    tl.device_print("row", x)
    first = tl.load(inp)
    second = _smooth(first, tl.load(out))
    tl.static_assert(BLOCK >= 64)
    tl.debug_barrier()
    tl.store(out + at, tl.math.fma(x, y, second), mask=keep)


@triton.jit
def inline_assembly(inp, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(inp + at)
    y = tl.inline_asm_elementwise(
        "shf.l.wrap.b32 $0, $1, $1, 7;", "=r,r", [x], dtype=tl.int32, is_pure=True, pack=1
    )
    tl.store(out + at, y)


KERNELS = {
    "checked_update": {
        "signature": {"inp": "*fp32", "out": "*fp32", "length": "i32"},
        "constexprs": {"BLOCK": 256},
        "divisible": ("inp", "out"),
        "options": ({"debug": True},),
    },
    "inline_assembly": {
        "signature": {"inp": "*i32", "out": "*i32"},
        "constexprs": {"BLOCK": 256},
        "divisible": ("inp", "out"),
        "targets": ("cuda:90",),
    },
}
