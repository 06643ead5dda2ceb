"""Exact arithmetic on floating-point numbers: a number is an integer times a power of two, and rounds once.

Follows IEEE 754-2019, sections 3.4 (encodings), 4.3 (roundings) and 7.4 (overflow). Quotients and roots are cut far
below the last place, with a last bit that says that something was cut ("sticky"): no rounding can tell the difference.
"""

from __future__ import annotations

from functools import lru_cache
from math import isqrt
from typing import Final, NamedTuple

from diffcheck.opcodes.operands.formats import FloatFormat

FINITE: Final = "finite"
INFINITE: Final = "infinite"
NAN: Final = "NaN"


class Number(NamedTuple):
    """`(-1)^sign * significand * 2^exponent`, where `kind` is finite; else an infinity, or a NaN with its bits as
    `significand`."""

    kind: str
    sign: int
    significand: int
    exponent: int

    @property
    def is_zero(self) -> bool:
        """Whether it is a zero of either sign."""
        return self.kind == FINITE and self.significand == 0

    @property
    def signed(self) -> int:
        """The significand with its sign."""
        return -self.significand if self.sign else self.significand


@lru_cache(maxsize=1 << 16)
def decode(fmt: FloatFormat, bits: int) -> Number:
    """The number that bits stand for."""
    sign, magnitude = bits >> (fmt.bits - 1), bits & (fmt.sign - 1)
    if magnitude >= fmt.infinity:
        return Number(INFINITE, sign, 0, 0) if magnitude == fmt.infinity else Number(NAN, sign, bits, 0)
    field = magnitude >> fmt.fraction
    hidden = 1 << fmt.fraction if field else 0
    return Number(FINITE, sign, (magnitude & ((1 << fmt.fraction) - 1)) | hidden, _lowest(fmt) + max(field - 1, 0))


def _lowest(fmt: FloatFormat) -> int:
    """The exponent of the last place of denormals."""
    return 1 - fmt.bias - fmt.fraction


def is_denormal(fmt: FloatFormat, bits: int) -> bool:
    """Whether bits are those of a denormal number."""
    return 0 < bits & (fmt.sign - 1) < 1 << fmt.fraction


def zero(fmt: FloatFormat, sign: int) -> int:
    """The bits of a zero."""
    return fmt.sign if sign else 0


def infinity(fmt: FloatFormat, sign: int) -> int:
    """The bits of an infinity."""
    return zero(fmt, sign) | fmt.infinity


def encode(fmt: FloatFormat, sign: int, significand: int, exponent: int, mode: str) -> int:
    """Round `significand * 2^exponent` with a sign to a format; `mode` is rn, rna (ties away), rz, rm or rp."""
    if significand == 0:
        return zero(fmt, sign)
    lowest = _lowest(fmt)
    last = max(exponent + significand.bit_length() - fmt.fraction - 1, lowest)
    kept = shifted(significand, last - exponent, sign, mode)
    # A significand that rounds up to the next power of two carries into the exponent by itself.
    bits = kept + ((last - lowest) << fmt.fraction)
    if bits >= fmt.infinity:
        bits = fmt.infinity if mode in ("rn", "rna") or mode == ("rm" if sign else "rp") else fmt.infinity - 1
    return zero(fmt, sign) | bits


def shifted(significand: int, places: int, sign: int, mode: str) -> int:
    """`significand / 2^places` as a whole number, rounded."""
    if places <= 0:
        return significand << -places
    kept, rest = significand >> places, significand & ((1 << places) - 1)
    half = 1 << (places - 1)
    match mode:
        case "rn":
            up = rest > half or (rest == half and kept & 1 == 1)
        case "rna":
            up = rest >= half
        case "rz":
            up = False
        case "rm":
            up = rest > 0 and sign == 1
        case "rp":
            up = rest > 0 and sign == 0
        case _:
            raise ValueError(f"no rounding {mode!r}")
    return kept + up


def is_tiny(fmt: FloatFormat, number: Number, mode: str) -> bool:
    """Whether a number, rounded to a format's precision as if exponents had no end, lies below its normal numbers."""
    if number.kind != FINITE:
        return False
    places = max(number.significand.bit_length() - fmt.fraction - 1, 0)
    kept = shifted(number.significand, places, number.sign, mode)
    return kept.bit_length() + number.exponent + places <= 1 - fmt.bias


def product(a: Number, b: Number) -> Number:
    """The exact product of two finite numbers."""
    return Number(FINITE, a.sign ^ b.sign, a.significand * b.significand, a.exponent + b.exponent)


def total(a: Number, b: Number, mode: str) -> Number:
    """The exact sum of two finite numbers; an exact zero of terms with unlike signs is -0 when rounding down."""
    exponent = min(a.exponent, b.exponent)
    value = (a.signed << (a.exponent - exponent)) + (b.signed << (b.exponent - exponent))
    if value == 0:
        sign = a.sign if a.sign == b.sign else int(mode == "rm")
        return Number(FINITE, sign, 0, exponent)
    return Number(FINITE, int(value < 0), abs(value), exponent)


def quotient(a: Number, b: Number, places: int) -> Number:
    """`a / b` of finite numbers, b not zero, to at least `places` bits, with a sticky bit below."""
    shift = max(places + b.significand.bit_length() - a.significand.bit_length() + 1, 0)
    whole, rest = divmod(a.significand << shift, b.significand)
    return Number(FINITE, a.sign ^ b.sign, whole << 1 | (rest != 0), a.exponent - b.exponent - shift - 1)


def root(a: Number, places: int) -> Number:
    """The square root of a finite number that is not negative, to at least `places` bits, with a sticky bit below."""
    shift = max(2 * places - a.significand.bit_length() + 1, 0)
    shift += (a.exponent - shift) & 1
    scaled = a.significand << shift
    whole = isqrt(scaled)
    return Number(FINITE, 0, whole << 1 | (whole * whole != scaled), (a.exponent - shift) // 2 - 1)
