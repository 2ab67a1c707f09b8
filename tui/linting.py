"""Lint over files: which there are, each in a process, equal kernels once."""

from __future__ import annotations

import glob
import hashlib
import os
import re
import signal
import sys
import traceback
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from ..ir.analysis.devices import device
from ..ir.errors import InputError
from ..ir.inputs import files_of_folder
from ..ir.lint.budgets import Bound
from ..ir.lint.engine import budget_findings, lint_trace, numbers
from ..ir.lint.finding import Finding, Severity
from ..ir.lint.registry import all_rules, chosen
from ..ir.lint.rule import Limits, Rule
from ..ir.lint.suppress import Suppression, inline, kept
from ..ir.trace import open_trace

UNREADABLE: Final = "PS390"
FAILED: Final = "PS399"
_SMALL: Final = 4 << 20
"""Larger files are logs, which are not compared with one another."""
_AHEAD: Final = 64
"""Files that are under way at once."""
_LOCATION: Final = re.compile(rb"^#loc.*$|\s*loc\((?:[^()]|\([^()]*\))*\)", re.M)
_VALUE: Final = re.compile(rb"[%#@^][\w$.\-]+")


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be done with each file; travels to other processes."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    severities: tuple[tuple[str, Severity], ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    bounds: tuple[Bound, ...] = ()
    golden: tuple[tuple[str, tuple[tuple[str, float], ...]], ...] = ()
    device: str = "h200"
    count: bool = False
    """Whether the numbers of golden files are wanted."""


@dataclass(slots=True)
class Result:
    """What came of one file."""

    path: str
    findings: list[Finding]
    numbers: dict[str, dict[str, float]]
    internal: bool = False
    """Whether passlens itself failed on it."""


def lint_file(path: str, job: Job) -> Result:
    """Lint one file; whatever happens is a finding of it."""
    try:
        trace = open_trace(path)
        rules = _rules(job.select, job.ignore)
        found = lint_trace(trace, rules, job.limits, dict(job.severities))
        target = device(job.device)
        golden = {name: dict(held) for name, held in job.golden}
        if job.bounds or golden:
            found += budget_findings(trace, list(job.bounds), golden, target)
        small = trace.size <= _SMALL
        comments = inline(bytes(trace.data[:]).decode("utf-8", "replace")) if small else {}
        counted = numbers(trace, target) if job.count else {}
        return Result(path, kept(found, job.suppressions, comments), counted)
    except InputError as error:
        return Result(path, [_about(path, UNREADABLE, "File that cannot be read", str(error))], {})
    except Exception as error:  # the run goes on; the exit code says that this is our fault
        print(f"passlens: {path}: {traceback.format_exc()}", file=sys.stderr)
        message = f"passlens failed here: {type(error).__name__}: {error}; please report it with the file"
        return Result(path, [_about(path, FAILED, "Failure of passlens", message)], {}, internal=True)


@lru_cache(8)
def _rules(select: tuple[str, ...], ignore: tuple[str, ...]) -> list[Rule]:
    """Looked up once a process and run: to ask for entry points reads the disk."""
    return chosen(all_rules(), list(select), list(ignore))


def _about(path: str, rule: str, title: str, message: str) -> Finding:
    return Finding(rule, "error", title, " ".join(message.split()), path)


def expand(paths: Sequence[str]) -> list[str]:
    """Files, folders (every file in them that holds text) and glob patterns as files, each once, sorted.

    Raises:
        InputError: a path is none of these.
    """
    found: list[str] = []
    for path in paths:
        if path == "-" or os.path.isfile(path):
            found.append(path)
        elif os.path.isdir(path):
            found += files_of_folder(path)
        else:
            matches = sorted(name for name in glob.glob(path, recursive=True) if os.path.isfile(name))
            if not matches:
                raise InputError(f"{path} does not exist: expected a file, a folder, a pattern, or -")
            found += matches
    return sorted(dict.fromkeys(os.path.relpath(name) if _below(name) else name for name in found))


def _below(path: str) -> bool:
    return path != "-" and os.path.isabs(path) and os.path.abspath(path).startswith(os.getcwd() + os.sep)


def shard(paths: list[str], text: str) -> list[str]:
    """Every n-th file: `2/5` is the second part of five.

    Raises:
        InputError: the text is no such part.
    """
    found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise InputError(f"--shard {text!r}: expected i/n with i from 1 to n, such as 2/5")
    return paths[int(found[1]) - 1 :: int(found[2])]


def lint_files(
    paths: list[str], job: Job, workers: int, scheduler: str = "", asked: Collection[str] = ()
) -> Iterator[Result]:
    """Results in the order of the files; equal programs are looked at once and reported with all names.

    A file that holds no program is a finding only if it is one of those `asked` for by name.
    """
    _rules.cache_clear()
    groups = folded(paths)
    first = [group[0] for group in groups]
    also = {group[0]: tuple(group[1:]) for group in groups}
    for result in _run(first, job, workers, scheduler):
        others = also[result.path]
        if result.path not in asked:
            result.findings = [f for f in result.findings if not _is_no_dump(f)]
        if others:
            result.findings = [replace(finding, also_in=others) for finding in result.findings]
        yield result


