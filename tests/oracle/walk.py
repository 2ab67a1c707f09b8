#!/usr/bin/env python3
"""Print every op of an MLIR file as the Triton of the running Python sees it, in text order.

    PYTHON walk.py FILE...

For each file a line {"file", "ops", "types"} with the number of ops and the types that occur, in full;
then a JSON array for each op, an op before the ops of its regions:

    [name, operands, results, regions]

`operands` has an entry for each operand: [op, result], the place of the defining op in this list and
which of its results it is, or [op, region, block, argument] for an argument of a block of op's region.
`results` has the type of each result, as an index into `types`. `regions` has for each region, for each of
its blocks, a list of its arguments' types.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import libtriton


class Seen:
    """What one op said when the walk came by: the binding's objects are not kept."""

    def __init__(self, op: Any) -> None:
        block = op.get_block()
        self.name: str = op.get_name()
        self.block: int | None = block.id() if block else None
        self.region: int | None = block.get_parent().id() if block else None
        arguments = [block.arg(i) for i in range(block.get_num_arguments())] if block else []
        self.arguments = [(value.id(), str(value.get_type())) for value in arguments]
        self.operands = [op.get_operand(i).id() for i in range(op.get_num_operands())]
        results = [op.get_result(i) for i in range(op.get_num_results())]
        self.results = [(value.id(), str(value.get_type())) for value in results]
        regions = [op.get_region(i) for i in range(op.get_num_regions())]
        self.regions = [(region.id(), region.size()) for region in regions]


def walk(module: Any) -> tuple[list[list[Any]], list[str]]:
    """The ops of a module in text order, and the types in it; see the top of this file."""
    seen: list[Seen] = []
    module.walk(lambda op: seen.append(Seen(op)))  # an op comes after the ops of its regions
    blocks: dict[int, list[Seen]] = {}  # block -> its ops, in order
    inside: dict[int, list[int]] = {}  # region -> its blocks, in order
    top: list[Seen] = []
    for op in seen:
        if op.block is None or op.region is None:
            top.append(op)
            continue
        if op.block not in blocks:
            inside.setdefault(op.region, []).append(op.block)
        blocks.setdefault(op.block, []).append(op)
    order = text_order(top, blocks, inside)
    places: dict[int, list[int]] = {}
    types: dict[str, int] = {}
    for at, op in enumerate(order):
        places.update({value: [at, index] for index, (value, _) in enumerate(op.results)})
        for r, (region, size) in enumerate(op.regions):
            found = inside.get(region, [])
            assert len(found) == size, f"{op.name}: a block without ops is not visible here"
            for b, block in enumerate(found):
                arguments = blocks[block][0].arguments
                places.update({value: [at, r, b, index] for index, (value, _) in enumerate(arguments)})

    def numbers(values: list[tuple[int, str]]) -> list[int]:
        return [types.setdefault(type, len(types)) for _, type in values]

    ops = [
        [
            op.name,
            [places[value] for value in op.operands],
            numbers(op.results),
            [[numbers(blocks[b][0].arguments) for b in inside.get(region, [])] for region, _ in op.regions],
        ]
        for op in order
    ]
    return ops, list(types)


def text_order(top: list[Seen], blocks: dict[int, list[Seen]], inside: dict[int, list[int]]) -> list[Seen]:
    order: list[Seen] = []
    stack = list(reversed(top))
    while stack:
        op = stack.pop()
        order.append(op)
        children = [child for r, _ in op.regions for block in inside.get(r, []) for child in blocks[block]]
        stack.extend(reversed(children))
    return order


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    failed = 0
    for file in sys.argv[1:]:
        module, error = libtriton.parse(Path(file).read_text(), libtriton.make_context())
        if module is None:
            print(json.dumps({"file": file, "error": error}), flush=True)
            failed += 1
            continue
        ops, types = walk(module)
        print(json.dumps({"file": file, "ops": len(ops), "types": types}))
        for op in ops:
            print(json.dumps(op, separators=(",", ":")))
        sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
