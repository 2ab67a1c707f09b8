"""ONNX operators that move elements, and those that say something about shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from ....evaluate.attributes import dtype_of, listed
from .graph import Array, Tensor, shape_of
from .nodes import Handler, Node


def _lens_of(node: Node, index: int) -> list[int]:
    found = node.constant(index, "shape")
    if found is None:
        raise node.error("no shape is given; expected a constant")
    return [int(each) for each in found.reshape(-1)]


def _reshape(node: Node) -> list[Tensor]:
    lens, wanted = node.lens(0), _lens_of(node, 1)
    if not node.integer("allowzero"):
        wanted = [lens[axis] if length == 0 else length for axis, length in enumerate(wanted)]
    total = int(np.prod(lens, dtype=np.int64))
    if -1 in wanted:
        known = int(np.prod([length for length in wanted if length != -1], dtype=np.int64))
        wanted[wanted.index(-1)] = total // known if known else 0
    if int(np.prod(wanted, dtype=np.int64)) != total:
        raise node.error(f"{list(lens)} into {wanted}: the number of elements differs")
    return [node.graph.reshape(node.input(0), wanted)]


def _flatten(node: Node) -> list[Tensor]:
    lens = node.lens(0)
    axis = node.integer("axis", 1)
    axis = axis + len(lens) if axis < 0 else axis
    front = int(np.prod(lens[:axis], dtype=np.int64))
    return [node.graph.reshape(node.input(0), [front, int(np.prod(lens[axis:], dtype=np.int64))])]


def _transpose(node: Node) -> list[Tensor]:
    rank = len(node.lens(0))
    return [node.graph.transpose(node.input(0), node.integers("perm", range(rank)[::-1]))]


def _axes(node: Node, rank: int) -> list[int] | None:
    found = node.constant(1, "axes")
    return None if found is None else sorted(node.axis(int(each), rank) for each in found.reshape(-1))


def _squeeze(node: Node) -> list[Tensor]:
    lens, x = node.lens(0), node.input(0)
    axes = _axes(node, len(lens))
    axes = [axis for axis, length in enumerate(lens) if length == 1] if axes is None else axes
    left = [length for axis, length in enumerate(lens) if axis not in axes]
    if isinstance(x, np.ndarray):
        return [x.reshape(left)]
    return [node.graph.op("squeeze", [x], {"axes": listed(axes)})] if left and axes else [x]


def _unsqueeze(node: Node) -> list[Tensor]:
    x, lens = node.input(0), node.lens(0)
    found = node.constant(1, "axes")
    rank = len(lens) + (0 if found is None else found.size)
    axes = _axes(node, rank) or []
    if isinstance(x, np.ndarray):
        return [np.expand_dims(x, tuple(axes))]
    return [node.graph.op("unsqueeze", [x], {"axes": listed(axes)})] if axes else [x]


def _slice(node: Node) -> list[Tensor]:
    x, lens = node.input(0), node.lens(0)
    starts, ends = node.constant(1, "starts"), node.constant(2, "ends")
    if starts is None or ends is None:
        raise node.error("starts or ends are left out; expected constants")
    given, steps = node.constant(3, "axes"), node.constant(4)
    axes = list(range(starts.size)) if given is None else [int(each) for each in given.reshape(-1)]
    strides = [1] * starts.size if steps is None else [int(each) for each in steps.reshape(-1)]
    cuts = [slice(None)] * len(lens)
    for axis, start, end, step in zip(axes, starts.reshape(-1), ends.reshape(-1), strides, strict=True):
        cuts[node.axis(axis, len(lens))] = slice(*slice(int(start), int(end), step).indices(lens[axis]))
    if isinstance(x, np.ndarray):
        return [x[tuple(_open(cut) for cut in cuts)]]
    if any(cut.step is not None and cut.step < 0 for cut in cuts):
        raise node.error("a step is negative; expected one of 1 or more for what is computed at run time")
    made = node.graph.op("slice", [x], _cut(cuts, lens))
    stepped = [axis for axis, cut in enumerate(cuts) if cut.step not in (None, 1)]
    if stepped:
        made = node.graph.op(
            "step", [made], {"axes": listed(stepped), "steps": listed([cuts[axis].step for axis in stepped])}
        )
    return [made]


def _open(cut: slice) -> slice:
    """Going backwards to the first element ends at None, not at -1."""
    return slice(cut.start, None, cut.step) if cut.step is not None and cut.step < 0 and cut.stop < 0 else cut


def _cut(cuts: list[slice], lens: tuple[int, ...]) -> dict[str, str]:
    axes = [axis for axis, cut in enumerate(cuts) if cut.start is not None]
    return {
        "axes": listed(axes),
        "starts": listed([cuts[axis].start for axis in axes]),
        "ends": listed([max(cuts[axis].stop, cuts[axis].start) for axis in axes]),
    }


def _split(node: Node) -> list[Tensor]:
    x, lens = node.input(0), node.lens(0)
    axis = node.axis(node.integer("axis"), len(lens))
    given = node.constant(1, "split")
    count = len(node.op.results)
    each = -(-lens[axis] // count)
    sizes = (
        [min(each, lens[axis] - each * index) for index in range(count)]
        if given is None
        else [int(size) for size in given.reshape(-1)]
    )
    made: list[Tensor] = []
    start = 0
    for size in sizes:
        said = {"axes": listed([axis]), "starts": listed([start]), "ends": listed([start + size])}
        made.append(node.graph.op("slice", [x], said))
        start += size
    return made


def _concat(node: Node) -> list[Tensor]:
    axis = node.axis(node.integer("axis"), max(len(node.lens(0)), 1))
    parts = [node.input(index) for index in range(len(node.inputs))]
    return [node.graph.op("concat", parts, {"axis": str(axis)}) if len(parts) > 1 else parts[0]]


def _gather(node: Node) -> list[Tensor]:
    x, indices = node.input(0), node.input(1)
    axis = node.axis(node.integer("axis"), len(node.lens(0)))
    if isinstance(x, np.ndarray) and isinstance(indices, np.ndarray):
        return [np.take(x, np.where(indices < 0, indices + x.shape[axis], indices), axis=axis)]
    if isinstance(indices, np.ndarray) and indices.ndim == 0:
        at = int(indices) % node.lens(0)[axis]
        said = {"axes": listed([axis]), "starts": listed([at]), "ends": listed([at + 1])}
        cut = node.graph.op("slice", [x], said)
        return [node.graph.op("squeeze", [cut], {"axes": listed([axis])})] if len(node.lens(0)) > 1 else [cut]
    return [node.graph.op("gather", [x, indices], {"axis": str(axis)})]


def _expand(node: Node) -> list[Tensor]:
    x, wanted = node.input(0), _lens_of(node, 1)
    lens = np.broadcast_shapes(node.lens(0), tuple(wanted))
    if isinstance(x, np.ndarray):
        node.sized(lens)
    return [np.broadcast_to(x, lens) if isinstance(x, np.ndarray) else node.graph.broadcast(x, lens)]


def _tile(node: Node) -> list[Tensor]:
    x, repeats = node.input(0), node.constant(1)
    if repeats is None:
        raise node.error("repeats are left out; expected a constant")
    if isinstance(x, np.ndarray):
        node.sized([length * int(by) for length, by in zip(x.shape, repeats.reshape(-1), strict=True)])
        return [np.tile(x, repeats)]
    made: Tensor = x
    for axis, count in enumerate(int(each) for each in repeats.reshape(-1)):
        if count != 1:
            made = node.graph.op("concat", [made] * count, {"axis": str(axis)})
    return [made]


def _pad(node: Node) -> list[Tensor]:
    x, rank = node.input(0), len(node.lens(0))
    pads, value = node.constant(1, "pads"), node.constant(2, "value")
    if pads is None:
        raise node.error("pads are left out; expected a constant")
    given = node.constant(3)
    amounts = [int(each) for each in pads.reshape(-1)]
    if given is not None:
        axes = [node.axis(int(each), rank) for each in given.reshape(-1)]
        spread = [0] * (2 * rank)
        for place, axis in enumerate(axes):
            spread[axis], spread[axis + rank] = amounts[place], amounts[place + len(axes)]
        amounts = spread
    if any(each < 0 for each in amounts):
        raise node.error(f"pads {amounts}; expected none below 0")
    if not any(amounts):
        return [x]
    if isinstance(x, np.ndarray):
        node.sized([n + amounts[axis] + amounts[axis + rank] for axis, n in enumerate(x.shape)])
    fill = 0.0 if value is None else float(np.asarray(value).reshape(()))
    said = {"pads": listed(amounts), "mode": node.text("mode", "constant"), "value": repr(fill)}
    return [node.graph.op("pad", [x], said)]


def _same(node: Node) -> list[Tensor]:
    return [node.input(0)]


def _dropout(node: Node) -> list[Tensor]:
    ratio, training = node.constant(1, "ratio"), node.constant(2)
    if training is not None and bool(training.reshape(())) and (ratio is None or float(ratio.reshape(()))):
        raise node.error("it is in training mode, which drops at random; export the model for inference")
    mask = np.ones(node.lens(0), dtype=bool)
    return [node.input(0), mask][: len(node.op.results)]


def _constant(node: Node) -> list[Tensor]:
    for name, dtype in (("value_float", np.float32), ("value_floats", np.float32), ("value_int", np.int64),
                        ("value_ints", np.int64)):  # fmt: skip
        if name in node.attributes:
            return [np.asarray(node.attributes[name], dtype=dtype)]
    if "value" not in node.attributes:
        raise node.error("it holds no tensor of numbers; expected value, value_float(s) or value_int(s)")
    return [np.asarray(node.attributes["value"])]


def _constant_of_shape(node: Node) -> list[Tensor]:
    lens = _lens_of(node, 0)
    node.sized(lens)
    value = np.asarray(node.attributes.get("value", np.zeros(1, dtype=np.float32)))
    return [np.full(lens, value.reshape(-1)[0], dtype=value.dtype)]


def _shape(node: Node) -> list[Tensor]:
    lens = node.lens(0)
    start, end = node.integer("start", 0), node.integer("end", len(lens))
    return [np.asarray(lens[start:end], dtype=np.int64)]


def _size(node: Node) -> list[Tensor]:
    return [np.asarray(int(np.prod(node.lens(0), dtype=np.int64)), dtype=np.int64)]


def _range(node: Node) -> list[Tensor]:
    parts = [node.constant(index) for index in range(3)]
    if any(part is None for part in parts):
        raise node.error("start, limit or delta is left out; expected constants")
    start, limit, delta = (np.asarray(part).reshape(()) for part in parts)
    node.sized([max(int((float(limit) - float(start)) / float(delta)), 0)])
    return [np.arange(start.item(), limit.item(), delta.item(), dtype=start.dtype)]


def _known(node: Node, index: int) -> Array:
    found = node.constant(index)
    if found is None:
        raise node.error(f"input {index} is left out; expected a constant")
    return found


def _trilu(node: Node) -> list[Tensor]:
    shift = node.constant(1)
    k = 0 if shift is None else int(shift.reshape(()))
    upper = bool(node.integer("upper", 1))
    x = node.input(0)
    if isinstance(x, np.ndarray):
        return [np.triu(x, k) if upper else np.tril(x, k)]
    ones = np.ones(node.lens(0)[-2:], dtype=bool)
    mask = np.triu(ones, k) if upper else np.tril(ones, k)
    zero = np.zeros((), dtype=dtype_of(shape_of(x).element))
    return [node.graph.pointwise("where", [mask, x, zero])]


def _cumsum(node: Node) -> list[Tensor]:
    axis = node.axis(int(_known(node, 1).reshape(())), len(node.lens(0)))
    said = {"axis": axis, "exclusive": node.integer("exclusive"), "reverse": node.integer("reverse")}
    texts = {name: str(value) for name, value in said.items()}
    return [node.graph.op("prefix_scan_sum", [node.input(0)], texts)]


def _one_hot(node: Node) -> list[Tensor]:
    g, lens, indices = node.graph, node.lens(0), node.input(0)
    depth, values = int(_known(node, 1).reshape(-1)[0]), _known(node, 2)
    node.sized([depth])
    axis = node.axis(node.integer("axis", -1), len(lens) + 1)
    dtype = dtype_of(shape_of(indices).element)
    wide = g.reshape(indices, (*lens[:axis], 1, *lens[axis:]))
    # Negative indices count from the end.
    below = g.pointwise("less", [wide, np.asarray(0, dtype)])
    wide = g.pointwise("where", [below, g.pointwise("add", [wide, np.asarray(depth, dtype)]), wide])
    places = np.arange(depth, dtype=dtype).reshape(-1, *([1] * (len(lens) - axis)))
    hit = g.pointwise("equal", [wide, places])
    return [g.pointwise("where", [hit, np.asarray(values[1]), np.asarray(values[0])])]


def _nonzero(node: Node) -> list[Tensor]:
    return [np.asarray(np.nonzero(_known(node, 0)), dtype=np.int64)]


def _resize(node: Node) -> list[Tensor]:
    """Nearest neighbour: whole factors as upsampling has them, else by the places that each axis reads."""
    lens, old = node.lens(0), node.kind == "Upsample"
    if node.text("mode", "nearest") != "nearest":
        raise node.error(f"mode {node.text('mode')}; expected nearest")
    if node.integers("axes") or node.text("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise node.error("axes or keep_aspect_ratio_policy are given; expected sizes or scales of all axes")
    sizes, scales = node.constant(3), node.constant(1 if old else 2, "scales")
    if sizes is not None and sizes.size:
        wanted = [int(each) for each in sizes.reshape(-1)]
        factors = [new / max(length, 1) for new, length in zip(wanted, lens, strict=True)]
    elif scales is not None and scales.size:
        factors = [float(each) for each in scales.reshape(-1)]
        wanted = [int(length * by) for length, by in zip(lens, factors, strict=True)]
    else:
        raise node.error("neither sizes nor scales are given")
    for new in wanted:
        node.sized([new])
    places = [_read_places(node, *each) for each in zip(lens, wanted, factors, strict=True)]
    whole = [np.arange(new) * length // max(new, 1) for length, new in zip(lens, wanted, strict=True)]
    grown = not any(new % length for new, length in zip(wanted, lens, strict=True))
    if grown and all(np.array_equal(*each) for each in zip(places, whole, strict=True)):
        return [node.graph.op("resize", [node.input(0)], {"sizes": listed(wanted)})]
    made = node.input(0)
    for axis, at in enumerate(places):
        if not np.array_equal(at, np.arange(lens[axis])):
            made = node.graph.op("gather", [made, at], {"axis": str(axis)})
    return [made]


def _read_places(node: Node, length: int, new: int, factor: float) -> Array:
    """Which elements of an axis nearest neighbour reads, by ONNX's coordinate and rounding modes."""
    mode = (
        "asymmetric" if node.kind == "Upsample" else node.text("coordinate_transformation_mode", "half_pixel")
    )
    at = np.arange(new, dtype=np.float64)
    if mode == "asymmetric" or node.opset < 11:
        at = at / factor
    elif mode == "half_pixel" or (mode == "pytorch_half_pixel" and new > 1):
        at = (at + 0.5) / factor - 0.5
    elif mode == "align_corners":
        at = at * ((length - 1) / (new - 1)) if new > 1 else at * 0
    elif mode == "pytorch_half_pixel":
        at = at * 0
    else:
        raise node.error(
            f"coordinate_transformation_mode {mode}; expected half_pixel, asymmetric or align_corners"
        )
    usual = "floor" if node.opset < 11 or node.kind == "Upsample" else "round_prefer_floor"
    rounding = node.text("nearest_mode", usual)
    rounded: dict[str, Callable[[Array], Array]] = {
        "floor": np.floor, "ceil": np.ceil, "round_prefer_floor": lambda x: np.ceil(x - 0.5),
        "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    }  # fmt: skip
    if rounding not in rounded:
        raise node.error(f"nearest_mode {rounding}; expected one of {', '.join(rounded)}")
    return np.asarray(np.clip(rounded[rounding](at), 0, length - 1), dtype=np.int64)


def _space_to_depth(node: Node) -> list[Tensor]:
    n, c, h, w = node.lens(0)
    b = node.integer("blocksize", 1)
    g = node.graph
    split = g.reshape(node.input(0), (n, c, h // b, b, w // b, b))
    order = (0, 3, 5, 1, 2, 4) if node.text("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    return [g.reshape(g.transpose(split, order), (n, c * b * b, h // b, w // b))]


def _depth_to_space(node: Node) -> list[Tensor]:
    n, c, h, w = node.lens(0)
    b = node.integer("blocksize", 1)
    g, x = node.graph, node.input(0)
    if node.text("mode", "DCR") == "DCR":
        split, order = (n, b, b, c // (b * b), h, w), (0, 3, 4, 1, 5, 2)
    else:
        split, order = (n, c // (b * b), b, b, h, w), (0, 1, 4, 2, 5, 3)
    return [g.reshape(g.transpose(g.reshape(x, split), order), (n, c // (b * b), h * b, w * b))]


MOVEMENTS: Final[dict[str, Handler]] = {
    "Reshape": _reshape, "Flatten": _flatten, "Transpose": _transpose, "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze, "Slice": _slice, "Split": _split, "Concat": _concat, "Gather": _gather,
    "Expand": _expand, "Tile": _tile, "Pad": _pad, "Identity": _same, "Dropout": _dropout,
    "Constant": _constant, "ConstantOfShape": _constant_of_shape, "Shape": _shape, "Size": _size,
    "Range": _range, "Trilu": _trilu, "CumSum": _cumsum, "NonZero": _nonzero, "Resize": _resize,
    "Upsample": _resize, "DepthToSpace": _depth_to_space,
    "SpaceToDepth": _space_to_depth, "OneHot": _one_hot,
}  # fmt: skip
