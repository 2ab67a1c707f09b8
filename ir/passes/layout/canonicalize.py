"""The patterns that fold converts into their neighbours."""

from __future__ import annotations

import re
from typing import Final

from ...layouts import encodings as enc
from ...program import Op, Value
from ...types import TensorType
from .attributes import allows_reorder, is_efficient, lens_of, order_of
from .folding import is_expensive_view, is_legal_cat
from .folds import FOLDS
from .greedy import Pattern, Rewriter
from .linear_inference import equal_by_meaning
from .names import CONVERT, kind
from .rules import RuleSet
from .state import Run

_SPLAT: Final = re.compile(r"dense<(?!\[)(?!\")[^>]*>")


def splat_text(op: Op) -> str | None:
    """`dense<0>` of a constant tensor with one value throughout; None for other constants."""
    found = _SPLAT.match(op.attributes.get("value", ""))
    return found[0] if found else None


def _source(value: Value) -> Op | None:
    """The convert that makes a value, if one does."""
    op = value.op
    return op if op is not None and kind(op) == CONVERT else None


def fold_convert(rewriter: Rewriter, op: Op) -> str | None:
    """A convert to the type it comes from, or of something that can be made in the other encoding."""
    run = rewriter.run
    source, result = op.operands[0], op.results[0]
    if run.tensors.same(source.type, result.type):
        rewriter.replace(op, [source])
        return f"{result.name} converts {source.name} to the type that it has"
    from_, to = run.tensors.of(source), run.tensors.of(result)
    if isinstance(to, enc.DotOperand) and isinstance(from_, enc.NvidiaMma):
        return None
    maker = source.op
    if maker is None:
        return None
    fold = _INTO.get(kind(maker))
    return fold(rewriter, op, maker) if fold is not None else None


def _reshape(rewriter: Rewriter, op: Op, maker: Op) -> str | None:
    run = rewriter.run
    result = op.results[0]
    to = run.tensors.of(result)
    if not allows_reorder(maker) or is_efficient(maker) or to is None:
        return None
    if is_expensive_view(run, maker.operands[0].type, result.type, to):
        return None
    if isinstance(to, enc.DotOperand) or isinstance(run.tensors.of(op.operands[0]), enc.DotOperand):
        return None
    made = rewriter.create(op, maker.name, maker.operands, [result.type], {"allow_reorder": "unit"})
    rewriter.replace(op, made.results)
    return f"{maker.name} may reorder, so it makes the encoding of {result.name} itself"


def _again(rewriter: Rewriter, op: Op, maker: Op) -> str | None:
    """Make what the maker makes anew with the convert's type."""
    result = op.results[0]
    made = rewriter.create(op, maker.name, maker.operands, [result.type], dict(maker.attributes))
    rewriter.replace(op, made.results)
    return f"{maker.name} makes {result.name} in its encoding itself"


def _local_load(rewriter: Rewriter, op: Op, maker: Op) -> str | None:
    result = op.results[0]
    made = rewriter.create(maker, maker.name, maker.operands, [result.type], dict(maker.attributes))
    rewriter.replace(op, made.results)
    return f"{maker.name} loads {result.name} in its encoding itself"


def _cat(rewriter: Rewriter, op: Op, maker: Op) -> str | None:
    to = rewriter.run.tensors.of(op.results[0])
    if to is None or not is_legal_cat(rewriter.run, maker, to):
        return None
    return _again(rewriter, op, maker)


def _convert(rewriter: Rewriter, op: Op, maker: Op) -> str | None:
    result = op.results[0]
    made = rewriter.create(op, op.name, maker.operands, [result.type])
    rewriter.replace(op, made.results)
    return f"{result.name} converts a convert: it can start from {maker.operands[0].name}"


def _constant(rewriter: Rewriter, op: Op, maker: Op) -> str | None:
    splat = splat_text(maker)
    if splat is None:
        return None
    type = op.results[0].type
    made = rewriter.create(op, maker.name, [], [type], {"value": f"{splat} : {type.text}"})
    rewriter.replace(op, made.results)
    return f"{op.results[0].name} is the constant {splat} in another encoding"


_INTO: Final = {
    "tt.reshape": _reshape,
    "tt.histogram": _again,
    "ttg.local_load": _local_load,
    "tt.cat": _cat,
    CONVERT: _convert,
    "tt.splat": _again,
    "tt.make_range": _again,
    "arith.constant": _constant,
}


# -- ops that take a convert of their operand in -------------------------------------------------------


def _skip_convert(rewriter: Rewriter, op: Op, index: int = 0) -> str:
    """Make the op anew on the source of the convert at its operand."""
    operands = list(op.operands)
    convert = _source(operands[index])
    assert convert is not None
    operands[index] = convert.operands[0]
    attributes = dict(op.attributes)
    for word in op.detail.trailing.split():
        attributes.setdefault(word, "unit")
    made = rewriter.create(op, op.name, operands, [result.type for result in op.results], attributes)
    rewriter.replace(op, made.results)
    return f"{op.name} takes {convert.operands[0].name} as it is"


