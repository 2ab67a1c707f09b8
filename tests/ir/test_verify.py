"""The verifier accepts what is sound and names what is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from passlens.ir.formats.mlir import parse_mlir
from passlens.ir.program import walk
from passlens.ir.verify import verify

GOLDEN = Path(__file__).parents[1] / "golden"
SOUND = sorted(
    [*GOLDEN.glob("seeds/*.mlir"), *(p for p in GOLDEN.glob("cases/layout/*.mlir") if "14_" not in p.name)]
)


def codes(text: str) -> list[str]:
    return [diagnostic.code for diagnostic in verify(parse_mlir(text))]


@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.stem)
def test_sound_programs(path: Path) -> None:
    assert verify(parse_mlir(path.read_text())) == []


def test_an_if_whose_yields_disagree_with_its_result() -> None:
    text = (GOLDEN / "cases/layout/14_if_yield_type_mismatch_invalid.mlir").read_text()
    found = verify(parse_mlir(text))
    assert [d.code for d in found] == ["region-edge-type"] * 2
    assert "result and yielded value #0 disagree" in found[0].message


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("func.func @f() {\n  %a = x.a %b : i32\n  %b = x.b : i32\n  return\n}\n", "use-before-definition"),
        ("func.func @f() {\n  %a = x.a %b : i32\n  return\n}\n", "undefined-value"),
        ("func.func @f() {\n  %b = x.b : i32\n}\n", "missing-terminator"),
        ("func.func @f(%c: i1) {\n  cf.cond_br %c, ^bb1, ^bb2\n^bb1:\n  %x = x.a : i32\n  cf.br ^bb2\n"
         "^bb2:\n  x.b %x : i32\n  return\n}\n", "use-before-definition"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(text: str, code: str) -> None:
    assert codes(text) == [code]


def test_a_loop_may_use_what_dominates_it() -> None:
    assert (
        codes(
            "func.func @f(%c: i1) {\n  %x = x.a : i32\n  cf.br ^bb1\n^bb1:\n  x.b %x : i32\n"
            "  cf.cond_br %c, ^bb1, ^bb2\n^bb2:\n  x.b %x : i32\n  return\n}\n"
        )
        == []
    )


def test_a_value_of_another_region_is_not_visible() -> None:
    program = parse_mlir(
        "%t = x.t : i1\nscf.if %t {\n  %a = x.a : i32\n} else {\n  %b = x.b : i32\n}\nx.use %t : i1\n"
    )
    use, inner = (next(op for op in walk(program) if op.name == name) for name in ("x.use", "x.a"))
    use.operands[0].uses.remove((use, 0))
    use.operands[0] = inner.results[0]
    inner.results[0].uses.append((use, 0))
    assert [d.code for d in verify(program)] == ["not-visible"]
