"""The Diff screen and the history of a value, driven as a reader does, and as pictures."""

from pathlib import Path

import pytest
from driving import ROOT, SEEDS, bar, opened, press, rows_of, settle, trace_screen
from passlens.ir.diff.compare import compare
from passlens.ir.diff.options import DEFAULT, Options
from passlens.ir.formats.migraphx import parse_migraphx
from passlens.ir.formats.mlir import parse_mlir
from passlens.tui.app import PasslensApp
from passlens.tui.cli import main
from passlens.tui.screens.choice import SnapshotChoice
from passlens.tui.screens.diff import DiffScreen, SideBySide
from passlens.tui.screens.help import HelpScreen
from passlens.tui.screens.history import HistoryScreen
from passlens.tui.widgets.diff_marks import in_words, row_of, sides
from passlens.tui.widgets.diff_rows import (
    Comparison,
    Entry,
    Shown,
    comparison,
    row_at,
    shown_rows,
    unchanged_runs,
)  # fmt: skip
from passlens.tui.widgets.row_list import RowList
from rich.cells import cell_len

LOG = ROOT / "samples" / "two_kernels.hip-gfx942.log"


SIZES = [(80, 24), (200, 60)]


def known_of(before: str, after: str, options: Options = DEFAULT) -> Comparison:
    return comparison(compare(parse_mlir(before), parse_mlir(after), options))


def seeds() -> Comparison:
    return known_of(*[(SEEDS / f"triton_{name}.mlir").read_text() for name in ("reproducible", "fix1")])


def marked(known: Comparison, entry: Entry) -> tuple[list[str], list[str]]:
    left, right = sides(known, entry)
    return [t for t, style in left if style == "gone"], [t for t, style in right if style == "came"]


def func(*lines: str) -> str:
    return "func.func @f(%a: f32, %b: f32) {\n" + "\n".join(lines) + "\nreturn\n}\n"


def test_exactly_the_reported_changes_of_the_seeds_are_marked() -> None:
    known = seeds()
    found = [(entry.mark, (entry.new or entry.old).name) for entry in known.entries if entry.mark != "same"]  # type: ignore[union-attr]
    assert sorted(found) == [
        ("added", "arith.mulf"), ("added", "scf.yield"), ("changed", "scf.for"), ("changed", "scf.for"),
    ]  # fmt: skip
    outer, inner = [entry for entry in known.entries if entry.mark == "changed"]
    assert marked(known, inner) == (["%cst_0"], ["%68"])
    gone, came = marked(known, outer)
    assert gone == [] and "iter_args" in "".join(came)
    assert "+1 iter_arg, +1 result" in in_words(outer)
    assert "%cst_0" in in_words(inner) and "%68 (arith.mulf, added)" in in_words(inner)
    for entry in known.entries:
        if entry.mark == "same":
            assert marked(known, entry) == ([], [])


def test_a_new_value_under_an_old_name_is_marked() -> None:
    before = func("%0 = arith.negf %a : f32", "%1 = math.exp %0 : f32", "%2 = math.sin %1 : f32")
    after = func("%0 = arith.addf %a, %b : f32", "%1 = math.exp %0 : f32", "%2 = math.sin %1 : f32")
    known = known_of(before, after)
    user = next(e for e in known.entries if e.new is not None and e.new.name == "math.exp")
    if user.mark == "changed":
        assert marked(known, user) == (["%0"], ["%0"])


def test_a_renamed_argument_before_a_colon_is_not_marked() -> None:
    one = "func.func @f(%x: f32) attributes {k = 1 : i32} {\nreturn\n}\n"
    known = known_of(one, one.replace("%x", "%y").replace("k = 1", "k = 2"))
    (entry,) = [e for e in known.entries if e.mark == "changed"]
    assert marked(known, entry) == (["1"], ["2"])


