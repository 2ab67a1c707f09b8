"""Loops that the compiler pipelines with asynchronous copies: several loads a turn, one indirect."""

import triton
import triton.language as tl


@triton.jit
def expert_matmul(a, rows, b, c, k, lda, ldb, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Rows of A are picked through an index, as a mixture of experts does."""
    rm = tl.load(rows + tl.program_id(0) * BM + tl.arange(0, BM))
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in tl.range(0, k, BK, num_stages=4):
        x = tl.load(a + rm[:, None] * lda + (start + rk)[None, :])
        y = tl.load(b + (start + rk)[:, None] * ldb + rn[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + rm[:, None] * ldb + rn[None, :], acc.to(tl.float16))


@triton.jit
def indirect_blocks(a, b, table, c, count, ld, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Block-sparse: the block of B comes from a table that the same loop reads."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in tl.range(0, count, num_stages=3):
        block = tl.load(table + i)
        x = tl.load(a + rm[:, None] * ld + (block * BK + rk)[None, :])
        y = tl.load(b + (block * BK + rk)[:, None] * ld + rn[None, :])
        acc += tl.dot(x, y)
    tl.store(c + rm[:, None] * ld + rn[None, :], acc)


KERNELS = {
    "expert_matmul": {
        "signature": {
            "a": "*fp16", "rows": "*i32", "b": "*fp16", "c": "*fp16", "k": "i32", "lda": "i32", "ldb": "i32",
        },
        "constexprs": {"BM": 64, "BN": 128, "BK": 64},
        "divisible": ("a", "rows", "b", "c", "k", "lda", "ldb"),
        "targets": ("hip:gfx942", "hip:gfx950>=3.4", "hip:gfx1250>=3.5", "cuda:80", "cuda:90", "cuda:100>=3.4"),
    },
    "indirect_blocks": {
        "signature": {"a": "*fp16", "b": "*fp16", "table": "*i32", "c": "*fp32", "count": "i32", "ld": "i32"},
        "constexprs": {"BM": 64, "BN": 64, "BK": 64},
        "divisible": ("a", "b", "table", "c", "ld"),
    },
}  # fmt: skip
