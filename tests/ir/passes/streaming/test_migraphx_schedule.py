"""MIGraphX's scheduler: its own tests' cases and more of the kind, on its tests' model and on the GPU's."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from passlens.ir.analysis.migraphx_summary import main_body
from passlens.ir.formats.migraphx import parse_migraphx
from passlens.ir.passes.step import Debugger
from passlens.ir.passes.streaming.migraphx_graph import ScheduleModel, fake_model, gpu_model
from passlens.ir.passes.streaming.migraphx_schedule import MigraphxSchedule
from passlens.ir.program import Op

SHAPE = "float_type, {8}, {1}"
GPU_NAMES = {"unary": "gpu::gemm", "nary": "gpu::code_object", "stream_free": "hip::allocate"}
WAITS = ("wait_event", "gpu::wait_event")


@dataclass
class Module:
    """A module put together as MIGraphX's tests do it."""

    on_gpu: bool = False
    lines: list[str] = field(default_factory=list)

    def add(self, op: str, *inputs: str) -> str:
        name = f"@{len(self.lines)}"
        op = GPU_NAMES.get(op, op) if self.on_gpu else op
        arguments = f"({','.join(inputs)})" if inputs else ""
        self.lines.append(f"{name} = {op}{arguments} -> {SHAPE}")
        return name

    def one(self) -> str:
        return self.add("@literal{1}")

    def u(self, *inputs: str) -> str:
        return self.add("unary", *inputs)

    def n(self, *inputs: str) -> str:
        return self.add("nary", *inputs)

    def i(self, *inputs: str) -> str:
        return self.add("identity", *inputs)

    def chain(self, count: int, start: str) -> list[str]:
        made = [self.u(start)]
        while len(made) < count:
            made.append(self.u(made[-1]))
        return made

    def scheduled(self, streams: int = 4) -> Scheduled:
        program = parse_migraphx("\n".join(['module: "main"', *self.lines]) + "\n")
        assert not program.diagnostics
        model = gpu_model(streams) if self.on_gpu else fake_model(streams)
        return Scheduled(main_body(program), Debugger(MigraphxSchedule(model), program), model)


class Scheduled:
    """What came of a module, asked as MIGraphX's tests ask."""

    def __init__(self, before: list[Op], debugger: Debugger, model: ScheduleModel) -> None:
        self.by_name = {op.results[0].name: op for op in before}
        self.model = model
        debugger.finish()
        self.ops = main_body(debugger.program)
        self.steps = debugger.known
        self.streams = debugger.facts.get("stream", {})

    def stream(self, name: str) -> int:
        found = self.streams[self.by_name[name]]
        assert isinstance(found, int)
        return found

    def has_stream(self, name: str) -> bool:
        return self.by_name[name] in self.streams

    def waits(self, name: str) -> set[int]:
        """Streams that the instructions right in front of one wait for, looking past identities."""
        at = self.ops.index(self.by_name[name]) - 1
        found: set[int] = set()
        recorded = {
            op.attributes["event"]: n for n, op in enumerate(self.ops) if op.name == "gpu::record_event"
        }
        while at >= 0 and (self.ops[at].name in ("identity", *WAITS)):
            op = self.ops[at]
            if op.name == "wait_event":
                found |= {int(word) for word in op.attributes["wait_for"].strip("{}").split(",")}
            elif op.name == "gpu::wait_event":
                producer = self.ops[recorded[op.attributes["event"]] - 1]
                found.add(self.streams[producer])
            at -= 1
        return found

    def foreign(self, name: str, *others: str) -> set[int]:
        return {self.stream(other) for other in others} - {self.stream(name)}

    def conflict(self, one: str, other: str) -> bool:
        a, b = (self.by_name[name].results[0] for name in (one, other))
        return any(op.name == "identity" and a in op.operands and b in op.operands for op in self.ops)

    def check_conflicts(self, *groups: list[str], wanted: bool = True) -> None:
        for n, one in enumerate(groups):
            for other in groups[n + 1 :]:
                for a in one:
                    for b in other:
                        if self.streams.get(self.by_name[a], -1) != self.streams.get(self.by_name[b], -2):
                            assert self.conflict(a, b) is wanted, (a, b)

    def count(self, op: str) -> int:
        return sum(each.name == op for each in self.ops)


