"""`passlens layout`: decode an encoding, picture it, compare it with another, price the convert between."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from ...ir.errors import InputError
from ...ir.formats.mlir_text import expand_aliases
from ...ir.layouts.banks import BankCost, bank_cost
from ...ir.layouts.convert import Convert, convert
from ...ir.layouts.encodings import Encoding, PaddedShared
from ...ir.layouts.facts import layout_facts
from ...ir.layouts.linear import LinearLayout, same
from ...ir.layouts.memory_access import WarpAccess, row_major, warp_access
from ...ir.layouts.parse import parse_encoding
from ...ir.layouts.picture import (
    Holder,
    Window,
    element_lines,
    grid,
    hardware_lines,
    sizes,
    svg,
    thread_lines,
)
from ...ir.layouts.to_linear import to_linear
from ...ir.program import Program, Value, walk
from ...ir.trace import open_trace
from ...ir.types import ELEMENT_BITS, MemDescType, PointerType, TensorType, element_bits
from ..safe import visible
from ..select import find_snapshot

HELP = "decode an encoding: which thread holds which element"
_DEFAULT_ROWS, _DEFAULT_COLUMNS = 32, 16


@dataclass(frozen=True, slots=True)
class Subject:
    """An encoding with the tensor that it lays out."""

    title: str
    text: str
    encoding: Encoding
    shape: tuple[int, ...]
    bits: int
    layout: LinearLayout
    access_bits: int
    """Of the elements in memory: of what a tensor of pointers points at, else `bits`."""

    @property
    def memory(self) -> bool:
        """Whether it lays out shared memory, not registers."""
        return "offset" in self.layout.input_names


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("what", help="an encoding ('#ttg.blocked<{…}>'), or a file together with --value")
    parser.add_argument("--shape", metavar="16x16", help="the tensor's shape")
    parser.add_argument("--elem", default="f32", metavar="TYPE", help="the element type (f32)")
    parser.add_argument("--to", metavar="ATTR", help="another encoding: show both, and the convert between")
    parser.add_argument("--value", metavar="%NAME", help="the value of a dump whose layout is meant")
    parser.add_argument("--pass", dest="which", metavar="N|NAME[#K]", help="the snapshot that --value is in")
    parser.add_argument("--view", choices=("element", "thread", "hardware"), default="element")
    parser.add_argument(
        "--strides", metavar="S,S", help="strides of the memory that it loads, in elements (row after row)"
    )
    parser.add_argument("--rows", metavar="A:B", help="only these rows of the picture")
    parser.add_argument("--cols", metavar="A:B", help="only these columns")
    parser.add_argument("--svg", action="store_true", help="the picture as SVG")
    parser.add_argument("--json", action="store_true", help="everything as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the picture; raises InputError for encodings and shapes that do not fit."""
    subject = _of_value(args) if args.value else _of_text(args.what, args.shape, args.elem)
    other = None
    if args.to:
        other = _subject("to", args.to, subject.shape, subject.bits, subject.access_bits)
    try:
        if args.json:
            json.dump(_json(args, subject, other), sys.stdout, indent=2)
            sys.stdout.write("\n")
        elif args.svg:
            sys.stdout.write(svg(grid(subject.layout, _window(args, subject.layout)), subject.title))
        else:
            sys.stdout.writelines(f"{line}\n" for line in _text(args, subject, other))
    except ValueError as error:
        raise InputError(str(error)) from error
    return 0


# -- what is meant ---------------------------------------------------------------------------------------


def _of_text(text: str, shape: str | None, element: str) -> Subject:
    if os.path.exists(text):
        raise InputError(f"{text} is a file: name the value whose layout is meant with --value %NAME")
    if not shape:
        raise InputError("an encoding lays out a tensor: give its shape, as in --shape 16x16")
    parts = shape.lower().split("x")
    if not all(part.isdecimal() and 0 < len(part) < 10 for part in parts):
        raise InputError(f"--shape {shape!r} is no shape: expected numbers with x between them, as in 16x16")
    bits = ELEMENT_BITS.get(element)
    if bits is None:
        raise InputError(f"--elem {element!r} is no element type: expected one of {', '.join(ELEMENT_BITS)}")
    return _subject("layout", text, tuple(int(part) for part in parts), bits)


