"""Reader of MIGraphX program text, of any version, as far as a listing goes.

A program's top-level ops are its modules (op `module`, attribute `sym_name`), each with one region of one
block that holds the instructions. An instruction's op is its operation (`@literal`, `load`,
`gpu::code_object`, …), its one result has the printed name. Attributes that stand outside the brackets have
names of their own: see `migraphx_line.attributes_of`; an evaluation trace adds `eval.issue_ms` and
`eval.ms` (until the call came back, and until its work was done).

What is no instruction stays as an op with an empty name, counted in an `unparsed-text` diagnostic.
"""

from __future__ import annotations

import gc
import re
from typing import Final

from ..errors import Diagnostic
from ..program import Block, Op, Program, Region, Value
from .logs_prefix import mark_length
from .migraphx_line import Line, parse_line
from .migraphx_modules import MAIN
from .migraphx_print import print_migraphx
from .migraphx_recover import recover
from .migraphx_resolve import resolve
from .migraphx_source import HEADER, MigraphxSource
from .migraphx_wrap import Piece, Wrapped

_STAMP: Final = re.compile(r"(?:\d{4}-\d\d-\d\d [\d:.]+ )?(?:\[\w+\] )?(?:\[[^\]\n]*:\d+\] )?")
_PREFIX_ENDS: Final = " \t>|:])"
_RUN: Final = "Run instruction: "
_NUMBER: Final = r"\d+(?:\.\d*)?(?:[eE][+\-]?\d+)?"
_TIMES: Final = re.compile(rf"Time: (?P<issue>{_NUMBER})ms(?:, (?P<done>{_NUMBER})ms)?\s*$")
_NOTE: Final = re.compile(r"Output has|Ou?t?put:|Ouput:|Min value:|Max value:|Mean:|Time: ")


def parse_migraphx(text: str, file: str = "<text>", *, intact: Program | None = None) -> Program:
    """Read a listing into a program; never raises on bad text.

    `intact` is another listing of the same program: where this one was mangled by markdown, its lost
    arguments come from there. Diagnostics: `undefined-value`, `missing-module`, `unparsed-text`,
    `markdown-mangled`, `recovered-from-intact`, `duplicate-name`.
    """
    collecting = gc.isenabled()
    gc.disable()  # no cycle dies while a program is being built, and the collector would walk them all
    try:
        return _Reader(text).read(intact)
    finally:
        if collecting:
            gc.enable()


