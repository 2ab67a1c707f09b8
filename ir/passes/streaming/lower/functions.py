"""Calls of functions, with their bodies in their place: the model's own, and those that ONNX defines."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence

import onnx
import onnx.inliner

from ....errors import InputError
from ....formats.onnx import OnnxSource, program_of
from ....formats.onnx_attributes import graphs_of
from ....program import Program, walk
from .importer import HANDLERS


def without_functions(source: Program) -> Program:
    """The model without calls of its own functions, nor of operators that can be lowered only as functions.

    ONNX defines many operators (`Attention`, `RotaryEmbedding`, …) by a body of simpler ones.

    Raises:
        InputError: a function cannot be put in the place of its calls.
    """
    if not isinstance(source.source, OnnxSource):
        return source
    model, path = source.source.model, source.source.path
    # Older versions of onnx put only the model's own functions in place.
    can = "inline_schema_functions" in inspect.signature(onnx.inliner.inline_selected_functions).parameters
    unknown = sorted(set(_defined(source))) if can else []
    if not model.functions and not unknown:
        return source
    try:
        if model.functions:
            model = onnx.inliner.inline_local_functions(model)
        if unknown:
            model = onnx.inliner.inline_selected_functions(
                _with_defaults(model, unknown), [("", name) for name in unknown], inline_schema_functions=True
            )
    except Exception as error:
        # The inliner is native code and raises what it likes: all of it means that the model is no good.
        raise InputError(
            f"{path}: its functions cannot be put in the place of their calls: {error}"
        ) from error
    return program_of(model, path)


def _with_defaults(model: onnx.ModelProto, kinds: Sequence[str]) -> onnx.ModelProto:
    """A copy whose nodes of these kinds say their attributes' defaults, which the inliner leaves out."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    version = max((each.version for each in model.opset_import if each.domain in ("", "ai.onnx")), default=1)
    waiting = [copy.graph]
    while waiting:
        for node in waiting.pop().node:
            waiting.extend(graph for attribute in node.attribute for graph in graphs_of(attribute))
            if node.op_type not in kinds or node.domain not in ("", "ai.onnx"):
                continue
            schema = onnx.defs.get_schema(node.op_type, version)
            said = {attribute.name for attribute in node.attribute}
            for name, attribute in schema.attributes.items():
                if name not in said and attribute.default_value.type:
                    node.attribute.append(attribute.default_value)
    return copy


def _defined(source: Program) -> Iterator[str]:
    """Operators of the model that are not lowered themselves and that ONNX defines by a body."""
    for op in walk(source):
        name = op.name.removeprefix("onnx.")
        if name == op.name or name in HANDLERS or not onnx.defs.has(name):
            continue
        schema = onnx.defs.get_schema(name)
        if schema.has_function or schema.has_context_dependent_function:
            yield name
