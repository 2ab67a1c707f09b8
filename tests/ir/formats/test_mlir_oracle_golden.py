"""The MLIR reader beside libtriton: recorded walks of real modules, and live questions to the real parser.

tests/golden/triton/README.md says how the recordings are made. The live tests are marked `oracle`; they
need PASSLENS_ORACLE, the folder that tests/oracle/setup.sh filled.
"""

from __future__ import annotations

import functools
import json
import lzma
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from passlens.ir import edit
from passlens.ir.formats.mlir import parse_mlir, print_mlir
from passlens.ir.formats.mlir_text import expand_aliases
from passlens.ir.program import Block, Op, Program, Value, walk
from passlens.ir.types import TensorType
from passlens.ir.verify import verify

TESTS = Path(__file__).parents[2]
FILES = sorted((TESTS / "golden" / "triton").glob("*/*.jsonl.xz"))
LIVE = [path for path in FILES if path.name.startswith(("hip-gfx942", "cuda-90"))]


def name_of(path: Path) -> str:
    return f"{path.parent.name}-{path.name.partition('.')[0]}"


every_file = pytest.mark.parametrize("path", FILES, ids=name_of)


@functools.cache
def records(path: Path) -> list[dict[str, Any]]:
    with lzma.open(path, "rt") as lines:
        return [json.loads(line) for line in lines]


def texts(path: Path) -> Iterator[tuple[str, str, list[Any]]]:
    """(what it is, text, libtriton's walk) of each recorded text."""
    for record in records(path):
        theirs = with_types(record["walk"], record["types"])
        for form in ("text", "generic"):
            if form in record:
                yield f"{record['kernel']} {record['stage']} {form}", record[form], theirs


def with_types(ops: list[Any], types: list[str]) -> list[Any]:
    """The walk that tests/oracle/walk.py prints, with the types that its numbers stand for."""
    return [
        [
            name,
            operands,
            [types[number] for number in results],
            [[[types[number] for number in block] for block in region] for region in regions],
        ]
        for name, operands, results, regions in ops
    ]


def walked(program: Program) -> list[list[Any]]:
    """Our walk in the words of tests/oracle/walk.py."""
    ops = list(walk(program))
    places = {id(op): at for at, op in enumerate(ops)}
    blocks = {
        id(block): [places[id(op)], r, b]
        for op in ops
        for r, region in enumerate(op.regions)
        for b, block in enumerate(region.blocks)
    }
    full = functools.cache(lambda text: expand_aliases(text, program.aliases))

    def identity(value: Value) -> list[Any]:
        if isinstance(value.owner, Op):
            return [places[id(value.owner)], value.index]
        if isinstance(value.owner, Block):
            return [*blocks[id(value.owner)], value.index]
        return ["undefined", value.name]

    def types(values: list[Value]) -> list[str]:
        return [full(value.type.text) for value in values]

    return [
        [
            op.name,
            [identity(value) for value in op.operands],
            types(op.results),
            [[types(block.args) for block in region.blocks] for region in op.regions],
        ]
        for op in ops
    ]


def structure(ops: list[Any]) -> list[Any]:
    """A walk without types, and without what text cannot say: regions without blocks (a declaration's,
    an `else` that is not there)."""
    return [
        [name, operands, len(results), [[len(block) for block in region] for region in regions if region]]
        for name, operands, results, regions in ops
    ]


def type_list(ops: list[Any]) -> list[tuple[str, list[str]]]:
    """Each op's name with its results' types and then its blocks' arguments'."""
    return [
        (name, [*results, *(type for region in regions for block in region for type in block)])
        for name, _, results, regions in ops
    ]


def first_difference(ours: list[Any], theirs: list[Any]) -> str:
    for at, (our, their) in enumerate(zip(ours, theirs, strict=False)):
        if our != their:
            return f"op {at}: ours {our}, libtriton {their}"
    return f"ours {len(ours)} ops, libtriton {len(theirs)}"


