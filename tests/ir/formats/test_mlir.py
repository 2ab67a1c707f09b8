"""The MLIR reader: structure, scopes, types, and what it does with text that is no MLIR."""

from __future__ import annotations

from pathlib import Path

import pytest
from passlens.ir.formats.mlir import parse_mlir, print_mlir
from passlens.ir.program import Block, Op, Program, walk
from passlens.ir.types import MemDescType, PointerType, TensorType, byte_size

GOLDEN = Path(__file__).parents[2] / "golden"
TEXTS = sorted([*GOLDEN.glob("seeds/*.mlir"), *GOLDEN.glob("cases/layout/*.mlir")])


def ops(program: Program, name: str) -> list[Op]:
    return [op for op in walk(program) if op.name == name]


def only(program: Program, name: str) -> Op:
    (op,) = ops(program, name)
    return op


def codes(program: Program) -> set[str]:
    return {diagnostic.code for diagnostic in program.diagnostics}


def names(op: Op) -> list[str]:
    return [value.name for value in op.operands]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_reading_and_writing_gives_the_same_bytes(path: Path) -> None:
    text = path.read_text()
    assert print_mlir(parse_mlir(text)) == text


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_every_piece_of_real_input_is_understood(path: Path) -> None:
    program = parse_mlir(path.read_text())
    assert codes(program) <= {"undefined-alias"}
    values = [value for op in walk(program) for value in op.results]
    values += [a for op in walk(program) for r in op.regions for b in r.blocks for a in b.args]
    assert [value.name for value in values if value.type.text == "?"] == []


def test_the_seed_has_51_undefined_aliases_each_told_once() -> None:
    program = parse_mlir((GOLDEN / "seeds/triton_reproducible.mlir").read_text())
    undefined = [d for d in program.diagnostics if d.code == "undefined-alias"]
    assert len(undefined) == 51
    assert len({d.message for d in undefined}) == 51
    assert sum(d.count for d in undefined) > 51