@pytest.fixture(params=[False, True], ids=["tests' model", "GPU"])
def m(request: pytest.FixtureRequest) -> Module:
    return Module(request.param)


def test_single_entry(m: Module) -> None:
    one = m.one()
    u1, u2 = m.u(one), m.u(one)
    b = m.n(u1, u2)
    t = m.scheduled()
    assert not t.has_stream(one)
    assert t.stream(u1) != t.stream(u2)
    assert t.stream(b) == 0
    assert t.waits(b) == t.foreign(b, u1, u2) == {1}
    t.check_conflicts([u1], [u2])
    if m.on_gpu:
        assert (t.count("gpu::record_event"), t.count("gpu::wait_event")) == (1, 1)
        assert t.count("gpu::set_stream") in (2, 3)


def test_double_entry(m: Module) -> None:
    u1, u2 = m.u(m.one()), m.u(m.one())
    b = m.n(u1, u2)
    t = m.scheduled()
    assert t.stream(u1) != t.stream(u2)
    assert t.waits(b) == t.foreign(b, u1, u2) != set()
    t.check_conflicts([u1], [u2])


def test_stream_free(m: Module) -> None:
    one = m.one()
    u1, u2 = m.add("stream_free", one), m.add("stream_free", one)
    b = m.n(u1, u2)
    t = m.scheduled()
    assert not any(t.has_stream(name) for name in (one, u1, u2, b))
    assert not any(("stream" in op.name and op.name != "stream_free") or "event" in op.name for op in t.ops)


def test_zero_record(m: Module) -> None:
    one = m.one()
    u1, u2 = m.u(one), m.u(one)
    i1, i2 = m.i(u1), m.i(u2)
    b = m.n(i1, i2)
    t = m.scheduled()
    assert t.stream(u1) != t.stream(u2)
    assert not t.has_stream(i1)
    assert t.waits(b) == t.foreign(b, u1, u2) != set()
    t.check_conflicts([u1, i1], [u2, i2])
    if m.on_gpu:
        record = next(n for n, op in enumerate(t.ops) if op.name == "gpu::record_event")
        assert t.ops[record - 1] in (t.by_name[u1], t.by_name[u2])


@pytest.mark.parametrize("inner", [False, True])
def test_a_merge_of_no_weight_at_the_end(m: Module, inner: bool) -> None:
    one = m.one()
    u1, u2 = m.u(one), m.u(one)
    b = m.i(m.i(u1), m.i(u2)) if inner else m.i(u1, u2)
    t = m.scheduled()
    assert t.stream(u1) != t.stream(u2)
    assert not t.has_stream(b)
    assert t.waits(b) == set()
    assert not any(op.name in WAITS for op in t.ops)
    t.check_conflicts([u1], [u2])


@pytest.mark.parametrize("inner", [False, True])
def test_a_merge_of_no_weight_waits_where_weight_follows(m: Module, inner: bool) -> None:
    one = m.one()
    u1, u2 = m.u(one), m.u(one)
    b = m.i(m.i(u1), m.i(u2)) if inner else m.i(u1, u2)
    final = m.u(b)
    t = m.scheduled()
    assert t.stream(u1) != t.stream(u2)
    assert not t.has_stream(b)
    assert t.waits(b) == set()
    assert t.stream(final) == 0
    assert t.waits(final) == t.foreign(final, u1, u2) != set()
    t.check_conflicts([u1], [u2])


def test_two_branches(m: Module) -> None:
    one = m.one()
    c1 = m.chain(2, one)
    i1 = m.u(one)
    b = m.n(i1, c1[-1])
    t = m.scheduled()
    assert [t.stream(name) for name in (*c1, i1, b)] == [0, 0, 1, 0]
    assert t.waits(b) == {1}
    t.check_conflicts(c1, [i1])


def test_four_branches(m: Module) -> None:
    one = m.one()
    c1, c2, c3 = m.chain(4, one), m.chain(3, one), m.chain(2, one)
    i1 = m.u(one)
    b = m.n(i1, c1[-1], c2[-1], c3[-1])
    t = m.scheduled()
    for stream, group in enumerate((c1, c2, c3, [i1])):
        assert {t.stream(name) for name in group} == {stream}
    assert t.stream(b) == 0
    assert t.waits(b) == {1, 2, 3}
    t.check_conflicts(c1, c2, c3, [i1])


