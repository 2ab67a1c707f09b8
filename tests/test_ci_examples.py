"""The examples for CI: they are YAML of the shape that each service reads, and the commands in them run."""

import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
CI = ROOT / "docs/ci"
yaml = pytest.importorskip("yaml")


def read(name: str) -> Any:
    return yaml.safe_load((CI / name).read_text())


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository that keeps two dumps, one of which has an error."""
    dumps = tmp_path / "dumps"
    dumps.mkdir()
    for name in ("01_raw_missing_wait.txt", "02_raw_with_event.txt"):
        shutil.copy(ROOT / "tests/golden/cases/migraphx" / name, dumps / name)
    return tmp_path


def sh(command: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, **variables, "PATH": path}
    return subprocess.run(
        ["sh", "-euc", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=60
    )


def test_github(project: Path) -> None:
    workflow = read("github-lint.yml")
    assert workflow["permissions"]["security-events"] == "write"
    steps = workflow["jobs"]["lint"]["steps"]
    assert all(("uses" in step) != ("run" in step) for step in steps)
    (command,) = [step["run"] for step in steps if step.get("run", "").startswith("passlens")]
    assert sh(command, project).returncode == 1
    upload = next(step for step in steps if "upload-sarif" in step.get("uses", ""))
    assert "always()" in upload["if"]  # the step before it fails where there are findings
    said = json.loads((project / upload["with"]["sarif_file"]).read_text())
    assert "PS110" in {each["ruleId"] for each in said["runs"][0]["results"]}


def test_gitlab(project: Path) -> None:
    job = read("gitlab-lint.yml")["passlens"]
    (command,) = job["script"]
    report = project / job["artifacts"]["reports"]["junit"]
    failed, codes = [], set()
    for index in range(1, job["parallel"] + 1):
        done = sh(command, project, CI_NODE_INDEX=str(index), CI_NODE_TOTAL=str(job["parallel"]))
        codes.add(done.returncode)
        failed += [each.get("message", "") for each in ET.parse(report).getroot().iter("failure")]
    assert codes == {0, 1}  # more shards than files: an empty shard is clean
    assert len([each for each in failed if "reads bytes" in each]) == 1


def test_pre_commit(project: Path) -> None:
    (repo,) = read("pre-commit-config.yaml")["repos"]
    (hook,) = repo["hooks"]
    assert {"id", "name", "entry", "language"} <= set(hook)
    wanted = re.compile(hook["files"])
    names = sorted(str(path.relative_to(project)) for path in (project / "dumps").iterdir())
    assert all(wanted.search(name) for name in names)
    assert wanted.search("kernels/a.ttgir")
    assert not wanted.search("notes.txt")
    done = sh(f"{hook['entry']} {' '.join(names)}", project)
    assert done.returncode == 1
    assert "PS110" in done.stdout


def test_the_baseline_that_the_page_names(project: Path) -> None:
    page = (CI / "README.md").read_text()
    command = re.search(r"`(passlens lint dumps --write-baseline \S+)`", page)
    assert command is not None
    assert sh(command[1], project).returncode == 0
    assert sh("passlens lint dumps --baseline lint-baseline.json", project).returncode == 0
