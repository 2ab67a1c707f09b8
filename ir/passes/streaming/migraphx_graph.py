"""A MIGraphX module as its passes see it: instructions by number, inputs and users, what each one weighs.

The rules of the passes in `migraphx_*.py` are MIGraphX's own, as far as its tests and dumps show them. What
the modules that an instruction calls read (the branches of an `if`) counts as its input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from ...analysis.hazards import shown
from ...analysis.views import captured, is_kernel
from ...errors import InputError
from ...program import Block, Op, Program, symbol

STREAM_OPS: Final = frozenset({"gpu::set_stream", "gpu::record_event", "gpu::wait_event", "wait_event"})
"""What the scheduler puts between instructions."""
_WORD: Final = (1 << 64) - 1
"""Sums of weights wrap around in 64 bits."""


@dataclass(frozen=True, slots=True)
class ScheduleModel:
    """What the scheduler knows of a device: its streams, and how much work an op is."""

    streams: int
    weights: Mapping[str, int]
    """Op → weight; see `weight` for the rest."""
    other: int
    """Weight of an op that the table does not have and that uses the device."""
    context_free: Callable[[str], bool]
    """Whether an op (by name) needs no device: it weighs nothing, and is given no stream."""
    events: bool = True
    """Whether streams are set and events recorded by instructions, as on a GPU; otherwise waits alone are."""

    def weight(self, op: Op) -> int:
        """The op's own weight: 1 for `@return`, so that it is given a stream, and 0 for other builtins."""
        if op.name == "@return":
            return 1
        if op.name.startswith("@") or self.context_free(op.name):
            return 0
        return self.weights.get(op.name, self.other)


def gpu_model(streams: int = 1) -> ScheduleModel:
    """The GPU's model: convolutions 8, pooling and matrix products 4, allocations 0, kernels and copies 2."""
    weights = {
        "gpu::convolution": 8, "gpu::conv_bias_relu": 8, "gpu::pooling": 4, "gpu::gemm": 4,
        "hip::allocate": 0, "hip::hip_allocate_memory": 0, "hip::load_literal": 0, "hip::hip_load_memory": 0,
    }  # fmt: skip
    return ScheduleModel(streams, weights, 2, _needs_no_gpu)


def fake_model(streams: int = 4) -> ScheduleModel:
    """The model of MIGraphX's own tests: `unary` and `binary` weigh 4, `stream_free` 0, all else 1."""
    weights = {"unary": 4, "binary": 4, "stream_free": 0}
    return ScheduleModel(streams, weights, 1, lambda name: name == "identity", events=False)


def _needs_no_gpu(name: str) -> bool:
    return not name.startswith(("gpu::", "hip::", "check_context"))


class Graph:
    """One module: `ops` in program order; everything else is by the position of an op in it."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.ops: list[Op] = list(block.ops)
        self.place = {op: at for at, op in enumerate(self.ops)}
        self.inputs: list[list[int]] = []
        """With repetitions, in the order of the operands; a value of another module is none."""
        self.users: list[list[int]] = [[] for _ in self.ops]
        for at, op in enumerate(self.ops):
            values = [*op.operands, *captured(op)]
            mine = [self.place[value.op] for value in values if value.op in self.place]
            late = next((each for each in mine if each >= at), None)
            if late is not None:
                raise InputError(
                    f"{shown(op)} ({op.name}) uses {shown(self.ops[late])}, which stands behind it: expected "
                    "a program whose instructions stand behind what they use; check that it is complete"
                )
            self.inputs.append(mine)
            for each in dict.fromkeys(mine):
                self.users[each].append(at)

    def name(self, at: int) -> str:
        """An instruction for sentences: `@16 gpu::gemm`."""
        op = self.ops[at]
        return f"{shown(op)} {op.name}" if op.results else op.name


@dataclass(slots=True)
class Weights:
    """Own and accumulated weights of what the last instruction needs, by position."""

    own: dict[int, int] = field(default_factory=dict)
    total: dict[int, int] = field(default_factory=dict)


def weigh(graph: Graph, model: ScheduleModel) -> Weights:
    """Weigh everything that the module's last instruction needs, inputs before users."""
    weights = Weights()
    last = len(graph.ops) - 1
    needed = {last}
    for at in range(last, -1, -1):
        if at in needed:
            needed.update(graph.inputs[at])
    for at in sorted(needed):
        own = model.weight(graph.ops[at])
        weights.own[at] = own
        weights.total[at] = (own + sum(weights.total[each] for each in graph.inputs[at])) & _WORD
    return weights


def modules_to_run(program: Program) -> list[Op]:
    """The modules of a program that run as programs, the last first; bodies of fused kernels are none."""
    modules = [op for op in program.ops if op.name == "module" and op.regions and op.regions[0].blocks]
    bodies: set[str] = set()
    for module in modules:
        for op in module.regions[0].blocks[0].ops:
            if "modules" in op.attributes and is_kernel(op):
                bodies.update(name.strip() for name in op.attributes["modules"].split(","))
    return [module for module in reversed(modules) if symbol(module) not in bodies]


def block_of(module: Op) -> Block:
    """The block that holds a module's instructions."""
    return module.regions[0].blocks[0]
