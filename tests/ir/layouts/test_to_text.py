"""Encodings written in the spelling of a release read back as the same layout."""

import gzip
import json
from pathlib import Path

import pytest
from passlens.ir.errors import InputError
from passlens.ir.layouts.linear import same
from passlens.ir.layouts.parse import parse_encoding
from passlens.ir.layouts.to_linear import to_linear
from passlens.ir.layouts.to_text import ERAS, linear_text, to_text

GOLDEN = Path(__file__).parents[2] / "golden" / "layouts"


def rows() -> list[tuple[str, tuple[int, ...]]]:
    texts = [gzip.decompress((GOLDEN / f"{name}.jsonl.gz").read_bytes()) for name in ("dumps", "random")]
    every = [json.loads(line) for text in texts for line in text.decode().splitlines()]
    return [(row["attr"], tuple(row["shape"])) for row in every if "refused" not in row]


@pytest.mark.parametrize("era", ERAS)
def test_a_spelling_reads_back_as_the_same_layout(era):
    written = 0
    for text, shape in rows():
        encoding = parse_encoding(text)
        try:
            again = to_text(encoding, era)
        except ValueError:
            assert era != ERAS[-1], text
            continue
        try:
            # `hasLeadingOffset` leaves the element's size to the tensor's type.
            back = to_linear(parse_encoding(again), shape, getattr(encoding, "element_bit_width", 16))
        except InputError as error:
            pytest.fail(f"{text} became {again}: {error}")
        assert same(back, to_linear(encoding, shape)), (text, again)
        assert again.startswith(("#triton_gpu.",) if era < "3.3" else ("#ttg.", "#ttng."))
        written += 1
    assert written > 1000


def test_a_linear_layout_has_a_spelling_of_its_own():
    written = 0
    for text, shape in rows():
        layout = to_linear(parse_encoding(text), shape)
        try:
            again = linear_text(layout)
        except ValueError:
            continue
        assert same(to_linear(parse_encoding(again), shape), layout), (text, again)
        written += 1
    assert written > 1000
