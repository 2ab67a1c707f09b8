"""What an op says about itself, apart from the values it uses and the ops it holds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ..formats.mlir_detail import header_tokens, is_synthetic
from ..formats.mlir_syntax import is_function
from ..formats.mlir_text import Token, balanced_end, split_top, without_location
from ..program import Op
from .aliases import AliasTable
from .normal import GRAMMAR, POSITIONAL, normal_attributes
from .options import Options

_NAMES: Final = re.compile(r'"(?:[^"\\\n]|\\.)*+"|[%^][\w$.\-]*[\w$.](?:#\d+)?')
_BLANKS: Final = re.compile(r"\s+")


@dataclass(slots=True)
class Own:
    """The parts of one op, aliases resolved; equal texts mean equal parts."""

    name: str
    attributes: dict[str, str]
    result_types: tuple[str, ...]
    words: str | None
    """Keywords of the custom form that are no attribute of a known name; None where the op has no custom
    form, and so no such words."""
    layout: str | None
    """The lists of the custom form that hold values (`[0, %]`), names taken out; None as for `words`, and
    where the op was edited."""
    location: str = ""
    names: tuple[str, ...] = ()

    def key(self) -> tuple[object, ...]:
        """Equal for two ops that differ at most in what their custom forms say and no attribute holds."""
        return (self.name, tuple(self.attributes.items()), self.result_types, self.location, self.names)

    def agrees(self, other: Own) -> bool:
        """Whether the custom forms of two ops of one key say the same, as far as both have one."""
        words = self.words is None or other.words is None or self.words == other.words
        return words and (self.layout is None or other.layout is None or self.layout == other.layout)


def own_of(op: Op, aliases: AliasTable, options: Options) -> Own:
    """Read the parts of an op; costs the parse of its header the first time."""
    if not op.name:  # text that no reader understood: all that can be said is what it reads
        return Own("", {}, (), _BLANKS.sub(" ", op.text), "")
    detail = op.detail
    resolved = {name: aliases.resolve(text) for name, text in detail.attributes.items()}
    custom = _custom_tokens(op)
    words = _telling_words(op.name, detail.trailing)
    layout: str | None = None
    if custom is not None:
        layout = None if op.edited else _layout(custom, aliases)
        if is_function(op.name):
            resolved.update(_argument_attributes(custom, aliases))
        for key, text in _positional(op.name, custom):
            resolved.setdefault(key, text)
    return Own(
        op.name,
        normal_attributes(op.name, resolved, options.ignored_attributes),
        tuple(aliases.resolve(value.type.text) for value in op.results),
        None if custom is None and not words else words,
        layout,
        aliases.resolve(detail.location) if options.locations else "",
        tuple(value.name for value in op.results) if options.names else (),
    )


def _telling_words(name: str, trailing: str) -> str:
    """The bare words of a custom form that are neither grammar nor an attribute given by position."""
    if not trailing or name in POSITIONAL or is_function(name):
        return ""
    return " ".join(word for word in trailing.split() if word not in GRAMMAR)


def stated_attributes(op: Op) -> dict[str, str]:
    """The attributes of an op with those that its custom form gives by position; aliases unresolved."""
    found = dict(op.attributes)
    custom = _custom_tokens(op)
    if custom is not None:
        nothing = AliasTable({})
        if is_function(op.name):
            found.update(_argument_attributes(custom, nothing))
        for key, text in _positional(op.name, custom):
            found.setdefault(key, text)
    return found


def _custom_tokens(op: Op) -> list[Token] | None:
    """The tokens of the op's header if it was read from MLIR in custom form.

    The text of an edited op still says what no edit reaches; one that lost its regions has no header left
    that could be told from them, and one with another name is another op.
    """
    if op.source is None or not 0 <= op.start < op.end or not op.name or is_synthetic(op):
        return None
    if op.edited and (not op.regions and "{\n" in op.text):
        return None
    text = op.source.text
    first = text[op.start]
    if first == '"':
        return None
    found = header_tokens(text, op)
    if not found or found[0].kind == "string" or (op.edited and found[0].text not in op.name):
        return None
    return found


def _positional(name: str, found: list[Token]) -> Iterator[tuple[str, str]]:
    """The attributes that a custom form gives by position: bare words, strings and numbers up to its `:`."""
    keys = iter(POSITIONAL.get(name, ()))
    for index, token in enumerate(found[1:], 1):
        if token.text == ":":
            return
        following = found[index + 1].text if index + 1 < len(found) else ""
        if following == "=" or found[index - 1].text == "=":
            continue
        if token.kind in ("name", "string", "number"):
            key = next(keys, None)
            if key is None:
                return
            yield key, f"{token.text} : i32" if token.kind == "number" else token.text


def _layout(found: list[Token], aliases: AliasTable) -> str:
    """The groups that hold values and are not types or arguments, names taken out."""
    kept = [
        aliases.resolve(_NAMES.sub(_without_name, token.text))
        for token in found
        if token.kind == "group" and token.text[0] == "[" and "%" in token.text
    ]
    return " ".join(kept)


def _without_name(found: re.Match[str]) -> str:
    text = found.group()
    return text if text[0] == '"' else text[0]


def _argument_attributes(found: list[Token], aliases: AliasTable) -> dict[str, str]:
    """`arg_attrs` of a function as the generic form has it, if any argument has attributes."""
    behind = next((i for i, token in enumerate(found) if token.kind == "symbol"), 0)
    group = next((t.text for t in found[behind:] if t.kind == "group" and t.text[0] == "("), "()")
    listed = []
    for part in split_top(group[1:-1] if group.endswith(")") else group[1:]):
        text = without_location(part.strip())
        brace = text.find(" {")
        whole = brace >= 0 and balanced_end(text, brace + 1) == len(text)
        listed.append(aliases.resolve(text[brace + 1 :]) if whole else "{}")
    if all(text == "{}" for text in listed):
        return {}
    return {"arg_attrs": f"[{', '.join(listed)}]"}
