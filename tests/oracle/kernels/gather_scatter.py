"""Indirect reads and writes: an embedding bag, a scatter by permutation, and tl.gather."""

import triton
import triton.language as tl


@triton.jit
def embedding_bag(table, index, offsets, out, width, BAG: tl.constexpr, WIDTH: tl.constexpr):
    bag = tl.program_id(0)
    at = tl.arange(0, WIDTH)
    first = tl.load(offsets + bag)
    last = tl.load(offsets + bag + 1)
    acc = tl.zeros((WIDTH,), tl.float32)
    for start in range(first, last, BAG):
        slot = start + tl.arange(0, BAG)
        row = tl.load(index + slot, mask=slot < last, other=0)
        x = tl.load(table + row[:, None] * width + at[None, :], mask=(slot < last)[:, None], other=0.0)
        acc += tl.sum(x.to(tl.float32), axis=0)
    tl.store(out + bag * width + at, acc)


@triton.jit
def scatter_rows(inp, to, out, width, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = tl.arange(0, WIDTH)
    target = tl.load(to + rows)
    x = tl.load(inp + rows[:, None] * width + at[None, :])
    tl.store(out + target[:, None] * width + at[None, :], x, mask=(target >= 0)[:, None])


@triton.jit
def gather_inside(inp, index, out, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
    x = tl.load(inp + at)
    i = tl.load(index + at)
    y = tl.gather(x, i, axis=1)
    z = tl.gather(y, i % ROWS, axis=0)
    tl.store(out + at, y + z)


KERNELS = {
    "embedding_bag": {
        "signature": {"table": "*fp16", "index": "*i64", "offsets": "*i64", "out": "*fp32", "width": "i32"},
        "constexprs": {"BAG": 16, "WIDTH": 128},
        "divisible": ("table", "index", "out", "width"),
    },
    "scatter_rows": {
        "signature": {"inp": "*fp32", "to": "*i32", "out": "*fp32", "width": "i32"},
        "constexprs": {"ROWS": 16, "WIDTH": 64},
        "divisible": ("inp", "to", "out", "width"),
    },
    "gather_inside": {
        "signature": {"inp": "*fp32", "index": "*i32", "out": "*fp32"},
        "constexprs": {"ROWS": 32, "WIDTH": 64},
        "divisible": ("inp", "index", "out"),
        "since": "3.2",
    },
}