def _subject(
    title: str, text: str, shape: tuple[int, ...], bits: int, access_bits: int | None = None
) -> Subject:
    encoding = parse_encoding(text)
    return Subject(title, text, encoding, shape, bits, to_linear(encoding, shape, bits), access_bits or bits)


def _of_value(args: argparse.Namespace) -> Subject:
    trace = open_trace(args.what)
    snapshot = find_snapshot(trace, args.which)
    program = trace.program(snapshot)
    value = _find(program, args.value)
    type = value.type
    if not isinstance(type, TensorType | MemDescType) or not type.encoding:
        raise InputError(f"{value.name} is a {type.text}: it has no encoding")
    text = expand_aliases(type.encoding, program.aliases)
    title = f"{value.name} : {type.text} in {snapshot.title}"
    lens = type.lens[-2:] if isinstance(type, MemDescType) else type.lens
    pointee = type.element.pointee if isinstance(type.element, PointerType) else None
    return _subject(title, text, lens, element_bits(type) or 32, element_bits(pointee) if pointee else None)


def _find(program: Program, name: str) -> Value:
    wanted = name if name.startswith("%") else f"%{name}"
    found = [
        value
        for op in walk(program)
        for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args))
        if value.name in (wanted, f"{wanted}#0")
    ]
    with_layout = [v for v in found if isinstance(v.type, TensorType | MemDescType) and v.type.encoding]
    if not found:
        raise InputError(f"there is no value {wanted} here")
    return (with_layout or found)[0]


# -- what is printed -------------------------------------------------------------------------------------


def _text(args: argparse.Namespace, subject: Subject, other: Subject | None) -> Iterator[str]:
    for each in (subject, other) if other else (subject,):
        yield visible(f"{each.title}: {each.text}")
        yield from _facts(args, each)
        if args.view == "hardware":
            yield from hardware_lines(each.layout)
        elif args.view == "thread":
            yield from thread_lines(each.layout)
        else:
            yield from _elements(args, each, subject if each is not subject else None)
        yield ""
    if other is not None:
        yield from _between(subject, other)


def _elements(args: argparse.Namespace, subject: Subject, marks: Subject | None) -> Iterator[str]:
    window = _window(args, subject.layout)
    picture = grid(subject.layout, window)
    paint = _painted if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else None
    marked = marks is not None and marks.memory == subject.memory
    yield from element_lines(picture, paint, grid(marks.layout, window) if marks and marked else None)
    if picture.cut:
        rows, columns = sizes(subject.layout.shape)
        yield f"of {rows} rows and {columns} columns; --rows and --cols show others"


def _painted(text: str, holder: Holder) -> str:
    return f"\x1b[48;5;{17 + (holder.lane * 7 + holder.warp * 3) % 214};38;5;15m{text}\x1b[0m"


def _facts(args: argparse.Namespace, subject: Subject) -> Iterator[str]:
    if subject.memory:
        yield f"  memory: {subject.layout.input_size('offset'):,} elements of {subject.bits} bits"
        return
    facts = layout_facts(subject.layout, subject.access_bits)
    yield (
        f"  {facts.lanes} lanes × {facts.warps} warps × {facts.blocks} blocks"
        f"; {facts.registers} registers a thread, {facts.unique_registers} of them unique"
    )
    held = f"each element is held by {facts.threads} threads" if facts.threads > 1 else "no two threads share"
    yield (
        f"  {held}; {facts.neighbours} neighbours along dimension {facts.dimension}"
        f", {facts.vector_elements * subject.access_bits // 8} bytes an access"
    )
    access = _access(args, subject)
    strides = ",".join(map(str, _strides(args, subject)))
    yield (
        f"  load, strides {strides}: {access.requests} request(s) a thread of {access.vector_bytes} bytes"
        f"; a warp's takes {access.sectors} sectors for {access.bytes} bytes ({access.efficiency:.0%})"
    )


def _access(args: argparse.Namespace, subject: Subject) -> WarpAccess:
    return warp_access(subject.layout, _strides(args, subject), subject.access_bits)


