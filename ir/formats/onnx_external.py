"""Weights that a model keeps in files beside it: where they are, and that they lie in the model's folder.

The rule is ONNX's own (docs/ExternalData.md): a location is a relative path below the model's folder. An
absolute path, a `..` or a link that leads out of the folder is never followed.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import Final

import onnx

from .onnx_names import decoded, quoted

_LONGEST: Final = 4096
"""No file system takes a longer path."""


@dataclass(frozen=True, slots=True)
class ExternalData:
    """A range of a file; `length` is -1 where the model does not give one."""

    location: str
    offset: int
    length: int


@dataclass(slots=True)
class ExternalFiles:
    """The files that a model in `folder` may name; every file is looked at once."""

    folder: str
    _sizes: dict[str, tuple[str, int]] = field(default_factory=dict)

    def fault(self, data: ExternalData, needed: int | None) -> tuple[str, str]:
        """What is wrong with a range: a diagnostic's code and text, or ('', '')."""
        if data.location not in self._sizes:
            self._sizes[data.location] = self._look(data.location)
        code, size = self._sizes[data.location]
        if code == "external-data-outside":
            return code, f"{quoted(data.location)} is not below the model's folder: not followed"
        if code:
            return code, f"{quoted(data.location)} is not there: put the file beside the model"
        length = data.length if data.length >= 0 else needed or 0
        if data.offset < 0 or data.offset + length > size:
            said = f"bytes {data.offset:,} to {data.offset + length:,} of a file of {size:,} bytes"
            return "external-data-range", f"{quoted(data.location)}: {said}"
        if needed is not None and data.length >= 0 and data.length != needed:
            said = f"{data.length:,} bytes for a tensor of {needed:,}"
            return "external-data-range", f"{quoted(data.location)}: {said}"
        return "", ""

    def path(self, location: str) -> str:
        """The file of a location that has no fault; '' for one outside the folder."""
        names = location.replace("\\", "/").split("/")
        bad = not location or "\0" in location or ".." in names or len(location) > _LONGEST
        if bad or os.path.isabs(location) or location[:1] in "/\\" or ":" in names[0]:
            return ""
        folder = os.path.realpath(self.folder or ".")
        try:
            target = os.path.realpath(os.path.join(folder, location))
        except (OSError, ValueError):
            return ""
        return target if target.startswith(folder.rstrip(os.sep) + os.sep) else ""

    def _look(self, location: str) -> tuple[str, int]:
        target = self.path(location)
        if not target:
            return "external-data-outside", 0
        try:
            found = os.stat(target)
        except (OSError, ValueError):
            return "external-data-missing", 0
        return ("", found.st_size) if stat.S_ISREG(found.st_mode) else ("external-data-missing", 0)


def external_data(tensor: onnx.TensorProto) -> ExternalData | None:
    """Where the data of a tensor lies, or None for one that the model holds itself."""
    if tensor.data_location != onnx.TensorProto.EXTERNAL:
        return None
    entries = {decoded(entry.key): decoded(entry.value) for entry in tensor.external_data}
    return ExternalData(
        entries.get("location", ""),
        _number(entries.get("offset", "0"), 0),
        _number(entries.get("length", ""), -1),
    )


def _number(text: str, otherwise: int) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else otherwise
