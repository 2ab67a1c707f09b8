#!/usr/bin/env python3
"""Write a small CNN as MIGraphX program text, with its weights streamed, twice.

    python samples/make_migraphx.py [FOLDER]

`cnn_streamed.txt` copies each weight just before the kernel that reads it, on the only stream.
`cnn_streamed_prefetch.txt` is the same network with the copies on a stream of their own, a layer ahead:
a layer's weights go to one of two slots in turn, a kernel waits for the event of its copies, and a copy
into a slot waits for the event of the kernel that read the slot before. Offsets are computed here, and
checked: no two buffers that are live together overlap, and none ends outside the arena.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

ALIGNMENT = 256  # bytes; the arena's offsets are multiples of it


@dataclass(frozen=True)
class Layer:
    """A convolution with bias and ReLU, padded to keep the size, or halving it with stride 2."""

    inputs: int
    outputs: int
    kernel: int
    stride: int
    add: int = -1  # the layer whose result is added, or -1


LAYERS = (
    Layer(3, 16, 3, 2),
    Layer(16, 32, 3, 2),
    Layer(32, 32, 3, 1),
    Layer(32, 32, 3, 1, add=1),
    Layer(32, 64, 3, 2),
    Layer(64, 64, 3, 1),
    Layer(64, 64, 3, 1, add=4),
    Layer(64, 128, 1, 1),
)
SIDE = 64
CLASSES = 10


@dataclass
class Text:
    """The instructions so far; a buffer is a name whose bytes lie in the arena."""

    lines: list[str] = field(default_factory=list)
    stream: int = 0
    events: int = 0
    top: int = 0  # bytes of the arena that buffers take

    def say(self, body: str, lens: tuple[int, ...] = (), strides: tuple[int, ...] | None = None) -> str:
        return self.named(f"@{len(self.lines)}", body, shape(lens, strides))

    def named(self, name: str, body: str, result: str) -> str:
        self.lines.append(f"{name} = {body} -> {result}")
        return name

    def on(self, stream: int) -> None:
        if stream != self.stream:
            self.say(f"gpu::set_stream[stream={stream}]")
            self.stream = stream

    def record(self) -> int:
        self.say(f"gpu::record_event[event={self.events}]")
        self.events += 1
        return self.events - 1

    def wait(self, event: int) -> None:
        self.say(f"gpu::wait_event[event={event}]")

    def buffer(self, offset: int, lens: tuple[int, ...]) -> str:
        self.top = max(self.top, offset + size(lens))
        return self.say(f"load[offset={offset},end={offset + size(lens)}](@1)", lens)

    def kernel(self, symbol: str, operands: list[str], lens: tuple[int, ...]) -> str:
        threads = -(-count(lens) // 4 // 64) * 64
        what = f"code_object={4096 + 8 * len(symbol)},symbol_name={symbol},global={threads},local=64,"
        return self.say(f"gpu::code_object[{what}]({','.join(operands)})", lens)

    def broadcast(self, bias: str, lens: tuple[int, ...]) -> str:
        """A view of a bias in the lens of the result that it is added to: stride 0 but along axis 1."""
        out = ", ".join(map(str, lens))
        strides = tuple(int(axis == 1) for axis in range(len(lens)))
        return self.say(f"multibroadcast[out_lens={{{out}}},out_dyn_dims={{}}]({bias})", lens, strides)


def count(lens: tuple[int, ...]) -> int:
    total = 1
    for length in lens:
        total *= length
    return total


def size(lens: tuple[int, ...]) -> int:
    return 4 * count(lens)


def aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT


def shape(lens: tuple[int, ...], strides: tuple[int, ...] | None = None) -> str:
    if strides is None:
        strides = tuple(count(lens[i + 1 :]) for i in range(len(lens)))
    return f"float_type, {{{', '.join(map(str, lens))}}}, {{{', '.join(map(str, strides))}}}"


def weight_lens(k: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Lens of the weights and of the bias of layer k; the last is the classifier."""
    if k == len(LAYERS):
        return (LAYERS[-1].outputs, CLASSES), (CLASSES,)
    layer = LAYERS[k]
    return (layer.outputs, layer.inputs, layer.kernel, layer.kernel), (layer.outputs, 1, 1)


def result_lens(k: int) -> tuple[int, ...]:
    side = SIDE
    for layer in LAYERS[: k + 1]:
        side //= layer.stride
    return (1, LAYERS[k].outputs, side, side)


def last_use(k: int) -> int:
    """The layer that is the last to read the result of layer k."""
    return max([k + 1] + [reader for reader, layer in enumerate(LAYERS) if layer.add == k])


def place_results(first: int) -> list[int]:
    """Offsets of the layers' results, each in the lowest gap that is free while it lives."""
    offsets: list[int] = []
    for k in range(len(LAYERS)):
        taken = sorted((offsets[j], offsets[j] + size(result_lens(j))) for j in range(k) if last_use(j) >= k)
        offset = first
        for begin, end in taken:
            if offset + size(result_lens(k)) <= begin:
                break
            offset = max(offset, aligned(end))
        offsets.append(offset)
    return offsets


