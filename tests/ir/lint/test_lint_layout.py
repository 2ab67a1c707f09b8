"""Each rule about layouts and about the IR itself: found, not found, nearly found."""

from pathlib import Path

import pytest
from lint_programs import HEADER, everything, found, ttgir
from passlens.ir.lint.engine import lint_trace
from passlens.ir.lint.registry import OWN
from passlens.ir.lint.rule import Limits
from passlens.ir.trace import open_trace

GOLDEN = Path(__file__).parents[2] / "golden"
T = "tensor<64x64xf32, #blocked>"
U = "tensor<64x64xf32, #other>"
CONST = f"    %c = arith.constant dense<1.0> : {T}\n    %lo = arith.constant 0 : i32\n    %st = arith.constant 1 : i32\n"


def seed(name: str) -> list:
    return lint_trace(open_trace(str(GOLDEN / "seeds" / name)), OWN, Limits())


def test_the_seed_s_missing_mapping_and_nothing_else() -> None:
    errors = [each for each in seed("triton_reproducible.mlir") if each.severity == "error"]
    (one,) = errors
    assert one.rule == "PS201"
    assert "%arg12" in one.message
    assert "iter arg #0 of scf.for" in one.message
    assert "(line 93)" in one.message  # of the file, which begins with a banner: line 92 of the program
    assert "#blocked7" in one.message
    assert not [each for each in seed("triton_fix1.mlir") if each.severity != "note"]


def test_a_mapping_that_the_real_pass_made_is_not_missing() -> None:
    # The report's text begins with a banner of its own.
    before = (GOLDEN / "seeds" / "triton_reproducible.mlir").read_text().split("\n", 1)[1]
    name = (
        "TritonGPURemoveLayoutConversions (tritongpu-remove-layout-conversions) ('builtin.module' operation)"
    )
    log = f"// -----// IR Dump Before {name} //----- //\n{before}\n// -----// IR Dump After {name} //----- //\n{before}\n"
    assert not found(log, "PS201")
    assert found(
        log.replace(
            f"IR Dump After {name}", f"IR Dump After {name[:-22]} Failed ('builtin.module' operation)"
        ),
        "PS201",
    )


def test_tied_values_that_pick_apart() -> None:
    text = (GOLDEN / "seeds" / "triton_reproducible.mlir").read_text()
    late = text.replace("#triton_gpu.", "#ttg.").replace("triton_gpu.", "ttg.")
    latent = [*found(late, "PS202")]
    assert latent or not found(late, "PS201")
    assert not found(ttgir(CONST), "PS202")


def test_region_edges_that_disagree() -> None:
    case = GOLDEN / "cases" / "layout" / "14_if_yield_type_mismatch_invalid.mlir"
    assert len(found(case.read_text(), "PS203")) == 1
    good = GOLDEN / "cases" / "layout" / "07_if_one_branch_remat_inside_loop.mlir"
    assert not found(good.read_text(), "PS203")


def loop(body: str, result: str = "%r") -> str:
    return ttgir(
        CONST
        + f"    %r = scf.for %i = %lo to %n step %st iter_args(%a = %c) -> ({T}) : i32 {{\n{body}      scf.yield {result} : {T}\n    }}\n"
    )


CARRIED = loop(
    f"      %x = ttg.convert_layout %a : {T} -> {U}\n      %y = arith.addf %x, %x : {U}\n"
    f"      %z = ttg.convert_layout %y : {U} -> {T}\n",
    "%z",
)
INVARIANT = loop(
    f"      %x = ttg.convert_layout %c : {T} -> {U}\n      %y = arith.mulf %x, %x : {U}\n"
    f"      %w = ttg.convert_layout %y : {U} -> {T}\n      %z = arith.addf %w, %a : {T}\n",
    "%z",
)


def test_converts_at_a_loop_s_boundary() -> None:
    assert len(found(CARRIED, "PS204")) == 2
    assert not found(ttgir(CONST + f"    %x = ttg.convert_layout %c : {T} -> {U}\n"), "PS204")
    assert not found(INVARIANT, "PS204")  # neither from an iteration argument nor into the yield


def test_converts_of_what_the_loop_does_not_change() -> None:
    (one,) = found(INVARIANT, "PS205")
    assert "%x converts %c" in one.message
    assert not found(CARRIED, "PS205")
    assert not found(ttgir(CONST + f"    %x = ttg.convert_layout %c : {T} -> {U}\n"), "PS205")


def test_the_same_convert_twice() -> None:
    twice = ttgir(
        CONST + f"    %x = ttg.convert_layout %c : {T} -> {U}\n    %y = ttg.convert_layout %c : {T} -> {U}\n"
    )
    (one,) = found(twice, "PS206")
    assert "%y converts %c to the encoding that %x has already" in one.message
    assert not found(ttgir(CONST + f"    %x = ttg.convert_layout %c : {T} -> {U}\n"), "PS206")
    other = ttgir(
        CONST + f"    %x = ttg.convert_layout %c : {T} -> {U}\n    %d = arith.addf %c, %c : {T}\n"
        f"    %y = ttg.convert_layout %d : {T} -> {U}\n"
    )
    assert not found(other, "PS206")


