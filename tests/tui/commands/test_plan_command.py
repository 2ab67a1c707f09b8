"""`passlens plan` and our streaming passes under `passlens step`."""

import json
from pathlib import Path

import jsonschema
import pytest
from passlens.ir.trace import open_trace
from passlens.tui.cli import main

ROOT = Path(__file__).parents[3]
SEED = str(ROOT / "tests/golden/seeds/migraphx_streaming_resnet50.txt")


def test_json_has_the_account_and_the_times(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", SEED, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    schema = json.loads((ROOT / "docs/plan-schema.json").read_text())
    jsonschema.validate(said, schema)
    assert main(["plan", SEED, "--json", "--budget", "auto", "--cold", "--naive"]) == 0
    jsonschema.validate(json.loads(capsys.readouterr().out), schema)
    assert said["before"]["literals"] == 105_378_732
    assert said["before"]["arena"] == 31_232_000
    assert said["before"]["everything_but_literals"] == 8_028_160
    assert said["overlap"]["before"] == 0
    assert said["copies"]["without_kernel_before_use"] == 46
    assert said["times_us"]["before"] / said["times_us"]["planned"] >= 1.7
    assert said["violations"] == []
    assert [point["budget"] for point in said["curve"]] == sorted(point["budget"] for point in said["curve"])
    assert all(
        late["period_us"] <= early["period_us"] * (1 + 1e-9)
        for early, late in zip(said["curve"], said["curve"][1:], strict=False)
    )


def test_text_answers_the_report_s_complaints(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", SEED, "--budget", "auto"]) == 0
    out = capsys.readouterr().out
    assert "everything but the 105,378,732 bytes of literals needs 9,182,640" in out
    assert "46 of 119 copies have no kernel between them and their first use" in out
    assert "the limit is 421,527,552" in out  # the free memory that the log itself reports
    assert "verified" in out


def test_the_written_plan_is_read_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "plan.txt"
    assert (
        main(["plan", SEED, "--budget", "25%", "-o", str(target), "--perfetto", str(tmp_path / "t.json")])
        == 0
    )
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    trace = open_trace(str(target))
    assert [s.format for s in trace.snapshots] == ["migraphx"]
    assert not trace.program(0).diagnostics
    capsys.readouterr()
    assert main(["info", str(target), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert 0 < said["literals"]["resident"]["bytes"] <= 105_378_732 // 4
    assert said["streams"] == 2
    assert said["memory_faults"]["live_overlaps"] == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--budget", "many"], "--budget 'many': expected bytes"),
        (["--memory-limit", "1MB"], "give at least that with --memory-limit"),
        (["--naive", "--memory-limit", "20MB"], "copied where it is first used the program needs"),
        (["--device", "h2000"], "did you mean h200"),
        (["--streams", "0"], "--streams 0"),
    ],
)
def test_bad_options_end_with_a_sentence(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", SEED, *options]) == 2
    assert said in capsys.readouterr().err


def test_what_is_no_migraphx_program_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(ROOT / "samples/attention.cuda-90.ttgir")]) == 2
    assert "carries no weights" in capsys.readouterr().err


def test_streaming_is_the_pass_that_a_migraphx_program_is_stepped_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["step", SEED, "--budget", "50%", "-o", str(tmp_path / "a.txt")]) == 0
    assert "119 drop-copy" in capsys.readouterr().out
    assert main(["plan", SEED, "--budget", "50%", "-o", str(tmp_path / "b.txt")]) == 0
    assert (tmp_path / "a.txt").read_text() == (tmp_path / "b.txt").read_text()


def test_a_phase_is_where_a_pass_ends(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["step", SEED, "--pass", "streaming-copies", "--steps", "json"]) == 0
    steps = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    phases = list(dict.fromkeys(step["phase"] for step in steps))
    assert phases == ["detach", "reuse", "residency", "copies"]
