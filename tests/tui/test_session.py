"""A trace as the screens use it."""

import threading
from pathlib import Path

import pytest
from driving import SEEDS
from passlens.ir.trace import open_trace, trace_of_text
from passlens.tui import session as session_module
from passlens.tui.session import Badge, TraceSession, first_look

MODULE = "module {{\n  func.func @k() {{\n{body}    return\n  }}\n}}\n\n"
BANNER = "// -----// IR Dump Before Pass{n} (pass-{n}) ('builtin.module' operation) //----- //\n"


def log(ops: list[int]) -> str:
    """A log whose n-th dump has so many constants."""
    return "".join(
        BANNER.format(n=n)
        + MODULE.format(body="".join(f"    %c{i} = arith.constant {i} : i32\n" for i in range(count)))
        for n, count in enumerate(ops)
    )


def test_badges() -> None:
    session = TraceSession(trace_of_text(log([3, 5, 5, 1])))
    runs = session.trace.runs
    assert [session.badge(run) for run in runs] == [
        Badge(True, 8, 2, 0), Badge(False, 8, 0, 0), Badge(True, 4, -4, 0), Badge(None, 4, None, 0),
    ]  # fmt: skip


def test_documents_are_kept_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "_KEPT", 2)
    session = TraceSession(trace_of_text(log([1, 2, 3])))
    first = session.parse(0)
    assert session.parse(0) is first
    session.parse(1)
    session.parse(2)
    assert session.known(0) is None and session.known(2) is not None


def test_several_threads_may_ask_at_once() -> None:
    session = TraceSession(trace_of_text(log(list(range(40)))))
    faults: list[BaseException] = []

    def ask(start: int) -> None:
        try:
            for step in range(40):
                run = session.trace.runs[(start + step) % 40]
                session.badge(run)
                assert session.parse((start + step) % 40).program is not None
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=ask, args=(start,)) for start in (0, 10, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not faults


def test_the_first_look_at_a_large_log_numbers_passes_as_the_whole_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "large.log"
    path.write_text(log([n % 7 for n in range(300)]))
    assert first_look(str(path)) is None
    monkeypatch.setattr(session_module, "_LARGE", 1000)
    monkeypatch.setattr(session_module, "_LOOK", 10_000)
    look, whole = first_look(str(path)), open_trace(str(path))
    assert look is not None and 10 < len(look.runs) < 300
    for early, late in zip(look.runs[:-2], whole.runs, strict=False):
        assert (early.index, early.name, early.before, early.after) == (
            late.index,
            late.name,
            late.before,
            late.after,
        )
        assert look.text(early.after) == whole.text(late.after)


def test_what_is_no_text_or_packed_gets_no_first_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "_LARGE", 10)
    packed = tmp_path / "x.log.gz"
    packed.write_bytes(b"\x1f\x8b" + bytes(100))
    assert first_look(str(packed)) is None
    assert first_look(str(tmp_path)) is None


def test_a_log_without_programs_is_a_text() -> None:
    session = TraceSession(open_trace(str(SEEDS / "triton_crash.txt")))
    found = session.parse(-1)
    assert found.program is None and "rtion `rewrittenValue' failed" in found.text
    assert session.summary(-1) == {}
