"""Every operator that can be lowered, on the test cases that ONNX itself has for it."""

import warnings
from collections import Counter

import numpy as np
import onnx
from onnx import numpy_helper
from passlens.backends.reference import run_reference
from passlens.ir.errors import InputError
from passlens.ir.passes.streaming.lower.importer import HANDLERS
from passlens.ir.passes.streaming.lower.lower import Lowered, lower

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from onnx.backend.test.case.node import collect_testcases

FEWEST = 1050
"""Test cases that must be computed right; more with newer versions of ONNX."""


def lowered(model: onnx.ModelProto, inputs: list[np.ndarray]) -> Lowered:
    """With its second and later inputs as constants where it cannot be lowered otherwise."""
    try:
        return lower(model)
    except InputError:
        fixed = onnx.ModelProto()
        fixed.CopyFrom(model)
        for value, array in list(zip(model.graph.input, inputs, strict=False))[1:]:
            fixed.graph.initializer.append(numpy_helper.from_array(array, value.name))
        return lower(fixed)


def fault(
    model: onnx.ModelProto, inputs: list[np.ndarray], outputs: list[np.ndarray], tolerance: float
) -> str:
    """What is wrong, or ''."""
    made = lowered(model, inputs)
    names = [value.name for value in model.graph.input]
    given = {
        made.inputs[name]: array for name, array in zip(names, inputs, strict=False) if name in made.inputs
    }
    for mine, theirs in zip(run_reference(made.program, made.literals, given), outputs, strict=True):
        if mine.size != theirs.size or mine.dtype != theirs.dtype:
            return f"{mine.dtype}{mine.shape}, expected {theirs.dtype}{theirs.shape}"
        short = theirs.dtype.itemsize < 4 and theirs.dtype.kind not in "iub"
        relative = 2e-2 if short else tolerance
        wide = [each.reshape(theirs.shape).astype(np.float64) for each in (mine, theirs)]
        if not np.allclose(*wide, rtol=relative, atol=relative / 10, equal_nan=True):
            return f"{mine.reshape(-1)[:4]}, expected {theirs.reshape(-1)[:4]}"
    return ""


def test_the_cases_of_onnx() -> None:
    right: Counter[str] = Counter()
    wrong: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    for case in cases:
        if "castlike" in case.name and case.name.endswith("_expanded"):
            continue  # some 150 casts, which have cases of their own
        kinds = {node.op_type for node in case.model.graph.node}
        for inputs, outputs in case.data_sets:
            if not all(isinstance(each, np.ndarray | np.generic) for each in (*inputs, *outputs)):
                continue
            inputs, outputs = ([np.asarray(each) for each in part] for part in (inputs, outputs))
            try:
                said = fault(case.model, list(inputs), list(outputs), max(case.rtol, 1e-4))
            except InputError:
                continue
            if said:
                wrong.append(f"{case.name}: {said}")
            else:
                right.update(kinds)
                right["cases"] += 1
    assert not wrong, "\n".join(wrong)
    assert right["cases"] >= FEWEST
    # What ONNX has no case for, or only such as are refused.
    missing = {kind for kind in HANDLERS if not right[kind]}
    assert missing <= {"Range", "NonZero", "ConstantOfShape"}, missing
