"""Conversions (PTX ISA, `cvt` and `cvt.pack`), from any type to any: the exact value, rounded once to what `d` holds.

`.ftz` takes denormal f32 as zeros, on either side; `.sat` holds a float in [0, 1] and an integer in its range;
`.satfinite` takes what is too large as the largest number; `.relu` makes a negative result +0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from diffcheck.opcodes.definitions import exact, narrow
from diffcheck.opcodes.definitions.arithmetic import flushed, rectified, saturated
from diffcheck.opcodes.definitions.exact import INFINITE, NAN, Number, decode
from diffcheck.opcodes.definitions.nan import canonical, converted, is_nan
from diffcheck.opcodes.definitions.rows import Rule, each, extended, limits, low
from diffcheck.opcodes.fields import Bits
from diffcheck.opcodes.operands.formats import FORMATS, PAIRS, FloatFormat
from py_builder_kernel.ptx.dtype import DTYPES, DType
from py_builder_kernel.ptx.table import Bound

# Roundings to a whole number, and what they are called without the `i`.
_WHOLE: Final[Mapping[str, str]] = {"rni": "rn", "rzi": "rz", "rmi": "rm", "rpi": "rp"}
_SINGLE: Final = FORMATS["f32"]
# tf32 is f32 with ten explicit bits of the significand; the rest are zeros.
_TF32_CUT: Final = 13
# Conversions that change no value and no bit: bf16 is the high half of f32.
_MOVES: Final = ("cvt.f32.f32", "cvt.f64.f64", "cvt.f32.bf16")


def to_whole(number: Number, mode: str) -> int:
    """A finite number rounded to a whole one, with its sign."""
    size = exact.shifted(number.significand, -number.exponent, number.sign, mode)
    return -size if number.sign else size


def float_to_float(bound: Bound, source: FloatFormat, result: FloatFormat) -> Callable[[int], int]:
    """One conversion between float formats."""
    words = bound.words
    word = words.get("rnd", "rn")
    finite = "satfinite" in words

    def one(bits: int) -> int:
        if "ftz" in words and source.bits == _SINGLE.bits:
            bits = flushed(source, bits)
        number = decode(source, bits)
        if number.kind == NAN:
            found = converted(source, result, bits, "ftz" in words)
        elif number.kind == INFINITE:
            found = exact.infinity(result, number.sign)
        elif word in _WHOLE:
            size = abs(to_whole(number, _WHOLE[word]))
            found = exact.encode(result, number.sign, size, 0, "rz")
        else:
            found = exact.encode(result, number.sign, number.significand, number.exponent, word)
        if finite and found & (result.sign - 1) == result.infinity:
            found -= 1
        if "ftz" in words and result.bits == _SINGLE.bits:
            found = flushed(result, found)
        if "sat" in words:
            found = saturated(result, found)
        return rectified(result, found) if "relu" in words else found

    return one


def float_to_integer(bound: Bound, source: FloatFormat, result: DType) -> Callable[[int], int]:
    """One conversion to an integer: rounded to a whole number, then held in the type's range; always saturating."""
    mode = _WHOLE[bound.words["rnd"]]
    least, most = limits(result)
    # PTX ISA, `cvt`: NaN becomes 0, or where a type of 64 bits takes part, the highest bit alone.
    wide = source.bits == FORMATS["f64"].bits or result.bits == FORMATS["f64"].bits
    nothing = 1 << (result.bits - 1) if wide else 0

    def one(bits: int) -> int:
        if "ftz" in bound.words:
            bits = flushed(source, bits)
        number = decode(source, bits)
        if number.kind == NAN:
            return nothing
        if number.kind == INFINITE:
            value = least if number.sign else most
        else:
            value = min(max(to_whole(number, mode), least), most)
        return int(value & ((1 << result.bits) - 1))

    return one


def integer_to_float(bound: Bound, source: DType, result: FloatFormat) -> Callable[[int], int]:
    """One conversion from an integer."""
    mode = bound.words.get("rnd", "rn")

    def one(bits: int) -> int:
        value = _value(source, bits)
        found = exact.encode(result, int(value < 0), abs(value), 0, mode)
        return saturated(result, found) if "sat" in bound.words else found

    return one


