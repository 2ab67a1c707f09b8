"""MLIR's pass dumps: what a banner says, and what a dump shows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ..snapshot import When
from .logs_text import Data

_BANNER: Final = re.compile(
    r"(?P<prefix>.*?)(?:// -----// |\*\*\* )(?P<inner>\S.*? internal )?IR Dump (?P<when>Before|After):? ?"
    r"(?P<rest>.*?)\s*(?P<trailer>//----- //|\*\*\*)?\s*$"
)
_SCOPE: Final = re.compile(r"\s*\('(?P<op>[^']+)' operation(?::\s*@(?P<symbol>.*))?\)$")
_OLD: Final = re.compile(r"(?P<name>.*?)\s*\((?P<argument>[^()']+)\)$")
_NEW: Final = re.compile(r"(?P<name>[^:{]+): (?P<argument>[^{\s]*)(?:\{(?P<options>.*)\})?$")
_SYMBOL: Final = re.compile(rb"@(\"[^\"\n]*\"|[\w$.\-]+)")
_MODULE: Final = re.compile(rb"\"?(?:builtin\.)?module\b")
_LONGEST_LINE: Final = 65536
_NEAR: Final = 16384
"""Most modules begin so few bytes behind their banner; aliases stand in front."""


@dataclass(frozen=True, slots=True)
class Banner:
    """One banner line, taken apart."""

    prefix: str
    when: When
    internal: bool
    name: str
    argument: str
    options: str
    failed: bool
    op_name: str
    symbol: str
    whole: bool = True
    """Whether its end was on the line; a banner that a terminal wrapped goes on in the next line."""


def parse_banner(line: str) -> Banner | None:
    """The parts of a banner line of any MLIR or Triton release; None for a line that is no banner."""
    found = _BANNER.match(line)
    if found is None:
        return None
    rest = found["rest"]
    op_name = symbol = ""
    scope = _SCOPE.search(rest)
    if scope:
        op_name, symbol = scope["op"], scope["symbol"] or ""
        rest = rest[: scope.start()]
    rest = rest.removesuffix(" (invalidated)")
    failed = False
    new = _NEW.match(rest)
    old = None if new else _OLD.match(rest.removesuffix(" Failed"))
    if new:
        name, argument, options = new["name"], new["argument"], (new["options"] or "").strip()
    elif old:
        name, argument, options = old["name"], old["argument"], ""
    else:
        name, argument, options = rest, "", ""
    if rest.endswith(" Failed") or name.endswith(" Failed") or argument.endswith(" Failed"):
        failed = True
    name, argument = name.removesuffix(" Failed").strip(), argument.removesuffix(" Failed").strip()
    when: When = "before" if found["when"] == "Before" else "after"
    internal = found["inner"] is not None
    whole = internal or found["trailer"] is not None
    return Banner(found["prefix"], when, internal, name, argument, options, failed, op_name, symbol, whole)


def scope_of(data: Data, start: int, end: int) -> str:
    """The symbol of the function that a dump shows; '' for a dump of a whole module."""
    if data.find(b"\nmodule", max(start - 1, 0), min(end, start + _NEAR)) >= 0:
        return ""
    pos = start
    while pos < end:
        line_end = data.find(b"\n", pos, end)
        line_end = end if line_end < 0 else line_end
        line = bytes(data[pos : min(line_end, pos + _LONGEST_LINE)])
        if line.strip() and not line.startswith((b"#", b"!", b"//")):
            if _MODULE.match(line):
                return ""
            symbol = _SYMBOL.search(line)
            return symbol.group(1).decode("utf-8", "replace").strip('"') if symbol else ""
        pos = line_end + 1
    return ""
