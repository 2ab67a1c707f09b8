"""Which literals are copied by one transfer.

A copy of a few kilobytes takes as long as one of some hundred: its latency. Literals that are needed one
after the other are laid side by side, on the host and in the arena, and copied together. That costs memory
(the last of them is there as early as the first) and makes the first wait for the last; so batches are no
larger than it takes to make latencies a small part of copying.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from .detach import batch_bytes
from .pace import Transfer
from .work import Weight

RUNGS: Final = (0, 4, 16, 32)
"""Sizes of batches to consider, as multiples of the bytes that could be copied in one latency."""
_SMALL: Final = 8
"""What is smaller than this part of a batch may ride along with a literal that is larger than one."""
_SPREAD: Final = 16
"""A batch is at most this part of all that is streamed."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Literals copied by one transfer, in the order in which they are needed."""

    weights: tuple[Weight, ...]

    @property
    def bytes(self) -> int:
        """Bytes of the transfer, and of its buffer."""
        return batch_bytes([weight.bytes for weight in self.weights])

    @property
    def first(self) -> int:
        """The slot that reads any of them first."""
        return self.weights[0].first

    @property
    def last(self) -> int:
        """The slot that reads any of them last."""
        return max(weight.last for weight in self.weights)

    def transfer(self, time_us: Callable[[int], float]) -> Transfer:
        """The batch as a simulation sees it."""
        return Transfer(time_us(self.bytes), self.first, self.last, self.bytes)


def batches_of(weights: list[Weight], size: int) -> list[Batch]:
    """Put neighbours together into batches of about `size` bytes (0: each by itself)."""
    limit = min(size, sum(weight.bytes for weight in weights) // _SPREAD)
    groups: list[list[Weight]] = []
    held = largest = 0
    for weight in weights:
        total, most = held + weight.bytes, max(largest, weight.bytes)
        if groups and limit > 0 and (total <= limit or (total - most) * _SMALL <= limit):
            groups[-1].append(weight)
            held, largest = total, most
        else:
            groups.append([weight])
            held = largest = weight.bytes
    return [Batch(tuple(group)) for group in groups]


def sizes_to_try(latency_us: float, bytes_per_us: float) -> list[int]:
    """Sizes of batches in bytes, from none to the largest worth while."""
    return [int(rung * latency_us * bytes_per_us) for rung in RUNGS]
