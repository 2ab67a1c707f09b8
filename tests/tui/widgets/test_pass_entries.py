import gzip
from pathlib import Path

from passlens.ir.trace import open_trace, trace_of_text
from passlens.tui.session import Badge
from passlens.tui.titles import plural, short_title, size_text
from passlens.tui.widgets.pass_entries import Entry, entries, entry_row, listing, shown_entries, sides

GOLDEN = Path(__file__).parents[2] / "golden"
MODULE = "module {{\n  func.func @{name}() {{\n    return\n  }}\n}}\n\n"


def dump(kernel: str, name: str, when: str = "Before") -> str:
    return (
        f"// -----// IR Dump {when} {name} ({name.lower()}) ('builtin.module' operation) //----- //\n"
        + MODULE.format(name=kernel)
    )


def test_kernels_are_groups_and_internal_dumps_lie_in_their_passes() -> None:
    text = (
        dump("a", "One")
        + "// -----// SoftwarePipeliner internal IR Dump After: LowerLoops\n"
        + MODULE.format(name="a")
        + dump("a", "Two")
        + dump("b", "One")
    )
    trace = trace_of_text(text)
    found = entries(trace)
    assert [(entry.kind, entry.depth) for entry in found] == [
        ("kernel", 0), ("run", 0), ("dump", 1), ("run", 0), ("kernel", 0), ("run", 0),
    ]  # fmt: skip
    rows = [entry_row(trace, entry, None, False, 2).text for entry in found]
    assert rows[0] == "▾ a2 " and rows[2].startswith("   ┄ ") and rows[4] == "▾ b2 "
    assert sides(trace, found[2]) == (trace.runs[0].nested[0],) * 2


def test_every_snapshot_of_real_logs_can_be_reached() -> None:
    for path in sorted((GOLDEN / "logs").glob("*.gz")):
        trace = trace_of_text(gzip.decompress(path.read_bytes()).decode())
        reached = {side for entry in entries(trace) if entry.kind != "kernel" for side in sides(trace, entry)}
        assert reached == set(range(len(trace.snapshots))), path.name


def test_programs_that_stand_alone_are_listed_in_order() -> None:
    trace = open_trace(str(GOLDEN / "seeds" / "migraphx_streaming_resnet50.txt"))
    assert entries(trace) == [Entry("kernel", 0, 0), Entry("program", 0, 0), Entry("program", 1, 0)]


def test_filters_look_at_passes_and_kernels() -> None:
    known = listing(trace_of_text(dump("softmax", "One") + dump("softmax", "Two") + dump("matmul", "One")))

    def names(**options: object) -> list[str]:
        found = shown_entries(known, **options)  # type: ignore[arg-type]
        return [entry_row(known.trace, entry, None, False, 0).left[-1][0] for entry in found]

    assert names(words="two") == ["softmax", "two"]
    assert names(words="SOFT one") == ["softmax", "one"]
    assert names(words="matmul") == ["matmul", "one"]
    assert names(words="none of them") == []
    assert names(collapsed={0}) == ["softmax", "matmul", "one"]
    changed = {0: Badge(False), 1: Badge(True), 2: Badge(False)}
    assert names(changed_only=True, badges=changed) == ["softmax", "two"]


def test_rows_show_change_by_a_sign_and_not_by_colour_alone() -> None:
    known = listing(trace_of_text(dump("a", "One")))
    run = known.entries[1]
    signs = {
        entry_row(known.trace, run, badge, False, 0).left[1][0]
        for badge in (Badge(True), Badge(False), Badge(None))
    }
    known.trace.runs[0].failed = True
    signs.add(entry_row(known.trace, run, Badge(True), False, 0).left[1][0])
    assert len(signs) == 4
    assert entry_row(known.trace, run, Badge(True, 9, -3, 2), False, 0).right == (
        ("−3 ", "good"),
        ("⇄2 ", "encoding"),
    )


def test_titles_and_sizes() -> None:
    run = listing(trace_of_text(dump("a", "One"))).trace.runs[0]
    run.argument, run.ordinal = "tritongpu-remove-layout-conversions", 3
    assert short_title(run) == "remove-layout-conversions#3"
    assert [size_text(n) for n in (1, 9_999, 61_506, 105_378_732, 2 * 10**9)] == [
        "1 byte", "9,999 bytes", "61.5 kB", "105.4 MB", "2.0 GB",
    ]  # fmt: skip
    assert (plural(1, "pass"), plural(2, "pass"), plural(1_000, "op")) == ("1 pass", "2 passes", "1,000 ops")
