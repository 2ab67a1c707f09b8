"""Gluon kernels for Blackwell: tensor memory, its matrix products, and TMA by hand."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout,
    allocate_tensor_memory,
    fence_async_shared,
    mbarrier,
    tcgen05_commit,
    tcgen05_mma,
)

SOURCE_CLASS = gluon.GluonASTSource


@gluon.jit
def tensor_memory(a, b, c, scale, SIZE: gl.constexpr):
    lanes: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    tile: gl.constexpr = gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2)
    memory: gl.constexpr = TensorMemoryLayout((128, SIZE), col_stride=1)
    i = gl.arange(0, SIZE, gl.SliceLayout(1, lanes))
    j = gl.arange(0, SIZE, gl.SliceLayout(0, lanes))
    at = i[:, None] * SIZE + j[None, :]
    left = gl.allocate_shared_memory(gl.float16, [SIZE, SIZE], tile, gl.load(a + at))
    right = gl.allocate_shared_memory(gl.float16, [SIZE, SIZE], tile, gl.load(b + at))
    done = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(done, count=1)
    fence_async_shared()
    total = allocate_tensor_memory(gl.float32, [SIZE, SIZE], memory)
    tcgen05_mma(left, right, total, use_acc=False)
    tcgen05_mma(left, right.permute((1, 0)), total, mbarriers=[done], mbarrier_preds=[scale > 0])
    mbarrier.wait(done, 0)
    registers: gl.constexpr = total.get_reg_layout()
    x = total.load(registers)
    total.store(x * 2.0, pred=scale > 1)
    tcgen05_commit(done)
    mbarrier.wait(done, 1)
    mbarrier.invalidate(done)
    gl.store(c + at, gl.convert_layout(total.load(registers), lanes))


KERNELS = {
    "tensor_memory": {
        "signature": {"a": "*fp16", "b": "*fp16", "c": "*fp32", "scale": "i32"},
        "constexprs": {"SIZE": 128},
        "divisible": ("a", "b", "c"),
        "targets": ("cuda:100",),
    },
}
