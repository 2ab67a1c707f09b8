"""Undo a program's own streaming: kernels read literals themselves, on one stream, without copies.

What is left is the program's kernels, buffers and views. Planning begins here, so that a dump that was
planned before (by its compiler or by us) gives the same as one that never was.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ... import edit
from ...analysis.migraphx_summary import is_resident
from ...analysis.views import buffer_of
from ...errors import InputError
from ...journal import assign
from ...program import Block, Op, Program, Value, symbol
from ...types import byte_size
from ..step import OP, PHASE, Recorder, Step

STREAM_OPS: Final = frozenset(
    f"{dialect}::{name}"
    for dialect in ("gpu", "hip")
    for name in ("set_stream", "record_event", "wait_event")
)
BATCH: Final = "hip::copy_batch_to_gpu"
PIECE: Final = "hip::view_bytes"
BATCH_ALIGNMENT: Final = 256
"""Bytes; each literal of a batch begins at a multiple of it, as device allocations do."""


def main_block(program: Program) -> Block:
    """The block of the main module's instructions.

    Raises:
        InputError: the program has none, so there is nothing to plan.
    """
    modules = [op for op in program.ops if op.name == "module" and op.regions and op.regions[0].blocks]
    main = next((op for op in modules if symbol(op) == "main"), modules[0] if modules else None)
    if program.format != "migraphx" or main is None:
        raise InputError(
            f"found a program of format {program.format} without a MIGraphX module: expected instructions "
            "of a MIGraphX program; lower an ONNX model first, or give a MIGraphX dump"
        )
    block = main.regions[0].blocks[0]
    if not block.ops:
        raise InputError(
            f"module {symbol(main)} has no instruction that could be read: expected a MIGraphX listing, each "
            "line after those that it uses; `passlens info` says what could not be read"
        )
    return block


def detach(program: Program, recorder: Recorder) -> Iterator[Step]:
    """Take copies of literals, streams and events out of the main module."""
    recorder.phase = "detach"
    yield recorder.step("phase", "take the copies, streams and events that the program has away", depth=PHASE)
    block = main_block(program)
    for op in list(block.ops):
        if op.name in STREAM_OPS:
            if any(result.uses for result in op.results):
                raise InputError(
                    f"{op.results[0].name} of {op.name} is an operand of {op.results[0].uses[0][0].name}: "
                    "expected no instruction to read what orders streams; the listing may be damaged"
                )
            edit.erase(op)
            yield recorder.step("drop-stream-op", f"{op.name} orders streams that are planned anew", op=op)
        elif is_resident(op):
            assign(op, "name", "@literal")
            edit.set_attribute(op, "id", None)
            yield recorder.step("host-literal", f"{op.results[0].name} may stay on the host", op=op, depth=OP)
        elif op.name == BATCH:
            yield from _detach_batch(op, recorder)
        elif op.name in ("hip::copy_to_gpu", "hip::hip_copy_to_gpu") and literal_of(op) is not None:
            yield _detach_copy(op, recorder)


def literal_of(copy: Op) -> Value | None:
    """The literal on the host that a copy reads, or None if it copies something else."""
    source = buffer_of(copy.operands[0]) if copy.operands else None
    return source if source is not None and source.op is not None and source.op.name == "@literal" else None


def _detach_copy(copy: Op, recorder: Recorder) -> Step:
    source, target = copy.operands[0], copy.operands[-1]
    for result in copy.results:
        edit.replace_all_uses(result, source)
    edit.erase(copy)
    _erase_unused_load(target)
    size = byte_size(source.type) or 0
    why = f"the copy of {source.name} ({size:,} bytes) goes; its readers read the literal"
    return recorder.step("drop-copy", why, op=copy, value=source)


def _detach_batch(batch: Op, recorder: Recorder) -> Iterator[Step]:
    places = dict(
        zip(
            batch_offsets([byte_size(v.type) or 0 for v in batch.operands[:-1]]),
            batch.operands[:-1],
            strict=True,
        )
    )
    pieces = [user for user, _ in batch.results[0].uses if user.name == PIECE]
    for piece in pieces:
        offset = piece.attributes.get("offset", "0")
        literal = places.get(int(offset)) if offset.isdecimal() and len(offset) < 20 else None
        if literal is None:
            raise InputError(
                f"{piece.results[0].name} looks at byte {offset} of a batch, where no literal begins: "
                f"expected one of {', '.join(str(place) for place in places)}"
            )
        edit.replace_all_uses(piece.results[0], literal)
        edit.erase(piece)
        yield recorder.step(
            "drop-copy", f"{literal.name} is no longer part of a batch", op=piece, value=literal
        )
    target = batch.operands[-1]
    edit.erase(batch)
    _erase_unused_load(target)
    yield recorder.step("drop-copy", "the batch that it was copied in goes", op=batch)


def batch_offsets(sizes: list[int]) -> list[int]:
    """Where each literal of a batch begins, in bytes."""
    offsets = []
    at = 0
    for size in sizes:
        offsets.append(at)
        at += -(-size // BATCH_ALIGNMENT) * BATCH_ALIGNMENT
    return offsets


def batch_bytes(sizes: list[int]) -> int:
    """Bytes that a batch of literals takes, on the host and in the arena."""
    return batch_offsets(sizes)[-1] + sizes[-1] if sizes else 0


def _erase_unused_load(target: Value) -> None:
    op = target.op
    if op is not None and op.name == "load" and not target.uses:
        edit.erase(op)
