#!/usr/bin/env python3
"""Run real passes on MLIR files and say what came out, the pass's own decisions included.

    PYTHON run_pass.py [--pass NAME[,NAME…]] [--log] [--generic] FILE...

One JSON object a line: file, ok, text (the module after the last pass, as libtriton prints it), error (what
was written to standard error by a pass that failed or aborted), exit (the status of the child; -6 is an
assertion); with --log, `log`: what the pass itself reports under TRITON_LLVM_DEBUG_ONLY. Each file is
worked on in a child process of its own, as a failing assertion ends it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import libtriton

LAYOUT_PASS = "tritongpu-remove-layout-conversions"


def passes() -> dict[str, Callable[[Any], None]]:
    """Pass names, as pass logs write them, and how to add each to a pass manager."""
    from triton._C.libtriton import passes as real

    gpu, common = real.ttgpuir, real.common
    return {
        LAYOUT_PASS: gpu.add_remove_layout_conversions,
        "tritongpu-coalesce": gpu.add_coalesce,
        "tritongpu-optimize-thread-locality": gpu.add_optimize_thread_locality,
        "tritongpu-accelerate-matmul": gpu.add_accelerate_matmul,
        "tritongpu-reduce-data-duplication": gpu.add_reduce_data_duplication,
        "tritongpu-optimize-dot-operands": lambda manager: gpu.add_optimize_dot_operands(manager, True),
        "canonicalize": common.add_canonicalizer,
        "cse": common.add_cse,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--pass", dest="names", default=LAYOUT_PASS, help="comma-separated")
    parser.add_argument("--log", action="store_true", help="add the pass's own debug output")
    parser.add_argument("--generic", action="store_true", help="print the result in generic form")
    arguments = parser.parse_args()
    known = passes()
    names = arguments.names.split(",")
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"unknown pass {unknown[0]!r}; known: {', '.join(known)}", file=sys.stderr)
        return 2
    failed = 0
    for file in arguments.files:
        answer = in_child(file, [known[name] for name in names], names, arguments)
        print(json.dumps(answer), flush=True)
        failed += not answer["ok"]
    return 1 if failed else 0


def in_child(
    file: Path, adders: list[Callable[[Any], None]], names: list[str], arguments: argparse.Namespace
) -> dict[str, Any]:
    """Fork, run the passes there, and read back what the child left in files."""
    with tempfile.TemporaryDirectory() as folder:
        said, done = Path(folder) / "stderr", Path(folder) / "module"
        child = os.fork()
        if child == 0:
            with said.open("wb") as stream:
                os.dup2(stream.fileno(), 2)
            if arguments.log:
                os.environ["TRITON_LLVM_DEBUG_ONLY"] = ",".join(names)
            status = 1
            try:
                done.write_text(run(file.read_text(), adders, names, arguments.generic))
                status = 0
            except Exception as error:
                print(error, file=sys.stderr, flush=True)
            os._exit(status)
        _, wait = os.waitpid(child, 0)
        status = os.waitstatus_to_exitcode(wait)
        text = done.read_text() if done.exists() else ""
        output = said.read_text(errors="replace")
    answer = {"file": str(file), "ok": status == 0, "exit": status, "text": text}
    answer["error"] = "" if status == 0 else output[-4000:]
    if arguments.log:
        answer["log"] = output
    return answer


def run(text: str, adders: list[Callable[[Any], None]], names: list[str], generic: bool) -> str:
    from triton._C.libtriton import ir

    context = libtriton.make_context()
    module, error = libtriton.parse(text, context)
    if module is None:
        raise ValueError(error)
    for add, name in zip(adders, names, strict=True):
        manager = ir.pass_manager(context)
        manager.enable_debug()
        add(manager)
        try:
            manager.run(module, name)  # from 3.3 on a run has a name
        except TypeError:
            manager.run(module)
    return libtriton.print_generic(module, context) if generic else libtriton.print_canonical(module)


if __name__ == "__main__":
    sys.exit(main())
