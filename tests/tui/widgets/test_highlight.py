import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from passlens.tui.widgets.highlight import overlay, spans, whole


def styled(line: str, format: str) -> dict[str, str]:
    return {line[start:end]: style for start, end, style in spans(line, format)}


def test_the_parts_of_an_mlir_line() -> None:
    line = '    %6:2 = "tt.reduce"(%arg0) {axis = 1 : i32} : (tensor<256x1x!tt.ptr<f16>, #blocked>) -> f32 loc(#loc9)'
    found = styled(line, "mlir")
    assert found["%6"] == "value"
    assert found['"tt.reduce"'] == "string"
    assert found["axis"] == "attribute"
    assert found["256x1x"] == "type"
    assert found["!tt.ptr"] == "type"
    assert found["#blocked"] == "encoding"
    assert found["loc(#loc9)"] == "loc"
    assert styled("  %c0 = arith.constant 0 : i32", "mlir")["arith.constant"] == "op"
    assert styled("  cf.br ^bb1(%a : i32) // back", "mlir")["// back"] == "comment"


def test_the_parts_of_a_migraphx_line() -> None:
    found = styled("@4 = hip::copy_to_gpu(@2,@3) -> float_type, {1, 64}, {64, 1}: 0.0123ms, 4%", "migraphx")
    assert found["@4"] == "value"
    assert found["hip::copy_to_gpu"] == "op"
    assert found["float_type"] == "type"
    assert found["0.0123ms"] == "number"
    assert styled("@2 = @literal{ ... } -> float_type, {1}, {1}", "migraphx")["@literal"] == "op"


@given(st.text(alphabet='%#@!"()<>{}x0a.= \\/loc:-^', max_size=80), st.sampled_from(["mlir", "migraphx", ""]))
def test_spans_are_in_order_and_fill_the_line(line: str, format: str) -> None:
    found = spans(line, format)
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(found))
    filled = whole(found, 0, len(line))
    assert "".join(line[start:end] for start, end, _ in filled) == line


@given(
    st.text(alphabet="%ab 0=", min_size=1, max_size=40),
    st.lists(st.tuples(st.integers(0, 39), st.integers(1, 6)), max_size=5),
)
def test_an_overlay_changes_styles_and_no_text(line: str, marks: list[tuple[int, int]]) -> None:
    above = sorted((at, at + length, "match") for at, length in marks)
    pieces = overlay(whole(spans(line, "mlir"), 0, len(line)), above)
    assert "".join(line[start:end] for start, end, _, _ in pieces) == line
    marked = {at for start, end, _, style in pieces if style for at in range(start, end)}
    assert marked == {at for start, end, _ in above for at in range(start, min(end, len(line)))}


@pytest.mark.parametrize(
    "line", ['loc("' + "(" * 4000, "loc(" * 1000, '"' + "\\" * 4000, "1x" * 2000, "%" * 4000]
)
def test_no_line_takes_the_expression_long(line: str) -> None:
    since = time.perf_counter()
    spans(line, "mlir")
    spans(line, "migraphx")
    assert time.perf_counter() - since < 0.5


def test_names_of_onnx_values() -> None:
    line = '  %/conv/out_0 = onnx.Conv(%x.1, %"a b") {axis = 1} : f32[batchx16] loc("n")'
    found = styled(line, "onnx")
    assert [name for name, style in found.items() if style == "value"] == ["%/conv/out_0", "%x.1", '%"a b"']
    assert found["onnx.Conv"] == "op"
