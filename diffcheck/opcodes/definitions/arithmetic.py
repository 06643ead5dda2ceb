"""Sums, products, quotients and roots, rounded once (PTX ISA, "Floating-Point Instructions" and "Half Precision").

`.ftz` takes denormal operands and results as zeros of their sign; `.sat` holds the result in [0, 1]; `.relu` makes a
negative result +0. Two numbers in one register are computed one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from diffcheck.opcodes.definitions import exact
from diffcheck.opcodes.definitions.exact import FINITE, INFINITE, NAN, Number, decode
from diffcheck.opcodes.definitions.nan import canonical, is_nan, nan_of
from diffcheck.opcodes.definitions.rows import Rule, each
from diffcheck.opcodes.fields import Bits
from diffcheck.opcodes.operands.formats import FORMATS, PAIRS, FloatFormat
from py_builder_kernel.ptx.table import Bound

# What an operation on numbers gives: a finite number that is still to be rounded, an infinity, or NaN.
Operation = Callable[..., Number]
_NAN: Final = Number(NAN, 0, 0, 0)
_GUARD: Final = 3


def _infinite(sign: int) -> Number:
    return Number(INFINITE, sign, 0, 0)


def add(mode: str, places: int, a: Number, b: Number) -> Number:
    """a + b."""
    if INFINITE in (a.kind, b.kind):
        if a.kind == b.kind and a.sign != b.sign:
            return _NAN
        return a if a.kind == INFINITE else b
    return exact.total(a, b, mode)


def sub(mode: str, places: int, a: Number, b: Number) -> Number:
    """a - b."""
    return add(mode, places, a, b._replace(sign=1 - b.sign))


def mul(mode: str, places: int, a: Number, b: Number) -> Number:
    """a * b."""
    if INFINITE in (a.kind, b.kind):
        return _NAN if a.is_zero or b.is_zero else _infinite(a.sign ^ b.sign)
    return exact.product(a, b)


def fma(mode: str, places: int, a: Number, b: Number, c: Number) -> Number:
    """a * b + c, rounded once."""
    factor = mul(mode, places, a, b)
    return _NAN if factor.kind == NAN else add(mode, places, factor, c)


def div(mode: str, places: int, a: Number, b: Number) -> Number:
    """a / b."""
    sign = a.sign ^ b.sign
    if a.kind == INFINITE:
        return _NAN if b.kind == INFINITE else _infinite(sign)
    if b.kind == INFINITE:
        return Number(FINITE, sign, 0, 0)
    if b.is_zero:
        return _NAN if a.is_zero else _infinite(sign)
    return exact.quotient(a, b, places + _GUARD)


def rcp(mode: str, places: int, a: Number) -> Number:
    """1 / a."""
    return div(mode, places, Number(FINITE, 0, 1, 0), a)


def sqrt(mode: str, places: int, a: Number) -> Number:
    """The square root of a; that of -0 is -0."""
    if a.is_zero:
        return a
    if a.sign:
        return _NAN
    return a if a.kind == INFINITE else exact.root(a, places + _GUARD)


OPERATIONS: Final[Mapping[str, Operation]] = {
    "add": add,
    "sub": sub,
    "mul": mul,
    "fma": fma,
    "mad": fma,
    "div": div,
    "rcp": rcp,
    "sqrt": sqrt,
}


def flushed(fmt: FloatFormat, bits: int) -> int:
    """Bits, or a zero of the same sign in the place of a denormal number."""
    return bits & fmt.sign if exact.is_denormal(fmt, bits) else bits


def saturated(fmt: FloatFormat, bits: int) -> int:
    """A result held in [0, 1]: NaN and all that has a sign become +0."""
    magnitude = bits & (fmt.sign - 1)
    return 0 if bits & fmt.sign or magnitude > fmt.infinity else min(magnitude, fmt.one)


def rectified(fmt: FloatFormat, bits: int) -> int:
    """A result without the negative numbers, which become +0; NaN becomes the canonical one."""
    if is_nan(fmt, bits):
        return canonical(fmt)
    return 0 if bits & fmt.sign else bits


def scalar(bound: Bound, name: str) -> Callable[..., int]:
    """The operation of a form on bits of one format."""
    fmt, operation = FORMATS[name], OPERATIONS[bound.form.opcode]
    words = bound.words
    mode, ftz, sat, relu = words.get("rnd", "rn"), "ftz" in words, "sat" in words, "relu" in words

    def compute(*given: int) -> int:
        operands = [flushed(fmt, bits) for bits in given] if ftz else given
        numbers = [decode(fmt, bits) for bits in operands]
        if any(number.kind == NAN for number in numbers):
            bits = nan_of(fmt, bound.form.opcode, operands)
        else:
            result = operation(mode, fmt.fraction + 1, *numbers)
            bits = _rounded(fmt, result, mode)
            if ftz and exact.is_tiny(fmt, result, mode):
                bits &= fmt.sign
        if sat:
            bits = saturated(fmt, bits)
        return rectified(fmt, bits) if relu else bits

    return compute


def _rounded(fmt: FloatFormat, result: Number, mode: str) -> int:
    if result.kind == NAN:
        return canonical(fmt)
    if result.kind == INFINITE:
        return exact.infinity(fmt, result.sign)
    return exact.encode(fmt, result.sign, result.significand, result.exponent, mode)


def arithmetic(bound: Bound, *operands: Bits) -> tuple[Bits, ...]:
    """The rule of every rounded operation."""
    name = bound.words["type"]
    return (each(scalar(bound, PAIRS.get(name, name)), *operands, halves=name in PAIRS and FORMATS[PAIRS[name]].bits),)


RULES: Final[Mapping[str, Rule]] = dict.fromkeys(OPERATIONS, arithmetic)


def covers(bound: Bound) -> bool:
    """Whether a form is one of them: of floats, and exactly rounded."""
    name = bound.words.get("type", "")
    return PAIRS.get(name, name) in FORMATS and "mode" not in bound.words
