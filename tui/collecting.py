"""Keeping Python's cyclic garbage collector from stopping the screen while a large program is built.

A collection visits every object that lives, with all threads waiting: a second and more for the millions of
objects of a large program, several times while it is parsed. No garbage is made meanwhile, so there is
nothing to find; afterwards the program is set aside (`gc.freeze`) until it is dropped.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

LARGE: Final = 1_000_000
"""Characters of text from which on a program counts as large."""
_lock = threading.Lock()
_building = 0


@contextmanager
def undisturbed(size: int) -> Iterator[None]:
    """While a program of so many characters is built, collect nothing; then set it aside if it is large."""
    global _building
    if size < LARGE:
        yield
        return
    with _lock:
        _building += 1
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            _building -= 1
            if not _building:
                gc.freeze()
                gc.enable()


@contextmanager
def uncollected() -> Iterator[None]:
    """While something is worked out that is dropped as a whole later: collect and set aside nothing."""
    global _building
    with _lock:
        _building += 1
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            _building -= 1
            if not _building:
                gc.enable()


def dropped(size: int) -> None:
    """A program of so many characters is no longer needed: let the collector find what was set aside."""
    if size >= LARGE:
        gc.unfreeze()
