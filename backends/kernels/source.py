"""Whole kernels: one thread an element, one block a row, or one tile of a product.

A body is one of three kinds. With reductions over one set of axes (softmax, layer norm) it is done row by
row, a block each, every reduction once. With a convolution or product in it, it is tiled through shared
memory, what comes in front of it when elements are fetched, what follows when they are stored. All others
compute each element of the result by itself.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from math import prod
from typing import Final

from ...ir.evaluate.attributes import integer, integers
from ...ir.program import Block, Op, Value
from ...ir.types import ShapeType
from .emit import TYPES, Emitter, inside, shape_of, split

PRELUDE: Final = """\
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
struct half16 { unsigned short bits; };
struct bfloat { unsigned short bits; };
__device__ inline float as_float_bits(unsigned u) { union { unsigned u; float f; } x; x.u = u; return x.f; }
__device__ inline unsigned as_bits(float f) { union { unsigned u; float f; } x; x.f = f; return x.u; }
__device__ inline float to_float(bfloat h) { return as_float_bits((unsigned)h.bits << 16); }
__device__ inline float to_float(half16 h) {
  unsigned s = (h.bits & 0x8000u) << 16, e = (h.bits >> 10) & 31u, m = h.bits & 1023u;
  if (e == 31) return as_float_bits(s | 0x7f800000u | (m << 13));
  if (e == 0) { float v = (float)m * 5.9604644775390625e-8f; return s ? -v : v; }
  return as_float_bits(s | ((e + 112u) << 23) | (m << 13));
}
__device__ inline bfloat to_bfloat(float f) {
  unsigned u = as_bits(f); bfloat r;
  if ((u & 0x7fffffffu) > 0x7f800000u) { r.bits = 0x7fc0; return r; }
  r.bits = (unsigned short)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16); return r;
}
__device__ inline half16 to_half16(float f) {
  unsigned u = as_bits(f), s = (u >> 16) & 0x8000u, a = u & 0x7fffffffu; half16 r;
  if (a > 0x7f800000u) { r.bits = s | 0x7e00u; return r; }
  if (a >= 0x477ff000u) { r.bits = s | 0x7c00u; return r; }
  if (a < 0x38800000u) {
    float v = as_float_bits(a) * 16777216.0f;
    r.bits = s | (unsigned short)rintf(v); return r;
  }
  unsigned m = a - 0x38000000u;
  r.bits = s | (unsigned short)((m + 0xfffu + ((m >> 13) & 1u)) >> 13); return r;
}
"""
_THREADS: Final = 256
_FEW: Final = 8
_REDUCTIONS: Final = frozenset({"reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod"})
_ANCHORS: Final = frozenset({"convolution", "dot"})
_START: Final = {"max": "-INFINITY", "min": "INFINITY", "sum": "0.0f", "mean": "0.0f", "prod": "1.0f"}
_JOIN: Final = {
    "max": "({a} > {b} ? {a} : {b})", "min": "({a} < {b} ? {a} : {b})", "sum": "({a} + {b})",
    "mean": "({a} + {b})", "prod": "({a} * {b})",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel's source and how it is launched: pointers of inputs, then of the output."""

    name: str
    source: str
    grid: tuple[int, int, int]
    block: int


@dataclass(frozen=True, slots=True)
class Body:
    """What a kernel computes: operators over parameters that lie in memory as `params` says."""

    params: list[Value]
    result: Value
    ops: list[Op]


def body_of(block: Block) -> Body:
    """The body of a module."""
    params = [op.results[0] for op in block.ops if op.name == "@param"]
    back = next(op for op in block.ops if op.name == "@return")
    ops = [op for op in block.ops if op.results and op.name not in ("@param", "@literal")]
    return Body(params, back.operands[0], ops)


def kernel_of(body: Body, output: ShapeType) -> Kernel:
    """A kernel for a body that stores into a buffer of shape `output`.

    Raises:
        InputError: an operator of the body has no kernel.
    """
    reductions = [op for op in body.ops if op.name in _REDUCTIONS or op.name in ("softmax", "logsoftmax")]
    anchors = [op for op in body.ops if op.name in _ANCHORS]
    if reductions and not anchors and _rows(reductions) is not None:
        text, grid, threads = _row_kernel(body, reductions, output)
    elif len(anchors) == 1 and not reductions and _tiles(body, anchors[0]):
        text, grid, threads = _tile_kernel(body, anchors[0], output)
    else:
        text, grid, threads = _element_kernel(body, output)
    name = f"k_{hashlib.blake2b(text.encode(), digest_size=8).hexdigest()}"
    return Kernel(name, text.replace("KERNEL", name), grid, threads)


