from hypothesis import given
from hypothesis import strategies as st
from passlens.tui.widgets.ir_lines import index_lines


@given(st.text(alphabet="ab\n\r\té", max_size=60))
def test_lines_are_those_of_a_split_and_offsets_lead_back(text: str) -> None:
    lines = index_lines(text)
    expected = text.split("\n")
    if len(expected) > 1 and not expected[-1]:
        expected.pop()
    assert [lines.line(number) for number in range(len(lines))] == expected
    for number in range(len(lines)):
        start, end = lines.span(number)
        assert all(lines.line_of(offset) == number for offset in range(start, end + 1) if offset < len(text))


def test_offsets_outside_the_text_go_to_its_ends() -> None:
    lines = index_lines("a\nb\n")
    assert (lines.line_of(-5), lines.line_of(99)) == (0, 1)


def test_the_widest_line_is_measured_as_it_is_shown() -> None:
    assert index_lines("abc\n\x1b[31m\n").longest == len("\\x1b[31m")


def test_a_line_of_ten_megabytes_is_one_line() -> None:
    lines = index_lines("x" * 10_000_000)
    assert (len(lines), lines.longest, lines.span(0)) == (1, 10_000_000, (0, 10_000_000))
