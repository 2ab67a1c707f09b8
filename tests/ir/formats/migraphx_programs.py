"""Random MIGraphX programs and random edits of them; a seed gives the same ones each time."""

from __future__ import annotations

from random import Random

from passlens.ir import edit
from passlens.ir.formats.migraphx_shapes import parse_shape
from passlens.ir.program import Op, Program, Value, symbol, walk

SHAPES = [
    "float_type, {1}, {0}", "half_type, {2, 3}, {3, 1}", "[float_type, {2}, {1}, int64_type, {3}, {1}]",
    "dynamic, float_type, {[1..4], 3}", "float_type, {n[1..8], 3}, {3, 1}", "float_type, {}, {}",
]  # fmt: skip
BRACKETS = [
    "", "[axis=0]", "[dims={2, 3},]", "[op={padding={1, 1},mode=[a, b]},k=1]", "[text=a]b,k=1]", "[text=a[b,k=1]",
    "[abc]", "[abc,k=1]", "[a=]", "[shape=int8_type, {4}, {1},id=main:scratch]", "[]",
]  # fmt: skip
SUFFIXES = [
    "", "", "", ": 0.5ms, 4%", ": 1e-05ms", ": weight=2 input={0,} stream=1", ": weight=0 input={}", " # Add_1, Mul_2",
    ", target_id=1", ", target_id=2: 0.1ms, 1% # Add_3",
]  # fmt: skip
PARAMETERS = ["x", "a, b (c)", "in 1", "x -> y", "main:#output_0", "p = q", "a"]


def listing(seed: int) -> str:
    """A program of a few modules: names with and without their module, defined twice, or nowhere."""
    random = Random(seed)
    modules = ["main", *random.sample(["m", "main:#p", "m:inner", "If_0_if"], random.randint(0, 3))]
    outer: list[str] = []
    texts = []
    runs = random.random() < 0.15
    for index, module in enumerate(modules):
        children = [m for m in modules[index + 1 :] if random.random() < 0.6]
        lines, outer = _module(random, module, children, outer, runs)
        header = [] if runs and module == "main" else [f'module: "{module}"']
        texts.append("\n".join([*header, *lines]))
    return "\n\n".join(texts) + random.choice(["\n", "", "\n\n"])


def _module(
    random: Random, module: str, children: list[str], outer: list[str], runs: bool
) -> tuple[list[str], list[str]]:
    prefix = f"{module}:" if random.random() < (0.2 if module == "main" else 0.7) else ""
    lines, names = [], []
    for parameter in random.sample(PARAMETERS, random.randint(0, 3)):
        names.append(prefix + parameter)
        lines.append(f"{names[-1]} = @param:{parameter} -> {random.choice(SHAPES)}{random.choice(SUFFIXES)}")
    for number in range(random.randint(1, 7)):
        pool = [*names, *outer] if random.random() < 0.95 else ["@77", "ghost", "k:@0"]
        arguments = [random.choice(pool) for _ in range(random.randint(0, 3))] if pool else []
        again = [name for name in names if "@" in name]
        name = random.choice(again) if again and random.random() < 0.05 else f"{prefix}@{number}"
        call = f"({','.join(arguments)})" if arguments else random.choice(["", "()"])
        child = f", [{children.pop()}]" if children and random.random() < 0.7 else ""
        head = random.choice(["add", "gpu::code_object", "hip::copy_to_gpu"]) + random.choice(BRACKETS) + call
        if not arguments and random.random() < 0.3:
            head = random.choice(["@literal{1, 2}", "@literal{ ... }"])
        lines.append(f"{name} = {head}{child} -> {random.choice(SHAPES)}{random.choice(SUFFIXES)}")
        if name not in names:
            names.append(name)
    if random.random() < 0.8:
        back = f"{prefix}@9 = " if random.random() < 0.7 else ""
        lines.append(f"{back}@return({','.join(names[-2:])})")
    if runs:
        lines = [f"Run instruction: {line}\nTime: 0.1ms, 0.2ms\nOutput: 0" for line in lines]
    return lines, [*outer, *names] if random.random() < 0.7 else names


def edit_at_random(program: Program, seed: int, steps: int) -> None:
    """Some of the edits that a pass or a person may make."""
    random = Random(seed)
    for _ in range(steps):
        ops = [op for op in walk(program) if op.name not in ("", "module")]
        if not ops:
            return
        random.choice(
            [_rename, _erase, _create, _replace, _attribute, _attribute, _clone, _retype, _module_edit]
        )(random, program, ops)


def _results(ops: list[Op]) -> list[Value]:
    return [value for op in ops for value in op.results]


