"""The cost model: operations and bytes from shapes, names and modules; rooflines; what costs nothing."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from passlens.ir.analysis.cost import (
    copy_bytes,
    copy_us,
    cost_us,
    kernel_us,
    measured_us,
    rate,
    roofline_us,
    work_of,
)
from passlens.ir.analysis.devices import Efficiency, device, device_names
from passlens.ir.analysis.fused_names import KINDS, kind_of_all, operators
from passlens.ir.analysis.migraphx_summary import main_body
from passlens.ir.analysis.workload import Workload, workload
from passlens.ir.formats.migraphx import parse_migraphx
from passlens.ir.program import Op
from passlens.ir.trace import open_trace

GOLDEN = Path(__file__).parents[2] / "golden"
H200 = device("h200")


def shape(*lens: int, element: str = "float_type") -> str:
    strides = [prod(lens[at + 1 :]) for at in range(len(lens))]
    return f"{element}, {{{', '.join(map(str, lens))}}}, {{{', '.join(map(str, strides))}}}"


def kernel(name: str, *operands: tuple[int, ...], weights: tuple[int, ...] = (), more: str = "") -> Op:
    """A code object of that name; the last operand is the output; `weights` are places of literals."""
    lines = ['module: "main"']
    for at, lens in enumerate(operands):
        made = f"hip::hip_copy_literal[id=main:@literal:{at}]" if at in weights else f"@param:p{at}"
        lines.append(f"p{at} = {made} -> {shape(*lens)}")
    names = ",".join(f"p{at}" for at in range(len(operands)))
    lines.append(
        f"k = gpu::code_object[code_object=1,symbol_name={name}{more}]({names}) -> {shape(*operands[-1])}"
    )
    return main_body(parse_migraphx("\n".join(lines) + "\n"))[-1]


def seed() -> list[Op]:
    return main_body(open_trace(str(GOLDEN / "seeds/migraphx_streaming_resnet50.txt")).program(0))


@pytest.mark.parametrize(
    ("name", "listed", "kind"),
    [
        ("mlir_convolution_add_relu", ["convolution", "add", "relu"], "convolution"),
        ("mlir_reshape_dot_add", ["reshape", "dot", "add"], "dot"),
        ("mul_add_add_relu_mul_reduce_sum_kernel", ["mul", "add", "add", "relu", "mul", "reduce_sum"], "reduce"),
        ("add_relu_noop_concat_noop_kernel", ["add", "relu", "noop", "concat", "noop"], "pointwise"),
        ("noop_concat_noop_kernel", ["noop", "concat", "noop"], "copy"),
        ("mlir_quant_convolution_dequantizelinear", ["quant_convolution", "dequantizelinear"], "convolution"),
        ("mlir_dot_softmax_dot", ["dot", "softmax", "dot"], "attention"),
        ("mlir_attention", ["attention"], "attention"),
        ("add_layernorm_mul_kernel", ["add_layernorm", "mul"], "normalization"),
        ("softmax_kernel", ["softmax"], "softmax"),
        ("gpu::pooling", ["pooling"], "pooling"),
        ("gpu::gemm", ["gemm"], "dot"),
        ("ck_gemm_add_kernel", ["gemm", "add"], "dot"),
        ("leaky_relu_kernel", ["leaky_relu"], "pointwise"),
        ("", [], "other"),
        ("___", [], "other"),
    ],
)  # fmt: skip
def test_names_of_fused_kernels(name: str, listed: list[str], kind: str) -> None:
    assert operators(name) == listed
    assert kind_of_all(listed) == kind


def test_long_names_take_no_time() -> None:
    assert len(operators("_".join(["reduce"] * 200_000))) == 200_000


CONVOLUTION = 2 * 64 * 112 * 112 * 3 * 7 * 7


@pytest.mark.parametrize(
    ("op", "flops"),
    [
        (kernel("mlir_convolution", (1, 3, 224, 224), (64, 3, 7, 7), (1, 64, 112, 112)), CONVOLUTION),
        (kernel("mlir_convolution", (64, 3, 7, 7), (1, 3, 224, 224), (1, 64, 112, 112)), CONVOLUTION),
        # A residual operand of the output's shape is no weight, wherever it stands.
        (kernel("mlir_convolution_add", (1, 64, 9, 9), (1, 64, 9, 9), (64, 64, 1, 1), (1, 64, 9, 9)),
         2 * 64 * 81 * 64 + 64 * 81),
        # Batch and channels are equal: the literal is the weight.
        (kernel("mlir_convolution", (8, 8, 3, 3), (8, 8, 3, 3), (8, 8, 3, 3), weights=(1,)), 2 * 576 * 72),
        (kernel("mlir_convolution_add", (8, 8, 4, 4), (8, 8, 4, 4), (8, 8, 1, 1), (8, 8, 4, 4), weights=(2,)),
         2 * 1024 * 8 + 1024),
        (kernel("mlir_convolution_add", (8, 8, 4, 4), (8, 8, 1, 1), (8, 8, 4, 4), (8, 8, 4, 4)), 2 * 1024 * 8 + 1024),
        (kernel("mlir_convolution_add", (8, 8, 1, 1), (8, 8, 4, 4), (8, 8, 4, 4), (8, 8, 4, 4), weights=(2,)),
         2 * 1024 * 128 + 1024),
        # Depthwise: a filter reads one channel.
        (kernel("mlir_convolution", (1, 32, 8, 8), (32, 1, 3, 3), (1, 32, 8, 8)), 2 * 32 * 64 * 9),
        (kernel("mlir_convolution", (1, 4, 9), (6, 4, 3), (1, 6, 7)), 2 * 42 * 12),
        (kernel("mlir_dot", (5, 7), (7, 3), (5, 3)), 2 * 15 * 7),
        (kernel("mlir_dot", (12, 5, 7), (12, 7, 3), (12, 5, 3)), 2 * 12 * 15 * 7),
        (kernel("mlir_transpose_dot", (12, 5, 7), (12, 3, 7), (12, 5, 3)), 2 * 12 * 15 * 7),
        (kernel("mlir_dot_add", (2, 128, 768), (768, 3072), (2, 128, 3072), (2, 128, 3072), weights=(1,)),
         2 * 2 * 128 * 3072 * 768 + 2 * 128 * 3072),
        (kernel("mlir_reshape_dot_add", (1, 1000), (1, 2048, 1, 1), (2048, 1000), (1, 1000), weights=(2,)),
         2 * 1000 * 2048 + 1000),
        (kernel("mul_add_relu_kernel", (10, 10), (10, 10), (10, 10)), 300),
        (kernel("reduce_sum_kernel", (10, 10), (10, 1)), 100),
        (kernel("noop_concat_noop_kernel", (10, 10), (10, 10), (20, 10)), 0),
        (kernel("mlir_attention", (12, 128, 64), (12, 128, 64), (12, 128, 64), (12, 128, 64)),
         4 * 12 * 128 * 64 * 128),
    ],
)  # fmt: skip
def test_operations_from_name_and_shapes(op: Op, flops: int) -> None:
    assert workload(op).flops == flops


def test_bytes_are_those_of_all_operands_by_the_strided_rule() -> None:
    text = f"""module: "main"