def test_there_and_back() -> None:
    back = ttgir(
        CONST + f"    %x = ttg.convert_layout %c : {T} -> {U}\n    %y = ttg.convert_layout %x : {U} -> {T}\n"
    )
    (one,) = found(back, "PS207")
    assert "brings %c back" in one.message
    assert not found(ttgir(CONST + f"    %x = ttg.convert_layout %c : {T} -> {U}\n"), "PS207")
    between = ttgir(
        CONST + f"    %x = ttg.convert_layout %c : {T} -> {U}\n    %s = arith.addf %x, %x : {U}\n"
        f"    %y = ttg.convert_layout %s : {U} -> {T}\n"
    )
    assert not found(between, "PS207")


def test_shared_memory_in_a_loop() -> None:
    (one,) = found(CARRIED, "PS208")
    assert "%x, %z: through" in one.message
    assert not found(ttgir(CONST + f"    %x = ttg.convert_layout %c : {T} -> {U}\n"), "PS208")
    same = CARRIED.replace(
        "#other = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [4, 8], warpsPerCTA = [1, 4], order = [0, 1]}>",
        "#other = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>",
    )
    assert not found(same, "PS208")


def test_more_shared_memory_than_there_is() -> None:
    assert len(found(ttgir("", ", ttg.shared = 232449 : i32"), "PS209")) == 1
    assert not found(ttgir("", ", ttg.shared = 232448 : i32"), "PS209")
    assert not found(ttgir(""), "PS209")
    small = ttgir("", ", ttg.shared = 166913 : i32").replace("cuda:90", "cuda:80")
    assert "cuda:80 has 166,912" in found(small, "PS209")[0].message
    assert found(ttgir("", ", ttg.shared = 70000 : i32").replace("cuda:90", "hip:gfx942"), "PS209")
    assert not found(ttgir("", ", ttg.shared = 70000 : i32").replace("cuda:90", "hip:gfx950"), "PS209")


def loads(encoding: str, offset: str = "%i") -> str:
    t = f"tensor<1024xi32, {encoding}>"
    p = f"tensor<1024x!tt.ptr<f32>, {encoding}>"
    return ttgir(
        f"    %i = tt.make_range {{end = 1024 : i32, start = 0 : i32}} : {t}\n"
        f"    %two = arith.constant dense<64> : {t}\n    %j = arith.muli %i, %two : {t}\n"
        f"    %s = tt.splat %p : !tt.ptr<f32> -> {p}\n    %q = tt.addptr %s, {offset} : {p}, {t}\n"
        f"    %v = tt.load %q : {p}\n"
    )


def test_addresses_that_a_warp_takes_apart() -> None:
    (one,) = found(loads("#far"), "PS210")
    assert "a warp's request of" in one.message
    assert not found(loads("#line"), "PS210")
    assert not found(loads("#far", "%j"), "PS210")  # the addresses are not consecutive: nothing is known


def passes(
    before: str,
    after: str,
    name: str = "TritonGPURemoveLayoutConversions (tritongpu-remove-layout-conversions)",
) -> str:
    head = "// -----// IR Dump {} " + name + " ('builtin.module' operation) //----- //\n"
    return head.format("Before") + before + "\n" + head.format("After") + after + "\n"


def test_more_converts_behind_the_pass_than_in_front_of_it() -> None:
    few = ttgir(CONST + f"    %x = ttg.convert_layout %c : {T} -> {U}\n")
    many = ttgir(
        CONST + f"    %x = ttg.convert_layout %c : {T} -> {U}\n    %y = ttg.convert_layout %x : {U} -> {T}\n"
    )
    assert len(found(passes(few, many), "PS211")) == 1
    assert not found(passes(many, few), "PS211")
    assert not found(passes(few, many, "CSE (cse)"), "PS211")


def test_pipelining_asked_for_and_absent() -> None:
    p = "tensor<64x64x!tt.ptr<f32>, #blocked>"
    dot = "#ttg.dot_op<{opIdx = %d, parent = #blocked}>"
    body = (
        f"      %v = tt.load %q : {p}\n"
        f"      %x = ttg.convert_layout %v : {T} -> tensor<64x64xf32, {dot % 0}>\n"
        f"      %y = ttg.convert_layout %v : {T} -> tensor<64x64xf32, {dot % 1}>\n"
        f"      %d = tt.dot %x, %y, %a : tensor<64x64xf32, {dot % 0}> * tensor<64x64xf32, {dot % 1}> -> {T}\n"
    )
    text = loop(body, "%d").replace(CONST, CONST + f"    %q = tt.splat %p : !tt.ptr<f32> -> {p}\n")
    asked = text.replace(
        f"scf.yield %d : {T}\n    }}", f"scf.yield %d : {T}\n    }} {{tt.num_stages = 3 : i32}}"
    )
    assert len(found(asked, "PS212")) == 1
    assert not found(text, "PS212")
    assert not found(asked.replace("num_stages = 3", "num_stages = 1"), "PS212")


