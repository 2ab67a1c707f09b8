"""One module a file format, each a reader and a writer; `parse` and `print_program` choose among them."""

from __future__ import annotations

import mmap

from ..program import Program


def parse(
    text: str,
    format: str,
    file: str = "<text>",
    *,
    intact: Program | None = None,
    data: bytes | mmap.mmap | None = None,
) -> Program:
    """Read a program of the named format (`mlir`, `migraphx`, `onnx`).

    An ONNX model is read from `data`, or where that is None from the path `file`.
    `intact` is another listing of the same MIGraphX program, from which lost arguments are filled in.
    """
    if format == "mlir":
        from .mlir import parse_mlir

        return parse_mlir(text, file)
    if format == "migraphx":
        from .migraphx import parse_migraphx

        return parse_migraphx(text, file, intact=intact)
    if format == "onnx":
        from .onnx import read_onnx

        return read_onnx(file, data)
    raise ValueError(f"unknown format {format!r}: expected mlir, migraphx or onnx")


def print_program(program: Program) -> str:
    """The program's text: the bytes it was read from where nothing changed."""
    if program.format == "mlir":
        from .mlir_print import print_mlir

        return print_mlir(program)
    if program.format == "migraphx":
        from .migraphx import print_migraphx

        return print_migraphx(program)
    from .onnx_write import print_onnx

    return print_onnx(program)
