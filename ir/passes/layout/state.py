"""What all phases of one run of the pass share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ...journal import splice
from ...program import Block, Op, Program, Use, Value, walk, walk_blocks, walk_post
from ..step import Recorder
from .attributes import module_number
from .inference import Inference
from .names import kind
from .rules import RuleSet
from .tensors import Layout, Tensors, read_all_types


@dataclass(slots=True)
class Run:
    """A run over one program.

    Tables of facts, by name:

    * `candidates`: value → the encodings that it could have, in the order in which they came.
    * `origin`: (value, encoding) → `Origin`, where a candidate came from first.
    * `pick`: value → the encoding chosen; `order_dependent`: value → True.
    * `mapping`: (old value, encoding) → new value; `poisoned`: value → why it is not to be trusted.
    * `slice`: a convert's result → the (value, encoding) pairs that were made again for it.
    * `remat`: (value, encoding) → a value that holds the same in that encoding.
    """

    program: Program
    rules: RuleSet
    recorder: Recorder
    tensors: Tensors
    infer: Inference
    warps: int
    lanes: int
    post_index: dict[Op, int]
    names: set[str] = field(default_factory=set)
    fresh: int = 0

    def newest_first(self, value: Value) -> list[Use]:
        """The uses of a value as the compiler visits them, for ops that were read from the text.

        MLIR puts each use at the head of the list when an op is built, and the parser builds an op after
        the ops of its regions.
        """
        index = self.post_index
        return sorted(value.uses, key=lambda use: (index[use[0]], use[1]), reverse=True)

    def new_name(self) -> str:
        """A name that no value of the program has."""
        while (name := f"%r{self.fresh}") in self.names:
            self.fresh += 1
        self.fresh += 1
        return name

    def functions(self) -> Iterator[Op]:
        """The functions of the program, in text order."""
        for op in walk(self.program):
            if kind(op) == "tt.func":
                yield op

    def show(self, layout: Layout) -> str:
        """An encoding as the program spells it."""
        return self.tensors.text(layout)


def begin(program: Program, rules: RuleSet, recorder: Recorder) -> Run:
    """Read what every phase needs: types, encodings, warps, the order of uses, the names in use."""
    read_all_types(program)
    tensors = Tensors(program, rules)
    names = {arg.name for block in walk_blocks(program) for arg in block.args}
    names.update(result.name.partition("#")[0] for op in walk(program) for result in op.results)
    post_index = {op: index for index, op in enumerate(walk_post(program))}
    _order_uses(program, post_index)
    return Run(
        program,
        rules,
        recorder,
        tensors,
        Inference(tensors, rules),
        module_number(program, "num-warps", 4),
        module_number(program, "threads-per-warp", 32),
        post_index,
        names,
    )


def _order_uses(program: Program, index: dict[Op, int]) -> None:
    """Put the uses of every value in the order in which MLIR's parser makes them."""
    values = [arg for block in walk_blocks(program) for arg in block.args]
    values += [result for op in walk(program) for result in op.results]
    for value in values:
        ordered = sorted(value.uses, key=lambda use: (index[use[0]], use[1]))
        if ordered != value.uses:
            splice(value.uses, 0, len(ordered), ordered)


def body_of(op: Op, region: int = 0) -> Block | None:
    """The entry block of a region of `op`, if there is one."""
    regions = op.regions
    return regions[region].blocks[0] if region < len(regions) and regions[region].blocks else None


def terminator(block: Block | None) -> Op | None:
    """The last op of a block."""
    return block.ops[-1] if block is not None and block.ops else None


def describe(value: Value) -> str:
    """A value with where it comes from, for sentences: `%12 (iter arg #0 of scf.for)`."""
    owner = value.owner
    if isinstance(owner, Block) and owner.parent is not None and owner.parent.parent is not None:
        return f"{value.name} ({role(value)} of {owner.parent.parent.name})"
    if isinstance(owner, Op):
        return f"{value.name} ({owner.name})"
    return value.name


def role(value: Value) -> str:
    """What a block argument is to its op: `iter arg #0`, `before-argument #1`, `argument #2`."""
    owner = value.owner
    if not isinstance(owner, Block) or owner.parent is None or owner.parent.parent is None:
        return f"result #{value.index}"
    op = owner.parent.parent
    if op.name == "scf.for":
        return f"iter arg #{value.index - 1}" if value.index else "induction variable"
    if op.name == "scf.while":
        place = "before" if op.regions and owner.parent is op.regions[0] else "after"
        return f"{place}-argument #{value.index}"
    return f"argument #{value.index}"