def test_copies_waited_for_at_once() -> None:
    def waiting(number: int) -> str:
        return loop(
            "      %g = ttg.async_commit_group\n"
            f"      %w = ttg.async_wait %g {{num = {number} : i32}}\n      %z = arith.addf %a, %a : {T}\n",
            "%z",
        )

    assert len(found(waiting(0), "PS213")) == 1
    assert not found(waiting(2), "PS213")
    assert not found(CARRIED, "PS213")


def test_values_and_aliases_that_nothing_defines() -> None:
    text = ttgir(CONST + f"    %x = arith.addf %c, %nowhere : {T}\n")
    (one,) = found(text, "PS301")
    assert "%nowhere" in one.message
    assert not found(ttgir(CONST), "PS301")
    (alias,) = found(ttgir(CONST).replace("#blocked = ", "#unused = "), "PS302")
    assert "#blocked" in alias.message
    assert not found(ttgir(CONST), "PS302")


def test_failed_passes_and_crashes() -> None:
    failed = passes(ttgir(CONST), ttgir(CONST), "CSE (cse)").replace(
        "After CSE (cse)", "After CSE (cse) Failed"
    )
    assert len(found(failed, "PS303")) == 1
    assert not found(passes(ttgir(CONST), ttgir(CONST), "CSE (cse)"), "PS303")
    abort = open_trace(str(GOLDEN.parent.parent / "samples" / "layout_abort.triton-3.0.0.log"))
    rules = [each for each in OWN if each.id in ("PS201", "PS303", "PS306")]
    assert {each.rule for each in lint_trace(abort, rules, Limits())} >= {"PS201", "PS303"}


def test_text_that_was_cut_off() -> None:
    text = ttgir(CONST)
    assert len(found(text[: text.rindex("tt.return")], "PS304")) == 1
    assert not found(text, "PS304")
    assert not found(HEADER, "PS304")


def test_programs_that_do_not_verify() -> None:
    late = ttgir(f"    %x = arith.addf %c, %c : {T}\n" + CONST)
    assert found(late, "PS305")
    assert not found(ttgir(CONST), "PS305")
    modules = GOLDEN / "cases" / "migraphx_formats" / "03_if_loop_submodules.txt"
    assert not found(modules.read_text(), "PS305")  # a module reads what its caller made


def compiled(*programs: tuple[str, str]) -> str:
    """A log as Triton writes it: each pass' name above what it is given."""
    return "".join(
        f"// -----// IR Dump Before {name} ('builtin.module' operation) //----- //\n{text}\n"
        for name, text in programs
    )


def test_two_compiles_that_differ() -> None:
    a, b = ttgir(CONST), ttgir(CONST + f"    %x = arith.addf %c, %c : {T}\n")
    c = ttgir(CONST + f"    %x = arith.mulf %c, %c : {T}\n")

    def compile(made: str, by: str = "CSE (cse)") -> str:
        return compiled(("Inliner (inline)", a), (by, a), ("SymbolDCE (symbol-dce)", made))

    (one,) = found(compile(b) + compile(c), "PS307")
    assert "cse (run 2) made another program" in one.message
    assert not found(compile(b) + compile(b), "PS307")
    # What this pass was asked for is not in the log: 4 warps and 8 differ rightly.
    convert = "ConvertTritonToTritonGPU (convert-triton-to-tritongpu)"
    assert not found(compile(b, convert) + compile(c, convert), "PS307")


JUSTIFIED = {
    # The compiler's fourth run of the pass makes five converts of four, and moves more bytes: true, and a
    # thing that the pass's author would want to hear.
    ("attention.cuda-90.log.gz", "PS211"),
}


@pytest.mark.parametrize(
    "name",
    ["attention.cuda-90.log.gz", "attention.cuda-90.ttgir", "matmul.num_stages-1.cuda-90.log.gz",
     "matmul.num_stages-3.cuda-90.log.gz", "two_kernels.hip-gfx942.log", "classifier.onnx"],
)  # fmt: skip
def test_well_made_kernels_have_no_error_and_justified_warnings(name: str) -> None:
    path = GOLDEN.parent.parent / "samples" / name
    found = lint_trace(open_trace(str(path)), OWN, Limits())
    assert {(name, each.rule) for each in found if each.severity != "note"} <= JUSTIFIED


def test_rules_are_described() -> None:
    assert len({rule.id for rule in OWN}) == len(OWN)
    for rule in OWN:
        assert rule.hazard.endswith(".")
        assert rule.mitigation.endswith((".", ".)", "."))
        assert rule.title


def test_a_clean_program_is_clean() -> None:
    assert everything(ttgir(CONST)) == []


CASES = sorted(path for kind in ("mlir", "txt") for path in (GOLDEN / "cases").rglob(f"*.{kind}"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name)
def test_all_rules_together_find_what_each_finds_alone(path: Path) -> None:
    trace = open_trace(str(path))
    together = lint_trace(trace, OWN, Limits())
    alone = [each for rule in OWN for each in lint_trace(trace, [rule], Limits())]
    assert sorted(map(repr, together)) == sorted(map(repr, alone))