class TestCustomForms:
    def test_for_names_its_arguments_and_keeps_its_operands(self) -> None:
        program = parse_mlir(
            "%lb = arith.constant 0 : index\n%s = arith.constant 1 : index\n%f = arith.constant 1.0 : f32\n"
            "%r:2 = scf.for %i = %lb to %s step %s iter_args(%x = %f, %y = %lb) -> (f32, index) {\n"
            "  %z = arith.addf %x, %x : f32\n"
            "  scf.yield %z, %i : f32, index\n"
            "}\n"
            "%u = arith.addf %r#0, %r#0 : f32\n"
        )
        loop = only(program, "scf.for")
        assert names(loop) == ["%lb", "%s", "%s", "%f", "%lb"]
        assert [a.name for a in loop.regions[0].blocks[0].args] == ["%i", "%x", "%y"]
        assert [a.type.text for a in loop.regions[0].blocks[0].args] == ["index", "f32", "index"]
        assert [r.name for r in loop.results] == ["%r#0", "%r#1"]
        assert ops(program, "arith.addf")[1].operands == [loop.results[0], loop.results[0]]
        assert not program.diagnostics

    def test_for_with_a_typed_counter(self) -> None:
        program = parse_mlir(
            "%c = arith.constant 0 : i32\nscf.for %i = %c to %c step %c  : i32 {\n  %0 = arith.addi %i, %c : i32\n}"
        )
        loop = only(program, "scf.for")
        assert loop.regions[0].blocks[0].args[0].type.text == "i32"

    def test_a_terminator_that_is_not_printed_is_in_the_program(self) -> None:
        program = parse_mlir("%c = arith.constant 0 : i32\nscf.for %i = %c to %c step %c  : i32 {\n}")
        (implicit,) = only(program, "scf.for").regions[0].blocks[0].ops
        assert implicit.name == "scf.yield"
        assert implicit.implicit
        assert implicit.text == ""

    def test_while_has_before_and_after(self) -> None:
        program = parse_mlir(
            "%a = arith.constant 0 : i32\n%t = arith.constant true\n"
            "%w:2 = scf.while (%x = %a, %y = %t) : (i32, i1) -> (i32, i1) {\n"
            "  scf.condition(%y) %x, %y : i32, i1\n"
            "} do {\n"
            "^bb0(%p: i32 loc(unknown), %q: i1 loc(unknown)):\n"
            "  scf.yield %p, %q : i32, i1\n"
            "}\n"
        )
        loop = only(program, "scf.while")
        assert names(loop) == ["%a", "%t"]
        before, after = (region.blocks[0] for region in loop.regions)
        assert [a.name for a in before.args] == ["%x", "%y"]
        assert [a.type.text for a in before.args] == ["i32", "i1"]
        assert [(a.name, a.type.text) for a in after.args] == [("%p", "i32"), ("%q", "i1")]
        assert names(only(program, "scf.condition")) == ["%y", "%x", "%y"]
        assert only(program, "scf.yield").operands == after.args

    def test_if_with_results_and_else(self) -> None:
        program = parse_mlir(
            "%t = arith.constant true\n"
            "%r = scf.if %t -> (f32) {\n  %0 = arith.constant 1.0 : f32\n  scf.yield %0 : f32\n"
            "} else {\n  %0 = arith.constant 2.0 : f32\n  scf.yield %0 : f32\n} loc(#l)\n#l = loc(unknown)\n"
        )
        branch = only(program, "scf.if")
        assert len(branch.regions) == 2
        first, second = (region.blocks[0].ops[0].results[0] for region in branch.regions)
        assert first is not second
        assert first.name == second.name == "%0"
        assert branch.results[0].type.text == "f32"
        assert branch.location == "#l"

    def test_branches_know_blocks_and_pass_operands(self) -> None:
        program = parse_mlir(
            "func.func @f(%c: i1, %x: i32) -> i32 {\n"
            "  cf.cond_br %c, ^bb1(%x : i32), ^bb2\n"
            "^bb1(%y: i32):  // pred: ^bb0\n"
            "  return %y : i32\n"
            "^bb2:\n"
            "  cf.br ^bb1(%z : i32)\n"
            "^bb3:\n"
            "  %z = arith.constant 3 : i32\n"
            "  cf.br ^bb1(%z : i32)\n"
            "}\n"
        )
        blocks = only(program, "func.func").regions[0].blocks
        assert [block.label for block in blocks] == ["", "^bb1", "^bb2", "^bb3"]
        jump = only(program, "cf.cond_br")
        assert names(jump) == ["%c", "%x"]
        assert jump.successors == [blocks[1], blocks[2]]
        z = only(program, "arith.constant").results[0]
        assert ops(program, "cf.br")[0].operands == [z]  # a forward reference found its definition
        assert len(z.uses) == 2
        assert not program.diagnostics

    def test_a_function_names_its_arguments_whatever_is_visible(self) -> None:
        program = parse_mlir(
            "module {\n"
            '  tt.func public @k(%a: !tt.ptr<f16> {tt.divisibility = 16 : i32} loc("a"("f.py":1:2)), %b: i32) -> i32 '
            "attributes {noinline = false} {\n    tt.return %b : i32\n  }\n"
            "  tt.func private @l(%a: f32) {\n    tt.return\n  }\n}\n"
        )
        first, second = ops(program, "tt.func")
        args = first.regions[0].blocks[0].args
        assert [(a.name, a.type.text) for a in args] == [("%a", "!tt.ptr<f16>"), ("%b", "i32")]
        assert isinstance(args[0].type, PointerType)
        assert first.attributes["sym_name"] == '"k"'
        assert first.attributes["noinline"] == "false"
        assert first.attributes["function_type"] == "(!tt.ptr<f16>, i32) -> i32"
        assert second.regions[0].blocks[0].args[0].type.text == "f32"

    def test_loads_stores_dots(self) -> None:
        program = parse_mlir(
            "tt.func @k(%p: tensor<4x8x!tt.ptr<f16>, #b>, %m: tensor<4x8xi1, #b>, %a: tensor<4x4xf16>, %c: tensor<4x4xf32>) {\n"
            "  %0 = tt.load %p, %m evictionPolicy = evict_first {tt.x = 1 : i32} : tensor<4x8x!tt.ptr<f16>, #b>\n"
            "  %1 = tt.dot %a, %a, %c, inputPrecision = tf32 : tensor<4x4xf16> * tensor<4x4xf16> -> tensor<4x4xf32>\n"
            "  tt.store %p, %0, %m : tensor<4x8x!tt.ptr<f16>, #b>\n  tt.return\n}\n"
            "#b = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>\n"
        )
        load, dot, store = only(program, "tt.load"), only(program, "tt.dot"), only(program, "tt.store")
        assert load.results[0].type.text == "tensor<4x8xf16, #b>"
        assert load.attributes == {"evictionPolicy": "evict_first", "tt.x": "1 : i32"}
        assert dot.attributes["inputPrecision"] == "tf32"
        assert dot.results[0].type.text == "tensor<4x4xf32>"
        assert names(store) == ["%p", "%0", "%m"]
        assert byte_size(load.results[0].type) == 4 * 8 * 2

    def test_generic_regions(self) -> None:
        program = parse_mlir(
            "tt.func @k(%x: tensor<4x8xf32>) {\n"
            '  %0 = "tt.reduce"(%x) <{axis = 1 : i32}> ({\n'
            "  ^bb0(%a: f32, %b: f32):\n"
            "    %1 = arith.addf %a, %b : f32\n"
            "    tt.reduce.return %1 : f32\n"
            "  }) : (tensor<4x8xf32>) -> tensor<4xf32> loc(#loc3)\n"
            "  tt.return\n}\n#loc3 = loc(unknown)\n"
        )
        reduce = only(program, "tt.reduce")
        assert names(reduce) == ["%x"]
        assert reduce.attributes == {"axis": "1 : i32"}
        assert reduce.results[0].type.text == "tensor<4xf32>"
        assert [a.type.text for a in reduce.regions[0].blocks[0].args] == ["f32", "f32"]

    def test_comparisons_and_conversions_and_members(self) -> None:
        program = parse_mlir(
            "llvm.func @k(%s: !llvm.struct<(i32, struct<(f32)>)>, %x: tensor<4xi32, #b>, %p: !llvm.ptr) {\n"
            "  %0 = arith.cmpi slt, %x, %x : tensor<4xi32, #b>\n"
            "  %1 = arith.extsi %x : tensor<4xi32, #b> to tensor<4xi64, #b>\n"
            "  %2 = llvm.extractvalue %s[0] : !llvm.struct<(i32, struct<(f32)>)> \n"
            "  %3 = llvm.getelementptr %p[%2] : (!llvm.ptr, i32) -> !llvm.ptr, f16\n"
            "  %4 = tt.addptr %q, %x : tensor<4x!tt.ptr<f32>, #b>, tensor<4xi32, #b>\n"
            "  llvm.return\n}\n"
        )
        kinds = {op.results[0].name: op.results[0].type.text for op in walk(program) if op.results}
        assert kinds == {
            "%0": "tensor<4xi1, #b>",
            "%1": "tensor<4xi64, #b>",
            "%2": "i32",
            "%3": "!llvm.ptr",
            "%4": "tensor<4x!tt.ptr<f32>, #b>",
        }
        assert only(program, "arith.cmpi").attributes == {"predicate": "slt"}
        assert codes(program) == {"undefined-value", "undefined-alias"}

    def test_operands_come_in_the_order_that_the_op_holds(self) -> None:
        program = parse_mlir(
            "llvm.func @k(%v: f32, %s: !llvm.struct<(f32)>) {\n"
            "  %0 = llvm.insertvalue %v, %s[0] : !llvm.struct<(f32)> \n  llvm.return\n}\n"
        )
        insert = only(program, "llvm.insertvalue")
        assert names(insert) == ["%s", "%v"]
        assert all((insert, k) in value.uses for k, value in enumerate(insert.operands))

    def test_warp_specialize_has_the_shape_that_it_has_in_memory(self) -> None:
        program = parse_mlir(
            "tt.func @k(%p: i32) {\n"
            "  ttg.warp_specialize(%p)\n  default {\n    ttg.warp_yield\n  }\n"
            "  partition0(%a: i32) num_warps(4) {\n    %0 = arith.addi %a, %a : i32\n    ttg.warp_return\n  }\n"
            "  partition1(%a: i32) num_warps(2) {\n    ttg.warp_return\n  } : (i32) -> ()\n"
            "  tt.return\n}\n"
        )
        outer = only(program, "ttg.warp_specialize")
        inner = only(program, "ttg.warp_specialize.partitions")
        assert outer.operands == []  # Triton 3.9 holds the captures where they are used
        assert names(inner) == ["%p"]
        assert len(outer.regions) == 2
        assert len(inner.regions) == 2
        assert inner.parent is outer
        assert [r.blocks[0].args[0].type.text for r in inner.regions] == ["i32", "i32"]
        assert not program.diagnostics

    def test_memory_descriptors_and_tokens(self) -> None:
        program = parse_mlir(
            "tt.func @k(%p: tensor<4x!tt.ptr<f16>, #b>) {\n"
            "  %0 = ttg.local_alloc : () -> !ttg.memdesc<3x4xf16, #s, #smem, mutable>\n"
            "  %1 = ttg.async_copy_global_to_local %p, %0 : tensor<4x!tt.ptr<f16>, #b> -> <4xf16, #s, #smem, mutable>\n"
            "  tt.return\n}\n"
        )
        buffer = only(program, "ttg.local_alloc").results[0].type
        assert isinstance(buffer, MemDescType)
        assert (buffer.lens, buffer.encoding, buffer.space, buffer.mutable) == ((3, 4), "#s", "#smem", True)
        assert only(program, "ttg.async_copy_global_to_local").results[0].type.text == "!ttg.async.token"


