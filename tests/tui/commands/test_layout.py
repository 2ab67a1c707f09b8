"""`passlens layout`: pictures, two layouts side by side, values by name, and what cannot be meant."""

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from passlens.tui.cli import main

REPRODUCIBLE = str(Path(__file__).parents[2] / "golden" / "seeds" / "triton_reproducible.mlir")
ROWS = "#ttg.blocked<{sizePerThread = [1, 2], threadsPerWarp = [8, 4], warpsPerCTA = [2, 1], order = [1, 0]}>"
TURNED = (
    "#ttg.blocked<{sizePerThread = [2, 1], threadsPerWarp = [4, 8], warpsPerCTA = [1, 2], order = [0, 1]}>"
)
SHARED = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>"


def output(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert main(["layout", *args]) == 0
    return capsys.readouterr().out


def test_the_picture_names_lane_and_register_of_every_element(capsys: pytest.CaptureFixture[str]) -> None:
    lines = output(capsys, ROWS, "--shape", "16x8").splitlines()
    rows = [line.split() for line in lines if re.match(r" *\d+  ", line)]
    cells = {(int(row[0]), column): cell for row in rows for column, cell in enumerate(row[1:])}
    assert len(cells) == 128
    assert (cells[0, 0], cells[0, 1], cells[0, 2], cells[1, 0]) == ("T0:0", "T0:1", "T1:0", "T4:0")
    assert (cells[8, 0], cells[15, 7]) == ("W1T0:0", "W1T31:1")
    assert "2 neighbours along dimension 1, 8 bytes an access" in lines[2]


def test_views_by_thread_and_by_basis(capsys: pytest.CaptureFixture[str]) -> None:
    threads = output(capsys, ROWS, "--shape", "16x8", "--view", "thread")
    assert "block 0 warp 1 lane  5: (9,2) (9,3)" in threads
    assert "warp            2  (8, 0)" in output(capsys, ROWS, "--shape", "16x8", "--view", "hardware")


def test_two_layouts_and_the_convert_between(capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, ROWS, "--shape", "16x8", "--to", TURNED)
    stars = text.count("*") - 1
    moved = re.search(r"(\d+) of 256 held elements", text) or re.search(r"(\d+) of (\d+) held", text)
    assert moved is not None and 0 < stars <= int(moved.group(1))
    assert "convert: through shared memory" in text
    assert "convert: nothing" in output(capsys, ROWS, "--shape", "16x8", "--to", ROWS)


def test_a_memory_layout_is_read_through_registers(capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, ROWS, "--shape", "32x64", "--elem", "f16", "--to", SHARED)
    assert "8-way bank conflicts" in text
    data = json.loads(output(capsys, SHARED, "--shape", "32x64", "--elem", "f16", "--to", ROWS, "--json"))
    assert data["banks"]["conflicts"] == 7 and data["convert"] is None


def test_a_value_of_a_dump_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(output(capsys, REPRODUCIBLE, "--value", "81", "--json"))
    (found,) = data["layouts"]
    assert found["shape"] == [256, 128] and "triton_gpu.blocked" in found["encoding"]
    assert found["title"].startswith("%81 : tensor<256x128x")


def test_the_svg_is_a_picture_of_the_window(capsys: pytest.CaptureFixture[str]) -> None:
    args = (ROWS, "--shape", "64x64", "--svg", "--rows", "8:12", "--cols", "0:4")
    text = output(capsys, *args)
    root = ElementTree.fromstring(text)
    assert len(root.findall(".//{*}rect")) == 16
    assert text == output(capsys, *args)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["#ttg.blocked<{", "--shape", "4"], "passlens"),
        ([ROWS], "--shape 16x16"),
        ([ROWS, "--shape", "4xx4"], "no shape"),
        ([ROWS, "--shape", "4x4", "--elem", "q7"], "no element type"),
        ([ROWS, "--shape", "4x4", "--rows", "9:2"], "--rows"),
        ([ROWS, "--shape", "4x4", "--strides", "1"], "--strides"),
        ([ROWS, "--shape", "4x4x4"], "passlens"),
        ([ROWS, "--shape", "3x5"], "passlens"),
        ([ROWS, "--shape", "1048576x1048576"], "too large"),
        (["#blocked", "--shape", "4x4"], "alias"),
        ([REPRODUCIBLE], "--value"),
        ([REPRODUCIBLE, "--value", "%zz"], "no value %zz"),
    ],
)
def test_what_cannot_be_meant_gets_a_message(
    args: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["layout", *args]) == 2
    err = capsys.readouterr().err
    assert said in err and "Traceback" not in err
