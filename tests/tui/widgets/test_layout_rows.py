"""The picture of a layout in the inspector."""

import pytest
from passlens.ir.formats.mlir_types import parse_type
from passlens.tui.widgets.layout_rows import layout_rows

ROWS = "#ttg.blocked<{sizePerThread = [1, 2], threadsPerWarp = [8, 4], warpsPerCTA = [2, 1], order = [1, 0]}>"
SHARED = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>"


def rows(encoding: str, type_text: str, width: int = 44) -> list[str]:
    return [row.text for row in layout_rows(encoding, parse_type(type_text, {}, {}), width)]


def test_facts_and_a_corner_that_fits() -> None:
    said = rows(ROWS, f"tensor<16x8xf16, {ROWS}>")
    assert said[0].split(",")[0].strip() == "32 lanes × 2 warps"
    assert said[1].strip() == "4 bytes an access"
    assert said[2].split()[:3] == ["T0:0", "T0:1", "T1:0"]
    assert len(said) == 2 + 8 + 1 and said[-1].strip() == "8 of 16 rows, 5 of 8 columns"
    assert all(len(line) <= 44 for line in said)


def test_warps_are_parted_where_they_meet() -> None:
    turned = ROWS.replace("warpsPerCTA = [2, 1]", "warpsPerCTA = [1, 2]")
    said = rows(turned, f"tensor<8x16xf16, {turned}>", 200)
    assert "T3:1┃w1T0:0" in said[2].replace(" ", "")


def test_pointers_count_what_they_point_at() -> None:
    assert "8 bytes an access" in rows(ROWS, f"tensor<16x8x!tt.ptr<f32>, {ROWS}>")[1]


def test_memory_shows_offsets() -> None:
    said = rows(SHARED, f"!ttg.memdesc<16x8xf16, {SHARED}, #smem>")
    assert said[0].split()[:2] == ["0", "1"] and said[1].split()[0] == "8"


@pytest.mark.parametrize("shape", ["16x9", "4x4x4"])
def test_what_cannot_be_drawn_says_so(shape: str) -> None:
    (only,) = rows(ROWS, f"tensor<{shape}xf16, {ROWS}>")
    assert "no picture" in only


def test_unknown_sizes_have_no_picture() -> None:
    assert rows(ROWS, f"tensor<?x8xf16, {ROWS}>") == []
