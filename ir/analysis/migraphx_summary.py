"""The numbers of a MIGraphX program: memory, literals, copies and how far ahead of their use they are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from ..program import Op, Program, Value, symbol
from ..types import byte_size
from .memory import ArenaUse, arena_use
from .views import Roots, aliased_operand, buffer_of, is_copy_to_gpu, is_kernel, is_view, written_operand


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy to the GPU: its name, bytes, and the kernels launched between it and its first use.

    `distance` is None for a copy that nothing uses; `use` names the first user.
    """

    name: str
    bytes: int
    distance: int | None
    use: str
    stream: int


@dataclass(slots=True)
class MigraphxSummary:
    """Counts over the main module; sizes in bytes by the strided rule."""

    instructions: int = 0
    modules: int = 0
    by_op: Counter[str] = field(default_factory=Counter)
    literals: int = 0
    """Weights that the program carries, on the host or on the GPU, and their bytes."""
    literal_bytes: int = 0
    resident: int = 0
    """Literals that are on the GPU before the run (`hip::hip_copy_literal`)."""
    resident_bytes: int = 0
    copies: list[Copy] = field(default_factory=list)
    arena: ArenaUse = field(default_factory=lambda: ArenaUse(0, [], [], []))
    parameters: dict[str, int] = field(default_factory=dict)
    """Inputs and outputs by name → bytes."""
    outputs: dict[str, int] = field(default_factory=dict)
    """Those of the parameters that the program writes its results into."""
    code_objects: int = 0
    kernels: int = 0
    streams: set[int] = field(default_factory=set)
    recorded: set[str] = field(default_factory=set)
    waited: set[str] = field(default_factory=set)
    milliseconds: float | None = None
    """The sum of the instruction times of a perf listing, if it is one."""


def summarize(program: Program) -> MigraphxSummary:
    """Count what a MIGraphX program holds; `instructions` and `ops` are over all modules."""
    summary = MigraphxSummary(modules=len([op for op in program.ops if op.name == "module"]))
    main = main_body(program)
    written = _returned(main)
    for op in (op for module in program.ops for op in _body(module)):
        summary.instructions += 1
        summary.by_op[op.name] += 1
        _count(summary, op)
    for op in main:
        if op.name == "@param":
            _parameter(summary, op, written)
    summary.arena = arena_use(main)
    summary.copies = copies_of(main)
    times = [float(op.attributes["perf.ms"]) for op in main if "perf.ms" in op.attributes]
    summary.milliseconds = sum(times) if times else None
    return summary


def main_body(program: Program) -> list[Op]:
    """The instructions of the module named main, or of the first one."""
    modules = [op for op in program.ops if op.name == "module"]
    main = next((op for op in modules if symbol(op) == "main"), modules[0] if modules else None)
    return _body(main) if main is not None else []


def _body(module: Op) -> list[Op]:
    return [op for region in module.regions for op in region.blocks[0].ops if op.name]


def _count(summary: MigraphxSummary, op: Op) -> None:
    size = byte_size(op.results[0].type) or 0 if op.results else 0
    if op.name == "@literal":
        summary.literals += 1
        summary.literal_bytes += size
    elif is_resident(op):
        summary.literals += 1
        summary.literal_bytes += size
        summary.resident += 1
        summary.resident_bytes += size
    elif op.name == "gpu::set_stream":
        summary.streams.add(_integer(op.attributes.get("stream", "")))
    elif op.name == "gpu::record_event":
        summary.recorded.add(op.attributes.get("event", "?"))
    elif op.name == "gpu::wait_event":
        summary.waited.add(op.attributes.get("event", "?"))
    if "schedule.stream" in op.attributes:
        summary.streams.add(_integer(op.attributes["schedule.stream"]))
    summary.code_objects += op.name == "gpu::code_object"
    summary.kernels += is_kernel(op)


def is_resident(op: Op) -> bool:
    """Whether the op is a literal that is on the GPU before the run."""
    if op.operands:
        return False
    loaded = op.name == "hip::hip_load_memory" and "@literal" in op.attributes.get("id", "")
    return loaded or op.name in ("hip::hip_copy_literal", "hip::load_literal")


