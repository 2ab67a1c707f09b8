"""The overview of an input as text: what `passlens info FILE` prints, and the app shows first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..safe import visible

_MOST_ROWS = 200
_MOST_FAULTS = 10


def overview_text(said: dict[str, Any]) -> str:
    """The lines of an overview made by `ir.analysis.overview`; ends with a line feed."""
    return "\n".join(_lines(said)) + "\n"


def _lines(said: dict[str, Any]) -> Iterator[str]:
    yield _headline(said)
    yield from _facts(said["facts"])
    if said["format"] == "migraphx":
        yield from migraphx_lines(said)
    elif said["format"] == "onnx":
        yield from _onnx(said)
    elif said["format"] == "mlir":
        yield from mlir_lines(said)
    yield from _programs(said)
    yield from _diagnostics(said["diagnostics"])
    yield from _passes(said["passes"])


def _headline(said: dict[str, Any]) -> str:
    kinds = {"mlir": "MLIR", "migraphx": "MIGraphX", "onnx": "ONNX", None: "no program"}
    parts = [kinds[said["format"]], f"{said['bytes']:,} bytes"]
    count = len(said["snapshots"])
    parts.append(f"{count} snapshot{'s' * (count != 1)}")
    if said["passes"]:
        known = [entry["changed"] for entry in said["passes"] if entry["changed"] is not None]
        what = f", {sum(known)} of them changed the program" if known else ""
        parts.append(f"{len(said['passes'])} pass{'es' * (len(said['passes']) != 1)}{what}")
    if said["kernels"]:
        names = ", ".join(visible(name) for name in said["kernels"][:6])
        parts.append(f"kernels: {names}{', …' * (len(said['kernels']) > 6)}")
    return f"{visible(said['file'])}: {' · '.join(parts)}"


def row(label: str, text: str) -> str:
    """One labelled line."""
    return f"  {label:<12}{text}"


def migraphx_lines(said: dict[str, Any]) -> Iterator[str]:
    """The numbers of a MIGraphX program: memory first, then what is copied when."""
    literals, copies, arena = said["literals"], said["copies"], said["arena"]
    counted = said.get("kernels_launched", 0)
    yield row("program", f"{said['instructions']:,} instructions, {said['code_objects']:,} code objects"
              + (f", {counted:,} kernels" if counted else ""))  # fmt: skip
    resident = literals["resident"]
    kept = f"; {resident['count']:,} resident, {resident['bytes']:,} bytes" if resident["count"] else ""
    yield row("literals", f"{literals['count']:,} of {literals['bytes']:,} bytes{kept}")
    yield row("copies", f"{copies['count']:,} of {copies['bytes']:,} bytes{_hidden(copies)}")
    if arena["bytes"]:
        yield row("arena", f"{arena['bytes']:,} bytes; peak of live buffers {arena['peak_live']:,}")
        without = arena["peak_live_without_streamed"]
        yield row("", f"{without:,} without streamed literals: what everything but the literals needs")
    parameters = said["parameters"]
    yield row(
        "parameters",
        f"{parameters['count']:,} of {parameters['bytes']:,} bytes (allocated after compilation)",
    )
    streams, events = said.get("streams"), said.get("events")
    yield row("streams", f"{_count(streams)}{_one_stream(streams, copies)}; events: {_count(events)}")
    if copies["count"]:
        yield row("distance", _histogram(copies["distance"]))
    yield from _faults(said["memory_faults"])


def _faults(faults: dict[str, Any]) -> Iterator[str]:
    """What is wrong with memory, worst first; nothing where nothing is."""
    for hazard in faults["hazards"][:_MOST_FAULTS]:
        first, second = visible(hazard["first"]), visible(hazard["second"])
        streams = "{} and {}".format(*hazard["streams"])
        where = f"bytes {hazard['start']:,}..{hazard['end']:,} of {visible(hazard['memory'])}"
        yield row(
            "HAZARD",
            f"{hazard['kind']}: {second} after {first}, streams {streams}, no event between; {where}",
        )
    for wait in faults["waits_without_record"][:_MOST_FAULTS]:
        yield row("WAIT", f"{visible(wait)} waits for an event that nothing has recorded")
    for pair in faults["live_overlaps"][:_MOST_FAULTS]:
        first, second = visible(pair["first"]), visible(pair["second"])
        yield row(
            "OVERLAP",
            f"{first} and {second} are live together and share bytes {pair['start']:,}..{pair['end']:,}",
        )
    for load in faults["outside_arena"][:_MOST_FAULTS]:
        yield row(
            "OUTSIDE",
            f"{visible(load['load'])} ends at {load['end']:,} in an arena of {load['arena']:,} bytes",
        )
    more = sum(max(len(found) - _MOST_FAULTS, 0) for found in faults.values())
    if more:
        yield row("", f"and {more:,} more (passlens info --json lists all)")


def _count(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {inner}" for key, inner in value.items())
    return f"{value:,}" if isinstance(value, int) else str(len(value or []))


def _one_stream(streams: Any, copies: dict[str, Any]) -> str:
    count = (
        streams
        if isinstance(streams, int)
        else streams.get("count", 0)
        if isinstance(streams, dict)
        else len(streams)
    )
    if copies["count"] and count <= 1:
        return " (copies and kernels share it: nothing overlaps)"
    return ""


def _hidden(copies: dict[str, Any]) -> str:
    at_once = copies["distance"].get("0", 0)
    return f"; {at_once:,} with no kernel between copy and first use" if copies["count"] else ""


def _histogram(distance: dict[str, int]) -> str:
    """`0: 46 · 1: 12 · 2–3: 9 …`: kernels between copy and first use → copies, in powers of two."""
    buckets: dict[tuple[int, int], int] = {}
    for key, count in distance.items():
        if not key.lstrip("-").isdecimal():
            continue
        kernels = int(key)
        low = 0 if kernels <= 0 else 1 << (kernels.bit_length() - 1)
        buckets[low, max(2 * low - 1, 0)] = buckets.get((low, max(2 * low - 1, 0)), 0) + count
    cells = [
        f"{low}: {n}" if low == high else f"{low}–{high}: {n}" for (low, high), n in sorted(buckets.items())
    ]
    return "kernels between a copy and its first use → copies:  " + " · ".join(cells)


def _onnx(said: dict[str, Any]) -> Iterator[str]:
    for key in ("nodes", "literals", "parameters", "outputs", "opset", "producer"):
        if key in said:
            value = said[key]
            if isinstance(value, dict):
                value = ", ".join(
                    f"{name} {n:,}" if isinstance(n, int) else f"{name} {n}" for name, n in value.items()
                )
            yield row(key, visible(f"{value:,}" if isinstance(value, int) else str(value)))
    yield row("ops", _top(said.get("by_op", {})))


def mlir_lines(said: dict[str, Any]) -> Iterator[str]:
    """The numbers of an MLIR program: ops, encodings, layout conversions."""
    yield row("program", f"{said['ops']:,} ops: {_top(said['by_dialect'])}")
    if said["functions"]:
        yield row("functions", ", ".join(visible(name) for name in said["functions"][:8]))
    target = {
        k: v
        for k, v in said["module_attributes"].items()
        if k.endswith(("num-warps", "target", "threads-per-warp"))
    }
    if target:
        yield row(
            "module", visible(", ".join(f"{key.strip(chr(34))} = {value}" for key, value in target.items()))
        )
    converts = said["convert_layouts"]
    if converts["count"] or said["encodings"]:
        total = f"{converts['count']:,} convert_layout, {converts['bytes']:,} bytes of tensors"
        yield row("converts", f"{total}; {converts['in_loops']:,} in loops")
    for number, (encoding, count) in enumerate(list(said["encodings"].items())[:8]):
        yield row("encodings" if number == 0 else "", f"{count:>4} × {visible(encoding)}")


def _top(counts: dict[str, int]) -> str:
    return ", ".join(f"{visible(name) or '(none)'} {count:,}" for name, count in list(counts.items())[:8])


def _programs(said: dict[str, Any]) -> Iterator[str]:
    for program in said.get("programs", ()):
        size = program.get("instructions", program.get("ops", 0))
        notes = ", ".join(f"{d['code']}" for d in program["diagnostics"])
        title = f"#{program['snapshot']} {visible(program['title'])}"
        unit = "instructions" if "instructions" in program else "ops"
        yield row("also", f"{title}: {size:,} {unit}{f' ({notes})' * bool(notes)}")


def _facts(facts: dict[str, Any]) -> Iterator[str]:
    if facts["crash"]:
        yield row("crash", visible(facts["crash"]))
    if facts["failing_pass"]:
        yield row("failed in", visible(facts["failing_pass"]))
    for line in facts["errors"][:5]:
        yield row("error", visible(line))
    for pipeline in facts["reproducers"][:2]:
        yield row("reproducer", visible(pipeline[:300]))
    for name, values in facts["driver"].items():
        yield row("driver", f"{name.replace('_', ' ')}: {', '.join(f'{value:,}' for value in values)}")
    if facts["perf"]:
        yield row(
            "perf", ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in facts["perf"].items())
        )
    if facts["propagation"]:
        several = sum(len(entry["encodings"]) > 1 for entry in facts["propagation"])
        yield row(
            "propagation",
            f"{len(facts['propagation'])} values printed, {several} with more than one encoding",
        )


def _diagnostics(diagnostics: list[dict[str, Any]]) -> Iterator[str]:
    for entry in diagnostics:
        yield row("note", f"{entry['code']}: {entry['count']:,} (first: {visible(entry['first'])})")


def _passes(rows: list[dict[str, Any]]) -> Iterator[str]:
    if not rows:
        return
    yield ""
    yield f"  {'#':>4}  {'pass':<44}{'':>9}  {'ops':>7}  {'converts':>8}  {'ms':>8}"
    kernel = None
    for entry in rows[:_MOST_ROWS]:
        if entry["kernel"] != kernel:
            kernel = entry["kernel"]
            yield f"        {visible(kernel) or '(no kernel)'}"
        yield _pass_line(entry)
    if len(rows) > _MOST_ROWS:
        yield f"  … and {len(rows) - _MOST_ROWS:,} more (passlens info --json lists all)"


def _pass_line(entry: dict[str, Any]) -> str:
    state = "FAILED" if entry["failed"] else {True: "changed", False: "·", None: ""}[entry["changed"]]
    name = "  " * entry["depth"] + visible(entry["argument"] or entry["name"])
    name += f"#{entry['ordinal']}" if entry["ordinal"] > 1 else ""
    numbers = [f"{entry[key]:,}" if entry[key] is not None else "" for key in ("ops", "converts")]
    time = f"{entry['milliseconds']:.2f}" if entry["milliseconds"] is not None else ""
    line = (
        f"  {entry['index']:>4}  {name:<44}{state:>9}  {numbers[0]:>7}  {numbers[1]:>8}  {time:>8}".rstrip()
    )
    return line + (f"  ({len(entry['nested'])} internal dumps)" if entry["nested"] else "")