def test_a_moved_op_has_two_ends() -> None:
    ops = ["%0 = arith.negf %a : f32", *(f"%{i} = math.exp %b {{n = {i}}} : f32" for i in range(1, 6))]
    known = known_of(func(*ops), func(*ops[1:], ops[0]))
    moved = [i for i, e in enumerate(known.entries) if e.mark in ("moved", "source")]
    assert len(moved) == 2
    assert known.ends == {moved[0]: moved[1], moved[1]: moved[0]}
    assert {known.entries[i].mark for i in moved} == {"moved", "source"}
    texts = {known.entries[i].mark: row_of(known, Shown(i), 120, 0, False).text for i in moved}
    before, after = texts["source"].split("│")
    assert before.startswith(">") and "negf" in before and after.strip() == "moved from here"
    before, after = texts["moved"].split("│")
    assert before.strip() == "moved to here" and after.strip().startswith(">") and "negf" in after


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("context", [0, 1, 5, 1000])
def test_every_entry_is_shown_once_or_folded(context: int, stacked: bool) -> None:
    known = seeds()
    runs = unchanged_runs(known, context)
    for unfolded in (set(), {start for start, _ in runs}):
        rows = shown_rows(known, runs, unfolded, stacked)
        spans = [range(row.entry, row.entry + max(row.folded, 1)) for row in rows if row.part != "new"]
        assert [i for span in spans for i in span] == list(range(len(known.entries)))
        folds = [range(row.entry, row.entry + row.folded) for row in rows]
        assert all(known.entries[i].hunk < 0 for span in folds for i in span)
        for i in range(len(known.entries)):
            row = rows[row_at(rows, i)]
            assert row.entry <= i < row.entry + max(row.folded, 1)
    assert bool(runs) == (context < 1000)


@pytest.mark.parametrize("width", [60, 101, 200])
def test_every_row_fits(width: int) -> None:
    known = seeds()
    for row in shown_rows(known, unchanged_runs(known, 2), set(), False):
        assert cell_len(row_of(known, row, width, 0, False).text) <= width
        assert cell_len(row_of(known, row, width, 40, False).text) <= width


async def test_d_shows_what_a_pass_changed(tmp_path: Path) -> None:
    async with opened(LOG) as pilot:
        screen = trace_screen(pilot)
        names = [run.argument for run in screen.session.trace.runs]  # type: ignore[union-attr]
        screen.passes.select("run", names.index("tritongpu-coalesce"))
        await press(pilot, "d")
        shown = pilot.app.screen
        assert isinstance(shown, DiffScreen)
        assert "added" in bar(pilot, "diff-title")
        assert "after tritongpu-coalesce" in bar(pilot, "diff-sides")
        rows = shown.query_one(SideBySide)
        first = rows.cursor
        assert rows.entry is not None and rows.entry.hunk == 0
        await press(pilot, "]")
        assert rows.entry.hunk == 1
        await press(pilot, "[")
        assert rows.cursor == first
        count = rows.count
        await press(pilot, "+")
        assert rows.count > count and rows.entry.hunk == 0
        await press(pilot, "minus")
        assert rows.count == count
        await press(pilot, "escape")
        assert trace_screen(pilot)


@pytest.mark.parametrize("size", SIZES)
async def test_keys_of_the_diff(size: tuple[int, int]) -> None:
    async with opened(SEEDS / "triton_fix1.mlir", size) as pilot:
        pilot.app.push_screen(DiffScreen(seeds().diff, ("reproducible", "fix1")))
        await settle(pilot)
        shown = pilot.app.screen
        assert isinstance(shown, DiffScreen)
        rows = shown.rows
        assert rows.stacked == (size[0] < 100)
        assert "change 1 of" in bar(pilot, "diff-title")
        assert "scf.for: +1 iter_arg" in rows_of(shown.query_one("#diff-words", RowList))[0]
        folded = rows.count
        rows.move(next(i for i, row in enumerate(rows.sides) if row.folded))
        await press(pilot, "enter")
        assert rows.count > folded
        await press(pilot, "z")
        assert rows.count == folded
        await press(pilot, "Z")
        assert rows.count >= len(rows.known.entries)  # type: ignore[union-attr]
        await press(pilot, "Z", "v")
        assert rows.stacked != (size[0] < 100)
        await press(pilot, "e")
        assert "the same program" in bar(pilot, "diff-title") and "encodings only" in bar(pilot, "diff-title")
        await press(pilot, "e", "N")
        assert "names" in bar(pilot, "diff-title") and len(rows.known.hunks) > 3  # type: ignore[union-attr]
        await press(pilot, "N", "l")
        assert rows.shift == 20
        await press(pilot, "?")
        assert isinstance(pilot.app.screen, HelpScreen)
        await press(pilot, "escape")
        titles = [command.title for command in pilot.app.get_system_commands(shown)]
        assert "Encodings" in titles


