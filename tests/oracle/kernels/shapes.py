"""Shape changes: transpose, permute, reshape, join, split, cat, broadcast, interleave, a sort."""

import triton
import triton.language as tl


@triton.jit
def rotary(inp, cos, sin, out, ROWS: tl.constexpr, HEAD: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    d = tl.arange(0, HEAD)
    half = tl.arange(0, HEAD // 2)
    x = tl.load(inp + r[:, None] * HEAD + d[None, :])
    c = tl.load(cos + r[:, None] * (HEAD // 2) + half[None, :])
    s = tl.load(sin + r[:, None] * (HEAD // 2) + half[None, :])
    even, odd = tl.split(tl.reshape(x, (ROWS, HEAD // 2, 2)))
    y = tl.join(even * c - odd * s, odd * c + even * s)
    tl.store(out + r[:, None] * HEAD + d[None, :], tl.reshape(y, (ROWS, HEAD)))


@triton.jit
def transposes(inp, out, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.arange(0, BM)
    n = tl.arange(0, BN)
    x = tl.load(inp + m[:, None] * BN + n[None, :])
    y = tl.trans(x) + 1.0
    cube = tl.permute(tl.reshape(y, (BN // 4, 4, BM)), (2, 0, 1))
    flat = tl.reshape(cube, (BM, BN))
    pair = tl.interleave(flat, x)
    joined = tl.cat(m, m + BM, can_reorder=True)
    tl.store(out + m[:, None] * (2 * BN) + tl.arange(0, 2 * BN)[None, :], pair)
    tl.store(out + n[:, None] * BM + m[None, :], y)
    tl.store(out + joined, tl.sum(tl.reshape(pair, (2 * BM, BN)), axis=1))


@triton.jit
def sort_rows(inp, out, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
    x = tl.load(inp + at)
    tl.store(out + at, tl.sort(x) + tl.flip(x, 1))


KERNELS = {
    "rotary": {
        "signature": {"inp": "*fp32", "cos": "*fp32", "sin": "*fp32", "out": "*fp32"},
        "constexprs": {"ROWS": 16, "HEAD": 64},
        "divisible": ("inp", "cos", "sin", "out"),
    },
    "transposes": {
        "signature": {"inp": "*fp32", "out": "*fp32"},
        "constexprs": {"BM": 64, "BN": 32},
        "divisible": ("inp", "out"),
    },
    "sort_rows": {
        "signature": {"inp": "*fp32", "out": "*fp32"},
        "constexprs": {"ROWS": 4, "WIDTH": 32},
        "divisible": ("inp", "out"),
    },
}
