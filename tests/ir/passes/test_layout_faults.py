"""Faults of the clones' era beside the seed's, and faults of ours that random programs and mutants found."""

from __future__ import annotations

import pytest
from passlens.ir.formats.mlir import parse_mlir, print_mlir
from passlens.ir.passes.layout.explain import FATAL, explain
from passlens.ir.passes.layout.inference import Inference
from passlens.ir.passes.layout.remove_conversions import RemoveLayoutConversions
from passlens.ir.passes.layout.reshape import default_blocked, reshape_groups, reshaped
from passlens.ir.passes.layout.rules import RULE_SETS
from passlens.ir.passes.layout.tensors import Tensors
from passlens.ir.passes.step import Step
from passlens.ir.program import Program, walk
from passlens.ir.verify import verify

HEAD = """
#a = #triton_gpu.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#b = #triton_gpu.blocked<{sizePerThread = [4, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, 4], order = [0, 1]}>
#c = #triton_gpu.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [2, 2], order = [1, 0]}>
module attributes {"triton_gpu.num-ctas" = 1 : i32, "triton_gpu.num-warps" = 4 : i32, "triton_gpu.threads-per-warp" = 32 : i32} {
  tt.func public @k(%p: tensor<64x64x!tt.ptr<f32>, #a>, %q: tensor<64x64x!tt.ptr<f32>, #b>, %n: i32, %t: i1) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
"""
TAIL = """
    tt.return
  }
}
"""
T = {letter: f"tensor<64x64xf32, #{letter}>" for letter in "abc"}


def run(body: str, rules: str = "triton-3.0") -> tuple[Program, RemoveLayoutConversions, list[Step]]:
    program = parse_mlir(HEAD + body + TAIL)
    assert verify(program) == []
    pass_ = RemoveLayoutConversions(RULE_SETS[rules])
    steps = list(pass_.steps(program))
    assert verify(parse_mlir(print_mlir(program))) == []
    return program, pass_, steps


def fatal(steps: list[Step]) -> list[str]:
    return [step.kind for step in steps if step.kind in FATAL]


# The loop's result has candidates #a (init) and #b (yield); its argument has them in the other order.
WHILE_WRITES_TO_A_LOAD = f"""
    %x = tt.load %p : tensor<64x64x!tt.ptr<f32>, #a>
    %y = tt.load %q : tensor<64x64x!tt.ptr<f32>, #b>
    %w:2 = scf.while (%u = %x, %i = %c0) : ({T["a"]}, i32) -> ({T["a"]}, i32) {{
      %go = arith.cmpi slt, %i, %n : i32
      scf.condition(%go) %u, %i : {T["a"]}, i32
    }} do {{
    ^bb0(%u: {T["a"]}, %i: i32):
      %z = triton_gpu.convert_layout %y : {T["b"]} -> {T["a"]}
      %j = arith.addi %i, %c1 : i32
      scf.yield %z, %j : {T["a"]}, i32
    }}
    tt.store %p, %w#0 : tensor<64x64x!tt.ptr<f32>, #a>
"""


@pytest.mark.parametrize("rules", RULE_SETS)
def test_a_while_that_yields_another_encoding_runs_through(rules: str) -> None:
    _, _, steps = run(WHILE_WRITES_TO_A_LOAD, rules)
    assert fatal(steps) == []


