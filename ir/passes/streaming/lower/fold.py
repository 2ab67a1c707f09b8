"""The second phase: scales and offsets of channels go into the weights in front of them.

A batch norm has become a multiplication and an addition by constants. Behind a convolution or a matrix
product the factor belongs into its weights, and additions of constants that follow one another are one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .... import edit
from ....program import Op, Value
from ...step import Recorder, Step
from .graph import Array, Graph, owner, shape_of


def fold(graph: Graph, recorder: Recorder) -> Iterator[Step]:
    """Fold until nothing changes; a step for each rewrite."""
    work = [op for op in graph.block.ops if op.name in ("mul", "add")]
    while work:
        op = work.pop(0)
        if op.block is None:
            continue
        rules = (_scaled_weights, _moved_factor, _merged_offsets, _joined_offsets)
        done = next((found for rule in rules if (found := rule(graph, op))), None)
        if done:
            why, again = done
            work = [*again, *work]
            yield recorder.step("fold", why, op=again[0] if again else None)
    yield from _swept(graph, recorder)


def _constant(graph: Graph, value: Value) -> Array | None:
    """The data of a literal, seen through a broadcast, with as many axes as the value."""
    op = value.op
    if op is not None and op.name == "multibroadcast":
        inner = graph.data.get(op.operands[0].name)
        if inner is None:
            return None
        rank = len(shape_of(value).lens)
        return inner.reshape((1,) * (rank - inner.ndim) + inner.shape) if inner.ndim <= rank else None
    return graph.data.get(value.name)


def _parts(graph: Graph, op: Op) -> tuple[Value, Array] | None:
    """(what is computed, the constant) of an op of both."""
    for index in (0, 1):
        found = _constant(graph, op.operands[1 - index])
        if found is not None and _constant(graph, op.operands[index]) is None:
            return op.operands[index], found
    return None


def _scaled_weights(graph: Graph, op: Op) -> tuple[str, list[Op]] | None:
    """mul(convolution(x, w), k) → convolution(x, w·k), and the same for dot."""
    parts = _parts(graph, op) if op.name == "mul" else None
    if parts is None:
        return None
    value, factor = parts
    made = value.op
    if made is None or made.name not in ("convolution", "dot") or len(value.uses) != 1:
        return None
    weight = graph.data.get(made.operands[1].name)
    if weight is None:
        return None
    scaled = _scaled(made.name, weight, factor, shape_of(value).lens)
    if scaled is None:
        return None
    literal = _literal_in_front(graph, scaled, made)
    edit.set_operand(made, 1, literal)
    edit.replace_all_uses(op.results[0], value)
    edit.erase(op)
    users = [user for user, _ in value.uses if user.name in ("mul", "add")]
    return f"a factor goes into the weights of {made.name} {value.name}", users or [made]


def _scaled(name: str, weight: Array, factor: Array, lens: tuple[int, ...]) -> Array | None:
    if factor.size == 1:
        return (weight * factor.reshape(())).astype(weight.dtype)
    if name == "dot":
        wide = factor.shape[-1] == weight.shape[-1] and factor.size == factor.shape[-1]
        return (weight * factor.reshape(-1)).astype(weight.dtype) if wide else None
    if factor.shape != (1, lens[1], *([1] * (len(lens) - 2))):
        return None
    return (weight * factor.reshape(-1, *([1] * (weight.ndim - 1)))).astype(weight.dtype)


def _moved_factor(graph: Graph, op: Op) -> tuple[str, list[Op]] | None:
    """mul(add(x, a), k) → add(mul(x, k), a·k), where x is what a factor can go into."""
    parts = _parts(graph, op) if op.name == "mul" else None
    if parts is None:
        return None
    value, factor = parts
    inner = value.op
    if inner is None or inner.name != "add" or len(value.uses) != 1:
        return None
    terms = _parts(graph, inner)
    if terms is None or terms[0].op is None or owner(terms[0]).name not in ("convolution", "dot"):
        return None
    x, offset = terms
    if len(x.uses) != 1 or graph.data.get(owner(x).operands[1].name) is None:
        return None
    lens = shape_of(op.results[0]).lens
    product = (np.broadcast_to(offset, np.broadcast_shapes(offset.shape, factor.shape)) * factor).astype(
        offset.dtype
    )
    scaled = _operator(graph, op, "mul", [x, _wide(graph, factor, lens, op)])
    moved = _operator(graph, op, "add", [scaled, _wide(graph, product, lens, op)])
    edit.replace_all_uses(op.results[0], moved)
    edit.erase(op)
    edit.erase(inner)
    return f"a factor of {value.name} moves in front of its offset", [owner(scaled), owner(moved)]


def _merged_offsets(graph: Graph, op: Op) -> tuple[str, list[Op]] | None:
    """add(add(x, a), b) → add(x, a + b)."""
    parts = _parts(graph, op) if op.name == "add" else None
    if parts is None:
        return None
    value, second = parts
    inner = value.op
    if inner is None or inner.name != "add" or len(value.uses) != 1:
        return None
    terms = _parts(graph, inner)
    if terms is None:
        return None
    x, first = terms
    lens = shape_of(op.results[0]).lens
    merged = _operator(graph, op, "add", [x, _wide(graph, (first + second).astype(first.dtype), lens, op)])
    edit.replace_all_uses(op.results[0], merged)
    edit.erase(op)
    edit.erase(inner)
    return f"two offsets of {x.name} become one", [owner(merged)]


def _joined_offsets(graph: Graph, op: Op) -> tuple[str, list[Op]] | None:
    """add(add(x, a), add(y, b)) → add(add(x, y), a + b)."""
    if op.name != "add" or op.operands[0] is op.operands[1]:
        return None
    inner = [value.op for value in op.operands if len(value.uses) == 1]
    found = [_parts(graph, each) for each in inner if each is not None and each.name == "add"]
    terms = [each for each in found if each is not None]
    if len(terms) != 2:
        return None
    (x, first), (y, second) = terms
    total = _operator(graph, op, "add", [x, y])
    offset = _wide(graph, (first + second).astype(first.dtype), shape_of(total).lens, op)
    joined = _operator(graph, op, "add", [total, offset])
    edit.replace_all_uses(op.results[0], joined)
    edit.erase(op)
    for each in inner:
        if each is not None:
            edit.erase(each)
    return f"the offsets of {x.name} and {y.name} become one", [owner(total), owner(joined)]


def _operator(graph: Graph, anchor: Op, name: str, inputs: list[Value]) -> Value:
    type = shape_of(anchor.results[0])
    return edit.create(name, inputs, [type], before=anchor, names=[graph.fresh()]).results[0]


def _wide(graph: Graph, array: Array, lens: tuple[int, ...], anchor: Op) -> Value:
    """A literal in front of `anchor`, broadcast to `lens`."""
    literal = _literal_in_front(graph, array, anchor)
    if shape_of(literal).lens == lens:
        return literal
    wide = graph.broadcast(literal, lens)
    assert isinstance(wide, Value)
    edit.move(owner(wide), before=anchor)
    return wide


def _literal_in_front(graph: Graph, array: Array, anchor: Op) -> Value:
    literal = graph.literal(np.ascontiguousarray(array))
    edit.move(owner(literal), before=anchor)
    return literal


def _swept(graph: Graph, recorder: Recorder) -> Iterator[Step]:
    """Erase what nothing uses."""
    gone = 0
    for op in reversed(list(graph.block.ops)):
        if (
            op.results
            and op.name not in ("@param", "@return", "check_context::migraphx::gpu::context")
            and not op.results[0].uses
        ):
            graph.data.pop(op.results[0].name, None)
            edit.erase(op)
            gone += 1
    if gone:
        yield recorder.step("sweep", f"{gone} operators whose results nothing uses are gone")
