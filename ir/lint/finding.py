"""What lint reports."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final, Literal

Severity = Literal["error", "warning", "note"]

SEVERITIES: Final[tuple[Severity, ...]] = ("note", "warning", "error")
"""From the least to the worst."""
_NAMES: Final = re.compile(r"[%@#]?[\w$.:#-]*\d[\w$.:#-]*")


@dataclass(frozen=True, slots=True)
class Source:
    """A place in the source of a kernel, from the op's `loc`."""

    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, or could be better; it explains itself."""

    rule: str
    """`PS201`."""
    severity: Severity
    title: str
    message: str
    """What is at risk here, and the chain of ops that leads to it."""
    file: str
    line: int = 1
    column: int = 1
    hazard: str = ""
    mitigation: str = ""
    kernel: str = ""
    pass_name: str = ""
    """The pass at which it was found, `NAME#k`; '' for a program by itself."""
    source: Source | None = None
    also_in: tuple[str, ...] = ()
    """Other files that hold the same program."""

    @property
    def order(self) -> tuple[str, int, int, str, str]:
        """Findings are reported in this order."""
        return (self.file, self.line, self.column, self.rule, self.message)


def fingerprint(finding: Finding) -> str:
    """What makes a finding the same one in a later run: names, numbers and lines do not count.

    Two findings of one program may have the same; a baseline counts them.
    """
    plain = _NAMES.sub("_", finding.message)
    place = finding.file.replace("\\", "/").rpartition("/")[2]
    text = "\0".join((finding.rule, place, finding.kernel, finding.pass_name, plain))
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()