def test_the_recordings_are_the_ones_that_the_issue_asks_for() -> None:
    found = {name_of(path): {record["kernel"] for record in records(path)} for path in FILES}
    for version in ("3.0.0", "3.9.0"):
        for target in ("hip-gfx942", "cuda-90"):
            kernels = found[f"{version}-{target}"]
            assert len(kernels) >= 25
            assert {"softmax_row", "layer_norm", "persistent_matmul", "attention", "arg_max"} <= kernels
            assert {"scatter_rows", "branch_tiles"} <= kernels
    assert "specialised_matmul" in found["3.9.0-cuda-90"]


@functools.cache
def findings(path: Path) -> dict[str, list[str]]:
    """What is wrong with our reading of each text of a file, by the kind of fault; each text is read once."""
    found: dict[str, list[str]] = {"structure": [], "types": [], "bytes": [], "said": [], "uses": []}
    for what, text, theirs in texts(path):
        program = parse_mlir(text)
        ours = walked(program)
        for kind, view in (("structure", structure), ("types", type_list)):
            if view(ours) != view(theirs):
                found[kind].append(f"{what}: {first_difference(view(ours), view(theirs))}")
        if print_mlir(program) != text:
            found["bytes"].append(what)
        found["said"] += [f"{what}: {said}" for said in [*program.diagnostics, *verify(program)][:1]]
        found["uses"] += [f"{what}: {op.name}" for op in walk(program) if not uses_agree(op)]
    return found


def uses_agree(op: Op) -> bool:
    """Whether the uses of an op's operands name it, and the users of its results hold them."""
    return all(value.uses.count((op, k)) == 1 for k, value in enumerate(op.operands)) and all(
        user.operands[k] is value for value in op.results for user, k in value.uses
    )


@every_file
def test_ops_and_operands_are_those_of_libtriton(path: Path) -> None:
    assert findings(path)["structure"] == []


@every_file
def test_types_are_those_of_libtriton(path: Path) -> None:
    assert findings(path)["types"] == []


@every_file
def test_reading_and_writing_gives_the_same_bytes_back(path: Path) -> None:
    assert findings(path)["bytes"] == []


@every_file
def test_real_modules_leave_nothing_to_complain_about(path: Path) -> None:
    assert findings(path)["said"] == []


@every_file
def test_uses_say_what_operands_say(path: Path) -> None:
    assert findings(path)["uses"] == []


# Edits. Each changes a program and says whether it found something to change.


def rename_every_value(program: Program) -> bool:
    edit.rename_all(program, "renamed")
    return True


def erase_dead_ops(program: Program) -> bool:
    """Pure ops without uses, and what that leaves without uses; one such op is made first."""
    pure = ("arith.", "math.", "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.make_range")
    insert_clone(program)
    erased = 0
    for op in reversed(list(walk(program))):
        if op.name.startswith(pure) and op.results and not any(value.uses for value in op.results):
            edit.erase(op)
            erased += 1
    return erased > 0


def insert_clone(program: Program) -> bool:
    """A copy of the first op that computes on tensors, in front of it."""
    for op in walk(program):
        if op.name.startswith(("arith.add", "arith.mul")) and op.block is not None:
            edit.insert_before(op, edit.clone(op))
            return True
    return False


def insert_convert(program: Program) -> bool:
    """A convert_layout of a tensor to its own layout, between the value and all its uses."""
    dialect = "ttg" if "ttg.num-warps" in program.text else "triton_gpu"
    for op in walk(program):
        if not op.name.startswith("arith.add") or not isinstance(op.results[0].type, TensorType):
            continue
        old = op.results[0]
        uses = list(old.uses)
        if not uses or op.block is None:
            continue
        after = op.block.ops[op.block.ops.index(op) + 1]
        new = edit.create(f"{dialect}.convert_layout", [old], [old.type], before=after)
        edit.replace_all_uses(old, new.results[0], lambda use, uses=uses: use in uses)
        return True
    return False


def retarget_operand(program: Program) -> bool:
    """The second operand of an addition becomes its first."""
    for op in walk(program):
        if op.name.startswith("arith.add") and op.operands[0] is not op.operands[1]:
            edit.set_operand(op, 1, op.operands[0])
            return True
    return False


def constants_of_their_own(program: Program) -> bool:
    """Each use of a constant gets a copy of it: operands change in every kind of op, loops included."""
    changed = False
    for op in [op for op in walk(program) if op.name == "arith.constant"]:
        for user, k in list(op.results[0].uses)[1:]:
            copy = edit.clone(op)
            edit.insert_before(op, copy)
            edit.set_operand(user, k, copy.results[0])
            changed = True
    return changed


