"""Random MIGraphX programs, edited, written and read again; and damaged logs of them."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from migraphx_programs import damaged, edit_at_random, listing
from passlens.ir.errors import InputError
from passlens.ir.formats import print_program
from passlens.ir.formats.migraphx import parse_migraphx, print_migraphx
from passlens.ir.program import Program, walk
from passlens.ir.trace import trace_of_text


def meaning(program: Program) -> list[Any]:
    """What a program says, values by their place and not by their name."""
    numbers = {id(v): n for n, v in enumerate(v for op in walk(program) for v in op.results)}
    return [
        (
            op.name,
            [numbers.get(id(v), v.name) for v in op.operands],
            {key: text for key, text in op.attributes.items() if key != "parameter"},
            [v.type.text for v in op.results],
        )
        for op in walk(program)
    ]


def check(seed: int, steps: int) -> None:
    text = listing(seed)
    program = parse_migraphx(text)
    assert print_migraphx(program) == text
    edit_at_random(program, seed + 1, steps)
    written = print_migraphx(program)
    again = parse_migraphx(written)
    assert meaning(again) == meaning(program)
    assert print_migraphx(again) == written


@settings(max_examples=250, deadline=None)
@given(st.integers(0, 1 << 32), st.integers(0, 6))
def test_an_edited_program_is_read_as_it_was_written(seed: int, steps: int) -> None:
    check(seed, steps)


GOLDEN = Path(__file__).parents[2] / "golden"
LOGS = [path.read_text() for path in sorted(GOLDEN.glob("cases/migraphx*/*.txt"))]


@settings(max_examples=250, deadline=None)
@given(st.integers(0, 1 << 32), st.sampled_from([*LOGS, ""]))
def test_a_damaged_log_is_read_or_refused(seed: int, log: str) -> None:
    text = damaged(log or listing(seed), seed)
    began = time.monotonic()
    program = parse_migraphx(text)
    assert print_migraphx(program) == text
    for op in walk(program):
        assert isinstance(op.attributes, dict)
        assert all((op, index) in value.uses for index, value in enumerate(op.operands))
    with contextlib.suppress(InputError):
        trace = trace_of_text(text)
        for snapshot in trace.snapshots[:4]:
            # Snapshots that differ in blank lines around them share a program.
            assert print_program(trace.program(snapshot)).strip() == trace.text(snapshot).strip()
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    "line",
    [
        "@1 = f[a=" + "[{(" * 3_500_000,
        "@1 = f[a=" + "{1, " * 2_500_000 + "](x) -> float_type, {1}, {0}",
        "@1 = f(" + "@0," * 1_000_000 + ") -> float_type, {1}, {0}",
        "@1 = f(@0) -> " + "[" * 10_000 + "float_type, {1}, {0}" + "]" * 10_000,
        "@1 = f(@0) -> float_type, {" + "1, " * 3_000_000 + "1}, {0}",
        "x" * 10_000_000,
        "Run instruction: " * 600_000,
        "(Worker pid=1) " * 600_000,
        'module: "m" ' * 800_000,
    ],
    ids=range(9),
)
def test_a_line_of_ten_megabytes(line: str) -> None:
    text = f'module: "main"\n@0 = g -> float_type, {{1}}, {{0}}\n{line}\n@2 = h(@0) -> float_type, {{1}}, {{0}}\n'
    began = time.monotonic()
    assert print_migraphx(parse_migraphx(text)) == text
    trace = trace_of_text(text)
    assert print_program(trace.program(0)) == trace.text(0)
    assert time.monotonic() - began < 30
