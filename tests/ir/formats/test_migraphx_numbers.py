"""Numbers that are none stay text, whatever MIGraphX text is cut to."""

import pytest
from passlens.ir.analysis.migraphx_summary import summarize
from passlens.ir.formats.migraphx import parse_migraphx, print_migraphx
from passlens.ir.formats.migraphx_shapes import parse_shape
from passlens.ir.types import ShapeType

LINE = 'module: "main"\n@0 = f(x) -> float_type, {1}, {1}'


@pytest.mark.parametrize("lens", ["--1", "-1", "-", "1-1", "+1", "1 2"])
def test_no_length(lens: str) -> None:
    assert not isinstance(parse_shape(f"float_type, {{{lens}}}, {{1}}"), ShapeType)


@pytest.mark.parametrize("time", ["1.2.3", "e", "-", "1e", "+", "1-2"])
def test_no_time(time: str) -> None:
    text = f"{LINE}: {time}ms, 1.2.3%\n"
    program = parse_migraphx(text)
    assert summarize(program).milliseconds is None
    assert print_migraphx(program) == text


@pytest.mark.parametrize("time", ["1.5", "2", "1.5e-05", "3."])
def test_a_time(time: str) -> None:
    assert summarize(parse_migraphx(f"{LINE}: {time}ms, 12%\n")).milliseconds == float(time)


@pytest.mark.parametrize(
    "text",
    [
        'module: "main"\n@0 = f(@1) -> float_type, {1}, {1}\n\nmodule: "m"\n@1 = g -> float_type, {1}, {1}\n',
        'module: "main"\n@0 = f -> float_type, {1}, {1}\n\nmodule: "m"\nm:@0 = g(k:@0) -> float_type, {1}, {1}\n',
    ],
)
def test_a_number_of_another_module_is_no_definition(text: str) -> None:
    assert "undefined-value" in {each.code for each in parse_migraphx(text).diagnostics}
