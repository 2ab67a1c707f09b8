#!/usr/bin/env python3
"""Compile the kernels beside this file with the Triton of the running Python; write its pass logs.

    PYTHON compile_kernels.py OUT [--only REGEX] [--target T]... [--options JSON]... [--kernels DIR] [--full]

Needs no GPU. Each kernel is compiled for each of its targets and option sets in a child process with
`MLIR_ENABLE_DUMP=1`; what the child writes to standard error becomes

    OUT/logs/VERSION/TARGET/KERNEL[.OPTIONS].log          the pass log
    OUT/rlc/VERSION/TARGET/KERNEL[.OPTIONS].K.mlir        the module before run K of the layout pass
    OUT/rlc/VERSION/TARGET/KERNEL[.OPTIONS].final.mlir    the last TTGIR: the module before scf becomes cf
    OUT/rlc/VERSION/TARGET/KERNEL[.OPTIONS].cf.mlir       the module after that, where the log goes so far
    OUT/rlc/VERSION/TARGET/KERNEL[.OPTIONS].llvm.mlir     the last module of the log, in LLVM's dialect

A log ends with the module before `scf` is lowered to `cf`, as later dumps (LLVM's dialect) are a hundred
times larger; `--full`, or `"full": True` in the kernel's recipe, keeps everything. Paths in locations are made relative, so a log does not say on
which machine it was made.

Each kernel file has a dictionary KERNELS: name -> signature, constexprs, divisible (arguments that are
divisible by 16), and optionally targets (`cuda:100>=3.4`: from that version on), options (a tuple of option sets), since and until (first and last
version of Triton whose front end takes it).
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TARGETS = ("hip:gfx942", "cuda:90")
BANNER = b"// -----// IR Dump "
LAYOUT_PASS = "TritonGPURemoveLayoutConversions"
LAST_PASS = b"convert-scf-to-cf"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--kernels", type=Path, default=HERE / "kernels")
    parser.add_argument("--only", default="", help="a regular expression that the kernel's name must match")
    parser.add_argument("--target", action="append", help="these targets instead of each kernel's own")
    parser.add_argument("--options", action="append", help="these option sets (JSON) instead of its own")
    parser.add_argument(
        "--full",
        action=argparse.BooleanOptionalAction,
        help="keep the dumps after scf became cf, or never do",
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=300, help="seconds a compile may take")
    parser.add_argument("--child", nargs=4, metavar=("FILE", "KERNEL", "TARGET", "OPTIONS"))
    arguments = parser.parse_args()
    if arguments.child:
        compile_one(*arguments.child)
        return 0
    import triton

    version = triton.__version__
    work = list(plan(arguments, version))
    if not work:
        print("no kernel matches", file=sys.stderr)
        return 2
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for line, good in pool.map(lambda item: run_child(arguments, version, *item), work):
            print(line, flush=True)
            failed += not good
    return 1 if failed else 0


def read_kernels(path: Path) -> dict[str, Any]:
    """Run a kernel file; under a relative name where possible, as Triton writes that name into locations."""
    name = path.resolve()
    shown = name.relative_to(Path.cwd()) if name.is_relative_to(Path.cwd()) else name
    names: dict[str, Any] = {"__name__": path.stem, "__file__": str(shown)}
    exec(compile(path.read_text(), str(shown), "exec"), names)
    return names


def plan(arguments: argparse.Namespace, version: str) -> Any:
    """Every (file, kernel, target, options) to compile with this version."""
    for path in sorted(arguments.kernels.glob("*.py")):
        try:
            kernels = read_kernels(path)["KERNELS"]
        except ImportError as error:  # a kernel of a front end that this version does not have
            print(f"skip {path.name}: {error}", flush=True)
            continue
        for kernel, recipe in kernels.items():
            if arguments.only and not re.search(arguments.only, kernel):
                continue
            if not parts(recipe.get("since", "0")) <= parts(version) <= parts(recipe.get("until", "99")):
                continue
            option_sets = [json.loads(text) for text in arguments.options or ()] or recipe.get(
                "options", ({},)
            )
            for wanted in arguments.target or recipe.get("targets", TARGETS):
                target, _, since = wanted.partition(">=")
                for options in option_sets if parts(version) >= parts(since) else ():
                    full = recipe.get("full", False) if arguments.full is None else arguments.full
                    yield path, kernel, target, options, full


def parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def run_child(
    arguments: argparse.Namespace,
    version: str,
    path: Path,
    kernel: str,
    target: str,
    options: dict[str, Any],
    full: bool,
) -> tuple[str, bool]:
    suffix = "".join(f".{key}-{value}" for key, value in options.items())
    folder = target.replace(":", "-")
    log = arguments.out / "logs" / version / folder / f"{kernel}{suffix}.log"
    cuts = arguments.out / "rlc" / version / folder
    log.parent.mkdir(parents=True, exist_ok=True)
    cuts.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as cache:
        environment = dict(
            os.environ, MLIR_ENABLE_DUMP="1", TRITON_CACHE_DIR=cache, TRITON_ALWAYS_COMPILE="1"
        )
        # Triton 3.0 asks the HIP linker for its version before anything else; nothing here gets to linking.
        environment.setdefault("TRITON_HIP_LLD_PATH", sys.executable)
        command = [sys.executable, str(Path(__file__).resolve()), "-", "--child"]
        child = subprocess.Popen(
            [*command, os.path.relpath(path, path.parent.parent), kernel, target, json.dumps(options)],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment, cwd=path.parent.parent,
        )  # fmt: skip
        text, cut = read_log(child, full)
        child.wait(arguments.timeout)
    text = relative(text, path.parent.parent)
    log.write_bytes(text)
    modules = cut_modules(text)
    for old in cuts.glob(f"{kernel}{suffix}.*.mlir"):
        old.unlink()
    for key, module in modules.items():
        (cuts / f"{kernel}{suffix}.{key}.mlir").write_bytes(module)
    # Triton 3.0 brings no linker for HIP: what ends there has made every dump.
    good = cut or child.returncode == 0 or "llvm" in modules
    state = "ok" if good else f"exit {child.returncode}: {last_line(text)}"
    size = f"{len(text) / 1e6:.2f} MB, {text.count(BANNER)} dumps, {len(modules)} modules"
    return f"{version} {target} {kernel}{suffix}: {state} ({size})", good


def last_line(text: bytes) -> str:
    lines = [line for line in text.decode(errors="replace").splitlines() if line.strip()]
    return lines[-1][:200] if lines else "nothing was printed"


def read_log(child: subprocess.Popen[bytes], full: bool) -> tuple[bytes, bool]:
    """What the child writes, up to the module before scf becomes cf; then the child is not needed."""
    lines: list[bytes] = []
    last = False
    assert child.stderr is not None
    for line in child.stderr:
        if line.startswith(BANNER):
            if last and not full:
                child.kill()
                child.stderr.close()
                return b"".join(lines), True
            last = last or LAST_PASS in line
        lines.append(line)
    return b"".join(lines), False


def relative(text: bytes, folder: Path) -> bytes:
    """Triton's own files as `triton/…`, ours as `kernels/…`, whatever folder they are in."""
    import triton

    home = str(Path(triton.__file__).resolve().parent.parent) + "/"
    return text.replace(home.encode(), b"").replace(f"{folder.resolve()}/".encode(), b"")


