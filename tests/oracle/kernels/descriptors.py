"""Tensor descriptors (TMA): a matrix product and a transposing copy, made in the kernel."""

import triton
import triton.language as tl


@triton.jit
def descriptor_matmul(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    a_desc = tl.make_tensor_descriptor(a, shape=[m, k], strides=[k, 1], block_shape=[BM, BK])
    b_desc = tl.make_tensor_descriptor(b, shape=[n, k], strides=[k, 1], block_shape=[BN, BK])
    c_desc = tl.make_tensor_descriptor(c, shape=[m, n], strides=[n, 1], block_shape=[BM, BN])
    row = tl.program_id(0) * BM
    col = tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        acc = tl.dot(a_desc.load([row, start]), b_desc.load([col, start]).T, acc)
    c_desc.store([row, col], acc.to(tl.float16))


@triton.jit
def descriptor_gather(src, index, out, rows, width, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    desc = tl.make_tensor_descriptor(src, shape=[rows, width], strides=[width, 1], block_shape=[ROWS, WIDTH])
    to = tl.make_tensor_descriptor(out, shape=[rows, width], strides=[width, 1], block_shape=[ROWS, WIDTH])
    acc = tl.zeros((ROWS, WIDTH), tl.float32)
    for i in range(0, rows, ROWS):
        scale = tl.load(index + i + tl.arange(0, ROWS))
        acc += desc.load([i, 0]) * scale[:, None]
    to.store([0, 0], acc)


@triton.jit
def descriptor_rows(src, index, out, rows, width, COUNT: tl.constexpr, WIDTH: tl.constexpr):
    """Rows picked by an index, written to picked rows, and added to a block."""
    one = tl.make_tensor_descriptor(src, shape=[rows, width], strides=[width, 1], block_shape=[1, WIDTH])
    to = tl.make_tensor_descriptor(out, shape=[rows, width], strides=[width, 1], block_shape=[1, WIDTH])
    block = tl.make_tensor_descriptor(
        out, shape=[rows, width], strides=[width, 1], block_shape=[COUNT, WIDTH]
    )
    picked = tl.load(index + tl.arange(0, COUNT))
    x = one.gather(picked, tl.program_id(0) * WIDTH)
    to.scatter(x * 2.0, picked + 1, tl.program_id(0) * WIDTH)
    block.atomic_add([0, tl.program_id(0) * WIDTH], x)


KERNELS = {
    "descriptor_matmul": {
        "signature": {"a": "*fp16", "b": "*fp16", "c": "*fp16", "m": "i32", "n": "i32", "k": "i32"},
        "constexprs": {"BM": 128, "BN": 128, "BK": 64},
        "divisible": ("a", "b", "c", "m", "n", "k"),
        "options": ({}, {"num_warps": 8}),
        "targets": ("hip:gfx942", "hip:gfx1250>=3.5", "cuda:90", "cuda:100"),
        "since": "3.4",
    },
    "descriptor_rows": {
        "signature": {"src": "*fp32", "index": "*i32", "out": "*fp32", "rows": "i32", "width": "i32"},
        "constexprs": {"COUNT": 32, "WIDTH": 64},
        "divisible": ("src", "index", "out", "rows", "width"),
        "targets": ("hip:gfx942", "cuda:90", "cuda:100"),
        "since": "3.4",
    },
    "descriptor_gather": {
        "signature": {"src": "*fp32", "index": "*fp32", "out": "*fp32", "rows": "i32", "width": "i32"},
        "constexprs": {"ROWS": 32, "WIDTH": 64},
        "divisible": ("src", "index", "out", "rows", "width"),
        "since": "3.4",
    },
}
