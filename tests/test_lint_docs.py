"""The pages about lint: rules.md is what its script writes, its examples are true, its configuration is read."""

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from passlens.ir.analysis.devices import device
from passlens.ir.lint.budgets import bound_of
from passlens.ir.lint.config import parse_config
from passlens.ir.lint.engine import budget_findings, lint_trace
from passlens.ir.lint.registry import OWN
from passlens.ir.lint.rule import Limits
from passlens.ir.trace import trace_of_text

ROOT = Path(__file__).parents[1]
EXAMPLES = tomllib.loads((ROOT / "docs/rule_examples.toml").read_text())
UNSEEN = {"PS202"}
"""Rules on which no program is known; the page says so."""


def make_rules() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_rules", ROOT / "docs/make_rules.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date() -> None:
    assert (ROOT / "docs/rules.md").read_text() == make_rules().page()


def test_every_rule_has_its_examples() -> None:
    assert {rule.id for rule in OWN} - set(EXAMPLES) == UNSEEN
    assert set(EXAMPLES) <= {rule.id for rule in OWN}


def rules_found(example: dict[str, Any], key: str) -> set[str]:
    text = example.get(key) or (ROOT / example[f"{key}_file"]).read_text()
    trace = trace_of_text(text, "example")
    found = lint_trace(trace, OWN, Limits(memory=example.get("memory_limit")))
    bounds = [bound_of(example["budget"])] if "budget" in example else []
    golden = {name: example["golden"] for name in ("k", "example") if "golden" in example}
    found += budget_findings(trace, bounds, golden, device("h200"))
    return {each.rule for each in found}


@pytest.mark.parametrize("rule", sorted(EXAMPLES))
def test_the_bad_example_has_the_finding_and_the_good_one_has_not(rule: str) -> None:
    assert rule in rules_found(EXAMPLES[rule], "bad")
    good = rules_found(EXAMPLES[rule], "good")
    assert rule not in good


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / "docs/lint.md").read_text(), re.M | re.S)


def test_the_configuration_that_the_page_shows_is_read() -> None:
    config = parse_config(blocks("toml")[0], "passlens.toml")
    assert config.limits.memory == 2_000_000_000
    assert config.severities == {"PS202": "warning"}
    assert [bound.text for bound in config.bounds] == ["converts <= 12", "converts_in_loops == 0"]
    (one,) = config.suppressions
    assert one.reason


def test_a_rule_of_another_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from passlens.tui.cli import main

    about = tmp_path / "acme_rules-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-rules\nVersion: 1.0\n")
    entry = blocks("toml")[1]
    group = re.search(r'"(passlens\.rules)"', entry)
    line = re.search(r'(\w+) = "([\w:]+)"', entry)
    assert group is not None
    assert line is not None
    (about / "entry_points.txt").write_text(f"[{group[1]}]\n{line[1]} = {line[2]}\n")
    (tmp_path / "acme_rules.py").write_text(blocks("python")[0])
    monkeypatch.syspath_prepend(str(tmp_path))
    dump = tmp_path / "a.mlir"
    dump.write_text('module {\n  tt.func @k() {\n    tt.print "x" {hex = false}\n    tt.return\n  }\n}\n')
    assert main(["lint", str(dump), "--select", "ACME"]) == 1
    out = capsys.readouterr().out
    assert "a.mlir:3:5: warning: ACME001" in out
    assert "prints from the kernel" in out
    (tmp_path / "acme_rules.py").write_text("raise RuntimeError('broken package')\n")
    import sys

    monkeypatch.delitem(sys.modules, "acme_rules")
    assert main(["lint", str(dump)]) == 2
    assert "broken package" in capsys.readouterr().err