def reshape_of_convert(rewriter: Rewriter, op: Op) -> str | None:
    """A reshape that may reorder, or a convert that moves nothing."""
    run = rewriter.run
    convert = _source(op.operands[0])
    if convert is None:
        return None
    if run.rules.later_folds and _is_trivial(run, convert):
        return _skip_convert(rewriter, op)
    to = run.tensors.of(op.results[0])
    if to is None or not allows_reorder(op) or (is_efficient(op) and not run.rules.later_folds):
        return None
    if is_expensive_view(run, convert.operands[0].type, op.results[0].type, to):
        return None
    return _skip_convert(rewriter, op)


def _is_trivial(run: Run, convert: Op) -> bool:
    a, b = run.tensors.of(convert.operands[0]), run.tensors.of(convert.results[0])
    return a is not None and b is not None and equal_by_meaning(lens_of(convert.results[0].type), a, b)


def histogram_of_convert(rewriter: Rewriter, op: Op) -> str | None:
    """A histogram takes its source in any encoding, its mask in the same."""
    run = rewriter.run
    convert = _source(op.operands[0])
    if convert is None:
        return None
    if len(op.operands) == 1:
        return _skip_convert(rewriter, op)
    layout = run.tensors.of(convert.operands[0])
    assert layout is not None
    type = run.tensors.with_encoding(op.operands[1].type, layout)
    mask = rewriter.create(op, convert.name, [op.operands[1]], [type])
    operands = [convert.operands[0], mask.results[0]]
    made = rewriter.create(op, op.name, operands, [op.results[0].type], dict(op.attributes))
    rewriter.replace(op, made.results)
    return f"{op.name} takes {convert.operands[0].name} as it is, and its mask likewise"


def store_of_convert(rewriter: Rewriter, op: Op) -> str | None:
    """Shared memory is written from any encoding."""
    return _skip_convert(rewriter, op) if op.operands and _source(op.operands[0]) is not None else None


def trans_of_convert(rewriter: Rewriter, op: Op) -> str | None:
    """A transposition that changes nothing is a convert; one of a convert that moves nothing skips it."""
    order = order_of(op)
    if order == tuple(range(len(order))):
        name = f"{rewriter.run.tensors.dialect}.convert_layout"
        made = rewriter.create(op, name, op.operands, [op.results[0].type])
        rewriter.replace(op, made.results)
        return f"{op.name} keeps the order of dimensions, so it is a convert"
    convert = _source(op.operands[0])
    if convert is None or not _is_trivial(rewriter.run, convert):
        return None
    return _skip_convert(rewriter, op)


def gather_of_convert(rewriter: Rewriter, op: Op) -> str | None:
    """A gather through shared memory takes its source in any encoding."""
    if is_efficient(op) or _source(op.operands[0]) is None:
        return None
    return _skip_convert(rewriter, op)


def split_of_convert(rewriter: Rewriter, op: Op) -> str | None:
    """A split whose source would give the same results without the convert."""
    run = rewriter.run
    convert = _source(op.operands[0])
    if convert is None:
        return None
    layout = run.tensors.of(convert.operands[0])
    if layout is None or run.infer.result(op, layout) != run.tensors.of(op.results[0]):
        return None
    return _skip_convert(rewriter, op)


def dot_of_converted_load(rewriter: Rewriter, op: Op) -> str | None:
    """convert(dot(a, b, convert(load))) with single uses: the dot starts at 0 and the load is added (3.0)."""
    dot = op.operands[0].op
    if dot is None or kind(dot) != "tt.dot" or len(dot.results[0].uses) != 1:
        return None
    convert = _source(dot.operands[2])
    result = op.results[0]
    if convert is None or len(result.uses) != 1:
        return None
    load = convert.operands[0]
    if load.op is None or kind(load.op) != "tt.load" or not rewriter.run.tensors.same(load.type, result.type):
        return None
    type = result.type
    assert isinstance(type, TensorType)
    number = "0.000000e+00" if type.element.text.startswith(("f", "bf")) else "0"
    zero = rewriter.create(
        op, "arith.constant", [], [type.element], {"value": f"{number} : {type.element.text}"}
    )
    start = rewriter.create(op, "tt.splat", zero.results, [dot.results[0].type])
    operands = [dot.operands[0], dot.operands[1], start.results[0]]
    again = rewriter.create(op, dot.name, operands, [dot.results[0].type], dict(dot.attributes))
    turned = rewriter.create(op, op.name, again.results, [type])
    added = rewriter.create(op, "arith.addf", [turned.results[0], load], [type])
    rewriter.replace(op, added.results)
    return f"{dot.name} starts at 0, and {load.name} is added to its converted result"


def convert_patterns(rules: RuleSet) -> dict[str, list[Pattern]]:
    """The patterns by kind of op, folds included."""
    patterns: dict[str, list[Pattern]] = {name: [fold] for name, fold in FOLDS.items()}
    patterns.setdefault(CONVERT, []).append(fold_convert)
    if rules.split_dot_convert:
        patterns[CONVERT].append(dot_of_converted_load)
    patterns.setdefault("tt.reshape", []).append(reshape_of_convert)
    patterns.setdefault("tt.histogram", []).append(histogram_of_convert)
    patterns.setdefault("ttg.local_alloc", []).append(store_of_convert)
    patterns.setdefault("ttg.local_store", []).append(store_of_convert)
    if rules.later_folds:
        patterns.setdefault("tt.trans", []).append(trans_of_convert)
        patterns.setdefault("tt.gather", []).append(gather_of_convert)
        patterns.setdefault("tt.split", []).append(split_of_convert)
    return patterns