def _returned(main: list[Op]) -> set[int]:
    """Identities of the buffers that a module returns."""
    roots: Roots = {}
    return {id(buffer_of(value, roots)) for op in main if op.name == "@return" for value in op.operands}


def _parameter(summary: MigraphxSummary, op: Op, returned: set[int]) -> None:
    """An input, or an output: called so, or a buffer that is written and returned."""
    value = op.results[0] if op.results else None
    if value is None or value.name.endswith("scratch"):
        return
    size = byte_size(value.type) or 0
    summary.parameters[value.name] = size
    written = any(written_operand(user) == index for user, index in value.uses)
    if "#output" in value.name or (written and id(value) in returned):
        summary.outputs[value.name] = size


def _integer(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def copies_of(instructions: list[Op]) -> list[Copy]:
    """The copies to the GPU with the number of kernels between each and the first use of what it copied."""
    position = {id(op): index for index, op in enumerate(instructions)}
    launched = 0
    before: list[int] = []
    for op in instructions:
        before.append(launched)
        launched += is_kernel(op)
    stream = 0
    found = []
    for index, op in enumerate(instructions):
        if op.name == "gpu::set_stream":
            stream = _integer(op.attributes.get("stream", ""))
        if not is_copy_to_gpu(op) or not op.results:
            continue
        user = first_user(op.results[0], position)
        size = byte_size(op.results[0].type) or 0
        distance = None if user is None else before[position[id(user)]] - before[index]
        name = user.results[0].name if user is not None and user.results else user.name if user else ""
        found.append(Copy(op.results[0].name, size, distance, name, stream))
    return found


def first_user(value: Value, position: dict[int, int]) -> Op | None:
    """The first instruction that reads a value's bytes, followed through views; None if nothing does."""
    best: Op | None = None
    work = [value]
    seen = {id(value)}
    while work:
        current = work.pop()
        for op, index in current.uses:
            if id(op) not in position:
                continue
            if is_view(op) and aliased_operand(op) == index and op.results:
                if id(op.results[0]) not in seen:
                    seen.add(id(op.results[0]))
                    work.append(op.results[0])
            elif best is None or position[id(op)] < position[id(best)]:
                best = op
    return best


def to_json(summary: MigraphxSummary) -> dict[str, Any]:
    """The summary as `passlens info --json` gives it; the schema is docs/info-schema.json."""
    distances = Counter("unused" if c.distance is None else str(c.distance) for c in summary.copies)
    ordered = sorted(distances.items(), key=lambda item: (item[0] == "unused", len(item[0]), item[0]))
    use = summary.arena
    return {
        "instructions": summary.instructions,
        "modules": summary.modules,
        "ops": dict(summary.by_op.most_common()),
        "literals": {
            "count": summary.literals,
            "bytes": summary.literal_bytes,
            "resident": {"count": summary.resident, "bytes": summary.resident_bytes},
        },
        "copies": {
            "count": len(summary.copies),
            "bytes": sum(copy.bytes for copy in summary.copies),
            "distance": dict(ordered),
            "list": [
                {
                    "name": c.name,
                    "bytes": c.bytes,
                    "distance": c.distance,
                    "first_use": c.use,
                    "stream": c.stream,
                }
                for c in summary.copies
            ],
        },
        "arena": {
            "bytes": use.bytes,
            "buffers": len(use.buffers),
            "peak_live": use.peak_live,
            "peak_live_without_streamed": use.peak_live_without_streamed,
        },
        "parameters": {
            "count": len(summary.parameters),
            "bytes": sum(summary.parameters.values()),
            "outputs": {"count": len(summary.outputs), "bytes": sum(summary.outputs.values())},
        },
        "code_objects": summary.code_objects,
        "kernels_launched": summary.kernels,
        "streams": max(len(summary.streams | {0}), 1),
        "events": {"recorded": len(summary.recorded), "waited": len(summary.waited)},
        "milliseconds": summary.milliseconds,
    }
