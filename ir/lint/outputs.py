"""Findings as text, JSON, SARIF 2.1.0, JUnit XML and GitHub's workflow commands.

The same findings give the same bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from textwrap import indent
from typing import Any, Final

from .finding import Finding, fingerprint
from .rule import Rule

SARIF_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final = {"error": "error", "warning": "warning", "note": "note"}
_COMMANDS: Final = {"error": "error", "warning": "warning", "note": "notice"}
_XML_UNFIT: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def as_text(findings: Sequence[Finding], rules: Sequence[Rule]) -> str:
    """For people: place, severity, rule, what and why; hazard and mitigation once a rule."""
    lines: list[str] = []
    told: set[str] = set()
    for finding in findings:
        also = f" (and in {len(finding.also_in)} equal files)" if finding.also_in else ""
        kernel = f" [{finding.kernel}]" if finding.kernel else ""
        lines.append(
            f"{finding.file}:{finding.line}:{finding.column}: {finding.severity}: {finding.rule} "
            f"{finding.message}{kernel}{also}"
        )
        if finding.rule not in told:
            told.add(finding.rule)
            lines.append(f"    {finding.title}. {finding.hazard}")
            lines.append(f"    {finding.mitigation}")
    counts = {name: sum(f.severity == name for f in findings) for name in ("error", "warning", "note")}
    said = ", ".join(f"{count} {name}{'s' * (count != 1)}" for name, count in counts.items() if count)
    lines.append(said or "nothing found")
    return "\n".join(lines) + "\n"


def as_json(findings: Sequence[Finding], rules: Sequence[Rule]) -> str:
    """The schema is docs/lint-schema.json."""
    if not findings:
        return '{\n "schema": 1,\n "findings": []\n}\n'
    # One by one: of a large corpus the tables of all findings are many times their text.
    held = ",\n".join(
        indent(json.dumps(_json(finding), indent=1, ensure_ascii=True), "  ") for finding in findings
    )
    return f'{{\n "schema": 1,\n "findings": [\n{held}\n ]\n}}\n'


def _json(finding: Finding) -> dict[str, Any]:
    source = finding.source
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        "title": finding.title,
        "message": finding.message,
        "file": finding.file,
        "line": finding.line,
        "column": finding.column,
        "kernel": finding.kernel,
        "pass": finding.pass_name,
        "hazard": finding.hazard,
        "mitigation": finding.mitigation,
        "source": None
        if source is None
        else {"file": source.file, "line": source.line, "column": source.column},
        "also_in": list(finding.also_in),
        "fingerprint": fingerprint(finding),
    }


def as_sarif(findings: Sequence[Finding], rules: Sequence[Rule]) -> str:
    """One run with all rules that found something; places in the dump, and in the source where `loc` says."""
    used = {finding.rule for finding in findings}
    listed = [rule for rule in rules if rule.id in used]
    index = {rule.id: place for place, rule in enumerate(listed)}
    data = {
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "passlens",
                        "informationUri": "https://pypi.org/project/passlens/",
                        "rules": [_sarif_rule(rule) for rule in listed],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_sarif_result(finding, index) for finding in findings],
            }
        ],
    }
    return json.dumps(data, indent=1, ensure_ascii=True) + "\n"


def _sarif_rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": re.sub(r"\W+", "", rule.title.title()),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.hazard},
        "help": {"text": rule.mitigation},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": [rule.family]},
    }


def _sarif_result(finding: Finding, index: dict[str, int]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.message},
        "locations": [_location(finding.file, finding.line, finding.column, finding.kernel)],
        "partialFingerprints": {"passlens/v1": fingerprint(finding)},
    }
    if finding.rule in index:
        result["ruleIndex"] = index[finding.rule]
    related = [_location(name, 1, 1, "") for name in finding.also_in]
    if finding.source is not None:
        source = finding.source
        related.insert(0, _location(source.file, source.line, source.column, ""))
    if related:
        result["relatedLocations"] = [{"id": number, **each} for number, each in enumerate(related)]
    return result


def _location(file: str, line: int, column: int, kernel: str) -> dict[str, Any]:
    place: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(file)},
            "region": {"startLine": max(line, 1), "startColumn": max(column, 1)},
        }
    }
    if kernel:
        place["logicalLocations"] = [{"name": kernel, "kind": "function"}]
    return place


def _uri(file: str) -> str:
    from urllib.parse import quote

    path = file.replace("\\", "/")
    path = quote(path.encode("utf-8", "surrogateescape"), safe="/~._-")
    return f"file://{path}" if path.startswith("/") else path


def as_junit(findings: Sequence[Finding], rules: Sequence[Rule]) -> str:
    """A test suite a rule that found something, a failed test a finding; notes are skipped tests."""
    lines = ['<?xml version="1.0" encoding="utf-8"?>']
    failed = sum(finding.severity != "note" for finding in findings)
    lines.append(f'<testsuites name="passlens" tests="{len(findings)}" failures="{failed}">')
    for rule in sorted({finding.rule for finding in findings}):
        mine = [finding for finding in findings if finding.rule == rule]
        failures = sum(finding.severity != "note" for finding in mine)
        skipped = len(mine) - failures
        name = _quoted(f"{rule} {mine[0].title}")
        counts = f'tests="{len(mine)}" failures="{failures}" skipped="{skipped}" errors="0"'
        lines.append(f"  <testsuite name={name} {counts}>")
        lines.extend(_case(finding) for finding in mine)
        lines.append("  </testsuite>")
    lines.append("</testsuites>")
    return "\n".join(lines) + "\n"


def _case(finding: Finding) -> str:
    from xml.sax.saxutils import escape

    name = f"{finding.file}:{finding.line}:{finding.column}"
    body = _clean(f"{finding.message}\n{finding.hazard}\n{finding.mitigation}")
    if finding.severity == "note":
        inner = f"<skipped message={_quoted(finding.message)}/>"
    else:
        kind = _quoted(finding.severity)
        inner = f"<failure message={_quoted(finding.message)} type={kind}>{escape(body)}</failure>"
    head = f"    <testcase name={_quoted(name)} classname={_quoted(f'passlens.{finding.rule}')}>"
    return f"{head}{inner}</testcase>"


def _clean(text: str) -> str:
    return _XML_UNFIT.sub("\ufffd", text)


def _quoted(text: str) -> str:
    from xml.sax.saxutils import quoteattr

    return quoteattr(_clean(text))


def as_github(findings: Sequence[Finding], rules: Sequence[Rule]) -> str:
    """Workflow commands: `::warning file=…,line=…,col=…,title=…::message`."""
    lines = [
        f"::{_COMMANDS[finding.severity]} file={_property(finding.file)},line={finding.line},"
        f"col={finding.column},title={_property(f'{finding.rule} {finding.title}')}::"
        f"{_data(finding.message)}"
        for finding in findings
    ]
    return "".join(f"{line}\n" for line in lines)


def _data(text: str) -> str:
    return _clean(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


FORMATS: Final[dict[str, Callable[[Sequence[Finding], Sequence[Rule]], str]]] = {
    "text": as_text, "json": as_json, "sarif": as_sarif, "junit": as_junit, "github": as_github,
}  # fmt: skip
