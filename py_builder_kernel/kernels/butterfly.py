"""The transposed reduction: many sums over 32 lanes at once, each lane ending as the owner of a few of them.

Two sums `a` and `b` share one shuffle at a level: a lane with the level's bit clear keeps its part of `a` and sends
that of `b`, its partner does the opposite, and each adds what arrives. Each sum is added in the order of the plain xor
tree 16, 8, 4, 2, 1, so it has that tree's bits; 32 sums take 31 shuffles instead of 160.

Which of the two a lane keeps would take two selects a pair. Where rows wait in shared memory, each lane finds them in
an order of its own instead, in which it always keeps the first of a pair and sends the second (`OrderedRingRows`).
Heads keep their order: q would have to be loaded in another one by each lane, which costs a call's start more than it
saves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from py_builder_kernel.kernels.idioms import shuffle
from py_builder_kernel.kernels.lane_map import LANES
from py_builder_kernel.ptx import Function, Reg

LEVELS = (16, 8, 4, 2, 1)


@dataclass(frozen=True)
class Ownership:
    """Who owns which sum of `rows` x `group` after the reduction.

    Rows use the first levels, so `rows` is a power of two: bit i of the row is the lane's bit `row_levels[i]`. Heads
    use the levels that are left, pairs (2i, 2i+1) first; of an odd count the last one is kept by both partners.
    """

    rows: int
    group: int

    def __post_init__(self) -> None:
        if self.rows not in (1, 2, 4, 8, 16):
            raise ValueError(f"rows is {self.rows}; allowed: 1, 2, 4, 8 or 16")
        if not 1 <= self.group <= 8:
            raise ValueError(f"group is {self.group}; allowed: 1 to 8")

    @property
    def row_levels(self) -> tuple[int, ...]:
        """The levels of the tree that tell rows apart, row bit 0 first."""
        return LEVELS[: self.rows.bit_length() - 1]

    @property
    def head_levels(self) -> tuple[int, ...]:
        """The levels that tell heads apart, and then lanes that own the same sum."""
        return LEVELS[len(self.row_levels) :]

    @cached_property
    def slots(self) -> int:
        """Sums that a lane owns for its row."""
        count = self.group
        for _ in self.head_levels:
            count = (count + 1) // 2
        return count

    def row(self, lane: int) -> int:
        """The row of a lane's sums."""
        return sum(1 << bit for bit, level in enumerate(self.row_levels) if lane & level)

    def head(self, lane: int, slot: int) -> int:
        """The head of sum `slot` of a lane."""
        counts = [self.group]
        for _ in self.head_levels:
            counts.append((counts[-1] + 1) // 2)
        index = slot
        for level, count in reversed(tuple(zip(self.head_levels, counts, strict=False))):
            right = 2 * index + 1
            index = right if lane & level and right < count else 2 * index
        return index

    @cached_property
    def owners(self) -> dict[tuple[int, int], tuple[int, int]]:
        """The first lane, and its slot, that owns each (row, head)."""
        found: dict[tuple[int, int], tuple[int, int]] = {}
        for lane in range(LANES):
            for slot in range(self.slots):
                found.setdefault((self.row(lane), self.head(lane, slot)), (lane, slot))
        return found


class Butterfly:
    """Emits the reduction. Rows are given one by one and combined as early as their partners allow.

    If `rows_ordered`, a lane's i-th row is row i xor its own. `bits` holds a predicate a level: whether the lane has
    that bit.
    """

    def __init__(self, f: Function, ownership: Ownership, bits: dict[int, Reg], *, rows_ordered: bool) -> None:
        self._f = f
        self._ownership = ownership
        self._bits = bits
        self._rows_ordered = rows_ordered
        self._waiting: list[list[Reg] | None] = [None] * (len(ownership.row_levels) + 1)

    def add_row(self, sums: list[Reg]) -> None:
        """Take a row's partial sums, one a head; like carries of a binary counter, equal blocks of rows combine."""
        depth = 0
        while (partner := self._waiting[depth]) is not None:
            self._waiting[depth] = None
            level = self._ownership.row_levels[depth]
            join = self._combine if self._rows_ordered else self._pair
            sums = [join(a, b, level) for a, b in zip(partner, sums, strict=True)]
            depth += 1
        self._waiting[depth] = sums

    def finish(self) -> list[Reg]:
        """Reduce over heads; the sums that each lane owns."""
        sums = self._waiting[-1]
        if sums is None:
            raise ValueError(f"rows given: not {self._ownership.rows}")
        for level in self._ownership.head_levels:
            sums = self._level(sums, level)
        return sums

    def _level(self, sums: list[Reg], level: int) -> list[Reg]:
        paired = [self._pair(a, b, level) for a, b in zip(sums[::2], sums[1::2], strict=False)]
        if len(sums) % 2:
            paired.append(self._combine(sums[-1], sums[-1], level))
        return paired

    def _pair(self, a: Reg, b: Reg, level: int) -> Reg:
        f, high = self._f, self._bits[level]
        sent = f.new("selp.f32", a, b, high)
        kept = f.new("selp.f32", b, a, high)
        return self._combine(kept, sent, level)

    def _combine(self, kept: Reg, sent: Reg, level: int) -> Reg:
        return self._f.new("add.rn.f32", kept, shuffle(self._f, "bfly", sent, level))
