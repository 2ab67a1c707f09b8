"""Attributes, types and locations of MLIR ops, read from an op's own text when somebody asks."""

from __future__ import annotations

from ..program import Block, Detail, Op, Region, Value
from ..types import UNKNOWN, ScalarType, TensorType, TupleType, Type
from .mlir_syntax import (
    COMPARISONS,
    ELEMENT_OF_TYPE,
    FIRST_TYPE,
    FIXED_RESULTS,
    LEADING_WORD,
    POINTEE_OF_OPERAND,
    SHORT_TYPES,
    TRAILING_TOKEN,
    is_function,
)
from .mlir_text import Token, balanced_end, split_top, tokens, without_location
from .mlir_types import parse_type, pointee_of, with_shape_of


class MlirSource:
    """The text of one MLIR program, with its aliases and a cache of the types already parsed."""

    __slots__ = ("aliases", "text", "types")

    def __init__(self, text: str) -> None:
        self.text = text
        self.aliases: dict[str, str] = {}
        self.types: dict[str, Type] = {}

    def parse_type(self, text: str) -> Type:
        """The type that a text of this program denotes."""
        return parse_type(text, self.aliases, self.types)

    def detail(self, op: Op) -> Detail:
        """Attributes, result types and location of an op of this text."""
        if not 0 <= op.start < op.end or not op.name or is_synthetic(op):
            return Detail()
        return _read(self, op)

    def argument_type(self, value: Value) -> Type:
        """The type of a block argument, from the block's label or its op's header."""
        block = value.owner
        if not isinstance(block, Block) or block.parent is None or block.parent.parent is None:
            return UNKNOWN
        types = self.argument_types(block, block.parent.parent)
        for arg, type in zip(block.args, types, strict=False):
            if arg._type is None:
                arg._type = type
        return types[value.index] if value.index < len(types) else UNKNOWN

    def argument_types(self, block: Block, op: Op) -> list[Type]:
        """The types of all arguments of a block of `op`, as the text gives them."""
        return _argument_types(self, block, op)


def is_synthetic(op: Op) -> bool:
    """Whether the op stands in memory only: the printed form shows its regions as another op's."""
    return op.name.endswith(".warp_specialize.partitions") and op.text[:1] == "{"


def textual_regions(op: Op) -> list[Region]:
    """The regions whose braces stand in the op's own header text, in text order."""
    inner = partitions_of(op)
    if inner is not None:
        return [op.regions[0], *inner.regions]
    return list(op.regions)


def partitions_of(op: Op) -> Op | None:
    """The op that holds a `ttg.warp_specialize`'s partitions in memory, and its captures as operands."""
    for region in op.regions[1:2]:
        first = region.blocks[0].ops[:1] if region.blocks else []
        if first and is_synthetic(first[0]):
            return first[0]
    return None


def header_spans(op: Op) -> list[tuple[int, int]]:
    """The stretches of the op's text outside its regions' braces; between two of them lies a region."""
    spans = []
    pos = op.start
    for region in textual_regions(op):
        spans.append((pos, region.start - 1))
        pos = min(region.end + 1, op.end)
    spans.append((pos, op.end))
    return spans


def header_tokens(text: str, op: Op) -> list[Token]:
    """The tokens of the op's header behind its `results =`; a `region` token stands for each region."""
    found: list[Token] = []
    spans = header_spans(op)
    for index, (start, end) in enumerate(spans):
        if index:
            found.append(Token("region", "", start, start))
        found.extend(_loose_tokens(text, start, end))
    names = [i for i, token in enumerate(found[: 3 * len(op.results) + 2]) if token.text == "="]
    return found[names[0] + 1 :] if names and op.results and found[0].kind == "ref" else found


