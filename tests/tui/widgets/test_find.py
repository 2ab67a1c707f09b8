from hypothesis import given
from hypothesis import strategies as st
from passlens.tui.widgets import find
from passlens.tui.widgets.find import find_all


@given(st.text(alphabet="abA\n", max_size=80), st.text(alphabet="abA", min_size=1, max_size=3))
def test_matches_are_those_of_a_plain_search(text: str, query: str) -> None:
    chunk, find._CHUNK = find._CHUNK, 7
    try:
        found = find_all(text, query)
    finally:
        find._CHUNK = chunk
    folded = text if query != query.lower() else text.lower()
    expected, at = [], folded.find(query)
    while at >= 0:
        expected.append(at)
        at = folded.find(query, at + len(query))
    assert found is not None and list(found.offsets) == expected and found.complete


def test_signs_of_regular_expressions_are_letters_here() -> None:
    found = find_all("a.b (a+b)* a.b", "a.b")
    assert found is not None and list(found.offsets) == [0, 11]


def test_next_and_previous_go_around() -> None:
    found = find_all("x..x..x", "x")
    assert found is not None
    assert [found.following(at) for at in (-1, 0, 3, 6)] == [0, 1, 2, 0]
    assert [found.preceding(at) for at in (0, 3, 7)] == [2, 0, 2]
    assert (found.number(3), found.number(4)) == (2, 0)
    assert found.within(3, 7) == [(3, 4), (6, 7)]


def test_a_search_that_nobody_wants_ends() -> None:
    asked = iter([False, True])
    assert find_all("a" * 3_000_000, "b", lambda: next(asked)) is None


def test_a_flood_of_matches_is_cut_and_says_so(monkeypatch) -> None:
    monkeypatch.setattr(find, "MOST", 10)
    found = find_all("a" * 50, "a")
    assert found is not None and len(found) == 10 and not found.complete
