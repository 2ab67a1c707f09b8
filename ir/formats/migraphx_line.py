"""One MIGraphX instruction as text, taken apart.

NAME = OP[attributes]{literal}(arguments), [modules] -> SHAPE, target_id=k: suffix # origin
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .migraphx_mangled import split_glued
from .migraphx_text import closing, is_balanced, regroup, split_list

_LEFT: Final = re.compile(r" = (?=@param:|@literal|@return|@outline|[A-Za-z_][\w:.]*)")
_PARAMETER: Final = " = @param:"
_OPERATION: Final = re.compile(r"@?[A-Za-z_][\w:.]*")
_NUMBERED: Final = re.compile(r"(?:^|(?<=\s))(?:\S+:)?@\d+$")
_ARROW: Final = re.compile(r" ->[ ](?=\w+_type, \{|dynamic, |\[)")
_ARROW_END: Final = re.compile(r" ->\s*$")
_MODULES: Final = re.compile(r", \[([^\[\]()]*)\]$")
_TARGET: Final = re.compile(r", target_id=(\d+)$")
_SUFFIX: Final = re.compile(
    r"(?P<perf>: (?P<ms>\d+(?:\.\d*)?(?:[eE][+\-]?\d+)?)ms(?:, (?P<percent>\d+(?:\.\d*)?)%)?)?"
    r"(?P<sched>: weight=(?P<weight>-?\d+) input=\{(?P<inputs>[\d,\s]*)\}(?: stream=(?P<stream>\d+))?)?"
    r"(?P<origin> # [^\n]*)?\s*$"
)
_SUFFIX_START: Final = re.compile(r": (?=\d|weight=)| # ")
_KEY: Final = re.compile(r"\s*[A-Za-z_][\w.]*=")


@dataclass(slots=True)
class Line:
    """The parts of one instruction; texts as printed, '' where a part is missing."""

    name: str = ""
    """The result's name; '' for `@return` without one."""
    op: str = ""
    attributes: str = ""
    """Inside the square brackets; the parameter's name of `@param:x`."""
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
    mangled: str = ""
    """Op and attributes in one, where markdown has taken the brackets, and the arguments with them."""
    recovered: bool = False
    """Whether lost parts were filled in from an intact listing: the text does not say them."""
    closed: bool = True
    """Whether all brackets close: an instruction that goes on behind its line's end leaves one open."""
    is_numbered: bool = False
    """Whether the name is MIGraphX's own (`@3`, `main:@3`)."""
    skip: int = 0
    """Characters of the line in front of the name that do not belong to the instruction."""
    extent: int = 0
    """Characters from the name to the end of the instruction, line ends within it included."""


def parse_line(text: str, module: str = "") -> Line | None:
    """Take an instruction apart; None for text that is none.

    `module` is the module that it stands in: its name, which may hold blanks, may be part of an
    instruction's name.
    """
    if text.startswith("@return"):
        return _right(Line(), text)
    left = _LEFT.search(text)
    if left is None:
        return None
    place = text.find(_PARAMETER, left.start())
    if place >= 0:
        line = _right(Line(), text[place + 3 :])
        if line is not None and (_name_parameter(line, text[:place], module) or place == left.start()):
            return line
    before = text[: left.start()]
    found = _NUMBERED.search(before)
    start = found.start() if found else len(before) - len(before.lstrip())
    own = f"{module}:"
    if found and " " in own and before[: found.end()].endswith(own + before[before.rfind("@") :]):
        start = before.rfind(own)
    line = Line(name=before[start:].strip(), is_numbered=found is not None, skip=start)
    return _right(line, text[left.end() :])


def _name_parameter(line: Line, before: str, module: str) -> bool:
    """Find a parameter's name, which may hold anything, as it is printed twice; False if it is not there."""
    before = before.rstrip()
    for name in (f"{module}:{line.attributes}" if module else "", line.attributes):
        if name and before.endswith(name) and (before == name or before[-len(name) - 1].isspace()):
            line.name, line.skip = name, len(before) - len(name)
            return True
    found = _NUMBERED.search(before)
    line.is_numbered = found is not None
    line.skip = found.start() if found else len(before) - len(before.lstrip())
    if before.endswith(f":{line.attributes}"):
        line.skip = len(before) - len(before.split()[-1])
    line.name = before[line.skip :]
    return False


