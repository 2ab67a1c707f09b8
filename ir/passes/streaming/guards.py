"""Which kernel a copy must wait for, so that it does not overwrite what is still being read.

On the compute stream slots run one after the other, and on the copy stream copies do. So of all slots that
read or write bytes of a copy's buffer only the last one in front of it counts, and a copy need not wait for a
slot that a copy in front of it has waited for, or for an earlier one.
"""

from __future__ import annotations

from dataclasses import dataclass

from .decisions import Plan


@dataclass(frozen=True, slots=True)
class Guard:
    """Batch number `batch` waits until slot `slot` has ended; a negative one is of the run before."""

    batch: int
    slot: int


def guards_of(plan: Plan, slots: int) -> list[Guard]:
    """The waits of the copy stream, as few as keep every buffer's bytes until they have been used."""
    needed = [_needed(plan, batch, slots) for batch in range(len(plan.batches))]
    # What the last copy of the run before has waited for holds for the first of this run as well.
    reached = max(needed, default=0) - slots
    guards = []
    for batch, slot in enumerate(needed):
        if slot > reached:
            guards.append(Guard(batch, slot))
            reached = slot
    return guards


def _needed(plan: Plan, batch: int, slots: int) -> int:
    """The last slot in front of a batch's issue that touches bytes of its buffer."""
    count = len(plan.buffers)
    start = plan.offsets[count + batch]
    end = start + plan.batches[batch].bytes
    issue = plan.issue[batch]
    latest = plan.batches[batch].last - slots
    for index, buffer in enumerate(plan.buffers):
        if plan.offsets[index] < end and start < plan.offsets[index] + buffer.bytes:
            latest = max(latest, _before(buffer.last, issue, slots))
    for index, other in enumerate(plan.batches):
        at = plan.offsets[count + index]
        if index != batch and at < end and start < at + other.bytes:
            latest = max(latest, _before(other.last, issue, slots))
    return latest


def _before(last: int, issue: int, slots: int) -> int:
    """The run of a buffer's last slot that comes in front of slot `issue`."""
    return last if last < issue else last - slots
