"""One MIGraphX instruction as text: its parts, and how to put them together again.

NAME = OP[attributes]{literal}(arguments), [modules] -> SHAPE, target_id=k: suffix # origin
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .mlir_text import split_top

_LEFT: Final = re.compile(r" = (?=@param:|@literal|@return|@outline|[A-Za-z_][\w:.]*)")
_OPERATION: Final = re.compile(r"@?[A-Za-z_][\w:.]*")
_ARROW: Final = re.compile(r" ->[ ](?=\w+_type, \{|dynamic, |\[)")
_ARROW_END: Final = re.compile(r" ->\s*$")
_MODULES: Final = re.compile(r", \[([^\[\]()]*)\]$")
_TARGET: Final = re.compile(r", target_id=(\d+)$")
_SUFFIX: Final = re.compile(
    r"(?P<perf>: (?P<ms>\d+(?:\.\d*)?(?:[eE][+\-]?\d+)?)ms(?:, (?P<percent>\d+(?:\.\d*)?)%)?)?"
    r"(?P<sched>: weight=(?P<weight>-?\d+) input=\{(?P<inputs>[\d,\s]*)\}(?: stream=(?P<stream>\d+))?)?"
    r"(?P<origin> # [^\n]*)?\s*$"
)
_KEY: Final = re.compile(r"\s*[A-Za-z_][\w.]*=")
_CLOSERS: Final = {"[": "]", "{": "}", "(": ")"}
_BRACKETS: Final = re.compile(r"[\[\](){}]")

# Ops whose attribute list loses its bracket when markdown takes `[…](…)` for a link, with the name of the
# first attribute: what stands between the two is all that tells them apart.
FIRST_ATTRIBUTE: Final[dict[str, tuple[str, ...]]] = {
    "load": ("offset",), "multibroadcast": ("out_lens",), "broadcast": ("axis",), "step": ("axes",),
    "gpu::code_object": ("code_object",), "gpu::pooling": ("mode",), "gpu::convolution": ("op",),
    "gpu::gemm": ("alpha",), "reshape": ("dims",), "reshape_lazy": ("dims",), "transpose": ("permutation",),
    "slice": ("axes",), "squeeze": ("axes",), "unsqueeze": ("axes",), "flatten": ("axis",),
    "convert": ("target_type",), "get_tuple_elem": ("index",), "gather": ("axis",), "concat": ("axis",),
    "gpu::set_stream": ("stream",), "gpu::record_event": ("event",), "gpu::wait_event": ("event",),
    "hip::hip_copy_literal": ("id",), "hip::copy_to_gpu": ("shape",), "hip::hip_allocate_memory": ("shape",),
    "hip::allocate": ("shape",), "allocate": ("shape",), "gpu::precompile_op": ("op",), "pad": ("pads",),
    "softmax": ("axis",), "reduce_sum": ("axes",), "reduce_mean": ("axes",), "reduce_max": ("axes",),
}  # fmt: skip


@dataclass(slots=True)
class Line:
    """The parts of one instruction; texts as printed, '' where a part is missing."""

    name: str = ""
    """The result's name; '' for `@return` without one."""
    op: str = ""
    attributes: str = ""
    """Inside the square brackets."""
    has_attributes: bool = False
    literal: str | None = None
    """Inside the braces of `@literal{…}`; None if there are none."""
    arguments: str | None = None
    """Inside the parentheses; None where there are none."""
    modules: str | None = None
    shape: str = ""
    target: str = ""
    suffix: str = ""
    """Times, schedule notes and `# origin` behind the shape, as printed."""
    mangled: bool = False
    """Whether markdown has taken the brackets, and the arguments with them."""


def parse_line(text: str) -> Line | None:
    """Take an instruction apart; None for text that is none."""
    left = _LEFT.search(text)
    if left is None:
        if text.startswith("@return"):
            return _right(Line(), text)
        return None
    return _right(Line(name=text[: left.start()].strip()), text[left.end() :])


def _right(line: Line, rest: str) -> Line | None:
    head, line.shape, tail = _split_shape(rest)
    target = _TARGET.search(line.shape)
    if target:
        line.target, line.shape = target.group(1), line.shape[: target.start()]
    line.suffix = tail
    if head.startswith("@param:"):
        line.op = "@param"
        line.attributes = head[7:]
        return line
    operation = _OPERATION.match(head)
    if operation is None:
        return None
    line.op = operation.group()
    _parts(line, head[operation.end() :])
    return line


def _split_shape(rest: str) -> tuple[str, str, str]:
    """(what stands in front of the arrow, the shape, what stands behind it)."""
    arrows = list(_ARROW.finditer(rest))
    if not arrows:
        open_end = _ARROW_END.search(rest)
        if open_end:
            return rest[: open_end.start()], "", ""
        end = _shape_end(rest) if not rest.startswith("@param") else len(rest.rstrip())
        return rest[:end], "", rest[end:]
    head, shape = rest[: arrows[-1].start()], rest[arrows[-1].end() :]
    if len(arrows) > 1 and " # " in rest[: arrows[-1].start()]:
        head, shape = rest[: arrows[0].start()], rest[arrows[0].end() :]
    end = _shape_end(shape)
    return head, shape[:end], shape[end:]


