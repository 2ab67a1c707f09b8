"""Block pointers, which the front end of later versions no longer offers."""

import triton
import triton.language as tl


@triton.jit
def block_matmul(a, b, c, m, n, k, lda, ldb, ldc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0) * BM
    col = tl.program_id(1) * BN
    a_at = tl.make_block_ptr(a, (m, k), (lda, 1), (row, 0), (BM, BK), (1, 0))
    b_at = tl.make_block_ptr(b, (k, n), (ldb, 1), (0, col), (BK, BN), (1, 0))
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, k, BK):
        x = tl.load(a_at, boundary_check=(0, 1), padding_option="zero")
        y = tl.load(b_at, boundary_check=(0, 1), padding_option="zero")
        acc += tl.dot(x, y)
        a_at = tl.advance(a_at, (0, BK))
        b_at = tl.advance(b_at, (BK, 0))
    c_at = tl.make_block_ptr(c, (m, n), (ldc, 1), (row, col), (BM, BN), (1, 0))
    tl.store(c_at, acc.to(tl.float16), boundary_check=(0, 1))


_INTS = {"m": "i32", "n": "i32", "k": "i32", "lda": "i64", "ldb": "i64", "ldc": "i64"}
KERNELS = {
    "block_matmul": {
        "signature": {"a": "*fp16", "b": "*fp16", "c": "*fp16", **_INTS},
        "constexprs": {"BM": 64, "BN": 64, "BK": 32},
        "divisible": ("a", "b", "c", "lda", "ldb", "ldc"),
        "until": "3.0",
    },
}
