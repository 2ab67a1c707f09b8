"""One run of `passlens lint`: configuration, files, what is reported, the exit code."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace

from ..ir.analysis.devices import device
from ..ir.errors import InputError
from ..ir.lint.budgets import bound_of
from ..ir.lint.config import Config, parse_config
from ..ir.lint.finding import SEVERITIES, Finding
from ..ir.lint.outputs import FORMATS
from ..ir.lint.registry import all_rules, chosen
from ..ir.lint.rule import Rule
from ..ir.lint.suppress import baseline_text, read_baseline, unknown
from .files import refuse_input, write_whole
from .linting import Job, Result, expand, lint_files, shard
from .safe import visible


def run_lint(args: argparse.Namespace) -> int:
    """Lint and report; see `commands/lint.py` for exit codes."""
    if args.rules:
        return _list_rules()
    if not args.paths:
        raise InputError("nothing to lint: give files, folders, patterns, or - for standard input")
    _check_numbers(args)
    config = _config(args.config)
    job = _job(args, config)
    rules = all_rules()
    _check_names(job, config, rules)
    paths = expand(args.paths)
    _check_outputs(args, paths)
    paths = shard(paths, args.shard) if args.shard else paths
    workers = min(args.workers or len(os.sched_getaffinity(0)), max(len(paths), 1))
    results = list(_watched(lint_files(paths, job, workers, args.scheduler or "", args.paths), len(paths)))
    findings = sorted((f for result in results for f in result.findings), key=lambda f: f.order)
    if args.write_golden:
        _write_golden(args.write_golden, results)
    if args.write_baseline:
        write_whole(args.write_baseline, baseline_text(findings))
        return 0
    findings = _reported(args, config, findings)
    text = FORMATS[args.format](findings, rules)
    if args.output:
        write_whole(args.output, text)
    else:
        sys.stdout.write(
            "\n".join(visible(line) for line in text.split("\n")) if args.format == "text" else text
        )
    return _status(args.fail_on or config.fail_on, results, findings)


def _check_numbers(args: argparse.Namespace) -> None:
    if args.workers is not None and args.workers < 1:
        raise InputError(f"--workers {args.workers}: expected 1 process or more")
    if args.memory_limit is not None and args.memory_limit < 0:
        raise InputError(f"--memory-limit {args.memory_limit}: expected a number of bytes, 0 or more")


def _check_outputs(args: argparse.Namespace, paths: list[str]) -> None:
    """Refuse to write over a file that is linted."""
    written = {
        "-o": args.output, "--write-baseline": args.write_baseline, "--write-golden": args.write_golden,
    }  # fmt: skip
    for option, output in written.items():
        if output and os.path.exists(output):
            for path in paths:
                refuse_input(option, output, path)


def _check_names(job: Job, config: Config, rules: list[Rule]) -> None:
    """Say at once, and not for each file, that a name is none."""
    chosen(rules, list(job.select), list(job.ignore))
    device(job.device)
    for name in config.severities:
        if all(rule.id != name for rule in rules):
            raise InputError(f"severity: no rule is called {name!r}; passlens lint --rules lists them")


def _list_rules() -> int:
    for rule in all_rules():
        print(f"{rule.id}  {rule.severity:<8} {rule.title}")
    return 0


def _config(path: str | None) -> Config:
    names = [path] if path else ["passlens.toml", "pyproject.toml"]
    for name in names:
        try:
            with open(name, encoding="utf-8") as file:
                return parse_config(file.read(), name)
        except (FileNotFoundError, NotADirectoryError) as error:
            if path:
                raise InputError(f"{path} does not exist: expected a configuration file") from error
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{name} cannot be read: {error}") from error
    return Config()


def _job(args: argparse.Namespace, config: Config) -> Job:
    limits = config.limits if args.memory_limit is None else replace(config.limits, memory=args.memory_limit)
    golden = _golden(args.golden or config.golden)
    return Job(
        tuple(_split(args.select) or config.select),
        (*_split(args.ignore), *config.ignore),
        limits,
        tuple(sorted(config.severities.items())),
        tuple(config.suppressions),
        (*config.bounds, *(bound_of(text) for text in args.budget)),
        tuple((name, tuple(sorted(held.items()))) for name, held in sorted(golden.items())),
        config.device,
        bool(args.write_golden),
    )


def _split(texts: list[str]) -> list[str]:
    return [part.strip() for text in texts for part in text.split(",") if part.strip()]


def _golden(path: str) -> dict[str, dict[str, float]]:
    if not path:
        return {}
    try:
        with open(path, encoding="utf-8") as file:
            held = json.load(file)["numbers"]
        return {str(name): {str(k): float(v) for k, v in each.items()} for name, each in held.items()}
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}; write it with --write-golden") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} holds no golden numbers: {error}; write it with --write-golden") from error


def _write_golden(path: str, results: list[Result]) -> None:
    held = {name: each for result in results for name, each in result.numbers.items()}
    data = {"passlens_golden": 1, "numbers": {name: held[name] for name in sorted(held)}}
    write_whole(path, json.dumps(data, indent=1, sort_keys=True) + "\n")


def _watched(results: Iterator[Result], count: int) -> Iterator[Result]:
    """Show on a terminal how far the run has come."""
    show = sys.stderr.isatty() and count > 20
    for number, result in enumerate(results, 1):
        if show and (number % 10 == 0 or number == count):
            print(f"\rpasslens lint: {number} of {count} programs", end="", file=sys.stderr, flush=True)
        yield result
    if show:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _reported(args: argparse.Namespace, config: Config, findings: list[Finding]) -> list[Finding]:
    least = SEVERITIES.index(args.severity)
    findings = [finding for finding in findings if SEVERITIES.index(finding.severity) >= least]
    path = args.baseline or config.baseline
    if not path:
        return findings
    try:
        with open(path, encoding="utf-8") as file:
            known = read_baseline(file.read(), path)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}; write it with --write-baseline") from error
    return unknown(findings, known)


def _status(fail_on: str, results: list[Result], findings: list[Finding]) -> int:
    if any(result.internal for result in results):
        return 3
    if fail_on == "never":
        return 0
    failing = SEVERITIES[[*SEVERITIES].index(fail_on) :] if fail_on in SEVERITIES else ()
    return 1 if any(finding.severity in failing for finding in findings) else 0