b = @param:b -> float_type, {{1, 8, 4, 4}}, {{0, 1, 0, 0}}
x = @param:x -> {shape(1, 8, 4, 4)}
o = @param:o -> {shape(1, 8, 4, 4)}
k = gpu::code_object[code_object=1,symbol_name=add_kernel](x,b,x,o) -> {shape(1, 8, 4, 4)}
"""
    op = main_body(parse_migraphx(text))[-1]
    assert workload(op).bytes == 8 * 4 + 2 * 128 * 4


BODY = f"""module: "main:mlir_0"
x0 = @param:x0 -> {shape(1, 4, 8, 8)}
x1 = @param:x1 -> {shape(6, 2, 3, 3)}
x2 = @param:x2 -> {shape(1, 6, 1, 1)}
c = convolution[padding={{1, 1, 1, 1}},stride={{1, 1}},dilation={{1, 1}},group=2,padding_mode=0](x0,x1) -> {shape(1, 6, 8, 8)}
b = multibroadcast[out_lens={{1, 6, 8, 8}}](x2) -> float_type, {{1, 6, 8, 8}}, {{0, 1, 0, 0}}
a = add(c,b) -> {shape(1, 6, 8, 8)}
t = tanh(a) -> {shape(1, 6, 8, 8)}
r = reduce_max[axes={{2, 3}}](t) -> {shape(1, 6, 1, 1)}
s = @return(r)

