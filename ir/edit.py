"""Edits of a program that keep its def-use chains right.

Every function leaves `uses` and `operands` in agreement and marks what the writer has to print anew.
They raise ValueError for edits that would leave a value used and undefined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .program import Block, Detail, Op, Program, Region, Use, Value, walk
from .types import Type


def create(
    name: str,
    operands: Sequence[Value] = (),
    result_types: Sequence[Type] = (),
    attributes: dict[str, str] | None = None,
    *,
    block: Block | None = None,
    before: Op | None = None,
    regions: Sequence[Region] = (),
    names: Sequence[str] = (),
) -> Op:
    """A new op at the end of `block`, or before the op `before`; results are named when printed.

    `attributes` are texts as the format writes them; `names` gives the results' names if it matters.
    """
    op = Op(name)
    op.edited = True
    op._detail = Detail(attributes=dict(attributes or {}), result_types=list(result_types))
    op.results = [
        Value(names[i] if i < len(names) else "", op, i, type) for i, type in enumerate(result_types)
    ]
    for region in regions:
        region.parent = op
        op.regions.append(region)
    for value in operands:
        append_operand(op, value)
    if before is not None:
        insert_before(before, op)
    elif block is not None:
        op.block = block
        block.ops.append(op)
        block.edited = True
    return op


def insert_before(anchor: Op, op: Op) -> None:
    """Put a detached op in front of `anchor` in its block."""
    block = _block_of(anchor)
    op.block = block
    block.ops.insert(block.ops.index(anchor), op)
    block.edited = True


def append_operand(op: Op, value: Value) -> None:
    """Add a last operand."""
    value.uses.append((op, len(op.operands)))
    op.operands.append(value)
    op.edited = True


def set_operand(op: Op, index: int, value: Value) -> None:
    """Make operand `index` of `op` be `value`."""
    old = op.operands[index]
    if old is value:
        return
    old.uses.remove((op, index))
    op.operands[index] = value
    value.uses.append((op, index))
    op.edited = True


def erase_operand(op: Op, index: int) -> None:
    """Take operand `index` away; the later ones move down."""
    _drop_uses(op)
    del op.operands[index]
    for i, value in enumerate(op.operands):
        value.uses.append((op, i))
    op.edited = True


def replace_all_uses(old: Value, new: Value, only: Callable[[Use], bool] | None = None) -> int:
    """Make every use of `old` (that `only` accepts) a use of `new`; returns how many changed."""
    if old is new:
        return 0
    moved = [use for use in old.uses if only is None or only(use)]
    for op, index in moved:
        op.operands[index] = new
        op.edited = True
    if len(moved) == len(old.uses):
        old.uses.clear()
    else:
        gone = set(moved)
        old.uses[:] = [use for use in old.uses if use not in gone]
    new.uses.extend(moved)
    return len(moved)


def erase(op: Op) -> None:
    """Take `op`, with its regions, out of its block; raises ValueError while a result is still used."""
    inner = list(walk(op))
    inside = set(map(id, inner))
    for dead in inner:
        for result in dead.results:
            users = [user for user, _ in result.uses if id(user) not in inside]
            if users:
                raise ValueError(
                    f"{op.name} cannot be erased: {result.name} is still used by {users[0].name}; "
                    "replace its uses first"
                )
    for dead in inner:
        _drop_uses(dead)
        dead.operands.clear()
    _unlink(op)


def move(op: Op, *, before: Op | None = None, block: Block | None = None) -> None:
    """Put `op` before another op, or at the end of `block`; uses are untouched."""
    if before is op:
        return
    _unlink(op)
    if before is not None:
        insert_before(before, op)
    elif block is not None:
        op.block = block
        block.ops.append(op)
        block.edited = True
    else:
        raise ValueError("move wants an op to move before, or a block to move to the end of")


def clone(op: Op, mapping: dict[Value, Value] | None = None) -> Op:
    """A detached copy of `op` with its regions; operands found in `mapping` are replaced by their images.

    `mapping` gains every result and block argument of the original. The copy keeps the original's text
    as its template, so that custom syntax is printed as it was.
    """
    images = mapping if mapping is not None else {}
    pairs: list[tuple[Op, Op]] = []
    top = _copy_shell(op, images, pairs)
    block_images: dict[int, Block] = {}
    for old, new in pairs:
        for old_region, new_region in zip(old.regions, new.regions, strict=True):
            for old_block, new_block in zip(old_region.blocks, new_region.blocks, strict=True):
                block_images[id(old_block)] = new_block
    for old, new in pairs:
        new.successors = [block_images.get(id(block), block) for block in old.successors]
        for value in old.operands:
            append_operand(new, images.get(value, value))
    return top


def rename(value: Value, name: str) -> None:
    """Give a value another name; the ops that print it are marked."""
    value.name = name
    owner = value.owner
    if isinstance(owner, Op):
        owner.edited = True
    elif isinstance(owner, Block):
        owner.edited = True
        if owner.parent is not None and owner.parent.parent is not None:
            owner.parent.parent.edited = True
    for op, _ in value.uses:
        op.edited = True


def set_attribute(op: Op, name: str, text: str | None) -> None:
    """Set, or with None take away, an attribute by its text."""
    if text is None:
        op.attributes.pop(name, None)
    else:
        op.attributes[name] = text
    op.edited = True


def set_type(value: Value, type: Type) -> None:
    """Give a value another type; the op that defines it and those that use it are printed anew."""
    owner = value.owner
    if isinstance(owner, Op):
        owner.detail.result_types[value.index] = type
    value.type = type
    rename(value, value.name)
    around = owner.parent.parent if isinstance(owner, Block) and owner.parent else owner
    for op in [around, *(user for user, _ in value.uses)]:
        if isinstance(op, Op):
            op.detail.retyped = True


def rename_all(program: Program, prefix: str = "v") -> None:
    """Rename every value of a program to `<prefix>N` in walk order (a test's and a reducer's tool)."""
    count = 0
    for op in walk(program):
        values = list(op.results)
        for region in op.regions:
            for block in region.blocks:
                values.extend(block.args)
        for value in values:
            sigil = value.name[:1] if value.name[:1] in "%@" else ""
            rename(value, f"{sigil}{prefix}{count}")
            count += 1


def _copy_shell(op: Op, images: dict[Value, Value], pairs: list[tuple[Op, Op]]) -> Op:
    top = _copy_one(op, images, pairs)
    work = [(op, top)]
    while work:
        old, new = work.pop()
        for region in old.regions:
            new_region = Region(new, region.start, region.end)
            new.regions.append(new_region)
            for block in region.blocks:
                new_block = Block(new_region, block.label, block.start, block.end)
                new_region.blocks.append(new_block)
                for arg in block.args:
                    image = Value(arg.name, new_block, arg.index, arg.type)
                    new_block.args.append(image)
                    images[arg] = image
                for inner in block.ops:
                    copy = _copy_one(inner, images, pairs)
                    copy.block = new_block
                    new_block.ops.append(copy)
                    if inner.regions:
                        work.append((inner, copy))
    return top


def _copy_one(op: Op, images: dict[Value, Value], pairs: list[tuple[Op, Op]]) -> Op:
    new = Op(op.name, op.source, op.start, op.end)
    new.lead = op.lead
    detail = op.detail
    new._detail = Detail(dict(detail.attributes), list(detail.result_types), detail.location, detail.trailing)
    new.edited = True
    for result in op.results:
        image = Value(result.name, new, result.index, result.type)
        new.results.append(image)
        images[result] = image
    pairs.append((op, new))
    return new


def _drop_uses(op: Op) -> None:
    for index, value in enumerate(op.operands):
        value.uses.remove((op, index))


def _unlink(op: Op) -> None:
    block = _block_of(op)
    block.ops.remove(op)
    block.edited = True
    op.block = None


def _block_of(op: Op) -> Block:
    if op.block is None:
        raise ValueError(f"{op.name} is in no block")
    return op.block
