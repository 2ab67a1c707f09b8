"""The last phases of lowering: where results and weights are in memory.

Every kernel writes into a buffer that it is given: what the program returns into the caller's outputs, all
else into allocations, which are then cut out of one arena as MIGraphX's memory colouring does it. Weights are
literals: resident, or copied into the arena in front of their first reader.
"""

from __future__ import annotations

from collections.abc import Iterator

from .... import edit
from ....analysis.views import is_kernel
from ....evaluate.structure import VIEWS
from ....journal import assign
from ....program import Block, Op, Program, Value
from ....types import ShapeType, byte_size
from ...step import Recorder, Step
from ..migraphx_interference import allocations
from ..migraphx_place import Placement
from .fuse import kernel_of
from .graph import Array, Graph, shape_of


def give_outputs(program: Program, graph: Graph, recorder: Recorder) -> Iterator[Step]:
    """Have the kernels that make what the program returns write it into `main:#output_K`."""
    block = graph.block
    back = block.ops[-1]
    for index, value in enumerate(list(back.operands)):
        made = value.op
        # A view, an input, a constant, or what is returned twice is copied into its output.
        if made is None or not is_kernel(made) or (made.operands[-1:] and _is_output(made.operands[-1])):
            made = kernel_of(program, "contiguous", value, graph.fresh())
            edit.insert_before(back, made)
            edit.set_operand(back, index, made.results[0])
        name = f"main:#output_{index}"
        anchor = block.ops.index(made)
        parameter = edit.create("@param", [], [shape_of(made.results[0])], {"parameter": name}, names=[name])
        edit.insert_at(block, anchor, parameter)
        edit.append_operand(made, parameter.results[0])
        recorder.set("output", name, made.results[0].name)
        yield recorder.step("output", f"{made.results[0].name} is written into {name}", op=made)


def _is_output(value: Value) -> bool:
    return value.name.startswith("main:#output_")


def allocate(block: Block, recorder: Recorder) -> Iterator[Step]:
    """Give every other kernel a buffer of its own."""
    for op in list(block.ops):
        if not is_kernel(op) or (op.operands and _is_output(op.operands[-1])):
            continue
        buffer = _allocation(shape_of(op.results[0]), op, f"buffer of {op.results[0].name}")
        edit.append_operand(op, buffer)
        yield recorder.step("allocate", f"{op.results[0].name} gets a buffer", op=op)


def _allocation(type: ShapeType, anchor: Op, name: str) -> Value:
    made = edit.create("hip::allocate", [], [type], {"shape": type.text}, before=anchor, names=[name])
    return made.results[0]


def place_literals(block: Block, recorder: Recorder, *, streamed: bool) -> Iterator[Step]:
    """Put weights and views of them in front of their first readers; copy the weights there if `streamed`."""
    for op in [each for each in block.ops if each.name in VIEWS]:
        _sink(op)
    for op in [each for each in block.ops if each.name == "@literal"]:
        _sink(op)
        value = op.results[0]
        size = byte_size(value.type) or 0
        if not streamed:
            yield recorder.step("literal", f"{value.name} ({size:,} bytes) is a weight", op=op)
            continue
        anchor = block.ops[block.ops.index(op) + 1]
        readers = list(value.uses)
        buffer = _allocation(shape_of(value), anchor, f"buffer of {value.name}")
        copy = edit.create(
            "hip::copy_to_gpu", [value, buffer], [value.type], before=anchor, names=[f"copy of {value.name}"]
        )
        for user, index in readers:
            edit.set_operand(user, index, copy.results[0])
        yield recorder.step("copy", f"{value.name} ({size:,} bytes) is copied before it is read", op=copy)


def _sink(op: Op) -> None:
    """Move an op in front of the first that reads its result."""
    block = op.block
    assert block is not None
    users = {user for user, _ in op.results[0].uses}
    start = block.ops.index(op)
    first = next((each for each in block.ops[start + 1 :] if each in users), None)
    if first is not None and block.ops[start + 1] is not first:
        edit.move(op, before=first)


def keep_literals(block: Block, recorder: Recorder) -> Iterator[Step]:
    """Make every literal that no copy reads resident. Names must be final: the id is the name's number."""
    for op in [each for each in block.ops if each.name == "@literal"]:
        value = op.results[0]
        if any(user.name == "hip::copy_to_gpu" for user, _ in value.uses):
            continue
        assign(op, "name", "hip::hip_copy_literal")
        edit.set_attribute(op, "literal", None)
        edit.set_attribute(op, "id", f"main:@literal:{value.name.lstrip('@')}")
        recorder.set("residency", value.name, "resident")
        yield recorder.step("keep", f"{value.name} stays on the GPU", op=op)


def lay_out(block: Block, recorder: Recorder) -> Iterator[Step]:
    """Cut all allocations out of one arena, each where MIGraphX's memory colouring would put it."""
    found = allocations(block.ops)
    placement = Placement(found)
    for placed in (*placement.place_all(), *placement.improve()):
        recorder.set("place", found[placed.number].op.results[0].name, placed.segment)
    if not found:
        return
    unit, total = placement.alignment, placement.bytes
    text = f"int8_type, {{{total}}}, {{1}}"
    type = ShapeType(text, "i8", (total,), (1,))
    said = {"shape": text, "id": "main:scratch"}
    arena = edit.create("hip::hip_allocate_memory", [], [type], said, names=["arena"])
    edit.insert_at(block, 1 if block.ops[0].name.startswith("check_context") else 0, arena)
    starts = {each.op: placement.segments[number][0] * unit for number, each in enumerate(found)}
    for op in [each for each in block.ops if each.name == "hip::allocate"]:
        # What is not among those found has no bytes.
        start = starts.get(op, 0)
        end = start + (byte_size(op.results[0].type) or 0)
        said = {"offset": str(start), "end": str(end)}
        load = edit.create(
            "load", [arena.results[0]], [op.results[0].type], said, before=op, names=[op.results[0].name]
        )
        edit.replace_all_uses(op.results[0], load.results[0])
        edit.erase(op)
        why = f"bytes {start:,} to {end:,} of an arena of {total:,}"
        yield recorder.step("load", why, op=load, value=load.results[0])


def number(graph: Graph, recorder: Recorder) -> Iterator[Step]:
    """Name all results of the main module in order, as MIGraphX does; parameters keep their names."""
    data: dict[str, Array] = {}
    for index, op in enumerate(graph.block.ops):
        for value in op.results:
            if op.name == "@literal":
                # Only of what is still there: a name that an erased literal had may be given again.
                data[f"@{index}"] = graph.data[value.name]
            if op.name != "@param":
                assign(value, "name", f"@{index}")
    graph.data.clear()
    graph.data.update(data)
    yield recorder.step("number", f"{len(graph.block.ops)} results are named by their places")
