"""The Timeline screen: the program as it stands beside its plan, the arena, and a budget to slide."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from ...ir.analysis.devices import device_names
from ...ir.errors import InputError
from ...ir.formats.migraphx_print import print_migraphx
from ...ir.program import Op, Program
from ...ir.snapshot import Snapshot
from ...ir.trace import Trace
from ..collecting import uncollected
from ..commands.plan import size_of
from ..files import write_whole
from ..jobs import Latest, Stale
from ..planning import WHICH, Ask, Planned, Which, budget_bytes, plans_for, stepped
from ..programs import planning_source
from ..safe import visible
from ..widgets.bars import Bar
from ..widgets.key_bar import Key, KeyBar
from ..widgets.prompt import Prompt
from ..widgets.row_list import RowList
from ..widgets.rows import Row, heading, wrapped
from ..widgets.timeline_picture import TimelinePicture
from ..widgets.timeline_words import (
    budget_pieces,
    interval_words,
    life_words,
    memory_pieces,
    proof_pieces,
    time_pieces,
)
from .help import HelpScreen

KEYS: Final = (
    ("less_than_sign", "<", "Less", "budget(-1)", "5 % fewer of the weights may stay: plan again"),
    ("greater_than_sign", ">", "More", "budget(1)", "5 % more of the weights may stay: plan again"),
    ("n", "n", "Which", "which", "the cursor and the arena: planned, as it stands, copied at first use"),
    ("plus,equals_sign", "+", "In", "zoom(1)", "show less time, around the cursor"),
    ("right_square_bracket", "]", "Stall", "stall(1)", "to the next stall, with its cause"),
    ("b", "b", "Budget", "type('budget')", "type a budget: 50MB, 25% or auto"),
    ("o", "o", "Write", "type('write')", "write the planned program to a file"),
    ("question_mark,f1", "?", "Help", "help", "this page"),
    ("escape,q", "q", "Close", "close", "back to the passes"),
    (
        "M",
        "M",
        "Limit",
        "type('limit')",
        "type a memory limit (offered: what it takes as it stands); nothing for none",
    ),
    ("v", "v", "Device", "device", "plan for the next device profile"),
    ("c", "c", "Cold", "cold", "plan for one cold run, or for a steady stream"),
    ("minus", "-", "Out", "zoom(-1)", "show more time"),
    ("left_square_bracket", "[", "Stall before", "stall(-1)", "to the stall before, with its cause"),
    ("full_stop", ".", "Next", "interval(1)", "to the next kernel or copy on the lane"),
    ("comma", ",", "Previous", "interval(-1)", "to the kernel or copy before it"),
)
_MOVING: Final = (
    ("h l ← →", "earlier and later; the picture follows the cursor"),
    ("H L", "by twenty columns"),
    ("j k ↑ ↓", "to another lane, and down into the arena"),
    ("0 $", "to the beginning and the end of the run"),
    ("enter", "to the op under the cursor in the program"),
)
_SIGNS: Final = (
    ("█ ▃", "type", "kernels run: as high as the share of the time in which they do"),
    ("▓", "value", "a copy under a running kernel; in the arena, a weight copied in"),
    ("░", "bad", "a copy under no kernel: the GPU computes nothing meanwhile"),
    ("▒", "good", "an activation in the arena"),
    ("·", "dim", "nothing"),
    ("▲", "accent", "a kernel began late here: the end of a stall"),
)


class TimelineScreen(Screen[Op]):
    """One program; dismissed with the op to go to, or without one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(keys, action, label, show=False) for keys, _, label, action, _ in KEYS
    ]

    def __init__(self, trace: Trace, snapshot: Snapshot, title: str, ask: Ask | None = None) -> None:
        super().__init__()
        self.trace = trace
        self.snapshot = snapshot
        self.name_of_program = title
        self.ask = Ask() if ask is None else ask
        """What the reader wants now; what is shown may still be the plan before it."""
        self.planned: Planned | None = None
        self.which: Which = "planned"
        self._fault = ""
        self.work: Latest[Ask] = Latest(self, "plan", self._plan, self._failed)

    def compose(self) -> ComposeResult:
        """Title, budget, memory, times, the picture, what is under the cursor, keys."""
        yield Bar(id="time-title")
        yield Bar(id="time-budget")
        yield Bar(id="time-memory")
        yield Bar(id="time-times")
        yield TimelinePicture(id="time-picture")
        words = RowList(id="time-words")
        words.can_focus = False
        yield words
        yield Prompt(id="prompt")
        yield KeyBar([Key(shown, label, action) for _, shown, label, action, _ in KEYS])

    def on_mount(self) -> None:
        """Plan, off the screen's thread."""
        self.picture.focus()
        self._bars()
        self.work.ask(self.ask)

    @property
    def picture(self) -> TimelinePicture:
        """Lanes and arena."""
        return self.query_one(TimelinePicture)

    # -- planning ---------------------------------------------------------------------------------

    def _plan(self, ask: Ask, stale: Stale) -> None:
        read = planning_source(self.trace, self.snapshot)
        free = self.trace.facts.driver.get("free_memory", [])
        with uncollected():  # a collection stops all threads for up to half a second in a large program
            for planned in plans_for(read, ask, int(free[0]) if free else None):
                if stale() or not self.is_running:
                    return
                self.app.call_from_thread(self.show_plan, planned)

    def _failed(self, error: Exception) -> None:
        said = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        self._fault = f"this cannot be planned: {said}"
        self._bars()

    def show_plan(self, planned: Planned) -> None:
        """Show a plan, unless the reader has asked for another one since.

        An older plan stays until the new one is there, rather than nothing.
        """
        unfinished = planned.report is None and not planned.fault
        if planned.ask != self.ask or (unfinished and self.planned is not None):
            return
        self.planned = planned
        self._fault = planned.fault
        self.picture.show(planned, self.which)
        self._bars()

    def _wish(self, ask: Ask) -> None:
        """Ask for another plan; the old one is shown until it is there."""
        if ask != self.ask:
            self.ask = ask
            self._fault = ""
            self.work.ask(ask)
            self._bars()

    # -- what is said -----------------------------------------------------------------------------

    def _bars(self) -> None:
        planned, ask = self.planned, self.ask
        fresh = planned if planned is not None and planned.ask == ask else None
        stream = "steady stream" if ask.steady else "one cold run"
        left = (
            (" timeline ", "key"), (f" {self.name_of_program}", "heading"),
            (f"  {ask.device}", "accent"), (f", {stream}", "dim"),
        )  # fmt: skip
        proof = proof_pieces(fresh) if not self._fault or fresh is not None else ((" ✗ no plan ", "bad"),)
        self.query_one("#time-title", Bar).say(left, proof)
        shown = planned if fresh is not None else None
        if shown is None and planned is not None:
            shown = replace(planned, report=None)
        self.query_one("#time-budget", Bar).say(budget_pieces(shown, ask.budget, ask.limit))
        if planned is not None:
            self.query_one("#time-memory", Bar).say(memory_pieces(planned))
            self.query_one("#time-times", Bar).say(time_pieces(planned))
        self._words()

    def _words(self) -> None:
        words, sight, picture = self.query_one("#time-words", RowList), self.picture.sight, self.picture
        said: list[tuple[str, str]] = []
        report = self.planned.report if self.planned is not None else None
        if self._fault:
            said.append((self._fault, "bad"))
        elif report is not None and report.violations and self.which == "planned":
            said += [(f"{each.kind}: {each.message}", "bad") for each in report.violations[:3]]
        if sight is not None and not self._fault:
            interval, life = picture.interval, picture.life
            if interval is not None:
                said += [(text, "warn" if text[0] == "▲" else "") for text in interval_words(sight, interval)]
            elif life is not None:
                said += [(text, "") for text in life_words(sight, life)]
            else:
                said.append(("nothing lies here", "dim"))
        width = max(self.size.width - 1, 20)
        words.show([row for text, style in said for row in wrapped(visible(text), width, style, " ")], 0)

    @on(TimelinePicture.Moved)
    def _moved(self) -> None:
        self._words()

    def on_resize(self, _: events.Resize) -> None:
        """Fit the words."""
        self._words()

    # -- actions ----------------------------------------------------------------------------------

    def action_budget(self, by: int) -> None:
        """Let more or fewer weights stay."""
        if self.planned is not None:
            self._wish(stepped(self.ask, by, self.planned.literals))

    def action_device(self) -> None:
        """Plan for the next device profile."""
        names = device_names()
        at = names.index(self.ask.device) if self.ask.device in names else -1
        self._wish(replace(self.ask, device=names[(at + 1) % len(names)]))

    def action_cold(self) -> None:
        """Plan for one cold run, or for a steady stream."""
        self._wish(replace(self.ask, steady=not self.ask.steady))

    def action_which(self) -> None:
        """Turn to the next of the programs."""
        if self.planned is None:
            return
        here = [which for which in WHICH if which in self.planned.sights]
        at = here.index(self.which) if self.which in here else -1
        self.which = here[(at + 1) % len(here)]
        self.picture.show(self.planned, self.which)

    def action_zoom(self, by: int) -> None:
        """Show less time, or more."""
        self.picture.zoom(by)

    def action_stall(self, by: int) -> None:
        """Go to the next stall of a kernel, or the one before."""
        picture, sight = self.picture, self.picture.sight
        if sight is None:
            return
        now = sight.begin_us + picture.at_us
        interval = picture.interval
        stalls = [stall.interval for stall in sight.stalls]
        ahead = [
            each
            for each in stalls
            if (each.start_us > now + 1e-3 if by > 0 else each.start_us < now - 1e-3) and each is not interval
        ]
        if not ahead:
            self.notify("no kernel stands still " + ("after" if by > 0 else "before") + " this", timeout=2)
            return
        self._go_to(min(ahead, key=lambda each: abs(each.start_us - now)))

    def _go_to(self, interval: object) -> None:
        picture, sight = self.picture, self.picture.sight
        for number, place in enumerate(picture.places):
            for each in picture.lines[place].intervals or ():
                if each is interval and sight is not None:
                    middle = (each.start_us + min(each.us / 2, 1e-3)) - sight.begin_us
                    picture.go(middle, number)
                    return

    def action_interval(self, by: int) -> None:
        """Go to the next kernel or copy on the lane, or the one before."""
        line, interval = self.picture.here, self.picture.interval
        if line is None or line.intervals is None or interval is None:
            return
        at = line.intervals.index(interval) + by
        if 0 <= at < len(line.intervals):
            self._go_to(line.intervals[at])

    def action_type(self, purpose: str) -> None:
        """Type a budget, a limit, or where to write."""
        prompt = self.query_one(Prompt)
        if purpose == "budget":
            prompt.open("budget", self.ask.budget)
        elif purpose == "limit":
            # What it takes as it stands is what most readers have: a plan within that is one Enter away.
            stands = self.planned.sights["as it stands"].account.total if self.planned is not None else ""
            prompt.open("limit", str(self.ask.limit if self.ask.limit is not None else stands))
        elif self.planned is None or self.planned.report is None:
            self.notify("there is no plan to write yet", timeout=2)
        else:
            prompt.open("write", _free_name(self.trace.name))

    @on(Prompt.Typed)
    def _typed(self, event: Prompt.Typed) -> None:
        if not event.done:
            return
        self.picture.focus()
        if event.cancelled:
            return
        try:
            self._take(event.purpose, event.text.strip())
        except InputError as error:
            self.notify(visible(str(error)), severity="warning", timeout=5, markup=False)

    def _take(self, purpose: str, text: str) -> None:
        if purpose == "budget":
            budget_bytes(text, 0)
            self._wish(replace(self.ask, budget=text))
        elif purpose == "limit":
            self._wish(replace(self.ask, limit=size_of(text, "memory limit") if text else None))
        elif purpose == "write" and text:
            self._write(text)

    def _write(self, path: str) -> None:
        planned = self.planned
        if planned is None or planned.report is None or planned.ask != self.ask:
            raise InputError("the plan is not there yet; write it when it is")
        if os.path.lexists(path):
            raise InputError(f"{path} is there already; give another name")
        write_whole(path, print_migraphx(planned.report.program))
        self.notify(f"wrote {visible(path)}", timeout=3, markup=False)

    @on(TimelinePicture.Chosen)
    def _chosen(self) -> None:
        interval, life = self.picture.interval, self.picture.life
        if interval is not None:
            self.dismiss(interval.op)
        elif life is not None:
            self.dismiss(life.buffer.load)

    def action_help(self) -> None:
        """Show the keys and signs."""
        self.app.push_screen(HelpScreen(help_rows()))

    def action_close(self) -> None:
        """Back to the passes."""
        self.dismiss()


