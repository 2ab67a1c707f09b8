"""Run a GPU program on the CPU with NumPy, streams, events and arena included.

Memory is bytes: buffers are views of their arena, a copy writes where its buffer lies, a kernel reads what is
there when it runs. So a program whose buffers overlap at the wrong time gives wrong results here too, and
with an order that the program's events allow but that it was not meant for, so does one with a race.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ..ir.analysis.migraphx_summary import main_body
from ..ir.analysis.views import is_copy_to_gpu, is_kernel
from ..ir.errors import InputError
from ..ir.evaluate.attributes import dtype_of, integer
from ..ir.evaluate.run import KNOWN, evaluate, literal_value, run_module
from ..ir.evaluate.structure import VIEWS
from ..ir.program import Op, Program, Value, symbol
from ..ir.types import ShapeType, byte_size

Array: TypeAlias = npt.NDArray[Any]

_BATCH_ALIGNMENT: Final = 256
_ARENAS: Final = frozenset({"hip::hip_allocate_memory", "hip::allocate", "allocate"})
_IGNORED: Final = frozenset({"gpu::sync_device", "hip::sync_device", "hip::set_stream"})


@dataclass(slots=True)
class _Machine:
    """What the device and the host hold."""

    literals: Mapping[str, Array]
    inputs: Mapping[str, Array]
    modules: dict[str, Op]
    values: dict[Value, Array] = field(default_factory=dict)
    resident: dict[str, Array] = field(default_factory=dict)


def run_reference(
    program: Program,
    literals: Mapping[str, Array],
    inputs: Mapping[str, Array],
    *,
    order: int | None = None,
    runs: int = 1,
) -> list[Array]:
    """What the program's main module returns in its last run.

    Args:
        program: a MIGraphX program whose kernels have their modules (as lowering makes them).
        literals: data of literals by the names of their results; those whose text is whole may be left out.
        inputs: data of parameters by name.
        order: None for the program's order; a seed for an order drawn at random among all that the streams
            and events allow, with the runs overlapping where they may.
        runs: how often to run, the host never waiting in between.

    Raises:
        InputError: a kernel without a module, data that is missing or does not fit.
    """
    body = [op for op in main_body(program) if op.name]
    machine = _Machine(literals, inputs, {symbol(op): op for op in program.ops if op.name == "module"})
    for op in body:
        if op.name in _ARENAS or op.name == "@param":
            _guarded(_define, op, machine)
    back = next((op for op in body if op.name == "@return"), None)
    if order is None:
        for _ in range(runs):
            for op in body:
                _step(op, machine)
    else:
        for op in _order(body, runs, order):
            _step(op, machine)
    returned = back.operands if back is not None else []
    for value in returned:
        if value not in machine.values:
            raise InputError(f"{value.name} is returned and no instruction before the return makes it")
    return [np.array(machine.values[value]) for value in returned]


def _order(body: list[Op], runs: int, seed: int) -> list[Op]:
    """All instructions of all runs in an order that streams and events allow."""
    chosen = random.Random(seed)
    queues: dict[int, list[tuple[Op, int]]] = {}
    stream = 0
    recorded_later = {op.attributes.get("event") for op in body if op.name == "gpu::record_event"}
    issued: dict[str, int] = {}
    for _ in range(runs):
        for op in body:
            event = op.attributes.get("event", "")
            if op.name == "gpu::set_stream":
                stream = integer(op.attributes, "stream")
            elif op.name == "gpu::record_event":
                issued[event] = issued.get(event, 0) + 1
                queues.setdefault(stream, []).append((op, issued[event]))
            elif op.name == "gpu::wait_event":
                if event not in recorded_later:
                    raise InputError(f"the program waits for event {event}, which nothing records")
                queues.setdefault(stream, []).append((op, issued.get(event, 0)))
            else:
                queues.setdefault(stream, []).append((op, 0))
        stream = 0
    return _drawn(queues, chosen)


def _drawn(queues: dict[int, list[tuple[Op, int]]], chosen: random.Random) -> list[Op]:
    at = dict.fromkeys(queues, 0)
    done: dict[str, int] = {}
    order: list[Op] = []
    defined: set[Value] = set()
    while any(at[stream] < len(queue) for stream, queue in queues.items()):
        ready = [s for s, queue in queues.items() if at[s] < len(queue) and _ready(*queue[at[s]], done)]
        if not ready:
            raise InputError("the program's streams wait for one another: no order is possible")
        stream = chosen.choice(ready)
        # Long stretches of one stream find more races than single steps.
        for _ in range(chosen.choice((1, 3, 30, 1000))):
            if at[stream] >= len(queues[stream]) or not _ready(*queues[stream][at[stream]], done):
                break
            op, number = queues[stream][at[stream]]
            at[stream] += 1
            if op.name == "gpu::record_event":
                done[op.attributes.get("event", "")] = number
            elif op.name != "gpu::wait_event":
                order.append(op)
                defined.update(op.results)
    return order


def _ready(op: Op, number: int, done: Mapping[str, int]) -> bool:
    return op.name != "gpu::wait_event" or done.get(op.attributes.get("event", ""), 0) >= number


def _step(op: Op, machine: _Machine) -> None:
    """Do one instruction."""
    _guarded(_do, op, machine)


def _guarded(act: Callable[[Op, _Machine], None], op: Op, machine: _Machine) -> None:
    """Act; raises InputError naming the instruction where shapes do not fit, or memory is too small."""
    try:
        act(op, machine)
    except (ValueError, IndexError, KeyError, OverflowError, MemoryError) as fault:
        raise InputError(
            f"{op.name} of {_name(op)} cannot be computed: {fault}; expected operands that fit one another, "
            "and memory for them on this machine"
        ) from fault


def _do(op: Op, machine: _Machine) -> None:
    if op.name in ("gpu::set_stream", "gpu::record_event", "gpu::wait_event", "@return", "@param"):
        return
    if op.name in _ARENAS or op.name in _IGNORED or op.name.startswith("check_context"):
        return
    if is_copy_to_gpu(op):
        _copy(op, machine)
    elif op.name in VIEWS or op.name in ("load", "@literal", "hip::hip_copy_literal", "hip::view_bytes"):
        _define(op, machine)
    elif op.name.endswith("sync_stream"):
        machine.values[op.results[0]] = _read(op.operands[0], machine)
    elif is_kernel(op):
        _launch(op, machine)
    else:
        raise InputError(f"{op.name} of {_name(op)} cannot be run: expected what models are lowered to")


def _read(value: Value, machine: _Machine) -> Array:
    """What a value is; names of places are made when they are first asked for."""
    if value not in machine.values:
        waiting = [value]
        begun: set[Value] = set()
        while waiting:
            op = waiting[-1].op
            if op is None:
                raise InputError(f"{waiting[-1].name} is read and nothing makes it")
            missing = [each for each in op.operands if each not in machine.values] if _is_place(op) else []
            if missing:
                if waiting[-1] in begun:
                    raise InputError(
                        f"{waiting[-1].name} is made from itself, by way of {missing[0].name}: expected each "
                        "instruction to read only what stands before it"
                    )
                begun.add(waiting[-1])
                waiting.extend(missing)
                continue
            waiting.pop()
            if (not _is_place(op) and is_kernel(op)) or is_copy_to_gpu(op):
                # It has not run: what is read is what its buffer holds before.
                machine.values[op.results[0]] = _as(op, _read(op.operands[-1], machine))
            else:
                _define(op, machine)
    return machine.values[value]


def _is_place(op: Op) -> bool:
    return not is_kernel(op) and not is_copy_to_gpu(op)


def _define(op: Op, machine: _Machine) -> None:
    """An instruction that names memory, without doing anything to it."""
    value = op.results[0]
    if value in machine.values and op.name != "@literal":
        return
    match op.name:
        case "@param":
            machine.values[value] = _parameter(op, machine)
        case "@literal" | "hip::hip_copy_literal":
            machine.values[value] = _literal(op, machine)
        case "load":
            arena = _read(op.operands[0], machine)
            machine.values[value] = _cut(op, arena, integer(op.attributes, "offset"))
        case "hip::view_bytes":
            batch = _read(op.operands[0], machine)
            machine.values[value] = _cut(op, batch, integer(op.attributes, "offset"))
        case name if name in _ARENAS:
            machine.values[value] = _cut(op, np.zeros(byte_size(value.type) or 0, np.uint8), 0)
        case name if name in VIEWS:
            machine.values[value] = _view(op, _read(op.operands[0], machine))
        case _:
            raise InputError(f"{op.name} of {_name(op)} cannot be run")


def _view(op: Op, source: Array) -> Array:
    """Another look at the same bytes."""
    made = evaluate(op.name, op.attributes, [source], op.results[0].type)
    if made.size and not np.may_share_memory(made, source):
        raise InputError(
            f"{op.name} {_name(op)} cannot look at {op.operands[0].type.text} in place: "
            "expected a copy in front"
        )
    return made


def _cut(op: Op, memory: Array, offset: int) -> Array:
    """A buffer of an op's type in memory, from a byte on."""
    type = op.results[0].type
    if not isinstance(type, ShapeType):
        raise InputError(f"{_name(op)} has type {type.text}: expected a shape")
    size = byte_size(type) or 0
    flat = memory.reshape(-1).view(np.uint8)
    if offset < 0 or offset + size > flat.size:
        raise InputError(
            f"{_name(op)} lies at bytes {offset:,} to {offset + size:,} of {flat.size:,}: "
            "expected a place inside"
        )
    dtype = dtype_of(type.element)
    piece = flat[offset : offset + size]
    return np.lib.stride_tricks.as_strided(
        np.frombuffer(piece, dtype) if piece.size else np.zeros(0, dtype),
        type.lens,
        [stride * dtype.itemsize for stride in type.strides],
    )


