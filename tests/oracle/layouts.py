"""Makes tests/golden/layouts/random.jsonl.gz: random encodings and the linear layouts Triton gives them.

Run with the Python of an environment that has Triton 3.9:

    python tests/oracle/layouts.py OUT.jsonl.gz [COUNT [SEED]]
    python tests/oracle/layouts.py OUT.jsonl.gz --from CASES.jsonl

A case is asked in a process of its own, because Triton aborts on many layouts that it refuses; those are
recorded as refused. `--from` asks about given cases: lines with "attr", "shape" and, optionally, "element".
"""

from __future__ import annotations

import gzip
import json
import math
import os
import random
import re
import sys
import tempfile
from pathlib import Path

Case = dict[str, object]


def pow2(rng: random.Random, low: int, high: int) -> int:
    return 1 << rng.randint(low, high)


def split(rng: random.Random, total: int, rank: int) -> list[int]:
    """`total` (a power of two) as a product of `rank` powers of two."""
    parts = [1] * rank
    for _ in range(total.bit_length() - 1):
        parts[rng.randrange(rank)] *= 2
    return parts


def shuffled(rng: random.Random, rank: int) -> list[int]:
    order = list(range(rank))
    rng.shuffle(order)
    return order


def cga_text(rng: random.Random, rank: int, ctas: int, shape: list[int], matrix: bool = False) -> str:
    """A CGALayout over `ctas` blocks that fits the shape: a permutation with zeros between, or nothing."""
    bits = ctas.bit_length() - 1
    if not bits:
        return ""
    bases, at = [], [1] * rank
    for _ in range(bits):
        d = rng.randrange(rank)
        basis = [0] * rank
        if rng.random() < 0.75 and at[d] * 2 <= shape[d]:
            basis[d] = at[d]
            at[d] *= 2
        bases.append(basis)
    return f", CGALayout = {bases}"


