"""Edits of a program that keep its def-use chains right.

Every function leaves `uses` and `operands` in agreement and marks what the writer has to print anew.
They raise ValueError for edits that would leave a value used and undefined. All changes go through
`journal.py`, so that they can be undone while a journal is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .journal import append, assign, put, remove, splice
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
        append_op(block, op)
    return op


def insert_before(anchor: Op, op: Op) -> None:
    """Put a detached op in front of `anchor` in its block."""
    insert_at(_block_of(anchor), _block_of(anchor).ops.index(anchor), op)


def insert_after(anchor: Op, op: Op) -> None:
    """Put a detached op behind `anchor` in its block."""
    insert_at(_block_of(anchor), _block_of(anchor).ops.index(anchor) + 1, op)


def insert_at(block: Block, index: int, op: Op) -> None:
    """Put a detached op at a place of a block's list."""
    assign(op, "block", block)
    splice(block.ops, index, 0, (op,))
    assign(block, "edited", True)


def append_op(block: Block, op: Op) -> None:
    """Put a detached op at the end of a block."""
    insert_at(block, len(block.ops), op)


def append_operand(op: Op, value: Value) -> None:
    """Add a last operand."""
    append(value.uses, (op, len(op.operands)))
    append(op.operands, value)
    assign(op, "edited", True)
    _retyped(op)


def set_operand(op: Op, index: int, value: Value) -> None:
    """Make operand `index` of `op` be `value`."""
    old = op.operands[index]
    if old is value:
        return
    _retype(op, old, value)
    remove(old.uses, (op, index))
    splice(op.operands, index, 1, (value,))
    append(value.uses, (op, index))
    assign(op, "edited", True)


def erase_operand(op: Op, index: int) -> None:
    """Take operand `index` away; the later ones move down."""
    _drop_uses(op)
    splice(op.operands, index, 1)
    for i, value in enumerate(op.operands):
        append(value.uses, (op, i))
    assign(op, "edited", True)
    _retyped(op)


def replace_all_uses(old: Value, new: Value, only: Callable[[Use], bool] | None = None) -> int:
    """Make every use of `old` (that `only` accepts) a use of `new`; returns how many changed."""
    if old is new:
        return 0
    moved = [use for use in old.uses if only is None or only(use)]
    for op, index in moved:
        splice(op.operands, index, 1, (new,))
        _retype(op, old, new)
        assign(op, "edited", True)
    gone = set(moved)
    left = [use for use in old.uses if use not in gone] if len(moved) < len(old.uses) else []
    splice(old.uses, 0, len(old.uses), left)
    splice(new.uses, len(new.uses), 0, moved)
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
        splice(dead.operands, 0, len(dead.operands))
    _unlink(op)


def move(op: Op, *, before: Op | None = None, block: Block | None = None) -> None:
    """Put `op` before another op, or at the end of `block`; uses are untouched."""
    if before is op:
        return
    _unlink(op)
    if before is not None:
        insert_before(before, op)
    elif block is not None:
        append_op(block, op)
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
            image = images.get(value, value)
            _retype(new, value, image)
            append_operand(new, image)
    return top


def erase_blocks(region: Region) -> None:
    """Take all blocks of a region away; raises ValueError while one still holds ops."""
    if any(block.ops for block in region.blocks):
        raise ValueError("a block that still holds ops cannot be erased")
    splice(region.blocks, 0, len(region.blocks))
    if region.parent is not None:
        assign(region.parent, "edited", True)


def move_ops(source: Block, target: Block) -> None:
    """Put all ops of one block at the end of another."""
    moved = list(source.ops)
    splice(source.ops, 0, len(moved))
    splice(target.ops, len(target.ops), 0, moved)
    for op in moved:
        assign(op, "block", target)
    _mark_block(source)
    _mark_block(target)


def take_regions(source: Op, target: Op) -> None:
    """Give the regions of one op, as they are, to another that has none."""
    moved = list(source.regions)
    splice(source.regions, 0, len(moved))
    splice(target.regions, 0, 0, moved)
    for region in moved:
        assign(region, "parent", target)
    assign(source, "edited", True)
    assign(target, "edited", True)


