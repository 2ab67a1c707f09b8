"""C++ expressions for one element of a value inside a fused body.

Operators that move elements change the index, pointwise ones are written out, convolutions, products,
reductions and poolings are loops. What was computed before (an accumulator, a row's sum) is known by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Final

from ...ir.errors import InputError
from ...ir.evaluate.attributes import integer, integers, number
from ...ir.evaluate.run import literal_value
from ...ir.program import Op, Value
from ...ir.types import ShapeType

TYPES: Final[dict[str, str]] = {
    "f64": "double", "f32": "float", "f16": "half16", "bf16": "bfloat", "i1": "bool", "i8": "signed char",
    "i16": "short", "i32": "int", "i64": "long long", "ui8": "unsigned char", "ui16": "unsigned short",
    "ui32": "unsigned", "ui64": "unsigned long long",
}  # fmt: skip
_FLOATS: Final = frozenset({"f32", "f16", "bf16"})
_UNARY: Final[dict[str, str]] = {
    "relu": "fmaxf({0}, 0.0f)", "neg": "-({0})", "abs": "fabsf({0})", "sqrt": "sqrtf({0})",
    "exp": "expf({0})",
    "log": "logf({0})", "tanh": "tanhf({0})", "sigmoid": "1.0f / (1.0f + expf(-({0})))", "erf": "erff({0})",
    "rsqrt": "1.0f / sqrtf({0})", "recip": "1.0f / ({0})", "sin": "sinf({0})", "cos": "cosf({0})",
    "tan": "tanf({0})", "floor": "floorf({0})", "ceil": "ceilf({0})", "nearbyint": "rintf({0})",
    "sign": "(float)(({0}) > 0.0f) - (float)(({0}) < 0.0f)", "not": "!({0})", "contiguous": "{0}",
    "identity": "{0}", "convert": "{0}", "softplus": "log1pf(expf(-fabsf({0}))) + fmaxf({0}, 0.0f)",
    "softsign": "({0}) / (1.0f + fabsf({0}))", "isnan": "({0}) != ({0})", "asin": "asinf({0})",
    "acos": "acosf({0})", "atan": "atanf({0})", "sinh": "sinhf({0})", "cosh": "coshf({0})",
    "log2": "log2f({0})", "isinf": "isinf({0})",
}  # fmt: skip
_BINARY: Final[dict[str, str]] = {
    "add": "({0}) + ({1})", "sub": "({0}) - ({1})", "mul": "({0}) * ({1})", "div": "({0}) / ({1})",
    "pow": "powf({0}, {1})", "min": "(({0}) < ({1}) ? ({0}) : ({1}))",
    "max": "(({0}) > ({1}) ? ({0}) : ({1}))",
    "equal": "({0}) == ({1})", "greater": "({0}) > ({1})", "less": "({0}) < ({1})",
    "logical_and": "({0}) && ({1})", "logical_or": "({0}) || ({1})", "logical_xor": "!({0}) != !({1})",
    "prelu": "(({0}) < 0 ? ({0}) * ({1}) : ({0}))", "fmod": "fmodf({0}, {1})",
}  # fmt: skip


def shape_of(value: Value) -> ShapeType:
    """The shape of a value inside a body.

    Raises:
        InputError: it has none.
    """
    if not isinstance(value.type, ShapeType):
        raise InputError(f"{value.name} has type {value.type.text}: expected a shape")
    return value.type


def computed(element: str) -> str:
    """The C++ type in which elements are computed: short floats in float."""
    return "float" if element in _FLOATS else TYPES[element]


class Emitter:
    """Writes statements; `known` holds what has been computed already: value → expression for its index."""

    def __init__(self, names: dict[Value, str]) -> None:
        self.names = names
        """Pointer of each parameter."""
        self.lines: list[str] = []
        self.known: dict[Value, Callable[[Sequence[str]], str]] = {}
        self.count = 0
        self._made: dict[tuple[Value, tuple[str, ...]], str] = {}

    def fresh(self, prefix: str = "t") -> str:
        """A name that nothing has yet."""
        self.count += 1
        return f"{prefix}{self.count}"

    def line(self, text: str) -> None:
        """One more statement."""
        self.lines.append(text)

    def open(self, text: str) -> None:
        """Begin a block; what is computed inside is unknown behind it."""
        self.line(text + " {")
        self._made.clear()

    def close(self) -> None:
        """End a block."""
        self.line("}")
        self._made.clear()

    def element(self, value: Value, index: Sequence[str]) -> str:
        """The name of a variable that holds one element of a value."""
        key = (value, tuple(index))
        if key in self._made:
            return self._made[key]
        known = self.known.get(value)
        name = known(index) if known is not None else self._compute(value, list(index))
        self._made[key] = name
        return name

    def _compute(self, value: Value, index: list[str]) -> str:
        op = value.op
        if op is None:
            raise InputError(f"{value.name} is made by nothing")
        if op.name == "@param":
            return self._load(value, index)
        if op.name == "@literal":
            data = literal_value(op).reshape(-1)[0]
            return self._set(shape_of(value).element, _constant(data, shape_of(value).element))
        if op.name in _VIEWS:
            return self.element(op.operands[0], _VIEWS[op.name](op, index, self))
        if (
            op.name in _UNARY
            or op.name in _BINARY
            or op.name in ("where", "clip", "leaky_relu", "elu", "mod")
        ):
            return self._pointwise(op, index)
        handler = _LOOPS.get(op.name)
        if handler is None:
            raise InputError(f"no kernel can be written for {op.name}; run this program on the reference")
        return handler(self, op, index)

    def _set(self, element: str, text: str) -> str:
        name = self.fresh()
        self.line(f"const {computed(element)} {name} = {text};")
        return name

    def _load(self, value: Value, index: list[str]) -> str:
        type = shape_of(value)
        terms = [f"{i} * {s}" for i, s in zip(index, type.strides, strict=True) if s and i != "0"]
        text = f"{self.names[value]}[{' + '.join(terms) or '0'}]"
        if type.element in ("f16", "bf16"):
            text = f"to_float({text})"
        return self._set(type.element, text)

    def _pointwise(self, op: Op, index: list[str]) -> str:
        given = [self.element(each, index) for each in op.operands]
        element = shape_of(op.results[0]).element
        double = "f64" in {shape_of(each).element for each in op.operands}
        if op.name == "where":
            text = f"{given[0]} ? {given[1]} : {given[2]}"
        elif op.name == "clip":
            x, low, high = given
            text = f"({x} < {low} ? {low} : ({x} > {high} ? {high} : {x}))"
        elif op.name == "leaky_relu":
            x, slope = given[0], number(op.attributes, "alpha")
            text = f"({x} < 0 ? {x} * {slope!r}f : {x})"
        elif op.name == "elu":
            x, slope = given[0], number(op.attributes, "alpha", 1.0)
            text = f"({x} < 0 ? {slope!r}f * expm1f({x}) : {x})"
        elif op.name == "mod":
            text = f"(({given[0]} % {given[1]}) + {given[1]}) % {given[1]}"
        elif op.name in _BINARY:
            text = _BINARY[op.name].format(*given)
        elif op.name in ("relu", "abs") and shape_of(op.operands[0]).element not in _FLOATS:
            text = f"({given[0]} < 0 ? {'0' if op.name == 'relu' else '-' + given[0]} : {given[0]})"
        else:
            text = _UNARY[op.name].format(*given)
        if double:
            for name in (
                "fmax",
                "fabs",
                "sqrt",
                "exp",
                "log",
                "tanh",
                "erf",
                "pow",
                "sin",
                "cos",
                "floor",
                "ceil",
            ):
                text = text.replace(f"{name}f(", f"{name}(")
        return self._set(element, f"({computed(element)})({text})")


def split(flat: str, lens: Sequence[int]) -> list[str]:
    """Index expressions of a place in order; axes of one element are `0`."""
    found = []
    for axis, length in enumerate(lens):
        step = prod(lens[axis + 1 :])
        if length == 1:
            found.append("0")
            continue
        text = flat if step == 1 else f"({flat} / {step})"
        found.append(text if axis == 0 or prod(lens[:axis]) == 1 else f"({text} % {length})")
    return found


def flat_index(index: Sequence[str], lens: Sequence[int]) -> str:
    """The place in order of an index."""
    terms = []
    for axis, each in enumerate(index):
        step = prod(lens[axis + 1 :])
        if each != "0":
            terms.append(each if step == 1 else f"{each} * {step}")
    return " + ".join(terms) or "0"


def _constant(value: object, element: str) -> str:
    text = repr(value.item())  # type: ignore[attr-defined]  # a NumPy scalar
    if text in ("True", "False"):
        return text.lower()
    if text in ("inf", "-inf", "nan"):
        return {"inf": "INFINITY", "-inf": "-INFINITY", "nan": "NAN"}[text]
    return f"{text}f" if element in _FLOATS else text


_Index = list[str]


def _broadcast(op: Op, index: _Index, emitter: Emitter) -> _Index:
    lens = shape_of(op.operands[0]).lens
    tail = index[len(index) - len(lens) :]
    return ["0" if length == 1 else each for length, each in zip(lens, tail, strict=True)]


def _reshape(op: Op, index: _Index, emitter: Emitter) -> _Index:
    flat = emitter.fresh("i")
    emitter.line(f"const int {flat} = {flat_index(index, shape_of(op.results[0]).lens)};")
    return split(flat, shape_of(op.operands[0]).lens)


def _transpose(op: Op, index: _Index, emitter: Emitter) -> _Index:
    found = ["0"] * len(index)
    for place, axis in enumerate(integers(op.attributes, "permutation")):
        found[axis] = index[place]
    return found


def _slice(op: Op, index: _Index, emitter: Emitter) -> _Index:
    found = list(index)
    starts = integers(op.attributes, "starts")
    for axis, start in zip(integers(op.attributes, "axes"), starts, strict=True):
        found[axis] = f"({index[axis]} + {start})" if start else index[axis]
    return found


def _step(op: Op, index: _Index, emitter: Emitter) -> _Index:
    found = list(index)
    for axis, by in zip(integers(op.attributes, "axes"), integers(op.attributes, "steps"), strict=True):
        found[axis] = f"({index[axis]} * {by})"
    return found


_VIEWS: Final[dict[str, Callable[[Op, _Index, Emitter], _Index]]] = {
    "multibroadcast": _broadcast, "reshape": _reshape, "reshape_lazy": _reshape, "flatten": _reshape,
    "squeeze": _reshape, "unsqueeze": _reshape, "transpose": _transpose, "slice": _slice, "step": _step,
}  # fmt: skip


def _window(op: Op, rank: int) -> tuple[list[int], list[int], list[int]]:
    padding = integers(op.attributes, "padding", [0] * rank)
    dilation = integers(op.attributes, "dilation", integers(op.attributes, "dilations", [1] * rank))
    return padding[:rank], integers(op.attributes, "stride", [1] * rank), dilation


def inside(places: Sequence[str], lens: Sequence[int]) -> str:
    """The condition that places lie in their axes."""
    return " && ".join(f"{p} >= 0 && {p} < {n}" for p, n in zip(places, lens, strict=True)) or "true"


def _convolution(emitter: Emitter, op: Op, index: _Index) -> str:
    x, weight = op.operands
    lens, kernel = shape_of(x).lens, shape_of(weight).lens
    rank = len(kernel) - 2
    padding, stride, dilation = _window(op, rank)
    groups = integer(op.attributes, "group", 1)
    each, channels = kernel[0] // groups, kernel[1]
    total, c = emitter.fresh("s"), emitter.fresh("c")
    emitter.line(f"float {total} = 0.0f;")
    emitter.open(f"for (int {c} = 0; {c} < {channels}; ++{c})")
    marks = [emitter.fresh("w") for _ in range(rank)]
    for axis in range(rank):
        emitter.open(f"for (int {marks[axis]} = 0; {marks[axis]} < {kernel[axis + 2]}; ++{marks[axis]})")
    places = []
    for axis in range(rank):
        place = emitter.fresh("p")
        offset = f"{index[axis + 2]} * {stride[axis]} - {padding[axis]} + {marks[axis]} * {dilation[axis]}"
        emitter.line(f"const int {place} = {offset};")
        places.append(place)
    emitter.open(f"if ({inside(places, lens[2:])})")
    channel = c if groups == 1 else f"(({index[1]} / {each}) * {channels} + {c})"
    a = emitter.element(x, [index[0], channel, *places])
    b = emitter.element(weight, [index[1], c, *marks])
    emitter.line(f"{total} += {a} * {b};")
    for _ in range(rank + 2):
        emitter.close()
    return total


def _dot(emitter: Emitter, op: Op, index: _Index) -> str:
    a, b = op.operands
    total, k = emitter.fresh("s"), emitter.fresh("k")
    emitter.line(f"float {total} = 0.0f;")
    emitter.open(f"for (int {k} = 0; {k} < {shape_of(a).lens[-1]}; ++{k})")
    left = emitter.element(a, [*index[:-1], k])
    right = emitter.element(b, [*index[:-2], k, index[-1]])
    emitter.line(f"{total} += {left} * {right};")
    emitter.close()
    return total


def _pooling(emitter: Emitter, op: Op, index: _Index) -> str:
    x = op.operands[0]
    lens, lengths = shape_of(x).lens, integers(op.attributes, "lengths")
    rank = len(lengths)
    padding, stride, dilation = _window(op, rank)
    behind = integers(op.attributes, "padding", [0] * rank)
    behind = behind[rank:] if len(behind) == 2 * rank else behind
    mode = op.attributes.get("mode", "max")
    total, count = emitter.fresh("s"), emitter.fresh("n")
    emitter.line(f"float {total} = {'-INFINITY' if mode == 'max' else '0.0f'}; int {count} = 0;")
    marks = [emitter.fresh("w") for _ in range(rank)]
    for axis in range(rank):
        emitter.open(f"for (int {marks[axis]} = 0; {marks[axis]} < {lengths[axis]}; ++{marks[axis]})")
    places = []
    for axis in range(rank):
        place = emitter.fresh("p")
        offset = f"{index[axis + 2]} * {stride[axis]} - {padding[axis]} + {marks[axis]} * {dilation[axis]}"
        emitter.line(f"const int {place} = {offset};")
        places.append(place)
    if integer(op.attributes, "count_include_pad"):
        limits = " && ".join(f"{p} < {lens[a + 2] + behind[a]}" for a, p in enumerate(places))
        emitter.line(f"if ({limits}) ++{count};")
    emitter.open(f"if ({inside(places, lens[2:])})")
    value = emitter.element(x, [index[0], index[1], *places])
    if mode == "max":
        emitter.line(f"{total} = {total} > {value} ? {total} : {value};")
    elif mode == "lpnorm":
        order = integer(op.attributes, "lp_order", 2)
        emitter.line(f"{total} += powf(fabsf({value}), {order}.0f);")
    else:
        emitter.line(f"{total} += {value};")
    if not integer(op.attributes, "count_include_pad"):
        emitter.line(f"++{count};")
    for _ in range(rank + 1):
        emitter.close()
    if mode == "average":
        emitter.line(f"{total} /= (float){count};")
    elif mode == "lpnorm":
        emitter.line(f"{total} = powf({total}, 1.0f / {integer(op.attributes, 'lp_order', 2)}.0f);")
    return total


def _gather(emitter: Emitter, op: Op, index: _Index) -> str:
    data, indices = op.operands
    axis = integer(op.attributes, "axis")
    rank = len(shape_of(indices).lens)
    at = emitter.element(indices, index[axis : axis + rank])
    place = emitter.fresh("p")
    length = shape_of(data).lens[axis]
    emitter.line(f"int {place} = (int){at}; {place} += {place} < 0 ? {length} : 0;")
    return emitter.element(data, [*index[:axis], place, *index[axis + rank :]])


def _concat(emitter: Emitter, op: Op, index: _Index) -> str:
    axis = integer(op.attributes, "axis")
    element = shape_of(op.results[0]).element
    total = emitter.fresh("s")
    emitter.line(f"{computed(element)} {total} = 0;")
    start = 0
    for part in op.operands:
        length = shape_of(part).lens[axis]
        emitter.open(f"if ({index[axis]} >= {start} && {index[axis]} < {start + length})")
        place = f"({index[axis]} - {start})" if start else index[axis]
        value = emitter.element(part, [*index[:axis], place if length > 1 else "0", *index[axis + 1 :]])
        emitter.line(f"{total} = {value};")
        emitter.close()
        start += length
    return total


def _pad(emitter: Emitter, op: Op, index: _Index) -> str:
    x = op.operands[0]
    lens = shape_of(x).lens
    pads = integers(op.attributes, "pads")
    mode = op.attributes.get("mode", "constant")
    element = shape_of(x).element
    total = emitter.fresh("s")
    emitter.line(f"{computed(element)} {total} = ({computed(element)})({number(op.attributes, 'value')!r});")
    places = []
    for axis, length in enumerate(lens):
        place = emitter.fresh("p")
        emitter.line(f"int {place} = {index[axis]} - {pads[axis]};")
        if mode == "reflect":
            emitter.line(f"{place} = {place} < 0 ? -{place} : {place};")
            emitter.line(f"{place} = {place} >= {length} ? {2 * (length - 1)} - {place} : {place};")
        elif mode != "constant":
            emitter.line(f"{place} = {place} < 0 ? 0 : ({place} >= {length} ? {length - 1} : {place});")
        places.append(place)
    emitter.open(f"if ({inside(places, lens)})")
    emitter.line(f"{total} = {emitter.element(x, places)};")
    emitter.close()
    return total


def _lrn(emitter: Emitter, op: Op, index: _Index) -> str:
    x = op.operands[0]
    size, channels = integer(op.attributes, "size", 1), shape_of(x).lens[1]
    alpha, beta = number(op.attributes, "alpha", 1e-4), number(op.attributes, "beta", 0.75)
    bias = number(op.attributes, "bias", 1.0)
    total, c = emitter.fresh("s"), emitter.fresh("c")
    value = emitter.element(x, index)
    emitter.line(f"float {total} = 0.0f;")
    emitter.open(f"for (int {c} = {index[1]} - {(size - 1) // 2}; {c} <= {index[1]} + {size // 2}; ++{c})")
    emitter.open(f"if ({c} >= 0 && {c} < {channels})")
    near = emitter.element(x, [index[0], c, *index[2:]])
    emitter.line(f"{total} += {near} * {near};")
    emitter.close()
    emitter.close()
    made = emitter.fresh("t")
    emitter.line(f"const float {made} = {value} / powf({bias!r}f + {alpha / size!r}f * {total}, {beta!r}f);")
    return made


def _resize(emitter: Emitter, op: Op, index: _Index) -> str:
    x = op.operands[0]
    new, old = shape_of(op.results[0]).lens, shape_of(x).lens
    if any(n % o for n, o in zip(new, old, strict=True)):
        raise InputError("no kernel can be written for a resize by other than whole factors")
    places = [i if n == o else f"({i} / {n // o})" for i, n, o in zip(index, new, old, strict=True)]
    return emitter.element(x, places)


_LOOPS: Final[dict[str, Callable[[Emitter, Op, _Index], str]]] = {
    "convolution": _convolution, "dot": _dot, "pooling": _pooling, "gather": _gather, "concat": _concat,
    "pad": _pad, "lrn": _lrn, "resize": _resize,
}  # fmt: skip