def _strides(args: argparse.Namespace, subject: Subject) -> tuple[int, ...]:
    if not args.strides:
        return row_major(subject.shape)
    parts = args.strides.split(",")
    if len(parts) != len(subject.shape) or not all(part.isdecimal() and len(part) < 10 for part in parts):
        raise InputError(
            f"--strides {args.strides!r}: expected {len(subject.shape)} numbers with commas between"
        )
    return tuple(int(part) for part in parts)


def _between(subject: Subject, other: Subject) -> Iterator[str]:
    if subject.memory != other.memory:
        yield from _bank_lines(_banks(subject, other))
    elif subject.memory:
        alike = same(subject.layout, other.layout)
        yield "both place every element at the same offset" if alike else "elements are at other offsets"
    else:
        yield from _convert(convert(subject.layout, other.layout, subject.bits))


def _banks(subject: Subject, other: Subject) -> BankCost:
    shared, registers = (subject, other) if subject.memory else (other, subject)
    padding = shared.encoding if isinstance(shared.encoding, PaddedShared) else None
    return bank_cost(shared.layout, registers.layout, subject.bits, padding=padding)


def _bank_lines(cost: BankCost) -> Iterator[str]:
    worst = "no bank conflicts" if not cost.conflicts else f"{cost.conflicts + 1}-way bank conflicts"
    yield f"read or written through these registers: {worst}"
    yield (
        f"  {cost.instructions} access(es) a thread of {cost.vector_bits} bits"
        f"; a warp's takes {cost.turns} turn(s), without conflicts {cost.wavefronts}"
    )


def _convert(cost: Convert) -> Iterator[str]:
    said = {
        "nothing": "nothing: both are one layout", "registers": "registers only: no data leaves its thread",
        "shuffle": "shuffles inside a warp", "shared": "through shared memory",
        "cluster": "through other blocks' shared memory",
    }[cost.kind]  # fmt: skip
    yield f"convert: {said}"
    yield f"  {cost.moved:,} of {cost.total:,} held elements come from another thread (marked * above)"
    if cost.shared_bytes:
        yield (
            f"  {cost.shared_bytes:,} bytes of shared memory, {cost.rounds} round(s)"
            f", {cost.barriers} barrier(s)"
        )


def _json(args: argparse.Namespace, subject: Subject, other: Subject | None) -> dict[str, Any]:
    cost: Convert | None = None
    banks: BankCost | None = None
    if other is not None and subject.memory != other.memory:
        banks = _banks(subject, other)
    elif other is not None and not subject.memory:
        cost = convert(subject.layout, other.layout, subject.bits)
    return {
        "schema": 1,
        "layouts": [_layout_json(args, each) for each in (subject, other) if each is not None],
        "convert": asdict(cost) if cost is not None else None,
        "banks": {**asdict(banks), "conflicts": banks.conflicts} if banks is not None else None,
    }


def _layout_json(args: argparse.Namespace, subject: Subject) -> dict[str, Any]:
    layout = subject.layout
    facts = access = None
    if not subject.memory:
        facts = asdict(layout_facts(layout, subject.access_bits))
        found = _access(args, subject)
        strides = list(_strides(args, subject))
        access = {**asdict(found), "efficiency": found.efficiency, "strides": strides}
    return {
        "title": subject.title, "encoding": subject.text, "shape": list(subject.shape),
        "element_bits": subject.bits,
        "bases": {name: [list(basis) for basis in bases] for name, bases in layout.inputs},
        "facts": facts, "load": access,
    }  # fmt: skip


def _window(args: argparse.Namespace, layout: LinearLayout) -> Window:
    rows, columns = sizes(layout.shape)
    return Window(
        _range(args.rows, rows, _DEFAULT_ROWS, "--rows"),
        _range(args.cols, columns, _DEFAULT_COLUMNS, "--cols"),
    )


def _range(text: str | None, size: int, default: int, option: str) -> tuple[int, int]:
    if text is None:
        return 0, min(size, default)
    found = re.fullmatch(r"(\d{0,9}):(\d{0,9})", text)
    if found is None:
        raise InputError(f"{option} {text!r} is no range: expected A:B, as in 0:32")
    low, high = int(found.group(1) or 0), min(int(found.group(2) or size), size)
    if low >= high:
        raise InputError(f"{option} {text!r} is empty: there are {size}")
    return low, high
