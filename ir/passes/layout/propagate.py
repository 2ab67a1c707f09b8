"""Forward propagation: from the anchors to all that could have the same encoding, then one pick each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ...layouts import encodings as enc
from ...program import Op, Use, Value
from ..step import DETAIL, OP, Step
from .anchors import MMA, anchor_values
from .attributes import is_efficient
from .names import CONVERT, HANDS_ON, MEMORY, WAIT, keeps_encoding, kind
from .state import Run, body_of, describe, role
from .tensors import Layout


@dataclass(frozen=True, slots=True)
class Origin:
    """How a value came by a candidate first: from which value's which encoding, through which op.

    For an anchor `source` is None and `op` is the anchor itself (the function for its arguments).
    """

    op: Op
    source: Value | None = None
    layout: Layout | None = None
    operand: int = -1


class OutOfRangeError(Exception):
    """The rules of 3.2 to 3.8 ask a while for a result that it does not have, and the compiler aborts."""

    def __init__(self, op: Op, index: int) -> None:
        super().__init__(f"{op.name} has {len(op.results)} results, and none of number {index}")
        self.op = op
        self.index = index


def targets(run: Run, use: Use) -> list[Value]:
    """The values that a use hands its encoding to, in the compiler's order."""
    op, index = use
    name = kind(op)
    special = _TARGETS.get(name)
    if special is not None:
        return special(run, op, index)
    if keeps_encoding(name) or name in HANDS_ON:
        return op.results
    return []


def _of_for(run: Run, op: Op, index: int) -> list[Value]:
    body = body_of(op)
    at = index - 3
    if body is None or at < 0:
        return []
    return [body.args[at + 1], op.results[at]]


def _of_while(run: Run, op: Op, index: int) -> list[Value]:
    before = body_of(op)
    return [before.args[index]] if before is not None else []


def _of_yield(run: Run, op: Op, index: int) -> list[Value]:
    parent = op.parent
    if parent is None or parent.name not in ("scf.for", "scf.if", "scf.while"):
        return []
    if parent.name == "scf.if":
        return [parent.results[index]]
    body = body_of(parent)
    if body is None:
        return []
    if parent.name == "scf.for":
        return [parent.results[index], body.args[index + 1]]
    argument = body.args[index]
    if run.rules.while_yield == "operand":
        return [argument, parent.operands[index]]
    if run.rules.while_yield == "result":
        if index >= len(parent.results):
            raise OutOfRangeError(parent, index)
        return [parent.results[index], argument]
    return [argument]


def _of_condition(run: Run, op: Op, index: int) -> list[Value]:
    parent = op.parent
    after = body_of(parent, 1) if parent is not None else None
    if parent is None or after is None or index == 0:
        return []
    return [after.args[index - 1], parent.results[index - 1]]


def _of_wait(run: Run, op: Op, index: int) -> list[Value]:
    return op.results if run.rules.wait_results == "all" else op.results[index : index + 1]


def _of_gather(run: Run, op: Op, index: int) -> list[Value]:
    return op.results if run.rules.gather_anchors and index == 1 and not is_efficient(op) else []


def _of_reshape(run: Run, op: Op, index: int) -> list[Value]:
    return [] if run.rules.efficient_reshape_anchors and is_efficient(op) else op.results


_TARGETS: Final = {
    "scf.for": _of_for,
    "scf.while": _of_while,
    "scf.yield": _of_yield,
    "scf.condition": _of_condition,
    WAIT: _of_wait,
    "tt.gather": _of_gather,
    "tt.reshape": _of_reshape,
}


def anchor(run: Run, function: Op) -> Iterator[Step]:
    """Give every anchor its own encoding as the only candidate."""
    recorder = run.recorder
    for value, op, layout in anchor_values(run, function):
        recorder.set("candidates", value, (layout,))
        recorder.set("origin", (value, layout), Origin(op))
        why = "arguments of a function keep" if op is function else f"{op.name} is an anchor and keeps"
        yield recorder.step(
            "anchor", f"{describe(value)}: {why} {run.show(layout)}", op=op, value=value, encodings=(layout,)
        )


