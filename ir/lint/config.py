"""Lint's configuration: `passlens.toml`, or `[tool.passlens]` of a `pyproject.toml`."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass, field
from typing import Any, Final

from ..errors import InputError
from .budgets import Bound, bound_of
from .finding import SEVERITIES, Severity
from .rule import Limits
from .suppress import Suppression

_KEYS: Final = (
    "select", "ignore", "severity", "fail-on", "memory-limit", "shared-limit", "arena-slack", "small-copy",
    "device", "baseline", "golden", "suppress", "budget",
)  # fmt: skip


@dataclass(slots=True)
class Config:
    """What a project decided."""

    select: list[str] = field(default_factory=list)
    ignore: list[str] = field(default_factory=list)
    severities: dict[str, Severity] = field(default_factory=dict)
    fail_on: Severity = "warning"
    limits: Limits = field(default_factory=Limits)
    device: str = "h200"
    baseline: str = ""
    golden: str = ""
    suppressions: list[Suppression] = field(default_factory=list)
    bounds: list[Bound] = field(default_factory=list)


def parse_config(text: str, file: str) -> Config:
    """The configuration in a TOML text: the whole of a `passlens.toml`, a table of a `pyproject.toml`.

    Raises:
        InputError: it is no TOML, or a key or value is none that is known; names the file and key.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{file} is no TOML: {error}") from error
    if file.endswith("pyproject.toml"):
        for key in ("tool", "passlens"):
            data = data.get(key, {})
            if not isinstance(data, dict):
                raise InputError(f"{file}: {key} is {data!r}: expected the table [tool.passlens]")
    for key in data:
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, 1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(_KEYS)}"
            raise InputError(f"{file}: there is no key {key!r}; {hint}")
    reader = _Reader(data, file)
    return Config(
        reader.words("select"),
        reader.words("ignore"),
        reader.severities(),
        reader.severity("fail-on", "warning"),
        Limits(
            reader.count("memory-limit"),
            reader.count("shared-limit"),
            reader.share("arena-slack", 0.10),
            reader.count("small-copy") or Limits().small_copy,
        ),
        reader.word("device", "h200"),
        reader.word("baseline", ""),
        reader.word("golden", ""),
        [reader.suppression(each) for each in reader.tables("suppress")],
        [bound for each in reader.tables("budget") for bound in reader.bounds(each)],
    )


class _Reader:
    def __init__(self, data: dict[str, Any], file: str) -> None:
        self.data = data
        self.file = file

    def fault(self, key: str, expected: str) -> InputError:
        return InputError(f"{self.file}: {key} is {self.data.get(key)!r}: expected {expected}")

    def words(self, key: str) -> list[str]:
        found = self.data.get(key, [])
        if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
            raise self.fault(key, 'a list of rules, such as ["PS1", "PS201"]')
        return found

    def word(self, key: str, otherwise: str) -> str:
        found = self.data.get(key, otherwise)
        if not isinstance(found, str):
            raise self.fault(key, "a text")
        return found

    def count(self, key: str) -> int | None:
        found = self.data.get(key)
        if found is not None and (not isinstance(found, int) or isinstance(found, bool) or found < 0):
            raise self.fault(key, "a number of bytes")
        return found

    def share(self, key: str, otherwise: float) -> float:
        found = self.data.get(key, otherwise)
        if isinstance(found, bool) or not isinstance(found, int | float) or found < 0:
            raise self.fault(key, "a share, such as 0.1")
        return float(found)

    def severity(self, key: str, otherwise: Severity) -> Severity:
        found = self.data.get(key, otherwise)
        for each in SEVERITIES:
            if found == each:
                return each
        raise self.fault(key, f"one of {', '.join(SEVERITIES)}")

    def severities(self) -> dict[str, Severity]:
        found = self.data.get("severity", {})
        if not isinstance(found, dict) or any(each not in SEVERITIES for each in found.values()):
            raise self.fault("severity", f"a table of rules, each with one of {', '.join(SEVERITIES)}")
        return dict(found)

    def tables(self, key: str) -> list[dict[str, Any]]:
        found = self.data.get(key, [])
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            raise self.fault(key, f"tables, each headed [[{key}]]")
        return found

    def suppression(self, table: dict[str, Any]) -> Suppression:
        texts = {key: value for key, value in table.items() if isinstance(value, str)}
        if set(table) - {"rule", "reason", "path", "kernel"} or len(texts) != len(table):
            raise InputError(f"{self.file}: [[suppress]] {table!r}: expected rule, reason, path, kernel")
        if not texts.get("rule") or not texts.get("reason", "").strip():
            raise InputError(f"{self.file}: [[suppress]] {table!r}: a rule and a reason are needed")
        return Suppression(texts["rule"], texts["reason"], texts.get("path", "*"), texts.get("kernel", "*"))

    def bounds(self, table: dict[str, Any]) -> list[Bound]:
        kernel, hold = table.get("kernel", "*"), table.get("hold", [])
        if not isinstance(kernel, str) or not isinstance(hold, list) or set(table) - {"kernel", "hold"}:
            raise InputError(
                f'{self.file}: [[budget]] {table!r}: expected kernel = "…", hold = ["converts <= 12"]'
            )
        return [bound_of(str(each), kernel) for each in hold]