def test_five_branches(m: Module) -> None:
    one = m.one()
    c1, c2, c3, c4 = (m.chain(n, one) for n in (5, 4, 3, 2))
    i1 = m.u(one)
    b = m.n(i1, c1[-1], c2[-1], c3[-1], c4[-1])
    t = m.scheduled()
    for stream, group in ((0, c1), (1, c2), (2, c3), (3, c4), (3, [i1])):
        assert {t.stream(name) for name in group} == {stream}
    assert t.stream(b) == 0
    assert t.waits(b) == {1, 2, 3}
    if m.on_gpu:
        assert t.count("gpu::wait_event") == 3
    t.check_conflicts(c1, c2, c3, c4)
    t.check_conflicts(c1, c2, c3, [i1])


def test_four_equal_branches(m: Module) -> None:
    one = m.one()
    u = [m.u(one) for _ in range(4)]
    b = m.n(*u)
    t = m.scheduled()
    assert sorted(t.stream(name) for name in u) == [0, 1, 2, 3]
    assert t.stream(b) == 0
    assert t.waits(b) == {1, 2, 3}
    t.check_conflicts(*([name] for name in u))


def test_one_merge_after_the_other(m: Module) -> None:
    one = m.one()
    c1 = m.chain(2, one)
    i1 = m.u(one)
    b1 = m.n(i1, c1[-1])
    c2 = m.chain(2, b1)
    i2 = m.u(b1)
    b2 = m.n(i2, c2[-1])
    t = m.scheduled()
    assert t.stream(i1) != t.stream(c1[-1])
    assert {t.stream(name) for name in c1} == {t.stream(b1)}
    assert t.waits(b1) == t.foreign(b1, c1[-1], i1) != set()
    t.check_conflicts(c1, [i1])
    assert t.stream(i2) != t.stream(c2[-1])
    assert {t.stream(name) for name in c2} == {t.stream(b2)}
    assert t.waits(b2) == t.foreign(b2, c2[-1], i2) != set()
    t.check_conflicts(c2, [i2])
    # The first part is over before the second begins: b1 is on every way.
    t.check_conflicts([*c1, i1], [*c2, i2], wanted=False)


def parallel(
    m: Module, starts: list[str], outer: int
) -> tuple[dict[str, str], list[str], list[str], list[str]]:
    a = m.u(starts[0])
    c1, i1 = m.chain(3, a), m.u(a)
    b1 = m.n(i1, c1[-1])
    d = m.u(starts[-1])
    c2, i2 = m.chain(2, d), m.u(d)
    b2 = m.n(i2, c2[-1])
    outers = [m.u(starts[0]) for _ in range(outer)]
    b3 = m.n(b1, b2, *outers)
    return {"i1": i1, "b1": b1, "i2": i2, "b2": b2, "b3": b3}, c1, c2, outers


@pytest.mark.parametrize(("entries", "outer"), [(1, 0), (2, 0), (1, 2)])
def test_parallel_merges(m: Module, entries: int, outer: int) -> None:
    names, c1, c2, outers = parallel(m, [m.one() for _ in range(entries)], outer)
    i1, b1, i2, b2, b3 = names.values()
    t = m.scheduled()
    assert {t.stream(name) for name in (b3, b1, *c1)} == {0}
    assert t.stream(i1) != t.stream(i2)
    assert {t.stream(name) for name in c2} == {t.stream(b2)}
    assert t.stream(b2) not in (t.stream(i1), t.stream(i2))
    assert t.waits(b1) == t.foreign(b1, c1[-1], i1) != set()
    assert t.waits(b2) == t.foreign(b2, c2[-1], i2) != set()
    assert t.waits(b3) == t.foreign(b3, b1, b2, *outers)
    if outers:
        assert {t.stream(name) for name in outers} == {1, 2}
    assert t.conflict(b1, b2)
    t.check_conflicts(c1, [i1], c2, [i2])


def test_an_inner_split_is_waited_for_once(m: Module) -> None:
    one = m.one()
    c1 = m.chain(2, one)
    i1 = m.u(one)
    s1, s2 = m.u(c1[-1]), m.u(c1[-1])
    out = m.n(i1, s1, s2)
    t = m.scheduled()
    assert t.stream(out) == 0
    assert len({t.stream(name) for name in (i1, s1, s2)}) == 3
    assert t.waits(out) == t.foreign(out, i1, s1, s2)
    # One of the two goes on where the chain ran; the other waits for it.
    assert sorted([bool(t.waits(s1)), bool(t.waits(s2))]) == [False, True]
    t.check_conflicts(c1, [i1])
    t.check_conflicts([s1], [s2])