def _free_name(name: str) -> str:
    """A name for the plan that no file has yet."""
    stem = Path(name).name.partition(".")[0] or "program"
    names = (f"{stem}.plan{number or ''}.txt" for number in range(1000))
    return next((each for each in names if not os.path.lexists(each)), "")


def offset_of(op: Op, program: Program) -> int | None:
    """Where in the text of a program the op stands that a plan's op is made of; None where none is.

    Kernels keep the names of their results; a copy stands for the literal that it copies.
    """
    wanted = [*(result.name for result in op.results), *(value.name for value in op.operands[:1])]
    known: dict[str, Op] = {}
    for module in program.ops:
        for region in module.regions:
            for block in region.blocks:
                for each in block.ops:
                    for result in each.results:
                        known.setdefault(result.name, each)
    found = next((known[name] for name in wanted if name in known), None)
    return found.start if found is not None and found.start < found.end else None


def help_rows() -> list[Row]:
    """The rows of the help page of this screen."""
    rows = [heading(" Timeline")]
    for _, shown, label, _, what in KEYS:
        rows.append(Row((("   ", ""), (f"{shown:<13}", "key"), (f"{label:<17}", ""), (what, "dim"))))
    rows += [Row(()), heading(" Moving")]
    rows += [Row((("   ", ""), (f"{keys:<13}", "key"), (what, "dim"))) for keys, what in _MOVING]
    rows += [Row(()), heading(" Signs")]
    rows += [Row((("   ", ""), (f"{sign:<13}", style), (what, "dim"))) for sign, style, what in _SIGNS]
    return rows