def _mark_block(block: Block) -> None:
    assign(block, "edited", True)
    if block.parent is not None and block.parent.parent is not None:
        assign(block.parent.parent, "edited", True)


def rename(value: Value, name: str) -> None:
    """Give a value another name; the ops that print it are marked."""
    assign(value, "name", name)
    owner = value.owner
    if isinstance(owner, Op):
        assign(owner, "edited", True)
    elif isinstance(owner, Block):
        assign(owner, "edited", True)
        if owner.parent is not None and owner.parent.parent is not None:
            assign(owner.parent.parent, "edited", True)
    for op, _ in value.uses:
        assign(op, "edited", True)


def set_attribute(op: Op, name: str, text: str | None) -> None:
    """Set, or with None take away, an attribute by its text."""
    put(op.attributes, name, text)
    assign(op, "edited", True)


def set_type(value: Value, type: Type) -> None:
    """Give a value another type; the op that defines it and those that use it are printed anew."""
    owner = value.owner
    if isinstance(owner, Op):
        splice(owner.detail.result_types, value.index, 1, (type,))
    assign(value, "_type", type)
    rename(value, value.name)
    around = owner.parent.parent if isinstance(owner, Block) and owner.parent else owner
    for op in [around, *(user for user, _ in value.uses)]:
        if isinstance(op, Op):
            assign(op.detail, "retyped", True)


def insert_argument(block: Block, index: int, type: Type, name: str = "") -> Value:
    """A new argument of `block` at `index`; the later ones move up."""
    value = Value(name, block, index, type)
    splice(block.args, index, 0, (value,))
    _renumber_arguments(block)
    return value


def erase_argument(block: Block, index: int) -> None:
    """Take an argument of `block` away; raises ValueError while it is used."""
    if block.args[index].uses:
        raise ValueError(f"argument {block.args[index].name} is still used; replace its uses first")
    splice(block.args, index, 1)
    _renumber_arguments(block)


def insert_result(op: Op, index: int, type: Type, name: str = "") -> Value:
    """A new result of `op` at `index`; the later ones move up."""
    splice(op.detail.result_types, index, 0, (type,))
    value = Value(name, op, index, type)
    splice(op.results, index, 0, (value,))
    _renumber_results(op)
    return value


def erase_result(op: Op, index: int) -> None:
    """Take a result of `op` away; raises ValueError while it is used."""
    if op.results[index].uses:
        raise ValueError(f"result {op.results[index].name} is still used; replace its uses first")
    splice(op.results, index, 1)
    if index < len(op.detail.result_types):
        splice(op.detail.result_types, index, 1)
    _renumber_results(op)


def reorder_arguments(block: Block, order: Sequence[Value]) -> None:
    """Put the arguments of `block` in another order; `order` holds each of them once."""
    splice(block.args, 0, len(block.args), order)
    _renumber_arguments(block)


def reorder_results(op: Op, order: Sequence[Value]) -> None:
    """Put the results of `op` in another order; `order` holds each of them once."""
    splice(op.results, 0, len(op.results), order)
    splice(op.detail.result_types, 0, len(op.detail.result_types), [value.type for value in order])
    _renumber_results(op)


def _renumber_arguments(block: Block) -> None:
    for index, value in enumerate(block.args):
        assign(value, "index", index)
    _mark_block(block)


def _renumber_results(op: Op) -> None:
    for index, value in enumerate(op.results):
        assign(value, "index", index)
    assign(op, "edited", True)
    _retyped(op)


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


def _retyped(op: Op) -> None:
    """Have an op that was read print its types anew: their number or their order has changed."""
    if op.start >= 0:
        assign(op.detail, "retyped", True)


def _retype(op: Op, old: Value, new: Value) -> None:
    """Have an op's types printed anew if its operand `new` has another one than `old` had."""
    if old is not new and old.type.text != new.type.text:
        assign(op.detail, "retyped", True)


def _drop_uses(op: Op) -> None:
    for index, value in enumerate(op.operands):
        remove(value.uses, (op, index))


def _unlink(op: Op) -> None:
    block = _block_of(op)
    remove(block.ops, op)
    assign(block, "edited", True)
    assign(op, "block", None)


def _block_of(op: Op) -> Block:
    if op.block is None:
        raise ValueError(f"{op.name} is in no block")
    return op.block
