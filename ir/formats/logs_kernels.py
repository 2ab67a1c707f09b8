"""Which kernel a dump is about, and where in a log the compile of another one begins."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from ..snapshot import Snapshot
from .logs_mlir import Banner, scope_of
from .logs_prefix import strip_prefix
from .logs_text import Data, decode, plain

_FUNCTION: Final = re.compile(
    rb"func\b(?P<words>[^@\n]{0,80})@(?P<name>\"[^\"\n]*\"|[\w$.\-]+)(?P<line>[^\n]*)"
)
INLINERS: Final = ("Inliner", "InlinerPass")
"""The first pass of a compile in every Triton."""
_NEAR: Final = 16384
_CLOSE: Final = 1024
_WINDOW: Final = 400_000
_MODULES: Final = ("", "builtin.module")


def kernel_of(data: Data, start: int, end: int) -> str:
    """The symbol of the first public function in a stretch of text, else of the first function, else ''."""
    names = entry_points(data, start, end)
    return names[0] if names else ""


def entry_points(data: Data, start: int, end: int) -> list[str]:
    """The symbols of a program's public functions, else of those with a body, else of all."""
    public, defined, declared = [], [], []
    for found in _FUNCTION.finditer(bytes(data[start : min(end, start + _WINDOW)])):
        name = found["name"].decode("utf-8", "replace").strip('"')
        if b" public " in found["words"]:
            public.append(name)
        elif found["line"].rstrip().endswith(b"{") and not {b"private", b"internal"} & set(
            found["words"].split()
        ):
            defined.append(name)
        else:
            declared.append(name)
    return public or defined or declared


class Kernels:
    """Follows a log from dump to dump: which kernel it is about, and which compile (`manager`)."""

    def __init__(self, data: Data, key: str, talks: Callable[[Snapshot], bool]) -> None:
        self.data = data
        self.key = key
        """The prefix of the log's lines."""
        self.talks = talks
        """Whether text that is no IR stands behind a dump: something ended there."""
        self.kernel = ""
        """The kernel of the dump visited last."""
        self.scope = ""
        """The function that it shows, '' for a whole module."""
        self.manager = 0
        self._main = ""
        self._mark = b""
        self._offset = 0
        self._names: list[str] = []
        self._first: Banner | None = None
        self._first_scope = ""
        self._first_name = ""

    def visit(self, snapshot: Snapshot, banner: Banner, before: Snapshot | None) -> bool:
        """Move on to a dump; True if a new compile begins with it."""
        self.scope = ""
        usual = not self.key and banner.op_name == "builtin.module" and banner.name != self._first_name
        if usual and self._mark:
            # Nearly every dump of a log of Triton's.
            start = snapshot.start + self._offset
            if self.data.find(self._mark, start, min(start + _CLOSE, snapshot.end)) >= 0:
                self.kernel = self._main
                return False
        if banner.op_name != "builtin.module":
            self.scope = scope_of(*self._view(snapshot))
        if self.scope:
            snapshot.symbol = snapshot.symbol or self.scope
        if self._first is None or before is None:
            self._first, self._first_scope, self._first_name = banner, self.scope, banner.name
            self._enter(snapshot)
            return False
        if self._starts_again(banner, before):
            self.manager += 1
            self._enter(snapshot)
            return True
        if self.scope:
            self.kernel = self.scope
            return False
        self.kernel = self._main
        if self._mark and self._mentions(snapshot):
            return False
        return self._renamed(snapshot)

    def _starts_again(self, banner: Banner, before: Snapshot) -> bool:
        first = self._first
        if first is None or banner.name != first.name or banner.op_name != first.op_name:
            return False
        return self.scope == self._first_scope and (banner.name in INLINERS or self.talks(before))

    def _enter(self, snapshot: Snapshot) -> None:
        """Begin another kernel with a dump."""
        if self.scope:
            self.kernel = self.scope
            self._main, self._mark, self._names = "", b"", []
            return
        self._names = entry_points(*self._view(snapshot))
        self.kernel = self._main = self._names[0] if self._names else snapshot.symbol
        self._mark = b"@" + self._main.encode() if self._main else b""

    def _renamed(self, snapshot: Snapshot) -> bool:
        """Whether a module without the kernel's name is another kernel's, not this one's less a function."""
        names = entry_points(*self._view(snapshot))
        if not names or self._names == names:
            return False
        if not self._names or not set(names).isdisjoint(self._names):
            known = bool(self._names)
            self._names = names
            self._mark = b"@" + names[0].encode()
            if not known:
                self.kernel = self._main = names[0]
            return False
        self.manager += 1
        self._enter(snapshot)
        return True

    def _view(self, snapshot: Snapshot) -> tuple[Data, int, int]:
        """The bytes to look at for a dump, and from where to where: the writer's own lines only."""
        if not self.key:
            return self.data, snapshot.start, snapshot.end
        raw = bytes(self.data[snapshot.start : min(snapshot.end, snapshot.start + _WINDOW)])
        own = strip_prefix(plain(decode(raw)), self.key).encode("utf-8", "surrogateescape")
        return own, 0, len(own)

    def _mentions(self, snapshot: Snapshot) -> bool:
        """Whether a module holds the kernel's name, most likely near its beginning; remembers where."""
        data, start, end = self._view(snapshot)
        find = data.find
        near = min(end, start + _NEAR)
        place = find(self._mark, start, near)
        if place < 0:
            place = find(self._mark, near, end)
        if place < 0:
            return False
        self._offset = max(place - start - _CLOSE // 2, 0)
        return True


def is_module_pass(banner: Banner, scope: str) -> bool:
    """Whether a pass ran on the whole module, as far as its banner or dump tells."""
    return banner.op_name in _MODULES and not scope
