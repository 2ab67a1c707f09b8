"""A product of microscaled operands: two fp8 values and one with packed fp4."""

import triton
import triton.language as tl


@triton.jit
def scaled_matmul(a, a_scale, b, b_scale, c, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    half = tl.arange(0, BK // 2)
    rs = tl.arange(0, BK // 32)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        x = tl.load(a + rm[:, None] * k + (start + rk)[None, :])
        y = tl.load(b + (start // 2 + half)[:, None] + rn[None, :] * (k // 2))
        xs = tl.load(a_scale + rm[:, None] * (k // 32) + (start // 32 + rs)[None, :])
        ys = tl.load(b_scale + rn[:, None] * (k // 32) + (start // 32 + rs)[None, :])
        acc = tl.dot_scaled(x, xs, "e4m3", y, ys, "e2m1", acc)
    tl.store(c + rm[:, None] * BN + rn[None, :], acc)


KERNELS = {
    "scaled_matmul": {
        "signature": {
            "a": "*u8", "a_scale": "*u8", "b": "*u8", "b_scale": "*u8", "c": "*fp32", "k": "i32",
        },
        "constexprs": {"BM": 128, "BN": 128, "BK": 128},
        "divisible": ("a", "a_scale", "b", "b_scale", "c", "k"),
        "targets": ("hip:gfx942", "hip:gfx950", "hip:gfx1250>=3.5", "cuda:90", "cuda:100"),
        "since": "3.4",
    },
}  # fmt: skip