def test_an_inner_split_of_two_chains(m: Module) -> None:
    one = m.one()
    c1 = m.chain(2, one)
    i1 = m.u(one)
    s1, s2 = m.chain(3, c1[-1]), m.chain(4, c1[-1])
    out = m.n(i1, s1[-1], s2[-1])
    t = m.scheduled()
    assert t.stream(out) == 0
    assert len({t.stream(name) for name in (i1, s1[-1], s2[-1])}) == 3
    assert t.waits(out) == t.foreign(out, i1, s1[-1], s2[-1])
    assert t.waits(s1[0]) == {t.stream(c1[-1])}
    assert t.waits(s2[0]) == set()
    t.check_conflicts(c1, [i1])
    t.check_conflicts(s1, s2)


def test_a_wait_is_left_out_where_the_stream_waited_before(m: Module) -> None:
    """Both readers on stream 0 need one producer: it is recorded once and waited for once."""
    one = m.one()
    long = m.chain(4, one)
    side = m.u(one)
    first = m.n(long[-1], side)
    second = m.n(first, side)
    t = m.scheduled()
    assert t.stream(side) == 1
    assert t.stream(first) == t.stream(second) == 0
    assert t.waits(first) == {1}
    assert t.waits(second) == set()
    assert [step.kind for step in t.steps].count("record") == 1
    assert "elide" in {step.kind for step in t.steps}


def test_a_wait_is_left_out_where_the_producer_s_stream_waited(m: Module) -> None:
    """Stream 0 waits for `b`, whose stream has waited for `s`; to wait for `s` as well is not needed."""
    one = m.one()
    main = m.chain(12, one)
    s = m.u(one)
    middle = m.chain(5, one)
    b = m.n(middle[-1], s)
    tail = m.chain(2, b)
    first = m.n(main[-1], tail[-1])
    out = m.n(first, s)
    t = m.scheduled()
    assert len({t.stream(name) for name in (main[-1], b, s)}) == 3
    assert t.waits(b) == {t.stream(s)}
    assert t.waits(first) == {t.stream(b)}
    assert t.waits(out) == set()


def test_dead_parameters_stay() -> None:
    program = parse_migraphx(
        'module: "main"\n'
        f"x = @param:x -> {SHAPE}\n"
        f"y = @param:y -> {SHAPE}\n"
        f"@2 = nary(x,y) -> {SHAPE}\n"
        f"z = @param:z -> {SHAPE}\n"
        "@4 = @return(@2)\n"
    )
    debugger = Debugger(MigraphxSchedule(fake_model()), program)
    debugger.finish()
    names = [op.results[0].name if op.results else op.name for op in main_body(program)]
    assert sorted(names) == ["@2", "@return", "x", "y", "z"]
    assert names[0] == "z"
    assert "stream" not in debugger.facts


IF = f"""module: "main"
@0 = @literal{{1}} -> bool_type, {{1}}, {{0}}
x = @param:x -> {SHAPE}
y = @param:y -> {SHAPE}
@3 = if(@0), [then, else] -> [{SHAPE}, {SHAPE}]
@4 = get_tuple_elem[index=0](@3) -> {SHAPE}
@5 = get_tuple_elem[index=1](@3) -> {SHAPE}
@6 = @return(@4,@5)
module: "then"
@7 = unary(x) -> {SHAPE}
@8 = unary(@7) -> {SHAPE}
@9 = @return(@7,@8)
module: "else"
@10 = unary(y) -> {SHAPE}
@11 = unary(@10) -> {SHAPE}
@12 = @return(@10,@11)
"""


def test_branches_are_modules_of_their_own() -> None:
    program = parse_migraphx(IF)
    debugger = Debugger(MigraphxSchedule(fake_model()), program)
    debugger.finish()
    assert "stream" not in debugger.facts
    assert not any("event" in op.name for module in program.ops for op in module.regions[0].blocks[0].ops)
    partitioned = {op.results[0].name for op in debugger.facts["partition"] if op.results}
    assert {"@7", "@8", "@10", "@11", "@3"} <= partitioned
