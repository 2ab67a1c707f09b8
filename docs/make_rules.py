"""Write docs/rules.md from the rules and rule_examples.toml; a test says whether it is up to date."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from passlens.ir.lint.registry import OWN
from passlens.ir.lint.rule import Rule

HERE = Path(__file__).parent
FAMILIES = {
    "streaming": "Streaming: copies, streams, events, the arena",
    "layout": "Layout: encodings and converts",
    "health": "Health: the IR and the log themselves",
    "budget": "Budgets and golden numbers",
}
FORMATS = {"mlir": "MLIR", "migraphx": "MIGraphX", "onnx": "ONNX"}
HEAD = """\
# The rules of `passlens lint`

Written by `python docs/make_rules.py` from the rules; ids are stable. Each example is run by the tests: the
bad one has the finding, the good one does not. [lint.md](lint.md) says how to choose rules and to live with
findings.

Two ids have no rule, for they are about files: **PS390** (error) is a file that cannot be read, **PS399**
(error) a failure of passlens itself, with which the run ends in exit code 3.
"""


def page() -> str:
    """The whole of rules.md."""
    examples = tomllib.loads((HERE / "rule_examples.toml").read_text())
    parts = [HEAD, _contents()]
    for family, title in FAMILIES.items():
        parts.append(f"## {title}\n")
        parts += [_section(rule, examples.get(rule.id, {})) for rule in OWN if rule.family == family]
    return "\n".join(parts)


def _contents() -> str:
    rows = [f"| [{rule.id}](#{rule.id.lower()}) | {rule.severity} | {rule.title} |" for rule in OWN]
    return "\n".join(["| rule | severity | title |", "|---|---|---|", *rows, ""])


def _section(rule: Rule, example: dict[str, Any]) -> str:
    lines = [
        f"### {rule.id}",
        "",
        f"**{rule.title}** ({rule.severity}).",
        "",
        f"- *Hazard*: {rule.hazard}",
        f"- *Why*: {_why(rule)}",
        f"- *Mitigation*: {rule.mitigation}",
        "",
    ]
    if not example:
        lines += ["No program is known on which it is found: it waits for one.", ""]
    for key, what in (("bad", "Bad"), ("good", "Good")):
        if f"{key}_file" in example:
            lines += [f"{what}: `{example[f'{key}_file']}`.", ""]
        elif key in example:
            lines += [f"{what}{_given(example)}:", "", "```", example[key].rstrip("\n"), "```", ""]
    return "\n".join(lines)


def _given(example: dict[str, Any]) -> str:
    if "memory_limit" in example:
        return f", with `--memory-limit {example['memory_limit']}`"
    if "budget" in example:
        return f", with `--budget '{example['budget']}'`"
    if "golden" in example:
        held = ", ".join(f"{name} = {number}" for name, number in example["golden"].items())
        return f", with golden numbers {held}"
    return ""


def _why(rule: Rule) -> str:
    """Which programs the rule looks at, and why these."""
    if rule.family == "budget":
        return "asked for; only with a budget or a golden file."
    if rule.over is not None:
        return "a log tells it as a whole: all its passes are looked at."
    formats = " and ".join(
        {"mlir": "MLIR", "migraphx": "MIGraphX", "onnx": "ONNX"}[each] for each in rule.formats
    )
    if rule.before_layout:
        return f"looked for in what the layout pass is given ({formats}), under the rules of that release."
    if rule.only_final:
        return f"looked for in the last {formats} program of each kernel: what would run."
    return f"looked for in every {formats} program of a log: no pass may leave it behind."


if __name__ == "__main__":
    (HERE / "rules.md").write_text(page())
