"""Each rule about streaming with a program that it is for, one that it is not for, and one that is nearly."""

import pytest
from lint_programs import copy, end, everything, found, kernel, literal, load, migraphx, record, stream, wait
from passlens.ir.lint.rule import Limits

ON_USE = migraphx(
    literal("@3"), load("@4", 0, 1024), copy("@5", "@3", "@4"), load("@6", 1024, 2048), kernel("@7", "x", "@5", "@6"),
    end("@7"), arena=2048,
)  # fmt: skip
AHEAD = migraphx(
    literal("@3"), stream("@20", 1), load("@4", 0, 1024), copy("@5", "@3", "@4"), record("@21", 0), stream("@22", 0),
    load("@6", 1024, 2048), kernel("@7", "x", "@6"), wait("@23", 0), load("@8", 2048, 3072),
    kernel("@9", "@7", "@5", "@8"), end("@9"), arena=3072,
)  # fmt: skip
RESIDENT = migraphx(
    "@3 = hip::hip_copy_literal[id=main:@literal:3] -> float_type, {256}, {1}", load("@6", 0, 1024),
    kernel("@7", "x", "@3", "@6"), end("@7"), arena=1024,
)  # fmt: skip


def test_a_copy_in_front_of_its_use() -> None:
    (one,) = found(ON_USE, "PS101")
    assert (one.line, one.severity) == (7, "warning")
    assert "@5 (1,024 bytes)" in one.message
    assert not found(RESIDENT, "PS101")
    assert not found(AHEAD, "PS101")  # one kernel between: it may hide it


def test_a_copy_that_the_run_before_hides() -> None:
    # Waits for the first kernel of the run before only, so that the second one may run meanwhile.
    steady = migraphx(
        literal("@3"), load("@4", 0, 1024), stream("@20", 1), wait("@21", 1), copy("@5", "@3", "@4"),
        record("@22", 0), stream("@23", 0), load("@6", 1024, 2048), wait("@24", 0), kernel("@7", "x", "@5", "@6"),
        record("@25", 1), load("@8", 2048, 3072), kernel("@9", "@7", "@8"), end("@9"), arena=3072,
    )  # fmt: skip
    assert not found(steady, "PS101")
    behind = steady.replace(record("@25", 1) + "\n", "").replace(
        end("@9"), record("@25", 1) + "\n" + end("@9")
    )
    assert len(found(behind, "PS101")) == 1  # waits for all of the run before


def test_copies_on_the_stream_of_the_kernels() -> None:
    (one,) = found(ON_USE, "PS102")
    assert "1 copy of 1,024 bytes on stream 0, on which 1 kernel runs" in one.message
    assert not found(RESIDENT, "PS102")
    assert not found(AHEAD, "PS102")


def test_a_copy_that_events_put_in_order() -> None:
    # Behind the first kernel by event 5, in front of the second by event 0.
    late = migraphx(
        load("@6", 1024, 2048), kernel("@7", "x", "@6"), record("@25", 5), literal("@3"), stream("@20", 1),
        wait("@24", 5), load("@4", 0, 1024), copy("@5", "@3", "@4"), record("@21", 0), stream("@22", 0),
        wait("@23", 0), load("@10", 3072, 4096), kernel("@11", "@7", "@10"), load("@8", 2048, 3072),
        kernel("@9", "@11", "@5", "@8"), end("@9"),
    )  # fmt: skip
    (one,) = found(late, "PS103")
    assert "nothing runs under it" in one.message
    assert not found(AHEAD, "PS103")
    free = late.replace(wait("@24", 5) + "\n", "")
    assert not found(free, "PS103")  # it runs beside the first kernel


def test_what_nobody_uses() -> None:
    unused = ON_USE.replace(end("@7"), literal("@30") + "\n" + end("@7"))
    (one,) = found(unused, "PS104")
    assert "literal @30 (1,024 bytes) is used by nobody" in one.message
    dead = ON_USE.replace("(x,@5,@6)", "(x,@6)")
    assert "copied and then used by nobody" in found(dead, "PS104")[0].message
    assert not found(ON_USE, "PS104")
    returned = ON_USE.replace(end("@7"), literal("@30") + "\n@99 = @return(@7,@30)")
    assert not found(returned, "PS104")


