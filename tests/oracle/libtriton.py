"""What the oracle scripts share: parse MLIR text with the Triton of the running Python.

Works with Triton 3.0.0 to 3.9.0, needs no GPU. A text that fails an assertion of the parser aborts the
process, so callers run these scripts as children.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_MARK = "passlens_generic"


def make_context() -> Any:
    from triton._C.libtriton import amd, ir, nvidia

    context = ir.context()
    for dialects in (ir, nvidia, amd):
        dialects.load_dialects(context)
    return context


def define_locations(text: str) -> str:
    """Define the location aliases that a cut text uses and does not define: libtriton refuses those."""
    bare = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', text)
    used = set(re.findall(r"#loc\d*\b", bare))
    defined = set(re.findall(r"^(#loc\d*) =", bare, re.MULTILINE))
    return "".join(f"{alias} = loc(unknown)\n" for alias in sorted(used - defined)) + text


def parse(text: str, context: Any) -> tuple[Any, str]:
    """The module, or None, and what the parser said about the text."""
    from triton._C.libtriton import ir

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "input.mlir"
        path.write_text(define_locations(text))
        module, error = None, ""
        with standard_error() as said:
            try:
                module = ir.parse_mlir_module(str(path), context)
            except RuntimeError as failure:
                error = str(failure)
        if module is None:
            return None, (said.text + error).replace(f"{folder}/", "")
        module.context = context  # a module does not keep its context alive by itself
        return module, ""


def print_canonical(module: Any) -> str:
    """The module as libtriton prints it, without locations where the version can."""
    return module.str_nodebug() if hasattr(module, "str_nodebug") else str(module)


def print_generic(module: Any, context: Any) -> str:
    """The module in generic form.

    libtriton has no call for it. But MLIR prints a module that fails to verify in generic form, and one
    with an attribute whose name has no dialect does fail.
    """
    from triton._C.libtriton import ir

    module.set_attr(_MARK, ir.builder(context).get_int32_attr(1))
    text = print_canonical(module)
    return re.sub(rf", {_MARK} = 1 : i32|{_MARK} = 1 : i32(, )?", "", text, count=1)


class Said:
    """What was written to standard error while it was captured."""

    text = ""


@contextlib.contextmanager
def standard_error() -> Iterator[Said]:
    """Send file descriptor 2, where C++ writes, to a file for a while; the text is there afterwards."""
    sys.stderr.flush()
    said = Said()
    kept = os.dup(2)
    with tempfile.NamedTemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield said
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            said.text = Path(file.name).read_text(errors="replace")
