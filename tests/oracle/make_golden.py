#!/usr/bin/env python3
"""Write the golden modules of one version: run with that Triton's Python, after compile_kernels.py.

    PYTHON make_golden.py CORPUS [GOLDEN]

From CORPUS/rlc/VERSION/TARGET it takes, for each kernel with its default options, the module before the
first and the last run of the layout pass and the last TTGIR (and what follows, where it is there), and writes GOLDEN/VERSION/TARGET.jsonl.xz
(GOLDEN is tests/golden/triton when left out): a JSON object a line with

    kernel, stage (`first`, `last`, `final`, `cf` or `llvm`), text, walk and types (what walk.py prints), and
    generic (the same module in libtriton's generic form; for the stage `first`).
"""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path
from typing import Any

import libtriton
import walk

HERE = Path(__file__).resolve().parent


def main() -> int:
    import triton

    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    golden = Path(sys.argv[2]) if len(sys.argv) > 2 else HERE.parent / "golden" / "triton"
    for folder in sorted((Path(sys.argv[1]) / "rlc" / triton.__version__).iterdir()):
        records = [record(kernel, stage, path) for kernel, stage, path in chosen(folder)]
        out = golden / triton.__version__ / f"{folder.name}.jsonl.xz"
        out.parent.mkdir(parents=True, exist_ok=True)
        lines = "".join(json.dumps(item, separators=(",", ":")) + "\n" for item in records)
        out.write_bytes(lzma.compress(lines.encode(), preset=9 | lzma.PRESET_EXTREME))
        print(f"{out}: {len(records)} modules, {len(lines)} bytes in {out.stat().st_size}")
    return 0


def chosen(folder: Path) -> list[tuple[str, str, Path]]:
    """(kernel, stage, file); only default options, whose file names have no option in them."""
    stages: dict[str, dict[str, Path]] = {}
    for path in folder.glob("*.mlir"):
        kernel, *options, key = path.name.removesuffix(".mlir").split(".")
        if not options or kernel == "checked_update":  # that one has no set of default options
            stages.setdefault(kernel, {})[key] = path
    found = []
    for kernel, files in sorted(stages.items()):
        runs = sorted((key for key in files if key.isdigit()), key=int)
        named = dict(zip(("first", "last"), (runs[0], runs[-1]), strict=True)) if runs else {}
        named.update({key: key for key in ("final", "cf", "llvm") if key in files})
        found += [(kernel, stage, files[key]) for stage, key in named.items()]
    return found


def record(kernel: str, stage: str, path: Path) -> dict[str, Any]:
    text = path.read_text()
    context = libtriton.make_context()
    module, error = libtriton.parse(text, context)
    if module is None:
        raise SystemExit(f"{path}: {error}")
    ops, types = walk.walk(module)
    answer: dict[str, Any] = {"kernel": kernel, "stage": stage, "text": text, "walk": ops, "types": types}
    if stage == "first":
        answer["generic"] = libtriton.print_generic(module, context)
    return answer


if __name__ == "__main__":
    sys.exit(main())