def _loose_tokens(text: str, start: int, end: int) -> list[Token]:
    """Tokens of a stretch; brackets that a region cuts through (`({` … `})`) count as punctuation."""
    found = []
    for token in tokens(text, start, end):
        if token.kind == "group" and token.end == end and not _closed(token.text):
            found.append(Token("punct", token.text[0], token.start, token.start + 1))
            found.extend(tokens(text, token.start + 1, end))
        else:
            found.append(token)
    return found


def _closed(group: str) -> bool:
    return len(group) > 1 and group[-1] == {"(": ")", "[": "]", "{": "}", "<": ">"}[group[0]]


def _read(source: MlirSource, op: Op) -> Detail:
    found = header_tokens(source.text, op)
    detail = Detail()
    if found and found[-1].kind == "loc":
        detail.location = found.pop().text[4:-1]
    generic = bool(found) and found[0].kind == "string"
    colon = _last(found, ":")
    body, types = (found[1:], []) if colon is None else (found[1:colon], found[colon + 1 :])
    if generic:
        _generic_attributes(body + types, detail)
    else:
        _custom_attributes(op, body, types, detail)
    detail.result_types = _result_types(source, op, found[1:], types, generic)
    if op.name == "builtin.module" or is_function(op.name):
        _function_attributes(found, detail, op)
    return detail


def _last(found: list[Token], text: str) -> int | None:
    for index in range(len(found) - 1, 0, -1):
        if found[index].text == text and found[index].kind == "punct":
            return index
    return None


# -- attributes ----------------------------------------------------------------------------------------


def attribute_entries(group: str) -> dict[str, str]:
    """`{a = 1 : i32, "b.c" = x, unit}` (or with `<{…}>` around) → name → text."""
    inside = group
    while inside[:1] in "<{" and len(inside) > 1:
        inside = inside[1:-1]
    entries: dict[str, str] = {}
    for part in split_top(inside):
        name, equals, value = part.strip().partition("=")
        if name.startswith('"') and '"' in name[1:]:
            close = part.strip().index('"', 1) + 1
            name, value = part.strip()[1 : close - 1], part.strip()[close:].lstrip().removeprefix("=")
            equals = "=" if value else ""
        if name.strip():
            entries[name.strip()] = value.strip() if equals else "unit"
    return entries


def _generic_attributes(found: list[Token], detail: Detail) -> None:
    for token in found:
        if token.kind == "group" and (token.text[0] == "{" or token.text.startswith("<{")):
            detail.attributes.update(attribute_entries(token.text))


def _custom_attributes(op: Op, body: list[Token], types: list[Token], detail: Detail) -> None:
    attributes = detail.attributes
    if op.name in ("arith.constant", "llvm.mlir.constant", "complex.constant"):
        _constant(op, body, types, attributes)
        return
    rest: list[str] = []
    skip = -1
    for index, token in enumerate(body):
        if index <= skip:
            continue
        following = body[index + 1] if index + 1 < len(body) else None
        if token.kind == "group" and (token.text[0] == "{" or token.text.startswith("<{")):
            attributes.update(attribute_entries(token.text))
        elif token.kind == "symbol":
            attributes.setdefault(_symbol_key(op), token.text)
        elif token.kind == "name" and following is not None and following.text == "=":
            value = body[index + 2] if index + 2 < len(body) else None
            attributes[token.text] = value.text if value else ""
            skip = index + 2
        elif token.kind == "name" and index == 0 and op.name in LEADING_WORD:
            attributes[LEADING_WORD[op.name]] = token.text
        elif token.kind in ("name", "number", "string") or _is_plain_list(token):
            rest.append(token.text)
    for token in types:
        if token.kind == "group" and token.text[0] == "{":
            attributes.update(attribute_entries(token.text))
    detail.trailing = " ".join(rest)


def _is_plain_list(token: Token) -> bool:
    return token.kind == "group" and token.text[0] == "[" and "%" not in token.text


