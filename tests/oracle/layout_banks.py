"""Makes tests/golden/layouts/banks.jsonl.gz: bank conflicts as Triton 3.9 counts them.

Run with the Python of an environment that has Triton 3.9:

    python tests/oracle/layout_banks.py OUT.jsonl.gz [COUNT [SEED]]
"""

from __future__ import annotations

import gzip
import json
import os
import random
import sys
import tempfile
from pathlib import Path

from layouts import Case, Maker, module_text


def ask(case: Case, folder: str) -> int:
    from triton._C.libtriton import amd, gluon_ir, ir, nvidia

    context = ir.context()
    for dialects in (ir, nvidia, amd):
        dialects.load_dialects(context)
    builder = gluon_ir.GluonOpBuilder(context)
    # The count depends on the target, which it looks up from where the builder stands.
    host = builder.create_module()
    host.context = context
    function = builder.get_or_insert_function(host, "k", builder.get_function_ty([], []), "public", False)
    host.push_back(function)
    builder.set_insertion_point_to_start(function.add_entry_block())
    attrs = []
    for side in ("distributed", "shared"):
        path = os.path.join(folder, f"{side}.mlir")
        Path(path).write_text(module_text({**case, "attr": case[side]}))
        module = ir.parse_mlir_module(path, context)
        value = module.get_function("k").args(0)
        read = (
            builder.get_gluon_layout_from_memdesc
            if side == "shared"
            else builder.get_gluon_layout_from_tensor
        )
        attrs.append(read(value)._to_ir(builder))
    return builder.get_shared_bank_conflicts(attrs[0], attrs[1], case["shape"], case["bits"])


def ask_safely(case: Case, folder: str) -> int | None:
    answer = Path(folder) / "answer"
    answer.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        try:
            answer.write_text(str(ask(case, folder)))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    return int(answer.read_text()) if answer.exists() else None


def make_case(rng: random.Random) -> Case | None:
    maker = Maker(rng)
    maker.lanes = 32
    maker.ctas = 1
    rank = rng.choice([1, 2, 2, 2, 2])
    shape = [1 << rng.randint(3, 8) for _ in range(rank)]
    maker.shape = lambda *_, **__: list(shape)
    warps = maker.warps
    kind = rng.choice(["blocked", "blocked", "blocked", "linear", "dot", "mma"] if rank == 2 else ["blocked"])
    if kind == "blocked":
        distributed, got = maker.blocked(rank, list(shape))
    elif kind == "linear":
        distributed, got = maker.linear(rank)
    else:
        distributed, got = maker.dot_operand() if kind == "dot" else maker.nvidia_mma()
    if got != shape or maker.lanes != 32 or maker.warps != warps:
        return None
    bits = rng.choice([8, 16, 16, 32, 64])
    order = list(range(rank))
    rng.shuffle(order)
    if rank == 2 and rng.random() < 0.25:
        shared = (
            f"#ttg.nvmma_shared<{{swizzlingByteWidth = {rng.choice([32, 64, 128])}, "
            f"transposed = {rng.choice(['true', 'false'])}, elementBitWidth = {min(bits, 32)}}}>"
        )
        bits = min(bits, 32)
    elif rng.random() < 0.2:
        shared = f"#ttg.padded_shared<[{1 << rng.randint(3, 8)}:+{1 << rng.randint(0, 4)}] " + (
            f"{{order = {order}, shape = {shape}}}>"
        )
    else:
        shared = (
            f"#ttg.swizzled_shared<{{vec = {1 << rng.randint(0, 3)}, perPhase = {1 << rng.randint(0, 2)}, "
            f"maxPhase = {1 << rng.randint(0, 4)}, order = {order}}}>"
        )
    return {
        "distributed": distributed, "shared": shared, "shape": shape, "bits": bits,
        "warps": maker.warps, "lanes": 32, "ctas": 1, "element": f"i{bits}",
    }  # fmt: skip


def main() -> None:
    out = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 5)
    import triton._C.libtriton  # noqa: F401  # loaded once, so that the children need not

    lines: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        while len(lines) < count:
            case = make_case(rng)
            conflicts = case and ask_safely(case, folder)
            if case and conflicts is not None:
                lines.append(json.dumps({**case, "conflicts": conflicts}, separators=(",", ":")))
    with open(out, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as packed:
        packed.write(("\n".join(lines) + "\n").encode())
    print(f"{len(lines)} accesses; {os.path.getsize(out) // 1024} KB")


if __name__ == "__main__":
    main()
