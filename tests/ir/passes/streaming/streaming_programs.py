"""Random MIGraphX programs for planning: kernels that take as long as their names say, literals of many sizes."""

import random
import re
from dataclasses import dataclass

from passlens.ir.formats.migraphx import parse_migraphx
from passlens.ir.passes.step import Recorder
from passlens.ir.passes.streaming.detach import detach, main_block
from passlens.ir.passes.streaming.work import Work, work_of
from passlens.ir.program import Op, Program


@dataclass(frozen=True)
class Link:
    latency_us: float
    bytes_per_us: float

    def time_us(self, size: int) -> float:
        return self.latency_us + size / self.bytes_per_us


def named_cost(op: Op) -> float:
    """`k17_kernel` takes 17 us."""
    found = re.match(r"k(\d+)_", op.attributes.get("symbol_name", ""))
    return float(found[1]) if found else 1.0


def random_text(
    seed: int,
    kernels: int,
    literals: int,
    *,
    largest: int = 64,
    longest: int = 40,
    unit: int = 1024,
    views: bool = True,
) -> str:
    """A program of `kernels` kernels in a chain with side branches; every literal is read by some of them."""
    chance = random.Random(seed)
    lines = ['module: "main"', "@0 = check_context::migraphx::gpu::context -> float_type, {}, {}"]
    body: list[str] = []
    number = 2
    sizes = [chance.randint(1, largest) * unit for _ in range(literals)]
    users: list[set[int]] = [{chance.randrange(kernels)} for _ in range(literals)]
    for use in users:
        if chance.random() < 0.25:
            use.add(chance.randrange(kernels))
    names: dict[int, str] = {}
    order = sorted(range(literals), key=lambda i: min(users[i]))
    body.append(f"x = @param:x -> {_shape(unit)}")
    made: list[tuple[str, int]] = [("x", unit)]
    offset = 0
    for kernel in range(kernels):
        for literal in order:
            if min(users[literal]) == kernel or (literal not in names and chance.random() < 0.1):
                if literal in names:
                    continue
                names[literal] = f"@{number}"
                body.append(f"@{number} = @literal{{ ... }} -> {_shape(sizes[literal])}")
                number += 1
        size = chance.randint(1, largest) * unit
        inputs = [made[-1][0]]
        if len(made) > 2 and chance.random() < 0.4:
            inputs.append(made[chance.randrange(len(made) - 1)][0])
        for literal in range(literals):
            if kernel in users[literal]:
                name = names[literal]
                if views and chance.random() < 0.3:
                    body.append(
                        f"@{number} = reshape_lazy[dims={{{sizes[literal] // 4}}}]({name}) -> {_shape(sizes[literal])}"
                    )
                    name = f"@{number}"
                    number += 1
                inputs.append(name)
        body.append(f"@{number} = load[offset={offset},end={offset + size}](@1) -> {_shape(size)}")
        offset += size
        took = chance.randint(1, longest)
        body.append(
            f"@{number + 1} = gpu::code_object[code_object=4096,symbol_name=k{took}_kernel,global=64,local=64,]"
            f"({','.join([*inputs, f'@{number}'])}) -> {_shape(size)}"
        )
        made.append((f"@{number + 1}", size))
        number += 2
    body.append(f"@{number} = @return({made[-1][0]})")
    arena = f"@1 = hip::hip_allocate_memory[shape=int8_type, {{{offset}}}, {{1}},id=main:scratch] -> int8_type, {{{offset}}}, {{1}}"
    return "\n".join([*lines, arena, *body]) + "\n"


def random_program(seed: int, kernels: int, literals: int, **more: int) -> Program:
    return parse_migraphx(random_text(seed, kernels, literals, **more))


def work(program: Program) -> Work:
    """The program's work; its copies and streams are gone afterwards."""
    for _ in detach(program, Recorder()):
        pass
    return work_of(main_block(program), named_cost)


def _shape(size: int) -> str:
    return f"float_type, {{{size // 4}}}, {{1}}"
