"""Histograms, and counts that are added up with atomics."""

import triton
import triton.language as tl


@triton.jit
def count_bytes(inp, bins, length, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.arange(0, BLOCK)
    acc = tl.zeros((BINS,), tl.int32)
    for start in range(tl.program_id(0) * BLOCK, length, BLOCK * 64):
        x = tl.load(inp + start + at, mask=start + at < length, other=0)
        acc += tl.histogram(x.to(tl.int32), BINS)
    tl.atomic_add(bins + tl.arange(0, BINS), acc)


KERNELS = {
    "count_bytes": {
        "signature": {"inp": "*i32", "bins": "*i32", "length": "i32"},
        "constexprs": {"BLOCK": 1024, "BINS": 256},
        "divisible": ("inp", "bins", "length"),
    },
}