def _rename(random: Random, program: Program, ops: list[Op]) -> None:
    # Without its definition, a name that holds a comma cannot be told from two.
    if values := [value for value in _results(ops) if "," not in value.name]:
        name = random.choice(
            ["@0", "@1", "@77", "x", "m:@0", "main:@1", "new", "main:#p:@2", "", "ghost", "k:@0"]
        )
        edit.rename(random.choice(values), name)


def _erase(random: Random, program: Program, ops: list[Op]) -> None:
    op = random.choice(ops)
    if not any(value.uses or "," in value.name for value in op.results):
        edit.erase(op)


def _near(random: Random, ops: list[Op], anchor: Op) -> list[Value]:
    own = [op for op in ops if op.block is anchor.block]
    values = _results(own[: own.index(anchor)])
    return [random.choice(values) for _ in range(random.randint(0, 2))] if values else []


def _create(random: Random, program: Program, ops: list[Op]) -> None:
    anchor = random.choice(ops)
    attributes = random.choice([{}, {"k": "1"}, {"target_id": "3"}, {"perf.ms": "2.5"}, {"unit": "unit"}])
    edit.create(
        "made", _near(random, ops, anchor), [parse_shape(random.choice(SHAPES))], attributes, before=anchor,
        names=random.choice([(), ("@0",), ("@77",), ("x",)]),
    )  # fmt: skip


def _replace(random: Random, program: Program, ops: list[Op]) -> None:
    op = random.choice(ops)
    values = _near(random, ops, op)
    if op.operands and values:
        edit.set_operand(op, random.randrange(len(op.operands)), values[0])


def _attribute(random: Random, program: Program, ops: list[Op]) -> None:
    op = random.choice(ops)
    key = random.choice(
        ["k", "axis", "text", "abc", "target_id", "perf.ms", "origin", "eval.ms", "schedule.weight"]
    )
    if op.name == "@param" and key in ("k", "axis", "text", "abc"):
        return
    if key in ("eval.ms", "schedule.weight") and key not in op.attributes:
        return
    if op.attributes.get(key) is None or random.random() < 0.7:
        edit.set_attribute(op, key, random.choice(["1", "7"]))
    elif key not in ("perf.ms", "schedule.weight", "eval.ms"):
        edit.set_attribute(op, key, None)


def _clone(random: Random, program: Program, ops: list[Op]) -> None:
    op = random.choice(ops)
    if op.results:
        edit.insert_after(op, edit.clone(op))


def _retype(random: Random, program: Program, ops: list[Op]) -> None:
    if values := _results(ops):
        edit.set_type(random.choice(values), parse_shape(random.choice(SHAPES)))


def _module_edit(random: Random, program: Program, ops: list[Op]) -> None:
    module = random.choice(program.ops)
    inside = [op for region in module.regions for op in region.blocks[0].ops]
    used = any(
        "," in value.name or any(user.block is not op.block for user, _ in value.uses)
        for op in inside
        for value in op.results
    )  # a list of arguments cannot be cut without the definition of a name that holds a comma
    if symbol(module) == "main" or random.random() < 0.5 or used:
        return
    edit.erase(module)


def damaged(text: str, seed: int) -> str:
    """A text that was cut, mistyped, wrapped, nested, marked by a logger, or mixed with other lines."""
    random = Random(seed)
    for _ in range(random.randint(1, 4)):
        if not text:
            break
        text = random.choice([_cut, _mistype, _lose, _wrap, _nest, _mark, _mix])(random, text)
    return text


def _cut(random: Random, text: str) -> str:
    return text[: random.randrange(len(text))]


def _mistype(random: Random, text: str) -> str:
    letters = list(text)
    for _ in range(random.randint(1, 20)):
        letters[random.randrange(len(letters))] = random.choice([*'[]{}() \n=,@\0\rü:"', "-> ", "# "])
    return "".join(letters)


def _lose(random: Random, text: str) -> str:
    place = random.randrange(len(text))
    return text[:place] + text[place + random.randrange(200) :]


def _wrap(random: Random, text: str) -> str:
    width = random.randint(5, 90)
    return "\n".join(
        row[at : at + width] for row in text.split("\n") for at in range(0, max(len(row), 1), width)
    )


def _nest(random: Random, text: str) -> str:
    place = random.randrange(len(text))
    return text[:place] + random.choice("[{(") * random.choice([1, 10, 10_000]) + text[place:]


def _mark(random: Random, text: str) -> str:
    marks = random.choice([["(Worker pid=3) "], ["(Worker pid=3) ", "", "[rank0]: "]])
    return "\n".join(random.choice(marks) + row for row in text.split("\n"))


def _mix(random: Random, text: str) -> str:
    rows = text.split("\n")
    if random.random() < 0.3:
        random.shuffle(rows)
    rows.insert(
        random.randrange(len(rows)),
        random.choice(
            ['module: "main"', "prose = here", "Pass: x", "x: 1ms", 'module: "m"', "Run instruction: "]
        ),
    )
    return "\n".join(rows)
