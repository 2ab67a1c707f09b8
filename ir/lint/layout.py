"""Rules about encodings and converts of TTGIR (PS2xx).

They look at the last program of a kernel, what would run: in the middle of a compile converts come and go.
The pass itself is imported where it is run: most programs that are linted need none of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ..errors import InputError
from ..formats.mlir import parse_mlir
from ..layouts.linear import LinearLayout, same
from ..layouts.memory_access import warp_access
from ..layouts.parse import parse_encoding
from ..layouts.to_linear import to_linear
from ..passes.layout.rules import PASS_NAME, pick_rules
from ..program import Block, Op, Program, Value, ancestors, walk
from ..snapshot import Snapshot
from ..trace import Trace
from ..types import TensorType, byte_size, element_bits
from .rule import Found, Rule, Subject, problems

_MLIR: Final = ("mlir",)
_LOOPS: Final = ("scf.for", "scf.while")
_SHARED: Final[tuple[tuple[str, int], ...]] = (
    ("cuda:80", 166_912), ("cuda:86", 101_376), ("cuda:89", 101_376), ("cuda:87", 166_912),
    ("cuda:90", 232_448), ("cuda:100", 232_448), ("cuda:103", 232_448), ("cuda:120", 101_376),
    ("hip:gfx950", 163_840), ("hip:gfx", 65_536),
)  # fmt: skip
"""Shared memory that a block may have, in bytes, by what the target begins with (the vendors' programming
guides: 163, 99 and 227 KB; LDS of 64 and 160 KB)."""
_TARGET: Final = re.compile(r'"(?:ttg|triton_gpu)\.target"? *= *"?([\w:]+)|target *= *"([\w:]+)"')


def _converts(program: Program) -> Iterator[Op]:
    for op in walk(program):
        if op.name.endswith(".convert_layout") and op.operands and op.results:
            yield op


def _layout_pass(subject: Subject) -> tuple[list[Found], list[Found]]:
    """What the pass says of a program by the rules of its era: mappings that are missing, ties that part.

    Nothing of a program that the real pass would refuse.
    """
    missing: list[Found] = []
    latent: list[Found] = []
    if not any(op.name == "tt.func" for op in walk(subject.program)):
        return missing, latent
    from ..passes.layout.admit import faults_of
    from ..passes.layout.explain import FATAL, explain_step
    from ..passes.layout.remove_conversions import RemoveLayoutConversions

    if any(True for _ in faults_of(subject.program)):
        return missing, latent
    text = subject.program.text
    copy = parse_mlir(text)
    pass_ = RemoveLayoutConversions(pick_rules(text, ""))
    first_line, _ = subject.trace.place(subject.snapshot, 0)
    for step in pass_.steps(copy):
        at = step.op.start if step.op is not None and step.op.source is copy.source else -1
        if step.kind in FATAL and pass_.run is not None:
            said = explain_step(pass_.run, copy, step, first_line)
            chain = "; ".join(part for part in (said.summary, said.why) if part)
            missing.append(Found(f"by the rules {pass_.rules.name}: {chain}", step.op, at))
        elif step.kind == "latent":
            latent.append(Found(step.why, step.op, at))
    return missing, latent


def _missing(subject: Subject) -> Iterator[Found]:
    """Faults by the rules of the era, unless the log shows that the real pass went through."""
    run = subject.run
    if run is None or run.after is None or run.failed:
        yield from subject.once(_layout_pass)[0]


def _latent(subject: Subject) -> Iterator[Found]:
    where = f" (run {subject.run.ordinal})" if subject.run is not None else ""
    for each in subject.once(_layout_pass)[1]:
        yield replace(each, message=f"{each.message}{where}")


def _edges(subject: Subject) -> Iterator[Found]:
    for each in subject.once(problems):
        if each.code == "region-edge-type":
            yield Found(each.message, offset=each.offset)


def _loop_of(op: Op) -> Op | None:
    return next((parent for parent in ancestors(op) if parent.name in _LOOPS), None)


def _shown(op: Op) -> str:
    return op.results[0].name if op.results else op.name


def _moved(op: Op, program: Program) -> str:
    """What a convert costs, in words; '' for one that costs nothing or cannot be decoded."""
    from ..passes.layout.ledger import cost_of

    kind, size = cost_of(op, program)
    if kind in ("unknown", "nothing", "none", "trivial"):
        return ""
    return f"{kind}, {size:,} bytes of shared memory" if size else kind


def _boundary(subject: Subject) -> Iterator[Found]:
    for op in _converts(subject.program):
        loop = _loop_of(op)
        cost = _moved(op, subject.program) if loop is not None else ""
        if not cost or loop is None:
            continue
        carried = isinstance(op.operands[0].owner, Block) and op.operands[0].owner.parent is not None
        from_argument = carried and op.operands[0].owner.parent.parent is loop  # type: ignore[union-attr]
        into_yield = all(user.name == "scf.yield" and user.parent is loop for user, _ in op.results[0].uses)
        if from_argument or (into_yield and op.results[0].uses):
            what = "a value carried around the loop" if from_argument else "what the loop carries on"
            yield Found(
                f"{_shown(op)} converts {what} ({op.operands[0].name}) in every iteration ({cost})", op
            )


def _invariant(subject: Subject) -> Iterator[Found]:
    for op in _converts(subject.program):
        loop = _loop_of(op)
        cost = _moved(op, subject.program) if loop is not None else ""
        if cost and loop is not None and not _inside(op.operands[0], loop):
            yield Found(
                f"{_shown(op)} converts {op.operands[0].name}, which is the same in every iteration ({cost})",
                op,
            )


def _inside(value: Value, loop: Op) -> bool:
    owner = value.owner
    op = owner.parent.parent if isinstance(owner, Block) and owner.parent is not None else owner
    return isinstance(op, Op) and (op is loop or loop in ancestors(op))


def _duplicates(subject: Subject) -> Iterator[Found]:
    from ..passes.layout.ledger import encodings_of

    seen: dict[tuple[int, int, str], Op] = {}
    for op in _converts(subject.program):
        key = (id(op.block), id(op.operands[0]), encodings_of(op, subject.program)[1])
        first = seen.setdefault(key, op)
        if first is not op and _moved(op, subject.program):
            yield Found(
                f"{_shown(op)} converts {op.operands[0].name} to the encoding that {_shown(first)} has "
                "already",
                op,
            )


def _round_trips(subject: Subject) -> Iterator[Found]:
    for op in _converts(subject.program):
        inner = op.operands[0].op
        if inner is None or not inner.name.endswith(".convert_layout") or not _moved(op, subject.program):
            continue
        start, end = _layout(inner.operands[0], subject.program), _layout(op.results[0], subject.program)
        if start is not None and end is not None and same(start, end):
            yield Found(
                f"{_shown(op)} brings {inner.operands[0].name} back into the layout that it had in front of "
                f"{_shown(inner)}",
                op,
            )


def _layout(value: Value, program: Program) -> LinearLayout | None:
    type = value.type
    if not isinstance(type, TensorType) or not type.encoding:
        return None
    try:
        return to_linear(parse_encoding(type.encoding, program.aliases), type.lens)
    except (InputError, ValueError):
        return None


def _through_shared(subject: Subject) -> Iterator[Found]:
    from ..passes.layout.ledger import cost_of

    loops: dict[int, list[tuple[Op, int]]] = {}
    for op in _converts(subject.program):
        loop = _loop_of(op)
        kind, size = cost_of(op, subject.program) if loop is not None else ("", 0)
        if kind == "shared" and size:
            loops.setdefault(id(loop), []).append((op, size))
    for held in loops.values():
        names = ", ".join(_shown(op) for op, _ in held[:4]) + (", …" if len(held) > 4 else "")
        total = sum(size for _, size in held)
        yield Found(f"{names}: through {total:,} bytes of shared memory in every iteration", held[0][0])


def _too_much_shared(subject: Subject) -> Iterator[Found]:
    text = subject.program.text
    used = re.search(r"(?:ttg|triton_gpu)\.shared\"? *= *(\d{1,12})", text)
    found = _TARGET.search(text)
    target = (found[1] or found[2]) if found else ""
    limit = subject.limits.shared or next((size for name, size in _SHARED if target.startswith(name)), 0)
    if used and limit and int(used[1]) > limit:
        yield Found(
            f"the kernel needs {int(used[1]):,} bytes of shared memory, {target or 'the target'} has "
            f"{limit:,}",
            offset=used.start(),
        )


def _scattered(subject: Subject) -> Iterator[Found]:
    for op in walk(subject.program):
        if op.name not in ("tt.load", "tt.store") or not op.operands:
            continue
        type = op.operands[0].type
        layout = _layout(op.operands[0], subject.program)
        if not isinstance(type, TensorType) or layout is None or len(type.lens) != 1:
            continue
        if not _consecutive(op.operands[0]):
            continue
        bits = element_bits(op.results[0].type if op.results else op.operands[1].type) or 32
        access = warp_access(layout, (1,), bits)
        if access.efficiency < 0.5 and access.sectors > 1:
            yield Found(
                f"{op.name} {_shown(op) if op.results else op.operands[0].name}: its addresses are "
                "consecutive, but "
                f"a warp's request of {access.bytes} bytes touches {access.sectors} sectors of 32 "
                f"({100 * access.efficiency:.0f} % of what is moved)",
                op,
            )


def _consecutive(pointer: Value) -> bool:
    """Whether a tensor of pointers is one base plus 0, 1, 2, … (plus a constant)."""
    op = pointer.op
    if op is None or op.name != "tt.addptr":
        return False
    base, offset = op.operands[0].op, op.operands[1]
    return base is not None and base.name == "tt.splat" and _range(offset)


def _range(value: Value) -> bool:
    op = value.op
    if op is None:
        return False
    if op.name == "tt.make_range":
        return True
    if op.name in ("arith.addi", "arith.extsi"):
        kinds = [each.op.name if each.op is not None else "" for each in op.operands]
        return any(_range(each) for each in op.operands) and all(
            _range(each) or kind == "tt.splat" for each, kind in zip(op.operands, kinds, strict=True)
        )
    return False


def _grew(trace: Trace) -> Iterator[tuple[Snapshot | None, Found]]:
    """More converts *and* more bytes: two small converts above a broadcast are less than one below it."""
    for run in trace.runs:
        if (run.argument or run.name) not in (PASS_NAME, "TritonGPURemoveLayoutConversions"):
            continue
        if run.before is None or run.after is None or run.failed:
            continue
        before, after = trace.counts(run.before)[1], trace.counts(run.after)[1]
        if after <= before:
            continue
        old, new = (_bytes_moved(trace.program(each)) for each in (run.before, run.after))
        if new > old:
            yield (
                trace.snapshots[run.after],
                Found(
                    f"{PASS_NAME} (run {run.ordinal}) made {after} converts that move {new:,} bytes of "
                    f"{before} that move {old:,} (ten turns of each loop)"
                ),
            )


def _bytes_moved(program: Program) -> int:
    from ..passes.layout.ledger import loops_around

    total = 0
    for op in _converts(program):
        type = op.results[0].type
        if isinstance(type, TensorType) and _moved(op, program):
            total += (byte_size(type) or 0) * (10 if loops_around(op) else 1)
    return total


def _not_pipelined(subject: Subject) -> Iterator[Found]:
    text = subject.program.text
    if "async_copy" in text or "async_tma" in text or ("local_alloc" in text and "memdesc_index" in text):
        return
    for op in walk(subject.program):
        stages = re.match(r"\d+", op.attributes.get("tt.num_stages", "")) if op.name == "scf.for" else None
        if stages is None or int(stages[0]) < 2:
            continue
        inside = {each.name for region in op.regions for block in region.blocks for each in walk(block)}
        if "tt.load" in inside and inside & {"tt.dot", "ttng.warp_group_dot"}:
            yield Found(
                f"the loop asks for {stages[0]} stages and loads in the iteration that uses the data", op
            )


def _waited_at_once(subject: Subject) -> Iterator[Found]:
    for op in walk(subject.program):
        if not op.name.endswith(".async_wait") or op.block is None or _loop_of(op) is None:
            continue
        number = re.match(r"\d+", op.attributes.get("num", ""))
        ops = op.block.ops
        before = ops[ops.index(op) - 1] if ops.index(op) else None
        if (
            number
            and int(number[0]) == 0
            and before is not None
            and before.name.endswith(".async_commit_group")
        ):
            yield Found(f"{_shown(op)} waits for the copies that were begun right in front of it", op)


RULES: Final[tuple[Rule, ...]] = (
    Rule("PS201", "Missing rewrite mapping", "error", "layout",
         "The compiler aborts in its layout pass: there is no kernel.",
         "`passlens explain FILE` shows the way of each encoding; give the two values one encoding, or "
         "take a "
         "compiler whose rules make the mapping.", _MLIR, _missing, only_final=False, before_layout=True),
    Rule("PS202", "Tied values that pick different encodings", "note", "layout",
         "The pass converts at the tie; in the eras that kept a map it aborted here.",
         "See whether the anchor that brings the second encoding is needed.", _MLIR,
         _latent, only_final=False,
         before_layout=True),
    Rule("PS203", "Region edge whose types disagree", "error", "layout",
         "The program is invalid: what a region yields is not what its op returns.",
         "Look at the pass in front of it: it rewrote one side only.", _MLIR, _edges, only_final=False),
    Rule("PS204", "Convert at a loop's boundary", "note", "layout",
         "Paid in every iteration.", "Let the loop carry the encoding that is used inside.", _MLIR,
         _boundary),
    Rule("PS205", "Convert of a value that the loop does not change", "note", "layout",
         "Paid in every iteration for the same result.", "Convert in front of the loop.", _MLIR, _invariant),
    Rule("PS206", "Second convert of a value to the same encoding", "warning", "layout",
         "The data is moved twice.", "Use the first result: common subexpressions were not eliminated.",
         _MLIR,
         _duplicates),
    Rule("PS207", "Convert there and back", "warning", "layout",
         "The data is moved twice and ends where it began.",
         "Use the value in front of the first convert.", _MLIR,
         _round_trips),
    Rule("PS208", "Convert through shared memory in a loop", "note", "layout",
         "A store, a barrier and a load in every iteration.",
         "See with `passlens layout` whether another encoding of the operand needs shuffles only.", _MLIR,
         _through_shared),
    Rule("PS209", "More shared memory than the target has", "error", "layout",
         "The kernel cannot be launched.", "Fewer stages, smaller tiles.", _MLIR, _too_much_shared),
    Rule("PS210", "Consecutive addresses that a warp takes apart", "warning", "layout",
         "Each request moves sectors of which most bytes are not asked for.",
         "Coalescing did not reach this op: check the divisibility and alignment that it was told.", _MLIR,
         _scattered),
    Rule("PS211", "More converts after the layout pass than before", "warning", "layout",
         "The pass that is to remove converts added some.", "Step it: `passlens step FILE`.", over=_grew),
    Rule("PS212", "Pipelining asked for and absent", "note", "layout",
         "Loads are waited for in the iteration that issues them.",
         "A load that depends on the loop's own results cannot be issued early.", _MLIR, _not_pipelined),
    Rule("PS213", "Asynchronous copy waited for at once", "warning", "layout",
         "Nothing happens between the copy and the wait: it could as well be synchronous.",
         "Wait one iteration later: more stages.", _MLIR, _waited_at_once),
)  # fmt: skip
