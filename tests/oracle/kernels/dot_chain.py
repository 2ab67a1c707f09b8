"""Chains of matrix products: a gated feed-forward block, and a product of three in one loop."""

import triton
import triton.language as tl


@triton.jit
def gated_ffn(
    x, w1, w2, w3, out, k, ld, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, BO: tl.constexpr
):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.arange(0, BN)
    rk = tl.arange(0, BK)
    ro = tl.arange(0, BO)
    gate = tl.zeros((BM, BN), tl.float32)
    up = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        a = tl.load(x + rm[:, None] * ld + (start + rk)[None, :])
        gate = tl.dot(a, tl.load(w1 + (start + rk)[:, None] * ld + rn[None, :]), gate)
        up = tl.dot(a, tl.load(w2 + (start + rk)[:, None] * ld + rn[None, :]), up)
    h = gate / (1.0 + tl.exp(-gate)) * up
    down = tl.dot(h.to(tl.float16), tl.load(w3 + rn[:, None] * ld + ro[None, :]))
    tl.store(out + rm[:, None] * ld + ro[None, :], down.to(tl.float16))


@triton.jit
def three_products(a, b, c, out, k, ld, BM: tl.constexpr, BK: tl.constexpr):
    r = tl.arange(0, BM)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BM), tl.float32)
    right = tl.load(c + r[:, None] * ld + r[None, :])
    for start in range(0, k, BK):
        x = tl.load(a + r[:, None] * ld + (start + rk)[None, :])
        y = tl.load(b + (start + rk)[:, None] * ld + r[None, :])
        p = tl.dot(x, y).to(tl.bfloat16)
        acc += tl.dot(p, right) + tl.dot(tl.trans(p), right)
    tl.store(out + r[:, None] * ld + r[None, :], acc)


KERNELS = {
    "gated_ffn": {
        "signature": {
            "x": "*fp16", "w1": "*fp16", "w2": "*fp16", "w3": "*fp16", "out": "*fp16", "k": "i32", "ld": "i32",
        },
        "constexprs": {"BM": 64, "BN": 64, "BK": 32, "BO": 64},
        "divisible": ("x", "w1", "w2", "w3", "out", "k", "ld"),
    },
    "three_products": {
        "signature": {"a": "*bf16", "b": "*bf16", "c": "*bf16", "out": "*fp32", "k": "i32", "ld": "i32"},
        "constexprs": {"BM": 64, "BK": 32},
        "divisible": ("a", "b", "c", "out", "k", "ld"),
    },
}  # fmt: skip