def _shape_end(text: str) -> int:
    """Where the shape (with a target behind it) ends and a suffix begins."""
    for mark in (": ", " # "):
        at = text.find(mark)
        if at >= 0 and _SUFFIX.match(text, at):
            return at
    return len(text.rstrip())


def _parts(line: Line, rest: str) -> None:
    modules = _MODULES.search(rest)
    if modules:
        line.modules, rest = modules.group(1), rest[: modules.start()]
    pos = 0
    if rest.startswith("["):
        end = _closing(rest, 0)
        line.attributes, line.has_attributes, pos = rest[1 : end - 1], True, end
    elif rest.startswith("=") or (rest and rest[0] not in "{(["):
        _mangled(line, rest)
        return
    if rest[pos : pos + 1] == "{":
        end = _closing(rest, pos)
        line.literal, pos = rest[pos + 1 : end - 1], end
    if rest[pos : pos + 1] == "(":
        stop = len(rest) - 1 if rest.endswith(")") else len(rest)
        line.arguments = rest[pos + 1 : stop]


def _mangled(line: Line, rest: str) -> None:
    """`loadoffset=0,end=4`: part op and first attribute by what is known of ops."""
    glued = line.op + rest
    line.mangled = line.has_attributes = True
    for op in sorted(FIRST_ATTRIBUTE, key=len, reverse=True):
        key = glued[len(op) :].partition("=")[0]
        if glued.startswith(op) and key in FIRST_ATTRIBUTE[op]:
            line.op, line.attributes = op, glued[len(op) :]
            return
    line.op, _, line.attributes = glued.partition("=")


def _closing(text: str, pos: int) -> int:
    """The offset behind the bracket that closes the one at `pos`; the text's end if none does."""
    depth = 0
    for found in _BRACKETS.finditer(text, pos):
        depth += 1 if found.group() in _CLOSERS else -1
        if depth == 0:
            return found.end()
    return len(text) + 1


def attributes_of(line: Line) -> dict[str, str]:
    """Every attribute of an instruction by name.

    Beside the op's own: `literal` (its data as printed), `modules`, `target_id`; `perf.ms` and
    `perf.percent` of a perf listing; `schedule.weight`, `schedule.inputs`, `schedule.stream` of a schedule
    trace; `origin` (the ONNX nodes behind `#`).
    """
    attributes: dict[str, str] = {}
    if line.op == "@param":
        attributes["parameter"] = line.attributes
    else:
        for part in _attribute_texts(line.attributes):
            key, _, value = part.partition("=")
            attributes[key.strip()] = value.strip()
    if line.literal is not None:
        attributes["literal"] = line.literal.strip()
    if line.modules is not None:
        attributes["modules"] = line.modules
    if line.target:
        attributes["target_id"] = line.target
    found = _SUFFIX.match(line.suffix) if line.suffix else None
    if found:
        named = {
            "perf.ms": found["ms"], "perf.percent": found["percent"], "schedule.weight": found["weight"],
            "schedule.inputs": found["inputs"], "schedule.stream": found["stream"],
            "origin": found["origin"][3:].strip() if found["origin"] else None,
        }  # fmt: skip
        attributes.update({key: value for key, value in named.items() if value is not None})
    return attributes


def _attribute_texts(text: str) -> list[str]:
    """`shape=int8_type, {4}, {1},id=a` → [`shape=int8_type, {4}, {1}`, `id=a`]."""
    parts: list[str] = []
    for part in split_top(text):
        if not part.strip():
            continue
        if _KEY.match(part) or not parts:
            parts.append(part)
        else:
            parts[-1] += f",{part}"
    return parts


_NOT_IN_BRACKETS: Final = (
    "literal", "modules", "target_id", "perf.ms", "perf.percent", "schedule.weight", "schedule.inputs",
    "schedule.stream", "origin", "eval.issue_ms", "eval.ms", "parameter",
)  # fmt: skip


def format_line(
    name: str, op: str, attributes: dict[str, str], arguments: list[str], shape: str, suffix: str = ""
) -> str:
    """An instruction put together from its parts; the opposite of `parse_line`."""
    if op == "@param":
        head = f"@param:{attributes.get('parameter', name)}"
    else:
        inside = ",".join(
            f"{key}={value}" for key, value in attributes.items() if key not in _NOT_IN_BRACKETS
        )
        head = f"{op}[{inside}]" if inside else op
        if "literal" in attributes:
            head += f"{{{attributes['literal']}}}"
        if arguments:
            head += f"({','.join(arguments)})"
        if "modules" in attributes:
            head += f", [{attributes['modules']}]"
    text = f"{name} = {head}" if name else head
    if shape and shape != "?":
        text += f" -> {shape}"
    if attributes.get("target_id"):
        text += f", target_id={attributes['target_id']}"
    return text + suffix
