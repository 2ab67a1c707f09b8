"""Small programs for lint's tests, and what a rule finds in them."""

from passlens.ir.lint.engine import lint_trace
from passlens.ir.lint.finding import Finding
from passlens.ir.lint.registry import OWN
from passlens.ir.lint.rule import Limits
from passlens.ir.trace import trace_of_text

NONE = "float_type, {}, {}"
KB = "float_type, {256}, {1}"


def found(text: str, rule: str, limits: Limits | None = None) -> list[Finding]:
    """What one rule finds in a text."""
    rules = [each for each in OWN if each.id == rule]
    assert rules
    return lint_trace(trace_of_text(text), rules, limits or Limits())


def everything(text: str) -> list[Finding]:
    return lint_trace(trace_of_text(text), OWN, Limits())


def migraphx(*lines: str, arena: int = 8192) -> str:
    """A main module with an arena @1 and an input x."""
    return (
        "\n".join(
            [
                'module: "main"',
                f"@0 = check_context::migraphx::gpu::context -> {NONE}",
                f"@1 = hip::hip_allocate_memory[shape=int8_type, {{{arena}}}, {{1}},id=main:scratch] "
                f"-> int8_type, {{{arena}}}, {{1}}",
                f"x = @param:x -> {KB}",
                *lines,
            ]
        )
        + "\n"
    )


def literal(name: str, shape: str = KB) -> str:
    return f"{name} = @literal{{ ... }} -> {shape}"


def load(name: str, start: int, end: int, shape: str = KB) -> str:
    return f"{name} = load[offset={start},end={end}](@1) -> {shape}"


def copy(name: str, source: str, target: str, shape: str = KB) -> str:
    return f"{name} = hip::copy_to_gpu({source},{target}) -> {shape}"


def kernel(name: str, *inputs: str, kind: str = "add_kernel") -> str:
    return f"{name} = gpu::code_object[code_object=4096,symbol_name={kind},global=64,local=64,]({','.join(inputs)}) -> {KB}"


def stream(name: str, number: int) -> str:
    return f"{name} = gpu::set_stream[stream={number}] -> {NONE}"


def record(name: str, event: int) -> str:
    return f"{name} = gpu::record_event[event={event}] -> {NONE}"


def wait(name: str, event: int) -> str:
    return f"{name} = gpu::wait_event[event={event}] -> {NONE}"


def end(value: str) -> str:
    return f"@99 = @return({value})"


HEADER = """\
#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#other = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [4, 8], warpsPerCTA = [1, 4], order = [0, 1]}>
#line = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#far = #ttg.linear<{register = [[1], [8], [16]], lane = [[32], [64], [128], [256], [512]], warp = [[2], [4]], block = []}>
"""


def ttgir(body: str, attributes: str = "", arguments: str = "%p: !tt.ptr<f32>, %n: i32") -> str:
    return (
        HEADER
        + f'module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32{attributes}, '
        + 'ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {\n'
        + f"  tt.func public @k({arguments}) {{\n{body}    tt.return\n  }}\n}}\n"
    )