def propagate(run: Run) -> Iterator[Step]:
    """Carry candidates along uses until nothing changes; a value is visited again whenever its set grew."""
    recorder = run.recorder
    candidates = recorder.table("candidates")
    stack: list[Value] = [value for value in candidates if isinstance(value, Value)]
    while stack:
        value = stack.pop()
        held: tuple[Layout, ...] = candidates[value]
        listed = ", ".join(run.show(layout) for layout in held)
        yield recorder.step(
            "visit",
            f"{describe(value)} has {len(held)} candidate(s): {listed}",
            op=value.op,
            value=value,
            encodings=held,
        )
        for use in run.newest_first(value):
            try:
                receivers = targets(run, use)
            except OutOfRangeError as fault:
                yield recorder.step(
                    "out-of-range",
                    f"scf.yield operand #{use[1]} is taken for result #{use[1]} of the scf.while, "
                    f"which has {len(fault.op.results)}: the compiler aborts here "
                    "(Result number is out of range)",
                    op=fault.op,
                    value=value,
                )
                body = body_of(fault.op)
                receivers = [body.args[use[1]]] if body is not None else []
            for target in receivers:
                if run.tensors.of(target) is None:
                    continue
                if _hand_on(run, value, held, use, target):
                    stack.append(target)
                    yield _handed(run, value, use, target)


def _hand_on(run: Run, value: Value, held: tuple[Layout, ...], use: Use, target: Value) -> bool:
    """Add to the target's candidates what the use makes of the value's; whether there was anything new."""
    recorder = run.recorder
    op, index = use
    before: tuple[Layout, ...] = recorder.get("candidates", target) or ()
    after = before
    for layout in held:
        # A convert hands its source's encoding on, so that it could become a convert to nothing.
        made = layout if kind(op) == CONVERT else run.infer.result(op, layout)
        if made is not None and made not in after:
            after = (*after, made)
            recorder.set("origin", (target, made), Origin(op, value, layout, index))
    if after is before:
        return False
    recorder.set("candidates", target, after)
    return True


def _handed(run: Run, value: Value, use: Use, target: Value) -> Step:
    op, index = use
    now: tuple[Layout, ...] = run.recorder.get("candidates", target)
    listed = ", ".join(run.show(layout) for layout in now)
    return run.recorder.step(
        "candidate",
        f"{op.name} hands operand #{index}, {value.name}, on to {role(target)} {target.name}, "
        f"which now has {listed}",
        op=op,
        value=target,
        encodings=now,
        depth=DETAIL,
    )


def resolve(run: Run) -> Iterator[Step]:
    """Choose one encoding for every value; each is chosen by itself, so tied values can disagree."""
    recorder = run.recorder
    open_ = 0
    for value, held in list(recorder.table("candidates").items()):
        assert isinstance(value, Value)
        if len(held) == 1:
            recorder.set("pick", value, held[0])
            open_ += 1
    yield recorder.step("pick-single", f"{open_} value(s) have one candidate, which is taken", depth=OP)
    for value, held in list(recorder.table("candidates").items()):
        assert isinstance(value, Value)
        if len(held) > 1:
            chosen, reason = choose(value, held)
            recorder.set("pick", value, chosen)
            listed = ", ".join(run.show(layout) for layout in held)
            yield recorder.step(
                "pick",
                f"{describe(value)}: {run.show(chosen)} of {listed}, {reason}",
                op=value.op,
                value=value,
                encodings=(chosen, *held),
            )


def choose(value: Value, held: tuple[Layout, ...]) -> tuple[Layout, str]:
    """The candidate that the pass takes, and why."""
    if value.op is not None and kind(value.op) in MEMORY:
        for layout in held:
            if isinstance(layout, enc.Blocked):
                return layout, "the first blocked one, because the op goes to memory"
    else:
        for layout in held:
            if isinstance(layout, MMA):
                return layout, "the first one of a matrix instruction"
    return held[0], "the one that came first"
