from pathlib import Path

import pytest
from passlens.ir.formats import parse
from passlens.ir.program import walk
from passlens.ir.trace import open_trace
from passlens.tui.widgets.ir_lines import index_lines
from passlens.tui.widgets.places import (
    ProgramIndex,
    Token,
    definition,
    index_program,
    region_ranges,
    token_at,
    token_before,
    tokens,
    uses,
)

SEEDS = Path(__file__).parents[2] / "golden" / "seeds"

TEXT = """\
func.func @f(%a: i32, %c: i1) {
  %r:2 = scf.if %c -> (i32, i32) {
    %x = arith.addi %a, %a : i32
    scf.yield %x, %a : i32, i32
  } else {
    %x = arith.muli %a, %a : i32
    scf.yield %x, %x : i32, i32
  }
  cf.br ^bb1(%r#1 : i32)
^bb1(%y: i32):
  %z = arith.addi %y, %r#0 : i32
  return
}
"""


@pytest.fixture(scope="module")
def index() -> ProgramIndex:
    return index_program(parse(TEXT, "mlir"))


def at(needle: str, nth: int = 0) -> int:
    place = -1
    for _ in range(nth + 1):
        place = TEXT.index(needle, place + 1)
    return place


def token(name: str, nth: int = 0) -> Token:
    found = [t for t in tokens(TEXT, 0, len(TEXT), "mlir", None) if t.text == name]
    return found[nth]


def test_the_op_at_a_place_is_the_innermost(index: ProgramIndex) -> None:
    names = {
        needle: index.op_at(at(needle)) for needle in ("arith.muli", "scf.if", "} else", "return", "^bb1(%y")
    }
    assert names["arith.muli"].name == "arith.muli"
    assert names["scf.if"].name == "scf.if"
    assert names["} else"].name == "scf.if"
    assert names["return"].name.endswith("return")
    assert names["^bb1(%y"].name == "func.func"


def test_names_are_resolved_in_their_scopes(index: ProgramIndex) -> None:
    first, second = index.value_at(token("%x", 0)), index.value_at(token("%x", 2))
    assert first is not second
    assert index.value_at(token("%x", 1)) is first
    assert index.value_at(token("%x", 3)) is second
    assert [index.value_at(token("%y", n)).owner.label for n in (0, 1)] == ["^bb1", "^bb1"]


def test_a_group_of_results_stands_for_each_of_them(index: ProgramIndex) -> None:
    group = token("%r")
    one = index.value_at(token("%r#1"))
    assert one is not None and one.index == 1
    assert index.same(one, group)
    assert not index.same(one, token("%r#0"))


def test_definitions_and_uses_are_where_the_names_are(index: ProgramIndex) -> None:
    y = index.value_at(token("%y"))
    assert definition(y) == at("%y")
    assert [place for _, place in uses(y)] == [at("%y", 1)]
    a = index.value_at(token("%a"))
    assert definition(a) == at("%a")
    zero = index.value_at(token("%r#0"))
    assert definition(zero) == at("%r:2")
    assert [place for _, place in uses(zero)] == [at("%r#0")]


def test_what_can_be_folded(index: ProgramIndex) -> None:
    assert region_ranges(index.program, index_lines(TEXT)) == [(0, 11), (1, 3), (4, 6)]


def test_a_token_at_a_place_and_in_front_of_it() -> None:
    lines = index_lines(TEXT)
    assert token_at(lines, at("%r#1") + 2, "mlir", None) == token("%r#1")
    assert token_at(lines, at("scf.yield"), "mlir", None) is None
    assert token_before(TEXT, at("%r#1"), 0, "mlir", None).text == "%x"


@pytest.mark.parametrize("name", ["triton_reproducible.mlir", "migraphx_streaming_resnet50.txt"])
def test_every_name_in_a_seed_is_a_value_and_every_value_has_its_name(name: str) -> None:
    trace = open_trace(str(SEEDS / name))
    program = trace.program(0)
    index = index_program(program)
    text = program.text
    for op in walk(program):
        for value in (*op.results, *op.operands):
            place = definition(value)
            assert place >= 0
            here = next(iter(tokens(text, place, place + 80, program.format, index)))
            assert here.start == place and index.same(value, here)
            found = uses(value)
            assert len({id(user) for user, _ in found}) == len({id(user) for user, _ in value.uses})
            for user, spot in found:
                assert index.op_at(spot) is user
                assert index.same(value, next(iter(tokens(text, spot, spot + 80, program.format, index))))


def test_only_values_of_a_migraphx_program_are_names_in_it() -> None:
    text = 'module: "main"\ndata = @param:data -> float_type, {1}, {1}\n@1 = tanh(data) -> float_type, {1}, {1}\n'
    index = index_program(parse(text, "migraphx"))
    assert [t.text for t in tokens(text, 0, len(text), "migraphx", index)] == ["data", "@1", "data"]


def test_names_of_an_onnx_program_are_values() -> None:
    trace = open_trace(str(Path(__file__).parents[3] / "samples" / "classifier.onnx"))
    program = trace.program(0)
    index = index_program(program)
    found = list(tokens(program.text, 0, len(program.text), "onnx", index))
    assert len(found) > 40
    assert all(index.value_at(token) is not None for token in found)
    assert all(definition(index.value_at(token)) <= token.start for token in found)
