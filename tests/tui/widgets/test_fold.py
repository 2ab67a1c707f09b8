from hypothesis import given
from hypothesis import strategies as st
from passlens.tui.widgets.fold import FoldModel

RANGES = st.lists(st.tuples(st.integers(0, 28), st.integers(0, 29)).filter(lambda r: r[1] > r[0]), max_size=8)


def properly_nested(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Regions lie in each other or apart, as braces do: what crosses an earlier one is left out."""
    kept: list[tuple[int, int]] = []
    for head, tail in ranges:
        if all(tail < h or head > t or (h < head and tail < t) or (head < h and t < tail) for h, t in kept):
            kept.append((head, tail))
    return kept


@given(RANGES, st.data())
def test_rows_and_lines_agree_with_hiding_line_by_line(
    ranges: list[tuple[int, int]], data: st.DataObject
) -> None:
    ranges = properly_nested(ranges)
    model = FoldModel(30, ranges)
    heads = data.draw(st.sets(st.sampled_from([head for head, _ in ranges]))) if ranges else set()
    model.fold(heads)
    hidden = {line for head in heads for line in range(head + 1, dict(ranges)[head] + 1)}
    shown = [line for line in range(30) if line not in hidden]
    assert model.rows == len(shown)
    assert [model.line_of(row) for row in range(len(shown))] == shown
    for line in range(30):
        assert model.hidden(line) == (line in hidden)
        nearest = max(other for other in shown if other <= line)
        assert model.line_of(model.row_of(line)) == nearest


def test_toggling_folds_and_unfolds() -> None:
    model = FoldModel(10, [(1, 4), (2, 3)])
    assert model.toggle(1)
    assert (model.rows, model.line_of(2)) == (7, 5)
    assert not model.toggle(7)
    assert model.toggle(1)
    assert model.rows == 10


def test_revealing_a_line_opens_only_what_hides_it() -> None:
    model = FoldModel(30, [(1, 10), (2, 5), (12, 20)])
    model.fold([1, 2, 12])
    model.reveal(4)
    assert model.folded == {12}


def test_the_innermost_range_around_a_line() -> None:
    model = FoldModel(30, [(1, 20), (3, 6), (8, 12)])
    assert [model.around(line) for line in (0, 1, 2, 3, 5, 7, 9, 15, 25)] == [None, 1, 1, 3, 3, 3, 8, 1, None]


def test_ten_thousand_nested_ranges() -> None:
    model = FoldModel(30_000, [(depth, 29_998 - depth) for depth in range(10_000)])
    model.fold(range(10_000))
    assert model.rows == 30_000 - 29_998
    assert model.line_of(1) == 29_999
