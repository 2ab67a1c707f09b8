"""A persistent matrix product: a program works through tiles in a while loop."""

import triton
import triton.language as tl


@triton.jit
def persistent_matmul(
    a, b, c, m, n, k, lda, ldb, ldc, programs,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    tile = tl.program_id(0)
    wide = tl.cdiv(n, BN)
    tiles = tl.cdiv(m, BM) * wide
    rk = tl.arange(0, BK)
    while tile < tiles:
        rm = (tile // wide) * BM + tl.arange(0, BM)
        rn = (tile % wide) * BN + tl.arange(0, BN)
        a_at = a + rm[:, None] * lda + rk[None, :]
        b_at = b + rk[:, None] * ldb + rn[None, :]
        acc = tl.zeros((BM, BN), tl.float32)
        for start in range(tl.cdiv(k, BK)):
            x = tl.load(a_at, mask=rk[None, :] < k - start * BK, other=0.0)
            y = tl.load(b_at, mask=rk[:, None] < k - start * BK, other=0.0)
            acc = tl.dot(x, y, acc)
            a_at += BK
            b_at += BK * ldb
        keep = (rm < m)[:, None] & (rn < n)[None, :]
        tl.store(c + rm[:, None] * ldc + rn[None, :], acc.to(tl.float16), mask=keep)
        tile += programs


@triton.jit
def stream_k(a, b, c, k, lda, ldb, ldc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """The inner loop is a while whose accumulator and pointers are carried."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a_at = a + rm[:, None] * lda + rk[None, :]
    b_at = b + rk[:, None] * ldb + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    left = k
    while left > 0:
        x = tl.load(a_at, mask=rk[None, :] < left, other=0.0)
        y = tl.load(b_at, mask=rk[:, None] < left, other=0.0)
        acc += tl.dot(x, y)
        a_at += BK
        b_at += BK * ldb
        left -= BK
    tl.atomic_add(c + rm[:, None] * ldc + rn[None, :], acc)


_INTS = {"k": "i32", "lda": "i32", "ldb": "i32", "ldc": "i32"}
KERNELS = {
    "persistent_matmul": {
        "signature": {
            "a": "*fp16",
            "b": "*fp16",
            "c": "*fp16",
            "m": "i32",
            "n": "i32",
            **_INTS,
            "programs": "i32",
        },
        "constexprs": {"BM": 128, "BN": 64, "BK": 64},
        "divisible": ("a", "b", "c", "m", "n", "k", "lda", "ldb", "ldc"),
        "targets": ("hip:gfx942", "cuda:80", "cuda:90", "cuda:100>=3.4"),
        "options": ({}, {"num_stages": 1}, {"num_warps": 8}),
    },
    "stream_k": {
        "signature": {"a": "*fp16", "b": "*fp16", "c": "*fp32", **_INTS},
        "constexprs": {"BM": 64, "BN": 64, "BK": 32},
        "divisible": ("a", "b", "c", "k", "lda", "ldb", "ldc"),
    },
}
