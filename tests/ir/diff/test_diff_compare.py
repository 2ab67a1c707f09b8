"""What two programs differ in, part by part; and what is no difference."""

from __future__ import annotations

import json
import lzma
import random
import re
from pathlib import Path

import pytest
from passlens.ir import edit
from passlens.ir.diff.compare import compare
from passlens.ir.diff.options import Options
from passlens.ir.diff.result import Diff
from passlens.ir.formats.mlir import parse_mlir
from passlens.ir.formats.mlir_print import print_mlir
from passlens.ir.program import Program, walk

GOLDEN = Path(__file__).parents[2] / "golden"
BEFORE = (GOLDEN / "seeds/triton_reproducible.mlir").read_text()
AFTER = (GOLDEN / "seeds/triton_fix1.mlir").read_text()


def diff_of(a: str, b: str, options: Options | None = None) -> Diff:
    return compare(parse_mlir(a), parse_mlir(b), options or Options())


def brief(diff: Diff) -> list[tuple[str, str, list[tuple[str, str, str, str]]]]:
    return [(c.status, c.op.name, [(p.kind, p.which, p.old, p.new) for p in c.parts]) for c in diff.changes]


def function(*lines: str) -> str:
    body = "\n".join(f"  {line}" for line in lines)
    return f"func.func @f(%a: i32, %b: i32) {{\n{body}\n  return\n}}\n"


# -- the seed ------------------------------------------------------------------------------------------


def test_the_authors_fix_is_four_changes() -> None:
    tensor = (
        "tensor<256x128xf32, #triton_gpu.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 64], "
        "warpsPerCTA = [2, 2], order = [1, 0]}>>"
    )
    assert brief(diff_of(BEFORE, AFTER)) == [
        (
            "changed",
            "scf.for",
            [
                ("result", "0", "", tensor),
                ("operand", "3", "", "%cst_0"),
                ("argument", "argument 1", "", tensor),
            ],
        ),
        ("added", "arith.mulf", []),
        ("changed", "scf.for", [("operand", "3", "%cst_0", "%68")]),
        ("added", "scf.yield", []),
    ]


def test_the_value_that_took_the_constants_place_is_the_added_op() -> None:
    diff = diff_of(BEFORE, AFTER)
    inner = diff.changes[2].parts[0]
    assert inner.new_value is not None and inner.new_value.op is diff.changes[1].b
    assert inner.old_value is not None and diff.counterpart_of_value(inner.old_value) is not None


# -- what is no difference -----------------------------------------------------------------------------


def renumbered(text: str) -> str:
    """Values and aliases under other names, alias definitions in another order, locations gone astray."""
    program = parse_mlir(text)
    edit.rename_all(program, "other")
    text = print_mlir(program)
    names = re.findall(r"(?m)^(#blocked\d*) =", text)
    for place, name in enumerate(names):
        text = re.sub(rf"{name}\b", f"#layout_{len(names) - place}", text)
    text = re.sub(r"loc\(#loc\d*\)", "loc(unknown)", text)
    lines = text.split("\n")
    definitions = [line for line in lines if re.match(r"#layout_\d+ =", line)]
    rest = [line for line in lines if not re.match(r"#(layout_|loc)\w* =", line)]
    return "\n".join([*reversed(definitions), *rest])


@pytest.mark.parametrize("text", [BEFORE, AFTER])
def test_renumbering_is_the_same(text: str) -> None:
    other = renumbered(text)
    assert other != text and "%other" in other and "#layout_1" in other
    assert diff_of(text, other).same
    assert diff_of(other, text).same


def test_an_undefined_value_may_have_another_name() -> None:
    assert diff_of("%r = x.a %nowhere : i32\n", "%q = x.a %elsewhere : i32\n").same


def test_white_space_and_attribute_order_are_the_same() -> None:
    a = function('%0 = x.a %a {k = 1 : i32, "q.r" = [1, 2]} : i32')
    b = function('%0 = x.a   %a {"q.r" = [1,2],  k = 1 : i32}   : i32')
    assert diff_of(a, b.replace("[1,2]", "[1, 2]")).same


def generics() -> list[Path]:
    return sorted((GOLDEN / "triton").glob("*/*.jsonl.xz"))