def integer_to_integer(bound: Bound, source: DType, result: DType) -> Callable[[int], int]:
    """One conversion between integers: cut off, or with `.sat` held in the type's range."""

    def one(bits: int) -> int:
        value = _value(source, bits)
        return _held(value, result) if "sat" in bound.words else value & ((1 << result.bits) - 1)

    return one


def _value(dtype: DType, bits: int) -> int:
    bits &= (1 << dtype.bits) - 1
    return bits - (1 << dtype.bits) if dtype.kind == "s" and bits >> (dtype.bits - 1) else bits


def _held(value: int, dtype: DType) -> int:
    least, most = limits(dtype)
    return min(max(value, least), most) & ((1 << dtype.bits) - 1)


def _to_tf32(bound: Bound, bits: int) -> int:
    """f32 to tf32: the significand is rounded at its tenth bit; an infinity stays one without `.satfinite`."""
    mode = bound.words["rnd"]
    sign, size = bits >> 31, bits & _SINGLE.sign - 1
    if is_nan(_SINGLE, bits):
        return canonical(_SINGLE) >> _TF32_CUT << _TF32_CUT
    found = exact.shifted(size, _TF32_CUT, sign, mode) << _TF32_CUT
    if "satfinite" in bound.words:
        found = min(found, _SINGLE.infinity - (1 << _TF32_CUT))
    found |= sign << 31
    return rectified(_SINGLE, found) if "relu" in bound.words else found


def _unary(bound: Bound) -> Callable[[int], int]:
    """The conversion of one value."""
    to, of = bound.words["dtype"], bound.words["atype"]
    if to == "tf32":
        return lambda bits: _to_tf32(bound, bits)
    match of in FORMATS, to in FORMATS:
        case True, True:
            return float_to_float(bound, FORMATS[of], FORMATS[to])
        case True, False:
            return float_to_integer(bound, FORMATS[of], DTYPES[to])
        case False, True:
            return integer_to_float(bound, DTYPES[of], FORMATS[to])
    return integer_to_integer(bound, DTYPES[of], DTYPES[to])


def convert(bound: Bound, *operands: Bits) -> tuple[Bits, ...]:
    """Every form of `cvt`. Of two operands, the first becomes the high part of the result."""
    to, of = bound.words["dtype"], bound.words["atype"]
    if "pack" in bound.words:
        return (_packed(bound, *operands),)
    if to in PAIRS or of in PAIRS:
        return (_pair(bound, *operands),)
    dtype, source = DTYPES[to], DTYPES[of]
    if bound.mnemonic in _MOVES:
        return (operands[0] << np.uint64(dtype.bits - source.bits),)
    return (extended(dtype, each(_unary(bound), low(operands[0], source.bits))),)


def _pair(bound: Bound, *operands: Bits) -> Bits:
    to, of = bound.words["dtype"], bound.words["atype"]
    one = Bound(bound.mnemonic, bound.form, {**bound.words, "dtype": PAIRS.get(to, to), "atype": PAIRS.get(of, of)})
    width = np.uint64(DTYPES[to].bits // 2)
    if of in PAIRS:
        half = DTYPES[of].bits // 2
        parts = [operands[0] >> np.uint64(half), low(operands[0], half)]
        operands = (parts[0], low(parts[1], half))
    function = narrow.function(one, to, of) if (to in narrow.TINY or of in narrow.TINY) else _unary(one)
    source = DTYPES[of].bits // 2 if of in PAIRS else DTYPES[of].bits
    high, below = (each(function, low(column, source)) for column in operands)
    return np.asarray(below | high << width)


def _packed(bound: Bound, a: Bits, b: Bits, c: Bits | None = None) -> Bits:
    """`cvt.pack`: a above b, each held in the type's range; bytes go above the low half of c."""
    dtype, source = DTYPES[bound.words["dtype"]], DTYPES[bound.words["atype"]]
    high, below = (each(lambda bits: _held(_value(source, bits), dtype), low(column, source.bits)) for column in (a, b))
    pair = high << np.uint64(dtype.bits) | below
    if c is None:
        return np.asarray(pair)
    return np.asarray(pair | low(c, 32 - 2 * dtype.bits) << np.uint64(2 * dtype.bits))


RULES: Final[Mapping[str, Rule]] = {"cvt": convert}


def covers(bound: Bound) -> bool:
    """Every form of `cvt`."""
    return True
