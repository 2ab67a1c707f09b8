"""The entries of a trace: a program at one point of a compile, and a pass that ran between two of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

When = Literal["before", "after", "whole"]
"""`whole`: a program that stands by itself (a file, IR in prose), not a dump around a pass."""


@dataclass(slots=True)
class Snapshot:
    """One program at one point of a compile."""

    index: int
    """Place in `Trace.snapshots`."""
    start: int
    """Byte range of the program's text in the input; `text` takes line prefixes out of it."""
    end: int
    format: str
    """`mlir`, `migraphx` or `onnx`."""
    pass_name: str = ""
    """`TritonGPURemoveLayoutConversions`; '' where no pass is named."""
    argument: str = ""
    """The pass's command-line name, `tritongpu-remove-layout-conversions`; '' if not printed."""
    options: str = ""
    """The pass's options as printed, without the braces."""
    when: When = "whole"
    failed: bool = False
    op_name: str = ""
    """The op that the pass ran on (`builtin.module`, `tt.func`); '' if not printed."""
    symbol: str = ""
    """That op's symbol, without `@`; '' if not printed."""
    kernel: str = ""
    """The kernel (or main function) that the program is about; '' if it cannot be told."""
    parent: int | None = None
    """Index of the `PassRun` inside which an internal dump was printed."""
    file: int = 0
    """Which file of the trace the byte range is in."""
    title: str = ""
    """What a person calls it: the pass's name, the markdown heading or file name of a lone program."""
    prefix: str = ""
    """What every line of its text begins with in the input (a worker's mark), as a key of `logs_prefix`."""
    exact: bool = False
    """Whether `end` is known to be where the IR ends; else it may reach to the next banner."""


@dataclass(slots=True)
class PassRun:
    """One execution of one pass, with the snapshots around it."""

    index: int
    name: str
    argument: str
    ordinal: int
    """The k-th run of this pass on this kernel, from 1."""
    kernel: str
    manager: int
    """Which pass manager of the input (a new kernel or stage begins a new one), from 0."""
    before: int | None
    """Index of the snapshot in front of the pass; for after-only dumps the one of the run before it."""
    after: int | None
    """Index of the snapshot after it; for before-only dumps the one in front of the next run."""
    changed: bool | None
    """Whether the text after differs from the text before; None if either is missing."""
    failed: bool = False
    nested: list[int] = field(default_factory=list)
    """Indices of the internal dumps printed inside it."""
    depth: int = 0
    """1 for a pass that ran inside another one (the inliner's canonicalizer), else 0."""
    milliseconds: float | None = None
    options: str = ""
