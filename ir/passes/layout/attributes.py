"""Attributes of ops that the pass asks for, read from either spelling of the op."""

from __future__ import annotations

import re

from ...formats.mlir_detail import header_spans
from ...program import Op, Program
from ...types import TensorType, Type
from .names import kind

_INTEGERS = re.compile(r"-?\d+")


def axis_of(op: Op) -> int:
    """The `axis` of a reduce, scan, expand_dims or gather; -1 where it is missing."""
    found = _INTEGERS.match(op.attributes.get("axis", ""))
    return int(found[0]) if found else -1


def order_of(op: Op) -> tuple[int, ...]:
    """The `order` of a trans: dimension `order[i]` of the source is dimension i of the result."""
    text = op.attributes.get("order", "").partition(":")[2] or op.attributes.get("order", "")
    return tuple(int(n) for n in _INTEGERS.findall(text))


def has_flag(op: Op, name: str) -> bool:
    """Whether a flag is set, as a word of the custom form, a unit attribute or a boolean."""
    text = op.attributes.get(name)
    if text is not None:
        return text != "false"
    return name in op.detail.trailing.split()


def allows_reorder(op: Op) -> bool:
    """Whether a reshape may put elements in another order."""
    return has_flag(op, "allow_reorder")


def is_efficient(op: Op) -> bool:
    """Whether an earlier pass chose the layout of a reshape or gather for good."""
    return has_flag(op, "efficient_layout")


def lens_of(type: Type) -> tuple[int, ...]:
    """The shape of a tensor; () for anything else."""
    return type.lens if isinstance(type, TensorType) else ()


def module_number(program: Program, name: str, default: int) -> int:
    """An integer attribute of the module (`num-warps`, `threads-per-warp`), whatever its prefix."""
    for op in program.ops:
        if kind(op) != "builtin.module":
            continue
        for key, text in op.attributes.items():
            if key.strip('"').rpartition(".")[2] == name:
                found = _INTEGERS.match(text)
                return int(found[0]) if found else default
    return default


def num_warps_at(op: Op, default: int) -> int:
    """The warps that run an op: those of its partition inside a warp_specialize, else `default`."""
    region = op.block.parent if op.block else None
    while region is not None and region.parent is not None:
        around = region.parent
        outer = around.parent
        if kind(around) == "ttg.warp_specialize.partitions" and outer is not None and outer.source:
            text = outer.source.text
            headers = " ".join(text[start:end] for start, end in header_spans(outer))
            counts = re.findall(r"num_warps\((\d{1,6})\)", headers)
            index = around.regions.index(region)
            return int(counts[index]) if index < len(counts) else default
        region = around.block.parent if around.block else None
    return default