EDITS: list[Callable[[Program], bool]] = [
    rename_every_value,
    erase_dead_ops,
    insert_clone,
    insert_convert,
    retarget_operand,
    constants_of_their_own,
]
every_edit = pytest.mark.parametrize("change", EDITS, ids=lambda change: change.__name__)


@every_file
@every_edit
def test_an_edited_program_reads_back_as_what_it_became(
    path: Path, change: Callable[[Program], bool]
) -> None:
    changed = 0
    for record in records(path)[EDITS.index(change) :: len(EDITS)]:  # the live tests edit all of them
        what, program = f"{record['kernel']} {record['stage']}", parse_mlir(record["text"])
        changed += change(program)
        again = parse_mlir(print_mlir(program))
        assert walked(again) == walked(program), what
        assert verify(again) == [], what
    assert changed > 0


# Live: the real parser of the version that wrote the text.


def interpreter(version: str) -> str:
    folder = os.environ.get("PASSLENS_ORACLE")
    assert folder, "PASSLENS_ORACLE does not name the folder that tests/oracle/setup.sh filled"
    return str(Path(folder).resolve() / {"3.0.0": "t30", "3.9.0": "t39"}[version] / "bin" / "python")


def ask(version: str, script: str, *arguments: str) -> list[str]:
    """Lines that an oracle script prints; a refusal (status 1) is an answer, a crash is not."""
    command = [interpreter(version), str(TESTS / "oracle" / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode in (0, 1), f"{done.stdout[-500:]}\n{done.stderr[-2000:]}"
    return done.stdout.splitlines()


def real_walks(version: str, files: list[str]) -> dict[str, list[Any]]:
    """libtriton's walk of each file."""
    found: dict[str, list[Any]] = {}
    types: list[str] = []
    file = ""
    for line in ask(version, "walk.py", *files):
        answer = json.loads(line)
        if isinstance(answer, dict):
            file, types = answer["file"], answer["types"]
            found[file] = []
        else:
            found[file] += with_types([answer], types)
    return found


@pytest.mark.oracle
@pytest.mark.parametrize("path", FILES, ids=name_of)
@every_edit
def test_libtriton_takes_an_edited_program(
    path: Path, change: Callable[[Program], bool], tmp_path: Path
) -> None:
    edited: dict[str, Program] = {}
    for what, text, _ in texts(path):
        program = parse_mlir(text)
        if change(program):
            file = tmp_path / f"{what.replace(' ', '.')}.mlir"
            file.write_text(print_mlir(program))
            edited[str(file)] = program
    assert edited
    answers = [json.loads(line) for line in ask(path.parent.name, "accept.py", *edited)]
    assert [f"{a['file']}: {a['error'][:300]}" for a in answers if not a["ok"]] == []
    assert len(answers) == len(edited)


@pytest.mark.oracle
@pytest.mark.parametrize("path", LIVE, ids=name_of)
def test_libtriton_walks_an_edited_program_as_we_do(path: Path, tmp_path: Path) -> None:
    edited: dict[str, Program] = {}
    for what, text, _ in texts(path):
        program = parse_mlir(text)
        rename_every_value(program)
        if insert_convert(program) | constants_of_their_own(program):
            file = tmp_path / f"{what.replace(' ', '.')}.mlir"
            file.write_text(print_mlir(program))
            edited[str(file)] = program
    theirs = real_walks(path.parent.name, list(edited))
    wrong = []
    for file, program in edited.items():
        for view in (structure, type_list):
            ours, real = view(walked(program)), view(theirs[file])
            if ours != real:
                wrong.append(f"{Path(file).name}: {first_difference(ours, real)}")
    assert wrong == []


@pytest.mark.oracle
@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_the_recordings_are_what_libtriton_says_today(path: Path, tmp_path: Path) -> None:
    expected: dict[str, list[Any]] = {}
    for record in records(path):
        file = tmp_path / f"{record['kernel']}.{record['stage']}.mlir"
        file.write_text(record["text"])
        expected[str(file)] = with_types(record["walk"], record["types"])
    assert real_walks(path.parent.name, list(expected)) == expected
