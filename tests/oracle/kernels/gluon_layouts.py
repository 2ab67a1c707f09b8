"""Gluon kernels: layouts written by hand, shared memory, asynchronous copies, groups of warps."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton.experimental.gluon.language.nvidia.hopper import mbarrier

SOURCE_CLASS = gluon.GluonASTSource


@gluon.jit
def transpose_shared(inp, out, ld, BM: gl.constexpr, BN: gl.constexpr, LANES: gl.constexpr):
    rows: gl.constexpr = gl.BlockedLayout([1, 4], [LANES // 8, 8], [4, 1], [1, 0])
    cols: gl.constexpr = gl.BlockedLayout([4, 1], [8, LANES // 8], [1, 4], [0, 1])
    tile: gl.constexpr = gl.SwizzledSharedLayout(4, 1, 8, [1, 0])
    i = gl.arange(0, BM, gl.SliceLayout(1, rows))
    j = gl.arange(0, BN, gl.SliceLayout(0, rows))
    x = gl.load(inp + i[:, None] * ld + j[None, :])
    shared = gl.allocate_shared_memory(gl.float32, [BM, BN], tile)
    shared.store(x)
    y = shared.load(cols)
    z = gl.convert_layout(x + 1.0, cols)
    p = gl.arange(0, BM, gl.SliceLayout(1, cols))
    q = gl.arange(0, BN, gl.SliceLayout(0, cols))
    gl.store(out + p[:, None] + q[None, :] * ld, y * z)


@gluon.jit
def copy_ahead(inp, out, count, BLOCK: gl.constexpr):
    """Two buffers in shared memory: one is filled while the other is read."""
    lanes: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    plain: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    at = gl.arange(0, BLOCK, lanes)
    buffers = gl.allocate_shared_memory(gl.float32, [2, BLOCK], plain)
    async_copy.async_load(buffers.index(0), inp + at)
    async_copy.commit_group()
    total = gl.zeros([BLOCK], gl.float32, lanes)
    for i in range(1, count):
        async_copy.async_load(buffers.index(i % 2), inp + i * BLOCK + at)
        async_copy.commit_group()
        async_copy.wait_group(1)
        total += buffers.index((i - 1) % 2).load(lanes)
    async_copy.wait_group(0)
    gl.store(out + at, total)


@gluon.jit
def _consume(buffers, ready, empty, out, count, BLOCK: gl.constexpr):
    lanes: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    at = gl.arange(0, BLOCK, lanes)
    total = gl.zeros([BLOCK], gl.float32, lanes)
    for i in range(count):
        mbarrier.wait(ready.index(i % 2), (i // 2) & 1)
        total += buffers.index(i % 2).load(lanes)
        mbarrier.arrive(empty.index(i % 2), count=1)
    gl.store(out + at, total)


@gluon.jit
def _produce(buffers, ready, empty, inp, count, BLOCK: gl.constexpr):
    lanes: gl.constexpr = gl.BlockedLayout([1], [32], [1], [0])
    at = gl.arange(0, BLOCK, lanes)
    for i in range(count):
        mbarrier.wait(empty.index(i % 2), ((i // 2) & 1) ^ 1)
        buffers.index(i % 2).store(gl.load(inp + i * BLOCK + at))
        mbarrier.arrive(ready.index(i % 2), count=1)


@gluon.jit
def producer_consumer(inp, out, count, BLOCK: gl.constexpr):
    plain: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    buffers = gl.allocate_shared_memory(gl.float32, [2, BLOCK], plain)
    ready = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(2):
        mbarrier.init(ready.index(i), count=1)
        mbarrier.init(empty.index(i), count=1)
    gl.warp_specialize(
        [
            (_consume, (buffers, ready, empty, out, count, BLOCK)),
            (_produce, (buffers, ready, empty, inp, count, BLOCK)),
        ],
        [1],
        [24],
    )


KERNELS = {
    "transpose_shared": {
        "signature": {"inp": "*fp32", "out": "*fp32", "ld": "i32"},
        "constexprs": {"BM": 64, "BN": 64, "LANES": 32},
        "divisible": ("inp", "out", "ld"),
        "targets": ("cuda:90",),
    },
    "copy_ahead": {
        "signature": {"inp": "*fp32", "out": "*fp32", "count": "i32"},
        "constexprs": {"BLOCK": 512},
        "divisible": ("inp", "out"),
        "targets": ("cuda:90",),
    },
    "producer_consumer": {
        "signature": {"inp": "*fp32", "out": "*fp32", "count": "i32"},
        "constexprs": {"BLOCK": 256},
        "divisible": ("inp", "out"),
        "targets": ("cuda:90", "cuda:100"),
    },
}