class _Reader:
    """The state of one read; operands are resolved once every name is known."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.source = MigraphxSource(text)
        body = Region(None, 0, len(text))
        self.top = Block(body, "", 0, 0)
        body.blocks.append(self.top)
        self.program = Program("migraphx", self.source, body)
        self.module: Block | None = None
        self.module_name = MAIN
        self.prefix = ""
        """What stands in front of the last header, and perhaps of the lines below it."""
        self.last: Op | None = None
        """The instruction that notes and the rest of a wrapped line belong to."""
        self.last_is_run = False
        self.open: Wrapped | None = None
        self.whole: Wrapped | None = None
        """The last instruction if it was broken and is whole by now."""
        self.mangled: list[Op] = []

    def read(self, intact: Program | None) -> Program:
        pos, size = 0, len(self.text)
        lead = 0
        while pos < size:
            end = self.source.line_end(pos)
            stop = pos + len(self.text[pos:end].rstrip())
            if self._line(lead, pos, stop, end):
                lead = stop
            pos = end + 1
        self._close_module()
        self.source.end = max((op.end for op in self.top.ops), default=0)
        self._recover(intact)
        resolve(self.program, self.source)
        self._report()
        return self.program

    # -- lines ---------------------------------------------------------------------------------------

    def _line(self, lead: int, pos: int, stop: int, end: int) -> bool:
        """Read one line, blanks at its end from `stop` on; False for a blank one."""
        start = self._front(pos, stop)
        if start >= stop:
            self._give_up()
            return False
        header = self._header(pos, start, stop, end)
        if header >= 0:
            self._open_module(lead, header, stop)
            return True
        is_run = self.text.startswith(_RUN, start)
        start += len(_RUN) if is_run else 0
        text = self.text[start:stop]
        line = parse_line(text, self.module_name)
        if line is not None and self._is_instruction(line):
            self._give_up()
            self._instruction(lead, start + line.skip, stop, line)
            self.last_is_run = is_run
        elif not self._belongs_to_last(text, Piece(lead, start, stop)):
            self._keep(lead, start, stop)
        return True

    def _front(self, pos: int, stop: int) -> int:
        """Where a line begins, behind blanks, the prefix of its module's header, a mark, a time stamp."""
        text = self.text
        if self.prefix and text.startswith(self.prefix, pos):
            pos += len(self.prefix)
        if pos < stop and text[pos] in "([0123456789":
            pos += mark_length(text[pos : min(stop, pos + 400)])
        while pos < stop and text[pos].isspace():
            pos += 1
        stamp = _STAMP.match(text, pos, stop)
        return stamp.end() if stamp else pos

    def _header(self, line: int, start: int, stop: int, end: int) -> int:
        """Where the header on a line begins, -1 if there is none; text in front of it must be a prefix.

        A prefix of no known form is one if the next line has it too.
        """
        place = self.text.find('module: "', start, stop)
        if place < 0 or not HEADER.match(self.text, place, stop):
            return -1
        if place > start and not (
            self.text[place - 1] in _PREFIX_ENDS and self.text.startswith(self.text[line:place], end + 1)
        ):
            return -1
        self.prefix = self.text[line:place]
        return place

    def _is_instruction(self, line: Line) -> bool:
        """Whether it is one, and not prose with ` = `: it has a shape, a number or MIGraphX's own op."""
        if line.op.startswith("@") or line.is_numbered:
            return True
        return bool(line.name and line.shape) and self.source.is_whole(line)

    def _belongs_to_last(self, text: str, piece: Piece) -> bool:
        """Times and values below an evaluated instruction, or the rest of a wrapped line."""
        is_note = self.last_is_run and _NOTE.match(text) is not None
        if is_note:
            self._give_up()
        if self.last is None:
            return False
        if is_note:
            self._note(self.last, text)
            self.last.end = piece.end
            return True
        return self._wrapped(self.last, piece)

    def _note(self, op: Op, text: str) -> None:
        times = _TIMES.match(text)
        if times:
            notes = self.source.notes.setdefault(op.start, {})
            notes["eval.issue_ms"] = times["issue"]
            notes["eval.ms"] = times["done"] or times["issue"]

    def _wrapped(self, last: Op, piece: Piece) -> bool:
        if self.open is None:
            if self.source.lines[last.start].extent != last.end - last.start:
                return False
            self.whole = self.whole or Wrapped(last, self.module_name, last.end)
            line = self.whole.join_tail(self.source, piece)
            if line is not None:
                self._rewrite(last, line)
            return line is not None
        line = self.open.joined(self.source, piece)
        if line is not None:
            self._rewrite(last, line)
            self.whole, self.open = self.open, None
            return True
        if self.open.is_full:
            self._give_up()
            return False
        self.open.pieces.append(piece)
        return True

    def _rewrite(self, op: Op, line: Line) -> None:
        """Let an instruction be what it says with the lines held for it."""
        self.source.lines[op.start] = line
        op.name, op.end = line.op, op.start + line.extent

    def _give_up(self) -> None:
        """The open instruction was cut off: what was held for it is text of its own."""
        if self.open is None:
            return
        held, self.open = self.open.pieces, None
        for piece in held:
            self._keep(piece.lead, piece.start, piece.end)

    # -- ops -----------------------------------------------------------------------------------------

    def _open_module(self, lead: int, start: int, inside: int) -> None:
        self._close_module()
        found = HEADER.match(self.text, start, inside)
        self._new_module(lead, start, inside, found["name"] if found else MAIN)

    def _new_module(self, lead: int, start: int, inside: int, name: str) -> Block:
        op = Op("module", self.source, start, inside)
        op.lead = lead
        op.block = self.top
        self.top.ops.append(op)
        region = Region(op, inside, inside)
        op.regions.append(region)
        block = Block(region, "", inside, inside)
        region.blocks.append(block)
        self.module, self.module_name = block, name
        self.last = None
        return block

    def _close_module(self) -> None:
        self._give_up()
        region = self.module.parent if self.module is not None else None
        if self.module is not None and region is not None and region.parent is not None:
            region.end = self.module.ops[-1].end if self.module.ops else self.module.end
            region.parent.end = region.end

    def _instruction(self, lead: int, start: int, end: int, line: Line) -> None:
        # The first instruction of a listing without a header has all of the text in front of it.
        block = self.module or self._new_module(lead, lead, lead, MAIN)
        line.extent = end - start
        op = Op(line.op, self.source, start, end)
        op.lead = lead
        op.block = block
        block.ops.append(op)
        self.source.lines[start] = line
        self.last, self.whole = op, None
        if line.mangled:
            self.mangled.append(op)
        if line.op != "@return" and line.name:
            op.results.append(Value(line.name, op, 0))
        if not self.source.is_whole(line):
            self.open = Wrapped(op, self.module_name, end)

    def _keep(self, lead: int, start: int, end: int) -> None:
        self._give_up()
        op = Op("", self.source, start, end)
        op.lead = lead
        op.block = self.module or self.top
        op.block.ops.append(op)
        self.last = None

    # -- reports -------------------------------------------------------------------------------------

    def _recover(self, intact: Program | None) -> None:
        self.mangled = [op for op in self.mangled if self.source.lines[op.start].mangled]
        if not self.mangled:
            return
        first = self.mangled[0].start
        what = "markdown has taken the brackets and arguments of these instructions"
        self._say("markdown-mangled", what, first, len(self.mangled))
        filled = recover(self.mangled, self.source, intact)
        if filled:
            what = "their arguments were filled in from an intact listing of the same program"
            self._say("recovered-from-intact", what, first, filled)

    def _report(self) -> None:
        blocks = [self.top, *(region.blocks[0] for op in self.top.ops for region in op.regions)]
        unparsed = [op for block in blocks for op in block.ops if not op.name]
        if unparsed:
            what = f"{len(unparsed)} line(s) that are no instruction, kept as text"
            self._say("unparsed-text", what, min(op.start for op in unparsed), len(unparsed))
        again: list[Op] = []
        for block in blocks[1:]:
            names: set[str] = set()
            for op in block.ops:
                for value in op.results:
                    again += [op] if value.name in names else []
                    names.add(value.name)
        if again:
            more = f", and {len(again) - 1} more names are" if len(again) > 1 else ""
            what = f"{again[0].results[0].name} is defined again{more}"
            self._say("duplicate-name", what, again[0].start, len(again))

    def _say(self, code: str, message: str, offset: int, count: int = 1) -> None:
        self.program.diagnostics.append(Diagnostic(code, message, offset, count))


__all__ = ["MigraphxSource", "parse_migraphx", "print_migraphx"]
