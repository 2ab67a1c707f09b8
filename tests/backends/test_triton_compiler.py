"""Asking the real Triton: what comes back, an abort included, and what is said where there is none."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from passlens.backends.compilers.triton import LAYOUT_PASS, find_python, run_passes, with_locations
from passlens.ir.errors import InputError

GOLDEN = Path(__file__).parents[1] / "golden"
ORACLE = Path(os.environ.get("PASSLENS_ORACLE", ".venv-oracle"))
FIXED = (GOLDEN / "seeds/triton_fix1.mlir").read_text()
BROKEN = (GOLDEN / "seeds/triton_reproducible.mlir").read_text()


def python(version: str) -> str:
    return str(ORACLE / version / "bin/python")


def test_undefined_locations_are_defined_in_front() -> None:
    text = with_locations("#loc1 = loc(unknown)\nx.y loc(#loc1)\nx.z loc(#loc2)\n")
    assert text.startswith("#loc2 = loc(unknown)\n#loc1 = loc(unknown)\n")
    assert with_locations(text) == text


def test_without_triton_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PASSLENS_TRITON_PYTHON", raising=False)
    monkeypatch.setattr("passlens.backends.compilers.triton.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"passlens\[triton\]") as told:
        run_passes(FIXED)
    assert "\n" not in str(told.value)


def test_a_python_is_chosen_by_option_then_by_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSLENS_TRITON_PYTHON", "/from/environment")
    assert find_python("/from/option") == "/from/option"
    assert find_python() == "/from/environment"


def test_a_python_without_triton_and_one_that_is_not_there(tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    with pytest.raises(
        InputError, match="no Triton could be asked: ModuleNotFoundError: No module named 'triton'"
    ):
        run_passes(FIXED, python=str(bare))
    with pytest.raises(InputError, match="cannot be run"):
        run_passes(FIXED, python=str(tmp_path / "nowhere"))


def test_an_answer_that_never_comes(tmp_path: Path) -> None:
    slow = tmp_path / "python"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    with pytest.raises(InputError, match=r"did not answer within 0\.2 seconds"):
        run_passes(FIXED, python=str(slow), seconds=0.2)


@pytest.mark.oracle
class TestRealTriton:
    @pytest.mark.parametrize(("version", "converts"), [("t30", 4), ("t39", 6)])
    def test_the_layout_pass(self, version: str, converts: int) -> None:
        answer = run_passes(FIXED, python=python(version))
        assert answer.failed is None
        assert answer.passes[0].name == LAYOUT_PASS
        assert (answer.text or "").count("convert_layout") == converts

    def test_an_abort_is_an_answer(self) -> None:
        answer = run_passes(BROKEN, ["canonicalize", LAYOUT_PASS], python=python("t30"))
        failed = answer.failed
        assert failed is not None
        assert failed.aborted
        assert failed.error == "Assertion `rewrittenValue' failed."
        assert failed.before == answer.passes[0].after

    def test_what_the_pass_says_of_itself(self) -> None:
        answer = run_passes(BROKEN, python=python("t39"), debug=True)
        assert "propagateLayout considering" in answer.log

    def test_refusals(self) -> None:
        with pytest.raises(InputError, match="refuses the text"):
            run_passes("module {\n  what\n}\n", python=python("t39"))
        with pytest.raises(InputError, match="offers no pass of that name; it offers canonicalize"):
            run_passes(FIXED, ["no-such-pass"], python=python("t39"))
