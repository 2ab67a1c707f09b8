"""Loops in loops: three deep, a while in a for, a for in a while, with values carried through all."""

import triton
import triton.language as tl


@triton.jit
def convolution(inp, weight, out, high, wide, BH: tl.constexpr, BW: tl.constexpr, KH: tl.constexpr):
    y = tl.program_id(0) * BH + tl.arange(0, BH)
    x = tl.program_id(1) * BW + tl.arange(0, BW)
    acc = tl.zeros((BH, BW), tl.float32)
    for channel in range(16):
        for dy in range(KH):
            for dx in range(KH):
                rows = y + dy - KH // 2
                cols = x + dx - KH // 2
                keep = ((rows >= 0) & (rows < high))[:, None] & ((cols >= 0) & (cols < wide))[None, :]
                at = (channel * high + rows)[:, None] * wide + cols[None, :]
                w = tl.load(weight + (channel * KH + dy) * KH + dx)
                acc += w * tl.load(inp + at, mask=keep, other=0.0)
    tl.store(out + y[:, None] * wide + x[None, :], acc, mask=(y < high)[:, None] & (x < wide)[None, :])


@triton.jit
def while_in_for(a, b, c, blocks, ld, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.arange(0, BM)
    rn = tl.arange(0, BN)
    rk = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for i in range(4):
        acc = tl.zeros((BM, BN), tl.float32)
        block = tl.load(blocks + i)
        while block >= 0:
            x = tl.load(a + rm[:, None] * ld + (block * BK + rk)[None, :])
            y = tl.load(b + (block * BK + rk)[:, None] * ld + rn[None, :])
            acc = tl.dot(x, y, acc)
            block = tl.load(blocks + block)
        total += acc * acc
    tl.store(c + rm[:, None] * ld + rn[None, :], total)


@triton.jit
def for_in_while(a, c, limit, ld, BM: tl.constexpr, BN: tl.constexpr):
    at = tl.arange(0, BM)[:, None] * ld + tl.arange(0, BN)[None, :]
    state = tl.load(a + at)
    turns = 0
    while tl.sum(tl.sum(state, axis=1), axis=0) < limit:
        row = tl.sum(state, axis=1)
        for i in range(8):
            state = state * 0.5 + row[:, None] + i
            row = tl.max(state, axis=1)
        state += row[:, None]
        turns += 1
    tl.store(c + at, state + turns)


KERNELS = {
    "convolution": {
        "signature": {"inp": "*fp32", "weight": "*fp32", "out": "*fp32", "high": "i32", "wide": "i32"},
        "constexprs": {"BH": 16, "BW": 32, "KH": 3},
        "divisible": ("inp", "out", "wide"),
    },
    "while_in_for": {
        "signature": {"a": "*fp16", "b": "*fp16", "c": "*fp32", "blocks": "*i32", "ld": "i32"},
        "constexprs": {"BM": 64, "BN": 64, "BK": 32},
        "divisible": ("a", "b", "c", "ld"),
    },
    "for_in_while": {
        "signature": {"a": "*fp32", "c": "*fp32", "limit": "fp32", "ld": "i32"},
        "constexprs": {"BM": 32, "BN": 64},
        "divisible": ("a", "c", "ld"),
    },
}
