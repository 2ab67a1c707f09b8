"""`passlens devices`: where programs can run here, and why not elsewhere."""

from __future__ import annotations

import argparse

from ...ir.analysis.devices import device, device_names

HELP = "which devices were found, and which profiles there are for plans"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments: none."""


def run(args: argparse.Namespace) -> int:
    """List them."""
    from ...backends.cuda import Cuda, missing

    print("reference   NumPy on this machine")
    print("simulate    the cost model of a device profile")
    why = missing()
    if why:
        print(f"cuda        not here: {why}")
    else:
        runtime = Cuda(0)
        found = runtime.properties()
        runtime.close()
        print(f"cuda:0      {found.name}, {found.memory:,} bytes, {found.free:,} free, {found.architecture}")
    print("hip         not implemented yet")
    for name in device_names():
        print(f"profile     {name}: {device(name).name}")
    return 0
