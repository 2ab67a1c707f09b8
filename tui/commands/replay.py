"""`passlens replay`: what Triton's layout pass said of itself, as steps, beside what a rule set would do."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator

from ...ir.errors import InputError
from ...ir.formats.logs_text import decode
from ...ir.passes.layout.replay import Parting, Replay, compare_with, read_replays, sentence, to_json
from ...ir.passes.layout.rules import pick_rules, rules_named
from ...ir.program import Program
from ...ir.trace import Trace, open_trace
from ..safe import visible
from ..select import find_runs

HELP = "the layout pass as the compiler told it, step by step"
_PASS = "tritongpu-remove-layout-conversions"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "file", help="a log made with `passlens capture --layout-debug`; - for standard input"
    )
    parser.add_argument("--run", type=int, metavar="K", help="only the K-th run of the pass, from 1")
    parser.add_argument(
        "--kind", metavar="KIND", help="only events of this kind (visit, remat-check, abort, …)"
    )
    parser.add_argument(
        "--against", metavar="RULES", help="a rule set, or auto: say where its propagation parts"
    )
    parser.add_argument("--json", action="store_true", help="everything as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the steps; 1 if the pass died, or if the rule set parts from it."""
    trace = open_trace(args.file)
    replays = read_replays(decode(bytes(trace.data[:])))
    if not replays:
        raise InputError(
            f"{trace.name} holds no debug output of the layout pass: make one with "
            "`passlens capture --layout-debug -- python script.py`"
        )
    numbered = list(enumerate(replays, 1))
    if args.run is not None:
        if not 1 <= args.run <= len(replays):
            raise InputError(f"the pass ran {len(replays)} time(s): there is no run {args.run}")
        numbered = numbered[args.run - 1 : args.run]
    if args.json:
        json.dump({"schema": 1, "runs": [to_json(replay) for _, replay in numbered]}, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        sys.stdout.writelines(f"{line}\n" for k, replay in numbered for line in _lines(k, replay, args.kind))
    parted = [_against(trace, k, replay, args.against) for k, replay in numbered] if args.against else []
    return int(any(parted) or any(replay.aborted for _, replay in numbered))


def _lines(number: int, replay: Replay, kind: str | None) -> Iterator[str]:
    yield f"run {number}: {len(replay.events)} events" + (
        ", and there the process died" if replay.aborted else ""
    )
    for event in replay.events:
        if kind is not None and event.kind != kind:
            continue
        yield f"  {event.line:>6}  {event.kind:<13} {visible(sentence(event))}"
        yield from (f"{'':24}{visible(encoding)}" for encoding in event.encodings)


def _against(trace: Trace, number: int, replay: Replay, rules: str) -> bool:
    """Say where the rule set's propagation parts from the compiler's; whether it does."""
    program = _program(trace, number)
    chosen = pick_rules(program.text) if rules == "auto" else rules_named(rules)
    parting = compare_with(replay, program, chosen)
    if parting is None:
        print(
            f"run {number}: {chosen.name} visits the same values with the same encodings, in the same order"
        )
        return False
    print(f"run {number}: {chosen.name} parts from the compiler at visit {parting.number + 1}")
    print(f"  compiler: {_said(parting, True)}\n  {chosen.name}: {_said(parting, False)}")
    return True


def _said(parting: Parting, theirs: bool) -> str:
    if theirs:
        event = parting.theirs
        return "has ended" if event is None else visible(f"{event.subject} in {', '.join(event.encodings)}")
    visit = parting.ours
    return "has ended" if visit is None else visible(f"{visit.text} in {', '.join(visit.encodings)}")


def _program(trace: Trace, number: int) -> Program:
    """The module that the K-th run of the pass was given."""
    runs = [run for run in find_runs(trace, _PASS) if run.before is not None]
    if len(runs) >= number:
        return trace.program(runs[number - 1].before or 0)
    raise InputError(f"{trace.name} does not hold the module in front of run {number} of the pass")
