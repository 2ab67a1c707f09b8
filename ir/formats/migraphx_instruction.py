"""One MIGraphX instruction put together from its parts; what has not changed keeps its spelling."""

from __future__ import annotations

from typing import Final

from ..program import Op
from .migraphx_line import Line, bracket_parts, outside
from .migraphx_source import MigraphxSource

RUN: Final = "Run instruction: "
_OUTSIDE: Final = (
    "literal", "modules", "target_id", "perf.ms", "perf.percent", "schedule.weight", "schedule.inputs",
    "schedule.stream", "origin", "eval.issue_ms", "eval.ms", "parameter",
)  # fmt: skip
_SUFFIX: Final = _OUTSIDE[3:9]


def line_of(op: Op) -> Line | None:
    """What an instruction was read from; None for one that was made."""
    if op.start < 0 or not isinstance(op.source, MigraphxSource):
        return None
    return op.source.lines.get(op.start)


def format_instruction(op: Op, name: str, arguments: list[str]) -> str:
    """The text of an instruction whose result has this name, with these arguments."""
    line = line_of(op)
    was = op.source.attributes(op) if line is not None and isinstance(op.source, MigraphxSource) else {}
    line = line or Line()
    now = op.attributes
    shape = op.results[0].type.text if op.results else "?"
    same = (now, op.name, shape) == (was, line.op, line.shape or "?")
    if same and not line.closed and ",".join(arguments) == (line.arguments or "").rstrip(", "):
        return name + op.text[len(line.name) :]  # cut off: nothing says what would close it
    head = _parameter(op, name, line, was) if op.name == "@param" else _call(op, arguments, line, was)
    text = f"{name} = {head}" if name else head
    if shape and shape != "?":
        text += f" -> {shape}"
    inside = {key for key, _, _ in bracket_parts(line)} if op.name != "@param" else set()
    if now.get("target_id") and (line.target or "target_id" not in inside):
        text += f", target_id={now['target_id']}"
    return text + _suffix(now, line, was) + _notes(op, line, was)


def _parameter(op: Op, name: str, line: Line, was: dict[str, str]) -> str:
    """A parameter follows its value's name, with or without the module in front, if that was changed."""
    now = op.attributes.get("parameter", name)
    value = op.results[0].name if op.results else ""
    if was and now == was["parameter"] and value != line.name:
        if line.name == now:
            now = value
        elif line.name.endswith(f":{now}"):
            now = value.removeprefix(line.name[: len(line.name) - len(now)])
    return f"@param:{now}"


def _call(op: Op, arguments: list[str], line: Line, was: dict[str, str]) -> str:
    now = op.attributes
    inside = _brackets(now, line, was)
    if line.mangled and not line.recovered and not arguments and op.name == line.op:
        joint = "=" if line.mangled.startswith(f"{line.op}=") else ""
        head = line.mangled if now == was else f"{op.name}{joint}{inside}"
    else:
        head = f"{op.name}[{inside}]" if inside or (line.has_attributes and not was) else op.name
        if line.has_attributes and not line.attributes.strip() and not inside:
            head = f"{op.name}[{line.attributes}]"
    if "literal" in now:
        kept = line.literal is not None and now["literal"] == was.get("literal")
        head += f"{{{line.literal if kept else now['literal']}}}"
    if arguments:
        spaced = line.arguments is not None and 0 < line.arguments.count(",") == line.arguments.count(", ")
        joint = ", " if spaced else ","
        head += f"({joint.join(arguments)})"
    elif line.arguments is not None and not line.arguments.strip():
        head += f"({line.arguments})"
    return f"{head}, [{now['modules']}]" if "modules" in now else head


def _brackets(now: dict[str, str], line: Line, was: dict[str, str]) -> str:
    """The attributes in the brackets; one without `=`, which can only be the first, keeps that form."""
    parts = bracket_parts(line)
    apart = outside(line)
    texts: list[str] = []
    seen: set[str] = set()
    for key, _, raw in parts:
        if key in apart or now.get(key) == was.get(key):
            texts.append(raw)
        elif key in now and key not in seen:
            texts.append(f"{key}={now[key]}")
        seen.add(key)
    for key, value in now.items():
        if key not in seen and key not in _OUTSIDE:
            texts.append(f"{key}={value}")
    trailing = "," if parts and line.attributes.rstrip().endswith(",") else ""
    return ",".join(texts) + trailing if texts else ""


def _suffix(now: dict[str, str], line: Line, was: dict[str, str]) -> str:
    """Times, schedule notes and origin behind the shape."""
    if all(now.get(key) == was.get(key) for key in _SUFFIX):
        return line.suffix
    text = ""
    if "perf.ms" in now:
        text += f": {now['perf.ms']}ms" + (f", {now['perf.percent']}%" if "perf.percent" in now else "")
    if "schedule.weight" in now:
        text += f": weight={now['schedule.weight']} input={{{now.get('schedule.inputs', '')}}}"
        text += f" stream={now['schedule.stream']}" if "schedule.stream" in now else ""
    return text + (f" # {now['origin']}" if now.get("origin") else "")


def _notes(op: Op, line: Line, was: dict[str, str]) -> str:
    """The times and values that an evaluation trace prints below an instruction."""
    now = op.attributes
    if all(now.get(key) == was.get(key) for key in ("eval.issue_ms", "eval.ms")):
        return op.text[line.extent :]
    if "eval.ms" not in now:
        return ""
    return f"\nTime: {now.get('eval.issue_ms', now['eval.ms'])}ms, {now['eval.ms']}ms"


def returned_name(op: Op) -> str:
    """The name in front of `@return`, which is no value."""
    line = line_of(op)
    return line.name if line is not None else ""
