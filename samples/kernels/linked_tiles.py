"""A kernel that Triton 3.0.0 cannot compile: its layout pass aborts.

A tile is summed in a `for`; a `while` takes the sum and goes on with it, following a linked list of
partial sums that other programs left. What the `while` yields tells the layout pass of 3.0.0 something
about the result of the `for`, and nothing about the loop's own argument.
"""

import triton
import triton.language as tl


@triton.jit
def linked_tiles(
    rows, weights, parts, following, out, turns, stride,
    HIGH: tl.constexpr, WIDE: tl.constexpr, DEEP: tl.constexpr,
):  # fmt: skip
    here = tl.program_id(0)
    i = tl.arange(0, HIGH)
    j = tl.arange(0, WIDE)
    k = tl.arange(0, DEEP)
    left = rows + (here * HIGH + i)[:, None] * stride + k[None, :]
    right = weights + k[:, None] * stride + j[None, :]
    total = tl.zeros((HIGH, WIDE), tl.float32)
    for _ in range(turns):
        total += tl.dot(tl.load(left), tl.load(right))
        left += DEEP
        right += DEEP * stride
    part = tl.load(following + here)
    while part >= 0:
        total += tl.load(parts + (part * HIGH + i)[:, None] * WIDE + j[None, :])
        part = tl.load(following + part)
    tl.store(out + (here * HIGH + i)[:, None] * stride + j[None, :], total)


KERNELS = {
    "linked_tiles": {
        "signature": {
            "rows": "*fp16", "weights": "*fp16", "parts": "*fp32", "following": "*i32", "out": "*fp32",
            "turns": "i32", "stride": "i32",
        },
        "constexprs": {"HIGH": 64, "WIDE": 64, "DEEP": 32},
        "divisible": ("rows", "weights", "parts", "out", "stride"),
    },
}  # fmt: skip
