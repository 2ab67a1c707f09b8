"""Random MIGraphX programs, edited, written and read again; and damaged logs of them."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from migraphx_programs import edit_at_random, listing
from passlens.ir.formats.migraphx import parse_migraphx, print_migraphx
from passlens.ir.program import Program, walk


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