class TestScopes:
    def test_a_region_does_not_leak_its_names(self) -> None:
        program = parse_mlir(
            "%t = arith.constant true\nscf.if %t {\n  %x = arith.constant 1 : i32\n}\n%y = arith.addi %x, %x : i32\n"
        )
        assert codes(program) == {"undefined-value"}
        assert only(program, "arith.addi").operands[0].owner is None

    def test_an_isolated_op_does_not_see_outer_names(self) -> None:
        program = parse_mlir(
            "%x = arith.constant 1 : i32\nfunc.func @f() {\n  %y = arith.addi %x, %x : i32\n  return\n}\n"
        )
        (undefined,) = (d for d in program.diagnostics if d.code == "undefined-value")
        assert "%x" in undefined.message
        assert undefined.count == 2

    def test_result_packs(self) -> None:
        program = parse_mlir("%a:2, %b = x.y : i32, f32, i8\nx.z %a#1, %b, %a : i32\n")
        first, second = walk(program)
        assert [r.name for r in first.results] == ["%a#0", "%a#1", "%b"]
        assert second.operands == [first.results[1], first.results[2], first.results[0]]


class TestToleration:
    def test_text_that_is_no_op_is_kept_and_counted(self) -> None:
        text = "Compiling the kernel ...\nmodule {\n  what is this?\n}\n"
        program = parse_mlir(text)
        (told,) = (d for d in program.diagnostics if d.code == "unparsed-text")
        assert told.count == 2
        assert [op.text for op in walk(program) if not op.name] == [
            "Compiling the kernel ...",
            "what is this?",
        ]
        assert print_mlir(program) == text

    def test_a_missing_brace_is_told(self) -> None:
        program = parse_mlir("module {\n  func.func @f() {\n    return\n")
        assert [d.code for d in program.diagnostics] == ["unclosed-region", "unclosed-region"]
        assert [op.name for op in walk(program)] == ["builtin.module", "func.func", "func.return"]

    def test_a_missing_bracket_does_not_swallow_the_ops_behind_it(self) -> None:
        program = parse_mlir("%0 = x.y (%a, %b : i32\n%1 = x.z %0 : i32\n%2 = x.z %1 : i32\n")
        assert [op.name for op in walk(program)] == ["x.y", "x.z", "x.z"]

    def test_ops_continue_over_lines(self) -> None:
        program = parse_mlir("%0 = x.y %a,\n         %b\n    : i32\n%1 = x.z %0 : i32\n")
        first, second = walk(program)
        assert names(first) == ["%a", "%b"]
        assert names(second) == ["%0"]

    def test_one_line_programs(self) -> None:
        program = parse_mlir(
            "module { func.func @f(%x: i32) -> i32 { %0 = arith.addi %x, %x : i32 return %0 : i32 } }"
        )
        assert [op.name for op in walk(program)][:3] == ["builtin.module", "func.func", "arith.addi"]

    def test_resources_strings_comments(self) -> None:
        text = (
            '// a comment with %x and { braces\nmodule attributes {a = "%not } an \\" operand"} {\n'
            '  "x.y"() {b = dense<"0x00FF"> : tensor<2xi8>, "c.d" = @s::@t} : () -> () // %tail\n}\n'
            '{-#\n  dialect_resources: { builtin: { w: "0x08000000" } }\n#-}\n'
        )
        program = parse_mlir(text)
        assert not program.diagnostics
        inner = only(program, "x.y")
        assert inner.attributes == {"b": 'dense<"0x00FF"> : tensor<2xi8>', "c.d": "@s::@t"}
        assert program.resources.startswith("{-#")
        assert print_mlir(program) == text

    @pytest.mark.parametrize("depth", [10_000])
    def test_deep_nesting(self, depth: int) -> None:
        text = "scf.if %t {\n" * depth + "%x = a.b : i32\n" + "}\n" * depth
        program = parse_mlir(text)
        assert sum(1 for op in walk(program) if op.name == "scf.if") == depth
        assert print_mlir(program) == text

    @pytest.mark.parametrize(
        "unit",
        [
            "%0 = a.b : i32 ",
            "a.b {x = 1} ",
            "((((",
            "{",
            "tensor<",
            '"',
            "%a, ",
            "^bb(",
            "#a",
            "scf.if %t { ",
        ],
    )
    def test_a_long_line_is_read_in_linear_time(self, unit: str) -> None:
        text = "%z = x.y " + unit * (1_000_000 // len(unit)) + "\n%q = a.b : i32\n"
        assert print_mlir(parse_mlir(text)) == text


class TestTypes:
    @pytest.mark.parametrize(
        ("text", "size"),
        [
            ("tensor<16x16xf32, #b>", 1024),
            ("tensor<4x!tt.ptr<f16>>", 32),
            ("tensor<8xi1>", 8),
            ("tensor<3xi4>", 2),
            ("tensor<?x4xf32>", None),
            ("vector<4xbf16>", 8),
            ("!ttg.memdesc<2x64x64xf16, #s, #smem, mutable>", 16384),
            ("i64", 8),
            ("!unknown.type<4>", None),
        ],
    )
    def test_bytes(self, text: str, size: int | None) -> None:
        program = parse_mlir(f'%0 = "a.b"() : () -> {text}\n')
        assert byte_size(only(program, "a.b").results[0].type) == size

    def test_a_type_alias_is_looked_through(self) -> None:
        program = parse_mlir('!t = tensor<4xf32>\n%0 = "a.b"() : () -> !t\n')
        type = only(program, "a.b").results[0].type
        assert isinstance(type, TensorType)
        assert type.lens == (4,)

    def test_absurd_types_stay_text(self) -> None:
        deep = "tensor<" * 5000 + "f32" + ">" * 5000
        program = parse_mlir(f'%0 = "a.b"() : () -> {deep}\n')
        assert byte_size(only(program, "a.b").results[0].type) is None


def test_spans_cover_the_text_of_each_op() -> None:
    text = (GOLDEN / "seeds/triton_fix1.mlir").read_text()
    for op in walk(parse_mlir(text)):
        assert 0 <= op.lead <= op.start <= op.end <= len(text)
        if not op.implicit:
            assert op.text.strip() == op.text
            assert op.name.rpartition(".")[2] in op.text
        for region in op.regions:
            assert text[region.start - 1] == "{"
            assert text[region.end] == "}"


def test_every_use_is_in_its_chain() -> None:
    program = parse_mlir((GOLDEN / "seeds/triton_fix1.mlir").read_text())
    for op in walk(program):
        for index, value in enumerate(op.operands):
            assert (op, index) in value.uses
            assert value.owner is not None
    blocks = [b for op in walk(program) for r in op.regions for b in r.blocks]
    assert all(isinstance(arg.owner, Block) for block in blocks for arg in block.args)