def _parameter(op: Op, machine: _Machine) -> Array:
    value = op.results[0]
    type = value.type
    if not isinstance(type, ShapeType):
        raise InputError(f"parameter {value.name} has type {type.text}: expected a shape")
    dtype = dtype_of(type.element)
    if value.name.rpartition(":")[2].startswith("#output") or value.name.rpartition(":")[2] == "scratch":
        return np.zeros(type.lens, dtype)
    given = machine.inputs.get(value.name)
    if given is None:
        raise InputError(
            f"input {value.name} is missing: given are {', '.join(sorted(machine.inputs)) or 'none'}"
        )
    given = np.asarray(given)
    if given.size != int(np.prod(type.lens)) or (given.ndim and given.shape != type.lens):
        raise InputError(f"input {value.name} has shape {given.shape}: expected {type.lens}")
    return given.astype(dtype).reshape(type.lens)


def _literal(op: Op, machine: _Machine) -> Array:
    value = op.results[0]
    name = value.name
    data = machine.literals.get(name)
    if data is None:
        return literal_value(op)
    type = value.type
    if not isinstance(type, ShapeType) or data.size != int(np.prod(type.lens)):
        raise InputError(f"the data of {name} has shape {data.shape}: expected {type.text}")
    return np.asarray(data, dtype_of(type.element)).reshape(type.lens)


