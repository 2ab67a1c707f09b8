"""Runs inside a Python that has Triton; knows nothing of passlens.

Reads one JSON object from standard input: `text`, `passes` (a list of [name, options]), `generic`. Writes
JSON lines to standard output: first {"version"}, then for each pass {"start": name} and
{"done": name, "text": …} or {"failed": name, "error": …}. What the compiler writes to standard error stays
there. An abort ends this process; the last "start" says in which pass.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from typing import Any


def say(**fields: Any) -> None:
    """Answer with one JSON line on the pipe that the parent opened as file 3."""
    os.write(3, (json.dumps(fields) + "\n").encode())


def table() -> dict[str, Callable[[Any], Any]]:
    """The passes that this Triton offers, by the names that pass logs print."""
    from triton._C.libtriton import passes

    gpu, common = passes.ttgpuir, passes.common
    simple = {
        "tritongpu-remove-layout-conversions": "add_remove_layout_conversions",
        "tritongpu-coalesce": "add_coalesce",
        "tritongpu-optimize-thread-locality": "add_optimize_thread_locality",
        "tritongpu-accelerate-matmul": "add_accelerate_matmul",
        "tritongpu-reduce-data-duplication": "add_reduce_data_duplication",
        "tritongpu-reorder-instructions": "add_reorder_instructions",
        "tritongpu-prefetch": "add_prefetch",
        "tritongpu-F32DotTC": "add_f32_dot_tc",
        "tritongpu-combine-tensor-select-and-if": "add_combine_tensor_select_and_if",
        "tritongpu-fuse-nested-loops": "add_fuse_nested_loops",
        "tritongpu-assign-latencies": "add_assign_latencies",
        "tritongpu-schedule-loops": "add_schedule_loops",
        "tritongpu-optimize-accumulator-init": "add_optimize_accumulator_init",
        "tritongpu-coalesce-async-copy": "add_coalesce_async_copy",
    }
    known: dict[str, Callable[[Any], Any]] = {
        name: getattr(gpu, entry) for name, entry in simple.items() if hasattr(gpu, entry)
    }
    known["tritongpu-optimize-dot-operands"] = lambda m: gpu.add_optimize_dot_operands(m, True)
    for name, entry in (("canonicalize", "add_canonicalizer"), ("cse", "add_cse"),
                        ("symbol-dce", "add_symbol_dce"), ("triton-licm", "add_licm")):  # fmt: skip
        if hasattr(common, entry):
            known[name] = getattr(common, entry)
    return known


def main() -> None:
    """Parse the text, then run the passes in order, up to the first that fails."""
    wanted = json.load(sys.stdin)
    import triton
    from triton._C.libtriton import amd, ir, nvidia

    say(version=triton.__version__)
    context = ir.context()
    for dialects in (ir, nvidia, amd):
        dialects.load_dialects(context)
    text = wanted["text"]
    modern = tuple(int(part) for part in triton.__version__.split(".")[:2]) >= (3, 3)
    text = text.replace("triton_gpu.", "ttg.") if modern else text.replace("ttg.", "triton_gpu.")
    with tempfile.NamedTemporaryFile("w", suffix=".mlir", delete=False) as file:
        file.write(text)
    try:
        say(start="parse")
        module = ir.parse_mlir_module(file.name, context)
    except Exception as error:
        say(failed="parse", error=str(error))
        return
    finally:
        os.unlink(file.name)
    module.context = context
    say(done="parse", text=shown(module))
    known = table()
    for name in wanted["passes"]:
        if name not in known:
            say(
                failed=name,
                error=f"this Triton offers no pass of that name; it offers {', '.join(sorted(known))}",
            )
            return
        manager = ir.pass_manager(context)
        manager.enable_debug()
        known[name](manager)
        say(start=name)
        try:
            try:
                manager.run(module, name)
            except TypeError:  # until 3.2 there was no tag
                manager.run(module)
        except Exception as error:
            say(failed=name, error=str(error))
            return
        say(done=name, text=shown(module))


def shown(module: Any) -> str:
    """The module's text without locations."""
    return str(module.str_nodebug() if hasattr(module, "str_nodebug") else module)


if __name__ == "__main__":
    main()