def cut_modules(log: bytes) -> dict[str, bytes]:
    """The modules before each run of the layout pass, and the last TTGIR, by `1`, `2`, … and `final`,
    and what comes after it."""
    found: dict[str, bytes] = {}
    last = b""
    for piece in log.split(BANNER)[1:]:
        header, _, body = piece.partition(b"\n")
        if not header.startswith(b"Before "):
            continue
        if LAST_PASS in header:
            found["final"] = module_of(body)
            found["cf"] = found["llvm"] = b""
        elif "cf" in found:
            found["cf"] = found["cf"] or module_of(body)
            last = body
        elif header.removeprefix(b"Before ").startswith(LAYOUT_PASS.encode()):
            found[str(len(found) + 1)] = module_of(body)
    if last:
        found["llvm"] = module_of(last)
    return {key: module for key, module in found.items() if module}


def module_of(body: bytes) -> bytes:
    """The lines that are the module: other output may follow it."""
    lines = body.splitlines(keepends=True)
    kept: list[bytes] = []
    closed = False
    for line in lines:
        if closed and not line.startswith(b"#") and line.strip():
            break
        closed = closed or line.startswith(b"}")
        kept.append(line)
    return b"".join(kept).strip(b"\n") + b"\n"


def compile_one(file: str, kernel: str, target_text: str, options_text: str) -> None:
    """In the child: compile one kernel; everything of interest goes to standard error by itself."""
    import inspect

    import triton
    from triton.backends.compiler import GPUTarget

    names = read_kernels(Path(file))
    recipe, function = names["KERNELS"][kernel], names[kernel]
    backend, _, arch = target_text.partition(":")
    target = GPUTarget("cuda", int(arch), 32) if backend == "cuda" else GPUTarget("hip", arch, 64)
    source_class = names.get("SOURCE_CLASS", triton.compiler.ASTSource)
    constants, order = recipe.get("constexprs", {}), function.arg_names
    divisible = [order.index(name) for name in recipe.get("divisible", ())]
    if "constexprs" in inspect.signature(source_class.__init__).parameters:
        signature = {name: recipe["signature"].get(name, "constexpr") for name in order}
        attributes: Any = {(index,): [["tt.divisibility", 16]] for index in divisible}
        source = source_class(function, signature, constants, attributes)
    else:
        from triton.compiler.compiler import AttrsDescriptor

        signature = {name: recipe["signature"][name] for name in order if name not in constants}
        attributes = AttrsDescriptor(divisible_by_16=set(divisible), equal_to_1=set())
        source = source_class(function, signature, constants, attributes)
    triton.compile(source, target=target, options=json.loads(options_text))


if __name__ == "__main__":
    sys.exit(main())
