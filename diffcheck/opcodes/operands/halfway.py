"""Float operands by construction: results on, just above and just below what rounding decides at.

Each family takes a format, a seed and a count and gives one column for each operand. Arithmetic in f64 only places the
operands; whether a case is exactly halfway does not matter to the test, only that many are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from diffcheck.opcodes.fields import Bits
from diffcheck.opcodes.operands.formats import FORMATS, from_f64, to_f64
from diffcheck.opcodes.operands.stream import random_below, random_bits

Columns = tuple[Bits, ...]
Family = Callable[[str, str, int], Columns]


def steps(seed: str, bits: Bits) -> Bits:
    """Each value, or a neighbour of it: one less or one more in its last place."""
    return np.asarray(bits + random_below(seed, len(bits), 3) - np.uint64(1), np.uint64)


def moderate(name: str, seed: str, count: int, few: bool = False) -> Bits:
    """Numbers of either sign with exponents near 0; `few` keeps so few bits that products are often ties."""
    fmt = FORMATS[name]
    span = min(fmt.fraction + 4, fmt.bias - 2)
    words = random_bits(f"{seed} significand", count)
    fraction = words & np.uint64((1 << fmt.fraction) - 1)
    if few:
        fraction &= ~np.uint64((1 << (fmt.fraction - (fmt.fraction + 1) // 2)) - 1)
    exponent = np.uint64(fmt.bias - span // 2) + random_below(f"{seed} exponent", count, span)
    sign = words >> np.uint64(63) << np.uint64(fmt.bits - 1)
    return np.asarray(sign | exponent << np.uint64(fmt.fraction) | fraction, np.uint64)


def half_step(name: str, bits: Bits) -> Bits:
    """Half of a number's last place, with a sign of its own; next to the smallest, that smallest number."""
    fmt = FORMATS[name]
    exponent = (bits >> np.uint64(fmt.fraction)) & np.uint64((1 << fmt.exponent_bits) - 1)
    lower = np.where(exponent > fmt.fraction + 1, exponent - np.uint64(fmt.fraction + 1), np.uint64(0))
    power = np.where(lower > 0, lower << np.uint64(fmt.fraction), np.uint64(1))
    return np.asarray(power | ((bits & np.uint64(1)) << np.uint64(fmt.bits - 1)), np.uint64)


def _unary(name: str, seed: str, count: int) -> Columns:
    """Squares, squares of midpoints, and numbers with few bits: square roots and reciprocals near ties."""
    root = to_f64(name, moderate(name, f"{seed} root", count))
    with np.errstate(all="ignore"):
        return (steps(f"{seed} step", from_f64(name, np.asarray(root * root))),)


def _few(name: str, seed: str, count: int) -> Columns:
    return (moderate(name, seed, count, few=True),)


def _products(name: str, seed: str, count: int) -> Columns:
    return moderate(name, f"{seed} a", count, few=True), moderate(name, f"{seed} b", count, few=True)


def _sums(name: str, seed: str, count: int) -> Columns:
    a = moderate(name, f"{seed} a", count)
    return a, steps(f"{seed} step", half_step(name, a))


def _quotients(name: str, seed: str, count: int) -> Columns:
    b = moderate(name, f"{seed} b", count)
    quotient = to_f64(name, moderate(name, f"{seed} q", count))
    with np.errstate(all="ignore"):
        return steps(f"{seed} step", from_f64(name, np.asarray(quotient * to_f64(name, b)))), b


def _tiny(name: str, seed: str, count: int) -> Columns:
    """Factors whose product is at the edge of the denormal range."""
    fmt = FORMATS[name]
    words = random_bits(f"{seed} bits", count)
    first = np.uint64(1) + random_below(f"{seed} first", count, fmt.bias - 1)
    reach = random_below(f"{seed} reach", count, fmt.fraction + 6)
    second = np.maximum(np.int64(1), np.int64(fmt.bias + 2) - first.astype(np.int64) - reach.astype(np.int64))
    fraction = np.uint64((1 << fmt.fraction) - 1)
    a = (words & fraction) | first << np.uint64(fmt.fraction)
    b = (words >> np.uint64(8) & fraction) | second.astype(np.uint64) << np.uint64(fmt.fraction)
    return np.asarray(a, np.uint64), np.asarray(b, np.uint64)


def _denormals(name: str, seed: str, count: int) -> Columns:
    """Sums at the edge of the denormal range."""
    fmt = FORMATS[name]
    near = np.uint64((2 << fmt.fraction) - 1)

    def column(which: str) -> Bits:
        words = random_bits(f"{seed} {which}", count)
        return np.asarray((words & near) | (words >> np.uint64(63) << np.uint64(fmt.bits - 1)), np.uint64)

    return column("a"), column("b")


