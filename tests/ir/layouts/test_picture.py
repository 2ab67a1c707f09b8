"""Pictures of layouts: every cell against the layout itself."""

from hypothesis import given, settings
from hypothesis import strategies as st
from passlens.ir.layouts.linear import apply
from passlens.ir.layouts.parse import parse_encoding
from passlens.ir.layouts.picture import Window, grid, holders, svg
from passlens.ir.layouts.to_linear import to_linear

powers = st.sampled_from([1, 2, 4, 8])


@st.composite
def layouts(draw):
    rank = draw(st.integers(1, 3))
    lists = ["[" + ", ".join(str(draw(powers)) for _ in range(rank)) + "]" for _ in range(3)]
    order = draw(st.permutations(range(rank)))
    text = (
        f"#ttg.blocked<{{sizePerThread = {lists[0]}, threadsPerWarp = {lists[1]}, "
        f"warpsPerCTA = {lists[2]}, order = {list(order)}}}>"
    )
    shape = tuple(draw(st.sampled_from([1, 2, 8, 16])) for _ in range(rank))
    return to_linear(parse_encoding(text), shape)


@settings(max_examples=60, deadline=None)
@given(layouts(), st.data())
def test_every_cell_is_held_by_who_the_layout_says(layout, data):
    whole = grid(layout)
    for cells in whole.cells:
        assert all(cell for cell in cells)
    rows, columns = len(whole.cells), len(whole.cells[0])
    top, left = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, columns - 1))
    part = grid(layout, Window((top, rows), (left, columns)))
    assert part.cells == [cells[left:] for cells in whole.cells[top:]]
    for row, cells in enumerate(whole.cells):
        for column, cell in enumerate(cells):
            for who in cell:
                at = apply(layout, {"register": who.register, "lane": who.lane, "warp": who.warp})
                assert at[-1] == column and (len(at) < 2 or at[-2] == row) and not any(at[:-2])
    expected = sum(1 for at, _ in holders(layout) if not any(at[:-2]))
    assert sum(len(cell) for cells in whole.cells for cell in cells) == expected


def test_a_title_is_text_in_the_svg():
    text = "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [4], warpsPerCTA = [1], order = [0]}>"
    drawn = svg(grid(to_linear(parse_encoding(text), (4,))), "<script>&")
    assert "<script>" not in drawn and "&lt;script&gt;&amp;" in drawn