def test_a_literal_copied_for_each_use() -> None:
    twice = migraphx(
        literal("@3"), load("@4", 0, 1024), copy("@5", "@3", "@4"), load("@6", 1024, 2048),
        kernel("@7", "x", "@5", "@6"), load("@8", 2048, 3072), copy("@9", "@3", "@8"), load("@10", 3072, 4096),
        kernel("@11", "@7", "@9", "@10"), end("@11"), arena=4096,
    )  # fmt: skip
    (one,) = found(twice, "PS105")
    assert "@3 (1,024 bytes) is copied 2 times (@5, @9)" in one.message
    once = twice.replace("(@7,@9,@10)", "(@7,@5,@10)").replace(copy("@9", "@3", "@8") + "\n", "")
    assert not found(once, "PS105")
    other = twice.replace(copy("@9", "@3", "@8"), literal("@40") + "\n" + copy("@9", "@40", "@8"))
    assert not found(other, "PS105")  # equal shape, another literal


def test_a_synchronisation_in_the_middle() -> None:
    middle = AHEAD.replace(
        load("@8", 2048, 3072), "@50 = hip::sync_device -> float_type, {}, {}\n" + load("@8", 2048, 3072)
    )
    (one,) = found(middle, "PS106")
    assert "1 kernels still to be issued" in one.message
    assert not found(AHEAD, "PS106")
    last = AHEAD.replace(end("@9"), "@50 = hip::sync_device -> float_type, {}, {}\n" + end("@9"))
    assert not found(last, "PS106")


def test_small_copies_in_a_row() -> None:
    def of(count: int) -> str:
        lines: list[str] = []
        for number in range(count):
            lines += [
                literal(f"@{10 + number}"), load(f"@{20 + number}", 1024 * number, 1024 * number + 1024),
                copy(f"@{30 + number}", f"@{10 + number}", f"@{20 + number}"),
            ]  # fmt: skip
        names = [f"@{30 + number}" for number in range(count)]
        return migraphx(*lines, load("@60", 6144, 7168), kernel("@61", "x", *names, "@60"), end("@61"))

    (one,) = found(of(4), "PS107")
    assert "4 copies of 4,096 bytes" in one.message
    assert one.severity == "note"
    assert not found(of(1), "PS107")
    assert not found(of(3), "PS107")
    assert not found(of(4), "PS107", Limits(small_copy=1024))


RAW = migraphx(
    literal("@3"), load("@4", 0, 1024), stream("@5", 1), copy("@6", "@3", "@4"), record("@7", 0), stream("@8", 0),
    load("@9", 1024, 2048), kernel("@11", "x", "@6", "@9"), end("@11"), arena=2048,
)  # fmt: skip


def test_a_read_that_may_come_too_early() -> None:
    (one,) = found(RAW, "PS110")
    assert "@11 (stream 0) reads bytes 0 to 1024 of @1 that @6 (stream 1) writes" in one.message
    assert one.severity == "error"
    ordered = RAW.replace(load("@9", 1024, 2048), wait("@10", 0) + "\n" + load("@9", 1024, 2048))
    assert not found(ordered, "PS110")
    elsewhere = RAW.replace("(x,@6,@9)", "(x,@9)")
    assert not found(elsewhere, "PS110")


def test_a_write_over_what_is_still_read() -> None:
    again = RAW.replace(load("@9", 1024, 2048), wait("@10", 0) + "\n" + load("@9", 1024, 2048)).replace(
        end("@11"),
        "\n".join(
            [literal("@12"), load("@13", 0, 1024), stream("@14", 1), copy("@15", "@12", "@13"), end("@11")]
        ),
    )
    (one,) = found(again, "PS111")
    assert "@15 (stream 1) overwrites bytes 0 to 1024 of @1 that @11 (stream 0) reads" in one.message
    guarded = again.replace(
        copy("@15", "@12", "@13"), wait("@16", 1) + "\n" + copy("@15", "@12", "@13")
    ).replace(literal("@12"), record("@17", 1) + "\n" + literal("@12"))
    assert not found(guarded, "PS111")
    apart = again.replace(load("@13", 0, 1024), load("@13", 4096, 5120)).replace("{2048}", "{8192}")
    assert not found(apart, "PS111")


def test_two_writes_in_no_order() -> None:
    both = migraphx(
        load("@4", 0, 1024), kernel("@5", "x", "@4"), literal("@3"), stream("@6", 1), load("@7", 0, 1024),
        copy("@8", "@3", "@7"), end("@8"), arena=1024,
    )  # fmt: skip
    assert len(found(both, "PS112")) == 1
    same = both.replace(stream("@6", 1) + "\n", "")
    assert not found(same, "PS112")
    apart = both.replace(load("@7", 0, 1024), load("@7", 1024, 2048)).replace(
        "{1024}, {1},id", "{2048}, {1},id"
    )
    assert not found(apart, "PS112")


