"""Loops that the compiler splits over groups of warps (Hopper and Blackwell)."""

import triton
import triton.language as tl


@triton.jit
def specialised_matmul(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    a_desc = tl.make_tensor_descriptor(a, shape=[m, k], strides=[k, 1], block_shape=[BM, BK])
    b_desc = tl.make_tensor_descriptor(b, shape=[n, k], strides=[k, 1], block_shape=[BN, BK])
    c_desc = tl.make_tensor_descriptor(c, shape=[m, n], strides=[n, 1], block_shape=[BM, BN])
    row = tl.program_id(0) * BM
    col = tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for i in tl.range(0, tl.cdiv(k, BK), num_stages=3, warp_specialize=True):
        x = a_desc.load([row, i * BK])
        y = b_desc.load([col, i * BK])
        acc = tl.dot(x, y.T, acc)
    c_desc.store([row, col], acc.to(tl.float16))


@triton.jit
def specialised_attention(q, k, v, out, length, BM: tl.constexpr, BN: tl.constexpr, HEAD: tl.constexpr):
    shape = [length, HEAD]
    q_desc = tl.make_tensor_descriptor(q, shape=shape, strides=[HEAD, 1], block_shape=[BM, HEAD])
    k_desc = tl.make_tensor_descriptor(k, shape=shape, strides=[HEAD, 1], block_shape=[BN, HEAD])
    v_desc = tl.make_tensor_descriptor(v, shape=shape, strides=[HEAD, 1], block_shape=[BN, HEAD])
    o_desc = tl.make_tensor_descriptor(out, shape=shape, strides=[HEAD, 1], block_shape=[BM, HEAD])
    first = tl.program_id(0) * BM
    query = q_desc.load([first, 0])
    top = tl.full((BM,), -1.0e30, tl.float32)
    total = tl.full((BM,), 1.0, tl.float32)
    acc = tl.zeros((BM, HEAD), tl.float32)
    for start in tl.range(0, length, BN, warp_specialize=True):
        s = tl.dot(query, k_desc.load([start, 0]).T)
        new_top = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new_top[:, None])
        shrink = tl.exp2(top - new_top)
        total = total * shrink + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), v_desc.load([start, 0]), acc * shrink[:, None])
        top = new_top
    o_desc.store([first, 0], (acc / total[:, None]).to(tl.float16))


KERNELS = {
    "specialised_matmul": {
        "signature": {"a": "*fp16", "b": "*fp16", "c": "*fp16", "m": "i32", "n": "i32", "k": "i32"},
        "constexprs": {"BM": 128, "BN": 128, "BK": 64},
        "divisible": ("a", "b", "c", "m", "n", "k"),
        "targets": ("hip:gfx942", "cuda:90", "cuda:100"),
        "since": "3.4",
    },
    "specialised_attention": {
        "signature": {"q": "*fp16", "k": "*fp16", "v": "*fp16", "out": "*fp16", "length": "i32"},
        "constexprs": {"BM": 128, "BN": 64, "HEAD": 64},
        "divisible": ("q", "k", "v", "out", "length"),
        "targets": ("cuda:90", "cuda:100"),
        "since": "3.4",
    },
}
