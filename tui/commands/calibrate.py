"""`passlens calibrate`: measure copies and launches of the GPU at hand, and write a device profile."""

from __future__ import annotations

import argparse

from ...ir.analysis.devices import device
from ...ir.errors import InputError
from ..files import write_whole

HELP = "measure the GPU at hand and write a device profile for plans"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the profile (JSON)")
    parser.add_argument("--device", default="cuda:0", help="cuda:0, cuda:1, …")
    base = "the profile whose rates of arithmetic and memory are kept"
    parser.add_argument("--base", default="h200", metavar="NAME|FILE", help=base)


def run(args: argparse.Namespace) -> int:
    """Measure and write; raises InputError where there is no such device."""
    from ...backends.calibrate import measure, profile_text
    from ...backends.cuda import Cuda, missing
    from ...backends.device import DeviceError

    base = device(args.base)
    kind, _, number = args.device.partition(":")
    if kind != "cuda" or not number.isdecimal():
        raise InputError(f"--device {args.device!r}: expected cuda:0, cuda:1, …")
    why = missing()
    if why:
        raise InputError(f"{args.device}: {why}")
    try:
        found = measure(Cuda(int(number)))
    except DeviceError as error:
        raise InputError(f"{args.device}: {error}") from error
    write_whole(args.output, profile_text(found, base))
    for name, copies in (("pinned", found.pinned), ("pageable", found.pageable)):
        print(f"{name:<9} {copies.bytes_per_us / 1000:.1f} GB/s, {copies.latency_us:.1f} us a copy")
    print(f"launch    {found.launch_us:.1f} us on the host, {found.kernel_us:.1f} us for an empty kernel")
    print(f"profile   {args.output}: plan with --device {args.output}")
    return 0
