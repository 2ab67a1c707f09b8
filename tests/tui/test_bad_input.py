"""What a hostile or broken file does to the screen: nothing but being shown."""

import time
from pathlib import Path

import pytest
from driving import bar, lines_of, opened, press, rows_of, settle, trace_screen
from passlens.ir.formats import parse
from passlens.tui.widgets.ir_pane import IrPane

HOSTILE = (
    'func.func @f(%a: i32) attributes {x = "[bold red]no[/] [link=file:///etc/passwd]x[/link] \x1b]0;t\x07\x9b2J"} {\n'
    "  %0 = arith.addi %a, %a : i32 // \u202egnp.exe \u2066 \u200b \xad\n"
    "  return\n"
    "}\n"
)
FORBIDDEN = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0), 0xAD, 0x200B, 0x202E, 0x2066)]


async def everything_on_screen(pilot: object) -> str:
    strips = pilot.app.screen._compositor.render_strips()  # type: ignore[attr-defined]
    return "\n".join(strip.text for strip in strips)


async def test_escapes_and_bidi_marks_are_shown_and_markup_is_text(tmp_path: Path) -> None:
    path = tmp_path / "x.mlir"
    path.write_text(HOSTILE)
    async with opened(path, (260, 40)) as pilot:
        await press(pilot, "2")
        drawn = await everything_on_screen(pilot)
        assert "[bold red]no[/]" in drawn and "\\x1b]0;t\\x07\\x9b2J" in drawn
        assert "\\u202egnp.exe" in drawn
        assert not [char for char in FORBIDDEN if char in drawn.replace("\n", "")]
        await press(pilot, "a")
        assert "[bold red]no[/]" in " ".join(rows_of(trace_screen(pilot).inspector))


async def test_markup_in_names_of_files_and_of_what_is_searched(tmp_path: Path) -> None:
    path = tmp_path / "[red]a[bold].mlir"
    path.write_text(HOSTILE)
    async with opened(path) as pilot:
        assert "[red]a[bold].mlir" in await everything_on_screen(pilot)
        await press(pilot, "2", "slash", *"[/", "enter")
        assert "“[/”" in bar(pilot, "ir-title")


async def test_a_line_of_ten_megabytes_is_cut_to_the_screen(tmp_path: Path) -> None:
    path = tmp_path / "x.mlir"
    values = ", ".join(str(number) for number in range(1_300_000))
    path.write_text(f'func.func @f() {{\n  "test.op"() {{a = [{values}]}} : () -> ()\n  return\n}}\n')
    async with opened(path, (120, 40)) as pilot:
        ir = trace_screen(pilot).ir
        await press(pilot, "2", "j")
        since = time.perf_counter()
        for column in (0, 5_000_000, ir.document.lines.longest - 200):
            ir.scroll_to(x=column, animate=False)
            await pilot.pause()
            assert len(lines_of(ir)[1]) <= 120
        assert time.perf_counter() - since < 2
        await press(pilot, "slash", *"1299999", "enter")
        await settle(pilot)
        assert "1299999" in lines_of(ir)[1]


async def test_regions_ten_thousand_deep(tmp_path: Path) -> None:
    path = tmp_path / "deep.mlir"
    depth = 10_000
    path.write_text('"test.op"() ({\n' * depth + "}) : () -> ()\n" * depth)
    async with opened(path) as pilot:
        ir = trace_screen(pilot).ir
        assert len(ir.state.folds.ranges) > 9_000
        await press(pilot, "2", "colon", *"9000", "enter")
        assert ir.state.line == 8_999
        await press(pilot, "z", "Z", "Z", "G")
        assert ir.state.line == 2 * depth - 1


async def test_text_that_is_no_program_is_counted_and_shown(tmp_path: Path) -> None:
    path = tmp_path / "x.mlir"
    path.write_text("module {\n  %0 = tt.load %nowhere : !tt.ptr<f16>\n  ]]] what is this\n}\n")
    async with opened(path) as pilot:
        screen = trace_screen(pilot)
        rows = rows_of(screen.findings)
        assert any("undefined-value" in row for row in rows)
        assert "what is this" in "".join(lines_of(screen.ir))


async def test_a_reader_that_fails_is_reported_and_the_text_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.mlir"
    path.write_text("module {\n}\n")

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a fault of [ours]")

    monkeypatch.setattr("passlens.ir.trace.parse", broken)
    async with opened(path) as pilot:
        assert "module {" in "".join(lines_of(trace_screen(pilot).ir))
        assert any("a fault of [ours]" in row for row in rows_of(trace_screen(pilot).findings))


async def test_bytes_that_are_no_utf8_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "x.mlir"
    path.write_bytes(b'module {\n  "a.b"() {x = "\xff\xfe"} : () -> ()\n}\n')
    async with opened(path) as pilot:
        assert '"\\xff\\xfe"' in "".join(lines_of(trace_screen(pilot).ir))


@pytest.mark.parametrize("size", [(20, 6), (1, 1), (40, 10)])
async def test_tiny_screens_draw_something_and_take_keys(size: tuple[int, int], tmp_path: Path) -> None:
    path = tmp_path / "x.mlir"
    path.write_text("module {\n  func.func @f() {\n    return\n  }\n}\n")
    async with opened(path, size) as pilot:
        await press(pilot, "2", "j", "z", "i", "m", "slash", "r", "enter", "n")
        assert isinstance(pilot.app.focused, IrPane)


def test_names_in_other_scopes_are_not_mixed_up() -> None:
    from passlens.tui.widgets.places import index_program, tokens

    text = "func.func @a(%x: i32) {\n  return %x : i32\n}\nfunc.func @b(%x: i32) {\n  return %x : i32\n}\n"
    index = index_program(parse(text, "mlir"))
    values = [index.value_at(token) for token in tokens(text, 0, len(text), "mlir", index)]
    assert values[0] is values[1] and values[2] is values[3] and values[0] is not values[2]