async def test_enter_leads_to_the_other_end_of_a_moved_op() -> None:
    ops = ["%0 = arith.negf %a : f32", *(f"%{i} = math.exp %b {{n = {i}}} : f32" for i in range(1, 40))]
    found = known_of(func(*ops), func(*ops[1:], ops[0])).diff
    async with opened(SEEDS / "triton_fix1.mlir") as pilot:
        pilot.app.push_screen(DiffScreen(found, ("a", "b")))
        await settle(pilot)
        rows = pilot.app.screen.query_one(SideBySide)
        first = rows.cursor
        await press(pilot, "enter")
        assert rows.cursor != first and rows.entry is not None and rows.entry.mark in ("moved", "source")
        await press(pilot, "enter")
        assert rows.cursor == first


async def test_an_app_of_one_diff_ends_with_it() -> None:
    app = PasslensApp(first=DiffScreen(seeds().diff, ("reproducible", "fix1")))
    async with app.run_test(size=(120, 34)) as pilot:
        await settle(pilot)
        assert "change 1 of" in bar(pilot, "diff-title")
        await pilot.press("question_mark", "escape")
        assert app.return_code is None
        await pilot.press("q")
        await pilot.pause()
        assert app.return_code == 0


def test_tui_wants_a_terminal_and_two_programs(capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(SEEDS / f"triton_{name}.mlir") for name in ("reproducible", "fix1")]
    assert main(["diff", *files, "--tui"]) == 2
    assert "terminal" in capsys.readouterr().err
    assert main(["diff", str(SEEDS), str(SEEDS), "--tui"]) == 2
    assert "two programs" in capsys.readouterr().err


def test_renumbered_migraphx_instructions_are_not_marked() -> None:
    head = "@0 = @param:x -> float_type, {4}, {1}\n"
    before = head + "@1 = relu(@0) -> float_type, {4}, {1}\n@2 = add(@1,@0) -> float_type, {4}, {1}\n"
    after = head + (
        "@1 = exp(@0) -> float_type, {4}, {1}\n@2 = relu(@0) -> float_type, {4}, {1}\n"
        "@3 = add(@2,@1) -> float_type, {4}, {1}\n"
    )
    known = comparison(compare(parse_migraphx(before), parse_migraphx(after)))
    (entry,) = [e for e in known.entries if e.mark == "changed"]
    assert marked(known, entry) == (["@0"], ["@1"])


async def test_any_other_program_can_be_chosen() -> None:
    async with opened(LOG) as pilot:
        screen = trace_screen(pilot)
        screen.passes.select("run", 3)
        await settle(pilot)
        await press(pilot, "D")
        assert isinstance(pilot.app.screen, SnapshotChoice)
        await press(pilot, "home", "enter")
        assert isinstance(pilot.app.screen, DiffScreen)
        await press(pilot, "escape")
        assert pilot.app.screen is screen


async def test_a_program_without_another_says_so() -> None:
    async with opened(SEEDS / "triton_fix1.mlir") as pilot:
        screen = pilot.app.screen
        await press(pilot, "d")
        assert pilot.app.screen is screen


async def test_the_history_of_a_value_leads_to_its_passes() -> None:
    async with opened(LOG) as pilot:
        screen = trace_screen(pilot)
        names = [run.argument for run in screen.session.trace.runs]  # type: ignore[union-attr]
        screen.passes.select("run", names.index("tritongpu-coalesce"))
        await press(pilot, "enter")
        text = screen.ir.document.text
        screen.ir.go(text.index("ttg.convert_layout"))
        await press(pilot, "0", "l", "h", "H")
        shown = pilot.app.screen
        assert isinstance(shown, HistoryScreen)
        said = rows_of(shown.query_one(RowList))
        assert any("born" in row for row in said), said
        before = len(said)
        await press(pilot, "a")
        assert len(rows_of(shown.query_one(RowList))) >= before
        await press(pilot, "home", "enter")
        assert trace_screen(pilot).passes.has_focus


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
def test_the_diff_as_a_picture(snap_compare, size: tuple[int, int]) -> None:
    async def show(pilot) -> None:
        await settle(pilot)
        texts = [(SEEDS / f"triton_{name}.mlir").read_text() for name in ("reproducible", "fix1")]
        found = compare(*map(parse_mlir, texts))
        pilot.app.push_screen(DiffScreen(found, ("reproducible", "fix1")))
        await settle(pilot)

    app = PasslensApp(str(SEEDS / "triton_fix1.mlir"))
    assert snap_compare(app, terminal_size=size, run_before=show)
