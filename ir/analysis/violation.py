"""What the verifier of streaming plans says about a plan that is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..program import Op

ViolationKind = Literal[
    "budget",
    "memory",
    "outside",
    "size",
    "alignment",
    "order",
    "event",
    "stream",
    "RAW",
    "WAR",
    "WAW",
    "overlap",
    "uncopied",
    "in-place",
    "return",
    "literal",
    "parameter",
    "kernel",
    "operand",
    "module",
]
"""
- `budget`: more bytes of literals are resident than allowed; `memory`: more bytes in all than the limit;
- `outside`: a buffer reaches beyond what it is cut from; `size`: it is smaller than what it is to hold;
  `alignment`: it begins at an offset that its elements do not allow;
- `order`: a value is used before the instruction that makes it, or by a name that nothing makes;
- `event`: a wait for an event that nothing records; `stream`: a run begins on the stream that the run before
  happened to end on;
- `RAW`, `WAR`, `WAW`: two instructions that touch the same bytes are not surely in this order, which a read
  after a write, a write after a read, a write after a write wants;
- `overlap`: bytes are written by something else between their write and their read; `uncopied`: bytes are
  read that nothing has written or copied in this run, or a kernel reads a literal on the host;
- `in-place`: an instruction writes over bytes that it reads, and may not; `return`: a result may not be
  finished when the run is;
- `literal`, `parameter`, `kernel`, `operand`, `module`: the plan does not compute what the original does.
"""


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that is wrong with a plan, and the instructions of the plan that it is about."""

    kind: ViolationKind
    message: str
    ops: tuple[Op, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"
