"""`passlens diff`: what it prints, its exit codes, and that nothing in a dump gets out of hand."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from passlens.tui.cli import main

GOLDEN = Path(__file__).parents[1] / "golden"
BEFORE, AFTER = str(GOLDEN / "seeds/triton_reproducible.mlir"), str(GOLDEN / "seeds/triton_fix1.mlir")
LOG, SHALLOW = (str(GOLDEN / f"diff/matmul_bias-3.0.0{option}.log.gz") for option in ("", ".num_stages-1"))

Capture = pytest.CaptureFixture[str]


def run(capsys: Capture, *args: str) -> tuple[int, str, str]:
    code = main(["diff", *args])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def module(*lines: str) -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return f"module {{\n  tt.func public @k(%a: i32) {{\n{body}    tt.return\n  }}\n}}\n"


def test_the_seeds_in_text(capsys: Capture) -> None:
    code, out, _ = run(capsys, BEFORE, AFTER)
    assert code == 1
    assert "2 changed, 2 added of 118 ops" in out
    assert "~     scf.for: +1 iter_arg, +1 result\n" in out
    assert re.search(r"^\+ +%68 = arith.mulf %arg11, %cst_0", out, re.M)
    assert re.search(r"^\+ +scf.yield %70#0", out, re.M)
    assert "operand 3 (init of %arg13): %cst_0 (arith.constant) → %68 (arith.mulf, added)" in out
    marks = [line[0] for line in out.splitlines()[3:] if line[0] != " "]
    assert marks == ["~", "-", "+", "+", "~", "-", "+", "+"]
    assert "loc(" not in out and "\x1b" not in out


def test_same_and_different_and_errors(capsys: Capture, tmp_path: Path) -> None:
    assert run(capsys, BEFORE, BEFORE) == (0, "", "")
    assert run(capsys, BEFORE, AFTER)[0] == 1
    code, out, err = run(capsys, BEFORE, str(tmp_path / "missing"))
    assert (code, out) == (2, "") and "missing does not exist" in err
    code, _, err = run(capsys, BEFORE, str(GOLDEN / "seeds/migraphx_streaming_resnet50.txt"))
    assert code == 2 and "expected two programs of one format" in err
    assert run(capsys, "-", "-")[0] == 2
    for wrong in (["--ignore", "nothing"], ["--only", "everything"], ["--context", "-1"]):
        code, _, err = run(capsys, BEFORE, AFTER, *wrong)
        assert code == 2 and wrong[1] in err


def test_stat(capsys: Capture) -> None:
    code, out, _ = run(capsys, BEFORE, AFTER, "--stat")
    assert code == 1
    assert out.splitlines()[1:] == [
        "  scf.for: 2 changed (argument 1, operand 2, result 1)",
        "  arith.mulf: 1 added",
        "  scf.yield: 1 added",
    ]


def test_data(capsys: Capture) -> None:
    code, out, _ = run(capsys, BEFORE, AFTER, "--json")
    data = json.loads(out)
    assert code == 1 and data["kind"] == "programs" and data["same"] is False
    assert data["counts"] == {"changed": 2, "added": 2, "removed": 0, "moved": 0}
    assert [change["op"] for change in data["changes"]] == ["scf.for", "arith.mulf", "scf.for", "scf.yield"]
    for side, path in (("a", BEFORE), ("b", AFTER)):
        text = Path(path).read_text().splitlines()
        for change in data["changes"]:
            place = change[side]
            assert place is None or text[place["line"] - 1].strip() == place["text"]
    assert json.loads(run(capsys, BEFORE, BEFORE, "--format", "json")[1])["changes"] == []


def test_a_page_that_needs_nothing_and_runs_nothing(capsys: Capture, tmp_path: Path) -> None:
    evil = module('x.a "<script>alert(1)</script>" {k = "\\"><img src=x onerror=alert(2)>"}')
    a = write(tmp_path, "a<b>.mlir", module("x.a"))
    b = write(tmp_path, "b.mlir", evil)
    code, out, _ = run(capsys, a, b, "--format", "html")
    assert code == 1 and out.startswith("<!doctype html>")
    assert "<script" not in out and "<img" not in out and "a<b>" not in out
    assert "&lt;script&gt;" in out
    assert not re.search(r"(?:src|href)\s*=", re.sub(r"&[^;]+;|src=x", "", out))
    assert "same" in run(capsys, a, a, "--format", "html")[1]
    assert "first diverging pass: tritongpu-pipeline#1" in run(capsys, LOG, SHALLOW, "--format", "html")[1]


def test_control_characters_do_not_reach_the_terminal(capsys: Capture, tmp_path: Path) -> None:
    a = write(tmp_path, "a.mlir", module("x.a"))
    b = write(tmp_path, "b.mlir", module('x.a "\x1b]0;owned\x07"'))
    _, out, _ = run(capsys, a, b)
    assert "\x1b" not in out and "\\x1b" in out


def test_options_reach_the_comparison(capsys: Capture, tmp_path: Path) -> None:
    a = write(tmp_path, "a.mlir", module("%0 = x.a {k = 1 : i32} : tensor<4xi32, #x.e> loc(unknown)"))
    b = write(tmp_path, "b.mlir", module('%1 = x.a {k = 2 : i32} : tensor<4xi32, #x.f> loc("f":1:2)'))
    assert "attribute k" in run(capsys, a, b)[1]
    code, out, _ = run(capsys, a, b, "--only", "encoding")
    assert code == 1 and "encoding of result 0: #x.e → #x.f" in out and "attribute" not in out
    assert run(capsys, a, b, "--only", "added,removed")[:2] == (0, "")
    assert "attribute" not in run(capsys, a, b, "--ignore", "attr:k,loc", "--locs")[1]
    assert "location" in run(capsys, a, b, "--locs")[1]
    assert "value name" in run(capsys, a, b, "--names")[1]


def test_context_is_counted_in_ops(capsys: Capture, tmp_path: Path) -> None:
    ops = [f"%{k} = x.op{k} %a : i32" for k in range(9)]
    a = write(tmp_path, "a.mlir", module(*ops))
    b = write(tmp_path, "b.mlir", module(*ops[:4], "x.new", *ops[4:]))
    shown = {n: re.findall(r"x\.op(\d)", run(capsys, a, b, "-U", str(n))[1]) for n in (0, 1, 2)}
    assert shown == {0: [], 1: ["3", "4"], 2: ["2", "3", "4", "5"]}
    assert "⋮ 3 same" in run(capsys, a, b)[1]


def test_standard_input(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(Path(AFTER).read_bytes())

    monkeypatch.setattr(sys, "stdin", Stdin())
    assert run(capsys, "-", AFTER)[0] == 0


def test_one_snapshot_of_a_log(capsys: Capture) -> None:
    convert = f"{LOG}@convert-triton-to-tritongpu"
    code, out, _ = run(capsys, convert, "--only", "encoding,added")
    assert code == 1 and "(none)" not in out
    assert run(capsys, convert, f"{LOG}@convert-triton-to-tritongpu+")[0] == 1
    assert run(capsys, f"{LOG}@canonicalize#1+", f"{LOG}@canonicalize#2")[0] == 0
    assert run(capsys, f"{LOG}@3", f"{LOG}@3")[0] == 0
    code, _, err = run(capsys, f"{LOG}@no-such-pass", LOG)
    assert code == 2 and "no pass is named" in err
    assert run(capsys, LOG)[0] == 2


def test_a_file_with_an_at_sign(capsys: Capture, tmp_path: Path) -> None:
    a = write(tmp_path, "a@b.mlir", module("x.a"))
    assert run(capsys, a, a)[0] == 0


def test_two_logs(capsys: Capture) -> None:
    code, out, _ = run(capsys, LOG, SHALLOW)
    assert code == 1
    assert "matmul_bias: first diverging pass: tritongpu-pipeline#1" in out
    assert "  tritongpu-coalesce#1: same" in out
    assert "~ tritongpu-prefetch#1: " in out and "(what went in differed)" in out
    assert run(capsys, LOG, LOG)[:2] == (0, "")
    code, out, _ = run(capsys, "--first-divergence", LOG, SHALLOW)
    assert code == 1 and len(out.splitlines()) == 1 and "tritongpu-pipeline#1" in out
    assert run(capsys, "--first-divergence", LOG, LOG) == (0, "", "")
    perf = str(GOLDEN / "cases/migraphx/08_perf_listing.txt")
    assert run(capsys, "--first-divergence", BEFORE, perf)[0] == 2
    data = json.loads(run(capsys, LOG, SHALLOW, "--json")[1])
    assert data["divergences"][0]["pass"] == "tritongpu-pipeline#1"
    assert "passes gave another program" in run(capsys, LOG, SHALLOW, "--stat")[1]


def test_two_folders(capsys: Capture, tmp_path: Path) -> None:
    for side in "ab":
        write(tmp_path, f"{side}/same.mlir", module("x.a"))
        write(tmp_path, f"{side}/sub/renamed.mlir", module(f"%{side} = x.a : i32"))
        write(tmp_path, f"{side}/changed.mlir", module(f"x.{side}"))
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    code, out, err = run(capsys, a, b)
    assert (code, err) == (1, "") and "changed.mlir" in out and "renamed" not in out
    write(tmp_path, "a/gone.mlir", module("x.a"))
    write(tmp_path, "b/broken.bin", "")
    write(tmp_path, "a/broken.bin", "\0\1\2")
    code, out, err = run(capsys, a, b)
    assert code == 2 and "only in" in out and "gone.mlir" in out and "broken.bin" in err
    data = json.loads(run(capsys, a, b, "--json")[1])
    assert [entry["name"] for entry in data["files"]] == ["changed.mlir", "same.mlir", "sub/renamed.mlir"]
    assert [entry["diff"]["same"] for entry in data["files"]] == [False, True, True]
    assert data["only_in_a"] == ["gone.mlir"] and len(data["errors"]) == 1
    assert "1 of 3 files differ" in run(capsys, a, b, "--stat")[1]
    assert "gone.mlir" in run(capsys, a, b, "--format", "html")[1]


def test_no_textual_and_no_rich_in_the_process() -> None:
    code = (
        "import sys; from passlens.tui.cli import main; main(['diff', *sys.argv[1:]]); "
        "print(sorted({n.split('.')[0] for n in sys.modules} & {'textual', 'rich', 'onnx', 'numpy', 'difflib'}), "
        "file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, BEFORE, AFTER], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr.strip() == "[]"
