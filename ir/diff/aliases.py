"""Aliases resolved: `#blocked3` is a name that every dump gives anew, what it stands for is not."""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Final

_ALIAS: Final = re.compile(r'"(?:[^"\\\n]|\\.)*+"|(?<![%\w.])[#!][A-Za-z_][\w$]*+(?![.<\w$])')
_LIMIT: Final = 4_000


class AliasTable:
    """The aliases of one program, each resolved once, through and through.

    A meaning of more than 4,000 characters is replaced by a digest of it, so that aliases that double at
    each level cost no more than others; an alias that contains itself keeps its name at the repeat.
    """

    __slots__ = ("_aliases", "_meanings", "_resolved")

    def __init__(self, aliases: dict[str, str]) -> None:
        self._aliases = aliases
        self._meanings: dict[str, str] = {}
        self._resolved: dict[str, str] = {}

    def resolve(self, text: str) -> str:
        """`text` with every defined alias replaced by its meaning; strings are left alone."""
        if "#" not in text and "!" not in text:
            return text
        found = self._resolved.get(text)
        if found is None:
            found = self._resolved[text] = _ALIAS.sub(self._meaning_of, text)
        return found

    def _meaning_of(self, found: re.Match[str]) -> str:
        name = found.group()
        if name[0] == '"' or name not in self._aliases:
            return name
        if name not in self._meanings:
            self._compute(name)
        return self._meanings[name]

    def _compute(self, name: str) -> None:
        open_names: set[str] = set()
        stack = [name]
        while stack:
            top = stack[-1]
            if top in self._meanings:
                stack.pop()
                continue
            text = self._aliases[top]
            inner = [
                alias
                for alias in _ALIAS.findall(text)
                if alias in self._aliases and alias not in self._meanings and alias not in open_names
            ]
            if inner and top not in open_names:
                open_names.add(top)
                stack.extend(inner)
                continue
            stack.pop()
            self._meanings[top] = _shortened(_ALIAS.sub(self._known, text))

    def _known(self, found: re.Match[str]) -> str:
        return self._meanings.get(found.group(), found.group())


def _shortened(text: str) -> str:
    if len(text) <= _LIMIT:
        return text
    return f"#<{blake2b(text.encode(), digest_size=16).hexdigest()}>"
