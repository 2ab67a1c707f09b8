"""Row softmax: once with a row in registers, once online over blocks of a long row."""

import triton
import triton.language as tl


@triton.jit
def softmax_row(out, inp, row_stride, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    keep = at < cols
    x = tl.load(inp + row * row_stride + at, mask=keep, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out + row * row_stride + at, e / tl.sum(e, axis=0), mask=keep)


@triton.jit
def softmax_online(out, inp, row_stride, cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = tl.arange(0, BLOCK)
    base = inp + rows[:, None] * row_stride
    top = tl.full((ROWS,), -1.0e30, tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    for start in range(0, cols, BLOCK):
        x = tl.load(base + (start + at)[None, :], mask=(start + at)[None, :] < cols, other=-1.0e30)
        new_top = tl.maximum(top, tl.max(x, axis=1))
        total = total * tl.exp(top - new_top) + tl.sum(tl.exp(x - new_top[:, None]), axis=1)
        top = new_top
    for start in range(0, cols, BLOCK):
        keep = (start + at)[None, :] < cols
        x = tl.load(base + (start + at)[None, :], mask=keep, other=-1.0e30)
        y = tl.exp(x - top[:, None]) / total[:, None]
        tl.store(out + rows[:, None] * row_stride + (start + at)[None, :], y, mask=keep)


KERNELS = {
    "softmax_row": {
        "signature": {"out": "*fp32", "inp": "*fp32", "row_stride": "i32", "cols": "i32"},
        "constexprs": {"BLOCK": 1024},
        "divisible": ("out", "inp", "row_stride", "cols"),
        "full": True,
    },
    "softmax_online": {
        "signature": {"out": "*fp32", "inp": "*fp32", "row_stride": "i32", "cols": "i32"},
        "constexprs": {"ROWS": 8, "BLOCK": 256},
        "divisible": ("out", "inp", "row_stride"),
    },
}
