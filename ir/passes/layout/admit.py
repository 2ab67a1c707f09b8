"""Whether a program is whole enough for the layout pass to run on it."""

from __future__ import annotations

from collections.abc import Iterator

from ...program import Op, Program, walk
from ...types import TensorType
from ...verify import verify

_TOLERATED = frozenset({"undefined-alias"})

_OPERANDS = {
    **dict.fromkeys(("tt.expand_dims", "tt.broadcast", "tt.splat", "tt.trans", "tt.reshape", "tt.view"), 1),
    **dict.fromkeys(("tt.dot", "arith.select"), 3), "tt.addptr": 2, "tt.cat": 2, "tt.join": 2, "tt.split": 1,
}  # fmt: skip
_TWO = (
    "arith.add", "arith.sub", "arith.mul", "arith.div", "arith.rem", "arith.and", "arith.or", "arith.xor",
    "arith.max", "arith.min", "arith.cmp", "arith.sh", "arith.ceildiv", "arith.floordiv",
)  # fmt: skip
"""How many operands the ops have that the pass's folds look into."""


def faults_of(program: Program) -> Iterator[str]:
    """Why the real pass would refuse the program, a sentence each; nothing for one that it takes.

    Aliases that a cut-off dump does not define are tolerated: the pass tells them apart by name.
    """
    for each in program.diagnostics:
        if each.code not in _TOLERATED:
            yield each.message
    for problem in verify(program):
        yield problem.message
    for op in walk(program):
        said = _fault(op)
        if said:
            yield f"{op.name} {said}"


def _fault(op: Op) -> str:
    name = op.name
    wanted = 2 if name.startswith(_TWO) else _OPERANDS.get(name)
    if wanted is not None and len(op.operands) != wanted:
        return f"has {len(op.operands)} operands and needs {wanted}"
    if name.endswith(".convert_layout"):
        kinds = [value.type for value in (*op.operands, *op.results)]
        whole = all(isinstance(kind, TensorType) and kind.encoding for kind in kinds)
        return (
            ""
            if whole and len(op.operands) == len(op.results) == 1
            else "does not turn a layout into another"
        )
    if name == "scf.for":
        return _loop(op)
    if name == "scf.while":
        return _while(op)
    if name == "scf.if":
        count = len(op.results)
        if len(op.operands) != 1 or len(op.regions) not in (1, 2) or (count and len(op.regions) != 2):
            return "has not the regions of a branch"
        return "" if all(_ends(op, at) == count for at in range(len(op.regions))) else "yields other values"
    return ""


def _loop(op: Op) -> str:
    args = _args(op, 0)
    if len(op.regions) != 1 or len(op.operands) - 3 != len(op.results) or args - 1 != len(op.results):
        return "has not as many results as iter_args"
    return "" if _ends(op, 0) == len(op.results) else "yields another number of values than it has results"


def _while(op: Op) -> str:
    if len(op.regions) != 2 or _args(op, 0) != len(op.operands):
        return "has not as many arguments as operands"
    if _args(op, 1) != len(op.results) or _ends(op, 0) - 1 != len(op.results):
        return "has a condition that does not hand on its results"
    return "" if _ends(op, 1) >= len(op.operands) else "yields fewer values than it has operands"


def _args(op: Op, region: int) -> int:
    blocks = op.regions[region].blocks if region < len(op.regions) else []
    return len(blocks[0].args) if blocks else -1


def _ends(op: Op, region: int) -> int:
    """Operands of a region's terminator, -1 for a region without one."""
    blocks = op.regions[region].blocks
    ops = blocks[0].ops if blocks else []
    return len(ops[-1].operands) if ops and ops[-1].name in ("scf.yield", "scf.condition") else -1
