"""What the file picker lists: our samples, then the folders and files of a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..titles import size_text
from .rows import Row, heading

SUFFIXES: Final = (
    ".mlir", ".ttir", ".ttgir", ".log", ".txt", ".onnx", ".gz", ".zst", ".llir", ".source", ".ir",
    ".md", ".dump",
)  # fmt: skip
_MOST: Final = 5000


@dataclass(frozen=True, slots=True)
class Choice:
    """A file or folder that can be chosen; `opens` says whether choosing it opens a trace."""

    path: str
    name: str
    size: int
    folder: bool
    opens: bool


def samples_folder() -> Path | None:
    """The folder of samples beside the package, if it is there."""
    folder = Path(__file__).parents[2] / "samples"
    return folder if folder.is_dir() else None


def sample_choices() -> list[Choice]:
    """The samples that can be opened."""
    folder = samples_folder()
    return [choice for choice in folder_choices(str(folder)) if choice.opens] if folder else []


def folder_choices(folder: str) -> list[Choice]:
    """The folders in a folder, then the files that may hold IR, by name; what cannot be read is left out."""
    folders: list[Choice] = []
    files: list[Choice] = []
    try:
        found = sorted(os.scandir(folder), key=lambda entry: entry.name.lower())[:_MOST]
    except OSError:
        return []
    for entry in found:
        if entry.name.startswith("."):
            continue
        try:
            if entry.is_dir():
                folders.append(Choice(entry.path, entry.name, 0, True, False))
            elif entry.name.lower().endswith(SUFFIXES) and entry.name != "README.md":
                files.append(Choice(entry.path, entry.name, entry.stat().st_size, False, True))
        except OSError:
            continue
    return folders + files


def matching(choices: Iterable[Choice], words: str) -> list[Choice]:
    """The choices whose names hold every word."""
    needles = words.lower().split()
    return [choice for choice in choices if all(word in choice.name.lower() for word in needles)]


def choice_row(choice: Choice) -> Row:
    """How a choice is drawn."""
    if choice.folder:
        return Row((("  ▸ ", "fold"), (f"{choice.name}/", "accent")), target=choice)
    return Row((("    ", ""), (choice.name, "")), ((f"{size_text(choice.size)} ", "dim"),), choice)


def picker_rows(samples: list[Choice], folder: str, inside: list[Choice], words: str) -> list[Row]:
    """Samples first, then the folder with a way up and a way to open the folder itself."""
    rows: list[Row] = []
    shown = matching(samples, words)
    if shown:
        rows.append(heading(" Samples"))
        rows += [choice_row(choice) for choice in shown]
    rows.append(heading(f" {folder}"))
    if not words:
        up = os.path.dirname(folder)
        if up != folder:
            rows.append(Row((("  ▴ ", "fold"), ("../", "accent")), target=Choice(up, "..", 0, True, False)))
        if any(choice.opens for choice in inside):
            whole = Choice(folder, ".", 0, True, True)
            rows.append(Row((("  ≡ ", "fold"), ("open this folder as one trace", "dim")), target=whole))
    rows += [choice_row(choice) for choice in matching(inside, words)]
    return rows
