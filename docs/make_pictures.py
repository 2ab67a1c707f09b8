"""The pictures of the documentation, made by the tool itself from the samples.

    python docs/make_pictures.py

Each is a screen of the app after the keys that are listed with it.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from passlens.tui.app import PasslensApp

HERE = Path(__file__).parent
# To the pass that adds converts, then to the first of them, so that the inspector draws its layout.
TO_A_CONVERT = ["down"] * 19 + ["enter", "slash", *"ttg.conv", "enter", "l", "h"]
SCREENS = {
    "trace": ("samples/two_kernels.hip-gfx942.log", (150, 42), TO_A_CONVERT),
    # The first kernel of the plan; its arena is drawn below.
    "timeline": ("tests/golden/seeds/migraphx_streaming_resnet50.txt", (132, 40), ["T", "j"]),
    "stepper": ("tests/golden/seeds/triton_reproducible.mlir", (132, 38), ["S", "m"]),
}


async def picture(name: str, path: str, size: tuple[int, int], keys: list[str]) -> None:
    """Drive the app and save the screen under `docs/pictures`."""
    app = PasslensApp(path)
    async with app.run_test(size=size) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause(1)
        for key in keys:
            await pilot.press({".": "full_stop"}.get(key, key))
            await app.workers.wait_for_complete()
        await app.workers.wait_for_complete()
        await pilot.pause(1)
        svg = app.export_screenshot(title=f"passlens {path}")
    (HERE / "pictures" / f"{name}.svg").write_text(svg)


if __name__ == "__main__":
    os.chdir(HERE.parent)
    for name, (path, size, keys) in SCREENS.items():
        asyncio.run(picture(name, path, size, keys))
        print(HERE / "pictures" / f"{name}.svg")