UNEXPECTED = f"""
    %s = triton_gpu.convert_layout %p : tensor<64x64x!tt.ptr<f32>, #a> -> tensor<64x64x!tt.ptr<f32>, #c>
    %y = tt.load %q : tensor<64x64x!tt.ptr<f32>, #b>
    %d = "tt.reduce"(%y) <{{axis = 1 : i32}}> ({{
    ^bb0(%l: f32, %r: f32):
      %m = arith.maxnumf %l, %r : f32
      tt.reduce.return %m : f32
    }}) : ({T["b"]}) -> tensor<64xf32, #triton_gpu.slice<{{dim = 1, parent = #b}}>>
    %pp = tt.splat %ptr : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>, #triton_gpu.slice<{{dim = 1, parent = #a}}>>
    %ld = tt.load %pp : tensor<64x!tt.ptr<f32>, #triton_gpu.slice<{{dim = 1, parent = #a}}>>
    %w:2 = scf.while (%u = %ld, %i = %c0) : (tensor<64xf32, #triton_gpu.slice<{{dim = 1, parent = #a}}>>, i32)
        -> (tensor<64xf32, #triton_gpu.slice<{{dim = 1, parent = #a}}>>, i32) {{
      %go = arith.cmpi slt, %i, %n : i32
      scf.condition(%go) %u, %i : tensor<64xf32, #triton_gpu.slice<{{dim = 1, parent = #a}}>>, i32
    }} do {{
    ^bb0(%u: tensor<64xf32, #triton_gpu.slice<{{dim = 1, parent = #a}}>>, %i: i32):
      %z = triton_gpu.convert_layout %d : tensor<64xf32, #triton_gpu.slice<{{dim = 1, parent = #b}}>>
          -> tensor<64xf32, #triton_gpu.slice<{{dim = 1, parent = #a}}>>
      %j = arith.addi %i, %c1 : i32
      scf.yield %z, %j : tensor<64xf32, #triton_gpu.slice<{{dim = 1, parent = #a}}>>, i32
    }}
    tt.store %pp, %w#0 : tensor<64x!tt.ptr<f32>, #triton_gpu.slice<{{dim = 1, parent = #a}}>>
"""


def test_a_cheap_load_that_is_picked_cannot_be_rewritten() -> None:
    """The while's yield writes its encoding back to a load too small to be an anchor, which 3.0 cannot make."""
    text = (HEAD + UNEXPECTED + TAIL).replace("%t: i1)", "%t: i1, %ptr: !tt.ptr<f32>)")
    report = explain(text, RULE_SETS["triton-3.0"])
    assert [fault.kind for fault in report.faults] == ["unexpected-op"]
    assert "tt.load" in report.faults[0].summary
    assert report.others["triton-3.9"].startswith("runs")


DEAD_VALUES = f"""
    %x = tt.load %p : tensor<64x64x!tt.ptr<f32>, #a>
    %outer = math.exp %x : {T["a"]}
    %f = scf.for %i = %c0 to %n step %c1 iter_args(%u = %x) -> ({T["a"]})  : i32 {{
      tt.store %p, %x : tensor<64x64x!tt.ptr<f32>, #a>
      scf.yield %outer : {T["a"]}
    }}
    tt.store %p, %f : tensor<64x64x!tt.ptr<f32>, #a>
"""


@pytest.mark.parametrize("rules", RULE_SETS)
def test_a_loop_result_from_outside_the_loop_is_kept(rules: str) -> None:
    """The yielded value is defined outside: it is in no list of values alive inside, and matters all the same."""
    program, _, _ = run(DEAD_VALUES, rules)
    (loop,) = [op for op in walk(program) if op.name == "scf.for"]
    assert len(loop.results) == 1
    assert loop.regions[0].blocks[0].ops[-1].operands[0].op is not None


UNUSED_BRANCH = f"""
    %x = tt.load %p : tensor<64x64x!tt.ptr<f32>, #a>
    %g = scf.if %t -> ({T["a"]}) {{
      tt.store %p, %x : tensor<64x64x!tt.ptr<f32>, #a>
      scf.yield %x : {T["a"]}
    }} else {{
      %e = math.exp %x : {T["a"]}
      scf.yield %e : {T["a"]}
    }}
"""


def test_an_else_branch_that_does_nothing_any_more_goes() -> None:
    program, _, _ = run(UNUSED_BRANCH)
    (branch,) = [op for op in walk(program) if op.name == "scf.if"]
    assert branch.results == []
    assert branch.regions[1].blocks == []
    assert "math.exp" not in print_mlir(program)


