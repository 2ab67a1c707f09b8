"""Our linear layouts against Triton 3.9.0's: the recorded cases of tests/oracle/layouts.py, bit for bit."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest
from passlens.ir.errors import InputError
from passlens.ir.layouts.linear import LinearLayout
from passlens.ir.layouts.parse import parse_encoding
from passlens.ir.layouts.to_linear import to_linear

GOLDEN = Path(__file__).parents[2] / "golden"
INPUTS = ("register", "lane", "warp", "block", "offset", "row", "col")


def rows(path: Path) -> list[dict]:
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    return [json.loads(line) for line in text.splitlines()]


def bases(layout: LinearLayout, name: str) -> list[list[int]]:
    return [list(basis) for basis in layout.bases(name)]


ORACLE = rows(GOLDEN / "cases" / "layouts_oracle.jsonl")


@pytest.mark.parametrize("row", ORACLE, ids=[row["name"] for row in ORACLE])
def test_oracle_row(row):
    layout = to_linear(parse_encoding(row["attr"]), row["shape"])
    names = {"reg_bases": "register", "lane_bases": "lane", "warp_bases": "warp", "block_bases": "block",
             "offset_bases": "offset"}  # fmt: skip
    for key, name in names.items():
        if key in row:
            assert bases(layout, name) == row[key]
    assert layout.shape == tuple(row["shape"])


def check(row: dict) -> str:
    try:
        layout = to_linear(parse_encoding(row["attr"]), row["shape"])
    except InputError as error:
        return "refused" if "refused" in row else f"we refuse: {error}"
    if "refused" in row:
        return "refused by Triton only"
    wrong = [n for n in INPUTS if n in row and bases(layout, n) != row[n]]
    return f"wrong: {wrong}" if wrong else "same"


def test_random_encodings_bit_for_bit():
    results = [(row, check(row)) for row in rows(GOLDEN / "layouts" / "random.jsonl.gz")]
    wrong = [(row["attr"], row["shape"], r) for row, r in results if r.startswith(("wrong", "we refuse"))]
    assert not wrong, wrong[:3]
    kinds = Counter(row["attr"].split("<")[0].split(".")[1] for row, r in results if r == "same")
    assert sum(kinds.values()) > 1500
    assert min(kinds.values()) >= 20, kinds
    assert len(kinds) >= 13, kinds


def test_what_triton_refuses_for_its_shape_we_refuse_too():
    # Not counted: rules about kWidth that say nothing of the map, buffers of one element, and bases that mix
    # bits of one dimension, all of which have a plain meaning that only Gluon's wrapper declines.
    results = [check(row) for row in rows(GOLDEN / "layouts" / "random.jsonl.gz") if "refused" in row]
    assert results.count("refused") / len(results) > 0.7


def test_every_encoding_of_real_dumps_bit_for_bit():
    results = [(row, check(row)) for row in rows(GOLDEN / "layouts" / "dumps.jsonl.gz")]
    wrong = [(row["attr"], row["shape"], r) for row, r in results if r.startswith(("wrong", "we refuse"))]
    assert not wrong, wrong[:3]
    # Gluon's wrapper, which was asked, has no answer for a buffer of one element, padding and rotation.
    refused = [row["attr"] for row, r in results if r == "refused by Triton only" and max(row["shape"]) > 1]
    assert all(attr.startswith(("#ttg.padded_shared", "#ttg.amd_rotating_shared")) for attr in refused)
    assert sum(r == "same" for _, r in results) > 1000
