"""Models built with random weights, as exporters write them: MobileNetV2, ResNet-50 v2, BERT, a small GPT.

Also the models that the `onnx` package ships, with random weights in the place of their constant ones, so
that what they compute says something.
"""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
LIGHT_NAMES = sorted(path.stem.removeprefix("light_") for path in LIGHT.glob("light_*.onnx"))


class Builder:
    """Nodes and weights of a graph; every method returns the name of what it makes."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def weight(self, array: np.ndarray) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def normal(self, *lens: int, scale: float = 0.02, shift: float = 0.0) -> str:
        return self.weight((self.rng.standard_normal(lens) * scale + shift).astype(np.float32))

    def scalar(self, value: float) -> str:
        return self.weight(np.asarray(value, dtype=np.float32))

    def integers(self, *values: int) -> str:
        return self.weight(np.asarray(values, dtype=np.int64))

    def node(self, kind: str, *inputs: str, outputs: int = 1, **attributes: object) -> str:
        names = [f"v{len(self.nodes)}_{index}" for index in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, **attributes))
        return names[0]

    def model(
        self,
        inputs: dict[str, tuple[int, list[int | str]]],
        outputs: dict[str, list[int | str]],
        opset: int = 17,
    ) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes,
            "graph",
            [helper.make_tensor_value_info(name, *rest) for name, rest in inputs.items()],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, lens) for name, lens in outputs.items()],
            self.weights,
        )
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        made.ir_version = 8
        return made

    # layers

    def conv(self, x: str, inside: int, outside: int, kernel: int, stride: int = 1, group: int = 1) -> str:
        scale = (2.0 / (inside // group * kernel * kernel)) ** 0.5
        weight = self.normal(outside, inside // group, kernel, kernel, scale=scale)
        pad = kernel // 2
        return self.node(
            "Conv", x, weight, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, group=group
        )

    def batch_norm(self, x: str, channels: int) -> str:
        variance = self.weight(np.abs(self.rng.standard_normal(channels)).astype(np.float32) * 0.2 + 0.9)
        return self.node(
            "BatchNormalization",
            x,
            self.normal(channels, scale=0.1, shift=1.0),
            self.normal(channels, scale=0.1),
            self.normal(channels, scale=0.1),
            variance,
            epsilon=1e-5,
        )

    def linear(self, x: str, inside: int, outside: int) -> str:
        made = self.node("MatMul", x, self.normal(inside, outside, scale=inside**-0.5))
        return self.node("Add", made, self.normal(outside))

    def layer_norm(self, x: str, width: int, eps: float = 1e-5) -> str:
        """Decomposed, as exporters before version 17 wrote it."""
        centred = self.node("Sub", x, self.node("ReduceMean", x, axes=[-1]))
        squares = self.node("Pow", centred, self.scalar(2.0))
        spread = self.node(
            "Sqrt", self.node("Add", self.node("ReduceMean", squares, axes=[-1]), self.scalar(eps))
        )
        scaled = self.node("Mul", self.node("Div", centred, spread), self.normal(width, scale=0.1, shift=1.0))
        return self.node("Add", scaled, self.normal(width, scale=0.1))

    def dim(self, x: str, axis: int) -> str:
        at = self.weight(np.asarray(axis, dtype=np.int64))
        size = self.node("Gather", self.node("Shape", x), at, axis=0)
        return self.node("Unsqueeze", size, self.integers(0))

    def heads(self, x: str, heads: int, width: int) -> str:
        """batch, sequence, width → batch, head, sequence, width of a head; sizes asked for at run time."""
        lens = self.node(
            "Concat",
            self.dim(x, 0),
            self.dim(x, 1),
            self.integers(heads),
            self.integers(width // heads),
            axis=0,
        )
        return self.node("Transpose", self.node("Reshape", x, lens), perm=[0, 2, 1, 3])

    def joined(self, x: str, width: int) -> str:
        turned = self.node("Transpose", x, perm=[0, 2, 1, 3])
        lens = self.node("Concat", self.dim(turned, 0), self.dim(turned, 1), self.integers(width), axis=0)
        return self.node("Reshape", turned, lens)


def mobilenet_v2(seed: int = 1, width: float = 1.0, size: int = 224, classes: int = 1000) -> onnx.ModelProto:
    """Inverted residuals of depthwise convolutions, each with a batch norm, clipped to 0…6."""
    b = Builder(seed)

    def block(x: str, inside: int, outside: int, kernel: int, stride: int = 1, group: int = 1) -> str:
        made = b.batch_norm(b.conv(x, inside, outside, kernel, stride, group), outside)
        return b.node("Clip", made, b.scalar(0.0), b.scalar(6.0))

    def channels(count: int) -> int:
        return max(8, int(count * width + 4) // 8 * 8)

    last = channels(32)
    x = block("data", 3, last, 3, 2)
    for grow, count, repeats, stride in (
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
    ):  # fmt: skip
        for index in range(repeats):
            inside, outside, step = last, channels(count), stride if index == 0 else 1
            made = block(x, inside, inside * grow, 1) if grow > 1 else x
            made = block(made, inside * grow, inside * grow, 3, step, inside * grow)
            made = b.batch_norm(b.conv(made, inside * grow, outside, 1), outside)
            x = b.node("Add", x, made) if step == 1 and inside == outside else made
            last = outside
    wide = max(1280, channels(1280)) if width >= 1 else channels(1280)
    x = block(x, last, wide, 1)
    x = b.node("Flatten", b.node("GlobalAveragePool", x), axis=1)
    weight, bias = b.normal(classes, wide, scale=wide**-0.5), b.normal(classes)
    b.nodes.append(helper.make_node("Gemm", [x, weight, bias], ["output"], transB=1))
    return b.model(
        {"data": (TensorProto.FLOAT, ["batch", 3, size, size])}, {"output": ["batch", classes]}, opset=13
    )


def resnet50_v2(seed: int = 2, size: int = 224, width: int = 64, classes: int = 1000) -> onnx.ModelProto:
    """Norms and activations in front of convolutions, as in the ResNet-50 of the seed dump."""
    b = Builder(seed)

    def active(x: str, channels: int) -> str:
        return b.node("Relu", b.batch_norm(x, channels))

    x = b.batch_norm("data", 3)
    x = active(b.conv(x, 3, width, 7, 2), width)
    x = b.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    last = width
    for stage, repeats in enumerate((3, 4, 6, 3)):
        inner = width << stage
        for index in range(repeats):
            stride = 2 if index == 0 and stage > 0 else 1
            front = active(x, last)
            short = b.conv(front, last, inner * 4, 1, stride) if index == 0 else x
            made = active(b.conv(front, last, inner, 1), inner)
            made = active(b.conv(made, inner, inner, 3, stride), inner)
            x = b.node("Add", b.conv(made, inner, inner * 4, 1), short)
            last = inner * 4
    x = b.node("GlobalAveragePool", active(x, last))
    x = b.node("Reshape", x, b.integers(-1, last))
    weight, bias = b.normal(classes, last, scale=last**-0.5), b.normal(classes)
    b.nodes.append(helper.make_node("Gemm", [x, weight, bias], ["output"], transB=1))
    return b.model({"data": (TensorProto.FLOAT, [1, 3, size, size])}, {"output": [1, classes]}, opset=13)


def bert(
    seed: int = 3, layers: int = 12, width: int = 768, heads: int = 12, words: int = 30522, longest: int = 512
) -> onnx.ModelProto:
    """An encoder: word, place and kind embeddings, attention with a mask, erf GELU, a tanh pooler."""
    b = Builder(seed)
    place = b.node("Slice", b.weight(np.arange(longest, dtype=np.int64)[None]), b.integers(0), b.dim("ids", 1),
                   b.integers(1))  # fmt: skip
    x = b.node("Gather", b.normal(words, width), "ids", axis=0)
    x = b.node("Add", x, b.node("Gather", b.normal(2, width), "kinds", axis=0))
    x = b.node("Add", x, b.node("Gather", b.normal(longest, width), place, axis=0))
    x = b.layer_norm(x, width, 1e-12)
    mask = b.node("Unsqueeze", b.node("Unsqueeze", "mask", b.integers(1)), b.integers(2))
    mask = b.node("Sub", b.scalar(1.0), b.node("Cast", mask, to=TensorProto.FLOAT))
    mask = b.node("Mul", mask, b.scalar(-10000.0))
    for _ in range(layers):
        q, k, v = (b.heads(b.linear(x, width, width), heads, width) for _ in range(3))
        scores = b.node("MatMul", q, b.node("Transpose", k, perm=[0, 1, 3, 2]))
        scores = b.node("Div", scores, b.scalar((width // heads) ** 0.5))
        shares = b.node("Softmax", b.node("Add", scores, mask), axis=-1)
        made = b.linear(b.joined(b.node("MatMul", shares, v), width), width, width)
        x = b.layer_norm(b.node("Add", made, x), width, 1e-12)
        made = b.linear(x, width, width * 4)
        grown = b.node("Add", b.node("Erf", b.node("Div", made, b.scalar(2.0**0.5))), b.scalar(1.0))
        made = b.node("Mul", b.node("Mul", made, grown), b.scalar(0.5))
        x = b.layer_norm(b.node("Add", b.linear(made, width * 4, width), x), width, 1e-12)
    b.nodes.append(helper.make_node("Identity", [x], ["hidden"]))
    first = b.node("Gather", x, b.weight(np.asarray(0, dtype=np.int64)), axis=1)
    pooled = b.linear(first, width, width)
    b.nodes.append(helper.make_node("Tanh", [pooled], ["pooled"]))
    each = (TensorProto.INT64, ["batch", "sequence"])
    return b.model(
        {"ids": each, "mask": each, "kinds": each},
        {"hidden": ["batch", "sequence", width], "pooled": ["batch", width]},
        opset=14,
    )


def gpt(
    seed: int = 4, layers: int = 4, width: int = 256, heads: int = 8, words: int = 4096, length: int = 64
) -> onnx.ModelProto:
    """A decoder: causal attention, tanh GELU, logits by the word embedding, LayerNormalization as one node."""
    b = Builder(seed)
    embedding = b.normal(words, width)

    def norm(x: str) -> str:
        return b.node(
            "LayerNormalization",
            x,
            b.normal(width, scale=0.1, shift=1.0),
            b.normal(width, scale=0.1),
            axis=-1,
        )

    place = b.node("Range", b.weight(np.asarray(0, np.int64)),
                   b.node("Squeeze", b.dim("ids", 1), b.integers(0)), b.weight(np.asarray(1, np.int64)))  # fmt: skip
    x = b.node("Add", b.node("Gather", embedding, "ids"), b.node("Gather", b.normal(length, width), place))
    lens = b.node("Concat", b.dim("ids", 1), b.dim("ids", 1), axis=0)
    ones = b.node("ConstantOfShape", lens, value=helper.make_tensor("one", TensorProto.FLOAT, [1], [1.0]))
    seen = b.node("Cast", b.node("Trilu", ones, upper=0), to=TensorProto.BOOL)
    for _ in range(layers):
        b.node(
            "Split", b.linear(norm(x), width, width * 3), b.integers(width, width, width), axis=-1, outputs=3
        )
        q, k, v = (b.heads(name, heads, width) for name in b.nodes[-1].output)
        scores = b.node("MatMul", q, b.node("Transpose", k, perm=[0, 1, 3, 2]))
        scores = b.node("Mul", scores, b.scalar((width // heads) ** -0.5))
        scores = b.node("Where", seen, scores, b.scalar(-3.4e38))
        made = b.node("MatMul", b.node("Softmax", scores, axis=-1), v)
        x = b.node("Add", x, b.linear(b.joined(made, width), width, width))
        made = b.linear(norm(x), width, width * 4)
        cube = b.node("Mul", b.node("Pow", made, b.scalar(3.0)), b.scalar(0.044715))
        grown = b.node("Tanh", b.node("Mul", b.node("Add", made, cube), b.scalar((2 / np.pi) ** 0.5)))
        made = b.node("Mul", b.node("Mul", made, b.scalar(0.5)), b.node("Add", grown, b.scalar(1.0)))
        x = b.node("Add", x, b.linear(made, width * 4, width))
    turned = b.node("Transpose", embedding, perm=[1, 0])
    b.nodes.append(helper.make_node("MatMul", [norm(x), turned], ["logits"]))
    return b.model({"ids": (TensorProto.INT64, [1, length])}, {"logits": [1, length, words]})


def efficientnet(seed: int = 7, size: int = 64, classes: int = 100) -> onnx.ModelProto:
    """A few blocks of an EfficientNet: SiLU, and channels weighed by what is squeezed from all places."""
    b = Builder(seed)

    def active(x: str) -> str:
        return b.node("Mul", x, b.node("Sigmoid", x))

    x = active(b.batch_norm(b.conv("data", 3, 16, 3, 2), 16))
    last = 16
    for grow, outside, stride, kernel in (
        (1, 16, 1, 3),
        (6, 24, 2, 3),
        (6, 24, 1, 3),
        (6, 40, 2, 5),
        (6, 40, 1, 5),
    ):
        inner = last * grow
        made = active(b.batch_norm(b.conv(x, last, inner, 1), inner)) if grow > 1 else x
        made = active(b.batch_norm(b.conv(made, inner, inner, kernel, stride, inner), inner))
        squeezed = b.node("GlobalAveragePool", made)
        squeezed = active(b.node("Add", b.conv(squeezed, inner, 8, 1), b.normal(8, 1, 1)))
        weights = b.node("Sigmoid", b.node("Add", b.conv(squeezed, 8, inner, 1), b.normal(inner, 1, 1)))
        made = b.batch_norm(b.conv(b.node("Mul", weights, made), inner, outside, 1), outside)
        x = b.node("Add", made, x) if stride == 1 and last == outside else made
        last = outside
    pooled = b.node("Flatten", b.node("GlobalAveragePool", x))
    b.nodes.append(helper.make_node("Gemm", [pooled, b.normal(last, classes), b.normal(classes)], ["output"]))
    return b.model({"data": (TensorProto.FLOAT, [1, 3, size, size])}, {"output": [1, classes]}, opset=17)


def vision_transformer(
    seed: int = 8, size: int = 32, patch: int = 8, width: int = 48, heads: int = 4, layers: int = 2
) -> onnx.ModelProto:
    """Patches by a convolution, a class token in front of them, an encoder that normalizes first."""
    b = Builder(seed)
    count = (size // patch) ** 2
    weight = b.normal(width, 3, patch, patch, scale=0.05)
    x = b.node("Conv", "data", weight, b.normal(width), strides=[patch] * 2)
    x = b.node("Transpose", b.node("Reshape", x, b.integers(0, width, -1)), perm=[0, 2, 1])
    token = b.node(
        "Expand", b.normal(1, 1, width), b.node("Concat", b.dim("data", 0), b.integers(1, width), axis=0)
    )
    x = b.node("Add", b.node("Concat", token, x, axis=1), b.normal(1, count + 1, width))
    for _ in range(layers):
        made = b.linear(b.layer_norm(x, width), width, width * 3)
        made = b.node("Reshape", made, b.integers(0, -1, 3, heads, width // heads))
        made = b.node("Transpose", made, perm=[2, 0, 3, 1, 4])
        q, k, v = (b.node("Gather", made, b.weight(np.asarray(i, np.int64)), axis=0) for i in range(3))
        scores = b.node("MatMul", b.node("Mul", q, b.scalar((width // heads) ** -0.5)),
                        b.node("Transpose", k, perm=[0, 1, 3, 2]))  # fmt: skip
        made = b.joined(b.node("MatMul", b.node("Softmax", scores, axis=-1), v), width)
        x = b.node("Add", x, b.linear(made, width, width))
        made = b.linear(b.layer_norm(x, width), width, width * 4)
        grown = b.node("Add", b.node("Erf", b.node("Div", made, b.scalar(2.0**0.5))), b.scalar(1.0))
        made = b.node("Mul", b.node("Mul", made, grown), b.scalar(0.5))
        x = b.node("Add", x, b.linear(made, width * 4, width))
    first = b.node("Gather", b.layer_norm(x, width), b.weight(np.asarray(0, np.int64)), axis=1)
    b.nodes.append(helper.make_node("Gemm", [first, b.normal(width, 10), b.normal(10)], ["output"]))
    return b.model(
        {"data": (TensorProto.FLOAT, ["batch", 3, size, size])}, {"output": ["batch", 10]}, opset=15
    )


def light(name: str, seed: int = 5) -> onnx.ModelProto:
    """A model of the `onnx` package, its weights of one value each replaced by random ones."""
    model = onnx.load(LIGHT / f"light_{name}.onnx")
    rng = np.random.default_rng(seed)
    sizes = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    spreads = {node.input[4] for node in model.graph.node if node.op_type == "BatchNormalization"}
    kept = []
    for node in model.graph.node:
        if node.op_type != "ConstantOfShape":
            kept.append(node)
            continue
        lens = tuple(int(each) for each in sizes[node.input[0]])
        inside = max(int(np.prod(lens[1:])), 1)
        data = rng.standard_normal(lens) * (1.4 / inside**0.5 if len(lens) > 1 else 0.3)
        data = np.abs(data) + 0.5 if node.output[0] in spreads else data + 0.5 * (len(lens) == 1)
        model.graph.initializer.append(numpy_helper.from_array(data.astype(np.float32), node.output[0]))
    del model.graph.node[:]
    model.graph.node.extend(kept)
    return model


def inputs_of(
    model: onnx.ModelProto, dims: dict[str, int] | None = None, seed: int = 6
) -> dict[str, np.ndarray]:
    """Random inputs; whole numbers are 0 or 1, except those named `ids`."""
    rng = np.random.default_rng(seed)
    held = {tensor.name for tensor in model.graph.initializer}
    made = {}
    for value in model.graph.input:
        if value.name in held:
            continue
        tensor = value.type.tensor_type
        lens = [
            d.dim_value if d.HasField("dim_value") else (dims or {}).get(d.dim_param, 1)
            for d in tensor.shape.dim
        ]
        dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if np.issubdtype(dtype, np.floating):
            made[value.name] = rng.standard_normal(lens).astype(dtype)
        else:
            made[value.name] = rng.integers(0, 100 if value.name == "ids" else 2, lens).astype(dtype)
    return made
