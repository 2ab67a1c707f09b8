"""Attention with an online softmax, causal or not, and a decoding step over a paged cache."""

import triton
import triton.language as tl


@triton.jit
def _inner(acc, total, top, q, k_at, v_at, lo, hi, rows, ldk, MASKED: tl.constexpr, BN: tl.constexpr):
    cols = tl.arange(0, BN)
    for start in range(lo, hi, BN):
        k = tl.load(k_at + start * ldk)
        s = tl.dot(q, k)
        if MASKED:
            s = tl.where(rows[:, None] >= (start + cols)[None, :], s, -1.0e6)
        new_top = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new_top[:, None])
        scale = tl.exp2(top - new_top)
        total = total * scale + tl.sum(p, 1)
        acc = acc * scale[:, None]
        v = tl.load(v_at + start * ldk)
        acc = tl.dot(p.to(tl.float16), v, acc)
        top = new_top
    return acc, total, top


@triton.jit
def attention(q, k, v, out, scale, ldk, length, BM: tl.constexpr, BN: tl.constexpr, HEAD: tl.constexpr):
    first = tl.program_id(0) * BM
    rows = first + tl.arange(0, BM)
    cols = tl.arange(0, BN)
    d = tl.arange(0, HEAD)
    top = tl.full((BM,), -1.0e30, tl.float32)
    total = tl.full((BM,), 1.0, tl.float32)
    acc = tl.zeros((BM, HEAD), tl.float32)
    query = tl.load(q + rows[:, None] * ldk + d[None, :])
    query = (query * scale).to(tl.float16)
    k_at = k + cols[None, :] * ldk + d[:, None]
    v_at = v + cols[:, None] * ldk + d[None, :]
    acc, total, top = _inner(acc, total, top, query, k_at, v_at, 0, first, rows, ldk, False, BN)
    acc, total, top = _inner(acc, total, top, query, k_at, v_at, first, first + BM, rows, ldk, True, BN)
    acc = acc / total[:, None]
    tl.store(out + rows[:, None] * ldk + d[None, :], acc.to(tl.float16))


@triton.jit
def paged_decode(q, cache, pages, out, count, PAGE: tl.constexpr, HEAD: tl.constexpr):
    d = tl.arange(0, HEAD)
    slot = tl.arange(0, PAGE)
    query = tl.load(q + tl.program_id(0) * HEAD + d).to(tl.float32)
    acc = tl.zeros((HEAD,), tl.float32)
    top = -1.0e30
    total = 0.0
    for i in range(count):
        page = tl.load(pages + i)
        x = tl.load(cache + (page * PAGE + slot)[:, None] * HEAD + d[None, :]).to(tl.float32)
        s = tl.sum(x * query[None, :], axis=1)
        new_top = tl.maximum(top, tl.max(s, axis=0))
        p = tl.exp(s - new_top)
        shrink = tl.exp(top - new_top)
        acc = acc * shrink + tl.sum(x * p[:, None], axis=0)
        total = total * shrink + tl.sum(p, axis=0)
        top = new_top
    tl.store(out + tl.program_id(0) * HEAD + d, (acc / total).to(tl.float16))


KERNELS = {
    "attention": {
        "signature": {
            "q": "*fp16", "k": "*fp16", "v": "*fp16", "out": "*fp16", "scale": "fp32", "ldk": "i32", "length": "i32",
        },
        "constexprs": {"BM": 64, "BN": 64, "HEAD": 64},
        "divisible": ("q", "k", "v", "out", "ldk"),
        "targets": ("hip:gfx942", "hip:gfx950>=3.4", "hip:gfx1100", "cuda:80", "cuda:90", "cuda:100>=3.4"),
        "options": ({}, {"num_stages": 1}, {"num_warps": 8}),
    },
    "paged_decode": {
        "signature": {"q": "*fp16", "cache": "*fp16", "pages": "*i32", "out": "*fp16", "count": "i32"},
        "constexprs": {"PAGE": 32, "HEAD": 128},
        "divisible": ("q", "cache", "pages", "out"),
    },
}  # fmt: skip
