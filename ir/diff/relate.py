"""The matching itself: which op of one program is which of the other, decided in walk order.

An op whose shape and operands are those of an op of the other program, values already matched taken as
one, is that op, wherever it stands. Where no such op exists the guess decides, unless the op that it
names has an exact counterpart of its own. Deciding in walk order means that operands are decided before
the ops that use them, so that a change never spreads to what lies downstream of it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Final
from zlib import crc32

from .prior import Both, Guess, pair_blocks
from .sequence import align

_ALIAS: Final = re.compile(r"[#!]\w+")
_SCAN: Final = 64
"""How many uses of one value are looked at in search of one op."""

Key = tuple[int, ...]


class Matching:
    """Counterparts of ops, values and blocks; -1 where there is none."""

    def __init__(self, both: Both, guess: Guess) -> None:
        a, b = both.a, both.b
        self.both = both
        self.guess = guess
        self.ops_a, self.ops_b = [-1] * len(a.ops), [-1] * len(b.ops)
        self.values_a, self.values_b = [-1] * len(a.values), [-1] * len(b.values)
        self.blocks_a, self.blocks_b = [-1] * len(a.blocks), [-1] * len(b.blocks)
        self._homes_a, self._homes_b = _group(both, 0), _group(both, 1)
        self._scopes_a: dict[Key, list[int]] | None = None
        self.moved: set[int] = set()
        self.cost = 0
        self._pair_undefined()
        top_a = [a.block_number[block] for block in a.program.body.blocks]
        top_b = [b.block_number[block] for block in b.program.body.blocks]
        for block_a, block_b in zip(top_a, top_b, strict=False):
            self._match_blocks(block_a, block_b)

    # -- pairing -------------------------------------------------------------------------------------

    def match(self, i: int, j: int) -> None:
        """Make op `i` of a and op `j` of b counterparts, with their results, blocks and arguments."""
        a, b = self.both.a, self.both.b
        self.ops_a[i] = j
        self.ops_b[j] = i
        if a.inner[i] or b.inner[j]:
            for block_a, block_b in pair_blocks(self.both, i, j):
                self._match_blocks(block_a, block_b)
        left, right = a.results[i], b.results[j]
        if len(left) == len(right):
            for x, y in zip(left, right, strict=True):
                self.values_a[x] = y
                self.values_b[y] = x
        elif left and right:
            self._match_results(i, j)

    def unmatch(self, i: int, j: int) -> None:
        """Take a pair of ops without regions apart again."""
        self.ops_a[i] = self.ops_b[j] = -1
        for x in self.both.a.results[i]:
            if self.values_a[x] >= 0:
                self.values_b[self.values_a[x]] = -1
                self.values_a[x] = -1

    def _match_blocks(self, block_a: int, block_b: int) -> None:
        self.blocks_a[block_a] = block_b
        self.blocks_b[block_b] = block_a
        left, right = self.both.a.arguments[block_a], self.both.b.arguments[block_b]
        if len(left) == len(right):
            pairs: Iterable[tuple[int, int]] = zip(left, right, strict=True)
        else:
            pairs = self._align_values(left, right)
        for x, y in pairs:
            self.values_a[x] = y
            self.values_b[y] = x

    def _match_results(self, i: int, j: int) -> None:
        """Results of an op that gained or lost some: as its loop-carried arguments went, or by use."""
        a, b = self.both.a, self.both.b
        left, right = a.results[i], b.results[j]
        if len(a.inner[i]) == 1 and len(b.inner[j]) == 1:
            args_a, args_b = a.arguments[a.inner[i][0]], b.arguments[b.inner[j][0]]
            extra = len(args_a) - len(left)
            if extra >= 0 and extra == len(args_b) - len(right):
                place = {value: k for k, value in enumerate(args_b)}
                for k in range(extra, len(args_a)):
                    at = place.get(self.values_a[args_a[k]], -1)
                    if at >= extra:
                        self._match_values(left[k - extra], right[at - extra])
                return
        for x, y in self._align_values(left, right):
            self._match_values(x, y)

    def _match_values(self, x: int, y: int) -> None:
        self.values_a[x] = y
        self.values_b[y] = x

    def _align_values(self, left: tuple[int, ...], right: tuple[int, ...]) -> list[tuple[int, int]]:
        """Pair values in order: by type and users' names, then between those by type, then by place."""
        gaps = [(list(left), list(right))]
        pairs: list[tuple[int, int]] = []
        for exact in (2, 1, 0):
            further = []
            for part_a, part_b in gaps:
                of_a = [self._value_label(0, x, exact) for x in part_a]
                of_b = [self._value_label(1, y, exact) for y in part_b]
                low_a = low_b = 0
                for x, y in [*align(of_a, of_b), (len(part_a), len(part_b))]:
                    if x > low_a and y > low_b:
                        further.append((part_a[low_a:x], part_b[low_b:y]))
                    if x < len(part_a):
                        pairs.append((part_a[x], part_b[y]))
                    low_a, low_b = x + 1, y + 1
            gaps = further
        return pairs

    def _value_label(self, which: int, value: int, exact: int) -> int:
        if not exact:
            return 0
        side = self.both.b if which else self.both.a
        users = side.users[value][:_SCAN] if exact == 2 else ()
        type_text = _ALIAS.sub("", side.values[value].type.text)
        return hash((crc32(type_text.encode()), *sorted(self.both.names[which][user] for user in users)))

    def _pair_undefined(self) -> None:
        """Values that nothing defines: by order of first use if there are as many, else by name."""
        left, right = self.both.a.undefined, self.both.b.undefined
        if len(left) == len(right):
            for x, y in zip(left, right, strict=True):
                self._match_values(x, y)
            return
        by_name = {self.both.a.values[x].name: x for x in left}
        for y in right:
            x = by_name.pop(self.both.b.values[y].name, -1)
            if x >= 0:
                self._match_values(x, y)

    # -- deciding ------------------------------------------------------------------------------------

    def decide_all(self) -> None:
        """Decide every op of b that has no counterpart yet, in walk order."""
        ops_b = self.ops_b
        for j in range(len(ops_b)):
            if ops_b[j] < 0:
                self._decide(j)

    def trust_guess(self) -> None:
        """Take every guess that may be, in walk order; what remains is for `decide_all`."""
        for j, i in enumerate(self.guess.b):
            if i >= 0 and self.ops_a[i] < 0 and self.ops_b[j] < 0 and self._may_be(i, j):
                self.match(i, j)

    def _decide(self, j: int) -> None:
        b = self.both.b
        images = [self.values_b[v] for v in b.operands[j]]
        shape = self.both.shapes[1][j]
        parent = b.parent[j]
        above = self.ops_b[parent] if parent >= 0 else -1
        if above >= 0 or parent < 0:
            there = self._homes_a.get((shape, above, *images))
            if there is not None:
                here = self._homes_b[(shape, parent, *b.operands[j])]
                if self._pair_class(there, here) and self.ops_b[j] >= 0:
                    return
        i = self._moved(j, images) if -1 not in images else -1
        if i < 0:
            i = self._changed(j, images)
        if i >= 0:
            self.match(i, j)

    def _pair_class(self, listed_a: list[int], listed_b: list[int]) -> bool:
        """Pair ops that have one shape, one parent and the same operands: what tells them apart is use."""
        if len(listed_a) == 1 and len(listed_b) == 1:
            if self.ops_a[listed_a[0]] >= 0 or self.ops_b[listed_b[0]] >= 0:
                return False
            self.match(listed_a[0], listed_b[0])
            return True
        left = [i for i in listed_a if self.ops_a[i] < 0]
        right = [j for j in listed_b if self.ops_b[j] < 0]
        if not left or not right:
            return False
        used_a, used_b = self.both.labels[0].downward, self.both.labels[1].downward
        among = set(left)
        guessed = [(self.guess.b[j], j) for j in right if self.guess.b[j] in among]
        for i, j in guessed:
            if used_a[i] == used_b[j]:
                self.match(i, j)
        if not self.guess.by_place:
            left = [i for i in left if self.ops_a[i] < 0]
            self._pair_by_use(left, [j for j in right if self.ops_b[j] < 0])
        for i, j in guessed:
            if self.ops_a[i] < 0 and self.ops_b[j] < 0:
                self.match(i, j)
        left = [i for i in left if self.ops_a[i] < 0]
        right = [j for j in right if self.ops_b[j] < 0]
        for i, j in zip(left, right, strict=False):
            self.match(i, j)
        return True

    def _pair_by_use(self, left: list[int], right: list[int]) -> None:
        """Pair those whose uses, through and through, are those of exactly one other."""
        of_a, of_b = self.both.labels[0].downward, self.both.labels[1].downward
        used_a: dict[int, list[int]] = defaultdict(list)
        used_b: dict[int, list[int]] = defaultdict(list)
        for i in left:
            used_a[of_a[i]].append(i)
        for j in right:
            used_b[of_b[j]].append(j)
        for text, listed in used_a.items():
            others = used_b.get(text, ())
            if len(listed) == 1 and len(others) == 1 and any(map(self._is_used, listed)):
                self.match(listed[0], others[0])

    def _is_used(self, i: int) -> bool:
        return any(self.both.a.users[value] for value in self.both.a.results[i])

    def _moved(self, j: int, images: list[int]) -> int:
        """An op of a with the same shape and operands in another block of the same function, or -1."""
        both = self.both
        i = self.guess.b[j]
        shape = both.shapes[1][j]
        if (
            i >= 0
            and self.ops_a[i] < 0
            and both.shapes[0][i] == shape
            and list(both.a.operands[i]) == images
            and self._same_scope(i, j)
            and not self._has_home(i, j)
        ):
            return i
        if self._scopes_a is None:
            self._scopes_a = _group_by_scope(both)
        scope = both.b.scope[j]
        above = self.ops_b[scope] if scope >= 0 else -1
        if above < 0 <= scope:
            return -1
        for i in self._scopes_a.get((shape, above, *images), ())[:_SCAN]:
            if self.ops_a[i] < 0 and not self._has_home(i, j):
                return i
        return -1

    def _same_scope(self, i: int, j: int) -> bool:
        above, there = self.both.a.scope[i], self.both.b.scope[j]
        return (self.ops_a[above] if above >= 0 else -1) == there

    def _has_home(self, i: int, but: int) -> bool:
        """Whether an op of b other than `but`, not decided yet, is exactly op `i` of a."""
        a = self.both.a
        parent = a.parent[i]
        there = -1
        if parent >= 0:
            there = self.ops_a[parent]
            if there < 0:
                there = self.guess.a[parent]
            if there < 0:
                return False
        images = [self.values_a[v] for v in a.operands[i]]
        if -1 in images:
            return False
        listed = self._homes_b.get((self.both.shapes[0][i], there, *images), ())
        return any(self.ops_b[j] < 0 and j != but for j in listed[:_SCAN])

    def _changed(self, j: int, images: list[int]) -> int:
        """The op of a that became op `j`: the guess, or one of its name with the same operands; or -1."""
        both = self.both
        i = self.guess.b[j]
        if i >= 0 and self.ops_a[i] < 0 and self._may_be(i, j) and not self._has_home(i, j):
            return i
        known = [(len(both.a.users[v]), v) for v in images if v >= 0]
        if not known or -1 in images:
            return -1
        for i in both.a.users[min(known)[1]][:_SCAN]:
            same = self.ops_a[i] < 0 and list(both.a.operands[i]) == images and self._may_be(i, j)
            if same and not self._has_home(i, j):
                return i
        return -1

    def _may_be(self, i: int, j: int) -> bool:
        both = self.both
        if both.names[0][i] != both.names[1][j] or not self._same_scope(i, j):
            return False
        if both.a.inner[i] or both.b.inner[j]:
            return bool(both.a.inner[i]) == bool(both.b.inner[j])
        return len(both.a.results[i]) == len(both.b.results[j])


def _group(both: Both, which: int) -> dict[Key, list[int]]:
    """Ops by shape, parent and operands."""
    side = both.b if which else both.a
    groups: dict[Key, list[int]] = {}
    shapes, parent = both.shapes[which], side.parent
    for i, operands in enumerate(side.operands):
        key = (shapes[i], parent[i], *operands)
        found = groups.get(key)
        if found is None:
            groups[key] = [i]
        else:
            found.append(i)
    return groups


def _group_by_scope(both: Both) -> dict[Key, list[int]]:
    groups: dict[Key, list[int]] = defaultdict(list)
    for i, operands in enumerate(both.a.operands):
        groups[(both.shapes[0][i], both.a.scope[i], *operands)].append(i)
    return groups