def _signature(body: Body, output: ShapeType) -> tuple[str, dict[Value, str]]:
    names = {value: f"x{place}" for place, value in enumerate(body.params)}
    parts = [f"const {TYPES[shape_of(v).element]}* __restrict__ {names[v]}" for v in body.params]
    parts.append(f"{TYPES[output.element]}* __restrict__ out")
    return f'extern "C" __global__ void KERNEL({", ".join(parts)})', names


def _stored(value: str, element: str) -> str:
    if element == "f16":
        return f"to_half16({value})"
    if element == "bf16":
        return f"to_bfloat({value})"
    return f"({TYPES[element]})({value})"


def _place(index: list[str], output: ShapeType) -> str:
    terms = [f"{i} * {s}" for i, s in zip(index, output.strides, strict=True) if s and i != "0"]
    return " + ".join(terms) or "0"


def _fitted(index: list[str], lens: tuple[int, ...], output: ShapeType, emitter: Emitter) -> list[str]:
    """An index of the result as one of the buffer, which may have other lens for as many elements."""
    if lens == output.lens:
        return index
    from .emit import flat_index

    flat = emitter.fresh("o")
    emitter.line(f"const int {flat} = {flat_index(index, lens)};")
    return split(flat, output.lens)


def _store(emitter: Emitter, body: Body, index: list[str], output: ShapeType) -> None:
    """Compute one element of the result and store it."""
    value = emitter.element(body.result, index)
    place = _place(_fitted(index, shape_of(body.result).lens, output, emitter), output)
    emitter.line(f"out[{place}] = {_stored(value, output.element)};")


