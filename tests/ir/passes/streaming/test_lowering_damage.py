"""Damaged models: lowered, or refused with a message; never a traceback."""

import random

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import Builder, bert, efficientnet, gpt, light
from passlens.ir.errors import InputError
from passlens.ir.formats.migraphx import parse_migraphx
from passlens.ir.formats.migraphx_print import print_migraphx
from passlens.ir.passes.streaming.lower.importer import HANDLERS
from passlens.ir.passes.streaming.lower.lower import lower

MAKE = {
    "squeezenet": lambda: light("squeezenet"),
    "efficientnet": lambda: efficientnet(size=32, classes=10),
    "bert": lambda: bert(layers=1, width=16, heads=2, words=16, longest=8),
    "gpt": lambda: gpt(layers=1, width=16, heads=2, words=16, length=8),
}


def damage(model: onnx.ModelProto, r: random.Random) -> None:
    """One change that may make no sense."""
    nodes = model.graph.node
    node = r.choice(nodes)
    names = [each for other in nodes for each in (*other.input, *other.output)]
    kind = r.randrange(8)
    if kind == 0 and node.input:
        node.input[r.randrange(len(node.input))] = r.choice(names)
    elif kind == 1 and node.attribute:
        del node.attribute[r.randrange(len(node.attribute))]
    elif kind == 2:
        node.op_type = r.choice(sorted(HANDLERS))
    elif kind == 3 and node.input:
        del node.input[-1]
    elif kind == 4 and node.attribute:
        attribute = r.choice(node.attribute)
        if attribute.ints:
            attribute.ints[r.randrange(len(attribute.ints))] = r.choice((-7, 0, 1, 3, 1 << 24))
        else:
            attribute.i = r.choice((-9, 0, 2, 5, 1 << 60))
    elif kind == 5:
        tensor = r.choice(model.graph.initializer)
        if tensor.dims:
            tensor.dims[r.randrange(len(tensor.dims))] += r.choice((-1, 1, 1 << 33))
    elif kind == 6:
        value = r.choice(model.graph.input)
        dims = value.type.tensor_type.shape.dim
        if dims:
            r.choice(dims).dim_value = r.choice((0, 1, 5, 1 << 45))
    elif kind == 7 and node.input:
        node.input.append(r.choice(names))


@pytest.mark.parametrize("name", MAKE)
def test_damaged_models(name: str) -> None:
    whole = MAKE[name]().SerializeToString()
    refused = 0
    for seed in range(24):
        r = random.Random(seed)
        model = onnx.ModelProto()
        model.ParseFromString(whole)
        for _ in range(1 + seed % 3):
            damage(model, r)
        try:
            text = print_migraphx(lower(model).program)
        except InputError as error:
            assert len(str(error)) < 1000
            refused += 1
        else:
            assert print_migraphx(parse_migraphx(text)) == text
    assert 0 < refused < 24


@pytest.mark.parametrize("kind", ["ConstantOfShape", "Range", "Tile", "Expand", "Pad", "Resize"])
def test_constants_too_large_for_any_memory_are_refused(kind: str) -> None:
    b = Builder(0)
    huge = b.integers(1 << 30, 1 << 30)
    one = b.weight(np.ones((1, 1), np.float32))
    ints = [b.weight(np.asarray(each, dtype=np.int64)) for each in (0, 1 << 60, 1)]
    inputs = {
        "ConstantOfShape": [huge], "Range": ints, "Tile": [one, huge], "Expand": [one, huge],
        "Pad": [one, b.integers(0, 0, 1 << 30, 1 << 30)], "Resize": [one, "", "", huge],
    }[kind]  # fmt: skip
    made = b.node(kind, *inputs)
    made = b.node("Cast", made, to=TensorProto.FLOAT)
    b.nodes.append(helper.make_node("Add", [made, "x"], ["y"]))
    with pytest.raises(InputError, match=kind):
        lower(b.model({"x": (TensorProto.FLOAT, [1])}, {"y": ["a", "b"]}))
