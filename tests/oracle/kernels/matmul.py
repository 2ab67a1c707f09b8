"""Tiled matrix product with grouped tiles, a bias and an activation chosen at compile time."""

import triton
import triton.language as tl


@triton.jit
def matmul_bias(
    a, b, bias, c, m, n, k, stride_am, stride_bk, stride_cm,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, GELU: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    tiles_n = tl.cdiv(n, BN)
    group = pid // (GROUP * tiles_n)
    first = group * GROUP
    height = min(tl.cdiv(m, BM) - first, GROUP)
    pm = first + (pid % (GROUP * tiles_n)) % height
    pn = (pid % (GROUP * tiles_n)) // height
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a_at = a + (rm % m)[:, None] * stride_am + rk[None, :]
    b_at = b + rk[:, None] * stride_bk + (rn % n)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for left in range(k, 0, -BK):
        x = tl.load(a_at, mask=rk[None, :] < left, other=0.0)
        y = tl.load(b_at, mask=rk[:, None] < left, other=0.0)
        acc += tl.dot(x, y)
        a_at += BK
        b_at += BK * stride_bk
    acc += tl.load(bias + rn, mask=rn < n, other=0.0)[None, :]
    if GELU:
        acc = acc * (1.0 / (1.0 + tl.exp(-1.702 * acc)))
    keep = (rm < m)[:, None] & (rn < n)[None, :]
    tl.store(c + rm[:, None] * stride_cm + rn[None, :], acc.to(tl.float16), mask=keep)


@triton.jit
def matmul_tn(a, b, c, k, lda, ldb, ldc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A is stored transposed, and B is int8 that is scaled while it is read."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        x = tl.load(a + (start + rk)[:, None] * lda + rm[None, :])
        y = tl.load(b + (start + rk)[:, None] * ldb + rn[None, :]).to(tl.float16) * 0.125
        acc = tl.dot(tl.trans(x), y.to(tl.float16), acc)
    tl.store(c + rm[:, None] * ldc + rn[None, :], acc)


_SIZES = {"m": "i32", "n": "i32", "k": "i32", "stride_am": "i32", "stride_bk": "i32", "stride_cm": "i32"}
KERNELS = {
    "matmul_bias": {
        "signature": {"a": "*fp16", "b": "*fp16", "bias": "*fp32", "c": "*fp16", **_SIZES},
        "constexprs": {"BM": 128, "BN": 128, "BK": 32, "GROUP": 8, "GELU": True},
        "divisible": ("a", "b", "bias", "c", "m", "n", "k", "stride_am", "stride_bk", "stride_cm"),
        "targets": ("hip:gfx942", "hip:gfx950>=3.4", "hip:gfx1100", "cuda:80", "cuda:90", "cuda:100>=3.4"),
        "options": ({}, {"num_stages": 1}, {"num_stages": 3}, {"num_warps": 8}),
    },
    "matmul_tn": {
        "signature": {
            "a": "*fp16",
            "b": "*i8",
            "c": "*fp32",
            "k": "i32",
            "lda": "i32",
            "ldb": "i32",
            "ldc": "i32",
        },
        "constexprs": {"BM": 64, "BN": 64, "BK": 64},
        "divisible": ("a", "b", "c", "k", "lda", "ldb", "ldc"),
    },
}
