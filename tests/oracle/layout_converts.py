"""Makes tests/golden/layouts/converts.jsonl.gz: what Triton 3.9 lowers single `ttg.convert_layout`s to.

Run with the Python of an environment that has Triton 3.9:

    python tests/oracle/layout_converts.py OUT.jsonl.gz [COUNT [SEED]]

Each case is compiled to the LLVM dialect for cuda:90 or hip:gfx942, in a process of its own, and what matters
is counted: bytes of shared memory, stores and loads there, shuffles, barriers.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import sys
import tempfile
from pathlib import Path

from layouts import Maker, split

Case = dict[str, object]

COUNTED = {
    "stores": r"llvm\.store [^\n]*!llvm\.ptr<3>|st\.shared|nvvm\.stmatrix|stmatrix",
    "loads": r"llvm\.load [^\n]*!llvm\.ptr<3>|ld\.shared|nvvm\.ldmatrix|ldmatrix|ds\.read\.tr",
    "matrix": r"stmatrix|ldmatrix|ds\.read\.tr",
    "shuffles": r"nvvm\.shfl|ds_bpermute|ds\.bpermute|ds_swizzle|ds\.swizzle|dpp|permlane|__shfl",
    "barriers": r"nvvm\.barrier\b(?!\.)|rocdl\.s\.barrier|nvvm\.barrier0",
    "warp_syncs": r"bar\.warp\.sync|wave\.barrier",
    "cluster": r"cluster|mapa|shared::cluster",
}
TARGETS = (("cuda:90", 32), ("hip:gfx942", 64))
ELEMENTS = ("f16", "f16", "f32", "i8", "f64", "i1", "!tt.ptr<f32>", "bf16")


def module_text(case: Case) -> str:
    shape = "x".join(str(n) for n in case["shape"])  # type: ignore[attr-defined]  # a list by construction
    a, b = (f"tensor<{shape}x{case['element']}, {case[side]}>" for side in ("from", "to"))
    return (
        f'module attributes {{"ttg.num-ctas" = {case["ctas"]} : i32, "ttg.num-warps" = {case["warps"]} : i32, '
        f'ttg.target = "{case["target"]}", "ttg.threads-per-warp" = {case["lanes"]} : i32}} {{\n'
        "  tt.func public @main() {\n    tt.return\n  }\n"
        f"  tt.func private @k(%x: {a}) -> {b} attributes {{noinline = true}} {{\n"
        f"    %y = ttg.convert_layout %x : {a} -> {b}\n    tt.return %y : {b}\n  }}\n}}\n"
    )


def lower(case: Case, folder: str) -> Case:
    from triton._C.libtriton import amd, ir, nvidia, passes

    context = ir.context()
    for dialects in (ir, nvidia, amd):
        dialects.load_dialects(context)
    path = os.path.join(folder, "case.mlir")
    Path(path).write_text(module_text(case))
    module = ir.parse_mlir_module(path, context)
    module.context = context
    manager = ir.pass_manager(context)
    if case["target"] == "cuda:90":
        nvidia.passes.ttgpuir.add_allocate_shared_memory_nv(manager, 90, 80)
        nvidia.passes.ttgpuir.add_membar(manager, 90, 80)
        passes.ttgpuir.add_allocate_global_scratch_memory(manager)
        nvidia.passes.ttgpuir.add_to_llvmir(manager, 90, 80)
    else:
        arch = str(case["target"]).partition(":")[2]
        amd.passes.ttgpuir.add_allocate_shared_memory(manager, arch)
        amd.passes.ttgpuir.add_membar(manager, arch)
        passes.ttgpuir.add_allocate_global_scratch_memory(manager)
        amd.passes.ttgpuir.add_to_llvmir(manager, arch, True)
    manager.run(module, "lower")
    text = module.str_nodebug()
    body = text[text.index("@k(") :]
    shared = re.search(r"ttg\.shared = (\d+)", text)
    counts = {name: len(re.findall(pattern, body)) for name, pattern in COUNTED.items()}
    return {"shared": int(shared.group(1)) if shared else 0, **counts}


def lower_safely(case: Case, folder: str) -> Case:
    answer = Path(folder) / "answer.json"
    answer.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        try:
            answer.write_text(json.dumps(lower(case, folder)))
        except Exception as error:
            answer.write_text(json.dumps({"refused": str(error)[:200]}))
        os._exit(0)
    os.waitpid(child, 0)
    return json.loads(answer.read_text()) if answer.exists() else {"refused": "abort"}


def make_pair(rng: random.Random, index: int) -> Case | None:
    """Two layouts of one shape; None where the draw does not fit together."""
    maker = Maker(rng)
    target, maker.lanes = TARGETS[index % 2]
    maker.ctas = 2 if index % 25 == 24 else 1
    rank = rng.choice([1, 2, 2, 2, 3])
    shape = [1 << rng.randint(0, {1: 10, 2: 6, 3: 3}[rank]) for _ in range(rank)]
    maker.shape = lambda *_, **__: list(shape)
    lanes = maker.lanes
    kinds = ["blocked", "blocked", "slice", "linear"]
    if rank == 2:
        kinds += ["dot_operand", "nvidia_mma" if lanes == 32 else "mfma", "near", "near", "near"]
    texts = []
    for _ in range(2):
        kind = rng.choice(kinds)
        if kind == "near":
            continue
        text = draw(maker, kind, shape)
        if text is None or maker.lanes != lanes:
            return None
        texts.append(text)
    while len(texts) < 2:
        near = nearby(rng, maker, shape, texts[0] if texts else None)
        texts.append(near)
    return {
        "from": texts[0], "to": texts[1], "shape": shape, "element": rng.choice(ELEMENTS), "target": target,
        "warps": maker.warps, "lanes": lanes, "ctas": maker.ctas,
    }  # fmt: skip


def draw(maker: Maker, kind: str, shape: list[int]) -> str | None:
    warps = maker.warps
    if kind == "slice":
        wide = [*shape, 1 << maker.rng.randint(0, 3)]
        parent, _ = maker.blocked(len(wide), wide)
        text, got = f"#ttg.slice<{{dim = {len(shape)}, parent = {parent}}}>", list(shape)
    elif kind == "blocked":
        text, got = maker.blocked(len(shape), list(shape))
    elif kind == "linear":
        text, got = maker.linear(len(shape))
    else:
        text, got = getattr(maker, kind)()
    return text if got == shape and maker.warps == warps else None


def nearby(rng: random.Random, maker: Maker, shape: list[int], other: str | None) -> str:
    """A blocked layout that differs little from another one, so that data stays in a warp or a thread."""
    rank = len(shape)
    found = re.match(r"#ttg\.blocked<\{sizePerThread = (\[.*?\]), threadsPerWarp = (\[.*?\]), "
                     r"warpsPerCTA = (\[.*?\]), order = (\[.*?\])(.*)\}>", other or "")  # fmt: skip
    if found is None:
        return maker.blocked(rank, list(shape))[0]
    size, lanes, warps, order = (json.loads(found.group(i)) for i in range(1, 5))
    change = rng.randrange(4)
    a, b = rng.sample(range(rank), 2)
    if change == 0:
        size = split(rng, 1 << rng.randint(0, 4), rank)
    elif change == 1 and lanes[a] > 1:
        lanes[a] //= 2
        lanes[b] *= 2
    elif change == 2 and size[a] > 1 and lanes[b] > 1:
        size[a], size[b] = size[a] // 2, size[b] * 2
        lanes[a], lanes[b] = lanes[a] * 2, lanes[b] // 2
    else:
        order = order[::-1]
    return (
        f"#ttg.blocked<{{sizePerThread = {size}, threadsPerWarp = {lanes}, warpsPerCTA = {warps}, "
        f"order = {order}{found.group(5)}}}>"
    )


def main() -> None:
    out = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 9)
    import triton._C.libtriton  # noqa: F401  # loaded once, so that the children need not

    lines: list[str] = []
    index = 0
    with tempfile.TemporaryDirectory() as folder:
        while len(lines) < count:
            index += 1
            case = make_pair(rng, index)
            if case is None:
                continue
            answer = lower_safely(case, folder)
            if answer.get("refused") == "Parse MLIR file failed.":
                continue
            lines.append(json.dumps({**case, **answer}, separators=(",", ":")))
    with open(out, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as packed:
        packed.write(("\n".join(lines) + "\n").encode())
    print(f"{len(lines)} converts; {os.path.getsize(out) // 1024} KB")


if __name__ == "__main__":
    main()