def _product_of(name: str, a: Bits, b: Bits) -> npt.NDArray[np.float64]:
    with np.errstate(all="ignore"):
        return np.asarray(to_f64(name, a) * to_f64(name, b), np.float64)


def _cancelled(name: str, seed: str, count: int) -> Columns:
    """A sum that takes the product away but for its last bits."""
    a, b = moderate(name, f"{seed} a", count), moderate(name, f"{seed} b", count)
    return a, b, steps(f"{seed} step", from_f64(name, -_product_of(name, a, b)))


def _fused_ties(name: str, seed: str, count: int) -> Columns:
    """A sum that is half a last place of the product, or of which the product is half a last place."""
    a, b = _products(name, seed, count)
    c = half_step(name, from_f64(name, _product_of(name, a, b)))
    return a, b, steps(f"{seed} step", c)


def _fused_tiny(name: str, seed: str, count: int) -> Columns:
    a, b = _tiny(name, seed, count)
    return a, b, _denormals(name, f"{seed} sum", count)[0]


def _narrow(name: str, seed: str, count: int) -> Columns:
    """Numbers halfway between two neighbours of a narrower format, its denormals and its largest number included."""
    fmt = FORMATS[name]
    narrower = [other for other in FORMATS if other != name and FORMATS[other].fraction < fmt.fraction] or [name]
    tables = []
    for other in narrower:
        to = FORMATS[other]
        words = random_below(f"{seed} {other}", count, to.infinity)
        kind = random_below(f"{seed} {other} kind", count, 4)
        lower = np.where(kind == 0, words % np.uint64(2 << to.fraction), words)
        lower = np.where(kind == 1, np.uint64(to.infinity) - np.uint64(1) - lower % np.uint64(4), lower)
        with np.errstate(all="ignore"):
            middle = (to_f64(other, lower) + to_f64(other, lower + np.uint64(1))) / 2
        # Past the largest number there is no neighbour: half a last place above it.
        last = to_f64(other, np.array([to.infinity - 1, to.infinity - 2], np.uint64))
        top = last[0] + (last[0] - last[1]) / 2
        middle = np.where(np.isfinite(middle), middle, top)
        sign = random_bits(f"{seed} {other} sign", count) >> np.uint64(63) << np.uint64(fmt.bits - 1)
        tables.append(steps(f"{seed} {other} step", from_f64(name, np.asarray(middle))) | sign)
    return (np.concatenate(tables),)


def _whole(name: str, seed: str, count: int) -> Columns:
    """Halves of small whole numbers, and the ends of the integer types, each with its neighbours."""
    halves = random_below(f"{seed} halves", count, 70).astype(np.float64) / 2
    ends = np.array([2.0**k + step for k in (7, 8, 15, 16, 31, 32, 63, 64) for step in (-1, -0.5, 0, 0.5)])
    numbers = np.concatenate([halves, np.repeat(ends, 3)])
    bits = steps(f"{seed} step", from_f64(name, numbers))
    sign = random_bits(f"{seed} sign", len(bits)) >> np.uint64(63) << np.uint64(FORMATS[name].bits - 1)
    return (np.asarray(bits | sign, np.uint64),)


def _narrow_pair(name: str, seed: str, count: int) -> Columns:
    first, second = _narrow(name, f"{seed} a", count), _narrow(name, f"{seed} b", count)
    return first[0], second[0]


def integers_between_floats(bits: int, seed: str, count: int) -> Bits:
    """Integers of up to `bits` bits that lie on, just above or just below the middle of two floats."""
    tables = []
    for fmt in FORMATS.values():
        precision = fmt.fraction + 1
        if precision + 1 < bits:
            words = random_bits(f"{seed} {fmt.fraction}", count)
            significand = (words & np.uint64((1 << fmt.fraction) - 1)) | np.uint64(1 << fmt.fraction)
            shift = np.uint64(1) + random_below(f"{seed} {fmt.fraction} shift", count, bits - precision)
            middle = (significand << shift) | (np.uint64(1) << (shift - np.uint64(1)))
            tables.append(steps(f"{seed} {fmt.fraction} step", np.asarray(middle)))
    return np.concatenate(tables) if tables else np.zeros(0, np.uint64)


# By the number of operands that have the format.
FAMILIES: Final[Mapping[int, tuple[Family, ...]]] = {
    1: (_unary, _few, _narrow, _whole),
    2: (_products, _sums, _quotients, _tiny, _denormals, _narrow_pair),
    3: (_cancelled, _fused_ties, _fused_tiny),
}