def test_a_wait_for_nothing() -> None:
    assert len(found(AHEAD.replace(record("@21", 0) + "\n", ""), "PS113")) == 1
    assert not found(AHEAD, "PS113")
    # In a steady stream an event that is recorded later is the one of the run before.
    steady = AHEAD.replace(copy("@5", "@3", "@4"), wait("@26", 7) + "\n" + copy("@5", "@3", "@4")).replace(
        end("@9"), record("@27", 7) + "\n" + end("@9")
    )
    assert not found(steady, "PS113")


def test_a_buffer_outside_the_arena() -> None:
    assert len(found(ON_USE.replace("[offset=1024,end=2048]", "[offset=2048,end=3072]"), "PS114")) == 1
    assert not found(ON_USE, "PS114")  # ends with the arena's last byte
    assert not found(RESIDENT, "PS114")


def test_a_buffer_that_is_not_aligned() -> None:
    (one,) = found(ON_USE.replace("[offset=1024,end=2048]", "[offset=1022,end=2046]"), "PS115")
    assert "begins at byte 1022, which is no multiple of its elements' 4 bytes" in one.message
    assert not found(ON_USE, "PS115")
    assert not found(ON_USE.replace("[offset=1024,end=2048]", "[offset=1020,end=2044]"), "PS115")


def test_live_buffers_that_share_bytes() -> None:
    shared = AHEAD.replace(load("@6", 1024, 2048), load("@6", 512, 1536))
    (one,) = found(shared, "PS116")
    assert "512 to 1024" in one.message
    assert not found(AHEAD, "PS116")
    after = AHEAD.replace(load("@8", 2048, 3072), load("@8", 2048, 3072)).replace(
        end("@9"), load("@12", 0, 1024) + "\n" + kernel("@13", "@9", "@12") + "\n" + end("@13")
    )
    assert not found(after, "PS116")  # the literal is dead by then


def test_more_memory_than_the_limit() -> None:
    (one,) = found(ON_USE, "PS117", Limits(memory=7167))
    # arena 2,048, parameter 1,024, code object 4,096
    assert "needs 7,168 bytes" in one.message
    assert not found(ON_USE, "PS117", Limits(memory=7168))
    assert not found(ON_USE, "PS117")


def test_a_budget_without_effect() -> None:
    log = "Using weight streaming...\nStreaming budget: {}\nTotal size of literals: 1024\n"
    (one,) = found(log.format(5000) + ON_USE, "PS118")
    assert "holds all literals (1,024 bytes)" in one.message
    assert "keeps nothing resident" in found(log.format(1000) + ON_USE, "PS118")[0].message
    assert not found(log.format(0) + ON_USE, "PS118")
    assert not found(log.format(5000) + RESIDENT, "PS118")


def test_streams_that_run_one_after_the_other() -> None:
    line = migraphx(
        literal("@3"), load("@4", 0, 1024), stream("@5", 1), copy("@6", "@3", "@4"), record("@7", 0),
        stream("@8", 0), wait("@10", 0), load("@9", 1024, 2048), kernel("@11", "x", "@6", "@9"), end("@11"),
        arena=2048,
    )  # fmt: skip
    (one,) = found(line, "PS119")
    assert "2 streams are used" in one.message
    assert not found(AHEAD, "PS119")
    assert not found(ON_USE, "PS119")  # one stream


def test_an_arena_with_much_air() -> None:
    (one,) = found(
        ON_USE.replace("{2048}, {1},id", "{4096}, {1},id").replace(
            "-> int8_type, {2048}", "-> int8_type, {4096}"
        ),
        "PS120",
    )
    assert "4,096 bytes, 100 % more than the 2,048" in one.message
    assert not found(ON_USE, "PS120")
    nearly = ON_USE.replace("{2048}", "{2240}")
    assert not found(nearly, "PS120")  # 9 %
    assert found(nearly, "PS120", Limits(arena_slack=0.05))


@pytest.mark.parametrize("text", [AHEAD, RESIDENT])
def test_good_programs_have_no_warning(text: str) -> None:
    assert [each for each in everything(text) if each.severity != "note"] == []