module: "main"
x = @param:x -> {shape(1, 4, 8, 8)}
w = @param:w -> {shape(6, 2, 3, 3)}
v = @param:v -> {shape(1, 6, 1, 1)}
o = @param:o -> {shape(1, 6, 1, 1)}
k = gpu::code_object[code_object=0,symbol_name=SYMBOL,global=512,local=64](x,w,v,o), [main:mlir_0] -> {shape(1, 6, 1, 1)}
z = @return(k)
"""


def test_a_kernel_with_its_module_is_counted_operator_by_operator() -> None:
    for name in ("mlir_convolution_add_tanh_reduce_max", "something_else"):
        body = main_body(parse_migraphx(BODY.replace("SYMBOL", name)))
        work = workload(next(op for op in body if work_of(op) == "kernel"))
        out = 6 * 64
        assert work == Workload(
            "convolution", 2 * out * 2 * 9 + out + 8 * out + out, (256 + 108 + 6 + 6) * 4, "f32", 512
        )


def test_the_reports_program_takes_what_resnet_50_was_measured_to_take() -> None:
    body = seed()
    kernels = [op for op in body if work_of(op) == "kernel"]
    copies = [op for op in body if work_of(op) == "copy"]
    assert (len(kernels), len(copies)) == (71, 119)
    assert sum(workload(op).flops for op in kernels) == pytest.approx(9.4e9, rel=0.01)
    assert 1500 < sum(kernel_us(op, H200) for op in kernels) < 2500  # 2.2 ms measured with a CUDA graph
    assert sum(copy_bytes(op) for op in copies) == 105_378_732
    assert sum(copy_us(op, H200) for op in copies) == pytest.approx(119 * 7 + 105_378_732 / 55_400)
    assert sum(cost_us(op, H200) for op in body) == pytest.approx(
        sum(cost_us(op, H200) for op in kernels) + sum(cost_us(op, H200) for op in copies)
    )


@pytest.mark.parametrize("name", device_names())
def test_every_device_takes_longer_than_its_smallest_kernels(name: str) -> None:
    profile = device(name)
    for op in seed():
        us = cost_us(op, profile)
        work = work_of(op)
        assert us == 0 if work == "none" else us > (profile.kernel_us if work == "kernel" else 0)
        if work == "copy":
            assert copy_us(op, profile, pinned=False) > us


def test_a_perf_listing_has_the_last_word_on_kernels() -> None:
    body = main_body(open_trace(str(GOLDEN / "cases/migraphx/08_perf_listing.txt")).program(0))
    kernels = [op for op in body if work_of(op) == "kernel"]
    assert [kernel_us(op, H200) for op in kernels] == [pytest.approx(18.112)]
    assert sum(cost_us(op, H200) for op in body) == pytest.approx(18.112)


@pytest.mark.parametrize("text", ["nan", "inf", "-1", "1e300", "fast", ""])
def test_times_that_are_none_are_not_taken(text: str) -> None:
    op = kernel("mul_kernel", (4, 4), (4, 4))
    us = kernel_us(op, H200)
    op.attributes["perf.ms"] = text
    assert measured_us(op) is None
    assert kernel_us(op, H200) == us
    op.attributes["perf.ms"] = "0.25"
    assert kernel_us(op, H200) == 250


def test_a_batch_is_one_copy_of_all_its_bytes() -> None:
    text = f"""module: "main"
a = @literal{{ ... }} -> {shape(100)}
b = @literal{{ ... }} -> {shape(10)}
s = hip::hip_allocate_memory[shape=int8_type, {{1000}}, {{1}},id=main:scratch] -> int8_type, {{1000}}, {{1}}
l = load[offset=0,end=552](s) -> int8_type, {{552}}, {{1}}
c = hip::copy_batch_to_gpu(a,b,l) -> int8_type, {{552}}, {{1}}
v = hip::view_bytes[offset=512](c) -> {shape(10)}
"""
    body = main_body(parse_migraphx(text))
    assert [round(cost_us(op, H200), 3) for op in body] == [0, 0, 0, 0, round(7 + 552 / 55_400, 3), 0]


def test_copies_within_the_device_take_compute_units() -> None:
    text = f"""module: "main"