@pytest.mark.parametrize("path", generics(), ids=lambda path: f"{path.parent.name}-{path.name[:-9]}")
def test_the_generic_form_of_libtriton_is_the_same(path: Path) -> None:
    compared = 0
    with lzma.open(path, "rt") as lines:
        for line in lines:
            entry = json.loads(line)
            if "generic" not in entry or compared >= 8:
                continue
            compared += 1
            assert brief(diff_of(entry["text"], entry["generic"])) == [], entry["kernel"]
    assert compared


def test_an_inline_encoding_is_its_alias() -> None:
    a = "#e = #ttg.blocked<{order = [0]}>\n%0 = x.a : tensor<4xi32, #e>\n"
    b = "%0 = x.a : tensor<4xi32, #ttg.blocked<{order = [0]}>>\n"
    assert diff_of(a, b).same


def test_strings_are_not_mistaken_for_names() -> None:
    a, b = function('x.asm "mov %r1, 0"'), function('x.asm "mov %r2, 0"')
    assert [c.status for c in diff_of(a, b).changes] == ["changed"]


# -- what changed --------------------------------------------------------------------------------------


def test_an_encoding_is_named_by_what_it_stands_for() -> None:
    a = "#e = #ttg.blocked<{order = [0]}>\n%0 = x.a : tensor<4xi32, #e>\nx.use %0 : tensor<4xi32, #e>\n"
    b = a.replace("order = [0]", "order = [1]")
    assert brief(diff_of(a, b)) == [
        (
            "changed",
            "x.a",
            [("encoding", "result 0", "#ttg.blocked<{order = [0]}>", "#ttg.blocked<{order = [1]}>")],
        )
    ]


def test_a_type_beside_the_encoding() -> None:
    a, b = "%0 = x.a : tensor<4xi32, #x.e>\n", "%0 = x.a : tensor<8xi32, #x.f>\n"
    kinds = [part.kind for part in diff_of(a, b).changes[0].parts]
    assert kinds == ["encoding", "type"]


def test_attributes_operands_and_names() -> None:
    a = function("%0 = x.a %a {k = 1 : i32, gone} : i32", "%1 = x.b %0, %a : i32", "x.use %1, %a : i32")
    b = function("%0 = x.a %a {k = 2 : i32, new} : i32", "%1 = x.c %0, %a : i32", "x.use %1, %b : i32")
    assert brief(diff_of(a, b)) == [
        (
            "changed",
            "x.a",
            [
                ("attribute", "gone", "unit", ""),
                ("attribute", "k", "1 : i32", "2 : i32"),
                ("attribute", "new", "", "unit"),
            ],
        ),
        ("changed", "x.c", [("name", "", "x.b", "x.c")]),
        ("changed", "x.use", [("operand", "1", "%a", "%b")]),
    ]


def test_attributes_that_stand_by_position_or_as_bare_words() -> None:
    a = function("%0 = tt.atomic_rmw fadd, acq_rel, gpu, %a, %b : (i32, i32) -> i32")
    assert [
        (part.kind, part.which, part.old, part.new)
        for part in diff_of(a, a.replace("acq_rel, gpu", "relaxed, gpu")).changes[0].parts
    ] == [("attribute", "sem", "acq_rel", "relaxed")]
    words = diff_of(function("%0 = llvm.or %a, %b : i32"), function("%0 = llvm.or disjoint %a, %b : i32"))
    assert brief(words) == [("changed", "llvm.or", [("syntax", "", "", "disjoint")])]
    lists = diff_of(function("x.at %a[0, %b] : i32"), function("x.at %a[1, %b] : i32"))
    assert brief(lists) == [("changed", "x.at", [("syntax", "", "[0, %]", "[1, %]")])]


def test_an_edited_op_is_what_its_print_says() -> None:
    program = parse_mlir(AFTER)
    add = next(op for op in walk(program) if op.name == "arith.addi" and op.results[0].type.text == "i32")
    edit.set_operand(add, 1, add.operands[0])
    edit.set_attribute(next(op for op in walk(program) if op.name == "tt.load"), "mark", "unit")
    assert brief(compare(program, parse_mlir(print_mlir(program)))) == []


