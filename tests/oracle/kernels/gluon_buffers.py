"""Gluon kernels for AMD: buffer operations with masks, copies straight to shared memory, atomics."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.amd import cdna4
from triton.experimental.gluon.language.amd.cdna4 import async_copy

SOURCE_CLASS = gluon.GluonASTSource


@gluon.jit
def buffers(inp, out, ints, length, BLOCK: gl.constexpr):
    lanes: gl.constexpr = gl.BlockedLayout([4], [64], [4], [0])
    plain: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    at = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, lanes)
    keep = at < length
    shared = gl.allocate_shared_memory(gl.float32, [2, BLOCK], plain)
    zero = gl.zeros([BLOCK], gl.float32, lanes)
    async_copy.buffer_load_to_shared(shared.index(0), inp, at)
    async_copy.commit_group()
    async_copy.buffer_load_to_shared(shared.index(1), inp, at, mask=keep, other=zero)
    async_copy.commit_group()
    x = cdna4.buffer_load(inp, at, mask=keep, other=zero)
    async_copy.wait_group(0)
    y = async_copy.load_shared_relaxed(shared.index(0), lanes) + shared.index(1).load(lanes)
    old = cdna4.buffer_atomic_add(out, at % 64, x + y, mask=keep)
    cdna4.buffer_atomic_max(ints, at % 32, old.to(gl.int32))
    cdna4.buffer_store(old, out, at, mask=keep)


@gluon.jit
def global_to_shared(inp, out, length, BLOCK: gl.constexpr):
    lanes: gl.constexpr = gl.BlockedLayout([4], [64], [4], [0])
    plain: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    at = gl.arange(0, BLOCK, lanes)
    shared = gl.allocate_shared_memory(gl.float32, [BLOCK], plain)
    async_copy.global_load_to_shared(
        shared, inp + at, mask=at < length, other=gl.zeros([BLOCK], gl.float32, lanes)
    )
    async_copy.commit_group()
    async_copy.wait_group(0)
    gl.store(out + at, shared.load(lanes))


KERNELS = {
    "buffers": {
        "signature": {"inp": "*fp32", "out": "*fp32", "ints": "*i32", "length": "i32"},
        "constexprs": {"BLOCK": 1024},
        "divisible": ("inp", "out", "ints"),
        "targets": ("hip:gfx950",),
    },
    "global_to_shared": {
        "signature": {"inp": "*fp32", "out": "*fp32", "length": "i32"},
        "constexprs": {"BLOCK": 1024},
        "divisible": ("inp", "out"),
        "targets": ("hip:gfx950",),
    },
}
