"""Damaged MLIR: nothing is raised, nothing hangs, and no byte is lost."""

from __future__ import annotations

import time
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from passlens.ir.formats.mlir import parse_mlir, print_mlir
from passlens.ir.program import Program, walk
from passlens.ir.verify import verify

GOLDEN = Path(__file__).parents[2] / "golden"
SEED = (GOLDEN / "seeds/triton_reproducible.mlir").read_text()
PIECES = ["%a", "%a:2", " = ", "scf.for ", "scf.if ", '"', "{", "}", "(", ")", "<", ">", "[", "]", "^bb0", ":", "->",
          "\n", "#a", "!t", "loc(", "//", "tensor<4x", "module ", "i32", "iter_args", "\\", "\x00", "é", "{-#", "tt.func @k("]  # fmt: skip


def survive(text: str) -> Program:
    began = time.monotonic()
    program = parse_mlir(text)
    assert print_mlir(program) == text
    for op in walk(program):
        assert isinstance(op.attributes, dict)
        for value in op.results:
            assert value.type is not None
        for region in op.regions:
            for block in region.blocks:
                assert all(arg.type is not None for arg in block.args)
    verify(program)
    assert time.monotonic() - began < 10
    return program


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(SEED)))
def test_truncation_anywhere(cut: int) -> None:
    survive(SEED[:cut])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(SEED) - 1), st.characters(codec="utf-8")), min_size=1, max_size=20)
)
def test_characters_exchanged(flips: list[tuple[int, str]]) -> None:
    text = list(SEED)
    for place, character in flips:
        text[place] = character
    survive("".join(text))


@settings(max_examples=40, deadline=None)
@given(st.sets(st.integers(0, SEED.count("{") + SEED.count("}") - 1), max_size=8))
def test_braces_deleted(gone: set[int]) -> None:
    seen = -1
    kept = []
    for character in SEED:
        if character in "{}":
            seen += 1
            if seen in gone:
                continue
        kept.append(character)
    survive("".join(kept))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=60))
def test_any_mixture_of_pieces(pieces: list[str]) -> None:
    survive("".join(pieces))


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300))
def test_any_text(text: str) -> None:
    survive(text)


def test_a_line_of_ten_megabytes() -> None:
    survive(
        "%0 = arith.constant dense<[" + "1, " * 3_400_000 + "1]> : tensor<3400001xi32>\n%1 = a.b %0 : i32\n"
    )


def test_brackets_ten_thousand_deep() -> None:
    for opening, closing in ("()", "[]", "{}", "<>"):
        survive("a.b " + opening * 10_000 + closing * 10_000 + "\nc.d\n")
        survive(
            f'%0 = "a.b"() {{x = {opening * 10_000}{closing * 10_000}}} : () -> tensor<4x{opening * 10_000}\nc.d\n'
        )