def test_an_operand_more() -> None:
    a = function("%0 = x.a : i32", "x.use %0, %a, %b : i32")
    b = function("%0 = x.a : i32", "x.use %0, %b, %a, %b : i32")
    assert brief(diff_of(a, b)) == [("changed", "x.use", [("operand", "1", "", "%b")])]


def test_users_of_a_changed_op_are_the_same() -> None:
    a = function("%0 = x.a {k = 1 : i32} : i32", "%1 = x.b %0 : i32", "x.use %1, %0 : i32")
    assert len(diff_of(a, a.replace("k = 1", "k = 2")).changes) == 1


def test_moved_hoisted_and_reordered() -> None:
    loop = "scf.for %i = %a to %b step %a  : i32 {"
    a = function(loop, "  %0 = x.inv %a, %b : i32", "  x.use %0 : i32", "}")
    b = function("%0 = x.inv %a, %b : i32", loop, "  x.use %0 : i32", "}")
    assert [(s, n) for s, n, _ in brief(diff_of(a, b))] == [("moved", "x.inv")]
    ops = [f"%{k} = x.op{k} %a : i32" for k in range(9)]
    moved = [*ops[:2], *ops[3:7], ops[2], *ops[7:]]
    assert brief(diff_of(function(*ops), function(*moved))) == [("moved", "x.op2", [])]


def test_wrapping_ops_in_a_region_moves_them() -> None:
    ops = [f"%{k} = x.op{k} %a : i32" for k in range(3)]
    a = function(*ops)
    b = function("scf.if %a {", *ops, "}")
    counts = diff_of(a, b).counts()
    assert counts == {"changed": 0, "added": 1, "removed": 0, "moved": 3}


def test_successors_and_blocks() -> None:
    text = "func.func @f(%c: i1) {\n  cf.cond_br %c, ^bb1, ^bb2\n^bb1:\n  x.a\n  cf.br ^bb2\n^bb2:\n  return\n}\n"
    other = text.replace("^bb1, ^bb2", "^bb2, ^bb1")
    assert brief(diff_of(text, other)) == [
        ("changed", "cf.cond_br", [("successor", "0", "^bb1", "^bb2"), ("successor", "1", "^bb2", "^bb1")])
    ]
    assert diff_of(text, text.replace("bb1", "body").replace("bb2", "exit")).same
    fewer = text.replace("^bb1, ^bb2", "^bb2, ^bb2").replace("^bb1:\n  x.a\n  cf.br ^bb2\n", "")
    statuses = {(c.status, c.op.name) for c in diff_of(text, fewer).changes}
    assert ("changed", "func.func") in statuses and ("removed", "x.a") in statuses


def test_block_arguments_that_labels_declare() -> None:
    text = "func.func @f() {\n  cf.br ^bb1(%x : i32)\n^bb1(%p: i32):\n  x.use %p : i32\n  return\n}\n"
    other = text.replace("^bb1(%p: i32)", "^bb1(%p: i32, %q: f32)")
    [change] = diff_of(text, other).changes
    assert [(p.kind, p.which, p.new) for p in change.parts] == [("argument", "block 1 argument 1", "f32")]


def test_an_implicit_terminator_is_nothing_and_one_that_yields_is_an_op() -> None:
    a = function("scf.if %a {", "  x.a", "}")
    generic = a.replace("x.a\n", 'x.a\n    "scf.yield"() : () -> ()\n')
    assert diff_of(a, generic).same
    b = function("%r = scf.if %a -> (i32) {", "  x.a", "  scf.yield %b : i32", "}")
    assert [(c.status, c.op.name) for c in diff_of(a, b).changes] == [
        ("changed", "scf.if"),
        ("added", "scf.yield"),
    ]


# -- options -------------------------------------------------------------------------------------------


def test_names_and_locations_on_demand() -> None:
    a = function('%0 = x.a : i32 loc("f.py":1:2)')
    b = function('%9 = x.a : i32 loc("f.py":1:3)')
    assert diff_of(a, b).same
    names = brief(diff_of(a, b, Options(names=True)))
    assert names == [("changed", "x.a", [("value name", "0", "%0", "%9")])]
    places = brief(diff_of(a, b, Options(locations=True)))
    assert places == [("changed", "x.a", [("location", "", '"f.py":1:2', '"f.py":1:3')])]


