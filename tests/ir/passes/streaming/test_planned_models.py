"""Whole models, lowered and planned at every budget: proven, run, and run in orders that a race would spoil."""

from functools import cache
from itertools import pairwise

import numpy as np
import onnx
import pytest
from onnx_models import bert, gpt, inputs_of, light, mobilenet_v2, resnet50_v2
from passlens.backends.reference import run_reference
from passlens.ir import edit
from passlens.ir.analysis.devices import device
from passlens.ir.analysis.migraphx_summary import main_body
from passlens.ir.analysis.verify_plan import plan_memory, verify_plan
from passlens.ir.errors import InputError
from passlens.ir.formats.migraphx import parse_migraphx
from passlens.ir.formats.migraphx_print import print_migraphx
from passlens.ir.passes.streaming.decisions import Wishes
from passlens.ir.passes.streaming.lower.lower import Lowered, lower
from passlens.ir.passes.streaming.report import PlanReport, plan_report

onnxruntime = pytest.importorskip("onnxruntime")

SHARES = (0, 25, 50, 75, 100)
TINY = {"layers": 2, "width": 64, "heads": 4, "words": 128, "longest": 64}
MODELS = {
    "resnet50": (lambda: resnet50_v2(size=32, width=8, classes=10), {}),
    "mobilenet_v2": (lambda: mobilenet_v2(size=32, width=0.5, classes=10), {}),
    "bert": (lambda: bert(**TINY), {"batch": 2, "sequence": 17}),
    "gpt": (lambda: gpt(layers=2, width=64, heads=4, words=256, length=16), {}),
}
LARGE = {
    "resnet50": (lambda: light("resnet50"), {}),
    "mobilenet_v2": (mobilenet_v2, {}),
    "bert": (bert, {"batch": 1, "sequence": 128}),
    "gpt": (gpt, {}),
    "densenet121": (lambda: light("densenet121"), {}),
    "vgg19": (lambda: light("vgg19"), {}),
}


class Case:
    """A model, what it makes of some inputs, and its program."""

    def __init__(self, model: onnx.ModelProto, dims: dict[str, int]) -> None:
        self.inputs = inputs_of(model, dims)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        self.wanted = session.run(None, self.inputs)
        self.lowered: Lowered = lower(model, dims, streamed=True)
        self.text = print_migraphx(self.lowered.program)
        self.total = sum(array.nbytes for array in self.lowered.literals.values())

    def program(self):
        return parse_migraphx(self.text)

    def run(self, program, **options: object) -> list[np.ndarray]:
        given = {self.lowered.inputs[name]: array for name, array in self.inputs.items()}
        return run_reference(program, self.lowered.literals, given, **options)

    def plan(self, share: int, **options: object) -> PlanReport:
        wishes = Wishes(self.total * share // 100, None, True)
        return plan_report(self.program, device("h200"), wishes, curve=False, **options)


@cache
def case(name: str) -> Case:
    make, dims = MODELS[name]
    return Case(make(), dims)


def same(mine: list[np.ndarray], theirs: list[np.ndarray]) -> bool:
    return len(mine) == len(theirs) and all(np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True))


def check(made: Case, orders: int) -> None:
    first = made.run(made.program())
    for mine, theirs in zip(first, made.wanted, strict=True):
        assert np.abs(mine.reshape(theirs.shape) - theirs).max() <= 1e-4 * np.abs(theirs).max()
    assert same(made.run(made.plan(50, naive=True).program), first)
    reports = [made.plan(share) for share in SHARES]
    for share, report in zip(SHARES, reports, strict=True):
        assert not report.violations
        again = parse_migraphx(print_migraphx(report.program))
        assert not verify_plan(again, made.program(), budget=made.total * share // 100)
        assert plan_memory(main_body(again))["resident"] <= made.total * share // 100
        assert same(made.run(again), first)
        for seed in range(orders if share in (0, 50) else 0):
            assert same(made.run(again, order=seed, runs=3), first)
        assert report.after.arena <= 1.1 * report.plan.live_bound
    for less, more in pairwise(reports):
        assert more.period_us <= less.period_us * (1 + 1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_every_plan_of_a_model_is_proven_and_computes_the_same(name: str) -> None:
    check(case(name), 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_every_plan_of_a_large_model_is_proven_and_computes_the_same(name: str) -> None:
    make, dims = LARGE[name]
    check(Case(make(), dims), 1)


def spoiled(made: Case, report: PlanReport, orders: int) -> bool:
    """Whether some order of a plan gives another result, or none."""
    first = made.run(made.program())
    try:
        return any(not same(made.run(report.program, order=seed, runs=3), first) for seed in range(orders))
    except InputError:
        return True


def test_a_race_shows_as_a_wrong_result() -> None:
    """Without the waits of its kernels, a plan that the verifier rejects computes something else."""
    made = case("gpt")
    report = made.plan(0)
    body = main_body(report.program)
    stream = "0"
    for op in body:
        if op.name == "gpu::set_stream":
            stream = op.attributes["stream"]
        elif op.name == "gpu::wait_event" and stream == "0":
            edit.erase(op)
    assert verify_plan(report.program, made.program())
    assert spoiled(made, report, 8)


def test_buffers_that_overlap_show_as_a_wrong_result() -> None:
    made = case("gpt")
    report = made.plan(100)
    loads = [op for op in main_body(report.program) if op.name == "load"]
    for op in loads:
        size = int(op.attributes["end"]) - int(op.attributes["offset"])
        edit.set_attribute(op, "offset", "0")
        edit.set_attribute(op, "end", str(size))
    assert verify_plan(report.program, made.program())
    assert not same(made.run(report.program), made.run(made.program()))
