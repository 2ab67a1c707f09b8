"""Scans: a sum along each axis, a linear recurrence of two operands, one in reverse."""

import triton
import triton.language as tl


@triton.jit
def _recur(a, x, b, y):
    return a * b, b * x + y


@triton.jit
def linear_recurrence(gate, inp, out, length, STEPS: tl.constexpr, WIDTH: tl.constexpr):
    t = tl.arange(0, STEPS)
    w = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    state = tl.zeros((WIDTH,), tl.float32)
    for start in range(0, length, STEPS):
        at = (start + t)[:, None] * length + w[None, :]
        g = tl.load(gate + at)
        x = tl.load(inp + at)
        decay, h = tl.associative_scan((g, x), 0, _recur)
        h += decay * state[None, :]
        tl.store(out + at, h)
        last = (t == STEPS - 1)[:, None]
        state = tl.sum(tl.where(last, h, 0.0), axis=0)


@triton.jit
def running_sums(inp, out, BM: tl.constexpr, BN: tl.constexpr):
    at = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    x = tl.load(inp + at)
    down = tl.cumsum(x, axis=0)
    back = tl.cumsum(x, axis=1, reverse=True)
    tl.store(out + at, down * back + tl.cumprod(x, axis=1))


KERNELS = {
    "linear_recurrence": {
        "signature": {"gate": "*fp32", "inp": "*fp32", "out": "*fp32", "length": "i32"},
        "constexprs": {"STEPS": 32, "WIDTH": 64},
        "divisible": ("gate", "inp", "out", "length"),
    },
    "running_sums": {
        "signature": {"inp": "*fp32", "out": "*fp32"},
        "constexprs": {"BM": 32, "BN": 128},
        "divisible": ("inp", "out"),
    },
}
