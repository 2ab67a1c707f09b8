"""Reading MIGraphX lines that are broken, mixed with prose, mangled, ambiguous, or very long."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from passlens.ir.formats.migraphx import parse_migraphx, print_migraphx
from passlens.ir.formats.migraphx_shapes import parse_shape
from passlens.ir.formats.migraphx_text import closing, split_list
from passlens.ir.program import Op, Program, walk
from passlens.ir.trace import trace_of_text
from passlens.ir.types import DynamicShapeType, ShapeType, TupleType, byte_size

HEADER = 'module: "main"\n'
F = "float_type, {1}, {0}"
X = f"x = @param:x -> {F}\n"


def read(text: str) -> Program:
    program = parse_migraphx(text)
    assert print_migraphx(program) == text
    return program


def instructions(program: Program) -> list[Op]:
    return [op for op in walk(program) if op.name not in ("module", "")]


def shown(program: Program) -> list[tuple[str, str, list[str]]]:
    return [
        (op.results[0].name if op.results else "", op.name, [value.name for value in op.operands])
        for op in instructions(program)
    ]


def texts(program: Program) -> list[str]:
    return [op.text for op in walk(program) if op.name == ""]


def codes(program: Program) -> dict[str, int]:
    return {found.code: found.count for found in program.diagnostics}


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


class TestWrappedLines:
    WHOLE = (
        "@1 = gpu::code_object[code_object=4416,symbol_name=mul_kernel,global=75264,local=1024,](x,x)"
        " -> [float_type, {1, 3}, {150528, 50176}, int64_type, {1}, {0}], target_id=1: 0.5ms, 4% # Mul_1, Add_20"
    )

    @pytest.mark.parametrize("width", [9, 17, 26, 40, 80, 100])
    @pytest.mark.parametrize("indent", ["", "    "])
    def test_at_any_width(self, width: int, indent: str) -> None:
        rows = [self.WHOLE[at : at + width] for at in range(0, len(self.WHOLE), width)]
        wrapped = f"\n{indent}".join(rows)
        program = read(f"{HEADER}{X}{wrapped}\n@2 = @return(@1)\n")
        plain = read(f"{HEADER}{X}{self.WHOLE}\n@2 = @return(@1)\n")
        assert shown(program) == shown(plain)
        got, wanted = (instructions(p)[1] for p in (program, plain))
        assert dict(got.attributes) == dict(wanted.attributes)
        assert got.results[0].type.text == wanted.results[0].type.text
        assert not program.diagnostics

    def test_a_log_of_wrapped_lines_is_one_listing(self) -> None:
        wrapped = "\n".join(self.WHOLE[at : at + 30] for at in range(0, len(self.WHOLE), 30))
        text = f"{HEADER}{X}{wrapped}\n"
        for log in (text, f"{text}\nsome prose\n", f"{text}@2 = @return(@1)\n\ndone\n", f"{text}\n{text}"):
            trace = trace_of_text(log)
            found = [shown(trace.program(snapshot))[:2] for snapshot in trace.snapshots]
            wanted = [("x", "@param", []), ("@1", "gpu::code_object", ["x", "x"])]
            assert found == [wanted] * log.count(HEADER)

    def test_a_cut_instruction_keeps_what_follows_as_text(self) -> None:
        program = read(f"{HEADER}{X}@1 = f[a=1,\nterminate called\n  what():  no (memory\n")
        assert texts(program) == ["terminate called", "what():  no (memory"]
        assert shown(program)[-1] == ("@1", "f", [])

    def test_a_comment_behind_an_instruction_is_no_rest(self) -> None:
        program = read(f"{HEADER}{X}# a comment\n@1 = f(x\n,x) -> {F}\n# another\nand prose\n")
        assert texts(program) == ["# a comment", "# another", "and prose"]

    @pytest.mark.parametrize("row", ["# x", ": 1ms", ", target_id=1", "x"])
    def test_many_rows_behind_an_instruction(self, row: str) -> None:
        text = f"{HEADER}{X}@1 = f(x\n,x) -> {F}\n" + f"{row}\n" * 50_000
        assert seconds(lambda: read(text)) < 10

    def test_the_next_instruction_is_no_rest(self) -> None:
        program = read(f"{HEADER}{X}@1 = f[a=1,\n@2 = g(x) -> {F}\n")
        assert shown(program)[1:] == [("@1", "f", []), ("@2", "g", ["x"])]

    def test_many_open_instructions_are_read_in_linear_time(self) -> None:
        def text(n: int) -> str:
            return HEADER + ("@1 = f[a=(((\n" + "b, c ) d\n" * 200 + "@2 = f(x) ->\n" + "word\n" * 200) * n

        small, large = (min(seconds(lambda n=n: read(text(n))) for _ in range(2)) for n in (10, 40))
        assert large < 10 * small + 0.2


class TestProse:
    @pytest.mark.parametrize(
        "line",
        [
            "what():  x = foo",
            "let y = z = 3",
            "x = foo(bar) and more -> result",
            "for i = range(3) -> [a]",
            'see the module: "main"',
            '@module: "m"',
            "a = b",
        ],
    )
    def test_prose_is_text(self, line: str) -> None:
        program = read(f"{HEADER}@0 = f -> {F}\n{line}\n@1 = f -> {F}\n")
        assert shown(program) == [("@0", "f", []), ("@1", "f", [])]
        assert texts(program) == [line]
        assert codes(program) == {"unparsed-text": 1}

    def test_prose_behind_a_listing_is_not_in_it(self) -> None:
        trace = trace_of_text(
            f"{HEADER}@0 = f -> {F}\nwhat():  x = foo\nlet y = z\n\n{HEADER}@0 = g -> {F}\nx = y\n"
        )
        assert [trace.text(found).strip() for found in trace.snapshots] == [
            f"{HEADER}@0 = f -> {F}", f"{HEADER}@0 = g -> {F}",
        ]  # fmt: skip

    def test_an_instruction_of_any_op_is_one(self) -> None:
        assert shown(read(f"{HEADER}y = foo -> {F}\n")) == [("y", "foo", [])]


class TestNamesDefinedTwice:
    def test_a_use_means_the_definition_before_it(self) -> None:
        program = read(
            f"{HEADER}@0 = f[a=1] -> {F}\n@1 = g(@0) -> {F}\n@0 = f[a=2] -> {F}\n@2 = g(@0) -> {F}\n"
        )
        first, use, second, late = instructions(program)
        assert use.operands == first.results
        assert late.operands == second.results

    def test_all_are_counted(self) -> None:
        assert codes(read(HEADER + f"@0 = f -> {F}\n" * 100)) == {"duplicate-name": 99}

    def test_a_module_sees_what_is_defined_before_its_instruction(self) -> None:
        program = read(
            f'{HEADER}@0 = f[a=1] -> {F}\n@1 = if(@0), [m] -> {F}\n@0 = f[a=2] -> {F}\n\nmodule: "m"\nm:@0 = g(@0) -> {F}\n'
        )
        assert instructions(program)[-1].operands == instructions(program)[0].results

    def test_a_name_of_a_module_around_is_not_its_own(self) -> None:
        program = read(f'{HEADER}@0 = f -> {F}\n\nmodule: "m"\nm:@0 = g(@0) -> {F}\n@1 = h(@0,m:@0) -> {F}\n')
        outer, own, user = instructions(program)
        assert own.operands == outer.results
        assert user.operands == [*outer.results, *own.results]


class TestPrefixes:
    @pytest.mark.parametrize(
        "prefix", ["(Worker pid=12) ", "[rank0]: ", "node-3> ", "2026-05-30 10:11:12.01 [INFO] "]
    )
    def test_a_prefix_is_in_no_name(self, prefix: str) -> None:
        lines = [f'{prefix}module: "main"', f"{prefix}a b = @param:a b -> {F}", f"{prefix}@1 = f(a b) -> {F}"]
        program = read("\n".join(lines) + "\n")
        assert shown(program) == [("a b", "@param", []), ("@1", "f", ["a b"])]
        assert not program.diagnostics


class TestBrackets:
    @pytest.mark.parametrize("text", ["a]b", "a[b", "a{b", "a)b", "}{", "a],b", "((", "]]]"])
    def test_a_single_bracket_in_an_attribute(self, text: str) -> None:
        (_, op) = instructions(read(f"{HEADER}{X}@1 = f[text={text},k=1](x) -> {F}\n"))
        assert op.attributes == {"text": text, "k": "1"}
        assert [value.name for value in op.operands] == ["x"]

    def test_pairs_keep_their_commas(self) -> None:
        (_, op) = instructions(
            read(f"{HEADER}{X}@1 = f[a={{1, {{2, b=3}}}},s=int8_type, {{4}}, {{1}},k=(1, 2)](x) -> {F}\n")
        )
        assert op.attributes == {"a": "{1, {2, b=3}}", "s": "int8_type, {4}, {1}", "k": "(1, 2)"}

    def test_a_return_has_its_target(self) -> None:
        (_, op) = instructions(read(f"{HEADER}{X}@1 = @return(x), target_id=0\n"))
        assert ([value.name for value in op.operands], op.attributes) == (["x"], {"target_id": "0"})


class TestShapes:
    @pytest.mark.parametrize(
        ("text", "dims"),
        [
            ("dynamic, float_type, {[1..4], 3}", ((1, 4), (3, 3))),
            ("dynamic, float_type, {[1..4, {2, 4}], 3}", ((1, 4), (3, 3))),
            ("dynamic, float_type, {[0..18446744073709551615]}", ((0, -1),)),
            ("dynamic, float_type, {[2..inf]}", ((2, -1),)),
            ("float_type, {n[1..8], 3}, {3, 1}", ("n[1..8]", (3, 3))),
            ("float_type, {n, m}, {m, 1}", ("n", "m")),
            ("float_type, {2*n[1..8, {2, 4}] + 1, 3}, {3, 1}", ("2*n[1..8, {2, 4}] + 1", (3, 3))),
            ("float_type, {[1..4], 3}, {3, 1}", ((1, 4), (3, 3))),
            ("float_type, {2, 3}, {n, 1}", ((2, 2), (3, 3))),
        ],
    )
    def test_open_dimensions(self, text: str, dims: tuple[object, ...]) -> None:
        shape = parse_shape(text)
        assert isinstance(shape, DynamicShapeType)
        assert (shape.element, shape.dims, shape.text) == ("f32", dims, text)
        assert byte_size(shape) is None

    @pytest.mark.parametrize(
        "text",
        [
            "dynamic",
            "dynamic, ",
            "float_type",
            "float_type, {n}, {1, 2}",
            "float_type, {$}, {1}",
            "dynamic, x, {1}",
        ],
    )
    def test_no_shape(self, text: str) -> None:
        assert not isinstance(parse_shape(text), DynamicShapeType | ShapeType | TupleType)

    def test_in_a_tuple(self) -> None:
        shape = parse_shape(
            "[dynamic, float_type, {[1..4], 3}, half_type, {n, 2}, {2, 1}, int8_type, {4}, {1}]"
        )
        assert isinstance(shape, TupleType)
        assert [type(member) for member in shape.members] == [DynamicShapeType, DynamicShapeType, ShapeType]


class TestMangled:
    INTACT = f"{HEADER}{X}@1 = gpu::lrn[alpha=1,beta=2](x) -> {F}\n@2 = gpu::lrn[alpha=3,beta=2](@1) -> {F}\n"
    MANGLED = INTACT.replace("[alpha=1,beta=2](x)", "alpha=1,beta=2").replace(
        "[alpha=3,beta=2](@1)", "alpha=3,beta=2"
    )

    def test_an_op_that_no_table_has_is_recovered(self) -> None:
        intact = parse_migraphx(self.INTACT)
        program = parse_migraphx(self.MANGLED, intact=intact)
        assert shown(program) == shown(intact)
        assert codes(program) == {"markdown-mangled": 2, "recovered-from-intact": 2}
        assert [dict(op.attributes) for op in instructions(program)] == [
            dict(op.attributes) for op in instructions(intact)
        ]
        assert print_migraphx(program) == self.MANGLED

    def test_an_instruction_without_a_twin_learns_where_its_op_ends(self) -> None:
        text = self.MANGLED.replace("alpha=3", "alpha=4")
        program = parse_migraphx(text, intact=parse_migraphx(self.INTACT))
        last = instructions(program)[-1]
        assert (last.name, last.attributes, last.operands) == ("gpu::lrn", {"alpha": "4", "beta": "2"}, [])
        assert codes(program) == {"markdown-mangled": 2, "recovered-from-intact": 1}

    def test_so_it_does_from_its_own_listing(self) -> None:
        program = read(f"{HEADER}@0 = gpu::lrn[alpha=1] -> {F}\n@1 = gpu::lrnalpha=2 -> {F}\n")
        assert [(op.name, op.attributes) for op in instructions(program)] == [
            ("gpu::lrn", {"alpha": "1"}), ("gpu::lrn", {"alpha": "2"}),
        ]  # fmt: skip

    def test_what_two_ops_could_give_is_not_guessed(self) -> None:
        program = read(f"{HEADER}@0 = ab[c=1] -> {F}\n@1 = a[bc=1] -> {F}\n@2 = abc=2 -> {F}\n")
        assert instructions(program)[-1].name == "abc"


class TestLongLines:
    def test_attributes_with_many_commas(self) -> None:
        def work(n: int) -> Callable[[], object]:
            text = f"{HEADER}{X}@1 = f[a={'1,' * n}b=2](x) -> {F}\n"
            return lambda: instructions(parse_migraphx(text))[1].attributes["b"]

        small, large = (min(seconds(work(n)) for _ in range(3)) for n in (100_000, 400_000))
        assert large < 10 * small + 0.1

    def test_many_names_that_hold_commas(self) -> None:
        def work(n: int) -> Callable[[], object]:
            text = HEADER + "".join(f"in {i}, b = @param:in {i}, b -> {F}\n" for i in range(n))
            text += "".join(f"@{i} = f(in {i % n}, b,in {i % 7}, b) -> {F}\n" for i in range(n))
            return lambda: parse_migraphx(text)

        program = parse_migraphx(
            HEADER + f"in 1, b = @param:in 1, b -> {F}\n@1 = f(in 1, b,in 1, b) -> {F}\n"
        )
        assert shown(program)[-1][2] == ["in 1, b", "in 1, b"]
        small, large = (min(seconds(work(n)) for _ in range(2)) for n in (500, 2000))
        assert large < 10 * small + 0.1

    def test_tuples_of_many_shapes(self) -> None:
        text = "[" + ", ".join(["float_type, {2}, {1}"] * 50_000) + "]"
        assert seconds(lambda: parse_shape(text)) < 5

    @pytest.mark.parametrize(
        "unit",
        [
            "@1 = a ",
            "[",
            "](",
            "{1, ",
            " -> float_type, {1}, {1}",
            "@0,",
            ": 1ms",
            " # ",
            "= @param:",
            "a:@1",
        ],
    )
    def test_two_megabytes(self, unit: str) -> None:
        text = f"{HEADER}@0 = f[a=1](x{unit * (2_000_000 // len(unit))}\n@9 = g(@0) -> {F}\n"
        assert seconds(lambda: read(text)) < 20


@given(st.text(alphabet="[]{}(),ab", max_size=40))
def test_lists_are_cut_at_commas_outside_pairs(text: str) -> None:
    parts = split_list(text)
    assert ",".join(parts) == text
    for part in parts:
        # No pair of brackets is cut in two: what is closed in a part was opened in it, if it was opened at all.
        assert split_list(part) in ([part], [])
    if not any(mark in text for mark in "[]{}()"):
        assert parts == (text.split(",") if text else [])


@given(st.text(alphabet="[]{}(),ab", max_size=40), st.sampled_from(["[]", "{}", "()"]))
def test_a_pair_is_never_cut(text: str, pair: str) -> None:
    for mark in "[]{}()":
        text = text.replace(mark, "")
    whole = f"a,{pair[0]}{text},{text}{pair[1]},b"
    assert split_list(whole) == ["a", whole[2:-2], "b"]
    assert closing(whole, 2) == len(whole) - 2
