"""Edits of MIGraphX programs: what was not changed keeps its spelling, every name keeps its meaning."""

from __future__ import annotations

from pathlib import Path

import pytest
from passlens.ir import edit
from passlens.ir.formats.migraphx import parse_migraphx, print_migraphx
from passlens.ir.formats.migraphx_shapes import parse_shape
from passlens.ir.program import Op, Program, symbol, walk
from passlens.ir.trace import open_trace

GOLDEN = Path(__file__).parents[2] / "golden"
HEADER = 'module: "main"\n'
F = "float_type, {1}, {0}"
X = f"x = @param:x -> {F}\n"


def instructions(program: Program) -> list[Op]:
    return [op for op in walk(program) if op.name not in ("module", "")]


def named(program: Program, name: str) -> Op:
    return next(op for op in instructions(program) if op.results and op.results[0].name == name)


def again(program: Program) -> Program:
    return parse_migraphx(print_migraphx(program))


def codes(program: Program) -> dict[str, int]:
    return {found.code: found.count for found in program.diagnostics}


class TestModules:
    TWO = f'{HEADER}@0 = f -> {F}\n\nmodule: "m"\n@1 = g -> {F}\n'

    def test_an_erased_last_module_is_gone(self) -> None:
        program = parse_migraphx(self.TWO)
        edit.erase(program.ops[1])
        assert print_migraphx(program) == f"{HEADER}@0 = f -> {F}\n"

    def test_an_erased_first_module_is_gone(self) -> None:
        program = parse_migraphx(self.TWO)
        edit.erase(program.ops[0])
        assert print_migraphx(program).lstrip() == f'module: "m"\n@1 = g -> {F}\n'

    def test_erased_last_instructions_are_gone(self) -> None:
        program = parse_migraphx(self.TWO)
        edit.erase(named(program, "@1"))
        assert print_migraphx(program) == f'{HEADER}@0 = f -> {F}\n\nmodule: "m"\n'

    @pytest.mark.parametrize("text", [TWO, f"@0 = f -> {F}\n"])
    def test_a_module_gets_another_name(self, text: str) -> None:
        program = parse_migraphx(text)
        edit.set_attribute(program.ops[0], "sym_name", '"other"')
        assert [symbol(op) for op in again(program).ops] == ["other", "m"][: len(program.ops)]
        assert print_migraphx(program).count("module: ") == len(program.ops)

    def test_a_listing_without_a_header_that_loses_all_instructions(self) -> None:
        program = parse_migraphx(f"@0 = f -> {F}\n")
        edit.erase(named(program, "@0"))
        assert [symbol(op) for op in again(program).ops] == ["main"]

    def test_an_added_module(self) -> None:
        program = parse_migraphx(f"{HEADER}@0 = f -> {F}\n")
        (other,) = parse_migraphx(f'module: "m"\n@1 = g -> {F}\n').ops
        edit.append_op(program.body.blocks[0], other)
        assert print_migraphx(program) == self.TWO


