"""What the layout pass of real Triton wheels makes of inputs: the program, its visits, its decisions.

    make_layout_golden.py PYTHON FILE.jsonl.gz            ask the Triton of PYTHON again about the inputs in FILE
    make_layout_golden.py PYTHON FILE.jsonl.gz INPUT…     make FILE anew from these TTGIR files

A record holds `name`, `input` (as libtriton prints it, without locations), `outcome` (`ok` or `abort`), `message`, `after` (as
libtriton prints it), `visits` (the "considering" lines, each an op's first line, and the candidates) and
`decisions` (see `decisions_of`).
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path

from passlens.backends.compilers.triton import run_passes
from passlens.tui.commands.show import without_locations

PREFIX = "[tritongpu-remove-layout-conversions]: "


def entries(log: str) -> list[str]:
    """The log's entries of the pass, each with the lines that go on with it."""
    found: list[str] = []
    inside = False
    for line in log.split("\n"):
        if line.startswith(PREFIX):
            found.append(line[len(PREFIX) :])
            inside = True
        elif inside:
            found[-1] += "\n" + line
    return found


def visits_of(log: str) -> list[str]:
    """The first lines of all entries in front of the first module."""
    visits: list[str] = []
    for entry in entries(log):
        first = entry.partition("\n")[0]
        if first.startswith("Module after"):
            break
        if "Assertion" not in first:
            visits.append(first)
    return visits


def _head(text: str) -> str:
    found = re.match(r'(?:%[\w#:,% ]+ = )?"?([a-z_]\w*\.[\w.]+)', text)
    return found[1] if found else "arg"


def _attribute(text: str) -> str:
    depth = 0
    for at, character in enumerate(text):
        depth += (character == "<") - (character == ">")
        if character == ">" and depth == 0:
            return text[: at + 1]
    return text


def decisions_of(log: str) -> list[str]:
    """`check OP ENCODING`, `failed`, `cost N`, `again N`, `veto`, `remat`, `slice OP`, `found`, in order."""
    out: list[str] = []
    words = {
        "  getRematerializableSlice failed": "failed",
        "  remat convert op": "remat",
        "found remat": "found",
    }
    for entry in entries(log):
        first = entry.partition("\n")[0]
        if first.startswith("check backward remat"):
            out.append(f"check {_head(first[33:])} {_attribute(entry.split(' encoding ')[-1].strip())}")
        elif "convert layout cost" in first:
            out.append("cost " + first.rpartition(": ")[2])
        elif "rematerialisation cost" in first:
            out.append("again " + first.rpartition(": ")[2])
        elif "non-associative" in first:
            out.append("veto")
        elif first.startswith("    "):
            out.append("slice " + _head(first.strip()))
        else:
            out.extend(word for start, word in words.items() if first.startswith(start))
    return out


def record(python: str, name: str, text: str) -> dict[str, object] | None:
    """Ask the real pass about one input; None where the text is refused."""
    answer = run_passes(text, python=python, debug=True)
    failed = answer.failed
    if failed is not None and not failed.aborted:
        return None
    return {
        "name": name,
        "version": answer.version,
        "input": without_locations(answer.passes[0].before),
        "outcome": "ok" if failed is None else "abort",
        "message": "" if failed is None else failed.error,
        "after": without_locations(answer.text) if answer.text else "",
        "visits": visits_of(answer.log),
        "decisions": decisions_of(answer.log) if failed is None else [],
    }


def main() -> None:
    """Write the golden file."""
    python, path = sys.argv[1], Path(sys.argv[2])
    if sys.argv[3:]:
        inputs = [(Path(each).stem, without_locations(Path(each).read_text())) for each in sys.argv[3:]]
    else:
        with gzip.open(path, "rt") as file:
            inputs = [(entry["name"], entry["input"]) for entry in map(json.loads, file)]
    records = [made for name, text in inputs if (made := record(python, name, text)) is not None]
    raw = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in records).encode()
    path.write_bytes(gzip.compress(raw, 9, mtime=0))
    print(f"{path}: {len(records)} of {len(inputs)} inputs, {len(path.read_bytes())} bytes")


if __name__ == "__main__":
    main()
