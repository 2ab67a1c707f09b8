"""The MLIR writer on edited programs: what it prints is read back as the program that was meant."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from passlens.ir import edit
from passlens.ir.formats.mlir import parse_mlir, print_mlir
from passlens.ir.program import Op, Program, walk
from passlens.ir.verify import verify

GOLDEN = Path(__file__).parents[2] / "golden"
TEXTS = sorted([*GOLDEN.glob("seeds/*.mlir"), *GOLDEN.glob("cases/layout/*.mlir")])
PATHS = pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)


def shape(program: Program) -> list[object]:
    """Everything but names and spans: op names, operands by number, types, attributes, regions."""
    numbers: dict[int, int] = {}
    for op in walk(program):
        for value in [*op.results, *(a for r in op.regions for b in r.blocks for a in b.args)]:
            numbers[id(value)] = len(numbers)
    return [
        (
            op.name,
            [numbers.get(id(value), -1) for value in op.operands],
            [result.type.text for result in op.results],
            dict(op.attributes),
            [[(len(b.args), len(b.ops)) for b in r.blocks] for r in op.regions],
        )
        for op in walk(program)
    ]


def reread(program: Program) -> Program:
    return parse_mlir(print_mlir(program))


@PATHS
def test_renaming_every_value_changes_names_only(path: Path) -> None:
    program = parse_mlir(path.read_text())
    before = shape(program)
    edit.rename_all(program)
    text = print_mlir(program)
    assert shape(parse_mlir(text)) == before
    assert not re.search(r"%(arg|cst|c\d)", text.partition("tt.func")[2])


@PATHS
def test_erasing_dead_ops(path: Path) -> None:
    program = parse_mlir(path.read_text())
    live = [op for op in walk(program) if op.results and any(r.uses for r in op.results)]
    dead = [op for op in walk(program) if op.results and op not in live and not op.regions]
    for op in dead:
        edit.erase(op)
    assert shape(reread(program)) == shape(program)


@PATHS
def test_an_inserted_op_is_printed_in_its_place(path: Path) -> None:
    program = parse_mlir(path.read_text())
    function = next(op for op in walk(program) if op.name == "tt.func")
    first = function.regions[0].blocks[0].ops[0]
    i32 = parse_mlir("x.y").source.parse_type("i32")  # type: ignore[attr-defined]  # the MLIR source's own method
    seven = edit.create("arith.constant", [], [i32], {"value": "7 : i32"}, before=first)
    edit.create("arith.addi", [seven.results[0]] * 2, [i32], before=first)
    again = reread(program)
    inner = next(op for op in walk(again) if op.name == "tt.func").regions[0].blocks[0].ops
    assert [op.name for op in inner[:2]] == ["arith.constant", "arith.addi"]
    assert inner[1].operands == [inner[0].results[0]] * 2
    assert len(list(walk(again))) == len(list(walk(program)))
    assert not [d for d in again.diagnostics if d.code == "undefined-value"]


def test_a_clone_gets_names_of_its_own() -> None:
    program = parse_mlir((GOLDEN / "seeds/triton_fix1.mlir").read_text())
    loop = next(
        op for op in walk(program) if op.name == "scf.for" and op.parent and op.parent.name == "tt.func"
    )
    edit.insert_before(loop, edit.clone(loop))
    again = reread(program)
    assert sum(op.name == "scf.for" for op in walk(again)) == 4
    assert verify(again) == []
    assert shape(again) == shape(program)


def test_an_operand_is_replaced_in_the_custom_form() -> None:
    program = parse_mlir(
        "%a = x.c : i32\n%b = x.c : i32\n%c = arith.subi %a, %b : i32 loc(#l)\n#l = loc(unknown)\n"
    )
    a, b, c = walk(program)
    edit.set_operand(c, 0, b.results[0])
    edit.set_operand(c, 1, a.results[0])
    assert "%c = arith.subi %b, %a : i32 loc(#l)" in print_mlir(program)


def test_a_type_is_replaced_in_the_custom_form() -> None:
    program = parse_mlir(
        "%a = x.c : tensor<4xf32, #a>\n"
        "%b = ttg.convert_layout %a : tensor<4xf32, #a> -> tensor<4xf32, #a>\n"
        "%c = arith.addf %b, %b : tensor<4xf32, #a>\n#a = #x.a\n#b = #x.b\n"
    )
    _, convert, add = walk(program)
    new = parse_mlir("x.y").source.parse_type("tensor<4xf32, #b>")  # type: ignore[attr-defined]  # as above
    edit.set_type(convert.results[0], new)
    edit.set_type(add.results[0], new)
    text = print_mlir(program)
    assert "%b = ttg.convert_layout %a : tensor<4xf32, #a> -> tensor<4xf32, #b>" in text
    assert "%c = arith.addf %b, %b : tensor<4xf32, #b>" in text


def test_an_attribute_is_replaced_in_its_dictionary() -> None:
    program = parse_mlir("%a = x.c : i32\n%b = tt.expand_dims %a {axis = 1 : i32, u} : i32 -> i32\n")
    _, expand = walk(program)
    edit.set_attribute(expand, "axis", "0 : i32")
    assert "%b = tt.expand_dims %a {axis = 0 : i32, u} : i32 -> i32" in print_mlir(program)


def test_another_iter_arg_makes_a_loop_generic() -> None:
    program = parse_mlir(
        "%c = arith.constant 0 : i32\nscf.for %i = %c to %c step %c  : i32 {\n  %0 = arith.addi %i, %c : i32\n}\n"
    )
    loop = next(op for op in walk(program) if op.name == "scf.for")
    edit.append_operand(loop, loop.operands[0])
    assert '"scf.for"(%c, %c, %c, %c) ({\n' in print_mlir(program)
    again = reread(program)
    inner = next(op for op in walk(again) if op.name == "scf.for").regions[0].blocks[0]
    assert [op.name for op in inner.ops] == ["arith.addi", "scf.yield"]  # printed: generic form drops nothing
    assert inner.args[0].type.text == "i32"


def test_comments_stay_with_the_op_behind_them() -> None:
    program = parse_mlir("// first\n%a = x.c : i32\n// second\n%b = x.d %a : i32\n// last\n")
    edit.create("x.new", before=list(walk(program))[1])
    assert (
        print_mlir(program)
        == '// first\n%a = x.c : i32\n"x.new"() : () -> ()\n// second\n%b = x.d %a : i32\n// last\n'
    )


EDITABLE = (GOLDEN / "seeds/triton_fix1.mlir").read_text()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(st.sampled_from(["erase", "clone", "rename", "swap", "move"]), st.integers(0, 10**6)),
        max_size=6,
    )
)
def test_any_sequence_of_edits_is_read_back_as_the_same_program(edits: list[tuple[str, int]]) -> None:
    program = parse_mlir(EDITABLE)
    for what, pick in edits:
        _apply(program, what, pick)
    assert not [d for d in verify(program) if d.code == "broken-chain"]
    again = reread(program)
    assert shape(again) == shape(program)


def _apply(program: Program, what: str, pick: int) -> None:
    plain = [op for op in walk(program) if op.results and not op.regions]
    op: Op = plain[pick % len(plain)]
    if what == "erase" and not any(result.uses for result in op.results):
        edit.erase(op)
    elif what == "clone":
        edit.insert_before(op, edit.clone(op))
    elif what == "rename":
        edit.rename(op.results[0], f"%fresh_{pick}")
    elif what == "swap" and len(op.operands) > 1 and op.operands[0].type == op.operands[1].type:
        first, second = op.operands[:2]
        edit.set_operand(op, 0, second)
        edit.set_operand(op, 1, first)
    elif what == "move" and op.block is not None:
        edit.move(op, before=op.block.ops[0])
