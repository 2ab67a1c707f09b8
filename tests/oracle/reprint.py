"""Print MLIR files as the Triton of the running Python does: one JSON object a line, `file` and `text`.

`text` is null, and `error` says why, where libtriton refuses a file. Locations may be in the text.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from libtriton import make_context, parse


def main() -> None:
    """Answer for every file named on the command line."""
    context = make_context()
    for file in sys.argv[1:]:
        module, error = parse(Path(file).read_text(), context)
        text = None
        if module is not None:
            text = module.str_nodebug() if hasattr(module, "str_nodebug") else str(module)
        print(json.dumps({"file": file, "text": text, "error": error}), flush=True)


if __name__ == "__main__":
    main()