def slot_bytes() -> int:
    """Bytes that the weights and the bias of any layer fit in."""
    return max(sum(aligned(size(lens)) for lens in weight_lens(k)) for k in range(len(LAYERS) + 1))


@dataclass
class Network:
    """Writes the program layer by layer."""

    prefetch: bool
    text: Text = field(default_factory=Text)
    outputs: list[str] = field(default_factory=list)
    copied: dict[int, tuple[str, str]] = field(default_factory=dict)
    ready: dict[int, int] = field(default_factory=dict)  # layer -> the event after its copies
    read: dict[int, int] = field(default_factory=dict)  # layer -> the event after its kernel

    def slot(self, k: int) -> int:
        """Where the weights of layer k go: one slot, or two in turn."""
        return slot_bytes() * (k % 2 if self.prefetch else 0)

    def results(self) -> list[int]:
        return place_results(slot_bytes() * (2 if self.prefetch else 1))

    def stage(self, k: int) -> None:
        """The copies of layer k's weights and bias."""
        self.text.on(1 if self.prefetch else 0)
        if k - 2 in self.read:
            self.text.wait(self.read[k - 2])
        names = []
        offset = self.slot(k)
        for lens in weight_lens(k):
            literal = self.text.say("@literal{ ... }", lens)
            target = self.text.buffer(offset, lens)
            names.append(self.text.say(f"hip::copy_to_gpu({literal},{target})", lens))
            offset = aligned(offset + size(lens))
        self.copied[k] = (names[0], names[1])
        if self.prefetch:
            self.ready[k] = self.text.record()

    def compute(self, k: int) -> None:
        """The kernel of layer k, once its copies are done."""
        self.text.on(0)
        if k in self.ready:
            self.text.wait(self.ready[k])
        if k == len(LAYERS):
            self.classify()
        else:
            self.convolve(k)
        if self.prefetch and k + 2 <= len(LAYERS):
            self.read[k] = self.text.record()

    def convolve(self, k: int) -> None:
        weights, bias = self.copied[k]
        lens, add = result_lens(k), LAYERS[k].add
        operands = [self.text.broadcast(bias, lens)]
        operands += [self.outputs[add]] if add >= 0 else []
        operands += [self.outputs[-1] if self.outputs else "x", weights]
        operands.append(self.text.buffer(self.results()[k], lens))
        symbol = "mlir_convolution_add_add_relu" if add >= 0 else "mlir_convolution_add_relu"
        self.outputs.append(self.text.kernel(symbol, operands, lens))

    def classify(self) -> None:
        weights, bias = self.copied[len(LAYERS)]
        channels = LAYERS[-1].outputs
        pooled_lens, scores_lens = (1, channels, 1, 1), (1, CLASSES)
        ends = [offset + size(result_lens(k)) for k, offset in enumerate(self.results())]
        target = self.text.buffer(aligned(max(ends)), pooled_lens)
        pooled = self.text.kernel("reduce_mean_kernel", [self.outputs[-1], target], pooled_lens)
        flat = self.text.say(f"reshape_lazy[dims={{1, {channels}}}]({pooled})", (1, channels))
        wide = self.text.broadcast(bias, scores_lens)
        out = self.text.named("main:#output_0", "@param:main:#output_0", shape(scores_lens))
        scores = self.text.kernel("mlir_dot_add", [wide, flat, weights, out], scores_lens)
        self.text.lines.append(f"@{len(self.text.lines)} = @return({scores})")

    def write(self) -> str:
        """The program's text."""
        self.text.say("check_context::migraphx::gpu::context")
        self.text.lines.append("")  # the arena, once its size is known
        self.text.named("x", "@param:x", shape((1, 3, SIDE, SIDE)))
        ahead = 1 if self.prefetch else 0
        for k in range(ahead):
            self.stage(k)
        for k in range(len(LAYERS) + 1):
            if k + ahead <= len(LAYERS):
                self.stage(k + ahead)
            self.compute(k)
        arena = f"{{{self.text.top}}}, {{1}}"
        body = f"hip::hip_allocate_memory[shape=int8_type, {arena},id=main:scratch]"
        self.text.lines[1] = f"@1 = {body} -> int8_type, {arena}"
        return 'module: "main"\n' + "\n".join(self.text.lines) + "\n"


def check() -> None:
    """Results that live together do not overlap."""
    offsets = place_results(0)
    for k in range(len(LAYERS)):
        for j in range(k):
            begin = max(offsets[j], offsets[k])
            end = min(offsets[j] + size(result_lens(j)), offsets[k] + size(result_lens(k)))
            if last_use(j) >= k and begin < end:
                raise AssertionError(f"results {j} and {k} overlap")


def main() -> None:
    check()
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    (folder / "cnn_streamed.txt").write_text(Network(prefetch=False).write())
    (folder / "cnn_streamed_prefetch.txt").write_text(Network(prefetch=True).write())


if __name__ == "__main__":
    main()
