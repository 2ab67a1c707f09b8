"""Reductions with several operands: arg-max, mean and variance together, a scalar from a tile."""

import triton
import triton.language as tl


@triton.jit
def _welford(mean_a, m2_a, n_a, mean_b, m2_b, n_b):
    n = n_a + n_b
    delta = mean_b - mean_a
    share = tl.where(n == 0.0, 0.0, n_b / n)
    return mean_a + delta * share, m2_a + m2_b + delta * delta * n_a * share, n


@triton.jit
def _larger(x, i, y, j):
    take = (x > y) | ((x == y) & (i < j))
    return tl.where(take, x, y), tl.where(take, i, j)


@triton.jit
def arg_max(inp, values, places, cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = tl.arange(0, BLOCK)
    best = tl.full((ROWS,), -1.0e30, tl.float32)
    where = tl.zeros((ROWS,), tl.int32)
    for start in range(0, cols, BLOCK):
        x = tl.load(inp + rows[:, None] * cols + (start + at)[None, :])
        index = tl.broadcast_to((start + at)[None, :], (ROWS, BLOCK))
        v, i = tl.reduce((x, index), 1, _larger)
        take = v > best
        best = tl.where(take, v, best)
        where = tl.where(take, i, where)
    tl.store(values + rows, best)
    tl.store(places + rows, where + tl.argmax(best, axis=0))


@triton.jit
def moments(inp, mean, var, cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = tl.arange(0, BLOCK)
    x = tl.load(inp + rows[:, None] * cols + at[None, :]).to(tl.float32)
    m, s, n = tl.reduce((x, tl.zeros_like(x), tl.full((ROWS, BLOCK), 1.0, tl.float32)), 1, _welford)
    tl.store(mean + rows, m)
    tl.store(var + rows, s / n)


@triton.jit
def norm_all(inp, out, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.arange(0, BM)
    x = tl.load(inp + rows[:, None] * BN + tl.arange(0, BN)[None, :])
    total = tl.sum(tl.sum(x * x, axis=1), axis=0)
    column = tl.max(x, axis=0)
    tl.store(inp + rows[:, None] * BN + tl.arange(0, BN)[None, :], x / tl.sqrt(total) + column[None, :])
    tl.store(out, total)


KERNELS = {
    "arg_max": {
        "signature": {"inp": "*fp32", "values": "*fp32", "places": "*i32", "cols": "i32"},
        "constexprs": {"ROWS": 16, "BLOCK": 128},
        "divisible": ("inp", "values", "places", "cols"),
    },
    "moments": {
        "signature": {"inp": "*bf16", "mean": "*fp32", "var": "*fp32", "cols": "i32"},
        "constexprs": {"ROWS": 4, "BLOCK": 512},
        "divisible": ("inp", "mean", "var", "cols"),
    },
    "norm_all": {
        "signature": {"inp": "*fp32", "out": "*fp32"},
        "constexprs": {"BM": 32, "BN": 64},
        "divisible": ("inp",),
    },
}
