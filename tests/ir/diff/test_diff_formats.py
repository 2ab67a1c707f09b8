"""MIGraphX and ONNX programs go through the same comparison."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from diff_programs import canonical
from passlens.ir import edit
from passlens.ir.diff.apply import apply
from passlens.ir.diff.compare import compare
from passlens.ir.diff.script import script
from passlens.ir.formats import parse
from passlens.ir.formats.migraphx import parse_migraphx
from passlens.ir.program import Block, Op, Program, walk
from passlens.ir.trace import open_trace

SEED = Path(__file__).parents[2] / "golden/seeds/migraphx_streaming_resnet50.txt"


@pytest.fixture(scope="module")
def text() -> str:
    return open_trace(str(SEED)).program(0).text


def main_block(program: Program) -> Block:
    return next(op for op in walk(program) if op.regions).regions[0].blocks[0]


def rescheduled(ops: list[Op], r: random.Random) -> list[Op]:
    """Another order in which every op still stands behind what it uses; the last op stays."""
    left = {op: {value.op for value in op.operands} & set(ops[:-1]) for op in ops[:-1]}
    order: list[Op] = []
    while left:
        ready = [op for op, needed in left.items() if not needed]
        chosen = r.choice(ready)
        order.append(chosen)
        del left[chosen]
        for needed in left.values():
            needed.discard(chosen)
    return [*order, ops[-1]]


def test_renumbered_instructions_are_the_same(text: str) -> None:
    a, b = parse_migraphx(text), parse_migraphx(text)
    edit.rename_all(b, "other")
    assert compare(a, b).same


def test_a_few_copies_issued_earlier_are_that_many_moves(text: str) -> None:
    a, b = parse_migraphx(text), parse_migraphx(text)
    block = main_block(b)
    for copy in [op for op in block.ops if op.name == "hip::copy_to_gpu"][5:13]:
        edit.move(copy, before=block.ops[max(block.ops.index(copy) - 7, 0)])
    counts = compare(a, b).counts()
    assert counts["changed"] == counts["added"] == counts["removed"] == 0
    assert 1 <= counts["moved"] <= 8


def test_a_rescheduled_program_is_moves_only(text: str) -> None:
    a, b = parse_migraphx(text), parse_migraphx(text)
    block = main_block(b)
    block.ops[:] = rescheduled(block.ops, random.Random(2))
    counts = compare(a, b).counts()
    assert counts["moved"] > 100
    assert counts["changed"] == counts["added"] == counts["removed"] == 0


def test_a_recoloured_program_is_offsets_only(text: str) -> None:
    a, b = parse_migraphx(text), parse_migraphx(text)
    loads = [op for op in walk(b) if op.name == "load"]
    for k, load in enumerate(loads):
        edit.set_attribute(load, "offset", str(64 * k + 1))
    changes = compare(a, b).changes
    assert len(changes) == len(loads)
    assert {(c.status, c.moved, c.op.name) for c in changes} == {("changed", False, "load")}
    assert {part.which for change in changes for part in change.parts} == {"offset"}


def test_rescheduled_and_recoloured(text: str) -> None:
    a, b = parse_migraphx(text), parse_migraphx(text)
    block = main_block(b)
    block.ops[:] = rescheduled(block.ops, random.Random(3))
    recoloured = [op for op in walk(b) if op.name == "load"][::20]
    for k, load in enumerate(recoloured):
        edit.set_attribute(load, "offset", str(1_000_001 + k))
    counts = compare(a, b).counts()
    assert counts["changed"] == len(recoloured)
    assert counts["added"] == counts["removed"] == 0


def test_the_script_reschedules(text: str) -> None:
    a, b = parse_migraphx(text), parse_migraphx(text)
    block = main_block(b)
    block.ops[:] = rescheduled(block.ops, random.Random(4))
    edits = script(compare(a, b))
    fresh = parse_migraphx(text)
    apply(fresh, edits)
    assert canonical(fresh) == canonical(b)


def test_onnx_graphs(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper

    def saved(name: str, bias: bool, prefix: str) -> Program:
        nodes = [helper.make_node("Relu", ["x"], [f"{prefix}r"], name=f"{prefix}relu")]
        last = f"{prefix}r"
        if bias:
            nodes.append(helper.make_node("Neg", [last], [f"{prefix}n"], name=f"{prefix}neg"))
            last = f"{prefix}n"
        nodes.append(helper.make_node("Abs", [last], ["y"], name=f"{prefix}abs"))
        shape = [helper.make_tensor_value_info(value, onnx.TensorProto.FLOAT, [2, 3]) for value in ("x", "y")]
        graph = helper.make_graph(nodes, "g", shape[:1], shape[1:])
        path = tmp_path / name
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), str(path))
        return parse("", "onnx", str(path))

    plain, renamed = saved("a.onnx", False, "p"), saved("b.onnx", False, "q")
    assert compare(plain, renamed).same
    changes = compare(plain, saved("c.onnx", True, "p")).changes
    assert sorted(change.status for change in changes) == ["added", "changed"]
