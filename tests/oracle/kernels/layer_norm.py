"""Layer normalisation forward (two passes over a row) and the gradient of its input and weights."""

import triton
import triton.language as tl


@triton.jit
def layer_norm(out, inp, weight, bias, mean, rstd, stride, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    inp += row * stride
    out += row * stride
    lanes = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    square = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + lanes
        x = tl.load(inp + at, mask=at < cols, other=0.0).to(tl.float32)
        acc += x
        square += x * x
    m = tl.sum(acc, axis=0) / cols
    r = 1.0 / tl.sqrt(tl.sum(square, axis=0) / cols - m * m + eps)
    tl.store(mean + row, m)
    tl.store(rstd + row, r)
    for start in range(0, cols, BLOCK):
        at = start + lanes
        keep = at < cols
        w = tl.load(weight + at, mask=keep)
        b = tl.load(bias + at, mask=keep)
        x = tl.load(inp + at, mask=keep, other=0.0).to(tl.float32)
        tl.store(out + at, (x - m) * r * w + b, mask=keep)


@triton.jit
def layer_norm_grad(
    dx, dw, dy, inp, weight, mean, rstd, stride, cols, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    at = tl.arange(0, BLOCK)
    keep = at < cols
    w = tl.load(weight + at, mask=keep, other=0.0)
    dw_acc = tl.zeros((BLOCK,), tl.float32)
    for i in range(ROWS):
        row = tl.program_id(0) * ROWS + i
        x = tl.load(inp + row * stride + at, mask=keep, other=0.0).to(tl.float32)
        g = tl.load(dy + row * stride + at, mask=keep, other=0.0).to(tl.float32)
        m = tl.load(mean + row)
        r = tl.load(rstd + row)
        hat = tl.where(keep, (x - m) * r, 0.0)
        wg = tl.where(keep, w * g, 0.0)
        c1 = tl.sum(hat * wg, axis=0) / cols
        c2 = tl.sum(wg, axis=0) / cols
        tl.store(dx + row * stride + at, (wg - (hat * c1 + c2)) * r, mask=keep)
        dw_acc += g * hat
    tl.atomic_add(dw + at, dw_acc, mask=keep)


KERNELS = {
    "layer_norm": {
        "signature": {
            "out": "*fp16", "inp": "*fp16", "weight": "*fp32", "bias": "*fp32", "mean": "*fp32",
            "rstd": "*fp32", "stride": "i32", "cols": "i32", "eps": "fp32",
        },
        "constexprs": {"BLOCK": 512},
        "divisible": ("out", "inp", "weight", "bias", "stride"),
    },
    "layer_norm_grad": {
        "signature": {
            "dx": "*fp16", "dw": "*fp32", "dy": "*fp16", "inp": "*fp16", "weight": "*fp32", "mean": "*fp32",
            "rstd": "*fp32", "stride": "i32", "cols": "i32",
        },
        "constexprs": {"ROWS": 4, "BLOCK": 1024},
        "divisible": ("dx", "dw", "dy", "inp", "weight", "stride"),
    },
}  # fmt: skip