def _copy(op: Op, machine: _Machine) -> None:
    """A copy of one literal or, laid side by side, of several."""
    target = _read(op.operands[-1], machine)
    sources = [_read(value, machine) for value in op.operands[:-1]]
    if op.name == "hip::copy_batch_to_gpu":
        flat = target.reshape(-1).view(np.uint8)
        at = 0
        for source in sources:
            data = np.ascontiguousarray(source).reshape(-1).view(np.uint8)
            flat[at : at + data.size] = data
            at += -(-data.size // _BATCH_ALIGNMENT) * _BATCH_ALIGNMENT
    elif sources:
        target[...] = sources[0]
    machine.values[op.results[0]] = target


def _launch(op: Op, machine: _Machine) -> None:
    """A kernel: read the operands as they are now, write into the last one."""
    if not op.operands:
        raise InputError(f"{_name(op)} has no buffer to write into")
    arrays = [_read(value, machine) for value in op.operands[:-1]]
    target = _read(op.operands[-1], machine)
    name = op.attributes.get("modules", "").strip()
    plain = op.name.removeprefix("gpu::")
    if name in machine.modules:
        made = run_module(machine.modules[name], arrays)[0]
    elif plain in KNOWN:
        made = evaluate(plain, op.attributes, arrays, op.results[0].type)
    else:
        raise InputError(
            f"{_name(op)} ({op.attributes.get('symbol_name', op.name)}) has no module of operators in the "
            "program, so that what it computes is not known: only programs lowered from a model can be run"
        )
    target[...] = made.reshape(target.shape)
    machine.values[op.results[0]] = _as(op, target)


def _as(op: Op, target: Array) -> Array:
    """The buffer as the op's result."""
    type = op.results[0].type
    same = isinstance(type, ShapeType) and type.lens == target.shape
    return target if same or not isinstance(type, ShapeType) else target.reshape(type.lens)


def _name(op: Op) -> str:
    return op.results[0].name if op.results else op.name
