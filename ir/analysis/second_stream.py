"""A program whose copies go to another stream with nothing to keep them in order: what must not be done.

"Put the copies on a second stream" is the first thing that comes to mind when a program waits for its
copies. Without events it is wrong; `hazards` of the result lists every race that events have to close.
"""

from __future__ import annotations

from .. import edit
from ..program import Op, Program, walk
from ..types import ShapeType, Type
from .cost import work_of
from .migraphx_summary import main_body

_LONGEST_NUMBER = 12
_NO_SHAPE: Type = ShapeType("float_type, {}, {}", "f32", (), ())


def move_copies(program: Program, stream: int = 1) -> int:
    """Put the copies of the main module on `stream` by `gpu::set_stream`; returns how many there are.

    Edits the program; no event is added, and work that is no copy stays on stream 0.
    """
    names = (value.name for op in walk(program) for value in op.results)
    fresh = 1 + max(
        (int(n[1:]) for n in names if n[:1] == "@" and n[1:].isdecimal() and len(n) < 12), default=0
    )
    current = 0
    copies = 0
    made: list[tuple[Op, int]] = []
    for op in main_body(program):
        work = work_of(op)
        copies += work == "copy"
        wanted = stream if work == "copy" else 0
        if work != "none" and wanted != current:
            made.append((op, wanted))
            current = wanted
    for number, (op, wanted) in enumerate(made, fresh):
        edit.create(
            "gpu::set_stream", (), (_NO_SHAPE,), {"stream": str(wanted)}, before=op, names=(f"@{number}",)
        )
    return copies