a = @param:a -> {shape(1000)}
b = @param:b -> {shape(1000)}
c = hip::copy(a,b) -> {shape(1000)}
d = hip::copy_from_gpu(c) -> {shape(1000)}
e = hip::sync_stream(d) -> {shape(1000)}
"""
    body = main_body(parse_migraphx(text))
    assert [work_of(op) for op in body] == ["none", "none", "kernel", "copy", "none"]
    assert workload(body[2]).bytes == 8000


def test_rates_of_types_that_a_profile_lacks() -> None:
    h200 = H200.flops_per_s
    assert rate(H200, "f16") == h200["f16"]
    assert rate(H200, "f8E4M3FNUZ") == h200["f8E4M3FN"]
    assert rate(H200, "i4") == h200["i8"]
    assert rate(H200, "complex<f64>") == h200["f32"]
    assert rate(H200, "no such type") == h200["f32"]


def test_a_profiles_own_efficiency_wins() -> None:
    work = Workload("dot", 10**9, 0, "f32", 1 << 20)
    own = replace(H200, efficiency={"dot": Efficiency(1.0, 1.0)}, kernel_us=0.0)
    assert roofline_us(work, own) == pytest.approx(1e9 / 67e6)
    assert roofline_us(work, own) < roofline_us(work, H200)


works = st.builds(
    Workload,
    st.sampled_from([*KINDS, "unheard of"]),
    st.integers(0, 10**13),
    st.integers(0, 10**11),
    st.sampled_from(["f32", "f16", "i8", "f64", "?"]),
    st.integers(1, 10**7),
)


@settings(deadline=None)
@given(works, st.integers(1, 10), st.sampled_from(device_names()))
def test_more_work_takes_longer_and_more_threads_do_not(work: Workload, times: int, name: str) -> None:
    profile = device(name)
    us = roofline_us(work, profile)
    assert us >= profile.kernel_us
    assert us >= work.bytes / profile.bandwidth_bytes_per_us
    more = replace(work, flops=work.flops * times, bytes=work.bytes * times)
    assert us <= roofline_us(more, profile) <= us * times + 1e-6
    assert roofline_us(replace(work, threads=work.threads * times), profile) <= us


operand = st.lists(st.integers(0, 5), min_size=0, max_size=5).map(tuple)
names = st.sampled_from(
    [
        "mlir_convolution_add",
        "mlir_dot",
        "mlir_attention",
        "gemm",
        "reduce_sum_kernel",
        "mlir_dot_softmax_dot",
        "x",
        "",
    ]
)


@settings(max_examples=200, deadline=None)
@given(names, st.lists(operand, min_size=1, max_size=6))
def test_any_shapes_under_any_name_have_a_finite_cost(name: str, operands: list[tuple[int, ...]]) -> None:
    us = kernel_us(kernel(name, *operands), H200)
    assert H200.kernel_us <= us < 1e6


def test_sizes_that_no_device_has_stay_finite() -> None:
    huge = (999_999_999_999_999_999,) * 20
    for name in ("mlir_convolution", "mlir_dot", "mlir_attention", "add_kernel", "reduce_sum_kernel"):
        work = workload(kernel(name, huge, huge, huge))
        assert 0 < roofline_us(work, H200) < 1e40
    text = f'module: "main"\np = @param:p -> {shape(*huge)}\nc = hip::copy_to_gpu(p,p) -> {shape(*huge)}\n'
    assert 0 < copy_us(main_body(parse_migraphx(text))[-1], H200) < 1e40


def test_a_gather_reads_what_it_takes() -> None:
    work = workload(kernel("gather_kernel", (50_000, 1280), (1, 1), (1, 1, 1280)))
    assert work.bytes == (1280 + 1 + 1280) * 4
    assert workload(kernel("reduce_sum_kernel", (500, 1280), (500, 1))).bytes == 500 * 1281 * 4


def test_small_library_calls_take_microseconds() -> None:
    (path,) = (GOLDEN / "cases/migraphx_formats").glob("04_*.txt")
    body = main_body(open_trace(str(path)).program(0))
    times = [kernel_us(op, device("mi300x")) for op in body if work_of(op) == "kernel"]
    assert len(times) == 3
    assert max(times) < 20


def test_instructions_that_run_modules_are_not_counted() -> None:
    text = f"""module: "main"
c = @param:c -> bool_type, {{1}}, {{0}}
a = if(c), [main:then, main:else] -> {shape(4)}
b = gpu::loop[max_iterations=4](c), [main:then] -> {shape(4)}
"""
    assert [work_of(op) for op in main_body(parse_migraphx(text))] == ["none"] * 3


def test_a_kernel_of_many_operands_costs_no_more_to_look_at() -> None:
    op = kernel("mlir_dot_add", *[(4, 4)] * 3000)
    assert workload(op).flops == 2 * 16 * 4 + 16
