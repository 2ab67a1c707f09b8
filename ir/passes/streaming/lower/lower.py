"""Lowering as a pass: an ONNX model becomes a fused GPU program, and every decision on the way is a step.

Phases: `import` (operators), `fold` (constants into weights), `fuse` (kernels), `outputs`, `buffers`,
`weights`, `arena`, `names`. Facts: `output` (parameter → result), `residency` (literal → resident).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import onnx

from .... import edit
from ....errors import Diagnostic
from ....evaluate.attributes import standard
from ....formats.migraphx import MigraphxSource
from ....formats.onnx import program_of, read_onnx
from ....program import Block, Program, Region
from ...step import PASS, PHASE, Recorder, Step
from .buffers import allocate, give_outputs, keep_literals, lay_out, number, place_literals
from .fold import fold
from .functions import without_functions
from .fuse import fuse
from .graph import Array, Graph
from .importer import Importer

PHASES: Final = ("import", "fold", "fuse", "outputs", "buffers", "weights", "arena", "names")


@dataclass(slots=True)
class Lowered:
    """A model as a GPU program. `literals` holds the weights by the names of their results."""

    program: Program
    literals: dict[str, Array]
    inputs: dict[str, str]
    """Name in the model → name of the parameter."""
    outputs: list[str]
    """Names in the model, in the order in which the program returns them."""


@dataclass(slots=True)
class LoweringPass:
    """Fills an empty program (`empty_program`) with what a model is lowered to."""

    source: Program
    """The ONNX program; it is not changed."""
    dims: Mapping[str, int] = field(default_factory=dict)
    """Sizes of open dimensions by name; those that are not here are 1."""
    streamed: bool = False
    """Copy each weight in front of its first reader, instead of keeping it resident."""
    through: str = "names"
    """The last phase to run."""
    literals: dict[str, Array] = field(default_factory=dict)
    inputs: dict[str, str] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """As users type it."""
        return "lower"

    def steps(self, program: Program) -> Iterator[Step]:
        """Run on an empty program.

        Raises:
            InputError: the model holds what cannot be lowered; the message names the operator.
        """
        recorder = Recorder()
        recorder.phase = "import"
        block = _main(program)
        graph = Graph(block)
        importer = Importer(without_functions(self.source), graph, self.dims)
        yield recorder.step("pass", f"lower {importer.path}", depth=PASS)
        phases: list[tuple[str, str, Callable[[], Iterator[Step]]]] = [
            ("import", "nodes become operators", lambda: _imported(importer, graph, recorder)),
            ("fold", "constants go into the weights", lambda: fold(graph, recorder)),
            ("fuse", "operators become kernels", lambda: fuse(program, block, recorder)),
            ("outputs", "results are written into outputs", lambda: give_outputs(program, graph, recorder)),
            ("buffers", "each kernel gets a buffer", lambda: allocate(block, recorder)),
            ("weights", "weights come where they are read", lambda: self._weights(block, recorder)),
            ("arena", "buffers are cut out of an arena", lambda: lay_out(block, recorder)),
            ("names", "results are numbered", lambda: _named(graph, recorder)),
        ]  # fmt: skip
        for phase, what, run in phases:
            recorder.phase = phase
            yield recorder.step("phase", what, depth=PHASE)
            yield from run()
            if phase == self.through:
                break
        for name, size in importer.fixed.items():
            if name not in self.dims:
                what = f"the open dimension {name} was taken for {size}; set another size by name"
                program.diagnostics.append(Diagnostic("open-dimension", what))
        self.literals = dict(graph.data)
        self.inputs = dict(importer.inputs)
        self.outputs = [name for name, _ in importer.outputs]
        yield recorder.step("end", f"{importer.path} is lowered", depth=PASS)

    def _weights(self, block: Block, recorder: Recorder) -> Iterator[Step]:
        return place_literals(block, recorder, streamed=self.streamed)


def empty_program() -> Program:
    """A MIGraphX program without modules."""
    body = Region(None, 0, 0)
    body.blocks.append(Block(body, "", 0, 0))
    return Program("migraphx", MigraphxSource(""), body)


def lower(
    model: Program | onnx.ModelProto | str | os.PathLike[str],
    dims: Mapping[str, int] | None = None,
    *,
    streamed: bool = False,
    through: str = "names",
) -> Lowered:
    """Lower a model: an ONNX program, a model in memory, or the path of one.

    Args:
        model: what to lower.
        dims: sizes of open dimensions by name; others become 1, with a diagnostic on the program.
        streamed: copy each weight in front of its first reader; else all are resident.
        through: the last phase to run, one of `PHASES`.

    Raises:
        InputError: it is no model, or holds an operator that cannot be lowered.
    """
    if isinstance(model, str | os.PathLike):
        model = read_onnx(os.fspath(model))
    elif isinstance(model, onnx.ModelProto):
        model = program_of(model)
    pass_ = LoweringPass(model, dims or {}, streamed, through)
    program = empty_program()
    for _ in pass_.steps(program):
        pass
    return Lowered(program, pass_.literals, pass_.inputs, pass_.outputs)


def _main(program: Program) -> Block:
    block = Block()
    region = Region()
    region.blocks.append(block)
    block.parent = region
    edit.create("module", [], [], {"sym_name": '"main"'}, block=program.body.blocks[0], regions=[region])
    edit.create(
        "check_context::migraphx::gpu::context", [], [standard("f32", ())], block=block, names=["context"]
    )
    return block


def _imported(importer: Importer, graph: Graph, recorder: Recorder) -> Iterator[Step]:
    yield from importer.steps(recorder)
    values = [graph.value(tensor) for _, tensor in importer.outputs]
    edit.create("@return", values, block=graph.block)


def _named(graph: Graph, recorder: Recorder) -> Iterator[Step]:
    yield from number(graph, recorder)
    yield from keep_literals(graph.block, recorder)
