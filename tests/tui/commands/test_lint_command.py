"""`passlens lint` on files: formats, exit codes, baselines, budgets, suppressions, processes, shards."""

import json
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import jsonschema
import pytest
from passlens.tui.cli import main

ROOT = Path(__file__).parents[3]
SEED = str(ROOT / "tests/golden/seeds/migraphx_streaming_resnet50.txt")
REPRODUCIBLE = str(ROOT / "tests/golden/seeds/triton_reproducible.mlir")
CASES = ROOT / "tests/golden/cases"


def run(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    status = main(["lint", *arguments])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_the_streaming_seed(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(SEED, "--format", "json", capsys=capsys)
    said = json.loads(out)
    jsonschema.validate(said, json.loads((ROOT / "docs/lint-schema.json").read_text()))
    rules = [each["rule"] for each in said["findings"]]
    assert status == 1
    assert rules.count("PS101") == 46
    assert not {"PS110", "PS111", "PS112", "PS116"} & set(rules)


def test_the_layout_seed(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(REPRODUCIBLE, "--severity", "error", capsys=capsys)
    assert status == 1
    assert out.count("error: PS201") == 1
    assert f"{REPRODUCIBLE.rsplit('/', 1)[1]}:101:9: error" in out  # the convert that asks
    assert run(REPRODUCIBLE.replace("reproducible", "fix1"), capsys=capsys)[0] == 0


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("01_raw_missing_wait", {"PS110"}), ("03_war_arena_reuse", {"PS111"}), ("04_wait_without_record", {"PS113"}),
        ("05_offset_outside_arena", {"PS114"}), ("06_live_buffers_overlap", {"PS116"}), ("02_raw_with_event", set()),
        ("08_perf_listing", set()), ("10_schedule_trace", set()), ("11_compile_trace_n_plus_1", set()),
    ],
)  # fmt: skip
def test_the_cases_have_the_errors_that_they_should(
    name: str, rules: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = run(str(CASES / "migraphx" / f"{name}.txt"), "--format", "json", capsys=capsys)
    found = [each["rule"] for each in json.loads(out)["findings"] if each["severity"] == "error"]
    assert set(found) == rules
    assert len(found) == len(rules)


@pytest.mark.parametrize("paths", [[SEED, REPRODUCIBLE], [REPRODUCIBLE.replace("reproducible", "fix1")]])
def test_json_is_laid_out_as_python_does(paths: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    out = run(*paths, "--severity", "warning", "--format", "json", capsys=capsys)[1]
    assert out == json.dumps(json.loads(out), indent=1) + "\n"


def test_sarif(capsys: pytest.CaptureFixture[str]) -> None:
    sarif = pytest.importorskip("sarif_pydantic")
    _, out, _ = run(REPRODUCIBLE, SEED, "--format", "sarif", capsys=capsys)
    said = json.loads(out)
    assert said["version"] == "2.1.0"
    sarif.Sarif.model_validate(said)
    results = said["runs"][0]["results"]
    rules = said["runs"][0]["tool"]["driver"]["rules"]
    for each in results:
        assert rules[each["ruleIndex"]]["id"] == each["ruleId"]
        assert each["level"] in ("error", "warning", "note", "none")
        region = each["locations"][0]["physicalLocation"]["region"]
        assert region["startLine"] >= 1 <= region["startColumn"]
        uri = each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+", uri)
    missing = next(each for each in results if each["ruleId"] == "PS201")
    assert missing["locations"][0]["physicalLocation"]["region"]["startLine"] == 101


def test_junit(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(SEED, "--format", "junit", capsys=capsys)
    suites = ET.fromstring(out)
    cases = list(suites.iter("testcase"))
    assert int(suites.attrib["tests"]) == len(cases)
    assert int(suites.attrib["failures"]) == len(list(suites.iter("failure"))) >= 47
    for suite in suites:
        assert int(suite.attrib["tests"]) == len(list(suite.iter("testcase")))


def test_github(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(SEED, "--format", "github", capsys=capsys)
    line = re.compile(r"::(error|warning|notice) file=[^,:\n]+,line=\d+,col=\d+,title=[^:,\n]+::[^\n]+")
    assert out.splitlines()
    for each in out.splitlines():
        assert line.fullmatch(each), each


def test_hostile_names_stay_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "a::b,c%\u202e.txt"
    bad.write_text(
        Path(CASES / "migraphx/04_wait_without_record.txt")
        .read_text()
        .replace("event=7", "event=\x1b[2J7\x00")
    )
    for name in ("text", "json", "sarif", "junit", "github"):
        _, out, _ = run(str(bad), "--format", name, capsys=capsys)
        assert "\x1b" not in out
        if name == "junit":
            ET.fromstring(out)
        if name == "github":
            assert "::" not in out.splitlines()[0].split("file=")[1].split(",line=")[0]


def test_the_same_bytes_whatever_the_workers(capsys: pytest.CaptureFixture[str]) -> None:
    texts = {run(str(CASES), "--format", "json", "--workers", n, capsys=capsys)[1] for n in ("1", "2", "2")}
    assert len(texts) == 1


def test_shards_are_a_partition(capsys: pytest.CaptureFixture[str]) -> None:
    def places(*more: str) -> list[str]:
        _, out, _ = run(str(CASES / "migraphx"), "--format", "json", "--workers", "1", *more, capsys=capsys)
        return [f"{f['file']}:{f['line']}:{f['rule']}" for f in json.loads(out)["findings"]]

    parts = [place for number in (1, 2, 3) for place in places("--shard", f"{number}/3")]
    assert sorted(parts) == sorted(places())


def test_equal_kernels_are_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (CASES / "migraphx/01_raw_missing_wait.txt").read_text()
    for number in range(5):
        (tmp_path / f"{number}.txt").write_text(text)
    (tmp_path / "other.txt").write_text(text.replace("offset=0,end=1024", "offset=0,end=1023"))
    _, out, _ = run(str(tmp_path), "--select", "PS110", "--format", "json", capsys=capsys)
    found = json.loads(out)["findings"]
    assert sorted(len(each["also_in"]) for each in found) == [0, 4]


def test_a_file_that_cannot_be_read_is_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.mlir").write_bytes(b"\x00\x01\x02" * 1000)
    (tmp_path / "good.txt").write_text((CASES / "migraphx/01_raw_missing_wait.txt").read_text())
    status, out, _ = run(str(tmp_path / "bad.mlir"), str(tmp_path / "good.txt"), capsys=capsys)
    assert status == 1
    assert "PS390" in out
    assert "PS110" in out


def test_baseline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = str(tmp_path / "base.json")
    assert run(SEED, "--write-baseline", base, capsys=capsys)[0] == 0
    status, out, _ = run(SEED, "--baseline", base, capsys=capsys)
    assert (status, out) == (0, "nothing found\n")
    # One copy more than is known: with other names and in another place.
    text = (
        Path(SEED)
        .read_text()
        .replace("@7 = hip", "@7007 = hip")
        .replace(
            "@9 = multibroadcast[out_lens={1, 3, 224, 224},out_dyn_dims={}](@7)",
            "@9 = multibroadcast[out_lens={1, 3, 224, 224},out_dyn_dims={}](@7007)",
        )
    )
    renamed = tmp_path / Path(SEED).name
    renamed.write_text(text)
    assert run(str(renamed), "--baseline", base, capsys=capsys)[0] == 0
    assert run(REPRODUCIBLE, "--baseline", base, capsys=capsys)[0] == 1
    (tmp_path / "broken.json").write_text("[]")
    assert run(SEED, "--baseline", str(tmp_path / "broken.json"), capsys=capsys)[0] == 2


def test_suppressions_need_reasons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("passlens.toml").write_text(
        '[[suppress]]\nrule = "PS1*"\nreason = "a bring-up dump"\npath = "*resnet50.txt"\n'
    )
    assert run(SEED, capsys=capsys)[0] == 0
    Path("passlens.toml").write_text('[[suppress]]\nrule = "PS1*"\n')
    status, _, err = run(SEED, capsys=capsys)
    assert status == 2
    assert "a rule and a reason are needed" in err
    Path("passlens.toml").write_text('selct = ["PS1"]\n')
    assert "did you mean select" in run(SEED, capsys=capsys)[2]
    Path("passlens.toml").unlink()
    Path("pyproject.toml").write_text('[tool.passlens]\nignore = ["PS1"]\n[tool.other]\nx = 1\n')
    assert run(SEED, capsys=capsys)[0] == 0


def test_comments_suppress(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (CASES / "layout/14_if_yield_type_mismatch_invalid.mlir").read_text()
    dump = tmp_path / "a.mlir"
    dump.write_text(text)
    status, out, _ = run(str(dump), "--format", "json", capsys=capsys)
    assert status == 1
    line = json.loads(out)["findings"][0]["line"]
    lines = text.split("\n")
    dump.write_text(
        "\n".join(
            [*lines[: line - 1], "// passlens: ignore[PS203] a known fault of the pass", *lines[line - 1 :]]
        )
    )
    assert run(str(dump), capsys=capsys)[0] == 0
    dump.write_text("\n".join([*lines[: line - 1], "// passlens: ignore[PS203]", *lines[line - 1 :]]))
    assert run(str(dump), capsys=capsys)[0] == 1


def test_budgets_and_golden_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quiet = ("--select", "PS4", "--format", "json")
    assert run(SEED, *quiet, "--budget", "arena_bytes <= 31232000", capsys=capsys)[0] == 0
    status, out, _ = run(SEED, *quiet, "--budget", "overlap >= 0.8", capsys=capsys)
    assert status == 1
    assert "overlap is 0, the budget says overlap >= 0.8" in json.loads(out)["findings"][0]["message"]
    assert run(SEED, *quiet, "--budget", "colour <= 1", capsys=capsys)[0] == 2
    golden = tmp_path / "golden.json"
    assert run(SEED, *quiet, "--write-golden", str(golden), capsys=capsys)[0] == 0
    assert run(SEED, *quiet, "--golden", str(golden), capsys=capsys)[0] == 0
    data = json.loads(golden.read_text())
    (name,) = data["numbers"]
    data["numbers"][name].update(copies=120, arena_bytes=31_000_000)
    golden.write_text(json.dumps(data))
    status, out, _ = run(SEED, *quiet, "--golden", str(golden), capsys=capsys)
    assert status == 1
    assert {f["rule"] for f in json.loads(out)["findings"]} == {"PS402", "PS403"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "nothing to lint"), (["no/such/file"], "does not exist"), ([SEED, "--select", "PS9"], "no rule is called"),
        ([SEED, "--shard", "4/3"], "expected i/n"), ([SEED, "--config", "none.toml"], "does not exist"),
    ],
)  # fmt: skip
def test_bad_options_end_with_2(options: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(*options, capsys=capsys)
    assert status == 2
    assert said in err


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("passlens.toml", b"\xff", "cannot be read"), ("passlens.toml", b"select = [", "is no TOML"),
        ("passlens.toml", b"select = 'PS1'", "a list of rules"), ("passlens.toml", b"fail-on = 'bad'", "one of note"),
        ("passlens.toml", b"[severity]\nPS999 = 'error'", "no rule is called 'PS999'"),
        ("passlens.toml", b"[suppress]\nrule = 'PS1'", "headed [[suppress]]"),
        ("passlens.toml", b"[[budget]]\nhold = [1]", "'1' is no budget"),
        ("passlens.toml", b"device = 'none'", "no device is called 'none'"),
        ("pyproject.toml", b"tool = 3", "expected the table [tool.passlens]"),
        ("pyproject.toml", b"[tool]\npasslens = 3", "expected the table [tool.passlens]"),
        ("pyproject.toml", b"[tool.passlens]\nmemory-limit = 'much'", "a number of bytes"),
    ],
)  # fmt: skip
def test_broken_configurations_are_said_once(
    name: str,
    text: bytes,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(text)
    status, out, err = run(SEED, REPRODUCIBLE, capsys=capsys)
    assert (status, out) == (2, "")
    assert said in err
    assert name in err or "no rule" in err or "no budget" in err or "no device" in err


def test_odd_files_are_findings_or_clean_and_never_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("zero.mlir").touch()
    Path("not-utf8.mlir").write_bytes(b'module {\n  "x.y"() {a = "\xff\xfe"} : () -> ()\n}\n')
    Path("deep.mlir").write_text(
        "module {\n" + '"a.b"() ({\n' * 10_000 + '"c.d"() : () -> ()\n' + "}) : () -> ()\n" * 10_000 + "}\n"
    )
    Path("long.mlir").write_text('module {\n  "a.b"() {x = "' + "y" * 10_000_000 + '"} : () -> ()\n}\n')
    Path("n\nl\x1b[31m\udcff.mlir").write_text("module {\n  tt.func @k() {\n")
    Path("folder").mkdir()
    Path("folder/self").symlink_to("../folder")
    Path("folder/gone.mlir").symlink_to("nowhere")
    Path("folder/ok.mlir").write_text("module {\n}\n")
    names = [each.name for each in tmp_path.iterdir()]
    for style in ("text", "json", "sarif", "junit", "github"):
        status, out, err = run(*names, "--workers", "1", "--format", style, capsys=capsys)
        assert (status, err) == (1, "")
        assert "\x1b" not in out
        out.encode()
    findings = json.loads(run(*names, "--workers", "2", "--format", "json", capsys=capsys)[1])["findings"]
    assert sorted(each["rule"] for each in findings if each["severity"] == "error") == ["PS304", "PS390"]


def test_failures_of_ours_are_findings_and_exit_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import passlens.tui.linting as linting

    def broken(*_: object) -> None:
        raise RuntimeError("planted")

    monkeypatch.setattr(linting, "lint_trace", broken)
    status, out, _ = run(SEED, capsys=capsys)
    assert status == 3
    assert "PS399" in out
    assert "planted" in out


def test_no_textual_and_no_rich_in_a_headless_run() -> None:
    code = (
        "import sys; from passlens.tui.cli import main; main(['lint', sys.argv[1]]);"
        "sys.exit(bool({'textual', 'rich', 'onnx'} & set(sys.modules)) and 9)"
    )
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code, SEED], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - start < 30