ROUND_TRIP = """
    %s = tt.splat %ptr : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>, #a>
    %one = triton_gpu.convert_layout %s : tensor<64x64x!tt.ptr<f32>, #a> -> tensor<64x64x!tt.ptr<f32>, #b>
    %two = triton_gpu.convert_layout %one : tensor<64x64x!tt.ptr<f32>, #b> -> tensor<64x64x!tt.ptr<f32>, #a>
    %x = tt.load %s : tensor<64x64x!tt.ptr<f32>, #a>
    tt.store %two, %x : tensor<64x64x!tt.ptr<f32>, #a>
"""


def test_a_greedy_run_goes_from_the_bottom_up() -> None:
    """From the top down the splat would be made three times; the compiler ends with one."""
    text = (HEAD + ROUND_TRIP + TAIL).replace("%t: i1)", "%t: i1, %ptr: !tt.ptr<f32>)")
    program = parse_mlir(text)
    list(RemoveLayoutConversions(RULE_SETS["triton-3.0"]).steps(program))
    assert sum(op.name == "tt.splat" for op in walk(program)) == 1
    assert "convert_layout" not in print_mlir(program)


# -- inference -----------------------------------------------------------------------------------------


def layouts(rules: str = "triton-3.0") -> tuple[Tensors, Inference, Program]:
    body = f"""
    %x = tt.load %p : tensor<64x64x!tt.ptr<f32>, #a>
    %y = tt.trans %x {{order = array<i32: 1, 0>}} : {T["a"]} -> {T["b"]}
    %z = tt.join %x, %x : {T["a"]} -> tensor<64x64x2xf32, #triton_gpu.blocked<{{sizePerThread = [1, 4, 2], threadsPerWarp = [4, 8, 1], warpsPerCTA = [4, 1, 1], order = [2, 1, 0]}}>>
    """
    program = parse_mlir(HEAD + body + TAIL)
    tensors = Tensors(program, RULE_SETS[rules])
    return tensors, Inference(tensors, RULE_SETS[rules]), program


@pytest.mark.parametrize("rules", RULE_SETS)
@pytest.mark.parametrize("name", ["tt.trans", "tt.join"])
def test_inference_and_its_inverse(name: str, rules: str) -> None:
    tensors, infer, program = layouts(rules)
    (op,) = [op for op in walk(program) if op.name == name]
    source, target = tensors.of(op.operands[0]), tensors.of(op.results[0])
    assert source is not None
    assert target is not None
    assert infer.result(op, source) == target
    assert infer.operand(op, target) == source


def test_two_aliases_with_one_body_are_one_encoding() -> None:
    text = "#x = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>\n"
    program = parse_mlir(text + text.replace("#x", "#y") + "module {\n}\n")
    tensors = Tensors(program, RULE_SETS["triton-3.9"])
    assert tensors.parse("#x") is tensors.parse("#y")


@pytest.mark.parametrize(
    ("source", "target", "groups"),
    [
        ((16,), (4, 4), [((0,), (0, 1))]),
        ((4, 8, 2), (32, 2), [((0, 1), (0,)), ((2,), (1,))]),
        ((32,), (32, 1), [((0,), (0, 1))]),
        ((4, 4), (4, 4), [((0,), (0,)), ((1,), (1,))]),
    ],
)
def test_groups_of_a_reshape(
    source: tuple[int, ...], target: tuple[int, ...], groups: list[tuple[tuple[int, ...], tuple[int, ...]]]
) -> None:
    assert reshape_groups(source, target) == groups


def test_default_encodings_stay_default_through_a_reshape() -> None:
    for source, target in (((128,), (2, 64)), ((2, 2, 32), (4, 32)), ((64, 64), (4096,))):
        assert reshaped(source, default_blocked(source, 4, 32), target) == default_blocked(target, 4, 32)