def _right(line: Line, rest: str) -> Line | None:
    head, line.shape, line.suffix = _split_shape(rest)
    target = _TARGET.search(line.shape or head)
    if target:
        line.target = target.group(1)
        head = head if line.shape else head[: target.start()]
        line.shape = line.shape[: target.start()]
    if head.startswith("@param:"):
        line.op = "@param"
        line.attributes = head[7:]
        return line
    operation = _OPERATION.match(head)
    if operation is None:
        return None
    line.op = operation.group()
    return line if _parts(line, head[operation.end() :]) else None


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
    for mark in _SUFFIX_START.finditer(text):
        if _SUFFIX.match(text, mark.start()):
            return mark.start()
    return len(text.rstrip())


def _parts(line: Line, rest: str) -> bool:
    """Read what stands behind the operation; False if it is no part of an instruction."""
    modules = _MODULES.search(rest)
    if modules:
        line.modules, rest = modules.group(1), rest[: modules.start()]
    rest = rest.rstrip()
    if rest and rest[0] not in "{([" and not _may_list_modules(rest):
        return _mangled(line, rest)
    pos = 0
    if rest.startswith("["):
        end = _attributes_end(rest)
        line.has_attributes, line.closed = True, end is not None
        pos = end if end is not None else len(rest)
        line.attributes = rest[1 : pos - 1 if line.closed else pos]
    if rest[pos : pos + 1] == "{":
        found = closing(rest, pos)
        line.closed, end = found is not None, found or len(rest)
        line.literal, pos = rest[pos + 1 : end - 1 if line.closed else end], end
    if rest[pos : pos + 1] == "(":
        line.closed = rest.endswith(")")
        line.arguments, pos = rest[pos + 1 : len(rest) - 1 if line.closed else None], len(rest)
    line.closed = line.closed and pos == len(rest)
    return pos == len(rest) or _may_list_modules(rest[pos:])


def _attributes_end(rest: str) -> int | None:
    """The offset behind the bracket that ends the attributes; their text may hold single brackets."""
    end = closing(rest, 0)
    if end is not None and (rest[end : end + 1] in ("", "{", "(") or _may_list_modules(rest[end:])):
        return end
    last = rest.rfind("](")
    if last >= 0 and rest.endswith(")"):
        return last + 1
    return len(rest) if rest.endswith("]") else None


def _may_list_modules(rest: str) -> bool:
    """Whether what is left can be the beginning of a list of modules whose end is on the next line."""
    return rest in (",", ", ") or rest.startswith(", [")


def _mangled(line: Line, rest: str) -> bool:
    """`loadoffset=0,end=4`: part op and first attribute by what is known of ops."""
    glued = line.op + rest
    if "=" not in glued:
        return False
    line.mangled, line.has_attributes, line.closed = glued, True, is_balanced(glued)
    line.op, line.attributes = split_glued(glued)
    return True


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
        attributes.update((key, value) for key, value, _ in bracket_parts(line))
    attributes.update(outside(line))
    return attributes


def outside(line: Line) -> dict[str, str]:
    """The attributes that stand outside the square brackets."""
    found = _SUFFIX.match(line.suffix) if line.suffix else None
    named = {
        "literal": line.literal.strip() if line.literal is not None else None,
        "modules": line.modules,
        "target_id": line.target or None,
    }
    if found:
        named |= {
            "perf.ms": found["ms"], "perf.percent": found["percent"], "schedule.weight": found["weight"],
            "schedule.inputs": found["inputs"], "schedule.stream": found["stream"],
            "origin": found["origin"][3:].strip() if found["origin"] else None,
        }  # fmt: skip
    return {key: value for key, value in named.items() if value is not None}


def bracket_parts(line: Line) -> list[tuple[str, str, str]]:
    """(name, value, text) of the attributes in the brackets; without `=` the value is `unit`.

    `shape=int8_type, {4}, {1},id=a` has two: a comma belongs to a value unless a name stands behind it.
    """
    texts = [text for text in split_list(line.attributes) if text.strip()]
    begins = [index == 0 or _KEY.match(text) is not None for index, text in enumerate(texts)]
    parts: list[tuple[str, str, str]] = []
    for text in regroup(texts, begins, ","):
        key, equals, value = text.partition("=")
        parts.append((key.strip(), value.strip() if equals else "unit", text))
    return parts
