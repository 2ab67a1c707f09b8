"""Counts of a layout against counts of its elements, one by one; accesses against hand-made answers."""

from collections import Counter

import pytest
from passlens.ir.layouts.banks import bank_cost
from passlens.ir.layouts.facts import layout_facts
from passlens.ir.layouts.linear import LinearLayout
from passlens.ir.layouts.memory_access import row_major, warp_access
from passlens.ir.layouts.parse import parse_encoding
from passlens.ir.layouts.picture import holders
from passlens.ir.layouts.to_linear import to_linear


def blocked(per_thread: str, lanes: str, warps: str, order: str) -> str:
    return (
        f"#ttg.blocked<{{sizePerThread = [{per_thread}], threadsPerWarp = [{lanes}], "
        f"warpsPerCTA = [{warps}], order = [{order}]}}>"
    )


ROWS = blocked("1, 4", "8, 4", "4, 1", "1, 0")
COLUMNS = blocked("4, 1", "8, 4", "4, 1", "0, 1")
MMA = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>"
LAYOUTS = [ROWS, COLUMNS, MMA, f"#ttg.slice<{{dim = 1, parent = {MMA}}}>"]
PLAIN = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>"
SWIZZLED = "#ttg.swizzled_shared<{vec = 16, perPhase = 1, maxPhase = 4, order = [1, 0]}>"


def layout(text: str, *shape: int) -> LinearLayout:
    return to_linear(parse_encoding(text), shape, 16)


@pytest.mark.parametrize("text", LAYOUTS)
@pytest.mark.parametrize("shape", [(8, 8), (16, 64), (128, 32)])
def test_replicas_are_those_of_the_elements(text: str, shape: tuple[int, ...]) -> None:
    if "slice" in text:
        shape = shape[:1]
    it = layout(text, *shape)
    facts = layout_facts(it, 16)
    held, threads = Counter[object](), dict[object, set[object]]()
    for at, who in holders(it):
        held[at] += 1
        threads.setdefault(at, set()).add((who.block, who.warp, who.lane))
    assert {len(each) for each in threads.values()} == {facts.threads}
    assert set(held.values()) == {facts.threads * facts.register_replicas}
    assert facts.unique_registers * facts.register_replicas == facts.registers


def test_neighbours_are_cut_at_the_widest_access() -> None:
    facts = layout_facts(layout(blocked("1, 16", "8, 4", "4, 1", "1, 0"), 32, 64), 16)
    assert (facts.neighbours, facts.dimension, facts.vector_elements) == (16, 1, 8)
    facts = layout_facts(layout(COLUMNS, 128, 64), 16)
    assert (facts.neighbours, facts.dimension, facts.vector_elements) == (4, 0, 4)


def test_a_coalesced_load_wastes_nothing() -> None:
    access = warp_access(layout(ROWS, 32, 64), row_major((32, 64)), 16)
    assert (access.vector_bytes, access.requests, access.bytes, access.sectors) == (8, 4, 256, 8)
    assert access.efficiency == 1.0


def test_columns_of_a_row_major_tensor_waste_what_a_sector_holds_beside() -> None:
    access = warp_access(layout(COLUMNS, 128, 64), row_major((128, 64)), 16)
    assert (access.vector_bytes, access.bytes, access.sectors) == (2, 64, 8)
    turned = warp_access(layout(COLUMNS, 128, 64), (1, 128), 16)
    assert (turned.vector_bytes, turned.efficiency) == (8, 1.0)


def test_lanes_that_hold_one_element_ask_for_it_once() -> None:
    access = warp_access(layout(ROWS, 1, 16), row_major((1, 16)), 16)
    assert (access.bytes, access.sectors) == (32, 1)


def test_a_row_of_banks_makes_rows_conflict_and_a_swizzle_parts_them() -> None:
    registers = layout(ROWS, 32, 64)
    plain = bank_cost(layout(PLAIN, 32, 64), registers, 16)
    assert (plain.vector_bits, plain.instructions, plain.wavefronts, plain.turns) == (64, 4, 2, 8)
    assert plain.conflicts == 3
    assert bank_cost(layout(SWIZZLED, 32, 64), registers, 16).conflicts == 0


def test_layouts_of_other_shapes_are_told_apart() -> None:
    with pytest.raises(ValueError, match="are for shapes"):
        bank_cost(layout(PLAIN, 32, 32), layout(ROWS, 32, 64), 16)
