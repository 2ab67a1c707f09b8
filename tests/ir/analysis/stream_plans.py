"""Random programs that stream weights, sound plans of them, and an oracle that says whether a plan races.

The plans are made by the simplest rules that are right: weights go round a ring of slots, each copy waits for
the last reader of what its slot held before (in the run before, where need be), each reader for its copy.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

from passlens.ir.program import Op, Value

NONE = "float_type, {}, {}"
SLOT = 1024


def shape(count: int) -> str:
    return f"float_type, {{{count}}}, {{1}}"


@dataclass
class Kernel:
    name: str
    inputs: list[str]
    """Names of parameters and of other kernels."""
    weights: list[int]
    """Indices of literals."""
    count: int


@dataclass
class Net:
    """A chain of kernels with the literals that they read."""

    counts: list[int]
    """Elements of each literal."""
    kernels: list[Kernel]

    def literal(self, index: int) -> str:
        return f"@{100000 + index}"


def random_net(rng: random.Random, kernels: int, literals: int) -> Net:
    counts = [rng.choice([4, 8, 20, 64, 256]) for _ in range(literals)]
    made: list[Kernel] = []
    for number in range(kernels):
        earlier = [kernel.name for kernel in made[-4:]]
        inputs = [made[-1].name if made else "x"] + (
            [rng.choice(earlier)] if earlier and rng.random() < 0.4 else []
        )
        weights = sorted(rng.sample(range(literals), min(literals, rng.choice([0, 1, 1, 2]))))
        made.append(Kernel(f"@{200000 + number}", inputs, weights, rng.choice([16, 64, 128])))
    return Net(counts, made)


def original(net: Net) -> str:
    """All on one stream, every weight copied in front of its first reader, every buffer for itself."""
    lines = [f"x = @param:x -> {shape(64)}"]
    copied: set[int] = set()
    at = 0
    for kernel in net.kernels:
        for weight in kernel.weights:
            if weight not in copied:
                copied.add(weight)
                end = at + 4 * net.counts[weight]
                text = shape(net.counts[weight])
                lines.append(f"{net.literal(weight)} = @literal{{ ... }} -> {text}")
                lines.append(f"@{300000 + weight} = load[offset={at},end={end}](@1) -> {text}")
                lines.append(
                    f"@{400000 + weight} = hip::copy_to_gpu({net.literal(weight)},@{300000 + weight}) -> {text}"
                )
                at = end
        out = f"@{int(kernel.name[1:]) + 300000}"
        lines.append(f"{out} = load[offset={at},end={at + 4 * kernel.count}](@1) -> {shape(kernel.count)}")
        at += 4 * kernel.count
        lines.append(launch(kernel, [f"@{400000 + weight}" for weight in kernel.weights], out))
    unused = set(range(len(net.counts))) - copied
    lines.extend(
        f"{net.literal(weight)} = @literal{{ ... }} -> {shape(net.counts[weight])}" for weight in unused
    )
    lines.append(f"@900000 = @return({net.kernels[-1].name})")
    return "\n".join(['module: "main"', arena(at), *lines]) + "\n"


def arena(size: int) -> str:
    return f"@1 = hip::hip_allocate_memory[shape=int8_type, {{{size}}}, {{1}},id=main:scratch] -> int8_type, {{{size}}}, {{1}}"


def launch(kernel: Kernel, weights: list[str], out: str) -> str:
    arguments = ",".join([*kernel.inputs, *weights, out])
    head = "gpu::code_object[code_object=96,symbol_name=mlir_dot_add,global=64,local=64]"
    return f"{kernel.name} = {head}({arguments}) -> {shape(kernel.count)}"


@dataclass
class Planner:
    """Writes a sound plan of a net, line by line in issue order."""

    net: Net
    rng: random.Random
    slots: int
    resident: set[int]
    lines: list[str] = field(default_factory=list)
    stream: int = -1
    number: int = 600000
    events: int = 0

    def plan(self) -> str:
        net, kernels = self.net, self.net.kernels
        groups = self._groups()
        self.lines = [f"x = @param:x -> {shape(64)}"]
        for index in sorted(self.resident):
            name, text = net.literal(index), shape(net.counts[index])
            self.lines.append(f"{name} = hip::hip_copy_literal[id=main:@literal:{name[1:]}] -> {text}")
        last_use = [max(n for n, k in enumerate(kernels) if set(group) & set(k.weights)) for group in groups]
        first_use = [min(n for n, k in enumerate(kernels) if set(group) & set(k.weights)) for group in groups]
        slot_of = self._slots(first_use, last_use)
        read_events = {n: f"r{n}" for n in sorted(set(last_use))}
        values: dict[int, str] = {index: net.literal(index) for index in self.resident}
        ready: dict[int, str] = {}
        waited: set[str] = set()
        copied = 0
        for number, kernel in enumerate(kernels):
            ahead = number + self.rng.choice([0, 1, 3])
            while copied < len(groups) and (
                first_use[copied] <= number or (first_use[copied] <= ahead and self._free(copied, slot_of, last_use, number))
            ):  # fmt: skip
                before = self._occupant(copied, slot_of)
                self._on(1)
                self._order("wait", read_events[last_use[before]])
                self._copy(groups[copied], slot_of[copied], values)
                event = f"c{copied}"
                self._order("record", event)
                ready.update(dict.fromkeys(groups[copied], event))
                copied += 1
            self._on(0)
            for weight in kernel.weights:
                event = ready.get(weight)
                if event is not None and event not in waited:
                    waited.add(event)
                    self._order("wait", event)
            self._launch(number, kernel, values)
            if number in read_events:
                self._order("record", read_events[number])
        self.lines.append(f"@900000 = @return({kernels[-1].name})")
        size = SLOT * self.slots * 4 + 512 * len(kernels)
        return "\n".join(['module: "main"', arena(size), *self.lines]) + "\n"

    def _groups(self) -> list[list[int]]:
        """Streamed literals in the order of their first use, some of them in batches."""
        order = list(dict.fromkeys(w for kernel in self.net.kernels for w in kernel.weights))
        left = [w for w in order if w not in self.resident]
        groups = []
        while left:
            size = self.rng.choice([1, 1, 2, 3])
            groups.append(left[:size])
            left = left[size:]
        return groups

    def _slots(self, first_use: list[int], last_use: list[int]) -> list[int]:
        """A slot for each group: one whose group before is done with by then, or a new one."""
        done: list[int] = [-1] * self.slots
        slot_of = []
        for first, last in zip(first_use, last_use, strict=True):
            free = [slot for slot, when in enumerate(done) if when < first] or [len(done)]
            slot_of.append(self.rng.choice(free))
            done[slot_of[-1] :] = [last, *done[slot_of[-1] + 1 :]]
        self.slots = len(done)
        return slot_of

    def _occupant(self, group: int, slot_of: list[int]) -> int:
        """The group that was in the slot before, perhaps in the run before."""
        others = [n for n, slot in enumerate(slot_of) if slot == slot_of[group]]
        return others[others.index(group) - 1]

    def _free(self, group: int, slot_of: list[int], last_use: list[int], number: int) -> bool:
        before = self._occupant(group, slot_of)
        return before >= group or last_use[before] < number

    def _on(self, stream: int) -> None:
        if stream != self.stream:
            self.stream = stream
            self.lines.append(f"{self._name()} = gpu::set_stream[stream={stream}] -> {NONE}")

    def _order(self, what: str, event: str) -> None:
        number = {"r": 0, "c": 50000}[event[0]] + int(event[1:])
        self.lines.append(f"{self._name()} = gpu::{what}_event[event={number}] -> {NONE}")

    def _copy(self, group: list[int], slot: int, values: dict[int, str]) -> None:
        net, at = self.net, slot * 4 * SLOT
        offsets, end = [], 0
        for weight in group:
            end += -end % 256
            offsets.append(end)
            end += 4 * net.counts[weight]
        for weight in group:
            self.lines.append(f"{net.literal(weight)} = @literal{{ ... }} -> {shape(net.counts[weight])}")
        room, copy = self._name(), self._name()
        whole = shape(net.counts[group[0]]) if len(group) == 1 else f"int8_type, {{{end}}}, {{1}}"
        self.lines.append(f"{room} = load[offset={at},end={at + end}](@1) -> {whole}")
        names = ",".join(net.literal(weight) for weight in group)
        op = "copy" if len(group) == 1 else "copy_batch"
        self.lines.append(f"{copy} = hip::{op}_to_gpu({names},{room}) -> {whole}")
        if len(group) == 1:
            values[group[0]] = copy
            return
        for weight, offset in zip(group, offsets, strict=True):
            values[weight] = self._name()
            text = shape(net.counts[weight])
            self.lines.append(f"{values[weight]} = hip::view_bytes[offset={offset}]({copy}) -> {text}")

    def _launch(self, number: int, kernel: Kernel, values: dict[int, str]) -> None:
        at = SLOT * self.slots * 4 + 512 * (number % 5)
        out = self._name()
        self.lines.append(
            f"{out} = load[offset={at},end={at + 4 * kernel.count}](@1) -> {shape(kernel.count)}"
        )
        self.lines.append(launch(kernel, [values[weight] for weight in kernel.weights], out))

    def _name(self) -> str:
        self.number += 1
        return f"@{self.number}"


# -- an oracle -----------------------------------------------------------------------------------------


def races(ops: list[Op], runs: int = 2) -> bool:
    """Whether any order that streams and events allow may go wrong, by looking at all pairs of accesses."""
    before, count = _reachable(ops, runs), len(ops)
    reads, writes = _touched(ops)
    told = [(run * count + at, span) for run in range(runs) for at, span in writes]
    for n, (one, a) in enumerate(told):
        for other, b in told[n + 1 :]:
            if _meet(a, b) and not (before[other] >> one & 1):
                return True
    for run in range(runs):
        for at, writer, span in reads:
            now, made = run * count + at, run * count + writer
            if not before[now] >> made & 1:
                return True
            for other, b in told:
                # What reads the results is not part of the program, so nothing later is in its way.
                after = other > now if ops[at].name == "@return" else before[other] >> now & 1
                if _meet(span, b) and not (other == made or before[made] >> other & 1 or after):
                    return True
    return False


def _meet(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return max(a[0], b[0]) < min(a[1], b[1])


def _reachable(ops: list[Op], runs: int) -> list[int]:
    """For each instruction of each run, the set (as bits) of those that are surely done before it."""
    stream, last, recorded = 0, {}, {}
    before: list[int] = []
    for at, op in enumerate(ops * runs):
        stream = int(op.attributes["stream"]) if op.name == "gpu::set_stream" else stream
        mine = 0
        event = op.attributes.get("event", "")
        for other in (last.get(stream), recorded.get(event) if op.name == "gpu::wait_event" else None):
            if other is not None:
                mine |= before[other] | 1 << other
        before.append(mine)
        if op.name == "@return":
            before[-1] = 0 if 0 not in last else before[last[0]] | 1 << last[0]
            continue  # the host waits for the first stream; the device does nothing
        last[stream] = at
        if op.name == "gpu::record_event":
            recorded[event] = at
    return before


def _touched(
    ops: list[Op],
) -> tuple[list[tuple[int, int, tuple[int, int]]], list[tuple[int, tuple[int, int]]]]:
    """Reads (position, position of what made the value, bytes) and writes (position, bytes) of the arena."""
    place = {id(op): at for at, op in enumerate(ops)}
    reads, writes = [], []

    def span(value: Value) -> tuple[int, int]:
        op = value.op
        assert op is not None
        if op.name == "load":
            return int(op.attributes["offset"]), int(op.attributes["end"])
        start, end = span(op.operands[0] if op.name == "hip::view_bytes" else op.operands[-1])
        if op.name == "hip::view_bytes":
            start += int(op.attributes["offset"])
            found = re.search(r"\{(\d+)\}", value.type.text)
            assert found is not None
            end = start + 4 * int(found.group(1))
        return start, end

    def maker(value: Value) -> int:
        op = value.op
        assert op is not None
        return maker(op.operands[0]) if op.name == "hip::view_bytes" else place[id(op)]

    for at, op in enumerate(ops):
        if "copy" in op.name and op.name != "hip::hip_copy_literal":
            writes.append((at, span(op.operands[-1])))
        elif op.name == "gpu::code_object":
            for value in op.operands[:-1]:
                source = value.op
                assert source is not None
                if source.name not in ("@param", "hip::hip_copy_literal", "@literal"):
                    reads.append((at, maker(value), span(value)))
            writes.append((at, span(op.operands[-1])))
        elif op.name == "@return":
            reads.extend((at, maker(value), span(value)) for value in op.operands)
    return reads, writes
