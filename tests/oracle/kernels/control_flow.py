"""Branches that yield tensors, inside and outside loops, and loops that end early."""

import triton
import triton.language as tl


@triton.jit
def branch_tiles(inp, mask, out, width, BM: tl.constexpr, BN: tl.constexpr):
    pid = tl.program_id(0)
    rows = pid * BM + tl.arange(0, BM)
    cols = tl.arange(0, BN)
    at = rows[:, None] * width + cols[None, :]
    kind = tl.load(mask + pid)
    if kind > 2:
        x = tl.load(inp + at)
        y = tl.sum(x, axis=1)
    elif kind > 0:
        x = tl.load(inp + cols[None, :] * width + rows[:, None])
        y = tl.max(x, axis=1)
    else:
        x = tl.zeros((BM, BN), tl.float32)
        y = tl.zeros((BM,), tl.float32)
    tl.store(out + at, x - y[:, None])


@triton.jit
def branch_in_loop(a, b, c, mask, k, lda, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    extra = tl.zeros((BM,), tl.float32)
    for start in range(0, k, BK):
        x = tl.load(a + rm[:, None] * lda + (start + rk)[None, :])
        if tl.load(mask + start) != 0:
            y = tl.load(b + (start + rk)[:, None] * lda + rn[None, :])
            acc = tl.dot(x, y, acc)
            extra += tl.sum(x.to(tl.float32), axis=1)
        else:
            extra -= 1.0
    tl.store(c + rm[:, None] * lda + rn[None, :], acc + extra[:, None])


@triton.jit
def newton_root(inp, out, limit, BLOCK: tl.constexpr):
    """A while loop that carries tensors and a scalar, and stops on a reduction."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(inp + at)
    guess = x * 0.5 + 0.5
    error = 1.0
    turns = 0
    while (error > 1.0e-6) & (turns < limit):
        better = 0.5 * (guess + x / guess)
        error = tl.max(tl.abs(better - guess), axis=0)
        guess = better
        turns += 1
    if turns == limit:
        guess = tl.full((BLOCK,), float("nan"), tl.float32)
    tl.store(out + at, guess)


KERNELS = {
    "branch_tiles": {
        "signature": {"inp": "*fp32", "mask": "*i32", "out": "*fp32", "width": "i32"},
        "constexprs": {"BM": 32, "BN": 64},
        "divisible": ("inp", "out", "width"),
        "full": True,
    },
    "branch_in_loop": {
        "signature": {"a": "*fp16", "b": "*fp16", "c": "*fp32", "mask": "*i32", "k": "i32", "lda": "i32"},
        "constexprs": {"BM": 64, "BN": 64, "BK": 32},
        "divisible": ("a", "b", "c", "k", "lda"),
    },
    "newton_root": {
        "signature": {"inp": "*fp32", "out": "*fp32", "limit": "i32"},
        "constexprs": {"BLOCK": 512},
        "divisible": ("inp", "out"),
    },
}