def _constant(op: Op, body: list[Token], types: list[Token], attributes: dict[str, str]) -> None:
    value: list[Token] = []
    for token in body:
        if token.kind == "group" and token.text[0] == "{" and not value:
            attributes.update(attribute_entries(token.text))
        else:
            value.append(token)
    text = _source_text(op, value)
    if op.name == "llvm.mlir.constant":
        text = text[1:-1] if text.startswith("(") else text
    elif types:
        text = f"{text} : {_source_text(op, types)}"
    attributes["value"] = text


def _source_text(op: Op, found: list[Token]) -> str:
    if not found or op.source is None:
        return ""
    return op.source.text[found[0].start : found[-1].end]


def _symbol_key(op: Op) -> str:
    if op.name == "builtin.module" or is_function(op.name) or op.name.endswith((".module", ".global")):
        return "sym_name"
    return "callee" if op.name.endswith(("call", "invoke")) else "symbol"


def _function_attributes(found: list[Token], detail: Detail, op: Op) -> None:
    """Symbol, visibility and function type of a function; the name loses its `@` and gains quotes."""
    name = detail.attributes.get("sym_name", "")
    if name.startswith("@"):
        detail.attributes["sym_name"] = name[1:] if name.startswith('@"') else f'"{name[1:]}"'
    words = detail.trailing.split(" ")
    for word in ("public", "private", "nested"):
        if word in words:
            detail.attributes["sym_visibility"] = f'"{word}"'
            words.remove(word)
    detail.trailing = " ".join(word for word in words if word != "attributes")
    if "function_type" not in detail.attributes and is_function(op.name):
        inputs = ", ".join(text for _, text in signature(found))
        detail.attributes["function_type"] = f"({inputs}) -> {_results_text(found)}"


def signature(found: list[Token]) -> list[tuple[str, str]]:
    """The (name, type text) pairs of the first parenthesised list behind a function's symbol."""
    behind = next((i for i, token in enumerate(found) if token.kind == "symbol"), 0)
    group = next((t for t in found[behind:] if t.kind == "group" and t.text[0] == "("), None)
    return argument_entries(group.text) if group else []


def argument_entries(group: str) -> list[tuple[str, str]]:
    """`(%a: i32 {x = 1} loc(#l), %b: f32)` → the (name, type text) pairs; unnamed types have name ''."""
    entries = []
    for part in split_top(group[1:-1] if group.endswith(")") else group[1:]):
        text = without_location(part.strip())
        name = ""
        if text.startswith("%"):
            name, _, text = text.partition(":")
        text = text.strip()
        brace = text.find(" {")
        if brace >= 0 and balanced_end(text, brace + 1) == len(text):
            text = text[:brace]
        entries.append((name.strip(), text.strip()))
    return entries


def _results_text(found: list[Token]) -> str:
    arrow = next((i for i, token in enumerate(found) if token.kind == "arrow"), None)
    return found[arrow + 1].text if arrow is not None and arrow + 1 < len(found) else "()"


# -- types ---------------------------------------------------------------------------------------------


def _result_types(
    source: MlirSource, op: Op, body: list[Token], types: list[Token], generic: bool
) -> list[Type]:
    count = len(op.results)
    if not count:
        return []
    if op.name in FIXED_RESULTS and not generic:
        return [source.parse_type(FIXED_RESULTS[op.name])] * count
    arrow = max((i for i, token in enumerate(body) if token.kind == "arrow"), default=None)
    if arrow is not None:
        listed = _types_of(source, body[arrow + 1 :], wanted=count)
    elif op.name == "arith.constant" and not types:
        listed = [source.parse_type("i1")]
    else:
        listed = _types_of(source, types)
        short = types[-1].text if types and types[-1].text.startswith("<") else ""
        if short:
            listed = [source.parse_type(SHORT_TYPES.get(op.name, "") + short)]
        listed = [_adjusted(op, listed)] if listed and count == 1 else listed
    if not listed:
        return [UNKNOWN] * count
    if op.name in TRAILING_TOKEN and len(listed) < count:
        listed.append(source.parse_type(TRAILING_TOKEN[op.name]))
    return listed[:count] + [listed[-1]] * (count - len(listed))