class TestNames:
    def test_a_renamed_value_does_not_take_the_place_of_one_around(self) -> None:
        program = parse_migraphx(
            f'{HEADER}@0 = f -> {F}\n\nmodule: "m"\nm:@0 = g(@0) -> {F}\n@1 = h(@0,m:@0) -> {F}\n'
        )
        edit.rename(named(program, "m:@0").results[0], "@0")
        first, own, user = instructions(again(program))
        assert own.operands == first.results
        assert user.operands == [*first.results, *own.results]

    def test_a_value_around_does_not_either(self) -> None:
        program = parse_migraphx(
            f'{HEADER}@0 = f -> {F}\n\nmodule: "m"\n@3 = g(@0) -> {F}\n@4 = h(@0,@3) -> {F}\n'
        )
        edit.rename(named(program, "@0").results[0], "@3")
        first, own, user = instructions(again(program))
        assert user.operands == [*first.results, *own.results]

    def test_a_new_name_defines_no_undefined_one(self) -> None:
        program = parse_migraphx(f"{HEADER}@0 = f(@1) -> {F}\n")
        block = program.ops[0].regions[0].blocks[0]
        edit.create("g", [], [parse_shape(F)], block=block)
        edit.create("h", [], [parse_shape(F)], block=block, names=["@1"])
        read = again(program)
        assert codes(read) == {"undefined-value": 1}
        assert len({value.name for op in instructions(read) for value in op.results}) == 3

    def test_nor_does_one_of_another_module(self) -> None:
        program = parse_migraphx(f'{HEADER}@0 = f -> {F}\n\nmodule: "m"\nm:@0 = g(@1,ghost) -> {F}\n')
        main = program.ops[0].regions[0].blocks[0]
        edit.create("g", [], [parse_shape(F)], block=main)
        edit.create("g", [], [parse_shape(F)], block=main, names=["ghost"])
        assert codes(again(program)) == {"undefined-value": 1}
        assert [value.owner for value in instructions(again(program))[-1].operands] == [None, None]

    def test_uses_of_names_defined_twice(self) -> None:
        program = parse_migraphx(
            f"{HEADER}@0 = f -> {F}\n@1 = g(@0) -> {F}\n@0 = f -> {F}\n@2 = g(@0) -> {F}\n"
        )
        edit.rename(named(program, "@2").results[0], "@5")
        first, use, second, late = instructions(again(program))
        assert (use.operands, late.operands) == (first.results, second.results)
        assert "duplicate-name" not in codes(again(program))


class TestSpelling:
    @pytest.mark.parametrize(
        "line",
        [
            "@1 = @literal{ ... } -> float_type, {4}, {1}",
            "@1 = f[abc](x) -> float_type, {1}, {0}",
            "@1 = f[a=1,b=2,](x) -> float_type, {1}, {0}",
            "@1 = f[ a = 1 , b=2](x, x) -> float_type, {1}, {0}",
            "@1 = f[](x) -> float_type, {1}, {0}",
            "@1 = f() -> float_type, {1}, {0}: 0.50ms, 4% # Add_1",
            "@1 = f[text=a]b,k=1](x), [m,n] -> float_type, {1}, {0}, target_id=2",
            "@1 = f[a=1,a=2](x) -> float_type, {1}, {0}: weight=2 input={0,} stream=1",
            "@1 = run_on_target[target_id=1](x), [m] -> float_type, {1}, {0}, target_id=2",
        ],
    )
    def test_a_renamed_result_changes_nothing_else(self, line: str) -> None:
        program = parse_migraphx(f"{HEADER}{X}{line}\n")
        edit.rename(named(program, "@1").results[0], "@9")
        assert print_migraphx(program) == f"{HEADER}{X}{line.replace('@1 =', '@9 =')}\n"

    def test_line_ends_are_kept(self) -> None:
        text = f"{HEADER}{X}@1 = f(x) -> {F}  \n\n@2 = g(x,@1) -> {F}\n".replace("\n", "\r\n")
        program = parse_migraphx(text)
        edit.rename(named(program, "@2").results[0], "@3")
        assert print_migraphx(program) == text.replace("@2", "@3")

    def test_a_broken_line_is_written_as_one(self) -> None:
        program = parse_migraphx(
            f"{HEADER}{X}@1 = f[text=a[b,k=1](x\n,x) -> {F}\n: weight=2 input={{0,}} stream=1\n"
        )
        edit.rename(named(program, "@1").results[0], "@2")
        assert print_migraphx(program) == (
            f"{HEADER}{X}@2 = f[text=a[b,k=1](x,x) -> {F}: weight=2 input={{0,}} stream=1\n"
        )

    def test_an_instruction_that_was_cut_off_stays_open(self) -> None:
        program = parse_migraphx(f"{HEADER}{X}@1 = f[a=1,b={{2\nAborted\n")
        edit.rename(named(program, "@1").results[0], "@2")
        assert print_migraphx(program) == f"{HEADER}{X}@2 = f[a=1,b={{2\nAborted\n"
        edit.set_type(named(program, "@2").results[0], parse_shape(F))
        assert f" -> {F}\nAborted\n" in print_migraphx(program)

    @pytest.mark.parametrize(
        ("before", "key", "value", "after"),
        [
            ("[a={ 1 },b=2,](x)", "b", "3", "[a={ 1 },b=3,](x)"),
            ("[a={ 1 },b=2,](x)", "b", None, "[a={ 1 },](x)"),
            ("[abc](x)", "k", "1", "[abc,k=1](x)"),
            ("[abc](x)", "abc", None, "(x)"),
            ("(x)", "k", "1", "[k=1](x)"),
            ("(x)", "modules", "m", "(x), [m]"),
            ("[target_id=1](x)", "target_id", "2", "[target_id=2](x)"),
        ],
    )
    def test_a_changed_attribute_changes_nothing_else(
        self, before: str, key: str, value: str, after: str
    ) -> None:
        program = parse_migraphx(f"{HEADER}{X}@1 = f{before} -> {F}\n")
        edit.set_attribute(named(program, "@1"), key, value)
        assert print_migraphx(program) == f"{HEADER}{X}@1 = f{after} -> {F}\n"

    def test_an_attribute_without_a_value(self) -> None:
        program = parse_migraphx(f"{HEADER}{X}@1 = f[abc](x) -> {F}\n@2 = f[abc=](x) -> {F}\n")
        assert [op.attributes["abc"] for op in instructions(program)[1:]] == ["unit", ""]

    def test_times_and_notes_can_be_changed(self) -> None:
        program = parse_migraphx(f"{HEADER}@1 = f -> {F}: 0.5ms, 4% # Add_1\n@2 = f -> {F}\n")
        edit.set_attribute(named(program, "@1"), "perf.ms", "0.75")
        edit.set_attribute(named(program, "@2"), "origin", "Mul_2")
        assert (
            print_migraphx(program) == f"{HEADER}@1 = f -> {F}: 0.75ms, 4% # Add_1\n@2 = f -> {F} # Mul_2\n"
        )


