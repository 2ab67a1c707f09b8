"""The reference executor on small programs: memory is bytes, and what cannot be run is said."""

import numpy as np
import pytest
from passlens.backends.reference import run_reference
from passlens.ir.errors import InputError
from passlens.ir.formats.migraphx import parse_migraphx

F4 = "float_type, {4}, {1}"
ADD = f"""module: "main:add_kernel_0"
x0 = @param:x0 -> {F4}
x1 = @param:x1 -> {F4}
@0 = add(x0,x1) -> {F4}
@1 = @return(@0)
"""
KERNEL = "gpu::code_object[code_object=0,symbol_name=add_kernel,global=4,local=64]"
LITERALS = {"@1": np.array([1, 2, 3, 4], np.float32), "@2": np.array([10, 20, 30, 40], np.float32)}
INPUT = {"x": np.array([0.5, 0.25, 0, 0], np.float32)}


def program(*lines: str):
    return parse_migraphx("\n".join(['module: "main"', *lines]) + "\n\n" + ADD)


def copied(second: int) -> list[str]:
    """Two weights copied one after the other; the second at a byte of the arena."""
    return [
        "@0 = hip::hip_allocate_memory[shape=int8_type, {64}, {1},id=main:scratch] -> int8_type, {64}, {1}",
        f"@1 = @literal{{ ... }} -> {F4}",
        f"@2 = @literal{{ ... }} -> {F4}",
        f"@3 = load[offset=0,end=16](@0) -> {F4}",
        f"@4 = load[offset={second},end={second + 16}](@0) -> {F4}",
        f"@5 = hip::copy_to_gpu(@1,@3) -> {F4}",
        f"@6 = hip::copy_to_gpu(@2,@4) -> {F4}",
        f"main:#output_0 = @param:main:#output_0 -> {F4}",
        f"@7 = {KERNEL}(@5,@6,main:#output_0), [main:add_kernel_0] -> {F4}",
        "@8 = @return(@7)",
    ]


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (16, [11, 22, 33, 44]),
        (0, [20, 40, 60, 80]),
        # The second half of the first weight is where the second one begins.
        (8, [1 + 10, 2 + 20, 10 + 30, 20 + 40]),
    ],
)
def test_copies_write_the_bytes_of_the_arena(second: int, expected: list[float]) -> None:
    (made,) = run_reference(program(*copied(second)), LITERALS, {})
    assert made.tolist() == expected


def test_a_batch_is_laid_out_at_multiples_of_256_bytes() -> None:
    lines = [
        "@0 = hip::hip_allocate_memory[shape=int8_type, {512}, {1},id=main:scratch] -> int8_type, {512}, {1}",
        f"@1 = @literal{{ ... }} -> {F4}",
        f"@2 = @literal{{ ... }} -> {F4}",
        "@3 = load[offset=16,end=288](@0) -> int8_type, {272}, {1}",
        "@4 = hip::copy_batch_to_gpu(@1,@2,@3) -> int8_type, {272}, {1}",
        f"@5 = hip::view_bytes[offset=0](@4) -> {F4}",
        f"@6 = hip::view_bytes[offset=256](@4) -> {F4}",
        f"main:#output_0 = @param:main:#output_0 -> {F4}",
        f"@7 = {KERNEL}(@5,@6,main:#output_0), [main:add_kernel_0] -> {F4}",
        "@8 = @return(@7)",
    ]
    (made,) = run_reference(program(*lines), LITERALS, {})
    assert made.tolist() == [11, 22, 33, 44]


def streamed(*between: str) -> list[str]:
    lines = copied(16)
    return [
        *lines[:5], "@9 = gpu::set_stream[stream=1] -> float_type, {}, {}", *lines[5:7], *between[:1],
        "@11 = gpu::set_stream[stream=0] -> float_type, {}, {}", *between[1:], *lines[7:],
    ]  # fmt: skip


RECORD = "@10 = gpu::record_event[event=0] -> float_type, {}, {}"
WAIT = "@12 = gpu::wait_event[event=0] -> float_type, {}, {}"


def test_orders_keep_to_events() -> None:
    waited, raced = program(*streamed(RECORD, WAIT)), program(*streamed(RECORD))
    results = {tuple(run_reference(waited, LITERALS, {}, order=seed)[0].tolist()) for seed in range(20)}
    assert results == {(11, 22, 33, 44)}
    results = {tuple(run_reference(raced, LITERALS, {}, order=seed)[0].tolist()) for seed in range(20)}
    assert len(results) > 1


def test_a_wait_in_front_of_its_record_is_for_the_run_before() -> None:
    """Copies that wait for the kernel of the run before never overwrite what it reads."""
    lines = copied(16)
    ends = "@13 = gpu::record_event[event=1] -> float_type, {}, {}"
    begins = "@14 = gpu::wait_event[event=1] -> float_type, {}, {}"
    good = [
        *lines[:5], "@9 = gpu::set_stream[stream=1] -> float_type, {}, {}", begins, *lines[5:7], RECORD,
        "@11 = gpu::set_stream[stream=0] -> float_type, {}, {}", WAIT, *lines[7:9], ends, lines[9],
    ]  # fmt: skip
    for seed in range(20):
        assert run_reference(program(*good), LITERALS, {}, order=seed, runs=4)[0].tolist() == [11, 22, 33, 44]


def test_an_event_that_is_never_recorded_is_a_fault() -> None:
    with pytest.raises(InputError, match="event 0, which nothing records"):
        run_reference(program(*copied(16)[:7], WAIT, *copied(16)[7:]), LITERALS, {}, order=1)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["x = @param:y -> " + F4, "@1 = @return(x)"], "input x is missing: given are none"),
        ([f"@1 = @literal{{ ... }} -> {F4}", "@2 = @return(@1)"], "@1 is a literal without its data"),
        ([*copied(56)], "@4 lies at bytes 56 to 72 of 64"),
        (
            [f"@1 = hip::hip_allocate_memory[shape={F4}] -> {F4}",
             f"@2 = gpu::code_object[code_object=1,symbol_name=mul_kernel](@1,@1) -> {F4}", "@3 = @return(@2)"],
            r"@2 \(mul_kernel\) has no module of operators",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_run_is_said(lines: list[str], message: str) -> None:
    literals = LITERALS if "lies at" in message else {}
    with pytest.raises(InputError, match=message):
        run_reference(program(*lines), literals, {})


def test_inputs_must_have_the_shape_that_the_program_wants() -> None:
    lines = [f"x = @param:x -> {F4}", "@1 = @return(x)"]
    assert run_reference(program(*lines), {}, INPUT)[0].tolist() == INPUT["x"].tolist()
    with pytest.raises(InputError, match=r"x has shape \(2, 2\): expected \(4,\)"):
        run_reference(program(*lines), {}, {"x": np.zeros((2, 2))})
