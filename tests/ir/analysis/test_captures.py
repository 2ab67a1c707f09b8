"""Memory of MIGraphX programs beyond a straight line: submodules, waits in views, literals on the GPU."""

import pytest
from passlens.ir.analysis import views
from passlens.ir.analysis.memory import arena_bytes, arena_use
from passlens.ir.analysis.migraphx_summary import main_body, summarize, to_json
from passlens.ir.analysis.views import buffer_of, captured
from passlens.ir.formats.migraphx import parse_migraphx
from passlens.ir.program import Op, Program

F = "float_type, {4}, {1}"


def program(*lines: str, name: str = "main") -> Program:
    return parse_migraphx(f'module: "{name}"\n' + "\n".join(lines) + "\n")


ARENA = (
    "@0 = hip::hip_allocate_memory[shape=int8_type, {64}, {1},id=main:scratch] -> int8_type, {64}, {1}",
    f"x = @param:x -> {F}",
    f"@2 = load[offset=0,end=16](@0) -> {F}",
    f"@3 = load[offset=16,end=32](@0) -> {F}",
)


def lives(it: Program) -> list[tuple[int | None, int | None]]:
    return [(buffer.first, buffer.last) for buffer in arena_use(main_body(it)).buffers]


def test_a_buffer_that_a_branch_reads_lives_until_the_branch() -> None:
    it = parse_migraphx(
        'module: "main"\n' + "\n".join(ARENA) + "\n"
        f"@4 = gpu::code_object[code_object=1](x,@2) -> {F}\n"
        f"@5 = gpu::code_object[code_object=1](x,@3) -> {F}\n"
        f"@6 = if(x), [main:if0, main:if1] -> {F}\n"
        "@7 = @return(@6)\n\n"
        'module: "main:if0"\n'
        f"main:if0:@0 = gpu::code_object[code_object=1](@4,@5) -> {F}\n"
        "main:if0:@1 = @return(main:if0:@0)\n\n"
        'module: "main:if1"\n'
        "main:if1:@0 = @return(@4)\n"
    )
    branch = next(op for op in main_body(it) if op.name == "if")
    assert sorted(value.name for value in captured(branch)) == ["@4", "@5"]
    assert lives(it) == [(4, 6), (5, 6)]
    assert arena_use(main_body(it)).peak_live == 32


def test_what_an_identity_waits_for_and_a_sync_hands_on_stays_live() -> None:
    it = program(
        *ARENA,
        f"@4 = gpu::code_object[code_object=1](x,@2) -> {F}",
        f"@5 = gpu::code_object[code_object=1](x,@3) -> {F}",
        f"@6 = identity(@5,@4) -> {F}",
        f"@7 = hip::sync_stream(@6) -> {F}",
        "@8 = @return(@7)",
    )
    assert lives(it) == [(4, 6), (5, 8)]


def test_a_copy_without_a_buffer_makes_its_own() -> None:
    it = program(f"@0 = @literal{{1}} -> {F}", f"@1 = hip::copy_to_gpu(@0) -> {F}")
    copied = main_body(it)[1].results[0]
    assert buffer_of(copied) is copied


def test_a_literal_on_the_gpu_is_no_arena() -> None:
    it = program(f"@0 = hip::hip_load_memory[shape={F},id=main:@literal:0] -> {F}")
    assert arena_bytes(main_body(it)) == 0
    assert to_json(summarize(it))["literals"]["resident"] == {"count": 1, "bytes": 16}


def test_parameters_of_a_module_of_any_name_and_outputs_by_what_is_returned() -> None:
    it = program(
        f"x = @param:x -> {F}",
        f"out = @param:out -> {F}",
        f"@2 = gpu::code_object[code_object=1](x,out) -> {F}",
        "@3 = @return(@2)",
        name="net",
    )
    found = to_json(summarize(it))["parameters"]
    assert found == {"count": 2, "bytes": 32, "outputs": {"count": 1, "bytes": 16}}


def test_streams_of_a_schedule_trace() -> None:
    it = program(
        f"x = @param:x -> {F}: weight=0 input={{}}",
        f"@1 = gpu::code_object[code_object=1](x) -> {F}: weight=2 input={{}} stream=0",
        f"@2 = gpu::code_object[code_object=1](x) -> {F}: weight=2 input={{}} stream=1",
    )
    assert to_json(summarize(it))["streams"] == 2


def test_long_chains_of_kernels_are_followed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 3000
    chain = [f"@{i} = gpu::k(@{i - 1}) -> {F}" for i in range(1, count)]
    it = program(f"x = @param:x -> {F}", f"@0 = gpu::k(x) -> {F}", *chain)
    steps = 0
    original = views.aliased_operand

    def counted(op: Op) -> int | None:
        nonlocal steps
        steps += 1
        return original(op)

    monkeypatch.setattr(views, "aliased_operand", counted)
    arena_use(main_body(it))
    assert count <= steps + 1 <= 2 * count