def _element_kernel(body: Body, output: ShapeType) -> tuple[str, tuple[int, int, int], int]:
    head, names = _signature(body, output)
    lens = shape_of(body.result).lens
    count = prod(lens)
    emitter = Emitter(names)
    _inlined(emitter, body)
    emitter.line("const int at = blockIdx.x * blockDim.x + threadIdx.x;")
    emitter.line(f"if (at >= {count}) return;")
    index = split("at", lens)
    _store(emitter, body, index, output)
    return _function(head, emitter.lines), (-(-count // _THREADS), 1, 1), _THREADS


def _inlined(emitter: Emitter, body: Body) -> None:
    """Reductions inside a body that is computed element by element are loops of their own."""
    for op in body.ops:
        if op.name in _REDUCTIONS or op.name in ("softmax", "logsoftmax", "argmax", "argmin"):
            emitter.known[op.results[0]] = _loop(emitter, op)


def _loop(emitter: Emitter, op: Op):  # type: ignore[no-untyped-def]
    x = op.operands[0]
    lens = shape_of(x).lens
    axes = integers(op.attributes, "axes", integers(op.attributes, "axis", [-1]))
    axes = [axis % len(lens) for axis in axes]

    def over(index: list[str], kind: str, change: str) -> str:
        total = emitter.fresh("s")
        emitter.line(f"float {total} = {_START[kind]};")
        place = list(index)
        for axis in axes:
            mark = emitter.fresh("r")
            emitter.open(f"for (int {mark} = 0; {mark} < {lens[axis]}; ++{mark})")
            place[axis] = mark
        value = change.format(emitter.element(x, place))
        emitter.line(f"{total} = {_JOIN[kind].format(a=total, b=value)};")
        for _ in axes:
            emitter.close()
        return total

    def compute(index) -> str:  # type: ignore[no-untyped-def]
        index = list(index)
        if op.name in _REDUCTIONS:
            kind = op.name.removeprefix("reduce_")
            total = over(index, kind, "{0}")
            if kind == "mean":
                emitter.line(f"{total} /= {prod(lens[a] for a in axes)}.0f;")
            return total
        if op.name in ("softmax", "logsoftmax"):
            most = over(index, "max", "{0}")
            total = over(index, "sum", f"expf({{0}} - {most})")
            value = emitter.element(x, index)
            made = emitter.fresh("t")
            text = (
                f"expf({value} - {most}) / {total}"
                if op.name == "softmax"
                else f"{value} - {most} - logf({total})"
            )
            emitter.line(f"const float {made} = {text};")
            return made
        return _argument(emitter, op, index, axes[0], lens[axes[0]])

    return compute


def _argument(emitter: Emitter, op: Op, index: list[str], axis: int, length: int) -> str:
    best, at, mark = emitter.fresh("s"), emitter.fresh("a"), emitter.fresh("r")
    sign = ">" if op.name == "argmax" else "<"
    sign += "=" if integer(op.attributes, "select_last_index") else ""
    emitter.line(f"float {best} = {'-INFINITY' if op.name == 'argmax' else 'INFINITY'}; long long {at} = 0;")
    emitter.open(f"for (int {mark} = 0; {mark} < {length}; ++{mark})")
    value = emitter.element(op.operands[0], [*index[:axis], mark, *index[axis + 1 :]])
    emitter.line(f"if ({value} {sign} {best}) {{ {best} = {value}; {at} = {mark}; }}")
    emitter.close()
    return at


def _rows(reductions: list[Op]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """(lens, axes) that all reductions share, or None if they do not."""
    found = None
    for op in reductions:
        lens = shape_of(op.operands[0]).lens
        axes = integers(op.attributes, "axes", integers(op.attributes, "axis", [-1]))
        mine = (lens, tuple(sorted(axis % len(lens) for axis in axes)))
        if found is not None and mine != found:
            return None
        found = mine
    return found


def _row_kernel(body: Body, reductions: list[Op], output: ShapeType) -> tuple[str, tuple[int, int, int], int]:
    """A block a row: each reduction is made by all threads together and kept; the rest is computed again."""
    shared = _rows(reductions)
    assert shared is not None
    lens, axes = shared
    result = shape_of(body.result)
    kept = [axis for axis in range(len(lens)) if axis not in axes]
    rows, depth = prod(lens[axis] for axis in kept), prod(lens[axis] for axis in axes)
    if result.lens not in (lens, tuple(1 if axis in axes else n for axis, n in enumerate(lens))):
        return _element_kernel(body, output)
    threads = 32
    while threads < min(depth, 256):
        threads *= 2
    head, names = _signature(body, output)
    emitter = Emitter(names)
    emitter.line(f"__shared__ float held[{threads}];")
    row_lens = [lens[axis] for axis in kept]
    row = split("blockIdx.x", row_lens) if row_lens else []
    whole = ["0"] * len(lens)
    for place, axis in enumerate(kept):
        name = emitter.fresh("b")
        emitter.line(f"const int {name} = {row[place] if row[place] != '0' else 0};")
        whole[axis] = name if lens[axis] > 1 else "0"
    for op in reductions:
        _row_stage(emitter, op, whole, lens, axes, depth, threads)
    if result.lens == lens:
        emitter.open(f"for (int at = threadIdx.x; at < {depth}; at += {threads})")
        index = _inner(whole, "at", lens, axes)
    else:
        emitter.open("if (threadIdx.x == 0)")
        index = ["0" if axis in axes else whole[axis] for axis in range(len(lens))]
    _store(emitter, body, index, output)
    emitter.close()
    return _function(head, emitter.lines), (max(rows, 1), 1, 1), threads


def _inner(whole: list[str], at: str, lens: tuple[int, ...], axes: tuple[int, ...]) -> list[str]:
    index = list(whole)
    for axis, each in zip(axes, split(at, [lens[a] for a in axes]), strict=True):
        index[axis] = each
    return index


def _row_stage(
    emitter: Emitter,
    op: Op,
    whole: list[str],
    lens: tuple[int, ...],
    axes: tuple[int, ...],
    depth: int,
    threads: int,
) -> None:
    x = op.operands[0]

    def joined(kind: str, change: str) -> str:
        part, total = emitter.fresh("v"), emitter.fresh("r")
        emitter.line(f"float {part} = {_START[kind]};")
        emitter.open(f"for (int at = threadIdx.x; at < {depth}; at += {threads})")
        value = change.format(emitter.element(x, _inner(whole, "at", lens, axes)))
        emitter.line(f"{part} = {_JOIN[kind].format(a=part, b=value)};")
        emitter.close()
        emitter.line(f"__syncthreads(); held[threadIdx.x] = {part}; __syncthreads();")
        emitter.open(f"for (int step = {threads // 2}; step; step >>= 1)")
        both = _JOIN[kind].format(a="held[threadIdx.x]", b="held[threadIdx.x + step]")
        emitter.line(f"if (threadIdx.x < step) held[threadIdx.x] = {both};")
        emitter.line("__syncthreads();")
        emitter.close()
        emitter.line(f"const float {total} = held[0]{f' / {depth}.0f' if kind == 'mean' else ''};")
        return total

    if op.name in _REDUCTIONS:
        name = joined(op.name.removeprefix("reduce_"), "{0}")
        emitter.known[op.results[0]] = lambda index: name
        return
    most = joined("max", "{0}")
    total = joined("sum", f"expf({{0}} - {most})")

    def element(index) -> str:  # type: ignore[no-untyped-def]
        value = emitter.element(x, index)
        made = emitter.fresh("t")
        text = (
            f"expf({value} - {most}) / {total}"
            if op.name == "softmax"
            else f"{value} - {most} - logf({total})"
        )
        emitter.line(f"const float {made} = {text};")
        return made

    emitter.known[op.results[0]] = element


def _tiles(body: Body, anchor: Op) -> bool:
    """Whether what follows the anchor keeps its lens, so that tiles of it are tiles of the result."""
    lens = shape_of(anchor.results[0]).lens
    if anchor.name == "convolution":
        groups = integer(anchor.attributes, "group", 1)
        if len(lens) != 4 or lens[1] // groups < _FEW:
            return False
    if shape_of(body.result).lens != lens:
        return False
    work = [anchor.results[0]]
    while work:
        value = work.pop()
        for user, _ in value.uses:
            if user.name == "@return":
                continue
            if (
                not user.results
                or shape_of(user.results[0]).lens != lens
                or user.name in ("concat", "transpose")
            ):
                return False
            work.append(user.results[0])
    return True


def _tile_kernel(body: Body, anchor: Op, output: ShapeType) -> tuple[str, tuple[int, int, int], int]:
    """C = A·B tile by tile, each thread a few elements of it; see Kernel's docstring for the rest."""
    head, names = _signature(body, output)
    lens = shape_of(anchor.results[0]).lens
    emitter = Emitter(names)
    if anchor.name == "dot":
        batch, m_count, n_count = prod(lens[:-2]), lens[-2], lens[-1]
        depth = shape_of(anchor.operands[0]).lens[-1]
    else:
        groups = integer(anchor.attributes, "group", 1)
        weight = shape_of(anchor.operands[1]).lens
        # Rows are features, columns places: stores of neighbours are neighbours.
        batch, m_count, n_count = groups, weight[0] // groups, lens[0] * lens[2] * lens[3]
        depth = prod(weight[1:])
    tile_m, tile_n, each_m, each_n = _tile_sizes(m_count, n_count, batch)
    deep = 16
    threads = (tile_m // each_m) * (tile_n // each_n)
    line = emitter.line
    line(f"__shared__ float ta[{deep}][{tile_m + 1}]; __shared__ float tb[{deep}][{tile_n + 1}];")
    line("const int z = blockIdx.z;")
    line(f"const int m0 = blockIdx.y * {tile_m}, n0 = blockIdx.x * {tile_n};")
    line(f"const int tn = threadIdx.x % {tile_n // each_n}, tm = threadIdx.x / {tile_n // each_n};")
    line(f"float acc[{each_m}][{each_n}];")
    line(f"for (int i = 0; i < {each_m}; ++i) for (int j = 0; j < {each_n}; ++j) acc[i][j] = 0.0f;")
    emitter.open(f"for (int k0 = 0; k0 < {depth}; k0 += {deep})")
    fetch = _fetch_dot if anchor.name == "dot" else _fetch_convolution
    # Neighbouring threads fetch neighbours in memory.
    emitter.open(f"for (int e = threadIdx.x; e < {tile_m * deep}; e += {threads})")
    k_first = f"const int k = k0 + e % {deep}, m = m0 + e / {deep};"
    line(k_first)
    line("float v = 0.0f;")
    emitter.open(f"if (m < {m_count} && k < {depth})")
    line(f"v = {fetch(emitter, anchor, 'a', lens)};")
    emitter.close()
    line(f"ta[e % {deep}][e / {deep}] = v;")
    emitter.close()
    emitter.open(f"for (int e = threadIdx.x; e < {tile_n * deep}; e += {threads})")
    line(f"const int n = n0 + e % {tile_n}, k = k0 + e / {tile_n};")
    line("float v = 0.0f;")
    emitter.open(f"if (n < {n_count} && k < {depth})")
    line(f"v = {fetch(emitter, anchor, 'b', lens)};")
    emitter.close()
    line(f"tb[e / {tile_n}][e % {tile_n}] = v;")
    emitter.close()
    line("__syncthreads();")
    line("#pragma unroll")
    emitter.open(f"for (int k = 0; k < {deep}; ++k)")
    line(f"float a[{each_m}], b[{each_n}];")
    line(f"for (int i = 0; i < {each_m}; ++i) a[i] = ta[k][tm * {each_m} + i];")
    line(f"for (int j = 0; j < {each_n}; ++j) b[j] = tb[k][tn + j * {tile_n // each_n}];")
    line(f"for (int i = 0; i < {each_m}; ++i) for (int j = 0; j < {each_n}; ++j) acc[i][j] += a[i] * b[j];")
    emitter.close()
    line("__syncthreads();")
    emitter.close()
    emitter.open(f"for (int i = 0; i < {each_m}; ++i) for (int j = 0; j < {each_n}; ++j)")
    line(f"const int m = m0 + tm * {each_m} + i, n = n0 + tn + j * {tile_n // each_n};")
    emitter.open(f"if (m < {m_count} && n < {n_count})")
    if anchor.name == "dot":
        index = [*split("z", lens[:-2]), "m" if lens[-2] > 1 else "0", "n" if lens[-1] > 1 else "0"]
    else:
        spots = lens[2] * lens[3]
        each = m_count
        feature = "m" if batch == 1 else f"(z * {each} + m)"
        spot = split("n", (lens[0], lens[2], lens[3])) if spots else ["0", "0", "0"]
        index = [spot[0], feature, spot[1], spot[2]]
    emitter.known[anchor.results[0]] = lambda _: "acc[i][j]"
    _store(emitter, body, index, output)
    emitter.close()
    emitter.close()
    grid = (-(-n_count // tile_n), -(-m_count // tile_m), batch)
    return _function(head, emitter.lines), grid, threads


def _tile_sizes(m: int, n: int, batch: int) -> tuple[int, int, int, int]:
    """Tile and elements a thread: small tiles where large ones would leave most of the device idle."""
    for tile_m, tile_n, each_m, each_n in ((64, 64, 4, 4), (32, 64, 4, 2), (32, 32, 2, 2)):
        if -(-m // tile_m) * -(-n // tile_n) * batch >= 264:
            return tile_m, tile_n, each_m, each_n
    return 16, 16, 1, 1


def _fetch_dot(emitter: Emitter, op: Op, side: str, lens: tuple[int, ...]) -> str:
    front = split("z", lens[:-2])
    if side == "a":
        left = shape_of(op.operands[0]).lens
        return emitter.element(
            op.operands[0], [*front, "m" if left[-2] > 1 else "0", "k" if left[-1] > 1 else "0"]
        )
    right = shape_of(op.operands[1]).lens
    return emitter.element(
        op.operands[1], [*front, "k" if right[-2] > 1 else "0", "n" if right[-1] > 1 else "0"]
    )


def _fetch_convolution(emitter: Emitter, op: Op, side: str, lens: tuple[int, ...]) -> str:
    x, weight = op.operands
    kernel, image = shape_of(weight).lens, shape_of(x).lens
    groups = integer(op.attributes, "group", 1)
    each = kernel[0] // groups
    part = split("k", kernel[1:])
    if side == "a":
        feature = "m" if groups == 1 else f"(z * {each} + m)"
        return emitter.element(weight, [feature, *part])
    padding = integers(op.attributes, "padding", [0, 0])
    stride = integers(op.attributes, "stride", [1, 1])
    dilation = integers(op.attributes, "dilation", [1, 1])
    spot = split("n", (lens[0], lens[2], lens[3]))
    places = []
    for axis in (0, 1):
        place = emitter.fresh("p")
        offset = f"{spot[axis + 1]} * {stride[axis]} - {padding[axis]} + {part[axis + 1]} * {dilation[axis]}"
        emitter.line(f"const int {place} = {offset};")
        places.append(place)
    channel = part[0] if groups == 1 else f"(z * {kernel[1]} + {part[0]})"
    value = emitter.fresh("v")
    emitter.line(f"float {value} = 0.0f;")
    emitter.open(f"if ({inside(places, image[2:])})")
    emitter.line(f"{value} = {emitter.element(x, [spot[0], channel, *places])};")
    emitter.close()
    return value


def _function(head: str, lines: list[str]) -> str:
    return "\n".join([f"{head} {{", *(f"  {line}" for line in lines), "}"]) + "\n"
