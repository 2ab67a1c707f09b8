"""Random models: whatever is fused, folded or laid out, they compute what ONNX's own evaluator computes.

Of version 15, since the evaluator takes batch norms before version 14 for training ones.
"""

import random

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from onnx_models import Builder, inputs_of
from passlens.backends.reference import run_reference
from passlens.ir.analysis.devices import device
from passlens.ir.analysis.verify_plan import verify_plan
from passlens.ir.formats.migraphx import parse_migraphx
from passlens.ir.formats.migraphx_print import print_migraphx
from passlens.ir.passes.streaming.decisions import Wishes
from passlens.ir.passes.streaming.lower.lower import lower
from passlens.ir.passes.streaming.report import plan_report

UNARY = ("Relu", "Sigmoid", "Tanh", "Neg", "Abs", "Softplus")
BINARY = ("Add", "Sub", "Mul", "Max", "Min")
LENS = [(1, 4, 6, 6), (1, 4, 1, 1), (1, 4, 6, 1), (1, 1, 6, 6)]


class Random:
    """A graph that grows at random; `pool` holds what there is, with its lens."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.b = Builder(seed)
        self.pool: list[tuple[str, tuple[int, ...]]] = [("x", LENS[0]), ("y", LENS[0])]

    def grow(self, count: int) -> None:
        moves = [
            self.unary, self.unary, self.binary, self.binary, self.binary, self.constant, self.conv, self.reduce,
            self.reshape, self.transpose, self.product, self.concat, self.slice, self.softmax, self.pool_, self.norm,
            self.gather, self.padded,
        ]  # fmt: skip
        for _ in range(count):
            self.r.choice(moves)()

    def pick(self, rank: int | None = None) -> tuple[str, tuple[int, ...]]:
        fits = [each for each in self.pool[-8:] if rank is None or len(each[1]) == rank]
        return self.r.choice(fits or self.pool[:2])

    def put(self, name: str, lens: tuple[int, ...]) -> None:
        self.pool.append((name, tuple(lens)))

    def unary(self) -> None:
        name, lens = self.pick()
        self.put(self.b.node(self.r.choice(UNARY), name), lens)

    def binary(self) -> None:
        name, lens = self.pick()
        others = [each for each in self.pool if _broadcasts(each[1], lens)]
        other, second = self.r.choice(others)
        pair = [name, other] if self.r.random() < 0.5 else [other, name]
        self.put(self.b.node(self.r.choice(BINARY), *pair), np.broadcast_shapes(lens, second))

    def constant(self) -> None:
        name, lens = self.pick()
        shape = [length if self.r.random() < 0.5 else 1 for length in lens[self.r.randrange(len(lens) + 1) :]]
        weight = self.b.normal(*shape, scale=1.0)
        self.put(self.b.node(self.r.choice(("Add", "Mul", "Sub")), name, weight), lens)

    def conv(self) -> None:
        name, lens = self.pick(4)
        kernel = self.r.choice((1, 3))
        if self.r.random() < 0.2:
            group, outside = lens[1], lens[1]
        else:
            group, outside = 1, self.r.choice((2, 4, lens[1]))
        made = self.b.conv(name, lens[1], outside, kernel, 1, group)
        if self.r.random() < 0.6:
            made = self.b.batch_norm(made, outside)
        if self.r.random() < 0.6:
            made = self.b.node("Relu", made)
        self.put(made, (lens[0], outside, *lens[2:]))

    def reduce(self) -> None:
        name, lens = self.pick()
        axes = sorted(self.r.sample(range(len(lens)), self.r.randint(1, min(2, len(lens)))))
        keep = self.r.random() < 0.8 or len(axes) == len(lens)
        kind = self.r.choice(("ReduceMean", "ReduceMax", "ReduceMin"))
        made = self.b.node(kind, name, axes=axes, keepdims=int(keep))
        self.put(made, tuple(1 if i in axes else n for i, n in enumerate(lens) if keep or i not in axes))

    def norm(self) -> None:
        """What is less its mean, as in a norm: the reduction and its reader share a kernel."""
        name, lens = self.pick()
        axis = len(lens) - 1
        centred = self.b.node("Sub", name, self.b.node("ReduceMean", name, axes=[axis]))
        square = self.b.node("ReduceMean", self.b.node("Mul", centred, centred), axes=[axis])
        self.put(
            self.b.node("Div", centred, self.b.node("Sqrt", self.b.node("Add", square, self.b.scalar(0.1)))),
            lens,
        )
        if self.r.random() < 0.3:
            self.put(centred, lens)

    def reshape(self) -> None:
        name, lens = self.pick()
        total = int(np.prod(lens))
        split = (*lens[:1], -1, lens[-1]) if len(lens) > 1 else (-1,)
        wanted = self.r.choice([(1, -1), (total,), split, (1, *lens), (1, 1, -1, 1)])
        made = tuple(total // abs(int(np.prod(wanted))) if n == -1 else n for n in wanted)
        self.put(self.b.node("Reshape", name, self.b.integers(*wanted)), made)

    def transpose(self) -> None:
        name, lens = self.pick()
        order = self.r.sample(range(len(lens)), len(lens))
        self.put(self.b.node("Transpose", name, perm=order), tuple(lens[i] for i in order))

    def product(self) -> None:
        name, lens = self.pick()
        if len(lens) < 2:
            return
        if self.r.random() < 0.5:
            turned = self.b.node(
                "Transpose", name, perm=[*range(len(lens) - 2), len(lens) - 1, len(lens) - 2]
            )
            made, wide = self.b.node("MatMul", name, turned), lens[-2]
        else:
            wide = self.r.choice((3, lens[-1]))
            made = self.b.node("MatMul", name, self.b.normal(lens[-1], wide, scale=lens[-1] ** -0.5))
        self.put(self.b.node("Tanh", made), (*lens[:-1], wide))

    def concat(self) -> None:
        name, lens = self.pick()
        axis = self.r.randrange(len(lens))
        same = [each for each, other in self.pool if other == lens]
        parts = [name, *(self.r.choice(same) for _ in range(self.r.randint(1, 2)))]
        if lens[axis] * len(parts) <= 24:
            made = (*lens[:axis], lens[axis] * len(parts), *lens[axis + 1 :])
            self.put(self.b.node("Concat", *parts, axis=axis), made)

    def slice(self) -> None:
        name, lens = self.pick()
        axis = self.r.randrange(len(lens))
        start, step = self.r.randrange(lens[axis]), self.r.choice((1, 1, 2))
        places = len(range(start, lens[axis], step))
        given = (self.b.integers(each) for each in (start, lens[axis], axis, step))
        self.put(self.b.node("Slice", name, *given), (*lens[:axis], places, *lens[axis + 1 :]))

    def softmax(self) -> None:
        name, lens = self.pick()
        self.put(self.b.node("Softmax", name, axis=self.r.randrange(len(lens))), lens)

    def pool_(self) -> None:
        name, lens = self.pick(4)
        kind = self.r.choice(("MaxPool", "AveragePool"))
        self.put(self.b.node(kind, name, kernel_shape=[3, 3], pads=[1] * 4), lens)

    def gather(self) -> None:
        name, lens = self.pick()
        axis = self.r.randrange(len(lens))
        at = [self.r.randrange(-lens[axis], lens[axis]) for _ in range(self.r.randint(1, 4))]
        made = (*lens[:axis], len(at), *lens[axis + 1 :])
        self.put(self.b.node("Gather", name, self.b.integers(*at), axis=axis), made)

    def padded(self) -> None:
        name, lens = self.pick()
        if max(lens) > 12:
            return
        pads = [self.r.randint(0, 1) for _ in range(2 * len(lens))]
        made = tuple(n + pads[i] + pads[i + len(lens)] for i, n in enumerate(lens))
        self.put(self.b.node("Pad", name, self.b.integers(*pads)), made)

    def model(self) -> onnx.ModelProto:
        used = {name for node in self.b.nodes for name in node.input}
        ends = [each for each in self.pool if each[0] not in used]
        outputs = {}
        for index, (name, lens) in enumerate([*ends, self.r.choice(self.pool)]):
            self.b.nodes.append(helper.make_node("Identity", [name], [f"out{index}"]))
            outputs[f"out{index}"] = list(lens)
        each = (TensorProto.FLOAT, list(LENS[0]))
        return self.b.model({"x": each, "y": each}, outputs, opset=15)


def _broadcasts(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    try:
        return int(np.prod(np.broadcast_shapes(first, second))) <= 2000
    except ValueError:
        return False


@pytest.mark.parametrize("seed", range(60))
def test_random_models(seed: int) -> None:
    made = Random(seed)
    made.grow(6 + seed % 25)
    model = made.model()
    onnx.checker.check_model(model)
    inputs = inputs_of(model)
    wanted = ReferenceEvaluator(model).run(None, inputs)
    lowered = lower(model, streamed=seed % 2 == 1)
    text = print_migraphx(lowered.program)
    program = parse_migraphx(text)
    assert not program.diagnostics
    assert print_migraphx(program) == text
    assert not verify_plan(program, program, steady=False)
    given = {lowered.inputs[name]: array for name, array in inputs.items() if name in lowered.inputs}
    results = run_reference(program, lowered.literals, given)
    for mine, theirs in zip(results, wanted, strict=True):
        largest = max(float(np.abs(theirs).max(initial=0.0)), 1e-3)
        assert np.abs(mine.reshape(theirs.shape) - theirs).max(initial=0.0) <= 1e-4 * largest


@pytest.mark.parametrize("seed", range(30))
def test_plans_of_random_models(seed: int) -> None:
    """Whatever budget and device: proven, and in any order that its events allow the same results."""
    made = Random(seed)
    made.grow(5 + seed % 35)
    model = made.model()
    lowered = lower(model, streamed=True)
    text = print_migraphx(lowered.program)
    given = {lowered.inputs[n]: array for n, array in inputs_of(model).items() if n in lowered.inputs}
    wanted = run_reference(lowered.program, lowered.literals, given)
    total = sum(array.nbytes for array in lowered.literals.values())
    wishes = Wishes(total * (seed % 5) // 4, None, seed % 3 > 0)
    target = device(("h200", "mi300x", "laptop")[seed % 3])
    report = plan_report(lambda: parse_migraphx(text), target, wishes, naive=seed % 7 == 0, curve=False)
    assert not report.violations
    for order in (None, 1, 2, 3):
        runs = 3 if wishes.steady and order else 1
        results = run_reference(report.program, lowered.literals, given, order=order, runs=runs)
        assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(results, wanted, strict=True))
