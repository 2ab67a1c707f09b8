"""Reader of MIGraphX program text, of any version, as far as a listing goes.

A program's top-level ops are its modules (op `module`, attribute `sym_name`), each with one region of one
block that holds the instructions. An instruction's op is its operation (`@literal`, `load`,
`gpu::code_object`, …), its one result has the printed name.

What is no instruction stays as an op with an empty name, counted in an `unparsed-text` diagnostic.
"""

from __future__ import annotations

import re
from typing import Final

from ..errors import Diagnostic
from ..program import Block, Detail, Op, Program, Region, Value, symbol
from ..types import UNKNOWN, Type
from .migraphx_line import Line, attributes_of, parse_line
from .migraphx_print import print_migraphx
from .migraphx_recover import recover
from .migraphx_shapes import parse_shape

_HEADER: Final = re.compile(r'(?P<prefix>.*?)module: "(?P<name>[^"\n]*)"\s*$')
_STAMP: Final = re.compile(r"(?:\d{4}-\d\d-\d\d [\d:.]+ )?(?:\[\w+\] )?(?:\[[^\]\n]*:\d+\] )?")
_RUN: Final = "Run instruction: "
_TIMES: Final = re.compile(r"Time: (?P<issue>[\d.eE+\-]+)ms(?:, (?P<done>[\d.eE+\-]+)ms)?\s*$")
_NOTE: Final = re.compile(r"(?:Output has|Ou?t?put:|Ouput:|Min value:|Max value:|Mean:|Run \w+)")
_SIMPLE: Final = re.compile(r"[^,()\s]+")


