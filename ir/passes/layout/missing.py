"""A mapping that is asked for and was never made: what is known of it at that moment."""

from __future__ import annotations

from dataclasses import dataclass

from ...program import Block, Op, Value
from .propagate import Origin
from .state import Run, role
from .tensors import Layout


@dataclass(frozen=True, slots=True)
class Visit:
    """An op whose regions the rewrite came to, and what became of the op."""

    op: Op
    rewritten: bool


@dataclass(frozen=True, slots=True)
class Hop:
    """One step of the way from an anchor to a value: `value` got `layout` through `op`."""

    value: Value
    layout: Layout
    op: Op
    operand: int


@dataclass(frozen=True, slots=True)
class Missing:
    """A `(value, encoding)` without a rewritten value."""

    value: Value
    wanted: Layout
    asked_by: Op
    owner: Op | None
    """The op that should have made it: the value's own op, or the one whose region's argument it is."""
    reason: str
    """`owner-kept`: the owner was not rewritten; `other-encoding`: it was, under another encoding;
    `not-yet`: it comes later."""
    candidates: tuple[Layout, ...]
    tied: tuple[tuple[Value, tuple[Layout, ...], Layout | None], ...]
    """The owner's values tied to this one (result, argument, operand): candidates and pick."""
    visits: tuple[Visit, ...]
    in_encoding: Layout | None = None
    """What the asking op wants the value converted to once it is there."""
    paths: tuple[tuple[Value, Layout, tuple[Hop, ...]], ...] = ()
    """For the value and those tied to it, how each candidate came there."""


def path(run: Run, value: Value, layout: Layout) -> list[Hop]:
    """How a value came by a candidate, from the anchor on."""
    hops: list[Hop] = []
    seen: set[tuple[Value, Layout]] = set()
    key: tuple[Value, Layout] | None = (value, layout)
    while key is not None and key not in seen:
        seen.add(key)
        origin: Origin | None = run.recorder.get("origin", key)
        if origin is None:
            break
        hops.append(Hop(key[0], key[1], origin.op, origin.operand))
        known = origin.source is not None and origin.layout is not None
        key = (origin.source, origin.layout) if known else None  # type: ignore[assignment]
    return hops[::-1]


def owner_of(value: Value) -> Op | None:
    """The op that defines a value, or holds the block whose argument it is."""
    owner = value.owner
    if isinstance(owner, Block):
        return owner.parent.parent if owner.parent is not None else None
    return owner


def tied_to(value: Value) -> list[Value]:
    """The values that a loop or branch ties to this one: same data, so they should agree."""
    op = owner_of(value)
    if op is None or op.name not in ("scf.for", "scf.while"):
        return []
    place = role(value)
    number = int(place.rpartition("#")[2]) if "#" in place else -1
    if op.name == "scf.for":
        body = op.regions[0].blocks[0]
        together = [body.args[number + 1], op.results[number], op.operands[number + 3]] if number >= 0 else []
    elif place.startswith("before"):
        together = [op.regions[0].blocks[0].args[number], op.operands[number]]
    else:
        together = [op.regions[1].blocks[0].args[number], op.results[number]]
    return [other for other in together if other is not value]


def record(
    run: Run,
    value: Value,
    wanted: Layout,
    asking: Op,
    visits: list[Visit],
    in_encoding: Layout,
    *,
    rewritten: bool,
) -> Missing:
    """Everything there is to say about a missing mapping."""
    owner = owner_of(value)
    mapped = any(key[0] is value for key in run.recorder.table("mapping") if isinstance(key, tuple))
    seen = rewritten or any(visit.op is owner for visit in visits)
    reason = "other-encoding" if mapped else "owner-kept" if seen else "not-yet"
    candidates, pick = run.recorder.table("candidates"), run.recorder.table("pick")
    tied = tuple(
        (other, candidates.get(other, ()), pick.get(other)) for other in tied_to(value) if other in candidates
    )
    own: tuple[Layout, ...] = candidates.get(value, ())
    paths = [(value, layout, tuple(path(run, value, layout))) for layout in own]
    paths += [(other, layout, tuple(path(run, other, layout))) for other, held, _ in tied for layout in held]
    return Missing(value, wanted, asking, owner, reason, own, tied, tuple(visits), in_encoding, tuple(paths))
