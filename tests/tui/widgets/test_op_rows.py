from pathlib import Path

import pytest
from passlens.ir.program import Op, walk
from passlens.ir.trace import open_trace, trace_of_text
from passlens.tui.document import Document, document, parsed
from passlens.tui.widgets.op_rows import Look, op_rows
from passlens.tui.widgets.rows import Jump, wrapped

SEEDS = Path(__file__).parents[2] / "golden" / "seeds"


def read(path: str, key: int = 0) -> Document:
    trace = open_trace(path)
    return parsed(document(key, "t", trace.snapshots[key].format, trace.text(key)), trace.program(key))


def look(found: Document, op: Op, width: int = 60, expanded: bool = False) -> list[str]:
    value = op.results[0] if op.results else None
    return [row.text for row in op_rows(Look(found, op, value, width, 0, expanded))]


@pytest.fixture(scope="module")
def triton() -> Document:
    return read(str(SEEDS / "triton_reproducible.mlir"))


def named(found: Document, name: str, nth: int = 0) -> Op:
    assert found.program is not None
    return [op for op in walk(found.program) if op.name == name][nth]


def test_an_op_with_its_value_operands_encodings_and_location(triton: Document) -> None:
    said = look(triton, named(triton, "triton_gpu.convert_layout"))
    assert said[0].startswith("triton_gpu.convert_layout")
    assert "1,024 bytes = 256 × 32 bits" in said
    assert any(row.startswith("0 %2 ← arith.addi") for row in said)
    assert "    sizePerThread = [1]" in said
    assert "this location is never defined in the text" in said


def test_what_names_a_place_leads_there(triton: Document) -> None:
    op = named(triton, "arith.addi")
    rows = op_rows(Look(triton, op, op.results[0], 60))
    jumps = {row.text.split("line")[0]: row.target.offset for row in rows if isinstance(row.target, Jump)}
    assert triton.text[jumps["0 %1 ← tt.make_range"] :].startswith("%1 = ")
    uses = [offset for text, offset in jumps.items() if text.startswith("  → ")]
    assert uses and all(triton.text[offset:].startswith("%2") for offset in uses)


def test_memory_of_migraphx_instructions() -> None:
    found = read(str(SEEDS / "migraphx_streaming_resnet50.txt"))
    assert "literal    1 of 119" in look(found, named(found, "@literal"))
    assert any(
        row.startswith("literal    1 of 119, @") for row in look(found, named(found, "hip::copy_to_gpu"))
    )
    broadcast = look(found, named(found, "multibroadcast"))
    assert "strides    0, 1, 0, 0" in broadcast
    assert "broadcast: 150,528 elements read 12 bytes" in broadcast


def test_an_undefined_value_says_so() -> None:
    trace = trace_of_text("module {\n  %0 = tt.load %gone : !tt.ptr<f16>\n}\n", "x.mlir")
    found = parsed(document(0, "t", "mlir", trace.text(0)), trace.program(0))
    op = named(found, "tt.load")
    said = [row.text for row in op_rows(Look(found, op, op.operands[0], 60))]
    assert "used and never defined in this text" in said


def test_every_op_of_a_seed_has_rows_that_fit_the_width(triton: Document) -> None:
    assert triton.program is not None
    for op in walk(triton.program):
        for row in op_rows(Look(triton, op, op.results[0] if op.results else None, 40, 0, True)):
            assert len("".join(text for text, _ in row.left)) <= 60


def test_wrapping_keeps_every_word() -> None:
    text = "a, " * 50 + "b" * 100 + " end"
    rows = [row.text for row in wrapped(text, 20, indent="  ")]
    assert "".join("".join(rows).split()) == "".join(text.split())
    assert all(len(row) <= 20 for row in rows)
    assert rows[0] == "  a, a, a, a, a, a,"
