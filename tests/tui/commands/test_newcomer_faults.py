"""Faults that someone new to `plan`, `run`, `step` found by trying what they should not."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from passlens.ir.errors import InputError
from passlens.tui.cli import main
from passlens.tui.files import put_in_place, write_whole

ROOT = Path(__file__).parents[3]
CNN = str(ROOT / "samples/cnn_streamed.txt")
MODEL = str(ROOT / "samples/classifier.onnx")
TEXT = Path(CNN).read_text()


def told(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    """What a command that must fail with exit code 2 says."""
    assert main(list(args)) == 2
    return capsys.readouterr().err


def started(
    *args: str, stdin: bytes = b"", to: str | None = None, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """The command line in a process of its own."""
    code = "import sys; from passlens.tui.cli import main; sys.exit(main())"
    with open(to or os.devnull, "wb") as device:
        return subprocess.run(
            [sys.executable, "-c", code, *args],
            input=stdin,
            stdout=device if to else subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment},
            timeout=60,
            check=False,
        )


def model(path: Path, node: onnx.NodeProto, shape: list[int | str], weight: tuple[int, ...]) -> str:
    """A file with a model of one operator on `x` and ones `w`."""
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.ones(weight, np.float32), "w")],
    )
    path.write_bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()
    )
    return str(path)


class TestWriting:
    def test_a_pipe_is_written_to_and_stays_a_pipe(self, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        got: list[str] = []
        reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
        reader.start()
        write_whole(str(pipe), "text")
        reader.join(10)
        assert got == ["text"]
        assert stat.S_ISFIFO(pipe.stat().st_mode)

    def test_a_recorded_log_does_not_replace_a_pipe(self, tmp_path: Path) -> None:
        pipe, log = tmp_path / "pipe", tmp_path / "log"
        os.mkfifo(pipe)
        log.write_text("dump")
        got: list[str] = []
        reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
        reader.start()
        put_in_place(str(log), str(pipe))
        reader.join(10)
        assert got == ["dump"]
        assert stat.S_ISFIFO(pipe.stat().st_mode)

    @pytest.mark.skipif(os.geteuid() == 0, reason="a fault would replace the device")
    def test_a_full_device_is_told(self) -> None:
        with pytest.raises(InputError, match="No space left"):
            write_whole("/dev/full", "text")

    def test_a_link_is_written_through(self, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to("file")
        write_whole(str(tmp_path / "link"), "text")
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "file").read_text() == "text"

    def test_the_mode_of_a_file_is_kept(self, tmp_path: Path) -> None:
        path = tmp_path / "file"
        path.touch()
        path.chmod(0o600)
        write_whole(str(path), "text")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    @pytest.mark.parametrize("command", [["plan"], ["step"]])
    def test_the_input_is_not_written_over(
        self, command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = tmp_path / "in.txt"
        path.write_text(TEXT)
        (tmp_path / "link").symlink_to("in.txt")
        assert "is the input itself" in told(capsys, *command, str(path), "-o", str(tmp_path / "link"))
        assert path.read_text() == TEXT

    def test_a_plan_that_is_not_valid_is_not_written(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        damaged, out = tmp_path / "damaged.txt", tmp_path / "out.txt"
        damaged.write_text("\n".join(each for n, each in enumerate(TEXT.splitlines()) if n % 6 != 5))
        out.write_text("old")
        assert main(["plan", str(damaged), "-o", str(out)]) == 1
        assert "is not written" in capsys.readouterr().err
        assert out.read_text() == "old"

    @pytest.mark.parametrize("option", ["-o", "--write-baseline", "--write-golden"])
    def test_what_is_linted_is_not_written_over(
        self, option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = tmp_path / "in.txt"
        path.write_text(TEXT)
        assert "is the input itself" in told(capsys, "lint", str(tmp_path), option, str(path))
        assert path.read_text() == TEXT

    def test_one_path_for_two_files(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        out = str(tmp_path / "out")
        assert "give two paths" in told(capsys, "plan", CNN, "-o", out, "--perfetto", out)

    @pytest.mark.parametrize(("path", "said"), [("", "is empty"), ("-", "give a file")])
    @pytest.mark.parametrize("option", ["-o", "--perfetto"])
    def test_no_path(self, option: str, path: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert said in told(capsys, "plan", CNN, option, path)
        assert not Path("-").exists()

    def test_a_step_leaves_the_old_file_if_it_cannot_write(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert "it is a folder" in told(capsys, "step", CNN, "-o", str(tmp_path))


class TestStandardStreams:
    @pytest.mark.parametrize(
        "args", [("plan", CNN, "--all"), ("run", MODEL, "--device", "reference", "--budget", "0")]
    )
    @pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
    def test_letters_that_the_encoding_lacks(self, args: tuple[str, ...], encoding: str) -> None:
        done = started(*args, PYTHONIOENCODING=encoding)
        assert (done.returncode, done.stderr) == (0, b"")
        text = done.stdout.decode(encoding)
        assert ("µs" if encoding == "latin-1" else " us") in text

    @pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="there is no /dev/full")
    @pytest.mark.parametrize("args", [("devices",), ("plan", CNN)])
    def test_a_full_disk_behind_standard_output(self, args: tuple[str, ...]) -> None:
        done = started(*args, to="/dev/full")
        assert done.returncode == 2
        assert done.stderr.decode().strip() == "passlens: standard output or input: No space left on device"

    @pytest.mark.parametrize(
        ("file", "end"), [(MODEL, "<stdin> is lowered"), (CNN, "the plan is carried out")]
    )
    def test_step_finds_its_pass_for_standard_input(self, file: str, end: str) -> None:
        done = started("step", "-", stdin=Path(file).read_bytes())
        assert done.stdout.decode().strip().endswith(end), done.stderr


class TestOptions:
    def test_a_budget_may_be_a_share(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert "25%, or auto" in told(capsys, "plan", CNN, "--budget", "nan")

    @pytest.mark.parametrize("name", ["cuda:-1", "cuda:x", "cuda:"])
    def test_a_device_that_cannot_be(self, name: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert "there is no device" in told(capsys, "run", CNN, "--device", name)

    def test_a_dump_has_no_open_dimension(self, capsys: pytest.CaptureFixture[str]) -> None:
        said = told(capsys, "run", CNN, "--device", "simulate", "--dim", "batch=3")
        assert "no ONNX model: --dim batch=3" in said

    @pytest.mark.parametrize("option", [("--workers", "0"), ("--workers", "-1"), ("--memory-limit", "-1")])
    def test_numbers_of_lint(self, option: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
        assert f"{' '.join(option)}: expected" in told(capsys, "lint", CNN, *option)

    def test_less_than_no_rounds(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert "expected rounds" in told(capsys, "run", CNN, "--device", "reference", "--repeat", "-1")

    def test_results_that_are_not_finite_are_json(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = model(tmp_path / "m.onnx", helper.make_node("Div", ["w", "z"], ["y"]), [2], (2,))
        made = onnx.load(path)
        made.graph.node.insert(0, helper.make_node("Sub", ["x", "x"], ["z"]))
        Path(path).write_bytes(made.SerializeToString())
        assert main(["run", path, "--device", "reference", "--json"]) == 0
        found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
        assert [each["mean"] for each in found["outputs"]] == [None]


class TestDamagedListings:
    def damaged(self, tmp_path: Path, text: str) -> str:
        path = tmp_path / "damaged.txt"
        path.write_text(text)
        return str(path)

    def test_lines_in_reverse(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = self.damaged(tmp_path, "\n".join(reversed(TEXT.splitlines())))
        assert "no instruction that could be read" in told(capsys, "plan", path)

    def test_an_instruction_of_itself(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        text = re.sub(r"@(\d+) = ([^\n]*?)\(@\d+", r"@\1 = \2(@\1", TEXT)
        said = told(capsys, "run", self.damaged(tmp_path, text), "--device", "reference")
        assert "is made from itself" in said

    @pytest.mark.parametrize("name", ["fp8e5m2fnuz_type", "no_type"])
    def test_types_that_cannot_be_computed(
        self, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = self.damaged(tmp_path, TEXT.replace("float_type", name))
        assert "expected one of f64" in told(capsys, "run", path, "--device", "simulate")

    def test_a_kernel_without_operands(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        text = re.sub(r"(gpu::code_object\[[^\n]*?\])\([^\n]*?\)( -> )", r"\1\2", TEXT)
        assert text != TEXT
        said = told(capsys, "run", self.damaged(tmp_path, text), "--device", "reference")
        assert "0 operands" in said

    def test_a_result_that_nothing_makes(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        lines = TEXT.rstrip().splitlines()
        at = next(n for n, each in enumerate(lines) if "@return" in each)
        del lines[at - 1]
        path = self.damaged(tmp_path, "\n".join(lines))
        assert "is returned and no" in told(capsys, "run", path, "--device", "reference")

    def test_a_result_of_an_event(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        text = (ROOT / "samples/cnn_streamed_prefetch.txt").read_text()
        line = next(each for each in text.splitlines() if "gpu::record_event" in each)
        name = line.partition(" = ")[0].strip()
        rest = text.partition(line)[2]
        reader = next(each for each in rest.splitlines() if "gpu::code_object" in each)
        text = text.replace(reader, re.sub(r"\]\(@\w+", f"]({name}", reader))
        assert "is an operand of" in told(capsys, "plan", self.damaged(tmp_path, text))


class TestModels:
    @pytest.mark.parametrize("shape", [[1, 5], ["n", "m"]])
    def test_matrices_that_do_not_fit(
        self, shape: list[int | str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = model(tmp_path / "m.onnx", helper.make_node("MatMul", ["x", "w"], ["y"]), shape, (4, 4))
        said = told(capsys, "plan", path)
        assert "times columns of 4, which must be equal" in said
        assert "--dim" in said

    def test_a_window_larger_than_its_input(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        node = helper.make_node("Conv", ["x", "w"], ["y"], dilations=[100, 100])
        path = model(tmp_path / "m.onnx", node, [1, 4, 8, 8], (4, 4, 3, 3))
        assert "does not fit into [8, 8]" in told(capsys, "plan", path)

    @pytest.mark.parametrize("rows", [2**40, 2**60])
    def test_more_data_than_memory(
        self, rows: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        node = helper.make_node("MatMul", ["x", "w"], ["y"])
        path = model(tmp_path / "m.onnx", node, [rows, 4], (4, 4))
        assert "and this machine has" in told(capsys, "run", path, "--device", "reference")

    def test_a_result_larger_than_memory(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[2**40] * 4)
        path = model(tmp_path / "m.onnx", node, [1, 4, 8, 8], (4, 4, 3, 3))
        assert "cannot be computed" in told(capsys, "run", path, "--device", "reference")
