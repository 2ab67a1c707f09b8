"""The layout ledger as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...ir.passes.layout.ledger import Ledger, Life, Row
from ..safe import visible


def ledger_text(book: Ledger, everything: bool = False) -> str:
    """A table of the passes, what is left at the end, and with `everything` the life of each convert."""
    return "\n".join(_lines(book, everything)) + "\n"


def _lines(book: Ledger, everything: bool) -> Iterator[str]:
    names = {row.run: row.name + (f"#{row.ordinal}" if row.ordinal > 1 else "") for row in book.rows}
    for kernel in dict.fromkeys([row.kernel for row in book.rows]):
        rows = [row for row in book.rows if row.kernel == kernel]
        lives = [life for life in book.lives if life.kernel == kernel]
        yield f"{visible(kernel) or '(no kernel)'}: {len(lives)} convert_layout in all, {_left(lives)} left"
        yield f"  {'#':>4}  {'pass':<42}{'in':>4}{'+':>5}{'-':>5}{'out':>5}{'in loops':>10}{'bytes out':>14}"
        for row in rows:
            yield _row(row, names[row.run])
            yield from _accesses(row)
        yield from _last(lives)
        if everything:
            yield from (line for life in lives for line in _life(life, names))
        yield ""


def _left(lives: list[Life]) -> int:
    return sum(life.died is None for life in lives)


def _row(row: Row, name: str) -> str:
    counts = (
        f"{row.converts_in:>4}{_signed('+', row.added):>5}{_signed('-', row.removed):>5}{row.converts_out:>5}"
    )
    other = f"  {len(row.changed)} changed" if row.changed else ""
    return f"  {row.run:>4}  {visible(name):<42}{counts}{row.loops_out:>10}  {row.bytes_out:>12,}{other}"


def _signed(sign: str, numbers: list[int]) -> str:
    return f"{sign}{len(numbers)}" if numbers else "·"


def _accesses(row: Row) -> Iterator[str]:
    worse = [access for access in row.accesses if access.new_contiguous < access.old_contiguous]
    for access in worse:
        yield (
            f"        {access.op} {visible(access.value)}: a thread's {access.old_contiguous} neighbouring "
            f"elements became {access.new_contiguous}"
        )


def _last(lives: list[Life]) -> Iterator[str]:
    left = [life for life in lives if life.died is None]
    if left:
        kinds = Counter(life.kind for life in left)
        yield "  left: " + ", ".join(f"{count} × {kind}" for kind, count in kinds.most_common())
    for life in left:
        yield f"    {_shown(life)}"


def _shown(life: Life) -> str:
    cost = {"nothing": "no data moves", "registers": "registers only", "shuffle": "shuffles"}.get(
        life.kind, life.kind
    )
    shared = f" ({life.shared_bytes:,} bytes of shared memory)" if life.shared_bytes else ""
    loops = f", in {life.loops} loop{'s' * (life.loops > 1)}" if life.loops else ""
    return f"{visible(life.value)}: {life.bytes:,} bytes, {cost}{shared}{loops}"


def _life(life: Life, names: dict[int, str]) -> Iterator[str]:
    born = "there from the start" if life.born is None else f"born in {names.get(life.born, life.born)}"
    died = "" if life.died is None else f", died in {names.get(life.died, life.died)}"
    yield f"  C{life.number}  {_shown(life)}: {born}{died}"
    yield f"        {visible(life.source)} -> {visible(life.target)}"
    for run, what in life.events:
        yield f"        {names.get(run, run)}: {what}"
