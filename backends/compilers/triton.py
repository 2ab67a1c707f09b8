"""Triton's own passes on a TTGIR text, in a child process of any Python that has a Triton wheel.

No GPU is needed. The wheels are built with assertions: a pass that fails one ends its process, which here is
an answer like any other (`PassRun.aborted`, with the message and the IR that the pass was given).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from ...ir.errors import InputError

LAYOUT_PASS: Final = "tritongpu-remove-layout-conversions"
_CHILD: Final = Path(__file__).with_name("triton_child.py")
_LOCATION_USE: Final = re.compile(r"#loc\d*\b")
_LOCATION_DEFINED: Final = re.compile(r"^(#loc\d*) = ", re.M)
_FATAL: Final = re.compile(r"Assertion `.*|UNREACHABLE executed.*|LLVM ERROR: .*")


@dataclass(frozen=True, slots=True)
class PassResult:
    """What one real pass did: the module it was given and the one it made, or how it failed."""

    name: str
    before: str
    after: str | None
    """None where the pass failed or aborted."""
    error: str = ""
    aborted: bool = False
    """Whether the process died in the pass (a failing assertion)."""


@dataclass(slots=True)
class TritonAnswer:
    """The passes in order, up to the first that failed; `log` is everything on standard error."""

    version: str
    passes: list[PassResult] = field(default_factory=list)
    log: str = ""

    @property
    def text(self) -> str | None:
        """The module after the last pass; None if a pass failed."""
        return self.passes[-1].after if self.passes else None

    @property
    def failed(self) -> PassResult | None:
        """The pass that failed, if one did."""
        last = self.passes[-1] if self.passes else None
        return last if last is not None and last.after is None else None


def find_python(chosen: str | None = None) -> str:
    """A Python that has Triton: the chosen one, $PASSLENS_TRITON_PYTHON, or the running one.

    Raises InputError with what to install where there is none.
    """
    named = chosen or os.environ.get("PASSLENS_TRITON_PYTHON")
    if named:
        return named
    if find_spec("triton") is None:
        raise InputError(
            "Triton is not installed: `pip install 'passlens[triton]'`, or name a Python that has it "
            "with --triton-python or PASSLENS_TRITON_PYTHON"
        )
    return sys.executable


def run_passes(
    text: str, names: Sequence[str] = (LAYOUT_PASS,), *, python: str | None = None, debug: bool = False,
    seconds: float = 120,
) -> TritonAnswer:  # fmt: skip
    """Parse `text` and run the named passes one by one, each in a pass manager of its own.

    With `debug`, the layout pass reports its decisions on standard error (`TritonAnswer.log`). Raises
    InputError where no Triton can be asked, the text is refused, a pass is unknown, or time runs out.
    """
    request = json.dumps({"text": with_locations(text), "passes": list(names)})
    environment = dict(os.environ)
    if debug:
        environment |= {
            "TRITON_ENABLE_LLVM_DEBUG": "",
            "TRITON_LLVM_DEBUG_ONLY": LAYOUT_PASS,
            "MLIR_ENABLE_DUMP": "1",
        }
    lines, log, code = _talk(find_python(python), request, environment, seconds)
    answer = TritonAnswer("", log=log)
    before = ""
    running = ""
    for line in lines:
        if "version" in line:
            answer.version = line["version"]
        elif "start" in line:
            running = line["start"]
        elif "done" in line:
            if running != "parse":
                answer.passes.append(PassResult(running, before, line["text"]))
            before, running = line["text"], ""
        elif "failed" in line:
            _refused(line, log)
            answer.passes.append(PassResult(line["failed"], before, None, _error(log) or line["error"]))
            running = ""
    if not answer.version:
        last = (log.strip().splitlines() or [f"exit status {code}"])[-1]
        raise InputError(f"no Triton could be asked: {last}")
    if running == "parse":
        raise InputError(f"Triton {answer.version} died while it read the text: {_error(log)}")
    if running:
        answer.passes.append(PassResult(running, before, None, _error(log), aborted=True))
    return answer


def with_locations(text: str) -> str:
    """The text with every location alias defined; dumps that were cut off refer to aliases behind the cut."""
    used = set(_LOCATION_USE.findall(text)) - set(_LOCATION_DEFINED.findall(text))
    return "".join(f"{name} = loc(unknown)\n" for name in sorted(used)) + text


def _talk(
    python: str, request: str, environment: dict[str, str], seconds: float
) -> tuple[list[dict[str, Any]], str, int]:
    """Run the child; its answers come over a pipe of their own, since compilers write where they like."""
    with tempfile.TemporaryFile("w+") as log, tempfile.TemporaryFile("w+") as answers:
        hand_over = f"import os, runpy; os.dup2({answers.fileno()}, 3)"
        wrapper = f"{hand_over}; runpy.run_path({str(_CHILD)!r}, run_name='__main__')"
        try:
            child = subprocess.run(
                [python, "-c", wrapper], input=request, text=True, stdout=log, stderr=log, env=environment,
                pass_fds=(answers.fileno(),), timeout=seconds, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise InputError(f"Triton did not answer within {seconds:g} seconds") from error
        except OSError as error:
            raise InputError(f"{python} cannot be run: {error.strerror or error}") from error
        log.seek(0)
        answers.seek(0)
        return [json.loads(line) for line in answers], log.read(), child.returncode


def _error(log: str) -> str:
    """The message in a compiler's output: an assertion first, then the first error line."""
    fatal = _FATAL.search(log)
    if fatal:
        return fatal.group().strip()
    errors = [line.strip() for line in log.splitlines() if "error:" in line]
    return errors[0] if errors else ""


def _refused(line: dict[str, Any], log: str) -> None:
    if line["failed"] == "parse":
        raise InputError(f"Triton refuses the text: {_error(log) or line['error']}")
    if "offers no pass" in line["error"]:
        raise InputError(f"{line['failed']}: {line['error']}")