class Maker:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.warps = pow2(rng, 0, 3)
        self.lanes = rng.choice([32, 32, 64])
        self.ctas = rng.choice([1, 1, 1, 1, 2, 4])

    def shape(self, rank: int, low: int = 0, high: int = 8) -> list[int]:
        top = {1: 12, 2: 8, 3: 5, 4: 4}[rank]
        return [pow2(self.rng, low, min(high, top)) for _ in range(rank)]

    def blocked(self, rank: int | None = None, shape: list[int] | None = None) -> tuple[str, list[int]]:
        rng = self.rng
        rank = rank or rng.choice([1, 2, 2, 2, 3, 4])
        shape = shape or self.shape(rank)
        size = split(rng, pow2(rng, 0, 5), rank)
        text = (
            f"#ttg.blocked<{{sizePerThread = {size}, threadsPerWarp = {split(rng, self.lanes, rank)}, "
            f"warpsPerCTA = {split(rng, self.warps, rank)}, order = {shuffled(rng, rank)}"
            f"{cga_text(rng, rank, self.ctas, shape)}}}>"
        )
        return text, shape

    def nvidia_mma(self, rank: int = 2, version: int | None = None) -> tuple[str, list[int]]:
        rng = self.rng
        self.lanes = 32
        version = version or rng.choice([2, 2, 3])
        shape = self.shape(rank, 3)
        if version == 3:
            self.warps = max(4, self.warps)
            warps = [4] + [1] * (rank - 1)
            warps[-1] *= self.warps // 4
            instr = f"[16, {rng.choice([8, 16, 32, 64, 128, 256])}, {rng.choice([8, 16, 32])}]"
        else:
            warps = split(rng, self.warps, rank)
            instr = "[16, 8]" if rank == 2 else "[1, 16, 8]"
        text = (
            f"#ttg.nvidia_mma<{{versionMajor = {version}, versionMinor = 0, warpsPerCTA = {warps}"
            f"{cga_text(rng, rank, self.ctas, shape)}, instrShape = {instr}}}>"
        )
        return text, shape

    def mfma(self, rank: int = 2, plain: bool = False) -> tuple[str, list[int]]:
        rng = self.rng
        self.lanes = 64
        shape = self.shape(rank, 4)
        instr = rng.choice(["[32, 32, 8]", "[16, 16, 16]", "[16, 16, 32]", "[4, 64, 4]", "[64, 4, 4]"])
        transposed = instr == "[64, 4, 4]" or rng.random() < 0.5
        tiles = ""
        if not plain and rng.random() < 0.3:
            tiles = f", tilesPerWarp = {[1] * (rank - 2) + [rng.choice([1, 2]), rng.choice([1, 2, 4])]}"
        wide = ", elementBitWidth = 64" if instr.startswith("[16, 16") and rng.random() < 0.2 else ""
        text = (
            f"#ttg.amd_mfma<{{version = {rng.choice([2, 3, 4])}, warpsPerCTA = {split(rng, self.warps, rank)}"
            f"{cga_text(rng, rank, self.ctas, shape)}, instrShape = {instr}, "
            f"isTransposed = {str(transposed).lower()}{tiles}{wide}}}>"
        )
        return text, shape

    def wmma(self, rank: int = 2) -> tuple[str, list[int]]:
        rng = self.rng
        self.lanes = 32
        shape = self.shape(rank, 4)
        version = rng.choice([1, 2, 3])
        at, register, warp = [1] * rank, [], []
        for bits, bases in ((rng.choice([0, 0, 1, 2]), register), (self.warps.bit_length() - 1, warp)):
            for _ in range(bits):
                d = rng.randrange(rank)
                basis = [0] * rank
                basis[d] = at[d]
                at[d] *= 2
                bases.append(basis)
        reg = f"register = {register}, " if register else ""
        instr = ""
        if version == 3:
            shapes = ("[16, 16, 32]", "[16, 16, 32]", "[16, 16, 64]", "[32, 16, 128]")
            instr = f", instrShape = {rng.choice(shapes)}"
        text = (
            f"#ttg.amd_wmma<{{version = {version}, isTranspose = {str(rng.random() < 0.5).lower()}"
            f"{cga_text(rng, rank, self.ctas, shape)}, ctaLayout = {{{reg}warp = {warp}}}{instr}}}>"
        )
        return text, shape

    def dot_operand(self, rank: int = 2) -> tuple[str, list[int]]:
        rng = self.rng
        index = rng.randrange(2)
        kind = rng.choice(["blocked", "mma", "mma", "mfma", "wmma"])
        if kind == "blocked":
            parent, shape = self.blocked(rank)
            return f"#ttg.dot_op<{{opIdx = {index}, parent = {parent}}}>", shape
        if kind == "mma":
            parent, shape = self.nvidia_mma(rank, None if rank == 2 and index == 0 else 2)
            width = rng.choice([1, 2, 4, 8])
        elif kind == "mfma":
            parent, shape = self.mfma(rank)
            width = rng.choice([2, 4, 8, 16])
        else:
            parent, shape = self.wmma(rank)
            width = rng.choice([2, 4, 8, 16])
        return f"#ttg.dot_op<{{opIdx = {index}, parent = {parent}, kWidth = {width}}}>", shape

    def linear(self, rank: int | None = None) -> tuple[str, list[int]]:
        rng = self.rng
        rank = rank or rng.choice([1, 2, 2, 3])
        shape = self.shape(rank, 1, 7)
        pool = [tuple((1 << i) if d == e else 0 for e in range(rank))
                for d, n in enumerate(shape) for i in range(n.bit_length() - 1)]  # fmt: skip
        counts = [self.lanes.bit_length() - 1, self.warps.bit_length() - 1, self.ctas.bit_length() - 1]
        rng.shuffle(pool)
        lists = []
        for count in counts:
            chosen = [pool.pop() if pool and rng.random() < 0.85 else (0,) * rank for _ in range(count)]
            lists.append([list(b) for b in chosen])
        register = [list(b) for b in pool]
        if rng.random() < 0.2:
            register.insert(rng.randrange(len(register) + 1), [0] * rank)
        kind = "linear"
        if rng.random() < 0.3:
            kind = "generic_linear"
            for basis in lists[1]:
                if register and any(basis) and rng.random() < 0.5:
                    other = rng.choice(register)
                    basis[:] = [x ^ y for x, y in zip(basis, other, strict=True)]
        if rng.random() < 0.25:
            d = rng.randrange(rank)
            shape[d] = shape[d] * 2 if rng.random() < 0.5 else max(1, shape[d] // 2)
        text = (
            f"#ttg.{kind}<{{register = {register}, lane = {lists[0]}, "
            f"warp = {lists[1]}, block = {lists[2]}}}>"
        )
        return text, shape

    def slice(self) -> tuple[str, list[int]]:
        rng = self.rng
        kind = rng.choice(["blocked", "blocked", "blocked", "mma", "mfma", "wmma", "dot", "linear", "twice"])
        if kind == "linear":
            parent, shape = self.linear()
            while len(shape) == 1:
                parent, shape = self.linear()
        elif kind == "twice":
            parent, shape = self.blocked(rng.choice([3, 4]))
            d = rng.randrange(len(shape))
            parent, shape = f"#ttg.slice<{{dim = {d}, parent = {parent}}}>", shape[:d] + shape[d + 1 :]
        elif kind == "blocked":
            parent, shape = self.blocked(rng.choice([2, 2, 3]))
        else:
            maker = {"mma": self.nvidia_mma, "mfma": self.mfma, "wmma": self.wmma, "dot": self.dot_operand}
            parent, shape = maker[kind](2)
        d = rng.randrange(len(shape))
        return f"#ttg.slice<{{dim = {d}, parent = {parent}}}>", shape[:d] + shape[d + 1 :]

    def swizzled(self, kind: str = "swizzled_shared") -> tuple[str, list[int]]:
        rng = self.rng
        rank = rng.choice([1, 2, 2, 2, 3, 4])
        shape = self.shape(rank)
        text = (
            f"#ttg.{kind}<{{vec = {pow2(rng, 0, 4)}, perPhase = {pow2(rng, 0, 3)}, "
            f"maxPhase = {pow2(rng, 0, 4)}, order = {shuffled(rng, rank)}"
            f"{cga_text(rng, rank, self.ctas, shape)}}}>"
        )
        return text, shape

    def nvmma(self) -> tuple[str, list[int]]:
        rng = self.rng
        rank = rng.choice([2, 2, 2, 3, 4, 1])
        shape = [pow2(rng, 3, {1: 10, 2: 9, 3: 6, 4: 4}[rank]) for _ in range(rank)]
        if rank > 2 and rng.random() < 0.5:
            shape[0] = 1 << rng.randint(0, 2)
        bits = rng.choice([8, 16, 16, 32])
        width = rng.choice([0, 32, 64, 128])
        padded = ", fp4Padded = true" if bits == 8 and width == 128 and rng.random() < 0.4 else ""
        transposed = "true" if not padded and rng.random() < 0.4 else "false"
        cga = cga_text(rng, rank, self.ctas, shape)
        given = "" if cga or rank == 2 else f", rank = {rank}"
        text = (
            f"#ttg.nvmma_shared<{{swizzlingByteWidth = {width}, transposed = {transposed}, "
            f"elementBitWidth = {bits}{padded}{cga}{given}}}>"
        )
        return text, shape

    def shared_linear(self) -> tuple[str, list[int]]:
        rng = self.rng
        rank = rng.choice([1, 2, 2, 3])
        shape = self.shape(rank, 1, 6)
        pool = [tuple((1 << i) if d == e else 0 for e in range(rank))
                for d, n in enumerate(shape) for i in range(n.bit_length() - 1)]  # fmt: skip
        rng.shuffle(pool)
        block = [list(pool.pop()) for _ in range(min(self.ctas.bit_length() - 1, len(pool) - 1))]
        return (
            f"#ttg.shared_linear<{{offset = {[list(b) for b in pool]}, block = {block}}}, alignment = "
            f"{pow2(rng, 4, 7)}>"
        ), shape

    def partitioned(self) -> tuple[str, list[int]]:
        self.ctas = 1
        inner, shape = self.swizzled()
        rng = self.rng
        d = rng.randrange(len(shape))
        return (
            f"#ttg.partitioned_shared<{{numPartitions = {pow2(rng, 1, 2)}, numGroups = {pow2(rng, 0, 2)}, "
            f"partitionDim = {d}, partitionLayout = {inner}}}>"
        ), shape

    def tensor_memory(self) -> tuple[str, list[int]]:
        rng = self.rng
        self.ctas = 1
        if rng.random() < 0.25:
            return "#ttng.tensor_memory_scales_encoding<>", [pow2(rng, 5, 8), pow2(rng, 1, 5)]
        rows, columns = rng.choice([64, 128]), pow2(rng, 4, 8)
        shape = [rows * pow2(rng, 0, 1), columns * pow2(rng, 0, 2)]
        return (
            f"#ttng.tensor_memory_encoding<blockM = {rows}, blockN = {columns}, "
            f"colStride = {rng.choice([1, 2])}>"
        ), shape


KINDS = (
    "blocked", "blocked", "blocked", "slice", "slice", "nvidia_mma", "mfma", "wmma", "dot_operand",
    "dot_operand", "dot_operand", "linear", "linear", "swizzled", "swizzled", "nvmma", "nvmma",
    "shared_linear", "partitioned", "tensor_memory", "batched",
)  # fmt: skip


def make_case(rng: random.Random, index: int) -> Case:
    maker = Maker(rng)
    kind = KINDS[index % len(KINDS)]
    if kind == "batched":
        kind = rng.choice(["nvidia_mma", "mfma", "wmma", "dot_operand"])
        attr, shape = maker.nvidia_mma(3, 2) if kind == "nvidia_mma" else getattr(maker, kind)(3)
    else:
        attr, shape = getattr(maker, kind)()
    return {"attr": attr, "shape": shape, "warps": maker.warps, "lanes": maker.lanes, "ctas": maker.ctas}


def element_for(case: Case) -> str:
    attr = str(case["attr"])
    if "element" in case:
        return str(case["element"])
    if "tensor_memory_scales" in attr:
        return "i8"
    for bits in (8, 32):
        if f"elementBitWidth = {bits}" in attr and "nvmma" in attr:
            return f"i{bits}"
    return "f16"


def module_text(case: Case) -> str:
    shape = "x".join(str(n) for n in case["shape"])  # type: ignore[attr-defined]  # a list by construction
    attr, element = str(case["attr"]), element_for(case)
    if "tensor_memory" in attr:
        type_ = f"!ttg.memdesc<{shape}x{element}, {attr}, #ttng.tensor_memory, mutable>"
    elif "shared" in attr:
        type_ = f"!ttg.memdesc<{shape}x{element}, {attr}, #ttg.shared_memory, mutable>"
    else:
        type_ = f"tensor<{shape}x{element}, {attr}>"
    return (
        f'module attributes {{"ttg.num-ctas" = {case.get("ctas", 1)} : i32, '
        f'"ttg.num-warps" = {case.get("warps", 4)} : i32, '
        f'"ttg.threads-per-warp" = {case.get("lanes", 32)} : i32}} {{\n'
        f"  tt.func public @k(%arg0: {type_}) {{\n    tt.return\n  }}\n}}\n"
    )


def batched_wmma(builder: object, attr: str) -> object:
    """Gluon's reader aborts on WMMA layouts of rank 3, so these are built instead of read."""

    def field(name: str, default: str) -> object:
        found = re.search(name + r" = (\[[\[\], \d]*\]|\w+)", attr)
        return json.loads(found.group(1) if found else default)

    made = builder.get_amd_wmma_layout(
        field("version", "1"), field("isTranspose", "false"), field("warp", "[]"), field("register", "[]"),
        field("CGALayout", "[]"), field("instrShape", "[16, 16, 16]"), 3,
    )  # fmt: skip
    if attr.startswith("#ttg.dot_op"):
        return builder.get_dot_operand_layout(field("opIdx", "0"), made, field("kWidth", "0"))
    return made


def ask(case: Case, folder: str) -> Case:
    """Triton's answer to one case; call in a process that may die."""
    from triton._C.libtriton import amd, gluon_ir, ir, nvidia

    context = ir.context()
    for dialects in (ir, nvidia, amd):
        dialects.load_dialects(context)
    attr = str(case["attr"])
    builder = gluon_ir.GluonOpBuilder(context)
    if "amd_wmma" in attr and len(case["shape"]) == 3:
        return bases_of(builder.to_linear_layout(batched_wmma(builder, attr), case["shape"]))
    path = os.path.join(folder, "case.mlir")
    Path(path).write_text(module_text(case))
    module = ir.parse_mlir_module(path, context)
    value = module.get_function("k").args(0)
    if "shared" in attr or "tensor_memory" in attr:
        layout = builder.get_gluon_layout_from_memdesc(value)
    else:
        layout = builder.get_gluon_layout_from_tensor(value)
    return bases_of(builder.to_linear_layout(layout._to_ir(builder), case["shape"]))


def bases_of(linear: object) -> Case:
    names = {
        "reg_bases": "register", "lane_bases": "lane", "warp_bases": "warp", "block_bases": "block",
        "offset_bases": "offset", "rows": "row", "cols": "col",
    }  # fmt: skip
    return {names[n]: getattr(linear, n) for n in names if hasattr(linear, n)}


def ask_safely(case: Case, folder: str) -> Case:
    answer = os.path.join(folder, "answer.json")
    if os.path.exists(answer):
        os.unlink(answer)
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        try:
            Path(answer).write_text(json.dumps(ask(case, folder)))
        except Exception as error:
            Path(answer).write_text(json.dumps({"refused": str(error)[:200] or type(error).__name__}))
        os._exit(0)
    os.waitpid(child, 0)
    if not os.path.exists(answer):
        return {"refused": "abort"}
    return json.loads(Path(answer).read_text())


def main() -> None:
    out = sys.argv[1]
    if len(sys.argv) > 2 and sys.argv[2] == "--from":
        cases = [json.loads(line) for line in Path(sys.argv[3]).read_text().splitlines()]
    else:
        count = int(sys.argv[2]) if len(sys.argv) > 2 else 900
        rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 4)
        cases = [make_case(rng, i) for i in range(count)]
    import triton._C.libtriton  # noqa: F401  # loaded once, so that the children need not

    given = 0
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            answer = ask_safely(case, folder)
            given += "refused" not in answer
            lines.append(json.dumps({**case, **answer}, separators=(",", ":")))
    with open(out, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as packed:
        packed.write(("\n".join(lines) + "\n").encode())
    size = math.ceil(os.path.getsize(out) / 1024)
    print(f"{len(cases)} cases, {given} layouts, {len(cases) - given} refused; {size} KB")


if __name__ == "__main__":
    main()
