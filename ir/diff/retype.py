"""A type whose text needs no alias of the program it came from."""

from __future__ import annotations

from dataclasses import replace

from ..types import MemDescType, TensorType, Type
from .aliases import AliasTable


def resolved_type(type: Type, aliases: AliasTable) -> Type:
    """The same type with the aliases in its text, and in its encoding's, resolved."""
    text = aliases.resolve(type.text)
    if text == type.text:
        return type
    if isinstance(type, TensorType | MemDescType):
        return replace(type, text=text, encoding=aliases.resolve(type.encoding))
    return replace(type, text=text)
