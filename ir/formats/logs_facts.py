"""What a log says besides IR: driver lines, crashes, reproducers, hand-made dumps of layout propagation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final

from .logs_near import near_facts
from .logs_text import Data
from .logs_wrap import anyhow_wrapped, unwrap

_DRIVER: Final[dict[str, re.Pattern[str]]] = {
    "free_memory": re.compile(r"^Free memory: (\d+)", re.M),
    "streaming_budget": re.compile(r"^Streaming budget: (\d+)", re.M),
    "scratch_size": re.compile(r"^Scratch size: (\d+)", re.M),
    "total_literals": re.compile(r"^Total size of literals: (\d+)", re.M),
    "parameter_bytes": re.compile(r"^Total parameter size: (\d+)", re.M),
}
_PERF: Final[dict[str, re.Pattern[str]]] = {
    "total_ms": re.compile(r"^Total time: ([\d.eE+\-]+)ms", re.M),
    "instructions_ms": re.compile(r"^Total instructions time: ([\d.eE+\-]+)ms", re.M),
    "rate": re.compile(r"^Rate: ([\d.eE+\-]+) inferences/sec", re.M),
    "batch": re.compile(r"^Batch size: (\d+)", re.M),
}
_VERSION: Final = re.compile(r"\[ MIGraphX Version: ([^\]\s]+) \]")
_FATAL: Final = re.compile(
    anyhow_wrapped("Assertion `")
    + r"|UNREACHABLE executed at|LLVM ERROR: |terminate called after|Memory access fault"
    r"|PLEASE submit a bug report"
)
_FRAME: Final = re.compile(r"^ *#\d+ 0x[0-9a-f]+ [^\n]*", re.M)
_FAILING: Final = re.compile(
    r"Pipeline failed while executing \[`(\w+)` on '([^']*)' operation(?:: @([^\]]*))?\]"
)
_GAVE_UP: Final = re.compile(
    r"PassManager::run failed|Failures have been detected while processing an MLIR pass"
)
_CRASH_LINES: Final = 400
_LONGEST_CRASH: Final = 1 << 20
_PIPELINE: Final = re.compile(r'\bpipeline: "((?:[^"\\]|\\.)*)"')
_ERROR: Final = re.compile(r"^[^\n]*: error: [^\n]*", re.M)


@dataclass(frozen=True, slots=True)
class Propagated:
    """One entry of a layout propagation dump: the printed value and its candidate encodings in order."""

    value: str
    encodings: tuple[str, ...]


@dataclass(slots=True)
class LogFacts:
    """Facts in the order of the text; sizes in bytes."""

    driver: dict[str, list[int]] = field(default_factory=dict)
    """Driver line → every value it had (`free_memory`, `streaming_budget`, `scratch_size`, …)."""
    perf: dict[str, float] = field(default_factory=dict)
    """The summary of a perf run: `total_ms` and `instructions_ms` an inference, `rate` a second, `batch`."""
    versions: list[str] = field(default_factory=list)
    crash: str = ""
    """The assertion or fatal error, in one line; '' if nothing crashed."""
    back_trace: list[str] = field(default_factory=list)
    failing_pass: str = ""
    failing_symbol: str = ""
    errors: list[str] = field(default_factory=list)
    reproducers: list[str] = field(default_factory=list)
    """Pass pipelines of the reproducers printed, e.g. `builtin.module(cse)`."""
    propagation: list[Propagated] = field(default_factory=list)


def read_facts(inputs: Sequence[tuple[Data, Sequence[tuple[int, int]]]]) -> LogFacts:
    """Search inputs for facts, each in some stretches of its bytes (those between its programs)."""
    return facts_of_text("\n".join(near_facts(data, stretches) for data, stretches in inputs))


def facts_of_text(text: str) -> LogFacts:
    """The facts that a text states; of a large log, give only the lines that may state any."""
    facts = LogFacts()
    for name, pattern in _DRIVER.items():
        values = [int(digits) for digits in pattern.findall(text) if len(digits) < 19]
        if values:
            facts.driver[name] = values
    for name, pattern in _PERF.items():
        found = pattern.search(text)
        if (
            found
            and len(found.group(1)) < 20
            and re.fullmatch(r"\d+(?:\.\d*)?(?:[eE][+\-]?\d+)?", found.group(1))
        ):
            facts.perf[name] = float(found.group(1))
    facts.versions = list(dict.fromkeys(_VERSION.findall(text)))
    around = _crash_text(text)
    facts.crash = _crash(around)
    facts.back_trace = [" ".join(frame.split()) for frame in _FRAME.findall(around)]
    failing = _FAILING.search(text)
    if failing:
        facts.failing_pass, facts.failing_symbol = failing.group(1), failing.group(3) or ""
    facts.errors = list(dict.fromkeys(line.strip() for line in _ERROR.findall(text)))[:100]
    facts.reproducers = list(dict.fromkeys(_PIPELINE.findall(text)))
    facts.propagation = _propagation(text)
    return facts


def has_crash(text: str) -> bool:
    """Whether a text holds a fatal message, or MLIR says that passes failed."""
    return _FATAL.search(text) is not None or _GAVE_UP.search(text) is not None


def failed_pass(text: str) -> str:
    """The pass that MLIR names as the failing one in a text, or ''."""
    found = _FAILING.search(text)
    return found.group(1) if found else ""


def _crash_text(text: str) -> str:
    """The paragraph of the first fatal message, a terminal's line breaks taken out; '' without one."""
    fatal = _FATAL.search(text)
    if fatal is None:
        return ""
    before = text[max(fatal.start() - 1000, 0) : fatal.start()].split("\n")
    behind = text[fatal.start() : fatal.start() + _LONGEST_CRASH].split("\n")
    paragraph = [*takewhile(str.strip, reversed(before[:-1]))][::-1]
    paragraph += [before[-1] + behind[0], *takewhile(str.strip, behind[1:_CRASH_LINES])]
    return unwrap("\n".join(paragraph))


def _crash(text: str) -> str:
    """The first fatal message with the line it is on."""
    fatal = _FATAL.search(text)
    if fatal is None:
        return ""
    begin = text.rfind("\n", 0, fatal.start()) + 1
    end = text.find("\n", fatal.end())
    end = len(text) if end < 0 else end
    following = text[end + 1 : end + 400].partition("\n")[0]
    message = text[begin:end].rstrip()
    if message.endswith("exception'") or "what():" in following:
        message += " " + following.strip()
    return " ".join(message.split())[:2000]


def _propagation(text: str) -> list[Propagated]:
    """`Value: …` / `encoding:` / one encoding a line, as printed by a hand-made dump in the pass."""
    found: list[Propagated] = []
    value = ""
    encodings: list[str] = []
    if "Value: " not in text:
        return found
    for line in text.split("\n"):
        words = line.strip()
        if words.startswith("Value: "):
            if value and encodings:
                found.append(Propagated(value, tuple(encodings)))
            value, encodings = words[7:].strip(), []
        elif value and words.startswith("#"):
            encodings.append(words)
        elif value and words and not words.startswith(("encoding:", "--")):
            if encodings:
                found.append(Propagated(value, tuple(encodings)))
            value, encodings = "", []
    if value and encodings:
        found.append(Propagated(value, tuple(encodings)))
    return found