class TestEvaluationTraces:
    text = (GOLDEN / "cases/migraphx_formats/07_trace_eval.txt").read_text().split("Memory access")[0]

    def times(self, program: Program) -> list[str | None]:
        return [op.attributes.get("eval.ms") for op in instructions(program)]

    @pytest.mark.parametrize("place", range(8))
    def test_a_renamed_value_keeps_all_times(self, place: int) -> None:
        program = parse_migraphx(self.text)
        edit.rename(instructions(program)[place].results[0], "@99")
        written = print_migraphx(program)
        assert self.times(parse_migraphx(written)) == self.times(program)
        assert written.count("Run instruction: ") == 8
        assert "Run instruction: Run" not in written
        assert written.count("Output: ") == self.text.count("Output: ")

    def test_an_erased_first_instruction(self) -> None:
        program = parse_migraphx(self.text)
        edit.erase(instructions(program)[0])
        assert self.times(again(program)) == self.times(program)

    def test_a_changed_time(self) -> None:
        program = parse_migraphx(self.text)
        edit.set_attribute(instructions(program)[1], "eval.ms", "5")
        assert self.times(again(program)) == self.times(program)
        assert self.times(program)[1] == "5"


class TestRecoveredListings:
    def test_an_edit_keeps_all_recovered_arguments(self) -> None:
        trace = open_trace(str(GOLDEN / "seeds/migraphx_streaming_resnet50.txt"))
        program = trace.program(1)
        wanted = [len(op.operands) for op in instructions(program)]
        edit.set_attribute(instructions(program)[0], "target_id", "1")
        read = again(program)
        assert len(wanted) == 574
        assert [len(op.operands) for op in instructions(read)] == wanted
        assert not read.diagnostics

    def test_what_was_not_recovered_stays_marked(self) -> None:
        text = f"{HEADER}{X}@1 = loadoffset=0,end=4 -> {F}\n"
        program = parse_migraphx(text)
        edit.rename(named(program, "@1").results[0], "@2")
        assert print_migraphx(program) == text.replace("@1", "@2")
        edit.append_operand(named(program, "@2"), named(program, "x").results[0])
        assert print_migraphx(program) == f"{HEADER}{X}@2 = load[offset=0,end=4](x) -> {F}\n"