class MigraphxSource:
    """The text of a MIGraphX program, with the parts of each instruction by its place in the text."""

    __slots__ = ("lines", "notes", "shapes", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines: dict[int, Line] = {}
        self.notes: dict[int, dict[str, str]] = {}
        """Times and values that an evaluation trace prints below an instruction."""
        self.shapes: dict[str, Type] = {}

    def detail(self, op: Op) -> Detail:
        """Attributes and shape of an instruction, or a module's name."""
        line = self.lines.get(op.start)
        if op.name == "module":
            found = _HEADER.match(self.text, op.start, self._line_end(op.start))
            return Detail({"sym_name": f'"{found["name"] if found else "main"}"'})
        if line is None or not op.name:
            return Detail()
        attributes = attributes_of(line)
        attributes.update(self.notes.get(op.start, {}))
        types = [self.shape(line.shape)] if op.results else []
        return Detail(attributes, types, trailing=line.suffix)

    def argument_type(self, value: Value) -> Type:
        """MIGraphX blocks have no arguments (parameters are instructions)."""
        return UNKNOWN

    def shape(self, text: str) -> Type:
        """The shape that a text denotes; equal texts give one object."""
        if text not in self.shapes:
            self.shapes[text] = parse_shape(text)
        return self.shapes[text]

    def _line_end(self, pos: int) -> int:
        end = self.text.find("\n", pos)
        return len(self.text) if end < 0 else end


def parse_migraphx(text: str, file: str = "<text>", *, intact: Program | None = None) -> Program:
    """Read a listing into a program; never raises on bad text.

    `intact` is another listing of the same program: where this one was mangled by markdown, its lost
    arguments come from there. Diagnostics: `undefined-value`, `missing-module`, `unparsed-text`,
    `markdown-mangled`, `recovered-from-intact`, `duplicate-name`.
    """
    return _Reader(text, file).read(intact)


class _Reader:
    """The state of one read; operands are resolved once every name is known."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.source = MigraphxSource(text)
        body = Region(None, 0, len(text))
        block = Block(body, "", 0, 0)
        body.blocks.append(block)
        self.program = Program("migraphx", self.source, body)
        self.top = block
        self.module: Block | None = None
        self.last: Op | None = None
        self.unparsed: list[Op] = []
        self.duplicates: list[Op] = []
        self.scopes: dict[int, dict[str, Value]] = {}

    def read(self, intact: Program | None) -> Program:
        pos, size = 0, len(self.text)
        lead = 0
        while pos < size:
            end = self.text.find("\n", pos)
            end = size if end < 0 else end
            if self._line(lead, pos, end):
                lead = end
            pos = end + 1
        self._close_module(size)
        mangled = [op for op in self._instructions() if self.source.lines[op.start].mangled]
        if mangled:
            what = "markdown has taken the brackets and arguments of these instructions"
            self._say("markdown-mangled", what, mangled[0].start, len(mangled))
        if mangled and intact is not None:
            filled = recover(self.program, self.source, intact)
            if filled:
                what = "their arguments were filled in from an intact listing of the same program"
                self._say("recovered-from-intact", what, mangled[0].start, filled)
        _Resolver(self).resolve()
        self._report()
        return self.program

    # -- lines ---------------------------------------------------------------------------------------

    def _line(self, lead: int, pos: int, end: int) -> bool:
        """Read one line; False for one that belongs in front of the next op (a blank line)."""
        stripped = self.text[pos:end].rstrip()
        if not stripped.strip():
            return False
        header = _HEADER.match(self.text, pos, end) if 'module: "' in stripped else None
        if header:
            self._open_module(lead, header)
            return True
        start = pos + len(stripped) - len(stripped.lstrip())
        stamp = _STAMP.match(self.text, start, end)
        start = stamp.end() if stamp else start
        if self.text.startswith(_RUN, start):
            start += len(_RUN)
        text = self.text[start : pos + len(stripped)]
        if self._belongs_to_last(text, pos + len(stripped)):
            return True
        line = parse_line(text)
        if line is None or not (line.shape or line.name or line.op == "@return"):
            self._keep(lead, start, pos + len(stripped))
        else:
            self._instruction(lead, start, pos + len(stripped), line)
        return True

    def _belongs_to_last(self, text: str, end: int) -> bool:
        """Times and values below an evaluated instruction, or the rest of a wrapped line."""
        if self.last is None:
            return False
        times = _TIMES.match(text)
        if times:
            notes = self.source.notes.setdefault(self.last.start, {})
            notes["eval.issue_ms"] = times["issue"]
            notes["eval.ms"] = times["done"] or times["issue"]
            self.last.end = end
            return True
        if _NOTE.match(text):
            self.last.end = end
            return True
        line = self.source.lines[self.last.start]
        if line.shape or line.op == "@return" or " = " in text:
            return False
        joined = self.text[self.last.start : end].replace("\n", "").replace("\r", "")
        again = parse_line(joined)
        if again is None or not again.shape:
            return False
        self.source.lines[self.last.start] = again
        self.last.name, self.last.end = again.op, end
        return True

    def _open_module(self, lead: int, header: re.Match[str]) -> None:
        self._close_module(lead)
        start = header.start() + len(header["prefix"])
        self._new_module(lead, start, header.end())

    def _new_module(self, lead: int, start: int, inside: int) -> Block:
        op = Op("module", self.source, start, inside)
        op.lead = lead
        op.block = self.top
        self.top.ops.append(op)
        region = Region(op, inside, inside)
        op.regions.append(region)
        self.module = Block(region, "", inside, inside)
        region.blocks.append(self.module)
        self.scopes[id(self.module)] = {}
        self.last = None
        return self.module

    def _close_module(self, end: int) -> None:
        if (
            self.module is not None
            and self.module.parent is not None
            and self.module.parent.parent is not None
        ):
            last = self.module.ops[-1].end if self.module.ops else self.module.end
            self.module.parent.end = last
            self.module.parent.parent.end = last

    def _instruction(self, lead: int, start: int, end: int, line: Line) -> None:
        block = self.module or self._new_module(lead, start, start)
        op = Op(line.op, self.source, start, end)
        op.lead = lead
        op.block = block
        block.ops.append(op)
        self.source.lines[start] = line
        self.last = op
        if line.op != "@return" and line.name:
            value = Value(line.name, op, 0)
            op.results.append(value)
            scope = self.scopes[id(block)]
            if line.name in scope:
                self.duplicates.append(op)
            scope[line.name] = value

    def _keep(self, lead: int, start: int, end: int) -> None:
        op = Op("", self.source, start, end)
        op.lead = lead
        op.block = self.module or self.top
        op.block.ops.append(op)
        self.unparsed.append(op)
        self.last = None

    # -- reports -------------------------------------------------------------------------------------

    def _instructions(self) -> list[Op]:
        return [op for module in self.top.ops for r in module.regions for op in r.blocks[0].ops if op.name]

    def _report(self) -> None:
        if self.unparsed:
            what = f"{len(self.unparsed)} line(s) that are no instruction, kept as text"
            self._say("unparsed-text", what, self.unparsed[0].start, len(self.unparsed))
        for op in self.duplicates[:20]:
            self._say("duplicate-name", f"{op.results[0].name} is defined again", op.start)

    def _say(self, code: str, message: str, offset: int, count: int = 1) -> None:
        self.program.diagnostics.append(Diagnostic(code, message, offset, count))


class _Resolver:
    """Turns the argument texts of instructions into operands.

    A name means a value of its own module first, then one of any module under its full name, then one of
    the main module; `main:@4` and `@4` may mean the same.
    """

    def __init__(self, reader: _Reader) -> None:
        self.reader = reader
        self.anywhere: dict[str, Value] = {}
        self.main: dict[str, Value] = {}
        for module in reversed(reader.top.ops):
            for region in module.regions:
                scope = reader.scopes[id(region.blocks[0])]
                self.anywhere.update(scope)
                if symbol(module) == "main":
                    self.main = scope
        self.odd = sorted(
            (name for name in self.anywhere if not _SIMPLE.fullmatch(name)), key=len, reverse=True
        )
        self.undefined: dict[str, Value] = {}

    def resolve(self) -> None:
        for module in self.reader.top.ops:
            for region in module.regions:
                self._module(region.blocks[0], symbol(module))
        for name, value in self.undefined.items():
            op = value.uses[0][0]
            what = f"{name} is used by {op.name} and never defined"
            self.reader._say("undefined-value", what, op.start, len(value.uses))
        self._missing_modules()

    def _module(self, block: Block, module: str) -> None:
        scope = self.reader.scopes[id(block)]
        for op in block.ops:
            line = self.reader.source.lines.get(op.start) if op.name else None
            if line is None or not line.arguments:
                continue
            for index, name in enumerate(self.split(line.arguments)):
                value = self._find(name, scope, module)
                value.uses.append((op, index))
                op.operands.append(value)

    def split(self, text: str) -> list[str]:
        """The names of an argument list; names that hold commas or brackets are known by then."""
        if not self.odd:
            return [part.strip() for part in text.split(",") if part.strip()]
        names: list[str] = []
        pos = 0
        while pos < len(text):
            if text[pos] in " ,":
                pos += 1
                continue
            for name in self.odd:
                after = pos + len(name)
                if text.startswith(name, pos) and (after == len(text) or text[after] in " ,"):
                    break
            else:
                end = text.find(",", pos)
                name = text[pos : end if end >= 0 else len(text)].rstrip()
            names.append(name)
            pos += max(len(name), 1)
        return names

    def _find(self, name: str, scope: dict[str, Value], module: str) -> Value:
        owner, _, bare = name.rpartition(":") if ":@" in name else ("", "", name)
        # `@3` counts in its own module or in main; only a name with its module in front is good everywhere.
        far = {} if name.startswith("@") else self.anywhere
        own = {"main": self.main, module: scope}.get(owner, {})
        for where, key in (
            (scope, name), (self.main, name), (far, name), (scope, f"{module}:{name}"), (own, bare),
        ):  # fmt: skip
            if key in where:
                return where[key]
        return self.undefined.setdefault(name, Value(name))

    def _missing_modules(self) -> None:
        known = {symbol(module) for module in self.reader.top.ops}
        told: set[str] = set()
        for op in self.reader._instructions():
            line = self.reader.source.lines.get(op.start)
            for name in (part.strip() for part in (line.modules or "").split(",")) if line else ():
                if name and name not in known and name not in told:
                    told.add(name)
                    what = f"{op.name} has the module {name}, which is not in the listing"
                    self.reader._say("missing-module", what, op.start)


__all__ = ["MigraphxSource", "parse_migraphx", "print_migraphx"]
