#!/usr/bin/env python3
"""Say whether the Triton of the running Python parses and verifies each MLIR file.

    PYTHON accept.py [--print] [--generic] FILE...

One JSON object a line: file, ok, error; `text` with --print: the module as libtriton prints it;
`generic` with --generic: the same in generic form. Exit status 1 if a file is refused. Where an
assertion ends the process, the last line is about the file before the fatal one.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import libtriton


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--print", action="store_true", help="add the canonical text")
    parser.add_argument("--generic", action="store_true", help="add the text in generic form")
    arguments = parser.parse_args()
    refused = 0
    for file in arguments.files:
        context = libtriton.make_context()
        module, error = libtriton.parse(file.read_text(), context)
        answer = {"file": str(file), "ok": module is not None, "error": error}
        if module is not None and arguments.print:
            answer["text"] = libtriton.print_canonical(module)
        if module is not None and arguments.generic:
            answer["generic"] = libtriton.print_generic(module, context)
        print(json.dumps(answer), flush=True)
        refused += module is None
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