def test_location_aliases_are_resolved() -> None:
    a = '#loc1 = loc("f.py":1:2)\n%0 = x.a : i32 loc(#loc1)\n'
    b = '#loc7 = loc("f.py":1:2)\n%0 = x.a : i32 loc(#loc7)\n'
    assert diff_of(a, b, Options(locations=True)).same
    assert not diff_of(a, b.replace(":2)", ":5)"), Options(locations=True)).same


def test_ignored_attributes() -> None:
    a = function("%0 = x.a {k = 1 : i32, q = 2 : i32} : i32")
    b = a.replace("k = 1", "k = 5")
    ignoring = Options(ignored_attributes=frozenset({"k"}))
    assert diff_of(a, b, ignoring).same
    assert not diff_of(a, b.replace("q = 2", "q = 3"), ignoring).same


def test_only_some_kinds() -> None:
    a = function("%0 = x.a {k = 1 : i32} : tensor<4xi32, #x.e>", "x.gone")
    b = function("%0 = x.a {k = 2 : i32} : tensor<4xi32, #x.f>")
    only = diff_of(a, b, Options(only=frozenset({"encoding"})))
    assert brief(only) == [("changed", "x.a", [("encoding", "result 0", "#x.e", "#x.f")])]
    assert [c.status for c in diff_of(a, b, Options(only=frozenset({"removed"}))).changes] == ["removed"]


# -- hard input ----------------------------------------------------------------------------------------


def nested(depth: int, leaf: str) -> str:
    return "x.r {\n" * depth + f"{leaf}\n" + "}\n" * depth


def test_nesting_10_000_deep() -> None:
    a, b = nested(10_000, "x.a {k = 1 : i32}"), nested(10_000, "x.a {k = 2 : i32}")
    assert len(diff_of(a, b).changes) == 1


def test_aliases_that_double_and_that_contain_themselves() -> None:
    chain = ["#a0 = #x.e<1>", *(f"#a{k} = #x.e<#a{k - 1}, #a{k - 1}>" for k in range(1, 60))]
    a = "\n".join([*chain, "#self = #x.e<#self>", "%0 = x.a : tensor<4xi32, #a59>", "x.b {q = #self}"])
    assert diff_of(a, a.replace("#a", "#other")).same
    assert len(diff_of(a, a.replace("#x.e<1>", "#x.e<2>")).changes) == 1


def test_empty_and_unparsed_text() -> None:
    assert diff_of("", "").same
    assert [c.status for c in diff_of("", "x.a\n").changes] == ["added"]
    assert diff_of("what is this\n", "what is this\n").same
    assert not diff_of("what is this\n", "what was that\n").same


def test_nothing_in_common_is_all_new() -> None:
    a = function(*(f"%{k} = x.a{k} : i32" for k in range(300)))
    b = function(*(f"%{k} = y.b{k} %a : f32" for k in range(300)))
    counts = diff_of(a, b).counts()
    assert counts["added"] + counts["changed"] >= 300


def test_many_functions_stay_apart() -> None:
    """An op is never the counterpart of a like one in another function."""
    one = "func.func @f{k}(%a: i32) {{\n  %0 = x.a %a : i32\n  %1 = arith.constant {k} : i32\n  return\n}}\n"
    texts = [one.format(k=k) for k in range(20)]
    a, b = "".join(texts), "".join(texts[:7] + texts[8:])
    assert {(c.status, c.op.name) for c in diff_of(a, b).changes} == {
        ("removed", "func.func"),
        ("removed", "x.a"),
        ("removed", "arith.constant"),
        ("removed", "func.return"),
    }


def damaged(text: str, r: random.Random) -> str:
    at = r.randrange(len(text))
    return text[:at] + r.choice(["", "}", "{", '"', "loc(", "%", "\n"]) + text[at + r.randrange(30) :]


def test_damaged_text_never_fails() -> None:
    r = random.Random(3)
    for _ in range(60):
        a, b = parse_mlir(damaged(BEFORE, r)), parse_mlir(damaged(AFTER, r))
        diff = compare(a, b)
        assert len(diff.changes) <= count(a) + count(b)


def count(program: Program) -> int:
    return sum(1 for _ in walk(program))
