from passlens.tui.widgets.locations import location_lines

ALIASES = {
    "#loc": 'loc("k.py":8:1)',
    "#loc1": "loc(unknown)",
    "#loc3": 'loc("k.py":39:23)',
    "#loc84": 'loc("new_top"(#loc26))',
    "#loc26": 'loc("k.py":15:35)',
    "#loc111": "loc(callsite(#loc84 at #loc3))",
    "#loop": "loc(#loop)",
    "#two": "loc(callsite(#two at #two))",
}


def test_the_forms_of_a_location() -> None:
    assert location_lines("#loc", ALIASES) == ["k.py:8:1"]
    assert location_lines("unknown", ALIASES) == []
    assert location_lines("#loc1", ALIASES) == []
    assert location_lines('"a b"', ALIASES) == ["“a b”"]
    assert location_lines("#loc84", ALIASES) == ["“new_top”", "  at k.py:15:35"]
    assert location_lines("#loc111", ALIASES) == ["“new_top”", "  at k.py:15:35", "called from k.py:39:23"]
    assert location_lines('fused<"m">[#loc, "k.py":2:3]', ALIASES) == ["fused k.py:8:1", "  and k.py:2:3"]
    assert location_lines("callsite(callsite(#loc at #loc3) at #loc26)", ALIASES) == [
        "k.py:8:1", "called from k.py:39:23", "called from k.py:15:35",
    ]  # fmt: skip


def test_an_undefined_location_is_named() -> None:
    assert location_lines("#loc7", ALIASES) == ["#loc7"]


def test_locations_that_hold_themselves_end() -> None:
    assert location_lines("#loop", ALIASES) == []
    assert len(location_lines("#two", ALIASES)) <= 40


def test_deep_call_chains_are_cut() -> None:
    text = "#loc"
    for _ in range(3000):
        text = f"callsite({text} at #loc3)"
    assert len(location_lines(text, ALIASES)) <= 40
