"""Programs that are not whole are refused before a rule looks into them."""

from pathlib import Path

import pytest
from passlens.ir.formats.mlir import parse_mlir
from passlens.ir.passes.layout.admit import faults_of

GOLDEN = Path(__file__).parents[2] / "golden"
SEED = (GOLDEN / "seeds" / "triton_reproducible.mlir").read_text()


def test_whole_programs_are_taken() -> None:
    for name in ("triton_reproducible", "triton_fix1"):
        assert list(faults_of(parse_mlir((GOLDEN / "seeds" / f"{name}.mlir").read_text()))) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("arith.muli %8, %9 :", "arith.muli %8 :", "arith.muli has 1 operands and needs 2"),
        ("tt.expand_dims %41 {", "tt.expand_dims {", "tt.expand_dims has 0 operands and needs 1"),
        ("-> tensor<64x128x!tt.ptr<f16>, #blocked6>", "-> tensor<64x128x!tt.ptr<f16>>", "convert_layout"),
    ],
)
def test_what_is_missing_is_named(old: str, new: str, said: str) -> None:
    assert old in SEED
    assert any(said in fault for fault in faults_of(parse_mlir(SEED.replace(old, new, 1))))
