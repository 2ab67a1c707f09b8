"""k random edits of n ops are reported as at most k, mirrored the other way round, and make a script."""

from __future__ import annotations

import random
import time

import pytest
from diff_programs import KINDS, Mutation, canonical, source
from passlens.ir.diff.apply import apply
from passlens.ir.diff.compare import compare
from passlens.ir.diff.result import Change, Diff
from passlens.ir.diff.script import script
from passlens.ir.formats.mlir import parse_mlir
from passlens.ir.program import Program
from passlens.ir.verify import verify

OPPOSITE = {"added": "removed", "removed": "added"}


def mutated(kind: str, n: int, k: int, seed: int) -> tuple[str, Program, Program, int]:
    r = random.Random(f"{kind} {n} {k} {seed}")
    text = source(kind, n, r)
    mutation = Mutation(parse_mlir(text), r).edit(k)
    return text, parse_mlir(text), mutation.program, mutation.allowed


def said(change: Change) -> tuple[object, ...]:
    parts = sorted((part.kind, part.which, part.old, part.new) for part in change.parts)
    return change.status, change.index_a, change.index_b, change.moved, parts


def mirrored(change: Change) -> tuple[object, ...]:
    parts = sorted((part.kind, part.which, part.new, part.old) for part in change.parts)
    status = OPPOSITE.get(change.status, change.status)
    return status, change.index_b, change.index_a, change.moved, parts


def consistent(diff: Diff) -> bool:
    """Whether the matching is one to one, and reports cover exactly what has no counterpart."""
    pairs = [(i, j) for i, j in enumerate(diff.ops_a) if j >= 0]
    lone_a = {c.index_a for c in diff.changes if c.status == "removed"}
    lone_b = {c.index_b for c in diff.changes if c.status == "added"}
    return (
        all(diff.ops_b[j] == i for i, j in pairs)
        and diff.ops_b.count(-1) == len(diff.ops_b) - len(pairs)
        and lone_a == {i for i, j in enumerate(diff.ops_a) if j < 0 and not diff.a.ops[i].implicit}
        and lone_b == {j for j, i in enumerate(diff.ops_b) if i < 0 and not diff.b.ops[j].implicit}
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [10, 40, 200, 1000])
def test_few_edits_are_few_reports(kind: str, n: int) -> None:
    for k in (1, 2, 5):
        for seed in range(4):
            if 20 * k > n and k > 1:
                continue
            _, a, b, allowed = mutated(kind, n, k, seed)
            diff = compare(a, b)
            assert consistent(diff)
            assert len(diff.changes) <= allowed, (k, seed, diff.counts())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [10, 40, 200, 1000])
def test_the_reverse_is_the_mirror(kind: str, n: int) -> None:
    for k in (1, 5, 20):
        _, a, b, _ = mutated(kind, n, k, 7)
        there, back = compare(a, b), compare(b, a)
        assert sorted(map(said, there.changes)) == sorted(map(mirrored, back.changes))
        assert (there.ops_a, there.values_b) == (back.ops_b, back.values_a)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [10, 40, 200, 1000])
def test_the_script_makes_b_of_a(kind: str, n: int) -> None:
    for k in (1, 5, 20):
        text, a, b, _ = mutated(kind, n, k, 11)
        fresh = parse_mlir(text)
        apply(fresh, script(compare(a, b)))
        assert canonical(fresh) == canonical(b)
        assert not [found for found in verify(fresh) if found.code == "broken-chain"]
        assert compare(fresh, b).same


@pytest.mark.parametrize("kind", ["random", "same", "memory"])
def test_large_programs(kind: str) -> None:
    _, a, b, allowed = mutated(kind, 20_000, 100, 0)
    start = time.perf_counter()
    diff = compare(a, b)
    assert time.perf_counter() - start < 8  # about 0.6 s when the machine is idle
    assert len(diff.changes) <= allowed


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [10, 40, 200, 1000, 5000, 20_000])
def test_many_seeds(kind: str, n: int) -> None:
    """Nearly always at most k; in runs of equal ops another place to cut may cost a report or two."""
    over = tried = 0
    for k in (1, 2, 5, 10, 100):
        for seed in range(12 if n <= 1000 else 2):
            if 20 * k > n and k > 1:
                continue
            _, a, b, allowed = mutated(kind, n, k, 100 + seed)
            diff = compare(a, b)
            tried += 1
            over += len(diff.changes) > allowed
            assert len(diff.changes) <= allowed + max(3, allowed // 10), (k, seed, allowed, diff.counts())
    assert over <= tried // 8