def _is_no_dump(finding: Finding) -> bool:
    return finding.rule == UNREADABLE and "holds no program" in finding.message


def folded(paths: list[str]) -> list[list[str]]:
    """The paths in groups of equal programs: the same but for names of values, aliases and locations."""
    if len(paths) < 2:
        return [[path] for path in paths]
    groups: dict[bytes, list[str]] = {}
    for number, path in enumerate(paths):
        groups.setdefault(_key(path) or f"{number}".encode(), []).append(path)
    return list(groups.values())


def _key(path: str) -> bytes:
    """A hash of a small file's text with its names numbered by where they first stand; b'' for others."""
    try:
        if path == "-" or os.path.getsize(path) > _SMALL:
            return b""
        with open(path, "rb") as file:
            text = file.read()
    except OSError:
        return b""
    if b"\0" in text[:4096] or b"passlens:" in text or b"IR Dump" in text:
        return b""
    names: dict[bytes, bytes] = {}
    plain = _LOCATION.sub(b"", text)
    plain = _VALUE.sub(lambda found: names.setdefault(found.group(), b"%%%d" % len(names)), plain)
    return hashlib.blake2b(plain, digest_size=16).digest()


def _run(paths: list[str], job: Job, workers: int, scheduler: str) -> Iterator[Result]:
    if "-" in paths:  # no other process has our standard input
        yield lint_file("-", job)
        paths = [path for path in paths if path != "-"]
    if scheduler:
        yield from _on_cluster(paths, job, scheduler)
    elif workers <= 1 or len(paths) < 2:
        for path in paths:
            yield lint_file(path, job)
    else:
        yield from _in_processes(paths, job, workers)


def _in_processes(paths: list[str], job: Job, workers: int) -> Iterator[Result]:
    """A pool; if a worker dies, what was under way is done again, one file a process, to know the culprit."""
    done = 0
    while done < len(paths):
        pool = ProcessPoolExecutor(workers, initializer=_quiet)
        try:
            for result in _mapped(pool, paths[done:], job):
                done += 1
                yield result
        except BrokenProcessPool:
            for path in paths[done : done + _AHEAD]:
                done += 1
                yield _alone(path, job)
        finally:
            pool.shutdown(cancel_futures=True)


def _quiet() -> None:
    """An interrupt from the terminal reaches workers, too: they go without a word, the command says it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _alone(path: str, job: Job) -> Result:
    try:
        with ProcessPoolExecutor(1, initializer=_quiet) as pool:
            return pool.submit(lint_file, path, job).result()
    except BrokenProcessPool:
        return _died(path)


def _died(path: str) -> Result:
    message = "the process that looked at it died (out of memory?)"
    return Result(path, [_about(path, FAILED, "Failure of passlens", message)], {}, internal=True)


def _mapped(pool: Executor, paths: list[str], job: Job) -> Iterator[Result]:
    """Results in order, with few files under way: tens of thousands of futures would be memory."""
    pending = deque(pool.submit(lint_file, path, job) for path in paths[:_AHEAD])
    for place in range(len(paths)):
        result = pending.popleft().result()
        if place + _AHEAD < len(paths):
            pending.append(pool.submit(lint_file, paths[place + _AHEAD], job))
        yield result


def _on_cluster(paths: list[str], job: Job, address: str) -> Iterator[Result]:
    """The same on a Dask cluster, through its executor.

    Raises:
        InputError: `distributed` is not installed, or nobody answers at the address, or any more.
    """
    try:
        from distributed import Client, KilledWorker
    except ImportError as error:
        raise InputError("--scheduler needs Dask: pip install 'passlens[dask]'") from error
    try:
        client = Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"no scheduler answers at {address}: {error}") from error
    with client, client.get_executor(retries=3) as pool:
        pending = deque(pool.submit(lint_file, os.path.abspath(path), job) for path in paths[:_AHEAD])
        for place, path in enumerate(paths):
            try:
                result = _renamed(pending.popleft().result(), path)
            except KilledWorker:
                result = _died(path)
            except (CancelledError, OSError) as error:
                raise InputError(f"the scheduler at {address} went away at {path}: {error}") from error
            if place + _AHEAD < len(paths):
                pending.append(pool.submit(lint_file, os.path.abspath(paths[place + _AHEAD]), job))
            yield result


def _renamed(result: Result, path: str) -> Result:
    """A result by the name that the file has here: workers, who may run elsewhere, are given whole paths."""
    whole = os.path.abspath(path)
    findings = [
        replace(
            finding,
            file=path if finding.file == whole else finding.file,
            message=finding.message.replace(whole, path),
        )
        for finding in result.findings
    ]
    return replace(result, path=path, findings=findings)