def _types_of(source: MlirSource, found: list[Token], wanted: int | None = None) -> list[Type]:
    """The types that a stretch of header lists; `A to B` is [A, B]; a parenthesised list is its members."""
    listed: list[Type] = []
    for token in found:
        if token.kind == "group" and token.text[0] == "(":
            listed.extend(source.parse_type(part) for part in split_top(token.text[1:-1]))
        elif token.kind == "name" and token.text[0] != "#" and token.text not in ("to", "into", "x"):
            listed.append(source.parse_type(token.text))
        elif token.kind in ("region", "loc"):
            break
        if token.text == ":" or (wanted is not None and len(listed) >= wanted):
            break
    return listed


def _adjusted(op: Op, listed: list[Type]) -> Type:
    """The type of an op's one result, given the types that its text lists without an arrow."""
    if op.name in FIRST_TYPE:
        return listed[0]
    if op.name in COMPARISONS:
        return with_shape_of(listed[-1], "i1")
    if op.name in POINTEE_OF_OPERAND:
        meant = pointee_of(listed[0])
        return listed[-1] if meant is UNKNOWN else meant
    if op.name in ELEMENT_OF_TYPE and isinstance(listed[0], TensorType):
        return listed[0].element
    if op.name == "llvm.extractvalue":
        return _member(op, listed[0])
    return listed[-1]


def _member(op: Op, aggregate: Type) -> Type:
    """The member of a struct that `llvm.extractvalue %s[i, j]` takes."""
    opening = op.text.find("[")
    path = op.text[opening + 1 : op.text.find("]", opening)] if opening >= 0 else ""
    for step in path.split(","):
        index = step.strip()
        if not isinstance(aggregate, TupleType) or not index.isdecimal() or len(index) > 6:
            return UNKNOWN
        if int(index) >= len(aggregate.members):
            return UNKNOWN
        aggregate = aggregate.members[int(index)]
    return aggregate


def _argument_types(source: MlirSource, block: Block, op: Op) -> list[Type]:
    if block.start < block.end:
        label = source.text[block.start : block.end]
        opening = label.find("(")
        if opening >= 0:
            group = label[opening : balanced_end(label, opening)]
            return [source.parse_type(text) for _, text in argument_entries(group)]
    if op.start < 0 or op.source is not source:
        return []
    if is_synthetic(op):
        return _partition_types(source, op, block)
    found = header_tokens(source.text, op)
    if is_function(op.name):
        return [source.parse_type(text) for _, text in signature(found)]
    if op.name in ("scf.for", "affine.for"):
        return _loop_types(source, op, found)
    if op.name in ("scf.parallel", "scf.forall", "affine.parallel", "gpu.launch"):
        return [ScalarType("index", "index")] * len(block.args)
    first = len(op.operands) - len(block.args)
    return [value.type for value in op.operands[max(first, 0) :]]


def _loop_types(source: MlirSource, op: Op, found: list[Token]) -> list[Type]:
    """The induction variable's type (`index` where none is printed), then the iter_args'."""
    colon = _last(found, ":")
    listed = _types_of(source, found[colon + 1 :], wanted=1) if colon is not None else []
    counter = listed[0] if listed else source.parse_type("index")
    return [counter, *(result.type for result in op.results)]


def _partition_types(source: MlirSource, inner: Op, block: Block) -> list[Type]:
    outer = inner.parent
    if outer is None or block.parent is None:
        return []
    wanted = 1 + inner.regions.index(block.parent)
    before = 0
    for token in header_tokens(source.text, outer):
        if token.kind == "region":
            before += 1
        elif before == wanted and token.kind == "group" and token.text[0] == "(" and "%" in token.text:
            return [source.parse_type(text) for _, text in argument_entries(token.text)]
    return []
