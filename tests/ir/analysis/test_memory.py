"""Arena, liveness and copies: the report's figures, small programs by hand, and what must always hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from passlens.ir.analysis.memory import arena_use
from passlens.ir.analysis.migraphx_summary import copies_of, main_body, summarize, to_json
from passlens.ir.analysis.views import buffer_of, is_kernel
from passlens.ir.formats.migraphx import parse_migraphx
from passlens.ir.trace import open_trace

GOLDEN = Path(__file__).parents[2] / "golden"
SEED = GOLDEN / "seeds/migraphx_streaming_resnet50.txt"


def test_the_report_s_figures() -> None:
    trace = open_trace(str(SEED))
    for snapshot in trace.snapshots:
        said = to_json(summarize(trace.program(snapshot)))
        assert said["instructions"] == 574
        assert (said["literals"]["count"], said["literals"]["bytes"]) == (119, 105_378_732)
        assert (said["copies"]["count"], said["copies"]["bytes"]) == (119, 105_378_732)
        assert said["copies"]["distance"]["0"] == 46
        assert sum(said["copies"]["distance"].values()) == 119
        assert said["arena"]["bytes"] == 31_232_000
        assert said["arena"]["peak_live"] == 31_215_616  # the largest sum of live bytes that the driver had
        assert said["parameters"]["bytes"] == 606_112  # what the driver printed
        assert (said["code_objects"], said["kernels_launched"], said["streams"]) == (70, 71, 1)


def test_a_buffer_lives_from_its_first_write_to_its_last_read_through_any_view() -> None:
    program = parse_migraphx(
        'module: "main"\n'
        "@0 = hip::hip_allocate_memory[shape=int8_type, {48}, {1},id=main:scratch] -> int8_type, {48}, {1}\n"
        "x = @param:x -> float_type, {4}, {1}\n"
        "@2 = load[offset=0,end=16](@0) -> float_type, {4}, {1}\n"
        "@3 = gpu::code_object[code_object=1](x,@2) -> float_type, {4}, {1}\n"
        "@4 = multibroadcast[out_lens={2, 4}](@3) -> float_type, {2, 4}, {0, 1}\n"
        "@5 = load[offset=16,end=32](@0) -> float_type, {4}, {1}\n"
        "@6 = gpu::code_object[code_object=1](x,@5) -> float_type, {4}, {1}\n"
        "@7 = load[offset=32,end=48](@0) -> float_type, {4}, {1}\n"
        "@8 = gpu::code_object[code_object=1](@4,@7) -> float_type, {4}, {1}\n"
        "@9 = @return(@8,@6)\n"
    )
    ops = main_body(program)
    use = arena_use(ops)
    assert [(b.first, b.last) for b in use.buffers] == [(3, 8), (6, 9), (8, 9)]
    assert use.live == [0, 0, 0, 16, 16, 16, 32, 32, 48, 32]
    assert use.peak_live == use.peak_live_without_streamed == 48
    assert buffer_of(ops[8].operands[0]) is ops[2].results[0]


def test_streamed_literals_are_left_out_of_what_everything_else_needs() -> None:
    program = open_trace(str(GOLDEN / "cases/migraphx/07_literal_copied_per_use_and_unused.txt")).program(0)
    use = arena_use(main_body(program))
    streamed = [buffer for buffer in use.buffers if buffer.literal is not None]
    assert len(streamed) == 2
    assert (use.peak_live, use.peak_live_without_streamed) == (3072, 2048)
    assert [copy.distance for copy in copies_of(main_body(program))] == [0, 0]


def test_the_written_operand_may_be_named() -> None:
    program = open_trace(str(GOLDEN / "cases/migraphx_formats/02_odd_params_tuple.txt")).program(0)
    use = arena_use(main_body(program))
    assert [buffer.bytes for buffer in use.buffers] == [72]
    assert use.buffers[0].writers[0].results[0].name == "@8"


def test_workspaces_and_the_places_that_reuse_them() -> None:
    program = open_trace(str(GOLDEN / "cases/migraphx_formats/04_gpu_conv_gemm_resident.txt")).program(0)
    use = arena_use(main_body(program))
    workspace = use.buffers[1]
    assert (workspace.bytes, workspace.end, use.bytes) == (20992, 29184, 29184)
    assert workspace.first == workspace.last
    said = to_json(summarize(program))
    assert said["literals"]["resident"] == {"count": 3, "bytes": 864 + 40960 + 32}


@pytest.mark.parametrize(
    ("name", "kernel"),
    [("gpu::code_object", True), ("gpu::pooling", True), ("gpu::gemm", True), ("hip::copy_to_gpu", False),
     ("load", False), ("gpu::set_stream", False), ("multibroadcast", False), ("hip::hip_copy_literal", False)],
)  # fmt: skip
def test_kernels(name: str, kernel: bool) -> None:
    (op,) = main_body(parse_migraphx(f'module: "main"\n@0 = {name} -> float_type, {{1}}, {{0}}\n'))
    assert is_kernel(op) is kernel


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(1, 4), st.booleans()), min_size=1, max_size=20))
def test_sums_are_of_the_buffers_live_there(plan: list[tuple[int, int, bool]]) -> None:
    lines = [
        'module: "main"',
        "@0 = hip::hip_allocate_memory[shape=int8_type, {4096}, {1},id=main:scratch] -> int8_type, {4096}, {1}",
    ]
    made: list[str] = ["@0"]
    for back, units, view in plan:
        n = len(lines) - 1
        lines.append(f"@{n} = load[offset=0,end={16 * units}](@0) -> float_type, {{{4 * units}}}, {{1}}")
        source = made[-1 - back % len(made)]
        lines.append(
            f"@{n + 1} = gpu::code_object[code_object=1]({source},@{n}) -> float_type, {{{4 * units}}}, {{1}}"
        )
        made.append(f"@{n + 1}")
        if view:
            lines.append(f"@{n + 2} = reshape[dims={{1}}](@{n + 1}) -> float_type, {{{4 * units}}}, {{1}}")
            made.append(f"@{n + 2}")
    use = arena_use(main_body(parse_migraphx("\n".join(lines))))
    for at, total in enumerate(use.live):
        expected = sum(
            b.bytes
            for b in use.buffers
            if b.first is not None and b.last is not None and b.first <= at <= b.last
        )
        assert total == expected
    assert use.peak_live_without_streamed == use.peak_live
