"""Classes and costs of converts against what Triton 3.9.0 really emits (tests/oracle/layout_converts.py)."""

import gzip
import json
from pathlib import Path

import pytest
from passlens.ir.layouts.convert import Convert, convert
from passlens.ir.layouts.linear import LinearLayout, apply
from passlens.ir.layouts.parse import parse_encoding
from passlens.ir.layouts.to_linear import to_linear

GOLDEN = Path(__file__).parents[2] / "golden" / "layouts" / "converts.jsonl.gz"
BITS = {"f16": 16, "bf16": 16, "f32": 32, "i8": 8, "f64": 64, "i1": 1, "!tt.ptr<f32>": 64}
ROWS = [json.loads(line) for line in gzip.decompress(GOLDEN.read_bytes()).decode().splitlines()]


def ends(row: dict) -> tuple[LinearLayout, LinearLayout]:
    source, target = (to_linear(parse_encoding(row[side]), row["shape"]) for side in ("from", "to"))
    return source, target


def emitted(row: dict) -> str:
    if row["cluster"]:
        return "cluster"
    if row["stores"]:
        return "shared"
    return "shuffle" if row["shuffles"] else "free"


def ours(cost: Convert) -> str:
    return "free" if cost.kind in ("nothing", "registers") else cost.kind


@pytest.fixture(scope="module")
def judged() -> list[tuple[dict, Convert]]:
    return [(row, convert(*ends(row), BITS[row["element"]])) for row in ROWS if "refused" not in row]


def test_enough_of_each_class_and_target(judged):
    seen: dict[tuple[str, str], int] = {}
    for row, _ in judged:
        key = (row["target"], emitted(row))
        seen[key] = seen.get(key, 0) + 1
    for target in ("cuda:90", "hip:gfx942"):
        for kind in ("free", "shuffle", "shared"):
            assert seen[target, kind] >= 30, seen


def test_class_is_what_the_lowering_emits(judged):
    wrong = [(row, cost) for row, cost in judged if emitted(row) != ours(cost)]
    assert not wrong, wrong[:3]


def test_bytes_of_the_scratch_buffer(judged):
    wrong = [(row, cost) for row, cost in judged if row["shared"] != cost.shared_bytes and not row["cluster"]]
    # Bases that mix bits (generic_linear) can be placed in another order than Triton's, see scratch.py.
    assert all("generic_linear" in row["from"] + row["to"] for row, _ in wrong), wrong[:3]
    assert len(wrong) <= 2


def test_barriers_and_rounds(judged):
    for row, cost in judged:
        if cost.kind == "shared" and cost.shared_bytes == row["shared"]:
            waits = row["warp_syncs"] if cost.warp_only else row["barriers"]
            assert waits == cost.barriers == 2 * cost.rounds - 1, row


def test_what_triton_refuses_crosses_blocks_or_mixes_bits():
    for row in ROWS:
        if "refused" in row and "generic_linear" not in row["from"] + row["to"]:
            assert convert(*ends(row), BITS[row["element"]]).kind == "cluster"


def test_converting_to_itself_is_nothing():
    for row in ROWS:
        for layout in ends(row):
            cost = convert(layout, layout, 16)
            assert (cost.kind, cost.moved, cost.shared_bytes) == ("nothing", 0, 0)


def test_moved_elements_counted_one_by_one(judged):
    checked = 0
    for row, cost in judged:
        if cost.total > 2048:
            continue
        checked += 1
        source, target = ends(row)
        holds = [set(elements) for elements in by_thread(source)]
        wants = by_thread(target)
        moved = sum(e not in mine for mine, wanted in zip(holds, wants, strict=True) for e in wanted)
        assert moved == cost.moved, row
        if checked == 60:
            break
    assert checked == 60


def by_thread(layout: LinearLayout) -> list[list[tuple[int, ...]]]:
    sizes = [layout.input_size(name) for name in ("block", "warp", "lane", "register")]
    return [
        [apply(layout, {"block": b, "warp": w, "lane": t, "register": r}) for r in range(sizes[3])]
        for b in range(sizes[0])
        for w in range(sizes[1])
        for t in range(sizes[2])
    ]


def test_different_shapes_are_refused():
    encoding = parse_encoding(
        "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>"
    )
    with pytest.raises(ValueError, match="shapes"):
        convert(to_linear(encoding, [128]), to_linear(encoding, [256]), 32)
