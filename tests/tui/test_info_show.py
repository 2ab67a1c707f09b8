"""`passlens info` and `passlens show`: the numbers, the schema, what a pipe gets, and bad input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from passlens.tui.cli import main

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests/golden"
INPUTS = sorted(
    [*ROOT.glob("samples/*.txt"), *ROOT.glob("samples/*.log*"), *ROOT.glob("samples/*.onnx"), *ROOT.glob("samples/*.ttgir"),
     *(p for p in GOLDEN.glob("seeds/*") if p.name not in ("triton_reproducer.py", "triton_textual_diff.txt")),
     *GOLDEN.glob("cases/migraphx*/*.txt"), *GOLDEN.glob("cases/layout/*.mlir")]
)  # fmt: skip


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    code = main(list(args))
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.name)
def test_json_keeps_to_its_schema(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "info", "--json", str(path))
    assert (code, err) == (0, "")
    jsonschema.validate(json.loads(out), json.loads((ROOT / "docs/info-schema.json").read_text()))


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.name)
def test_text_is_plain(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "info", str(path))
    assert code == 0
    assert path.name in out
    assert "\x1b" not in out


def test_the_streaming_report(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "info", "--json", str(GOLDEN / "seeds/migraphx_streaming_resnet50.txt"))
    said = json.loads(out)
    assert said["instructions"] == 574
    assert (said["literals"]["count"], said["literals"]["bytes"]) == (119, 105_378_732)
    assert (said["copies"]["count"], said["copies"]["distance"]["0"]) == (119, 46)
    assert said["arena"]["bytes"] == 31_232_000
    assert [p["instructions"] for p in said["programs"]] == [574, 574]
    assert [d["code"] for d in said["programs"][1]["diagnostics"]] == [
        "markdown-mangled",
        "recovered-from-intact",
    ]


def test_the_layout_report(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "info", "--json", str(GOLDEN / "seeds/triton_layout_assertion.txt"))
    said = json.loads(out)
    assert [s["title"].partition(":")[0] for s in said["snapshots"]] == ["Reproducible", "Fix 1"]
    assert said["convert_layouts"]["count"] == 32
    assert "rewrittenValue" in said["facts"]["crash"]
    assert len(said["facts"]["propagation"]) == 24


LOG = str(ROOT / "samples/two_kernels.hip-gfx942.log")


class TestShow:
    def test_a_snapshot_by_number_is_its_text(self, capsys: pytest.CaptureFixture[str]) -> None:
        path = GOLDEN / "seeds/triton_fix1.mlir"
        _, out, _ = run(capsys, "show", str(path), "--pass", "0")
        assert out == path.read_text().partition("\n")[2]

    def test_what_a_pass_got_and_what_came_out(self, capsys: pytest.CaptureFixture[str]) -> None:
        _, before, _ = run(capsys, "show", LOG, "--pass", "tritongpu-coalesce")
        _, after, _ = run(capsys, "show", LOG, "--pass", "tritongpu-coalesce+")
        _, same, _ = run(capsys, "show", LOG, "--pass", "TritonGPUCoalesce#1+")
        assert before != after == same

    def test_ops_by_name_with_their_lines(self, capsys: pytest.CaptureFixture[str]) -> None:
        _, out, _ = run(capsys, "show", LOG, "--pass", "tritongpu-coalesce", "--op", r"^tt\.(load|store)$")
        lines = Path(LOG).read_text().split("\n")
        for row in out.splitlines():
            number, _, text = row.partition(": ")
            assert text == lines[int(number) - 1].strip()

    def test_one_function(self, capsys: pytest.CaptureFixture[str]) -> None:
        _, out, _ = run(capsys, "show", LOG, "--pass", "0", "--func", "softmax_row", "--no-loc")
        assert out.startswith("tt.func public @softmax_row(")
        assert "loc(" not in out

    @pytest.mark.parametrize(
        ("args", "message"),
        [
            (["--pass", "999"], "there is no snapshot 999"),
            (["--pass", "nothing-like-it"], "no pass is named 'nothing-like-it'; the passes are: inline"),
            (["--pass", "cse#9"], "there is no #9"),
            (["--pass", "layout-conversions+"], "could be any of"),
            (["--op", "("], "is no regular expression"),
            (["--op", "zzz"], "no op of snapshot"),
            (["--func", "zzz"], "there is no function 'zzz'"),
        ],
    )
    def test_what_is_not_there(
        self, args: list[str], message: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        code, out, err = run(capsys, "show", LOG, *args)
        assert (code, out) == (2, "")
        assert message in err
        assert err.startswith("passlens: ")


@pytest.mark.parametrize("command", ["info", "show"])
@pytest.mark.parametrize("content", [None, b"", b"\0\1\2" * 99, b"dear diary\n"])
def test_bad_input_is_one_line_and_exit_code_2(
    command: str, content: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.log"
    if content is not None:
        path.write_bytes(content)
    code, out, err = run(capsys, command, str(path))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "bad.log" in err


def test_standard_input_and_a_closed_pipe() -> None:
    text = (GOLDEN / "seeds/triton_fix1.mlir").read_bytes() * 50
    command = [sys.executable, "-c", "import sys; from passlens.tui.cli import main; sys.exit(main())"]
    done = subprocess.run([*command, "info", "-"], input=text, capture_output=True, timeout=60, check=True)
    assert done.stdout.startswith(b"<stdin>: MLIR")
    shell = subprocess.Popen([*command, "show", LOG], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert shell.stdout is not None
    shell.stdout.read(10)
    shell.stdout.close()
    assert shell.stderr is not None
    assert shell.stderr.read() == b""
    shell.wait(timeout=60)


def test_hostile_names_are_harmless(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "h.mlir"
    path.write_text('module {\n  tt.func public @"a\x1b[31m\u202eb"() {\n    tt.return\n  }\n}\n')
    _, out, _ = run(capsys, "info", str(path))
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "\\x1b" in out
