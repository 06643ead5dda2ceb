"""Intervals of whole numbers, and what instructions make of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

LEAST, MOST = -(2**63), 2**63 - 1
_LEAST_32, _MOST_32 = -(2**31), 2**31 - 1


@dataclass(frozen=True)
class Interval:
    """All whole numbers from `low` to `high`, both included."""

    low: int
    high: int

    @property
    def positive(self) -> bool:
        """Whether none of them is below 0, so that they are the same with and without a sign."""
        return self.low >= 0

    def widened(self, before: Interval, marks: Sequence[int]) -> Interval:
        """Return the interval with each bound that has moved since `before` at the next mark, or the end of its range.

        `marks` are in ascending order.
        """
        low = self.low if self.low >= before.low else max((m for m in marks if m <= self.low), default=LEAST)
        high = self.high if self.high <= before.high else min((m for m in marks if m >= self.high), default=MOST)
        return Interval(low, high)


WIDEST = Interval(LEAST, MOST)
"""All signed numbers of 64 bits, and so of 32."""


def constant(operand: str) -> int | None:
    """Return a constant's 32 bits as a signed number; None for what is no constant, or one of more bits."""
    try:
        bits = int(f"0x{operand[2:]}", 0) if operand[:2] in ("0f", "0F") else int(operand, 0)
    except ValueError:
        return None
    if not _LEAST_32 <= bits < 2**32:
        return None
    return bits - 2**32 if bits > _MOST_32 else bits


def hull(a: Interval, b: Interval) -> Interval:
    """Return the smallest interval that has both."""
    return Interval(min(a.low, b.low), max(a.high, b.high))


def computed(parts: tuple[str, ...], operands: Sequence[Interval]) -> Interval | None:
    """Return the bounds of an instruction's result from those of its operands; None where they are not known.

    `parts` are the words of its mnemonic. A result that may not fit into the signed bits of its width is not known: it
    wraps around.
    """
    if parts[0] == "cvt":
        return _converted(parts, operands[0])
    rule = _RULES.get(parts[0])
    wide = "wide" in parts
    if rule is None or "hi" in parts or parts[-1] not in ("b32", "u32", "s32", "b64", "u64", "s64"):
        return None
    if wide and parts[-1] == "u32" and not all(operand.positive for operand in operands[:2]):
        return None
    result = rule(parts, operands)
    least, most = (LEAST, MOST) if wide or parts[-1][1:] == "64" else (_LEAST_32, _MOST_32)
    return result if result is not None and result.low >= least and result.high <= most else None


def _converted(parts: tuple[str, ...], operand: Interval) -> Interval | None:
    if parts[1:] in (("u64", "u32"), ("s64", "u32")):
        return operand if operand.positive and operand.high < 2**32 else Interval(0, 2**32 - 1)
    fits = operand.positive and operand.high <= _MOST_32
    return operand if parts[1:] in (("u32", "u64"), ("s64", "s32"), ("u64", "s32")) and fits else None


def _corners(a: Interval, b: Interval, apply: Callable[[int, int], int]) -> Interval:
    values = [apply(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return Interval(min(values), max(values))


def _move(_parts: tuple[str, ...], operands: Sequence[Interval]) -> Interval | None:
    return operands[0] if len(operands) == 1 else None


def _shuffle(_parts: tuple[str, ...], operands: Sequence[Interval]) -> Interval | None:
    # Another lane's value at the same statement, of which the same is known.
    return operands[0]


def _add(_parts: tuple[str, ...], operands: Sequence[Interval]) -> Interval | None:
    a, b = operands[:2]
    return Interval(a.low + b.low, a.high + b.high)


def _sub(_parts: tuple[str, ...], operands: Sequence[Interval]) -> Interval | None:
    a, b = operands[:2]
    return Interval(a.low - b.high, a.high - b.low)


def _mul(_parts: tuple[str, ...], operands: Sequence[Interval]) -> Interval | None:
    return _corners(operands[0], operands[1], lambda x, y: x * y)


def _mad(parts: tuple[str, ...], operands: Sequence[Interval]) -> Interval | None:
    product = _mul(parts, operands)
    return None if product is None else _add(parts, (product, operands[2]))


def _and(_parts: tuple[str, ...], operands: Sequence[Interval]) -> Interval | None:
    highs = [operand.high for operand in operands[:2] if operand.positive]
    return Interval(0, min(highs)) if highs else None


def _or(_parts: tuple[str, ...], operands: Sequence[Interval]) -> Interval | None:
    a, b = operands[:2]
    if not (a.positive and b.positive):
        return None
    return Interval(max(a.low, b.low), (1 << max(a.high, b.high).bit_length()) - 1)


def _shl(_parts: tuple[str, ...], operands: Sequence[Interval]) -> Interval | None:
    a, by = operands[:2]
    if not (a.positive and by.low == by.high and 0 <= by.low < 64):
        return None
    return Interval(a.low << by.low, a.high << by.low)


def _shr(parts: tuple[str, ...], operands: Sequence[Interval]) -> Interval | None:
    a, by = operands[:2]
    bits = 64 if parts[-1][1:] == "64" else 32
    if not (by.low == by.high and 0 < by.low < bits):
        return None
    if a.positive or parts[-1][0] == "s":
        return Interval(a.low >> by.low, a.high >> by.low)
    return Interval(0, (2**bits - 1) >> by.low)


def _min(parts: tuple[str, ...], operands: Sequence[Interval]) -> Interval | None:
    a, b = operands[:2]
    if parts[-1][0] == "s" or (a.positive and b.positive):
        return Interval(min(a.low, b.low), min(a.high, b.high))
    # Without a sign what may be negative may be anything, but the smaller one is no larger than the other.
    highs = [operand.high for operand in (a, b) if operand.positive]
    return Interval(0, min(highs)) if highs else None


def _max(parts: tuple[str, ...], operands: Sequence[Interval]) -> Interval | None:
    a, b = operands[:2]
    if parts[-1][0] != "s" and not (a.positive and b.positive):
        return None
    return Interval(max(a.low, b.low), max(a.high, b.high))


_RULES: dict[str, Callable[[tuple[str, ...], Sequence[Interval]], Interval | None]] = {
    "mov": _move,
    "shfl": _shuffle,
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "mad": _mad,
    "and": _and,
    "or": _or,
    "shl": _shl,
    "shr": _shr,
    "min": _min,
    "max": _max,
}
