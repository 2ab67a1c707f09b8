"""Reader of MLIR text of any dialect, in custom and generic form, without registered dialects.

The reader finds structure (ops, operands, results, regions, blocks, successors, aliases) in one pass
and leaves attributes and types to `mlir_detail`, which reads them from an op's own text when asked.
Most lines of a dump are one op without a region: one regular expression recognises those, so that the
cost per op is a match, a findall and two objects. Everything else goes through `_Header`, a scanner that
keeps its state in a frame, so that nesting depth costs memory and never stack.

What is not recognised stays in the program as an op with an empty name, and is counted.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from typing import Final

from ..errors import Diagnostic
from ..program import Block, Op, Program, Region, Value
from .mlir_detail import MlirSource
from .mlir_header import Frame, Header
from .mlir_orders import REORDERED, operand_order
from .mlir_print import print_mlir
from .mlir_syntax import BARE_OPS, DEFAULT_DIALECTS, IMPLICIT_TERMINATORS, is_isolated

_NAME = r"%[\w$.\-]*[\w$.]"
_ATTRIBUTES = r"\{(?=[\w$.\-]+(?: = |[,}]))[^{}\"\n/]*+(?:\{[^{}\"\n/]*+\}[^{}\"\n/]*+)*+\}"

# One op on one line, no region, no string, no successor; the next line must begin something new.
_LINE: Final = re.compile(
    rf"[ \t\r\n]*((?:({_NAME})(?::(\d+))? = )?([A-Za-z_][\w$]*\.[\w$.]*[\w$])"
    rf"((?:[ (](?:[^\"{{}}\n^/\r]|{_ATTRIBUTES}){{0,2000}}+)?)(?<![,=(:]))"
    r"(?=\r?\n[ \t]*+(?:[%}^\"#\r\n]|//|[A-Za-z_][\w$]*+\.[a-z]|return\b|\Z)|\Z)"
)
_REFERENCE: Final = re.compile(rf"{_NAME}(?:#\d+)?")
_DEFINITION: Final = re.compile(rf"{_NAME}(?::\d+)?(?:, *{_NAME}(?::\d+)?)* *= *[\"A-Za-z_]")
_START: Final = re.compile(
    rf"(?P<results>{_NAME}(?::\d+)?(?:\s*,\s*{_NAME}(?::\d+)?)*\s*=\s*)?"
    r"(?:\"(?P<quoted>[^\"\\\n]+)\"(?=\s*\()|(?P<name>[A-Za-z_][\w$]*(?:\.[\w$]+)*)(?![\w$.:]))"
)
_RESULT: Final = re.compile(rf"({_NAME})(?::(\d+))?")
_TRIVIA: Final = re.compile(r"(?:[ \t\r\n]++|//[^\n]*+)*+")
_LABEL: Final = re.compile(r"\^[\w$.\-]+\s*(?=[:(])")
_ALIAS: Final = re.compile(r"([#!][A-Za-z_][\w$.\-]*)\s*=\s*")
# An alias defined on one line, with another definition, the module or a comment behind it.
_ALIAS_LINE: Final = re.compile(
    r"[ \t\r\n]*+([#!][A-Za-z_][\w$.\-]*) = ([^\n/\r]*(?:\"[^\"\\\n]*\"[^\n/\r]*)?)"
    r"(?=\n(?:[#!]|module\b|\n)|\n?\Z)"
)
_RESOURCES: Final = re.compile(r"\{-#(?s:.*?)#-\}")
# Quick and too generous; what it finds and nobody defined is looked up with the exact pattern below it.
_ALIAS_USE: Final = re.compile(r"[#!][A-Za-z_][\w$]*+(?![.<\w$])")
_OUTSIDE_STRINGS: Final = re.compile(
    r'"(?:[^"\\\n]|\\.)*+"|//[^\n]*+|(?<![%\w.])([#!][A-Za-z_][\w$]*+)(?![.<\w$])'
)
_MAX_PACK: Final = 100_000
_SLICE: Final = 200_000


def parse_mlir(text: str, file: str = "<text>") -> Program:
    """Read MLIR text into a program; never raises on bad text, which is kept and counted instead.

    `program.diagnostics` holds `undefined-value`, `undefined-alias`, `undefined-block`,
    `unparsed-text` and `unclosed-region`, each reported once per name with a count.
    """
    collecting = gc.isenabled()
    gc.disable()  # no cycle dies while a program is being built, and the collector would walk them all
    try:
        return _Reader(text, file).read()
    finally:
        if collecting:
            gc.enable()


class _Reader:
    """The state of one read: the scopes of SSA names and the stack of open regions."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.source = MlirSource(text)
        body = Region(None, 0, len(text))
        block = Block(body, "", 0, 0)
        body.blocks.append(block)
        self.program = Program("mlir", self.source, body, self.source.aliases)
        self.block = block
        self.names: dict[str, Value] = {}
        self.pending: dict[str, Value] = {}
        self.log: list[tuple[str, Value | None]] = []
        self.frames: list[Frame] = []
        self.successors: list[tuple[Op, list[str]]] = []
        self.unparsed = 0
        self.first_unparsed = -1
        self.held = -1  # where aliases and other text in front of the next op begin, or -1

    def read(self) -> Program:
        """Read the whole text."""
        pos = 0
        size = len(self.text)
        while pos < size:
            pos = self._simple_ops(pos)
            pos = self._other(pos)
        while self.frames:
            frame = self.frames[-1]
            self._say(
                "unclosed-region", f"the region of {frame.header.op.name} is never closed", frame.opened
            )
            pos = self._close_region(size)
        self._report_pending()
        self._report_aliases()
        if self.unparsed:
            what = f"{self.unparsed} piece(s) of text that are no op, kept as text"
            self._say("unparsed-text", what, self.first_unparsed, self.unparsed)
        return self.program

    # -- the fast path -------------------------------------------------------------------------------

    def _simple_ops(self, pos: int) -> int:
        """Read one-line ops from `pos` on, as many as there are; returns where they end."""
        text, source, names = self.text, self.source, self.names
        match, findall, get = _LINE.match, _REFERENCE.findall, names.get
        block = self.block
        append = block.ops.append
        lead = pos if self.held < 0 else self.held
        found = match(text, pos)
        while found is not None:
            _, result, pack, name, body = found.groups()
            if " = " in body and _DEFINITION.search(body):
                return pos
            start, end = found.span(1)
            op = Op(name, source, start, end)
            op.lead = lead
            self.held = -1
            op.block = block
            append(op)
            if "%" in body:
                operands = op.operands
                for index, reference in enumerate(findall(body)):
                    value = get(reference)
                    if value is None:
                        value = self._reference(reference)
                    operands.append(value)
                    value.uses.append((op, index))
                if name in REORDERED:
                    _reorder(op, body)
            if result is not None:
                if pack is None and not self.pending:
                    value = Value(result, op, 0)
                    op.results.append(value)
                    self.log.append((result, get(result)))
                    names[result] = value
                else:
                    self._define_pack(op, result, pack)
            pos = lead = end
            found = match(text, pos)
        return pos

    # -- everything else -----------------------------------------------------------------------------

    def _other(self, pos: int) -> int:
        """Read one thing that is no one-line op: a region's end, a label, an alias, a larger op."""
        text = self.text
        trivia = _TRIVIA.match(text, pos)
        start = trivia.end() if trivia else pos
        if start >= len(text):
            return start
        first = text[start]
        if first == "}" and self.frames:
            self.held = -1
            return self._close_region(start)
        if first == "^":
            label = _LABEL.match(text, start)
            if label:
                return self._label(start, label.end())
        if first in "#!":
            alias = _ALIAS.match(text, start)
            if alias:
                self._hold(pos)
                return self._alias(alias)
        if first == "{":
            resources = _RESOURCES.match(text, start)
            if resources:
                self._hold(pos)
                self.program.resources = resources.group()
                return resources.end()
        found = _START.match(text, start)
        name = self._full_name(found) if found else ""
        if not found or not name:
            return self._unparsed(pos, start)
        op = Op(name, self.source, start, start)
        op.lead = self._release(pos)
        op.block = self.block
        self.block.ops.append(op)
        header = Header(op, bool(found.group("quoted")), found.group("results") or "", found.end())
        return self._continue_header(header, found.end())

    def _full_name(self, found: re.Match[str]) -> str:
        quoted: str | None = found.group("quoted")
        if quoted:
            return quoted
        name: str = found.group("name")
        if "." in name:
            return name
        parent = self.frames[-1].header.op.name if self.frames else ""
        dialect = parent.partition(".")[0]
        if dialect in DEFAULT_DIALECTS:
            return f"{dialect}.{name}"
        if name == "return" and dialect == "tt":
            return "tt.return"
        return BARE_OPS.get(name, "")

    def _continue_header(self, header: Header, pos: int) -> int:
        """Scan an op's header from `pos` to its next region (entered) or to its end (finished)."""
        end, region = header.scan(self.text, pos)
        if not region:
            self._finish(header, end)
            return end
        op = header.op
        isolated = is_isolated(op.name) or header.in_partition
        frame = Frame(header, end, self.block, self.names, self.pending, self.log, self.successors, isolated)
        self._bind_operands(header, scope_for_region=True)
        if isolated:
            self.names, self.pending = {}, {}
        self.log, self.successors = [], []
        self.frames.append(frame)
        body = Region(op, end, end)
        op.regions.append(body)
        entry = Block(body, "", end, end)
        body.blocks.append(entry)
        self.block = entry
        for name in header.take_arguments():
            self._define_argument(entry, name)
        return end

    def _close_region(self, pos: int) -> int:
        """Leave the innermost region, whose `}` is at `pos`, and go on with its op's header."""
        frame = self.frames.pop()
        region = frame.header.op.regions[-1]
        region.end = pos
        if len(region.blocks) > 1 and not region.blocks[0].ops and not region.blocks[0].args:
            del region.blocks[0]  # the body began with a label
        if pos < len(self.text):
            self._add_implicit_terminator(frame.header, region, pos)
        self._resolve_successors(region)
        if frame.isolated:
            self._report_pending()
        else:
            for name, before in reversed(self.log):
                if before is None:
                    self.names.pop(name, None)
                else:
                    self.names[name] = before
        self.block, self.names, self.pending = frame.block, frame.names, frame.pending
        self.log, self.successors = frame.log, frame.successors
        return self._continue_header(frame.header, min(pos + 1, len(self.text)))

    def _add_implicit_terminator(self, header: Header, region: Region, pos: int) -> None:
        """Put in the terminator that the custom form left out, as an op of no text."""
        name = IMPLICIT_TERMINATORS.get(header.op.name)
        ops = region.blocks[-1].ops
        if name is None or header.generic or header.results or (ops and ops[-1].name == name):
            return
        place = ops[-1].end if ops else region.blocks[-1].end
        op = Op(name, self.source, place, place)
        op.block = region.blocks[-1]
        ops.append(op)

    def _finish(self, header: Header, end: int) -> None:
        op = header.op
        op.end = end
        self._bind_operands(header, scope_for_region=False)
        for result in _RESULT.finditer(header.results):
            self._define_pack(op, result.group(1), result.group(2))
        if header.successors:
            self.successors.append((op, header.successors))
        header.restructure()

    def _bind_operands(self, header: Header, *, scope_for_region: bool) -> None:
        """Turn the references seen since the last region into operands, or arguments of the next one."""
        op = header.op
        printed = header.take_references(self.names, scope_for_region)
        values = [self.names.get(name) or self._reference(name) for name in printed]
        for value in values:
            value.uses.append((op, len(op.operands)))
            op.operands.append(value)
        if not header.generic and not scope_for_region and op.name in REORDERED:
            _reorder(op, self.text[header.name_end : op.end])

    def _label(self, start: int, pos: int) -> int:
        """A block label with its arguments; `start` is at the `^`, `pos` at the `(` or `:` behind it."""
        text = self.text
        names: list[str] = []
        end = Header.arguments_of_label(text, pos, names)
        region = self.block.parent
        if region is None:
            return end
        if len(region.blocks) == 1 and not self.block.ops and not self.block.args and not self.block.label:
            region.blocks.clear()
        block = Block(region, text[start:pos].rstrip(), start, end)
        region.blocks.append(block)
        self.block = block
        for name in names:
            self._define_argument(block, name)
        return end

    def _alias(self, found: re.Match[str]) -> int:
        """Alias definitions from `found` on: a run of one-line ones, or one of any shape."""
        aliases, match = self.program.aliases, _ALIAS_LINE.match
        line = match(self.text, found.start())
        if line is not None:
            end = found.start()
            while line is not None:
                aliases[line[1]] = line[2]
                end = line.end()
                line = match(self.text, end)
            return end
        end = Header.end_of_value(self.text, found.end())
        self.program.aliases[found.group(1)] = self.text[found.end() : end].rstrip()
        return end

    def _unparsed(self, lead: int, start: int) -> int:
        """Keep the rest of the line as an op without a name."""
        end = self.text.find("\n", start)
        end = len(self.text) if end < 0 else end
        op = Op("", self.source, start, end)
        op.lead = self._release(lead)
        op.block = self.block
        self.block.ops.append(op)
        self.unparsed += 1
        if self.first_unparsed < 0:
            self.first_unparsed = start
        return end

    def _hold(self, pos: int) -> None:
        if self.held < 0:
            self.held = pos

    def _release(self, pos: int) -> int:
        lead = pos if self.held < 0 else self.held
        self.held = -1
        return lead

    # -- names ---------------------------------------------------------------------------------------

    def _reference(self, name: str) -> Value:
        """The value of a name that is not in `names`: `%x#0`, a forward reference, or undefined."""
        base, _, index = name.partition("#")
        if index == "0" and base in self.names:
            return self.names[base]
        value = self.pending.get(name)
        if value is None:
            value = self.pending[name] = Value(name)
        return value

    def _define(self, name: str, owner: Op | Block, index: int) -> Value:
        value = self.pending.pop(name, None) if self.pending else None
        if value is None:
            value = Value(name, owner, index)
        else:
            value.owner, value.index = owner, index
        self.log.append((name, self.names.get(name)))
        self.names[name] = value
        return value

    def _define_argument(self, block: Block, name: str) -> None:
        block.args.append(self._define(name, block, len(block.args)))

    def _define_pack(self, op: Op, name: str, pack: str | None) -> None:
        if pack is None:
            op.results.append(self._define(name, op, len(op.results)))
            return
        count = int(pack[:7])
        if count > _MAX_PACK:
            self._say("unparsed-text", f"{name}:{pack} claims too many results", op.start)
            count = 1
        for k in range(count):
            value = self._define(f"{name}#{k}", op, len(op.results))
            op.results.append(value)
            if k == 0:
                waiting = self.pending.pop(name, None) if self.pending else None
                if waiting is not None:
                    for use in waiting.uses:
                        use[0].operands[use[1]] = value
                    value.uses.extend(waiting.uses)
                self.log.append((name, self.names.get(name)))
                self.names[name] = value

    # -- reports -------------------------------------------------------------------------------------

    def _resolve_successors(self, region: Region) -> None:
        if not self.successors:
            return
        labels = {block.label: block for block in region.blocks if block.label}
        for op, wanted in self.successors:
            for label in wanted:
                block = labels.get(label)
                if block is None:
                    self._say(
                        "undefined-block", f"{op.name} goes to {label}, which is no block here", op.start
                    )
                else:
                    op.successors.append(block)

    def _report_pending(self) -> None:
        for name, value in self.pending.items():
            op = value.uses[0][0]
            what = f"{name} is used by {op.name} and never defined"
            self._say("undefined-value", what, op.start, len(value.uses))
        self.pending.clear()

    def _report_aliases(self) -> None:
        aliases = self.program.aliases
        missing: set[str] = set()
        for low, high in _slices(self.text):
            missing.update(name for name in _ALIAS_USE.findall(self.text, low, high) if name not in aliases)
        if not missing:
            return
        places: dict[str, int] = {}
        counts: dict[str, int] = {}
        for found in _OUTSIDE_STRINGS.finditer(self.text):
            name = found.group(1)
            if name in missing:
                places.setdefault(name, found.start(1))
                counts[name] = counts.get(name, 0) + 1
        for name, place in places.items():
            self._say("undefined-alias", f"{name} is used and never defined", place, counts[name])

    def _say(self, code: str, message: str, offset: int, count: int = 1) -> None:
        self.program.diagnostics.append(Diagnostic(code, message, offset, count))


def _slices(text: str) -> Iterator[tuple[int, int]]:
    """Stretches of the text that end with a line, so that no one search keeps other threads waiting."""
    low, size = 0, len(text)
    while low < size:
        high = text.find("\n", low + _SLICE)
        high = size if high < 0 else high + 1
        yield low, high
        low = high


def _reorder(op: Op, body: str) -> None:
    """Put operands read in text order into the order in which the op holds them."""
    order = operand_order(op.name, body)
    if order is None or len(order) != len(op.operands):
        return
    printed = list(op.operands)
    for place, value in enumerate(printed):
        value.uses.remove((op, place))
    for value, index in zip(printed, order, strict=True):
        op.operands[index] = value
    for index, value in enumerate(op.operands):
        value.uses.append((op, index))


__all__ = ["parse_mlir", "print_mlir"]
