"""The MIGraphX reader and writer: every form that listings are printed in, edits, and damage."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from passlens.ir import edit
from passlens.ir.formats.migraphx import parse_migraphx, print_migraphx
from passlens.ir.formats.migraphx_shapes import parse_shape
from passlens.ir.program import Op, Program, symbol, walk
from passlens.ir.trace import open_trace, trace_of_text
from passlens.ir.types import DynamicShapeType, ShapeType, TupleType, byte_size, element_count
from passlens.ir.verify import verify

GOLDEN = Path(__file__).parents[2] / "golden"
SEED = GOLDEN / "seeds/migraphx_streaming_resnet50.txt"
CASES = sorted([*GOLDEN.glob("cases/migraphx/*.txt"), *GOLDEN.glob("cases/migraphx_formats/*.txt")])


def case(name: str) -> Program:
    (path,) = [p for p in CASES if p.name.startswith(name) or p.stem == name]
    return open_trace(str(path)).program(0)


def body(program: Program, module: str = "main") -> list[Op]:
    (found,) = [op for op in program.ops if op.name == "module" and symbol(op) == module]
    return found.regions[0].blocks[0].ops


def instructions(program: Program) -> list[Op]:
    return [op for op in walk(program) if op.name not in ("module", "")]


def named(program: Program, name: str) -> Op:
    return next(op for op in instructions(program) if op.results and op.results[0].name == name)


def codes(program: Program) -> dict[str, int]:
    return {d.code: d.count for d in program.diagnostics}


def structure(program: Program) -> list[object]:
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


@pytest.mark.parametrize("path", [SEED, *CASES], ids=lambda path: path.stem)
def test_reading_and_writing_gives_the_same_text(path: Path) -> None:
    trace = open_trace(str(path))
    for snapshot in trace.snapshots:
        assert print_migraphx(trace.program(snapshot)) == trace.text(snapshot)


class TestTheReport:
    trace = open_trace(str(SEED))

    def test_both_listings_hold_574_instructions(self) -> None:
        for snapshot in self.trace.snapshots:
            assert len(instructions(self.trace.program(snapshot))) == 574

    def test_the_mangled_listing_gets_its_arguments_back_and_says_so(self) -> None:
        intact, mangled = (self.trace.program(s) for s in self.trace.snapshots)
        assert codes(mangled) == {"markdown-mangled": 331, "recovered-from-intact": 331}
        assert not intact.diagnostics
        assert structure(intact) == structure(mangled)

    def test_without_the_intact_one_it_is_read_as_far_as_it_goes(self) -> None:
        text = self.trace.text(1)
        program = parse_migraphx(text)
        assert codes(program)["markdown-mangled"] == 331
        assert "recovered-from-intact" not in codes(program)
        load = named(program, "@3")
        assert (load.name, load.attributes) == ("load", {"offset": "7062272", "end": "10273536"})
        assert load.operands == []
        pooling = next(op for op in instructions(program) if op.name == "gpu::pooling")
        assert pooling.attributes["lengths"] == "{3, 3}"


class TestCases:
    def test_types_and_literals(self) -> None:
        program = case("01_types_literals")
        literals = [op for op in instructions(program) if op.name == "@literal"]
        assert len(instructions(program)) == 15
        assert sum(byte_size(op.results[0].type) or 0 for op in literals) == 2226
        assert [byte_size(op.results[0].type) for op in literals] == [8, 3, 4, 4, 3, 16, 2048, 8, 4, 128]
        assert named(program, "@6").attributes["literal"] == "nan, inf, -inf, -0"
        assert element_count(named(program, "@13").results[0].type) == 8
        assert byte_size(named(program, "@13").results[0].type) == 8

    def test_odd_names_and_tuples(self) -> None:
        program = case("02_odd_params_tuple")
        assert len(instructions(program)) == 13
        assert not program.diagnostics
        assert named(program, "x -> y, (z)").name == "@param"
        kernel = named(program, "@8")
        assert [v.name for v in kernel.operands][:3] == [
            "/model/layers.0/attn/Add_output_0", "onnx::MatMul_123", "input.1",
        ]  # fmt: skip
        assert kernel.attributes["output_arg"] == "3"
        assert byte_size(named(program, "@7").results[0].type) == 72
        assert named(program, "@11").attributes["origin"] == "Add_7, Mul_3"

    def test_an_argument_list_with_a_name_that_holds_commas(self) -> None:
        program = parse_migraphx(
            'module: "main"\na, b (c) = @param:a, b (c) -> float_type, {1}, {1}\nd = @param:d -> float_type, {1}, {1}\n'
            "@2 = add(d,a, b (c),d) -> float_type, {1}, {1}\n"
        )
        assert [v.name for v in named(program, "@2").operands] == ["d", "a, b (c)", "d"]

    def test_submodules_read_the_values_around_them(self) -> None:
        program = case("03_if_loop_submodules")
        assert [symbol(op) for op in program.ops] == [
            "main", "If_5_if", "If_5_else", "Loop_6_loop", "Loop_6_loop:pointwise0",
        ]  # fmt: skip
        assert not program.diagnostics
        add = named(program, "If_5_if:@1")
        assert add.operands == [named(program, "x").results[0], named(program, "@0").results[0]]
        assert named(program, "@7").attributes["modules"] == "If_5_if, If_5_else"
        assert isinstance(named(program, "@7").results[0].type, TupleType)

    def test_nested_attributes_and_resident_literals(self) -> None:
        program = case("04_gpu_conv_gemm_resident")
        assert len(instructions(program)) == 15
        convolution = named(program, "@8")
        assert convolution.attributes["op"].startswith("{padding={1, 1, 1, 1}")
        assert convolution.attributes["solution_object"] == "{binary_object: 9392}"
        assert byte_size(named(program, "@3").results[0].type) == 40960
        assert named(program, "@1").attributes == {"shape": "int8_type, {29184}, {1}", "id": "main:scratch"}

    def test_an_evaluation_trace_has_times_but_for_the_last(self) -> None:
        program = case("07_trace_eval")
        found = [op.attributes.get("eval.ms") for op in instructions(program)]
        assert found == ["0.0084", "0.00705", "0.00327", "0.00154", "0.00434", "10.4542", "0.0004", None]

    def test_a_listing_that_was_cut_off(self) -> None:
        program = case("09_error_at_end")
        last = instructions(program)[-1]
        assert last.results[0].name == "@6"
        assert last.results[0].type.text == "?"

    def test_a_perf_listing(self) -> None:
        trace = open_trace(str(GOLDEN / "cases/migraphx/08_perf_listing.txt"))
        program = trace.program(0)
        assert len(instructions(program)) == 6
        times = [
            float(op.attributes["perf.ms"]) for op in instructions(program) if "perf.ms" in op.attributes
        ]
        assert sum(times) == pytest.approx(trace.facts.perf["instructions_ms"])
        assert max(times) == pytest.approx(0.018112)
        assert trace.facts.perf["total_ms"] == pytest.approx(0.0248685)

    def test_modules_tuples_and_dynamic_shapes(self) -> None:
        program = case("09_modules_tuples_dynamic")
        assert codes(program) == {"missing-module": 1}
        y = named(program, "y").results[0].type
        assert (byte_size(y), element_count(y)) == (12, 6)
        x = named(program, "x").results[0].type
        assert isinstance(x, DynamicShapeType)
        assert x.dims == ((1, 4), (3, 3), (8, 16))
        assert named(program, "@6").attributes["target_id"] == "1"

    def test_a_schedule_trace(self) -> None:
        program = case("10_schedule_trace")
        assert not program.diagnostics
        assert [op.attributes.get("schedule.stream") for op in instructions(program)] == [
            None, None, "0", None, "1", None, "0", "0",
        ]  # fmt: skip
        assert named(program, "@6").attributes["schedule.inputs"] == "0,1,"


class TestSpellings:
    @pytest.mark.parametrize(
        "line",
        [
            "main:@4 = hip::hip_load_memory[shape=float_type, {4}, {1},id=main:@literal:0] -> float_type, {4}, {1}, target_id=0",
            "@0 = check_context -> float_type, {}, {}",
            "@3 = @literal{0.5, 1} -> half_type, {2}, {1}: 0.001ms, 4% # Add_1",
            "@3 = @literal{ ... } -> float_type, {64, 3, 7, 7}, {147, 49, 7, 1}",
            '@5 = custom[text="a, b",list=[1, 2],op={a=1,b={c=2}}] -> int64_type, {1}, {0}',
        ],
    )
    def test_a_line(self, line: str) -> None:
        program = parse_migraphx(f'module: "main"\n{line}\n')
        (op,) = instructions(program)
        assert op.results[0].type is not None
        edit.rename(op.results[0], op.results[0].name)
        again = parse_migraphx(print_migraphx(program))
        assert structure(again) == structure(program)

    def test_a_wrapped_line(self) -> None:
        program = parse_migraphx(
            'module: "main"\n@0 = @literal{ ... } -> float_type, {4}, {1}\n@1 = multibroad\ncast[out_lens={2, 4}](@0) -> float_type, {2, 4}, {0, 1}\n'
        )
        assert [op.name for op in instructions(program)] == ["@literal", "multibroadcast"]
        assert named(program, "@1").operands == named(program, "@0").results

    def test_stamps_in_front_of_lines(self) -> None:
        program = parse_migraphx(
            '2026-05-30 10:11:12.01 [INFO] [main.cpp:7] module: "main"\n2026-05-30 10:11:12.01 [INFO] [main.cpp:7] @0 = @literal{1} -> float_type, {1}, {0}\n'
        )
        assert [op.name for op in instructions(program)] == ["@literal"]

    def test_undefined_names_and_stray_lines_are_told(self) -> None:
        program = parse_migraphx('module: "main"\n@1 = add(@0,@0) -> float_type, {1}, {0}\nwhat is this\n')
        assert codes(program) == {"undefined-value": 2, "unparsed-text": 1}

    @pytest.mark.parametrize(
        ("text", "size", "count"),
        [
            ("float_type, {1, 3, 224, 224}, {0, 1, 0, 0}", 12, 150528),
            ("float_type, {}, {}", 4, 1),
            ("half_type, {2048, 10}, {1, 2048}", 40960, 20480),
            ("int8_type, {0, 4}, {4, 1}", 0, 0),
            ("[float_type, {2, 3}, {3, 1}, int64_type, {3}, {1}]", 48, 9),
            ("strange_type, {2}, {1}", None, 2),
        ],
    )
    def test_bytes_and_elements(self, text: str, size: int | None, count: int) -> None:
        shape = parse_shape(text)
        assert shape.text == text
        assert (byte_size(shape), element_count(shape)) == (size, count)

    @pytest.mark.parametrize(
        "text", ["float_type, {-1}, {1}", "float_type, {a}, {1}", "float_type, {1}", "[" * 5000, ""]
    )
    def test_shapes_that_are_none(self, text: str) -> None:
        assert byte_size(parse_shape(text)) is None


class TestEdits:
    def test_erase_insert_move_rename(self) -> None:
        program = open_trace(str(SEED)).program(0)
        ops = body(program)
        literal = named(program, "@25")
        edit.move(literal, before=ops[3])
        copy = edit.create(
            "identity",
            [named(program, "@11").results[0]],
            [named(program, "@11").results[0].type],
            before=named(program, "@16"),
        )
        edit.replace_all_uses(
            named(program, "@11").results[0], copy.results[0], only=lambda use: use[0] is not copy
        )
        edit.rename(named(program, "data").results[0], "input")
        edit.set_attribute(named(program, "@13"), "offset", "0")
        again = parse_migraphx(print_migraphx(program))
        assert structure(again) == structure(program)
        assert not again.diagnostics
        assert named(again, "input").attributes["parameter"] == "input"

    def test_a_program_made_from_nothing(self) -> None:
        program = parse_migraphx("")
        f32 = parse_shape("float_type, {4}, {1}")
        region_owner = parse_migraphx('module: "main"\n').ops[0]
        program.body.blocks[0].ops.append(region_owner)
        region_owner.block = program.body.blocks[0]
        block = region_owner.regions[0].blocks[0]
        x = edit.create("@param", [], [f32], {"parameter": "x"}, block=block, names=["x"])
        y = edit.create("add", [x.results[0], x.results[0]], [f32], block=block)
        edit.create("@return", [y.results[0]], block=block)
        again = parse_migraphx(print_migraphx(program))
        assert [op.name for op in instructions(again)] == ["@param", "add", "@return"]
        assert verify(again) == []


LINES = [
    'module: "main"', 'module: "main:#p"', "@0 = @literal{1} -> float_type, {1}, {0}", "@1 = add(@0,@0) -> float_type, {1}, {0}",
    "x = @param:x -> float_type, {4}, {1}", "@2 = load[offset=0,end=4](@1) -> int8_type, {4}, {1}", "@3 = @return(@1)",
    "Time: 1ms, 2ms", "Run instruction: @4 = f(x) -> float_type, {1}, {0}", "@5 = a[", "@6 = b(", " -> ", "@7 = loadoffset=0,end=4 -> float_type, {1}, {0}",
    "", "prose", "@8 = if(x), [m] -> [float_type, {1}, {0}]",
]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(LINES), max_size=25))
def test_any_lines_are_read_and_written_back(lines: list[str]) -> None:
    text = "\n".join(lines)
    program = parse_migraphx(text)
    assert print_migraphx(program) == text
    for op in walk(program):
        assert isinstance(op.attributes, dict)
        for index, value in enumerate(op.operands):
            assert (op, index) in value.uses


SMALL = (GOLDEN / "cases/migraphx/03_war_arena_reuse.txt").read_text()


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, len(SMALL)),
    st.lists(st.tuples(st.integers(0, len(SMALL) - 1), st.characters(codec="utf-8")), max_size=5),
)
def test_damage_loses_nothing(cut: int, flips: list[tuple[int, str]]) -> None:
    characters = list(SMALL)
    for place, character in flips:
        characters[place] = character
    text = "".join(characters)[:cut]
    program = parse_migraphx(text)
    assert print_migraphx(program) == text
    trace_of_text(text)


@pytest.mark.parametrize("unit", ["@1 = a ", "[", "(", "{1, ", " -> float_type, {1}, {1}", "@0,", ": 1ms"])
def test_a_long_line_is_read_in_linear_time(unit: str) -> None:
    text = f'module: "main"\n@0 = f[a=1](x) {unit * (1_000_000 // len(unit))}\n@9 = g(@0) -> float_type, {{1}}, {{0}}\n'
    assert print_migraphx(parse_migraphx(text)) == text


def test_shapes_of_one_text_are_one_object() -> None:
    program = open_trace(str(SEED)).program(0)
    shapes = {op.results[0].type.text: set[int]() for op in instructions(program) if op.results}
    for op in instructions(program):
        if op.results:
            shapes[op.results[0].type.text].add(id(op.results[0].type))
            assert isinstance(op.results[0].type, ShapeType)
    assert all(len(ids) == 1 for ids in shapes.values())
