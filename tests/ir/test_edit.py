"""Edits keep uses and operands in agreement, and refuse what would leave a value undefined."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from passlens.ir import edit
from passlens.ir.formats.mlir import parse_mlir
from passlens.ir.program import Op, Program, Value, ancestors, walk, walk_post
from passlens.ir.types import ScalarType
from passlens.ir.verify import verify

I32 = ScalarType("i32", "i32")
TEXT = """
%a = x.a : i32
%b = x.b %a, %a : i32
%c = x.c %b : i32
scf.if %c {
  %d = x.d %b, %a : i32
  x.e %d : i32
}
"""


def sound(program: Program) -> bool:
    return not [d for d in verify(program) if d.code == "broken-chain"]


def named(program: Program, name: str) -> Op:
    return next(op for op in walk(program) if op.name == name)


def test_replace_all_uses() -> None:
    program = parse_mlir(TEXT)
    a, c = named(program, "x.a").results[0], named(program, "x.c").results[0]
    assert edit.replace_all_uses(a, c, only=lambda use: use[0].name == "x.d") == 1
    assert named(program, "x.d").operands[1] is c
    assert edit.replace_all_uses(a, c) == 2
    assert a.uses == []
    assert edit.replace_all_uses(c, c) == 0
    assert sound(program)


def test_erase_refuses_while_a_result_is_used() -> None:
    program = parse_mlir(TEXT)
    with pytest.raises(ValueError, match=r"x.a cannot be erased: %a is still used by x.b"):
        edit.erase(named(program, "x.a"))
    edit.erase(named(program, "scf.if"))
    edit.erase(named(program, "x.c"))
    edit.erase(named(program, "x.b"))
    edit.erase(named(program, "x.a"))
    assert list(walk(program)) == []


def test_operands_can_be_added_set_and_taken_away() -> None:
    program = parse_mlir(TEXT)
    b, c = named(program, "x.b"), named(program, "x.c")
    edit.append_operand(c, b.operands[0])
    edit.set_operand(c, 0, b.operands[0])
    edit.erase_operand(b, 0)
    assert [v.name for v in c.operands] == ["%a", "%a"]
    assert [v.name for v in b.operands] == ["%a"]
    assert sound(program)


def test_move_keeps_uses() -> None:
    program = parse_mlir(TEXT)
    inner, outer = named(program, "x.d"), named(program, "scf.if")
    edit.move(inner, before=outer)
    assert [op.name for op in program.ops] == ["x.a", "x.b", "x.c", "x.d", "scf.if"]
    assert list(ancestors(inner)) == []
    assert verify(program) == []


def test_a_clone_maps_inner_values_and_keeps_outer_ones() -> None:
    program = parse_mlir(TEXT)
    branch = named(program, "scf.if")
    mapping: dict[Value, Value] = {}
    copy = edit.clone(branch, mapping)
    assert copy.operands == branch.operands
    inner, inner_copy = branch.regions[0].blocks[0].ops, copy.regions[0].blocks[0].ops
    assert inner_copy[1].operands[0] is mapping[inner[0].results[0]] is inner_copy[0].results[0]
    assert inner_copy[0].operands == inner[0].operands
    edit.insert_before(branch, copy)
    assert sound(program)


def test_walks_agree_on_what_is_there() -> None:
    program = parse_mlir(TEXT)
    assert [op.name for op in walk_post(program)] == [
        "x.a",
        "x.b",
        "x.c",
        "x.d",
        "x.e",
        "scf.yield",
        "scf.if",
    ]
    assert {id(op) for op in walk(program)} == {id(op) for op in walk_post(program)}


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 50), st.integers(0, 50)), max_size=30))
def test_any_edits_leave_the_chains_sound(edits: list[tuple[int, int, int]]) -> None:
    program = parse_mlir("")
    block = program.body.blocks[0]
    ops = [edit.create("x.source", [], [I32], block=block)]
    for what, first, second in edits:
        one, two = ops[first % len(ops)], ops[second % len(ops)]
        if what == 0:
            ops.append(edit.create("x.op", [one.results[0], two.results[0]], [I32], block=block))
        elif what == 1:
            edit.replace_all_uses(one.results[0], two.results[0])
        elif what == 2 and one.operands:
            edit.erase_operand(one, second % len(one.operands))
        elif what == 3 and len(ops) > 1 and not one.results[0].uses:
            ops.remove(one)
            edit.erase(one)
        assert sound(program)
