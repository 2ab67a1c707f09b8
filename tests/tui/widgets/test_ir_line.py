from hypothesis import given
from hypothesis import strategies as st
from passlens.tui.safe import visible
from passlens.tui.widgets.ir_line import column_of, line_spans, offset_of, window_spans

LINE = '  %1 = tt.load %0 : !tt.ptr<f16> loc(callsite(#loc1 at "a)b":1:2)) // x'


def shown_text(line: str, hide: bool) -> str:
    return "".join(visible(line[start:end]) for start, end, _ in line_spans(line, "mlir", hide))


def test_hidden_locations_take_their_blanks_along() -> None:
    assert shown_text(LINE, False) == LINE
    assert shown_text(LINE, True) == "  %1 = tt.load %0 : !tt.ptr<f16> // x"


def test_what_an_alias_line_defines_stays() -> None:
    line = '#loc3 = loc("f.py":1:2)'
    assert shown_text(line, True) == line


@given(st.text(alphabet='ab\x1b\t\u202e loc()"%', max_size=40), st.booleans())
def test_columns_and_offsets_lead_to_each_other(line: str, hide: bool) -> None:
    shown = line_spans(line, "mlir", hide)
    for start, end, _ in shown:
        for offset in range(start, end):
            assert offset_of(line, shown, column_of(line, shown, offset)) == offset


def test_a_long_line_is_cut_to_what_is_in_sight() -> None:
    line = "%a, " * 1_000_000
    shown = window_spans(line, "mlir", 2_000_000, 100)
    assert shown[0][0] <= 2_000_000 and shown[-1][1] >= 2_000_100
    assert shown[-1][1] - shown[0][0] < 1000
